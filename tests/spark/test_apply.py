"""Applying: after any number of runs the table is the database at that horizon, in Parquet and in Delta."""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deltalake
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from pyspark.sql import SparkSession

import dmsjournal as dj
from dmsjournal.spark.apply import Applied, Format, apply
from dmsjournal.spark.compare import Comparison, compare
from dmsjournal.spark.extract import ExtractRequest, extract
from dmsjournal.spark.fold import OP, ORDER, folded, merged
from dmsjournal.spark.runs import Output
from dmsjournal.spark.tables import ParquetTable
from tests.helpers import SCHOOL, SECTION, STUDENT, document, newest, write
from tests.spark.changing import State, change, state_of_database
from tests.spark.outputs import table_of

pytestmark = pytest.mark.xdist_group("spark")


class Chain:
    """A database, its extract, and a table of it."""

    def __init__(self, spark: SparkSession, url: str, folder: Path, format: Format = "parquet") -> None:
        self.spark, self.url, self.format = spark, url, format
        self.out, self.table = folder / "the output", folder / "the table"

    def extract(self, request: ExtractRequest = ExtractRequest(), **options: Any) -> int:  # noqa: B008
        return extract(self.url, self.out, lambda: self.spark, request, **options).version

    def apply(self, **options: Any) -> Applied:
        return apply(self.out, self.table, lambda: self.spark, format=self.format, **options)

    def compare(self) -> Comparison:
        return compare(self.url, self.out, self.table, lambda: self.spark, format=self.format)

    def state(self) -> State:
        if self.format == "parquet":
            return table_of(self.table)
        rows = deltalake.DeltaTable(self.table).to_pyarrow_table().to_pylist()
        names = ("document_uuid", "resource", "key_values", "change_version", "body")
        assert len({row["document_id"] for row in rows}) == len(rows)
        return {row["document_id"]: tuple(row[name] for name in names) for row in rows}


@pytest.fixture(params=["parquet", pytest.param("delta", marks=pytest.mark.long)])
def chain(request: pytest.FixtureRequest, spark: SparkSession, history: str, tmp_path: Path) -> Chain:
    return Chain(spark, history, tmp_path, request.param)


@pytest.fixture
def history(url: str, journal: dj.Journal) -> str:
    students = [document(STUDENT, n, body={"name": f"Zoë {n}"}) for n in range(40)]
    schools = [document(SCHOOL, n) for n in range(5)]
    write(journal, *students, *schools, *[document(SECTION, n, students[n], schools[n % 5]) for n in range(20)])
    change(url, random.Random(7), 40)
    return url


def test_a_table_equals_the_database_after_any_number_of_runs(chain: Chain, journal: dj.Journal) -> None:
    chain.extract()
    assert chain.apply().version == newest(journal)
    assert chain.state() == state_of_database(chain.url)
    for seed in range(2):
        change(chain.url, random.Random(seed), 40)
        chain.extract()
    assert len(chain.apply().runs) == 2  # folded at once
    assert chain.state() == state_of_database(chain.url)
    found = chain.compare()
    assert (found.differences, found.compared.documents) == ([], len(chain.state()))
    before = sorted(chain.table.rglob("*.parquet"))
    assert chain.apply().runs == []  # a run that was applied changes nothing
    assert sorted(chain.table.rglob("*.parquet")) == before


def test_a_comparison_is_exact_while_others_write_and_sees_each_difference(chain: Chain) -> None:
    chain.extract()
    chain.apply()
    change(chain.url, random.Random(2), 40)  # what the table cannot have
    assert chain.compare().differences == []
    documents = chain.compare().compared.documents
    assert 0 < documents < len(state_of_database(chain.url))
    engine = sa.create_engine(chain.url, poolclass=sa.NullPool)
    version = chain.apply().version
    unchanged = [i for i, row in state_of_database(chain.url).items() if row[3] <= version]
    with engine.begin() as conn:  # past the triggers, as what the journal missed would be
        conn.exec_driver_sql("SET LOCAL session_replication_role = replica")
        conn.exec_driver_sql(f'UPDATE dms.Document SET KeyValues = \'{{"not": "told"}}\' WHERE DocumentId = {unchanged[0]}')
    [difference] = chain.compare().differences
    assert difference.table.documents == difference.database.documents
    with engine.begin() as conn:
        conn.exec_driver_sql("SET LOCAL session_replication_role = replica")
        conn.exec_driver_sql(f"DELETE FROM dms.Document WHERE DocumentId = {unchanged[0]}")
    [difference] = chain.compare().differences
    assert difference.table.documents == difference.database.documents + 1


def test_an_apply_that_was_cut_short_is_done_again(
    spark: SparkSession, history: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = Chain(spark, history, tmp_path)
    chain.extract()
    chain.apply()
    before = table_of(chain.table)
    change(history, random.Random(4), 40)
    chain.extract()
    monkeypatch.setattr(ParquetTable, "_point_to", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        chain.apply()
    monkeypatch.undo()
    assert table_of(chain.table) == before
    chain.apply()
    assert table_of(chain.table) == state_of_database(history)
    change(history, random.Random(5), 10)
    chain.extract()
    chain.apply()
    assert len(list((chain.table / "_generations").iterdir())) == 2  # the current one, and the one that readers may be in


def test_what_cannot_be_applied_is_refused(spark: SparkSession, history: str, journal: dj.Journal, tmp_path: Path) -> None:
    chain = Chain(spark, history, tmp_path)
    with pytest.raises(dj.InvalidRequest, match="nothing was extracted into it"):
        chain.apply()
    chain.extract()
    with pytest.raises(dj.InvalidRequest, match="format = 'csv': it is parquet, delta or iceberg"):
        apply(chain.out, chain.table, lambda: spark, format="csv")  # type: ignore[arg-type]
    assert not chain.table.exists()
    chain.table.mkdir()
    (chain.table / "theirs").touch()
    for format in ("parquet", "delta"):
        with pytest.raises(dj.InvalidRequest, match="name a new folder"):
            apply(chain.out, chain.table, lambda: spark, format=format)  # type: ignore[arg-type]
    (chain.table / "theirs").unlink()
    chain.apply()
    for seed in range(2):
        change(history, random.Random(seed), 10)
        chain.extract()
    missing = Output(chain.out).runs()[1]
    os.rename(missing.folder, tmp_path / "away")
    with pytest.raises(dj.InvalidRequest, match=rf"window = '{missing.first}-{missing.last}': it is missing"):
        chain.apply()
    os.rename(tmp_path / "away", missing.folder)
    assert len(chain.apply().runs) == 2

    other = Chain(spark, history, tmp_path / "other")
    other.extract()
    other.table = chain.table
    with pytest.raises(dj.InvalidRequest, match="use `replace`"):
        other.apply()
    other.apply(replace=True)
    assert table_of(chain.table) == state_of_database(history)

    middle = Chain(spark, history, tmp_path / "middle")
    middle.extract(ExtractRequest(min=newest(journal) - 5))
    with pytest.raises(dj.InvalidRequest, match="a table needs all that was before"):
        middle.apply()


def test_a_window_from_the_beginning_is_a_beginning(spark: SparkSession, history: str, tmp_path: Path) -> None:
    chain = Chain(spark, history, tmp_path)
    chain.extract(ExtractRequest(min=1))
    assert [run.folder.name for run in chain.apply(dry_run=True).runs] == [run.folder.name for run in Output(chain.out).runs()]
    assert not chain.table.exists()
    chain.apply()
    assert table_of(chain.table) == state_of_database(history)


def test_a_run_that_holds_no_rows_at_all(spark: SparkSession, url: str, journal: dj.Journal, tmp_path: Path) -> None:
    chain = Chain(spark, url, tmp_path)
    chain.extract()
    chain.apply()
    write(journal, document(STUDENT, 1, body={}))
    chain.extract()
    chain.apply()
    assert table_of(chain.table) == state_of_database(url)
    with journal.write() as tx:
        tx.delete(STUDENT, {"studentId": 1})
    chain.extract()
    chain.apply()
    assert table_of(chain.table) == {}
    assert chain.compare().differences == []


# --- what windows say of one document: folded without a database ---

RUN = "order bigint, type string, version bigint, document_id bigint, document_uuid string, key_values string, body string"

FOLDS: dict[str, tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]] = {
    "deleted": ([(1, "upsert", 1, 5, "u1", "a", "x"), (2, "delete", 3, 5, "u1", "a", None)], []),
    "created again with the same id in one window": (
        [(1, "upsert", 1, 5, "u1", "a", "x"), (2, "delete", 3, 5, "u1", "a", None), (2, "upsert", 4, 5, "u2", "a", "y")],
        [(5, "u2", "a", 4, "y")],
    ),
    "created again with the same id and uuid in one window": (
        [(1, "upsert", 1, 5, "u1", "a", "x"), (2, "delete", 3, 5, "u1", "a", None), (2, "upsert", 4, 5, "u1", "a", "y")],
        [(5, "u1", "a", 4, "y")],
    ),
    "created again a window later": (
        [(1, "upsert", 1, 5, "u1", "a", "x"), (2, "delete", 3, 5, "u1", "a", None), (3, "upsert", 4, 5, "u1", "a", "y")],
        [(5, "u1", "a", 4, "y")],
    ),
    "the tombstone of an earlier lifetime comes after the new one": (  # its stamp was drawn later
        [(1, "upsert", 1, 5, "u1", "a", "x"), (2, "upsert", 3, 5, "u2", "a", "y"), (3, "delete", 4, 5, "u1", "a", None)],
        [(5, "u2", "a", 3, "y")],
    ),
    "created and deleted between two windows": ([(2, "delete", 3, 5, "u1", "a", None)], []),
    "deleted before it was ever read, and again": (
        [(2, "delete", 3, 5, "u1", "a", None), (3, "delete", 5, 5, "u2", "a", None)], [],
    ),
    "a key change of a document that changed again": (
        [(1, "upsert", 1, 5, "u1", "a", "x"), (2, "key_change", 3, 5, "u1", "b", None)], [(5, "u1", "b", 1, "x")],
    ),
    "a key change, and the upsert that it came with": (
        [(1, "upsert", 1, 5, "u1", "a", "x"), (2, "key_change", 3, 5, "u1", "b", None), (2, "upsert", 3, 5, "u1", "b", "y")],
        [(5, "u1", "b", 3, "y")],
    ),
    "key changes in two windows": (
        [(1, "upsert", 1, 5, "u1", "a", "x"), (2, "key_change", 3, 5, "u1", "b", None), (3, "key_change", 6, 5, "u1", None, None)],
        [(5, "u1", None, 1, "x")],
    ),
    "a key change, then an upsert": (
        [(1, "upsert", 1, 5, "u1", "a", "x"), (2, "key_change", 3, 5, "u1", "b", None), (3, "upsert", 6, 5, "u1", "c", "z")],
        [(5, "u1", "c", 6, "z")],
    ),
    "a key change and a delete": (
        [(1, "upsert", 1, 5, "u1", "a", "x"), (2, "key_change", 3, 5, "u1", "b", None), (2, "delete", 4, 5, "u1", "b", None)], [],
    ),
    "a key change of an earlier lifetime": (
        [(1, "upsert", 1, 5, "u2", "a", "x"), (2, "key_change", 3, 5, "u1", "b", None)], [(5, "u2", "a", 1, "x")],
    ),
    "keys that two documents swap": (
        [(1, "upsert", 1, 5, "u1", "a", "x"), (1, "upsert", 2, 6, "u2", "b", "y"),
         (2, "key_change", 3, 5, "u1", "b", None), (2, "key_change", 4, 6, "u2", "a", None)],
        [(5, "u1", "b", 1, "x"), (6, "u2", "a", 2, "y")],
    ),
}  # fmt: skip


def test_what_windows_say_of_a_document(spark: SparkSession) -> None:
    """All at once, a document id of its own each, once in one fold and once run after run."""
    rows: list[tuple[Any, ...]] = []
    expected: set[tuple[Any, ...]] = set()
    for number, (said, becomes) in enumerate(FOLDS.values()):
        rows += [(*row[:3], row[3] + 10 * number, *row[4:]) for row in said]
        expected |= {(row[0] + 10 * number, *row[1:]) for row in becomes}
    frame = spark.createDataFrame(rows, RUN).selectExpr(
        f"order AS {ORDER}", "type AS _change_type", "version AS _commit_version", "timestamp'2026-01-01' AS _commit_timestamp",
        "smallint(1) AS resource_key_id", "document_id", "document_uuid", "key_values", "string(null) AS old_key_values",
        "body", "'run' AS run", "'R' AS resource",
    )  # fmt: skip
    columns = ("document_id", "document_uuid", "key_values", "change_version", "body")
    assert {tuple(row) for row in folded(None, frame).select(*columns).collect()} == expected
    state: dict[int, tuple[Any, ...]] = {}
    for order in (1, 2, 3):  # what a merge makes of it
        for row in merged(frame.where(f"{ORDER} = {order}")).collect():
            had = state.get(row.document_id)
            if row[OP] in ("put", "gone") or (had is not None and had[1] == row.document_uuid):
                assert row[OP] in ("put", "gone", "delete", "rekey")
                state.pop(row.document_id, None)
                if row[OP] == "put":
                    state[row.document_id] = tuple(row[name] for name in columns)
                elif row[OP] == "rekey" and had is not None:
                    state[row.document_id] = (*had[:2], row.key_values, *had[3:])
    assert {*state.values()} == expected
    table = None
    for order in (1, 2, 3):
        after = folded(table, frame.where(f"{ORDER} = {order}")).collect()
        table = spark.createDataFrame(after, folded(table, frame).schema)
    assert table is not None
    assert {tuple(row) for row in table.select(*columns).collect()} == expected


def test_a_table_knows_how_far_it_has_come(spark: SparkSession, history: str, tmp_path: Path) -> None:
    chain = Chain(spark, history, tmp_path)
    version = chain.extract()
    change(history, random.Random(1), 10)
    last = chain.extract()
    assert chain.apply(through=last - 1).version == version
    assert json.loads((chain.table / "current" / "_table.json").read_text())["fingerprint"]["version"] == version
    assert chain.compare().differences == []
    assert [run.last for run in chain.apply().runs] == [last]
    assert table_of(chain.table) == state_of_database(history)


@pytest.fixture
def odd(spark: SparkSession) -> Iterator[SparkSession]:
    """A session of a user's own, that takes timestamps for local times and files that are damaged or gone for empty ones."""
    settings = {
        "spark.sql.timestampType": "TIMESTAMP_NTZ",
        "spark.sql.files.ignoreCorruptFiles": "true",
        "spark.sql.files.ignoreMissingFiles": "true",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.caseSensitive": "true",
        "spark.sql.session.timeZone": "Asia/Kathmandu",
        "spark.sql.sources.partitionOverwriteMode": "dynamic",
        "spark.sql.files.maxRecordsPerFile": "7",
    }
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield spark
    for name, had in before.items():
        assert had is not None
        spark.conf.set(name, had)


def test_what_a_users_session_is_told_changes_nothing(odd: SparkSession, history: str, tmp_path: Path) -> None:
    chain = Chain(odd, history, tmp_path)
    chain.extract(etag=True)
    chain.apply()
    change(history, random.Random(1), 60)
    chain.extract()
    chain.apply()
    assert chain.state() == state_of_database(history)
    assert chain.compare().differences == []
    for folder, names in (chain.out, ("_commit_timestamp", "last_modified")), (chain.table, ("committed_at", "last_modified")):
        schemas = [pq.read_schema(file) for file in folder.rglob("*.parquet")]
        assert {str(schema.field(name).type) for schema in schemas for name in names} == {"timestamp[us, tz=UTC]"}


def test_a_damaged_file_is_never_taken_for_an_empty_one(odd: SparkSession, history: str, tmp_path: Path) -> None:
    chain = Chain(odd, history, tmp_path)
    chain.extract()
    file = max(chain.out.rglob("*.parquet"), key=lambda each: each.stat().st_size)
    file.write_bytes(bytes(file.stat().st_size))
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    with pytest.raises(dj.Unavailable):
        chain.apply()
    assert not (chain.table / "current").exists()
