"""Tables of the current state as Apache Iceberg: the database after any windows, whatever is killed, repeated or done at once."""

import json
import random
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import DataScan, FileScanTask, Table
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.spark import lake_files
from dmsjournal.spark.apply import Applied, apply
from dmsjournal.spark.compare import Comparison, compare
from dmsjournal.spark.extract import ExtractRequest
from dmsjournal.spark.iceberg_documents import IcebergDocuments
from dmsjournal.spark.iceberg_log import IcebergLog
from dmsjournal.spark.lake import extract_to_lake
from tests.helpers import SCHOOL, STUDENT, document, newest, write
from tests.spark.changing import State, change, restore, state_of_database
from tests.spark.s3 import BUCKET, S3

pytestmark = pytest.mark.xdist_group("spark")


@dataclass(frozen=True)
class Chain:
    """A database, and two tables of a catalog: of its changes, and of the current state."""

    spark: SparkSession
    url: str
    properties: dict[str, str]
    conf: dict[str, str]
    changes: str = "edfi.changes"
    name: str = "edfi.documents"

    @property
    def catalog(self) -> Catalog:
        return load_catalog("default", **self.properties)

    @property
    def table(self) -> Table:
        return self.catalog.load_table(self.name)

    def extract(self, request: ExtractRequest = ExtractRequest(), **options: Any) -> int:  # noqa: B008
        given: dict[str, Any] = {"format": "iceberg", "conf": self.conf, "catalog": self.properties} | options
        return extract_to_lake(self.url, self.changes, lambda: self.spark, request, **given).version

    def apply(self, **options: Any) -> Applied:
        given: dict[str, Any] = {"format": "iceberg", "conf": self.conf, "catalog": self.properties} | options
        return apply(self.changes, self.name, lambda: self.spark, **given)

    def compare(self) -> Comparison:
        session = lambda: self.spark  # noqa: E731
        return compare(self.url, self.changes, self.name, session, format="iceberg", conf=self.conf, catalog=self.properties)

    def state(self) -> State:
        """As a reader of Iceberg finds it; a document that is there twice fails."""
        rows = self.table.scan().to_arrow().to_pylist()
        names = ("document_uuid", "resource", "key_values", "change_version", "body")
        assert len({row["document_id"] for row in rows}) == len(rows)
        return {row["document_id"]: tuple(row[name] for name in names) for row in rows}

    def commits(self) -> list[int]:
        """How far each snapshot of ours came, the earliest first."""
        told = [each.summary.additional_properties for each in self.table.snapshots() if each.summary is not None]
        return [json.loads(each["dmsjournal"])["version"] for each in told if "dmsjournal" in each]

    def command(self, *words: str, url: bool = True) -> Result:
        """The command, of the two tables."""
        catalog = [word for name, value in self.properties.items() for word in ("--catalog", f"{name}={value}")]
        env = {"DMSJOURNAL_URL": self.url} if url else {}
        return CliRunner(env=env).invoke(cli.app, ["apply", self.changes, self.name, "--format", "iceberg", *catalog, *words])


@pytest.fixture
def chain(spark: SparkSession, history: str, tmp_path: Path) -> Chain:
    return Chain(spark, history, {"uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/warehouse"}, {})


@pytest.mark.acceptance("100")
def test_a_table_equals_the_database_after_each_window(chain: Chain, s3: S3, tmp_path: Path) -> None:
    """In a store that knows no rename; each apply is a snapshot, of one window or of all that wait."""
    chain = replace(chain, properties=chain.properties | {"warehouse": f"s3://{BUCKET}/{tmp_path.name}"}, conf=s3.conf)
    reader = replace(chain, properties=chain.properties | s3_words(s3))
    ends, chance = [chain.extract()], random.Random(1)
    assert chain.apply().version == ends[0]
    assert reader.state() == state_of_database(chain.url)
    for round_ in range(3):
        change(chain.url, chance, 40)
        ends.append(chain.extract())
        if round_ != 1:
            steps = [f"{first + 1}-{last}" for first, last in pairwise(ends)]
            assert [run.name for run in chain.apply().runs] == (steps[-2:] if round_ == 2 else steps[-1:])
            assert reader.state() == state_of_database(chain.url)
    assert reader.commits() == [*ends[:2], *ends[3:]]
    assert len(reader.table.snapshots()) == 3
    found = chain.compare()
    assert (found.differences, found.compared.documents) == ([], len(reader.state()))
    assert chain.apply().runs == []
    assert len(reader.table.snapshots()) == 3
    assert {row["_change_type"] for row in replace(reader, name=chain.changes).table.scan().to_arrow().to_pylist()} == {
        "insert",
        "update_postimage",
        "update_preimage",
        "delete",
    }


def s3_words(s3: S3) -> dict[str, str]:
    """What pyiceberg needs to read; the commands find it in Spark's settings."""
    keys = s3.conf["spark.hadoop.fs.s3a.access.key"], s3.conf["spark.hadoop.fs.s3a.secret.key"]
    return {"s3.endpoint": s3.endpoint, "s3.access-key-id": keys[0], "s3.secret-access-key": keys[1], "s3.region": "us-east-1"}


def files_of(chain: Chain) -> dict[str, set[int]]:
    """The documents in each file."""
    scan = chain.table.scan(selected_fields=("document_id",))
    return {task.file.file_path: {*_ids(chain.table, task)} for task in scan.plan_files()}


def _ids(table: Table, task: FileScanTask) -> list[int]:
    import pyarrow.parquet as pq

    with table.io.new_input(task.file.file_path).open() as opened:
        ids: list[int] = pq.read_table(opened, columns=["document_id"])["document_id"].to_pylist()
    return ids


def test_only_files_with_a_changed_document_are_rewritten(
    chain: Chain, journal: dj.Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by the ids in them, not by bounds alone: the ids of all files overlap."""
    monkeypatch.setattr("dmsjournal.spark.iceberg_documents.FILE_SIZE", 1)
    for round_ in range(3):
        write(journal, *[document(STUDENT, 100 + 3 * n + round_, body={"n": round_}) for n in range(5)])
        write(journal, document(SCHOOL, 100 + round_, body={}))
        chain.extract()
        chain.apply()
    before = files_of(chain)
    [number] = write(journal, document(STUDENT, 100, body={"n": "changed"}))
    with journal.write() as writing:
        writing.delete(STUDENT, document(STUDENT, 104).key_values)
    state = state_of_database(chain.url)
    gone = {id for ids in before.values() for id in ids} - {*state}
    assert len(gone) == 1
    chain.extract()
    chain.apply()
    after = files_of(chain)
    assert before.keys() - after.keys() == {path for path, ids in before.items() if ids & {number, *gone}}
    assert len(before.keys() & after.keys()) >= 3
    assert chain.state() == state
    chain.apply()
    write(journal, document(STUDENT, 999, body={}))  # new alone: nothing is rewritten
    chain.extract()
    chain.apply()
    assert {*after} < {*files_of(chain)}
    assert chain.table.current_snapshot().summary.operation.value == "append"  # type: ignore[union-attr]


def test_what_a_reader_opens_first_does_not_grow(chain: Chain, journal: dj.Journal) -> None:
    """Lists of files that are gone are in the snapshot that removed them, and in no later one."""
    chain.extract()
    chain.apply()
    lists = []
    for number in range(3):
        write(journal, document(STUDENT, 0, body={"n": f"again {number}"}))
        chain.extract()
        chain.apply()
        snapshot = chain.table.current_snapshot()
        assert snapshot is not None
        lists.append(len(snapshot.manifests(chain.table.io)))
    assert lists[1:] == [lists[1]] * 2
    assert chain.state() == state_of_database(chain.url)


def test_a_window_without_a_change_of_the_table_moves_it_on(chain: Chain, journal: dj.Journal) -> None:
    chain.extract(resources=[SCHOOL])
    chain.apply()
    files = files_of(chain)
    write(journal, document(STUDENT, 1000))
    end = chain.extract()
    assert chain.apply().version == end == chain.commits()[-1]
    assert files_of(chain) == files
    assert chain.apply().runs == []


class Killed(BaseException):
    """What no handler takes for an error of the run."""


POINTS: list[tuple[Any, str, int]] = [
    (IcebergDocuments, "_holding", 1),
    (lake_files, "read", 3),
    (lake_files, "write", 1),
    (IcebergLog, "load", 1),
    (IcebergLog, "commit", 1),
    (SqlCatalog, "commit_table", 1),
]
FIRST: list[tuple[Any, str, int, bool]] = [  # of windows that make the table
    (lake_files, "write", 1, True),
    (SqlCatalog, "commit_table", 1, False),
    (SqlCatalog, "commit_table", 1, True),
]


@pytest.mark.acceptance("100")
def test_an_apply_that_was_cut_short_adds_nothing_twice(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a window that makes the table, and at later ones."""
    later = [(lake_files, "write", 1, True), (SqlCatalog, "commit_table", 1, False), (SqlCatalog, "commit_table", 1, True)]
    cut_short(chain, monkeypatch, FIRST[1:], later)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.acceptance("100")
def test_an_apply_that_is_cut_short_at_any_point(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    points = [(owner, name, call, after) for owner, name, most in POINTS for call in range(1, most + 1) for after in (False, True)]
    cut_short(chain, monkeypatch, FIRST, points * 2)


Point = tuple[Any, str, int, bool]


def cut_short(chain: Chain, monkeypatch: pytest.MonkeyPatch, firsts: list[Point], points: list[Point]) -> None:
    """Kills an apply at each of the points, then does it again."""
    chance, reached = random.Random(5), 0
    tables = [(f"edfi.first{number}", point) for number, point in enumerate(firsts)]
    for name_of_table, (owner, name, call, after) in [*tables, *((chain.name, point) for point in points)]:
        chain = replace(chain, name=name_of_table)
        change(chain.url, chance, 12)
        end = chain.extract()
        before = chain.commits() if chain.catalog.table_exists(chain.name) else []
        killed(monkeypatch, owner, name, call, after=after)
        try:
            chain.apply()
        except Killed:
            reached += 1
        monkeypatch.undo()
        done = chain.catalog.table_exists(chain.name) and chain.commits() == [*before, end]
        assert bool(chain.apply().runs) is not done
        assert chain.commits() == [*before, end]
        assert chain.state() == state_of_database(chain.url)
    assert reached >= len(firsts) + len(points) - 2  # a window without rows reads no table


def killed(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int, *, after: bool) -> None:
    """Ends the run at a call of a function, before it or after it."""
    real, calls = getattr(owner, name), [0]

    def stop(*arguments: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] < call:
            return real(*arguments, **options)
        if after:
            real(*arguments, **options)
        raise Killed

    monkeypatch.setattr(owner, name, stop)


@pytest.mark.acceptance("100")
def test_of_two_applies_at_once_one_commits(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have read how far the table had come before either of them commits: at the first window, and at later ones."""
    commit, codes = IcebergLog.commit, list[int]()

    def after_another(*arguments: Any) -> Any:
        monkeypatch.undo()
        codes.append(chain.command().exit_code)
        return commit(*arguments)

    for round_ in range(2):
        change(chain.url, random.Random(round_), 20)
        end = chain.extract()
        monkeypatch.setattr(IcebergLog, "commit", after_another)
        refused = chain.command()
        assert (codes, refused.exit_code) == ([0] * (round_ + 1), 75)
        assert "another run has committed to edfi.documents meanwhile: nothing of this one is in it" in refused.stderr
        assert chain.commits()[-1] == end
        assert chain.state() == state_of_database(chain.url)
    assert len(chain.table.snapshots()) == 2


def test_an_answer_that_was_lost_is_found_in_the_table(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = SqlCatalog.commit_table

    def lose(*arguments: Any, **options: Any) -> None:
        commit(*arguments, **options)
        raise OSError("connection reset")

    for seed in range(2):
        change(chain.url, random.Random(seed), 20)
        end = chain.extract()
        monkeypatch.setattr(SqlCatalog, "commit_table", lose)
        assert chain.apply().version == end
        monkeypatch.undo()
    assert chain.apply().runs == []
    assert chain.state() == state_of_database(chain.url)


@pytest.mark.acceptance("97")
def test_what_is_not_the_table_s_history_is_told(chain: Chain, journal: dj.Journal) -> None:
    chain.extract()
    chain.apply(url=chain.url)
    older = chain.catalog.load_table(chain.changes).metadata_location
    change(chain.url, random.Random(1), 20)
    chain.extract()
    assert chain.apply(dry_run=True).runs
    chain.apply()
    chain.catalog.register_table("edfi.older", older)
    with pytest.raises(dj.InvalidRequest, match="only, as an older copy would"):
        replace(chain, changes="edfi.older").apply()
    change(chain.url, random.Random(2), 20)
    chain.extract()
    before = chain.commits()
    restore(chain.url)
    for told in (chain.compare, lambda: chain.apply(url=chain.url)):
        with pytest.raises(dj.HistoryDiverged):
            told()
    assert chain.commits() == before
    anew = replace(chain, changes="edfi.anew")
    anew.extract(body=False, etag=True)
    with pytest.raises(dj.InvalidRequest, match="use `replace`"):
        anew.apply()
    anew.apply(replace=True)
    expected = {number: (*row[:4], None) for number, row in state_of_database(chain.url).items()}
    rows = chain.table.scan().to_arrow().to_pylist()
    assert {row["document_id"]: row["change_version"] for row in rows} == {number: row[3] for number, row in expected.items()}
    assert "body" not in rows[0]
    assert all(row["etag"] for row in rows)
    assert anew.compare().differences == []
    again = replace(chain, changes="edfi.again")
    again.extract()
    again.apply(replace=True)
    assert again.state() == state_of_database(chain.url)
    change(chain.url, random.Random(3), 20)
    again.extract()
    again.apply()
    assert again.state() == state_of_database(chain.url)


def test_the_state_outlives_the_snapshots_and_what_others_do(chain: Chain) -> None:
    """Compacted and expired, the changes' history gone: windows that nothing tells apart any more are folded all the same."""
    ends = [chain.extract()]
    for seed in range(2):
        change(chain.url, random.Random(seed), 20)
        ends.append(chain.extract())
    assert chain.apply(through=ends[1] - 1).version == ends[0]
    changes = replace(chain, name=chain.changes)
    for each in (changes, chain):
        compact(each)
        ours = [snapshot.snapshot_id for snapshot in each.table.snapshots()][:-1]
        each.table.maintenance.expire_snapshots().by_ids(ours).commit()
        assert len(each.table.snapshots()) == 1
    assert [run.name for run in chain.apply().runs] == [f"{ends[0] + 1}-{ends[2]}"]
    assert chain.state() == state_of_database(chain.url)
    before = chain.table.current_snapshot()
    assert before is not None
    compact(chain)
    change(chain.url, random.Random(9), 20)
    chain.extract()
    chain.apply()
    assert chain.state() == state_of_database(chain.url)
    current = chain.table.current_snapshot()
    assert current is not None
    with chain.table.manage_snapshots() as snapshots:
        snapshots.set_current_snapshot(before.snapshot_id)
    change(chain.url, random.Random(10), 20)
    chain.extract()
    for options in ({}, {"replace": True}):
        with pytest.raises(dj.InvalidRequest, match=r"table = 'edfi\.documents': it was restored to an older snapshot"):
            chain.apply(**options)
    with chain.table.manage_snapshots() as snapshots:
        snapshots.set_current_snapshot(current.snapshot_id)
    chain.apply()
    assert chain.state() == state_of_database(chain.url)
    with changes.table.manage_snapshots() as snapshots:
        snapshots.set_current_snapshot(changes.table.snapshots()[-2].snapshot_id)
    with pytest.raises(dj.InvalidRequest, match=r"output = 'edfi\.changes': it was restored to an older snapshot"):
        chain.apply()


def compact(chain: Chain) -> None:
    """As Iceberg's own procedures do: other files, in folders of partitions, with the same rows."""
    chain.table.overwrite(chain.table.scan().to_arrow())


def test_compaction_while_an_apply_runs_is_told(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    chain.extract()
    chain.apply()
    change(chain.url, random.Random(1), 20)
    chain.extract()
    commit = IcebergLog.commit

    def after_compaction(*arguments: Any) -> Any:
        monkeypatch.undo()
        compact(chain)
        return commit(*arguments)

    monkeypatch.setattr(IcebergLog, "commit", after_compaction)
    with pytest.raises(dj.Unavailable, match=r"another run has committed to edfi\.documents meanwhile"):
        chain.apply()
    chain.apply()
    assert chain.state() == state_of_database(chain.url)


def test_what_cannot_be_applied_is_refused(chain: Chain, journal: dj.Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(words: str, on: Chain = chain, **options: Any) -> None:
        with pytest.raises(dj.InvalidRequest, match=words):
            on.apply(**options)

    refused("it is no table of changes: run dmsjournal extract --format iceberg first")
    chain.extract(ExtractRequest(min=newest(journal) - 5))
    refused("a table needs all that was before")
    chain = replace(chain, changes="edfi.all")
    chain.extract()
    refused("an Iceberg table has a partition for each resource", chain, by_resource=True)
    refused("table = 'documents': name the table in its catalog, such as edfi.documents", replace(chain, name="documents"))
    refused("output = 'a/b': name the table in its catalog, such as edfi.changes", replace(chain, changes="a/b"))
    refused("dmsjournal apply did not make: name a new one", replace(chain, name=chain.changes))
    for format in ("parquet", "delta"):
        refused("table is found by its path: add `format` iceberg", chain, format=format)
    chain.apply()
    refused("dmsjournal extract did not make: name a new one", replace(chain, changes=chain.name, name="edfi.x"))
    chain.catalog.register_table("edfi.copy", chain.catalog.load_table(chain.changes).metadata_location)
    change(chain.url, random.Random(1), 20)
    chain.extract()
    reached = chain.apply().version
    change(chain.url, random.Random(2), 20)
    copy = replace(chain, changes="edfi.copy")
    copy.extract()
    refused(f"version = {reached}: edfi.copy has no window that ends there: use `replace`", copy)
    change(chain.url, random.Random(3), 20)
    chain.extract()
    planned = DataScan.plan_files
    monkeypatch.setattr(DataScan, "plan_files", lambda self: [FileScanTask(task.file, {task.file}) for task in planned(self)])
    with pytest.raises(dj.UnsupportedCapability, match=r"edfi\.all, an Iceberg table with delete files"):
        chain.apply()
    with pytest.raises(dj.UnsupportedCapability, match=r"edfi\.documents, an Iceberg table with delete files"):
        chain.compare()
    monkeypatch.undo()
    with chain.table.transaction() as made:
        made.set_properties({"write.data.path": f"{chain.properties['warehouse']}/elsewhere"})
    compact(chain)
    with pytest.raises(dj.UnsupportedCapability, match=r"edfi\.documents, an Iceberg table with a file outside of"):
        chain.apply()


def test_the_command(chain: Chain, journal: dj.Journal) -> None:
    chain.extract()
    last = newest(journal)
    assert chain.command("--dry-run").stdout == f"0-{last}\n"
    assert not chain.catalog.table_exists(chain.name)
    done = chain.command("--verify")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[0] == f"version={last} runs=1"
    assert done.stdout.endswith(" differences=0\n")
    assert chain.command().exit_code == 99
    table = chain.table
    table.delete(f"document_id = {next(iter(chain.state()))}")
    differs = chain.command("--verify")
    assert (differs.exit_code, differs.stdout.endswith(" differences=1\n")) == (3, True)
    bare = CliRunner().invoke(cli.app, ["apply", "a", "b", "--catalog", "uri=x"])
    assert (bare.exit_code, "found by its path: add --format iceberg" in bare.stderr) == (1, True)
