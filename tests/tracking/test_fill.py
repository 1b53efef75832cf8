"""A fill goes on beside writers, after a kill, and after a dump and restore (acceptance 72, 75)."""

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors

import dmsjournal as dj
from dmsjournal.schema import migrate
from tests.helpers import in_psycopg
from tests.migrations.conftest import Program

from .helpers import Sql, fill, track

Connect = Callable[..., psycopg.Connection[Any]]
TABLES = """CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY, name text, boss int REFERENCES app.a);
CREATE TABLE app.b (id int PRIMARY KEY, a int REFERENCES app.a ON DELETE CASCADE ON UPDATE CASCADE, note text);
INSERT INTO app.a SELECT g, 'n', nullif(g % 7, 0) FROM generate_series(1, 2000) AS g;
INSERT INTO app.b SELECT g, 1 + g % 2000, 'x' FROM generate_series(1, 4000) AS g;"""


@pytest.mark.acceptance("72")
def test_a_fill_beside_writers_gives_each_row_once(tracked: str, sql: Sql, connect: Connect) -> None:
    sql(TABLES)
    ended = threading.Event()
    faults: list[BaseException] = []

    def writing(number: int) -> None:
        conn = connect()
        turn = 0
        try:
            while not ended.is_set():
                turn += 1
                key = 1000 + (turn * 13 + number * 400) % 1000
                for statement in (
                    f"UPDATE app.b SET note = 'w{turn}' WHERE id % 97 = {turn % 97}",
                    f"UPDATE app.b SET a = {1 + turn % 900} WHERE id = {key}",
                    f"INSERT INTO app.b VALUES ({10_000 * number + turn}, {1 + turn % 900})",
                    f"DELETE FROM app.a WHERE id = {key}",
                    f"UPDATE app.a SET name = 'r{turn}' WHERE id = {turn % 900}",
                    f"UPDATE app.a SET id = {20_000 * number + turn} WHERE id = {key - 100}",
                ):
                    with suppress(errors.UniqueViolation, errors.ForeignKeyViolation, errors.DeadlockDetected):  # their own
                        conn.execute(statement)
        except BaseException as error:
            faults.append(error)

    writers = [threading.Thread(target=writing, args=(number,)) for number in (1, 2)]
    for writer in writers:
        writer.start()
    with dj.connect(tracked) as journal:
        names = [dj.TrackedTable("app.a", shows=["name"]), dj.TrackedTable("app.b")]
        journal.track(*names, blocks=2, lock_timeout="60s")
        ended.set()
        for writer in writers:
            writer.join()
        assert faults == []
        assert [one.state for one in journal.tracked()] == [None, None]
        found = journal.verify()
        assert found.is_clean, found.findings


@pytest.mark.acceptance("72")
def test_a_fill_goes_on_where_it_was_killed(tracked: str, sql: Sql, connect: Connect) -> None:
    sql(TABLES)
    sql("SELECT dms.track('app.a')")
    sql("SELECT * FROM dms.fill_tracked('app.a', 2)")
    killed = connect(autocommit=False)
    killed.execute("SELECT * FROM dms.fill_tracked('app.a', 2)")
    killed.close()
    with dj.connect(tracked) as journal:
        assert "tracking-unfilled" in {finding.code for finding in journal.verify().findings}
        journal.renew_tracking()
        assert journal.verify().is_clean
    assert sql("SELECT count(*) FROM dms.DocumentChangeEvent WHERE Operation = 'insert'") == [(2000,)]


@pytest.mark.acceptance("72")
def test_a_row_that_a_writer_has_locked_comes_later(tracked: str, sql: Sql, connect: Connect) -> None:
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY); INSERT INTO app.a VALUES (1), (2)")
    sql("SELECT dms.track('app.a')")
    writer = connect(autocommit=False)
    writer.execute("SELECT FROM app.a WHERE id = 2 FOR UPDATE")
    for _ in range(3):
        sql("SELECT * FROM dms.fill_tracked('app.a')")
    assert sql("SELECT KeyValues FROM dms.Document") == [({"id": 1},)]
    assert sql("SELECT FilledAt FROM dms.TrackedTable") == [(None,)]
    writer.rollback()
    fill(sql, "a")
    assert sql("SELECT count(*) FROM dms.Document") == [(2,)]


@pytest.mark.acceptance("72")
def test_a_fill_does_not_spin_while_a_writer_keeps_a_row(tracked: str, sql: Sql, connect: Connect) -> None:
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY); INSERT INTO app.a VALUES (1), (2)")
    writer = connect(autocommit=False)
    with dj.connect(tracked) as journal:
        journal.track(dj.TrackedTable("app.a"))
        sql("DELETE FROM dms.Document")
        writer.execute("SELECT FROM app.a WHERE id = 2 FOR UPDATE")
        batches: list[object] = []
        filling = threading.Thread(target=lambda: journal.renew_tracking("app.a", progress=lambda *batch: batches.append(batch)))
        filling.start()
        filling.join(1.5)
        assert filling.is_alive()
        assert len(batches) < 12
        writer.rollback()
        filling.join(20)
        assert not filling.is_alive()
    assert sql("SELECT count(*) FROM dms.Document") == [(2,)]


@pytest.mark.acceptance("54", "75")
def test_a_downgrade_frees_the_tables_and_an_upgrade_takes_them_up(tracked: str, sql: Sql) -> None:
    sql(TABLES)
    track(sql, "a", "b")
    migrate.downgrade(tracked, without=["tracking"])
    assert sql("SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'zz_dms%'") == [(0,)]
    sql("DELETE FROM app.b WHERE id = 1; INSERT INTO app.b VALUES (9000, 1)")
    migrate.upgrade(tracked, options=["tracking"])
    track(sql, "a", "b")
    with dj.connect(tracked) as journal:
        found = journal.verify()
        assert found.is_clean, found.findings
    assert sql("SELECT count(*) FROM dms.DocumentDeleteEvent") == [(1,)]


@pytest.mark.acceptance("58", "75")
def test_a_dump_and_restore_keeps_tracking(tracked: str, sql: Sql, postgres_server: Any, program: Program, tmp_path: Path) -> None:
    sql(TABLES)
    track(sql, "a", "b", shows={"a": ["name"]})
    file = tmp_path / "dump.sql"
    with postgres_server.fresh_database() as empty:
        program("pg_dump", tracked, f"--file={file}")
        program("psql", empty, "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", f"--file={file}")
        with psycopg.connect(in_psycopg(empty), autocommit=True) as conn, dj.connect(empty) as journal:
            assert journal.verify().is_clean
            before = journal.versions().newest
            conn.execute("UPDATE app.a SET name = 'restored' WHERE id = 5")
            conn.execute("DELETE FROM app.b WHERE id = 1")
            assert journal.verify().is_clean
            assert journal.versions().newest == before + 2
            assert len(list(journal.changes(dj.ResourceKey("App", "b", "1"), dj.Window(min=before + 1)))) == 2
