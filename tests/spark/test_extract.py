"""The extract: runs that are exact and whole, follow on from one another, and are done again after whatever went wrong."""

import json
import random
import re
from collections.abc import Callable
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
import sqlalchemy as sa
from pyspark import RDD
from pyspark.sql import DataFrameWriter, SparkSession

import dmsjournal as dj
from dmsjournal.spark import extract as extraction
from dmsjournal.spark.dataframes import Reading
from dmsjournal.spark.extract import Extracted, ExtractRequest, extract, preview
from dmsjournal.spark.jobs import watched
from dmsjournal.spark.runs import Output
from tests.helpers import SCHOOL, SECTION, STUDENT, document, newest, write
from tests.spark.changing import change, restore, rows_of_database
from tests.spark.outputs import rows_of

pytestmark = pytest.mark.xdist_group("spark")

Extract = Callable[..., Extracted]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "the output"  # with a blank: Spark takes no %20


@pytest.fixture
def run(spark: SparkSession, url: str, out: Path) -> Extract:
    """An extract of the test's database into the test's output."""

    def call(request: ExtractRequest = ExtractRequest(), **options: Any) -> Extracted:  # noqa: B008
        return extract(url, options.pop("output", out), lambda: spark, request, **options)

    return call


@pytest.fixture
def history(url: str, journal: dj.Journal) -> str:
    """Documents of three resources, with bodies and references, after a hundred random changes."""
    students = [document(STUDENT, n, body={"name": f"Zoë {n}"}) for n in range(60)]
    schools = [document(SCHOOL, n) for n in range(5)]
    sections = [document(SECTION, n, students[n], schools[n % 5]) for n in range(30)]
    write(journal, *students, *schools, *sections)
    change(url, random.Random(7), 100)
    return url


def visible(out: Path) -> list[str]:
    """What a reader sees in a folder."""
    return sorted(each.name for each in out.iterdir() if each.name[0] not in "._") if out.exists() else []


def test_the_first_run_is_in_full_and_windows_follow_on(run: Extract, history: str, journal: dj.Journal, out: Path) -> None:
    first = run(events_per_part=100)
    at = newest(journal)
    assert (first.version, first.is_new, visible(out)) == (at, True, [f"run={0:019}-{at:019}"])
    assert rows_of(out)["upsert"] == rows_of_database(history, 0, at)["upsert"]
    assert rows_of(out)["delete"] == rows_of(out)["key_change"] == []
    for seed in range(2):
        change(history, random.Random(seed), 60)
        before, at = at, newest(journal)
        made = run(events_per_part=100)
        assert (made.version, made.is_new) == (at, True)
        assert made.run is not None
        expected = rows_of_database(history, before + 1, at)
        assert rows_of(out, made.run.folder.name) == expected
        assert [made.rows.upsert, made.rows.delete, made.rows.key_change] == [len(rows) for rows in expected.values()]
    assert all(expected.values())  # of each kind there was one at least
    assert len(visible(out)) == 3


def test_a_manifest_says_what_the_run_holds(run: Extract, history: str, journal: dj.Journal, out: Path) -> None:
    run()
    change(history, random.Random(1), 60)
    made = run(ExtractRequest(from_checkpoint=True))
    assert made.run is not None
    told = json.loads((made.run.folder / "_manifest.json").read_text())
    assert (told["kind"], told["first"], told["last"]) == ("window", made.run.first, newest(journal))
    assert told["horizon"] >= told["last"]
    assert told["tool"] == f"dmsjournal {dj.__version__}"
    files = ds.dataset(made.run.folder, format="parquet", partitioning="hive")
    assert {name for name in told["schema"]} == set(files.schema.names)
    counted = files.to_table().group_by(["resource", "_change_type"]).aggregate([([], "count_all")]).to_pylist()
    expected: dict[str, dict[str, int]] = {}
    for row in counted:
        expected.setdefault(row["resource"], {"upsert": 0, "delete": 0, "key_change": 0})[row["_change_type"]] = row["count_all"]
    assert told["resources"] == expected
    assert sum(file["rows"] for file in told["files"]) == files.count_rows()
    at = json.loads((out / "_checkpoint.json").read_text())["fingerprint"]
    assert at == told["fingerprint"]
    assert at["version"] == told["last"]


@pytest.mark.acceptance("64")
def test_extreme_values_arrive_unchanged(run: Extract, url: str, journal: dj.Journal, out: Path) -> None:
    high = 2**63 - 1000
    text = 'Ωmega "double" \\ back\nline 学校 👩‍🏫 \u2028'
    write(journal, document(STUDENT, text, body={"a": text, "n": None, "deep": {"x": [1, 2.50, True]}}))
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as conn:
        conn.exec_driver_sql("SET TIME ZONE 'Asia/Kathmandu'")
        conn.exec_driver_sql(f"SELECT setval('dms.ChangeVersionSequence', {high})")
        conn.exec_driver_sql("INSERT INTO dms.Document (ResourceKeyId) SELECT ResourceKeyId FROM dms.ResourceKey")
    run(ExtractRequest(min=0), etag=True)
    table = ds.dataset(out, format="parquet", partitioning="hive").to_table()
    assert table.schema.field("_commit_version").type == pa.int64()
    assert table.schema.field("_commit_timestamp").type == pa.timestamp("us", tz="UTC")
    first, second = sorted(table.to_pylist(), key=lambda row: row["_commit_version"])
    assert json.loads(first["key_values"]) == {"studentId": text}
    assert json.loads(first["body"]) == {"a": text, "n": None, "deep": {"x": [1, 2.50, True]}}
    assert (second["key_values"], second["body"], second["old_key_values"]) == (None, None, None)
    assert second["_commit_version"] == high + 1
    with engine.connect() as conn:
        times = conn.exec_driver_sql("SELECT CreatedAt FROM dms.DocumentChangeEvent ORDER BY ChangeVersion").scalars().all()
    assert [row["_commit_timestamp"] for row in (first, second)] == times
    derived = journal.derive([first["document_id"], second["document_id"]])
    for row in (first, second):
        assert (row["etag"], row["last_modified"]) == (derived[row["document_id"]].etag, derived[row["document_id"]].last_modified)


@pytest.mark.acceptance("63")
def test_two_windows_hold_what_changes_while_they_are_read(
    run: Extract, history: str, journal: dj.Journal, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run()
    change(history, random.Random(2), 50)
    real = extraction.layout_of

    def layout_of(*arguments: Any) -> Any:
        found = real(*arguments)
        change(history, random.Random(3), 50)  # after the window was planned and its snapshot taken, before a task has begun
        return found

    monkeypatch.setattr(extraction, "layout_of", layout_of)
    one = run(events_per_part=50)
    monkeypatch.undo()
    two = run()
    assert one.run is not None
    assert two.run is not None
    found = rows_of(out, one.run.folder.name)["upsert"], rows_of(out, two.run.folder.name)["upsert"]
    assert found[1] == rows_of_database(history, one.version + 1, two.version)["upsert"]
    overtaken = {row[0] for row in found[0]} & {row[0] for row in found[1]}
    assert overtaken  # each was read as it was, and again as it became
    last = {row[0]: row for row in [*found[0], *found[1]]}
    expected = {row[0]: row for row in rows_of_database(history, one.run.first, two.version)["upsert"]}
    assert {i: last[i] for i in expected} == expected


class Killed(BaseException):
    """What no handler takes for an error of the run."""


@pytest.mark.acceptance("62")
@pytest.mark.parametrize("moment", ["writing", "counted", "finish", "move_checkpoint"])
def test_a_run_that_was_cut_short_anywhere_is_done_again(
    run: Extract, history: str, journal: dj.Journal, out: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    run()
    change(history, random.Random(5), 60)
    before, first = visible(out), newest(journal)

    def stop(*_: Any) -> Any:
        raise Killed

    if moment == "writing":  # all tasks have written, nothing has been noted
        monkeypatch.setattr(extraction, "watched", lambda *a: _then(watched(*a), stop))
    elif moment == "counted":
        monkeypatch.setattr(extraction, "counted", stop)
    else:
        monkeypatch.setattr(Output, moment, stop)
    with pytest.raises(Killed):
        run()
    monkeypatch.undo()
    assert visible(out) == (before if moment != "move_checkpoint" else [*before, f"run={_at(out) + 1:019}-{first:019}"])
    change(history, random.Random(6), 20)
    again = run()
    last = newest(journal)
    assert again.version == last
    runs = Output(out).runs()
    assert [two.first for _, two in pairwise(runs)] == [one.last + 1 for one, _ in pairwise(runs)]
    assert again.run is not None
    assert rows_of(out, again.run.folder.name) == rows_of_database(history, again.run.first, last)
    assert [each for each in out.iterdir() if each.name.startswith(".making")] == []


def _then(context: Any, stop: Callable[[], Any]) -> Any:
    @contextmanager
    def within() -> Any:
        with context:
            yield
        stop()

    return within()


def _at(out: Path) -> int:
    return int(json.loads((out / "_checkpoint.json").read_text())["fingerprint"]["version"])


def test_a_finished_run_is_no_work(run: Extract, history: str, journal: dj.Journal, out: Path) -> None:
    at = newest(journal)
    run(ExtractRequest(full=True))

    def never() -> SparkSession:
        raise AssertionError("a session was started for nothing")

    again = extract(history, out, never, ExtractRequest(full=True))
    assert (again.version, again.is_new) == (at, False)
    assert extract(history, out, never) == Extracted(at, None, False, again.rows.__class__())
    change(history, random.Random(1), 30)
    made = run(ExtractRequest(min=at + 1, max=newest(journal)))
    assert made.is_new
    for same in [
        ExtractRequest(min=at + 1, max=made.version),
        ExtractRequest(min=at + 1),
        ExtractRequest(from_checkpoint=True, max=made.version),
    ]:
        again = extract(history, out, never, same)
        assert (again.version, again.is_new) == (made.version, False)
    (out / "_checkpoint.json").unlink()  # killed before it was written
    extract(history, out, never)
    assert _at(out) == made.version


def test_an_empty_window_moves_the_checkpoint(run: Extract, url: str, journal: dj.Journal, out: Path) -> None:
    assert run().version == 0
    write(journal, document(STUDENT, 1))
    run()
    with journal.write() as tx:
        tx.upsert(document(STUDENT, 2))
        tx.delete(STUDENT, {"studentId": 2})
    made = run()
    assert (made.version, made.rows.upsert, made.rows.delete) == (newest(journal), 0, 1)
    write(journal, document(SCHOOL, 1))
    only = out.with_name("students")
    run(output=only, resources=[STUDENT])
    write(journal, document(SCHOOL, 2))
    made = run(output=only)
    assert (made.version, made.is_new, sum(map(len, rows_of(only, made.run and made.run.folder.name).values()))) == (
        newest(journal), True, 0,
    )  # fmt: skip
    assert {row[1] for row in rows_of(only)["upsert"]} == {str(change.document_uuid) for change in journal.changes(STUDENT)}


@pytest.mark.parametrize(("written_by", "events_per_part"), [((DataFrameWriter, "parquet"), 5), ((RDD, "collect"), None)])
def test_a_run_whose_files_the_driver_does_not_see_is_not_finished(
    run: Extract,
    history: str,
    journal: dj.Journal,
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
    written_by: tuple[type, str],
    events_per_part: int | None,
) -> None:
    """As where the folder is each worker's own: Spark says that all is well, and the driver finds a folder without the files."""
    run()
    before = visible(out), _at(out)
    change(history, random.Random(1), 60)
    real = getattr(*written_by)

    def elsewhere(*arguments: Any) -> Any:
        written = real(*arguments)
        min(out.glob(".making-*/**/*.parquet")).unlink()
        return written

    monkeypatch.setattr(*written_by, elsewhere)
    with pytest.raises(dj.Unavailable, match="all workers"):
        run(events_per_part=events_per_part)
    monkeypatch.undo()
    assert (visible(out), _at(out)) == before
    assert run().is_new


# --- what is refused: a clear word, and nothing written ---


REFUSED: dict[str, tuple[ExtractRequest, dict[str, Any], str]] = {
    "an unknown resource": (ExtractRequest(), {"resources": [dj.ResourceKey("Ed-Fi", "Studnet", "5.2.0")]}, "did you mean"),
    "no resource": (ExtractRequest(), {"resources": []}, "name one or more"),
    "a min above the horizon": (ExtractRequest(min=10**6), {}, "newest is"),
    "a max above the horizon": (ExtractRequest(min=0, max=10**6), {}, "newest is"),
    "no checkpoint": (ExtractRequest(from_checkpoint=True), {}, "it has no checkpoint yet"),
    "a max alone": (ExtractRequest(max=3), {}, "it has no checkpoint yet"),
    "parts of no events": (ExtractRequest(), {"events_per_part": 0}, "events_per_part|documents_per_part"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_writes_nothing(run: Extract, history: str, out: Path, case: str) -> None:
    request, options, words = REFUSED[case]
    with pytest.raises(dj.InvalidRequest, match=words):
        run(request, **options)
    assert not out.exists()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ExtractRequest(full=True, from_checkpoint=True), "give one of them"),
        (lambda: ExtractRequest(full=True, min=1), "it goes neither"),
        (lambda: ExtractRequest(full=True, max=1), "leave it out"),
        (lambda: ExtractRequest(min=5, max=3), "it is above `max`"),
        (lambda: ExtractRequest(min=-1), "a version is"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(make: Callable[[], ExtractRequest], words: str) -> None:
    with pytest.raises(dj.InvalidRequest, match=words):
        make()


def test_an_output_that_is_not_ours_stays_as_it_is(run: Extract, history: str, out: Path) -> None:
    out.mkdir()
    (out / "theirs.parquet").write_bytes(b"theirs")
    with pytest.raises(dj.InvalidRequest, match=r"holds theirs\.parquet"):
        run()
    assert [each.name for each in out.iterdir()] == ["theirs.parquet"]


def test_settings_of_an_output_cannot_change(run: Extract, history: str, out: Path) -> None:
    run(resources=[STUDENT], body=False)
    change(history, random.Random(1), 20)
    for options, words in (
        ({"resources": [SCHOOL]}, f"resources = '{SCHOOL}': {out} was begun with {STUDENT}: leave it out, or name a new folder"),
        ({"body": True}, f"body = 'json': {out} was begun with no bodies: leave"),
        ({"etag": True}, f"etag = True: {out} was begun with no etags: leave"),
        ({"partition": False}, f"partition = False: {out} was begun with files of one resource each: leave"),
    ):
        with pytest.raises(dj.InvalidRequest, match=re.escape(words)):
            run(**options)
    assert run(resources=[STUDENT], body=False).is_new
    assert "body" not in ds.dataset(out, format="parquet").schema.names


def test_windows_that_leave_a_gap_or_overlap_are_refused(run: Extract, history: str, journal: dj.Journal, out: Path) -> None:
    at = newest(journal)
    run(ExtractRequest(min=0, max=at - 20))
    for request in [ExtractRequest(min=at - 25), ExtractRequest(min=at - 10), ExtractRequest(min=0, max=at)]:
        with pytest.raises(dj.InvalidRequest, match="has come to"):
            run(request)
    with pytest.raises(dj.InvalidRequest, match="has come to"):
        run(ExtractRequest(full=True))
    assert len(visible(out)) == 1
    run()
    assert Output(out).runs()[-1].last == at


def test_an_expired_checkpoint_says_what_to_do(run: Extract, history: str, journal: dj.Journal, out: Path) -> None:
    run()
    change(history, random.Random(1), 20)
    journal.prune(newest(journal))
    before = visible(out)
    with pytest.raises(dj.CheckpointExpired) as expired:
        run()
    assert expired.value.__notes__ == ["a full extract into a new folder or table begins anew"]
    assert visible(out) == before
    assert run(output=out.with_name("anew")).version == newest(journal)


def test_another_database_under_the_same_url_is_told(run: Extract, history: str, journal: dj.Journal, out: Path) -> None:
    run()
    restore(history)
    change(history, random.Random(1), 20)
    with pytest.raises(dj.HistoryDiverged) as diverged:
        run()
    assert diverged.value.__notes__
    with sa.create_engine(history, poolclass=sa.NullPool).begin() as conn:
        conn.exec_driver_sql("SELECT setval('dms.ChangeVersionSequence', 3)")
    with pytest.raises(dj.HistoryDiverged):
        run()
    assert len(visible(out)) == 1


def test_a_dry_run_writes_nothing(history: str, journal: dj.Journal, run: Extract, out: Path) -> None:
    plan = preview(history, out, events_per_part=50)
    assert plan is not None
    assert plan.last == newest(journal)
    assert len(plan.parts) >= 1
    assert not out.exists()
    run()
    assert preview(history, out) is None
    change(history, random.Random(1), 5)
    plan = preview(history, out)
    assert plan is not None
    assert plan.last == newest(journal)
    assert len(visible(out)) == 1


def test_a_database_that_goes_away_is_unavailable(run: Extract, history: str, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    change(history, random.Random(1), 20)
    real = Reading.copies

    def copies(*arguments: Any, **options: Any) -> Any:
        found = real(*arguments, **options)
        engine = sa.create_engine(history, poolclass=sa.NullPool)
        with engine.begin() as conn:  # those that hold the snapshot
            conn.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                "AND datname = current_database()"
            )
        return found

    monkeypatch.setattr(Reading, "copies", copies)
    with pytest.raises(dj.Unavailable, match=r"Spark could not finish writing: .*snapshot"):
        run()
    monkeypatch.undo()
    assert len(visible(out)) == 1
    assert run().is_new


def test_progress_is_told(run: Extract, history: str) -> None:
    told: list[tuple[str, int, int]] = []
    run(events_per_part=5, progress=lambda *step: told.append(step))
    assert {step[0] for step in told} <= {"writing"}
