"""Tables of changes as Apache Iceberg: one window one snapshot, whatever is killed, repeated or at once, on a disk and on S3."""

import json
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.spark import lake
from dmsjournal.spark.extract import ExtractRequest
from dmsjournal.spark.iceberg_changes import IcebergChanges
from dmsjournal.spark.lake import Committed, extract_to_lake, preview_of_lake
from dmsjournal.spark.lake_tables import change_table, formats
from dmsjournal.util import exit_codes
from tests.helpers import SCHOOL, STUDENT, document, newest, write
from tests.spark.changing import change, restore, rows_of_database
from tests.spark.rest_catalog import rest_catalog
from tests.spark.s3 import BUCKET, KEY, S3, SECRET, refusing_store

pytestmark = pytest.mark.xdist_group("spark")

NAME = "edfi.changes"


@dataclass(frozen=True)
class Lake:
    """A catalog, and what a user sets to reach the store of its warehouse."""

    catalog: dict[str, str]
    conf: dict[str, str]

    def reached(self) -> Catalog:
        return load_catalog("default", **self.catalog)

    def table(self) -> Table:
        return self.reached().load_table(NAME)

    def all(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.table().scan().to_arrow().to_pylist()
        return rows

    def rows(self, first: int, last: int) -> dict[str, list[tuple[Any, ...]]]:
        """The rows of a window by type, as a reader of Iceberg finds them; in the form of rows_of_database."""
        found: dict[str, list[tuple[Any, ...]]] = {"upsert": [], "delete": [], "key_change": []}
        kinds = {"insert": "upsert", "update_postimage": "upsert", "delete": "delete", "update_preimage": "key_change"}
        for row in self.all():
            if first <= row["_commit_version"] <= last:
                told = (row["document_id"], row["document_uuid"], row["_commit_version"], row["key_values"])
                kind = kinds[row["_change_type"]]
                found[kind].append((*told, row["new_key_values"]) if kind == "key_change" else told)
        return {kind: sorted(rows, key=repr) for kind, rows in found.items()}

    def windows(self) -> list[tuple[int, int]]:
        """The windows that the summaries of snapshots tell, the earliest first."""
        told = [each.summary.additional_properties for each in self.table().snapshots() if each.summary is not None]
        windows = [json.loads(each["dmsjournal"]) for each in told if "dmsjournal" in each]
        return [(each["first"], each["last"]) for each in windows]


@pytest.fixture
def on_disk(tmp_path: Path) -> Lake:
    return Lake({"uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/warehouse"}, {})


@pytest.fixture
def on_s3(s3: S3, tmp_path: Path) -> Lake:
    properties = {"s3.endpoint": s3.endpoint, "s3.access-key-id": KEY, "s3.secret-access-key": SECRET, "s3.region": "us-east-1"}
    uri = f"sqlite:///{tmp_path}/catalog.db"
    return Lake({"uri": uri, "warehouse": f"s3://{BUCKET}/{tmp_path.name}"} | properties, s3.conf)


@pytest.fixture(params=["SQL in PostgreSQL", "REST"])
def of_many(request: pytest.FixtureRequest, spark: SparkSession, postgres_server: Any, tmp_path: Path) -> Iterator[Lake]:
    """A catalog that other machines reach, too. `spark` has fetched the driver that the one by REST takes."""
    with ExitStack() as stack:
        database, warehouse = stack.enter_context(postgres_server.fresh_database()), f"file://{tmp_path}/warehouse"
        if request.param == "REST":
            yield Lake({"uri": stack.enter_context(rest_catalog(database, warehouse))}, {})
        else:
            yield Lake({"uri": database, "warehouse": warehouse}, {})


Extract = Callable[..., Committed]


def extracting(spark: SparkSession, url: str, where: Lake) -> Extract:
    def call(asked: ExtractRequest = lake.EVERYTHING, **options: Any) -> Committed:
        given = {"conf": where.conf, "catalog": where.catalog} | options
        return extract_to_lake(url, NAME, lambda: spark, asked, format="iceberg", **given)

    return call


@pytest.fixture
def run(spark: SparkSession, history: str, on_disk: Lake) -> Extract:
    return extracting(spark, history, on_disk)


def each_window_once(run: Extract, history: str, journal: dj.Journal, where: Lake) -> None:
    first = run()
    at = newest(journal)
    assert (first.version, first.first, first.is_new) == (at, 0, True)
    assert first.commit == where.table().metadata.current_snapshot_id
    assert {row["_change_type"] for row in where.all()} == {"insert"}
    assert {row["resource"] for row in where.all()} == {str(STUDENT), str(SCHOOL)}
    assert where.rows(0, at)["upsert"] == rows_of_database(history, 0, at)["upsert"]
    again = run()
    assert (again.version, again.first, again.is_new) == (at, None, False)
    change(history, random.Random(8), 40)
    second = run()
    last = newest(journal)
    assert (second.version, second.first) == (last, at + 1)
    assert where.rows(at + 1, last) == rows_of_database(history, at + 1, last)
    assert where.windows() == [(0, at), (at + 1, last)]
    for same in (ExtractRequest(min=at + 1), ExtractRequest(min=at + 1, max=last)):
        assert (run(same).version, run(same).is_new) == (last, False)
    assert len(where.table().snapshots()) == 2


@pytest.mark.acceptance("100")
def test_a_window_is_a_snapshot(run: Extract, history: str, journal: dj.Journal, on_disk: Lake) -> None:
    each_window_once(run, history, journal, on_disk)
    files = on_disk.table().inspect.files().to_pylist()
    assert len(files) == 4  # one a resource and window
    assert sum(file["record_count"] for file in files) == len(on_disk.all())
    read = on_disk.table().scan(row_filter=f"resource = '{SCHOOL}'").plan_files()
    assert len([*read]) == 2


@pytest.mark.acceptance("100")
def test_on_s3_the_way_is_told_once(spark: SparkSession, history: str, journal: dj.Journal, on_s3: Lake) -> None:
    """To Spark's settings or to the catalog: the driver and the tasks find it in either."""
    s3_words = {name: value for name, value in on_s3.catalog.items() if name.startswith("s3.")}
    without = {name: value for name, value in on_s3.catalog.items() if name not in s3_words}
    extract = extracting(spark, history, on_s3)
    each_window_once(lambda *asked: extract(*asked, catalog=without), history, journal, on_s3)
    change(history, random.Random(9), 20)
    assert extract(conf={}).is_new


class Killed(BaseException):
    """What no handler takes for an error of the run."""


@pytest.mark.acceptance("100")
@pytest.mark.parametrize("moment", ["placing", "writing", "before the commit", "before the catalog", "after the commit"])
def test_a_run_that_was_cut_short_adds_nothing_twice(
    run: Extract, history: str, journal: dj.Journal, on_disk: Lake, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    owner, name, call_first = {
        "placing": (IcebergChanges, "place", True),
        "writing": (lake, "_write", True),
        "before the commit": (IcebergChanges, "commit", False),
        "before the catalog": (SqlCatalog, "commit_table", False),
        "after the commit": (SqlCatalog, "commit_table", True),
    }[moment]
    done, reached = moment == "after the commit", list[tuple[int, int]]()
    for round_ in range(2):  # at the first window, which makes the table, and at a later one
        change(history, random.Random(round_), 20)
        real = getattr(owner, name)

        def stop(*arguments: Any, real: Any = real, **options: Any) -> Any:
            if call_first:
                real(*arguments, **options)
            raise Killed

        monkeypatch.setattr(owner, name, stop)
        with pytest.raises(Killed):
            run()
        monkeypatch.undo()
        assert run().is_new is not done
        reached.append((reached[-1][1] + 1 if reached else 0, newest(journal)))
        assert on_disk.windows() == reached
    first, last = reached[-1]
    assert on_disk.rows(first, last) == rows_of_database(history, first, last)


@pytest.mark.acceptance("100")
def test_of_two_runs_at_once_one_commits(
    run: Extract, history: str, journal: dj.Journal, on_disk: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_of_two_commits(run, history, journal, on_disk, monkeypatch)


def one_of_two_commits(run: Extract, history: str, journal: dj.Journal, where: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have read how far the table had come before either of them commits: at the first window, and at a later one."""
    commit, other = IcebergChanges.commit, list[Committed]()

    def after_another(*arguments: Any) -> Any:
        monkeypatch.undo()
        other.append(run())
        return commit(*arguments)

    for round_ in range(2):
        change(history, random.Random(round_), 20)
        monkeypatch.setattr(IcebergChanges, "commit", after_another)
        with pytest.raises(dj.Unavailable, match=r"another run has committed to edfi\.changes meanwhile: nothing of this one"):
            run()
        assert [each.is_new for each in other] == [True] * (round_ + 1)
        assert len(where.windows()) == len(where.table().snapshots()) == round_ + 1
        first, last = where.windows()[-1]
        assert last == newest(journal)
        assert where.rows(first, last)["upsert"] == rows_of_database(history, first, last)["upsert"]


@pytest.mark.acceptance("97", "100")
def test_a_catalog_of_many_machines(
    spark: SparkSession, history: str, journal: dj.Journal, of_many: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a catalog in a file: each window once, of two runs at once one, and refusals before anything is written."""
    run = extracting(spark, history, of_many)
    one_of_two_commits(run, history, journal, of_many, monkeypatch)
    assert (run().first, len(of_many.table().snapshots())) == (None, 2)
    change(history, random.Random(2), 20)
    commit = type(of_many.reached()).commit_table

    def lose(*arguments: Any, **options: Any) -> None:
        commit(*arguments, **options)
        raise OSError("connection reset")

    monkeypatch.setattr(type(of_many.reached()), "commit_table", lose)
    assert run().commit == of_many.table().metadata.current_snapshot_id
    monkeypatch.undo()
    at = newest(journal)
    assert of_many.windows()[-1][1] == at
    with pytest.raises(dj.InvalidRequest, match="was begun with"):
        run(partition=False)
    restore(history)
    change(history, random.Random(1), 20)
    with pytest.raises(dj.HistoryDiverged):
        run()
    of_many.reached().create_table("edfi.other", on_disk_schema())
    with pytest.raises(dj.InvalidRequest, match="an Iceberg table that dmsjournal extract did not make"):
        extract_to_lake(history, "edfi.other", lambda: spark, format="iceberg", catalog=of_many.catalog)
    assert len(of_many.table().snapshots()) == 3


def test_an_answer_that_was_lost_is_found_in_the_table(run: Extract, on_disk: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    commit = SqlCatalog.commit_table

    def lose(*arguments: Any, **options: Any) -> None:
        commit(*arguments, **options)
        raise OSError("connection reset")

    monkeypatch.setattr(SqlCatalog, "commit_table", lose)
    assert run().commit == on_disk.table().metadata.current_snapshot_id


@pytest.mark.acceptance("97")
def test_a_database_that_was_restored_behind_the_table_is_told(run: Extract, history: str, on_disk: Lake) -> None:
    run()
    restore(history)
    change(history, random.Random(1), 20)
    with pytest.raises(dj.HistoryDiverged) as diverged:
        run()
    assert diverged.value.__notes__
    assert len(on_disk.table().snapshots()) == 1


def test_the_state_outlives_the_snapshots_and_what_others_do(
    run: Extract, history: str, journal: dj.Journal, on_disk: Lake
) -> None:
    at = run(resources=[STUDENT], body=False, partition=False).version
    first = on_disk.table().metadata.current_snapshot_id
    assert first is not None
    change(history, random.Random(1), 20)
    second = run().version
    before = on_disk.all()
    on_disk.table().overwrite(on_disk.table().scan().to_arrow())  # as who compacts does
    ours = [each.snapshot_id for each in on_disk.table().snapshots()][:-1]
    on_disk.table().maintenance.expire_snapshots().by_ids([each for each in ours if each != first]).commit()
    assert sorted(map(repr, on_disk.all())) == sorted(map(repr, before))
    change(history, random.Random(2), 20)
    third = run(resources=[STUDENT])
    assert (third.first, third.version) == (second + 1, newest(journal))
    assert on_disk.windows() == [(0, at), (second + 1, third.version)]
    assert "body" not in on_disk.table().schema().column_names
    with pytest.raises(dj.InvalidRequest, match="was begun with no bodies"):
        run(body=True)
    with on_disk.table().manage_snapshots() as snapshots:
        snapshots.set_current_snapshot(first)
    with pytest.raises(dj.InvalidRequest, match="was restored to an older snapshot"):
        run()


def test_a_window_without_rows_moves_the_table_on(run: Extract, history: str, journal: dj.Journal, on_disk: Lake) -> None:
    at = run(resources=[SCHOOL]).version
    write(journal, document(STUDENT, 1000))
    moved = run()
    assert (moved.first, moved.version, moved.files) == (at + 1, newest(journal), 0)
    assert on_disk.windows() == [(0, at), (at + 1, moved.version)]


def test_bad_input_is_told_before_anything_is_written(spark: SparkSession, history: str, on_disk: Lake, tmp_path: Path) -> None:
    def refused(words: str, name: str = NAME, **options: Any) -> None:
        given: dict[str, Any] = {"format": "iceberg", "catalog": on_disk.catalog} | options
        with pytest.raises(dj.InvalidRequest, match=words):
            extract_to_lake(history, name, lambda: spark, **given)

    before = sorted(each.name for each in tmp_path.iterdir())
    for name in ("changes", "edfi.", "edfi/changes", "s3://lake/edfi.changes", ""):
        refused("name the table in its catalog, such as edfi.changes", name)
    refused("it is delta or iceberg", format="icberg")
    refused("a Delta table is found by its path", str(tmp_path / "out"), format="delta")
    refused(r"catalog = \[\]: name it: uri=", catalog={})
    refused("name it: uri=", catalog={"type": "nonsense"})
    assert sorted(each.name for each in tmp_path.iterdir()) == before
    catalog = load_catalog("default", **on_disk.catalog)
    catalog.create_namespace("edfi")
    catalog.create_table(NAME, on_disk_schema())
    refused("an Iceberg table that dmsjournal extract did not make")
    assert on_disk.table().snapshots() == []
    assert formats() == ["delta", "iceberg"]


def on_disk_schema() -> Any:
    from pyiceberg.schema import Schema
    from pyiceberg.types import LongType, NestedField

    return Schema(NestedField(1, "a", LongType()))


def test_a_catalog_that_is_away_is_told(tmp_path: Path) -> None:
    for uri in ("http://127.0.0.1:1", f"sqlite:///{tmp_path}/none/catalog.db"):
        with pytest.raises(dj.Unavailable, match="could not be reached or written"):
            change_table("iceberg", NAME, {}, {"uri": uri, "warehouse": "x"}).state()


@pytest.mark.parametrize(("status", "is_secret"), [(401, False), (403, False), (400, True)])
def test_a_catalog_that_refuses_the_login_is_not_asked_again(status: int, is_secret: bool) -> None:
    with refusing_store(status, "refused") as conf:
        at = conf["spark.hadoop.fs.s3a.endpoint"]
        login = {"credential": "dmsjournal:wrong", "oauth2-server-uri": f"{at}/token"} if is_secret else {"token": "wrong"}
        with pytest.raises(dj.StoreRefused, match="mend what logs in") as refused:
            change_table("iceberg", NAME, None, {"type": "rest", "uri": at, **login})
    assert exit_codes.code_of(refused.value) == exit_codes.PERSON_NEEDED
    assert "wrong" not in str(refused.value)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"username": "role_of_none"}, r"password authentication failed.*: mend the credentials"),
        ({"database": "database_of_none"}, r'"database_of_none" does not exist.*: mend the URI of the catalog'),
    ],
)
def test_a_catalog_s_database_that_refuses_is_not_asked_again(postgres_server: Any, wrong: dict[str, str], words: str) -> None:
    with postgres_server.fresh_database() as url:
        uri = sa.make_url(url).set(**wrong).render_as_string(hide_password=False)
        with pytest.raises(dj.StoreRefused, match=words):
            change_table("iceberg", NAME, None, {"type": "sql", "uri": uri, "warehouse": "file:///nowhere"}).state()


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("iceberg_changes", "iceberg_log"):
        monkeypatch.delitem(sys.modules, f"dmsjournal.spark.{module}")
    monkeypatch.setitem(sys.modules, "pyiceberg.catalog", None)
    with pytest.raises(dj.UnsupportedCapability, match=r"pip install 'dmsjournal\[iceberg\]'"):
        change_table("iceberg", NAME, {}, {})


def test_the_command(spark: SparkSession, history: str, journal: dj.Journal, on_disk: Lake, tmp_path: Path) -> None:
    words = [word for name, value in on_disk.catalog.items() for word in ("--catalog", f"{name}={value}")]
    run = lambda *more: CliRunner(env={"DMSJOURNAL_URL": history}).invoke(cli.app, ["extract", *more])  # noqa: E731
    dry = run(NAME, "--format", "iceberg", *words, "--dry-run")
    assert (dry.exit_code, "rows to expect" in dry.stderr) == (0, True)
    assert preview_of_lake(history, NAME, format="iceberg", catalog=on_disk.catalog) is not None
    made = run(NAME, "--format", "iceberg", *words, "--json")
    assert made.exit_code == 0, made.stderr
    assert json.loads(made.stdout)["version"] == newest(journal)
    assert on_disk.windows() == [(0, newest(journal))]
    assert run(NAME, "--format", "iceberg", *words).exit_code == 99
    for refused, said in (
        ([NAME, "--format", "iceberg", "--catalog", "uri"], "--catalog = 'uri': write a property"),
        ([str(tmp_path / "x"), *words], "a folder of runs has none: add --format iceberg"),
        ([str(tmp_path / "x"), "--format", "csv"], "it is parquet, delta or iceberg"),
    ):
        told = run(*refused)
        assert (told.exit_code, said in told.stderr) == (1, True), told.stderr
