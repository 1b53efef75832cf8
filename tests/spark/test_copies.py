"""What tasks read by COPY is what frames hold that come by JDBC, whatever is in it."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from pyspark.sql import SparkSession

import dmsjournal as dj
from dmsjournal.schema import migrate
from dmsjournal.spark.copies import Connection, Copy
from dmsjournal.spark.dataframes import Reading, read
from dmsjournal.spark.extract import extract, layout_of
from dmsjournal.spark.folders import LocalFolder, resource_folder
from dmsjournal.spark.jobs import DatabaseFailed
from dmsjournal.spark.lake import extract_to_lake
from dmsjournal.spark.lake import layout_of as lake_layout_of
from dmsjournal.spark.lake_files import FileWriter
from dmsjournal.spark.lake_tables import LakeSettings
from dmsjournal.spark.layout import Layout
from dmsjournal.spark.manifests import OutputSettings
from tests.helpers import SCHOOL, STUDENT, document, write

pytestmark = pytest.mark.xdist_group("spark")

ODD = ["", " ", "\\", "\\N", "\\.", '"', '""', "'", "\n", "\r\n", "\t", "\x01", "\x02", "\x7f"]
ODD += ["null", "naïve 学校 🎒", "a,b;c|d", "%s :x {name}"]


def run(url: str, *statements: str) -> None:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as conn:
        for statement in statements:
            conn.exec_driver_sql(statement)


def copied(reading: Reading, layout: Layout) -> pa.Table:
    assert reading.connection is not None
    tasks = reading.copies(body=layout.body, derived=layout.etag)
    tables = [layout.table(kind, rows) for copies in tasks for kind, rows in reading.connection.rows(copies)]
    return pa.concat_tables([layout.schema.empty_table(), *tables])


def agree(reading: Reading, layout: Layout) -> int:
    def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(rows, key=lambda row: (row["_change_type"], row["document_id"], row["_commit_version"]))

    found = in_order(copied(reading, layout).to_pylist())
    assert found == in_order(layout.rows(reading).toArrow().to_pylist())
    return len(found)


@pytest.mark.parametrize("form", ["a folder", "a lake"])
def test_what_is_copied_is_what_frames_hold(spark: SparkSession, history: str, journal: dj.Journal, form: str) -> None:
    write(journal, *[document(STUDENT, 1_000 + n, body={text or "empty": text}) for n, text in enumerate(ODD)])
    write(journal, *[dj.Document(SCHOOL, {"k": text}, {"b": [text]}) for text in ODD])
    run(history, 'DELETE FROM dms.Document WHERE KeyValues = \'{"k": "\\\\"}\'')
    for full in (True, False):
        for parts in (1, 5):
            with read(spark, history, full=full, parts=parts, body=True) as reading:
                if form == "a folder":
                    layout = layout_of(reading, OutputSettings("chain", None, True, True))
                else:
                    layout = lake_layout_of(reading, LakeSettings(None, "json", True, True))
                assert agree(reading, layout) > 60


@pytest.mark.acceptance("71", "88")
def test_bodies_of_tracked_rows_are_copied_from_their_tables(spark: SparkSession, url: str, journal: dj.Journal) -> None:
    """Also of a table whose names could be taken for places in a statement."""
    migrate.upgrade(url, options=["tracking"])
    run(
        url,
        "CREATE SCHEMA app",
        'CREATE TABLE app."{condition} :name ""?""" (id int PRIMARY KEY, "{name}" text, raw bytea, at timestamptz)',
        "INSERT INTO app.\"{condition} :name \"\"?\"\"\" SELECT n, E'a\\n\\\\' || n, '\\x00ff', '2026-01-02 03:04:05+09' "
        "FROM generate_series(1, 20) AS n",
    )
    journal.track(dj.TrackedTable('app."{condition} :name ""?"""', resource=dj.ResourceKey("Own", "Odd", "1")))
    for full in (True, False):
        with read(spark, url, full=full, body=True) as reading:
            layout = layout_of(reading, OutputSettings("chain", None, True, False))
            assert agree(reading, layout) == 20
            assert '"{name}": "a\\n\\\\7"' in "".join(copied(reading, layout)["body"].to_pylist())


def test_a_time_that_python_cannot_hold_does_not_end_an_extract(
    spark: SparkSession, url: str, journal: dj.Journal, tmp_path: Path
) -> None:
    write(journal, *[document(STUDENT, n, body={}) for n in range(4)])
    nth = "SELECT DocumentId FROM dms.Document ORDER BY DocumentId OFFSET {number} LIMIT 1"
    for number, time in enumerate(["infinity", "-infinity", "0044-03-15 BC", "12026-01-01"]):
        stamp = f"UPDATE dms.Document SET ContentLastModifiedAt = '{time}' WHERE DocumentId = ({nth.format(number=number)})"
        run(url, "SET session_replication_role = replica", stamp)
    result = extract(url, tmp_path / "out", lambda: spark, body=True)
    assert result.run is not None
    [file] = result.run.folder.rglob("*.parquet")
    years = sorted(time.year for time in pq.read_table(file, partitioning=None)["_commit_timestamp"].to_pylist())
    assert years == [1, 1, 9999, 9999]


def test_a_row_of_a_resource_that_is_not_in_the_plan_is_never_left_out(spark: SparkSession, history: str) -> None:
    with read(spark, history, full=True) as reading:
        whole = layout_of(reading, OutputSettings("chain", None, False, False))
        first = min(whole.resources)
        part = Layout(whole.schema, whole.sources, {first: whole.resources[first]}, whole.body, whole.etag)
        with pytest.raises(ValueError, match="resources that are not in the plan"):
            copied(reading, part)


@pytest.mark.parametrize(
    ("begin", "told"),
    [
        ("SET LOCAL statement_timeout = 50", "canceling statement due to statement timeout"),
        ("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '0'", 'snapshot "0" does not exist'),
    ],
)
def test_what_the_database_says_is_told(url: str, begin: str, told: str) -> None:
    connection = Connection("postgres", sa.make_url(url), begin)
    with pytest.raises(DatabaseFailed, match=told):
        list(connection.rows([Copy("upsert", "SELECT pg_sleep(10)::text AS body")]))


def test_a_login_that_is_refused_is_told(url: str) -> None:
    connection = Connection("postgres", sa.make_url(url).set(password="wrong"), "SELECT 1")
    with pytest.raises(DatabaseFailed, match="password authentication failed"):
        list(connection.rows([]))


def test_folders_have_the_names_that_spark_gives_them(spark: SparkSession) -> None:
    names = ["".join(map(chr, range(1, 256))), "Ed-Fi/Student/5.2.0", "学校 🎒"]
    spelt = spark._jvm.org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils.escapePathName  # type: ignore[attr-defined]
    assert [resource_folder(name) for name in names] == [f"resource={spelt(name)}" for name in names]


def test_many_resources_have_few_files_open_and_nothing_stays_of_what_failed(tmp_path: Path) -> None:
    schema = pa.schema([("resource", pa.string()), ("body", pa.string())])
    writer = FileWriter(LocalFolder(tmp_path), schema, "resource", None, 2**20, resource_folder)
    table = pa.table({"resource": [f"r{n % 500}" for n in range(5_000)], "body": ["x" * 40_000] * 5_000}, schema=schema)
    files = writer.written(iter([table]))
    assert sum(file.rows for file in files) == 5_000
    assert {file.partition for file in files} == {f"r{n}" for n in range(500)}
    before = sorted(tmp_path.rglob("*.parquet"))

    def failing() -> Any:
        yield table
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        writer.written(failing())
    assert sorted(tmp_path.rglob("*.parquet")) == before


def test_a_lake_and_a_folder_hold_the_same(spark: SparkSession, history: str, tmp_path: Path) -> None:
    run_ = extract(history, tmp_path / "folder", lambda: spark, body=True, etag=True).run
    committed = extract_to_lake(history, tmp_path / "lake", lambda: spark, body=True, etag=True)
    assert run_ is not None
    assert run_.manifest().rows == committed.rows
