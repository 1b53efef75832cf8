"""Tables of changes in a lake: one window one commit, whatever is killed, repeated or done at once: on a disk, S3, HDFS."""

import json
import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import dmsjournal as dj
from dmsjournal.spark import lake
from dmsjournal.spark.delta_changes import DeltaChanges
from dmsjournal.spark.extract import ExtractRequest, extract
from dmsjournal.spark.lake import Committed, extract_to_lake
from dmsjournal.spark.stores import store_of
from dmsjournal.util import exit_codes
from tests.helpers import SCHOOL, STUDENT, newest
from tests.spark.changing import change, restore, rows_of_database
from tests.spark.s3 import S3, refusing_store

pytestmark = pytest.mark.xdist_group("spark")

Extract = Callable[..., Committed]


@pytest.fixture(params=["folder", "s3", pytest.param("hdfs", marks=pytest.mark.long)])  # test_hdfs.py has the short ones
def target(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, dict[str, str]]:
    """Where a table goes, and Spark's settings for it."""
    if request.param == "folder":
        return str(tmp_path / "changes"), {}
    if request.param == "hdfs":
        return request.getfixturevalue("hdfs").url(tmp_path.name), {}
    server: S3 = request.getfixturevalue("s3")
    return server.url(tmp_path.name), server.conf


@pytest.fixture
def run(spark: SparkSession, history: str, target: tuple[str, dict[str, str]]) -> Extract:
    def call(asked: ExtractRequest = lake.EVERYTHING, **options: Any) -> Committed:
        return extract_to_lake(history, target[0], lambda: spark, asked, conf=target[1], **options)

    return call


def table_of(target: tuple[str, dict[str, str]]) -> deltalake.DeltaTable:
    store = store_of("output", *target)
    return deltalake.DeltaTable(store.uri, storage_options=store.options)


def rows_of(target: tuple[str, dict[str, str]], first: int, last: int) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of a window by type, as a reader of Delta finds them; in the form of rows_of_database."""
    found: dict[str, list[tuple[Any, ...]]] = {"upsert": [], "delete": [], "key_change": []}
    kinds = {"insert": "upsert", "update_postimage": "upsert", "delete": "delete", "update_preimage": "key_change"}
    for row in _all(target):
        if first <= row["_commit_version"] <= last:
            told = (row["document_id"], row["document_uuid"], row["_commit_version"], row["key_values"])
            kind = kinds[row["_change_type"]]
            found[kind].append((*told, row["new_key_values"]) if kind == "key_change" else told)
    return {kind: sorted(rows, key=repr) for kind, rows in found.items()}


def _all(target: tuple[str, dict[str, str]]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pa.table(table_of(target).to_pyarrow_table()).to_pylist()
    return rows


def windows_of(target: tuple[str, dict[str, str]]) -> list[tuple[int, int]]:
    """The windows that the table's history tells, the earliest first."""
    told = [json.loads(commit["dmsjournal"]) for commit in table_of(target).history() if "dmsjournal" in commit]
    return [(each["first"], each["last"]) for each in reversed(told)]


@pytest.mark.acceptance("100")
def test_a_window_is_a_commit(run: Extract, history: str, journal: dj.Journal, target: tuple[str, dict[str, str]]) -> None:
    first = run()
    at = newest(journal)
    assert (first.version, first.first, first.commit, first.is_new) == (at, 0, 0, True)
    assert {row["_change_type"] for row in _all(target)} == {"insert"}
    assert {row["project"] for row in _all(target)} == {"Ed-Fi"}
    assert {row["resource"] for row in _all(target)} == {str(STUDENT), str(SCHOOL)}
    assert rows_of(target, 0, at)["upsert"] == rows_of_database(history, 0, at)["upsert"]
    again = run()
    assert (again.version, again.first, again.is_new) == (at, None, False)
    change(history, random.Random(8), 40)
    second = run()
    last = newest(journal)
    assert (second.version, second.first, second.commit) == (last, at + 1, 1)
    assert rows_of(target, at + 1, last) == rows_of_database(history, at + 1, last)
    assert (second.rows.upsert, second.rows.delete, second.rows.key_change) == tuple(
        len(rows) for rows in rows_of_database(history, at + 1, last).values()
    )
    assert windows_of(target) == [(0, at), (at + 1, last)]
    for same in (ExtractRequest(min=at + 1), ExtractRequest(min=at + 1, max=last)):
        assert (run(same).version, run(same).is_new) == (last, False)


class Killed(BaseException):
    """What no handler takes for an error of the run."""


@pytest.mark.acceptance("100")
@pytest.mark.parametrize("moment", ["writing", "before the commit", "after the commit"])
def test_a_run_that_was_cut_short_adds_nothing_twice(
    run: Extract,
    history: str,
    journal: dj.Journal,
    target: tuple[str, dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
) -> None:
    at = run().version
    change(history, random.Random(5), 40)
    wrote, commit = lake._write, DeltaChanges.commit

    def stop(*arguments: Any, **options: Any) -> Any:
        if moment == "writing":
            wrote(*arguments, **options)
        elif moment == "after the commit":
            commit(*arguments, **options)
        raise Killed

    monkeypatch.setattr(*(lake, "_write") if moment == "writing" else (DeltaChanges, "commit"), stop)
    with pytest.raises(Killed):
        run()
    monkeypatch.undo()
    last = newest(journal)
    done = moment == "after the commit"
    assert windows_of(target) == [(0, at), *([(at + 1, last)] if done else [])]
    assert run().is_new is not done
    assert windows_of(target) == [(0, at), (at + 1, last)]
    assert rows_of(target, at + 1, last) == rows_of_database(history, at + 1, last)


@pytest.mark.acceptance("100")
def test_of_two_runs_at_once_one_commits(
    run: Extract, history: str, journal: dj.Journal, target: tuple[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have read how far the table had come before either of them commits: at the first window, and at a later one."""
    commit, other = DeltaChanges.commit, list[Committed]()

    def after_another(*arguments: Any) -> Any:
        monkeypatch.undo()
        other.append(run())
        return commit(*arguments)

    for round_ in range(2):
        change(history, random.Random(round_), 20)
        monkeypatch.setattr(DeltaChanges, "commit", after_another)
        with pytest.raises(dj.Unavailable, match=r"another run has committed to .* meanwhile: nothing of this one is in it"):
            run()
        assert [each.is_new for each in other] == [True] * (round_ + 1)
        assert len(windows_of(target)) == round_ + 1
        first, last = windows_of(target)[-1]
        assert last == newest(journal)
        assert rows_of(target, first, last)["upsert"] == rows_of_database(history, first, last)["upsert"]
    assert table_of(target).version() == 1


def test_an_answer_that_was_lost_is_found_in_the_table(
    run: Extract, target: tuple[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dmsjournal.spark import delta_changes

    made = delta_changes.create_table_with_add_actions

    def lose(*arguments: Any, **options: Any) -> None:
        made(*arguments, **options)
        raise OSError("connection reset")

    monkeypatch.setattr(delta_changes, "create_table_with_add_actions", lose)
    assert run().commit == 0
    assert table_of(target).version() == 0


@pytest.mark.acceptance("97")
def test_a_database_that_was_restored_behind_the_table_is_told(
    run: Extract, history: str, target: tuple[str, dict[str, str]]
) -> None:
    run()
    restore(history)
    change(history, random.Random(1), 20)
    with pytest.raises(dj.HistoryDiverged) as diverged:
        run()
    assert diverged.value.__notes__
    assert table_of(target).version() == 0


def test_a_task_that_cannot_write_tells_why(spark: SparkSession, history: str, s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store's words come from a Python on an executor, by way of Java."""
    s3.client.create_bucket(Bucket="gone")
    write_files = lake._write

    def into_nothing(*arguments: Any, **options: Any) -> Any:
        s3.client.delete_bucket(Bucket="gone")
        return write_files(*arguments, **options)

    monkeypatch.setattr(lake, "_write", into_nothing)
    with pytest.raises(
        dj.StoreRefused, match=r"^Spark could not finish writing: .*NoSuchBucket.*: make the bucket, or mend its name"
    ):
        extract_to_lake(history, "s3a://gone/changes", lambda: spark, conf=s3.conf)


def no_spark() -> SparkSession:
    raise AssertionError("Spark was started, and the error does not need it")


@pytest.mark.parametrize("at", ["s3a://none/changes", "s3a://none/a%20path"])
def test_a_bucket_that_is_none_is_refused(history: str, s3: S3, at: str) -> None:
    with pytest.raises(dj.StoreRefused, match=r"NoSuchBucket.*: make the bucket, or mend its name$") as refused:
        extract_to_lake(history, at, no_spark, conf=s3.conf)
    assert exit_codes.code_of(refused.value) == exit_codes.PERSON_NEEDED


@pytest.mark.parametrize(
    ("status", "code"), [(403, "InvalidAccessKeyId"), (403, "AccessDenied"), (401, "Unauthorized"), (403, "SignatureDoesNotMatch")]
)
def test_a_store_that_refuses_the_credentials_is_not_asked_again(history: str, status: int, code: str) -> None:
    with refusing_store(status, code) as conf, pytest.raises(dj.StoreRefused, match=f"{code}.*: mend the credentials") as refused:
        extract_to_lake(history, "s3a://lake/changes", no_spark, conf=conf)
    assert exit_codes.code_of(refused.value) == exit_codes.PERSON_NEEDED


def test_a_folder_that_cannot_be_made_is_refused(spark: SparkSession, history: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(dj.StoreRefused, match=r"file/changes cannot be made: Not a directory: name a folder that can be made"):
        extract_to_lake(history, tmp_path / "file" / "changes", lambda: spark)
    assert (tmp_path / "file").is_file()


@pytest.mark.parametrize(
    ("options", "words"),
    [({"events_per_part": 0}, "events_per_part = 0: ask for 1 to"), ({"file_size": 0}, "file_size = 0: ask for 1 to")],
)
def test_a_size_that_makes_no_sense_is_told_before_spark_starts(
    history: str, tmp_path: Path, options: dict[str, Any], words: str
) -> None:
    for form in (extract_to_lake, extract):
        with pytest.raises(dj.InvalidRequest, match=words):
            form(history, tmp_path / "out", no_spark, **options)
    assert not (tmp_path / "out").exists()


def test_the_state_outlives_the_history_and_what_others_do(
    run: Extract, history: str, journal: dj.Journal, target: tuple[str, dict[str, str]]
) -> None:
    at = run(resources=[STUDENT], body=False).version
    change(history, random.Random(1), 20)
    second = run().version
    table = table_of(target)
    before = sorted(map(repr, _all(target)))
    table.optimize.compact()
    table.create_checkpoint()
    table_of(target).vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    assert sorted(map(repr, _all(target))) == before
    change(history, random.Random(2), 20)
    third = run(resources=[STUDENT])
    assert (third.first, third.version) == (second + 1, newest(journal))
    assert windows_of(target)[:2] == [(0, at), (at + 1, second)]
    assert "body" not in {field.name for field in table_of(target).schema().fields}
    with pytest.raises(dj.InvalidRequest, match="was begun with no bodies"):
        run(body=True)
    with pytest.raises(dj.InvalidRequest, match=f"resources = '{SCHOOL}': .* was begun with {STUDENT}: leave it out"):
        run(resources=[SCHOOL])
    with pytest.raises(dj.InvalidRequest, match=r"partition = False: .* was begun with files of one resource each"):
        run(partition=False)
    table_of(target).restore(0, ignore_missing_files=True)
    with pytest.raises(dj.InvalidRequest, match="was restored to an older commit"):
        run()


def test_a_table_of_others_stays_as_it_is(spark: SparkSession, history: str, tmp_path: Path) -> None:
    deltalake.write_deltalake(tmp_path / "theirs", pa.table({"a": [1]}))
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "thesis.doc").touch()
    for name, words in (("theirs", "did not make"), ("files", r"it holds thesis\.doc and is no Delta table")):
        with pytest.raises(dj.InvalidRequest, match=words):
            extract_to_lake(history, tmp_path / name, lambda: spark)
    assert deltalake.DeltaTable(tmp_path / "theirs").version() == 0
    for url, error in (("ftp://host/x", dj.UnsupportedCapability), ("s3a:///x", dj.InvalidRequest)):
        with pytest.raises(error):
            extract_to_lake(history, url, lambda: spark)


@pytest.mark.acceptance("101")
@pytest.mark.parametrize("partition", [True, False])
def test_small_windows_are_few_files(spark: SparkSession, history: str, tmp_path: Path, partition: bool) -> None:
    out = tmp_path / "changes"
    for number in range(3):
        change(history, random.Random(number), 30)
        made = extract_to_lake(history, out, lambda: spark, partition=partition)
        assert made.files == (2 if partition else 1)
        assert made.bytes == sum(size for size in _sizes(out, made))
    table = deltalake.DeltaTable(out)
    assert len(table.file_uris()) == 3 * (2 if partition else 1)
    assert table.metadata().partition_columns == (["resource"] if partition else [])
    rows = table.to_pyarrow_table().num_rows
    table.optimize.compact()
    assert len(deltalake.DeltaTable(out).file_uris()) == (2 if partition else 1)
    assert deltalake.DeltaTable(out).to_pyarrow_table().num_rows == rows


def _sizes(out: Path, made: Committed) -> list[int]:
    actions = (out / "_delta_log" / f"{made.commit:020}.json").read_text().splitlines()
    return [json.loads(line)["add"]["size"] for line in actions if "add" in json.loads(line)]


def test_many_parts_are_files_of_the_size_that_was_asked_for(spark: SparkSession, history: str, tmp_path: Path) -> None:
    many = extract_to_lake(history, tmp_path / "many", lambda: spark, events_per_part=10)
    assert many.files == 2
    assert Counter(row["resource"] for row in _all((str(tmp_path / "many"), {}))) == Counter(
        extracted["resource"] for extracted in _all((str(_whole(spark, history, tmp_path)), {}))
    )


def _whole(spark: SparkSession, history: str, tmp_path: Path) -> Path:
    extract_to_lake(history, tmp_path / "whole", lambda: spark)
    return tmp_path / "whole"


def test_readers_pass_over_files_by_their_statistics(run: Extract, history: str, target: tuple[str, dict[str, str]]) -> None:
    at = run().version
    change(history, random.Random(3), 20)
    run()
    actions = pa.table(table_of(target).get_add_actions(flatten=True)).to_pylist()
    assert sum(action["num_records"] for action in actions) == len(_all(target))
    assert {action["min._commit_version"] > at for action in actions} == {True, False}
    for action in actions:
        assert action["max._commit_timestamp"] >= action["min._commit_timestamp"]


def test_two_processes_of_one_disk(spark: SparkSession, history: str, tmp_path: Path) -> None:
    """Threads stand in for processes: nothing but the table itself decides which of them commits."""

    def one(_: int) -> str:
        try:
            return str(extract_to_lake(history, tmp_path / "changes", lambda: spark).is_new)
        except dj.Unavailable:
            return "refused"

    with ThreadPoolExecutor(2) as pool:
        told = sorted(pool.map(one, range(2)))
    assert told in (["True", "refused"], ["False", "True"])
    assert deltalake.DeltaTable(tmp_path / "changes").version() == 0
