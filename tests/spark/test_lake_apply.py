"""Tables of the current state in a lake: the database after any windows, whatever is killed, repeated or done at once."""

import json
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.spark import delta_by_resource, delta_documents, lake_files
from dmsjournal.spark.apply import Applied, apply
from dmsjournal.spark.compare import Comparison, compare
from dmsjournal.spark.delta_by_resource import path_of, resource_at
from dmsjournal.spark.delta_log import DeltaLog
from dmsjournal.spark.extract import ExtractRequest, extract
from dmsjournal.spark.lake import extract_to_lake
from dmsjournal.spark.stores import store_of
from tests.helpers import PLAN, STUDENT, newest
from tests.spark.changing import State, change, restore, state_of_database
from tests.spark.s3 import S3

pytestmark = pytest.mark.xdist_group("spark")


@dataclass(frozen=True)
class Chain:
    """A database, its table of changes, and a table of the current state, of all resources or of one each."""

    spark: SparkSession
    url: str
    changes: str
    table: str
    conf: dict[str, str]
    by_resource: bool

    def extract(self, request: ExtractRequest = ExtractRequest(), **options: Any) -> int:  # noqa: B008
        return extract_to_lake(self.url, self.changes, lambda: self.spark, request, conf=self.conf, **options).version

    def apply(self, **options: Any) -> Applied:
        return apply(
            self.changes, self.table, lambda: self.spark, format="delta", by_resource=self.by_resource, conf=self.conf, **options
        )

    def compare(self) -> Comparison:
        return compare(
            self.url,
            self.changes,
            self.table,
            lambda: self.spark,
            format="delta",
            by_resource=self.by_resource,
            conf=self.conf,
        )

    def tables(self) -> list[deltalake.DeltaTable]:
        """The tables that hold documents."""
        store = store_of("table", self.table, self.conf)
        names = delta_by_resource.DeltaByResource(store).resources() if self.by_resource else []
        stores = [store.under(path_of(name)) for name in names] if self.by_resource else [store]
        return [deltalake.DeltaTable(each.uri, storage_options=each.options) for each in stores]

    def state(self) -> State:
        """As a reader of Delta finds it; a document that is there twice fails."""
        rows = [row for table in self.tables() for row in pa.table(table.to_pyarrow_table()).to_pylist()]
        names = ("document_uuid", "resource", "key_values", "change_version", "body")
        assert len({row["document_id"] for row in rows}) == len(rows)
        return {row["document_id"]: tuple(row[name] for name in names) for row in rows}

    def commits(self) -> list[int]:
        """How far each commit of ours came, the earliest first, in the table or in the one that tells of all tables."""
        store = store_of("table", self.table, self.conf)
        store = store.under("_applied") if self.by_resource else store
        history = deltalake.DeltaTable(store.uri, storage_options=store.options).history()
        return [json.loads(commit["dmsjournal"])["version"] for commit in reversed(history) if "dmsjournal" in commit]


ONE, EACH = pytest.param(False, id="one table"), pytest.param(True, id="a table each")


def long(case: Any) -> Any:
    """A case that another one stands for in short runs."""
    return pytest.param(*case.values, id=case.id, marks=pytest.mark.long)


@pytest.fixture
def chain(request: pytest.FixtureRequest, spark: SparkSession, history: str, tmp_path: Path) -> Chain:
    return Chain(spark, history, str(tmp_path / "the changes"), str(tmp_path / "the table"), {}, request.param)


@pytest.mark.acceptance("100")
@pytest.mark.parametrize("chain", [ONE, EACH], indirect=True)
def test_a_table_equals_the_database_after_each_window(chain: Chain, s3: S3, tmp_path: Path) -> None:
    """In a store that knows no rename; each apply is a commit, of one window or of all that wait."""
    chain = replace(chain, changes=s3.url(f"{tmp_path.name}/changes"), table=s3.url(f"{tmp_path.name}/table"), conf=s3.conf)
    ends, chance = [chain.extract()], random.Random(1)
    assert chain.apply().version == ends[0]
    assert chain.state() == state_of_database(chain.url)
    change(chain.url, chance, 40)
    ends.append(chain.extract())
    change(chain.url, chance, 40)
    ends.append(chain.extract())
    assert [run.name for run in chain.apply().runs] == [f"{ends[0] + 1}-{ends[1]}", f"{ends[1] + 1}-{ends[2]}"]
    assert chain.state() == state_of_database(chain.url)
    assert chain.commits() == [ends[0], ends[2]]
    if not chain.by_resource:  # test_the_command has the other layout
        found = chain.compare()
        assert (found.differences, found.compared.documents) == ([], len(chain.state()))
    assert chain.apply().runs == []
    assert chain.commits() == [ends[0], ends[2]]


class Killed(BaseException):
    """What no handler takes for an error of the run."""


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


def cut_short(chain: Chain, monkeypatch: pytest.MonkeyPatch, points: list[tuple[Any, str, int, bool]], seed: int) -> int:
    """Kills an apply at each of the points, then does it again: how many were reached."""
    chance, reached = random.Random(seed), 0
    chain.extract()
    chain.apply()
    for owner, name, call, after in points:
        change(chain.url, chance, 15)
        end, before = chain.extract(), chain.commits()
        killed(monkeypatch, owner, name, call, after=after)
        try:
            chain.apply()
        except Killed:
            reached += 1
        monkeypatch.undo()
        done = chain.commits() == [*before, end]
        assert bool(chain.apply().runs) is not done
        assert chain.commits() == [*before, end]
        assert chain.state() == state_of_database(chain.url)
    return reached


@pytest.mark.acceptance("100")
@pytest.mark.parametrize("chain", [long(ONE), EACH], indirect=True)
def test_an_apply_that_was_cut_short_adds_nothing_twice(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Among them between the commits of two tables."""
    points = [(lake_files, "write", 2 if chain.by_resource else 1, True), (DeltaLog, "commit", 1, True)]
    assert cut_short(chain, monkeypatch, points, 5) == 2


def test_a_replacement_that_was_cut_short_is_done_again(
    spark: SparkSession, history: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some tables are of the new input then, and none of them takes what comes from the old one."""
    first = Chain(spark, history, str(tmp_path / "first"), str(tmp_path / "table"), {}, by_resource=True)
    second = replace(first, changes=str(tmp_path / "second"))
    first.extract()
    first.apply()
    change(history, random.Random(1), 20)
    second.extract()
    killed(monkeypatch, DeltaLog, "commit", 1, after=True)
    with pytest.raises(Killed):
        second.apply(replace=True)
    monkeypatch.undo()
    first.extract()
    with pytest.raises(dj.InvalidRequest, match="a run with `replace` that was cut short has begun it anew"):
        first.apply()
    second.apply(replace=True)
    assert second.state() == state_of_database(history)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.acceptance("100")
@pytest.mark.parametrize("chain", [ONE, EACH], indirect=True)
def test_an_apply_that_is_cut_short_at_any_point(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [
        (lake_files, "write", 2),
        (lake_files, "read", 1),
        (lake_files, "remove", 1),
        (DeltaLog, "load", 3),
        (DeltaLog, "commit", 3),
        (delta_documents.DeltaDocuments, "_merge", 2),
        (delta_by_resource._Mark, "move", 1),
    ]
    points = [(owner, name, call, after) for owner, name, most in names for call in range(1, most + 1) for after in (False, True)]
    assert cut_short(chain, monkeypatch, points * 2, 6) >= 20


@pytest.mark.acceptance("100")
@pytest.mark.parametrize("chain", [ONE, long(EACH)], indirect=True)
def test_of_two_applies_at_once_one_commits(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have read how far the table had come before either of them commits: at the first window, and at a later one."""
    commit, other = DeltaLog.commit, list[Applied]()

    def after_another(*arguments: Any) -> Any:
        monkeypatch.undo()
        other.append(chain.apply())
        return commit(*arguments)

    for round_ in range(2):
        change(chain.url, random.Random(round_), 20)
        end = chain.extract()
        monkeypatch.setattr(DeltaLog, "commit", after_another)
        with pytest.raises(dj.Unavailable, match=r"another run has committed to .* meanwhile"):
            chain.apply()
        assert [len(each.runs) for each in other] == [1] * (round_ + 1)
        assert chain.commits()[-1] == end
        assert chain.state() == state_of_database(chain.url)
    assert len(chain.commits()) == 2


@pytest.mark.acceptance("97")
@pytest.mark.parametrize("chain", [ONE, long(EACH)], indirect=True)
def test_what_is_not_the_table_s_history_is_told(chain: Chain, journal: dj.Journal, tmp_path: Path) -> None:
    chain.extract()
    chain.apply(url=chain.url)
    older = tmp_path / "an older copy"
    _copy(Path(chain.changes), older)
    change(chain.url, random.Random(1), 20)
    chain.extract()
    assert chain.apply(dry_run=True).runs
    chain.apply()
    with pytest.raises(dj.InvalidRequest, match="only, as an older copy would"):
        replace(chain, changes=str(older)).apply()
    change(chain.url, random.Random(2), 20)
    chain.extract()
    before = chain.commits()
    restore(chain.url)
    for told in (chain.compare, lambda: chain.apply(url=chain.url)):
        with pytest.raises(dj.HistoryDiverged):
            told()
    assert chain.commits() == before
    anew = replace(chain, changes=str(tmp_path / "anew"))
    with pytest.raises(dj.InvalidRequest, match="use `replace`"):
        anew.extract() and anew.apply()
    anew.extract()
    anew.apply(replace=True)
    assert anew.state() == state_of_database(chain.url)


def _copy(source: Path, target: Path) -> None:
    import shutil

    shutil.copytree(source, target)


@pytest.mark.parametrize("chain", [long(ONE), EACH], indirect=True)
def test_the_state_outlives_the_history_and_what_others_do(chain: Chain, journal: dj.Journal) -> None:
    """Compacted and vacuumed, the changes' history gone: windows that nothing tells apart any more are folded all the same."""
    ends = [chain.extract()]
    for seed in range(2):
        change(chain.url, random.Random(seed), 20)
        ends.append(chain.extract())
    assert chain.apply(through=ends[1] - 1).version == ends[0]
    table = deltalake.DeltaTable(chain.changes)
    table.optimize.compact()
    table.create_checkpoint()
    for file in Path(chain.changes, "_delta_log").glob("*.json"):
        if int(file.stem) < table.version():
            file.unlink()
    for each in chain.tables():
        each.optimize.compact()
        each.create_checkpoint()
        each.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False, full=True)
    assert [run.name for run in chain.apply().runs] == [f"{ends[0] + 1}-{ends[2]}"]
    assert chain.state() == state_of_database(chain.url)
    for each in chain.tables():
        each.restore(0, ignore_missing_files=True)
    change(chain.url, random.Random(9), 20)
    chain.extract()
    with pytest.raises(dj.InvalidRequest, match="was restored to an older commit"):
        chain.apply()


def test_what_cannot_be_applied_is_refused(spark: SparkSession, history: str, journal: dj.Journal, tmp_path: Path, s3: S3) -> None:
    one = Chain(spark, history, str(tmp_path / "changes"), str(tmp_path / "one"), {}, by_resource=False)
    with pytest.raises(dj.InvalidRequest, match="nothing was extracted into it"):
        one.apply()
    with pytest.raises(dj.InvalidRequest, match="it is no table of changes"):
        replace(one, changes=s3.url("nothing"), conf=s3.conf).apply()
    with pytest.raises(dj.UnsupportedCapability, match="add --format delta"):
        apply(one.changes, s3.url("x"), lambda: spark)
    with pytest.raises(dj.InvalidRequest, match="a Parquet table has a folder for each resource"):
        apply(one.changes, tmp_path / "x", lambda: spark, by_resource=True)
    one.extract(ExtractRequest(min=newest(journal) - 5))
    with pytest.raises(dj.InvalidRequest, match="a table needs all that was before"):
        one.apply()
    one = replace(one, changes=str(tmp_path / "all"))
    one.extract()
    one.apply()
    with pytest.raises(dj.InvalidRequest, match="it is one table for all resources"):
        replace(one, by_resource=True).apply()
    each = replace(one, table=str(tmp_path / "each"), by_resource=True)
    each.apply()
    with pytest.raises(dj.InvalidRequest, match="it has a table for each resource"):
        replace(each, by_resource=False).apply()
    with pytest.raises(dj.InvalidRequest, match="dmsjournal apply did not make"):
        apply(one.changes, one.changes, lambda: spark, format="delta")
    with pytest.raises(dj.InvalidRequest, match="dmsjournal extract did not make"):
        apply(one.table, tmp_path / "x", lambda: spark, format="delta")
    Path(each.table, *str(STUDENT).split("/")).rename(tmp_path / "away")
    change(history, random.Random(1), 10)
    each.extract()
    with pytest.raises(dj.InvalidRequest, match=r"5\.2\.0': it is gone"):
        each.apply()


def test_runs_of_a_folder_become_a_table_in_a_store(spark: SparkSession, history: str, tmp_path: Path, s3: S3) -> None:
    chain = Chain(spark, history, str(tmp_path / "runs"), s3.url(f"{tmp_path.name}/table"), s3.conf, by_resource=True)
    for seed in range(2):
        change(history, random.Random(seed), 20)
        extract(history, chain.changes, lambda: spark)
        chain.apply()
    assert chain.state() == state_of_database(history)


def test_the_command(spark: SparkSession, history: str, journal: dj.Journal, tmp_path: Path, s3: S3) -> None:
    conf = [word for name, value in s3.conf.items() for word in ("--conf", f"{name}={value}")]
    changes, table = s3.url(f"{tmp_path.name}/changes"), s3.url(f"{tmp_path.name}/table")
    run = lambda *words: CliRunner(env={"DMSJOURNAL_URL": history}).invoke(cli.app, [*words, "--format", "delta", *conf])  # noqa: E731
    assert run("extract", changes).exit_code == 0
    last = newest(journal)
    assert run("apply", changes, table, "--by-resource", "--dry-run").stdout == f"0-{last}\n"
    done = run("apply", changes, table, "--by-resource", "--verify")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[0] == f"version={last} runs=1"
    assert done.stdout.endswith(" differences=0\n")
    assert run("apply", changes, table, "--by-resource").exit_code == 99
    bare = CliRunner().invoke(cli.app, ["apply", changes, table])
    assert (bare.exit_code, "add --format delta" in bare.stderr) == (5, True)


@pytest.mark.parametrize("resource", [str(PLAN), "Ed-Fi/A b/../1", "_x/.y/é", "//", "=/%2F/~", "a/b/c/d"])
def test_each_resource_has_a_path_of_its_own(resource: str) -> None:
    path = path_of(resource)
    assert resource_at(path) == resource
    assert path.count("/") == 2
    assert not any(part in ("", ".", "..") or part[0] in "._" for part in path.split("/"))
