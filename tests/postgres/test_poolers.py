"""Every command through a real PgBouncer in transaction mode, which shares server sessions among programs (acceptance 83, 94)."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.database.connect import engine_for
from dmsjournal.database.database import Database
from dmsjournal.errors import MigrationRefused
from dmsjournal.events.arrow.reader import read_journal
from dmsjournal.read.stream import Stream
from dmsjournal.schema import adopt
from tests.commands import Commands
from tests.helpers import SCHOOL, STUDENT, commit, document, in_psycopg, write
from tests.http.conftest import Running, settings_of
from tests.pgbouncer import left_behind, pooled, version

DOCUMENT = {
    "projectName": "Ed-Fi",
    "resourceName": "Student",
    "resourceVersion": "5.2.0",
    "identity": {"studentId": 77},
    "body": {},
    "references": [],
}


@pytest.fixture
def pool(url: str) -> Iterator[sa.URL]:
    with pooled(url) as through:
        yield through


@pytest.fixture
def crowd(pool: sa.URL) -> Iterator[None]:
    """Four other clients of the pool, which run short transactions, and in turn get every session of it."""
    enough = threading.Event()

    def work() -> None:
        while not enough.is_set():
            with suppress(psycopg.OperationalError), psycopg.connect(in_psycopg(pool), prepare_threshold=None) as other:
                for _ in range(20):
                    other.execute("SELECT 1")
                    other.commit()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    yield
    enough.set()
    for thread in threads:
        thread.join()


@pytest.mark.acceptance("94")
def test_every_command_works_through_a_pooler_and_leaves_nothing_in_it(
    journal: dj.Journal, pool: sa.URL, crowd: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DMSJOURNAL_URL", pool.render_as_string(hide_password=False))
    write(journal, document(SCHOOL, 1), document(STUDENT, 1, document(SCHOOL, 1)))
    into, token = tmp_path / "out", tmp_path / "token"
    commands: list[list[str]] = [
        ["upgrade", "--with", "partitions", "--with", "max_dep_identity_version", "--with", "images"],
        ["exclude-images", "Student"],
        ["current"],
        ["fill", "max_dep_identity_version"],
        ["load", "-"],
        ["versions"],
        ["changes", "Student"],
        ["snapshot", "Student"],
        ["deletes", "Student"],
        ["key-changes", "Student"],
        ["derive", "1", "2"],
        ["feed", "--checkpoint", str(token)],
        ["feed-partitions"],
        ["notify", "--ring", str(tmp_path / "ring"), "--once"],
        ["plan", "Student"],
        ["deliver", "--consumer", "lake", "--files", str(into), "--once"],
        ["status"],
        ["verify"],
        ["verify", "--repair"],
        ["consumers", "register", "etl", "--at", "1"],
        ["consumers", "advance", "etl", "2"],
        ["consumers", "list"],
        ["consumers", "drop", "etl"],
        ["partitions", "ensure", "--versions", "100"],
        ["partitions", "split", "--versions", "100"],
        ["partitions", "list"],
        ["prune", "--through", "1"],
        ["downgrade", "--without", "partitions", "--without", "max_dep_identity_version"],
    ]
    with Commands() as program:
        for command in commands:
            code, printed = program.run(command, given=json.dumps(DOCUMENT) + "\n" if command[0] == "load" else "")
            assert code == 0, (command, printed)
            assert left_behind(pool) == [], command
    assert list(into.glob("*.jsonl"))
    assert token.read_text()
    assert journal.versions().oldest == 2
    assert_all_are_here(commands)


RUN_ELSEWHERE = {
    "adopt": "it refuses a pooler, below",
    "sql": "connects to nothing",
    "token": "connects to nothing",
    "serve": "below",
    "demo": "makes a database of its own",
    "extract": "tests/spark: reads through JDBC",
    "apply": "connects to no database",
    "track": "tests/tracking/test_commands.py",
    "untrack": "tests/tracking/test_commands.py",
    "tracked": "tests/tracking/test_commands.py",
}


def assert_all_are_here(commands: list[list[str]]) -> None:
    from typer.main import get_command

    from dmsjournal import cli

    known = dict(get_command(cli.app).commands)  # type: ignore[attr-defined]
    for group in ("consumers", "partitions"):
        known |= {f"{group} {name}": command for name, command in known.pop(group).commands.items()}
    ran = {" ".join(command[:2]) if command[0] in ("consumers", "partitions") else command[0] for command in commands}
    assert set(known) - ran == set(RUN_ELSEWHERE)


def test_an_adoption_refuses_a_pooler_before_anything_is_done(
    pool: sa.URL, journal: dj.Journal, connections: list[sa.Connection]
) -> None:
    for dry_run in (True, False):
        with pytest.raises(MigrationRefused, match=r"the URL leads to a pooler, .*Name the database server itself in --url"):
            adopt.adopt(pool, dry_run=dry_run)
    assert left_behind(pool) == []


@pytest.mark.acceptance("94")
@pytest.mark.parametrize("command", ["prune", "deliver"])
def test_a_killed_command_is_followed_by_the_next_one(
    journal: dj.Journal, pool: sa.URL, crowd: None, connections: list[sa.Connection], command: str, tmp_path: Path
) -> None:
    """kill -9 while it holds its lease; then a run past the pooler, which waits for the lease, says until when, and goes on."""
    for number in range(30):
        write(journal, document(STUDENT, number))
    arguments = {
        "prune": ["prune", "--through", "30", "--batch-size", "1", "--pause", "1s"],
        "deliver": ["deliver", "--consumer", "lake", "--files", str(tmp_path / "out")],
    }[command]
    environment = os.environ | {"DMSJOURNAL_URL": pool.render_as_string(hide_password=False)}
    process = subprocess.Popen([sys.executable, "-m", "dmsjournal", *arguments], env=environment, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not commit(connections[0], "SELECT 1 FROM dms.Lease"):
        assert time.monotonic() < until
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait(20)
    deadline = time.monotonic() + 20
    while (found := left_behind(pool)) and time.monotonic() < deadline:  # the pooler may have a transaction yet to roll back
        time.sleep(0.1)
    assert found == []
    soon = (
        "UPDATE dms.Lease SET ExpiresAt = clock_timestamp() + interval '10 s'"
        " RETURNING to_char(ExpiresAt AT TIME ZONE 'UTC', 'HH24:MI:SS')"
    )
    [(ends_at,)] = commit(connections[0], soon)  # in place of 30 s
    last = [*arguments, "--once"] if command == "deliver" else ["prune", "--through", "30"]
    direct = os.environ | {"DMSJOURNAL_URL": str(journal.database.pool.url.render_as_string(hide_password=False))}
    done = subprocess.run([sys.executable, "-m", "dmsjournal", *last], capture_output=True, text=True, env=direct, timeout=60)
    assert done.returncode == 0, done.stderr
    assert f"process {process.pid} on " in done.stderr
    assert f"waiting for it until {ends_at} UTC" in done.stderr
    assert commit(connections[0], "SELECT 1 FROM dms.Lease") == []


@pytest.mark.acceptance("83")
@pytest.mark.parametrize("prepared", [0, 200])
def test_a_journal_reads_and_writes_with_and_without_prepared_statements(journal: dj.Journal, url: str, prepared: int) -> None:
    """The URL cannot ask psycopg to prepare, and we never do: what PgBouncer does with prepared statements is all the same."""
    if prepared and version() < (1, 21):
        pytest.skip("this PgBouncer knows no max_prepared_statements: it is one of before 1.21")
    settings = {"max_prepared_statements": prepared} if version() >= (1, 21) else {}
    with pooled(url, **settings) as through, dj.connect(through) as db:
        ids = write(db, *(document(STUDENT, number) for number in range(20)))
        for _ in range(12):  # psycopg prepares a statement when it runs for the sixth time
            assert len(list(db.changes(STUDENT, page_size=3))) == len(ids)
        with (
            db.consumers.hold("etl"),
            dj.FeedIterator(db, dj.FeedRequest(), checkpoint=dj.DatabaseCheckpoint(db, "etl"), follow=False) as feed,
        ):
            assert len(list(feed)) == len(ids)
        stream = Stream(db.database, None, ["upsert"])
        [part] = stream.window(dj.Window(), parts=1)
        assert sum(len(lot) for _, lot in stream.read(part)) == len(ids)
        assert left_behind(through) == []


def test_the_service_answers_through_a_pooler(journal: dj.Journal, pool: sa.URL, crowd: None) -> None:
    """The limit of a statement's time is not sent with the login: PgBouncer refuses it (unsupported startup parameter: options)."""
    write(journal, document(STUDENT, 1))
    through = pool.render_as_string(hide_password=False)
    with Running(settings_of(through, statement_seconds=3)) as running, running.client() as client:
        assert client.get("/readyz").status_code == 200
        assert client.get("/changefeed").json()["count"] == 1
        assert client.get("/data/v3/ed-fi/students").status_code == 200
    bounded = Database(engine_for(pool, connections=2, seconds=0.5))
    with pytest.raises(dj.DatabaseRefused, match="statement timeout"), bounded.session() as session:
        session.conn.exec_driver_sql("SELECT pg_sleep(5)")
    bounded.close()
    assert left_behind(pool) == []


def test_a_refused_login_is_called_that(pool: sa.URL) -> None:
    with (
        dj.connect(pool.update_query_dict({"options": "-c statement_timeout=3s"})) as db,
        pytest.raises(dj.DatabaseRefused) as refused,
    ):
        db.versions()
    assert refused.value.refused == "login"
    with pytest.raises(dj.DatabaseRefused, match="Arrow needs a URL of the server itself"):
        list(read_journal(pool))
    assert "unsupported startup parameter: options" in str(refused.value)
