"""After a dump and restore, a downgrade and an upgrade, tracking is intact or renewed by one command (acceptance 54, 58, 75)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal.cli import app
from dmsjournal.schema import migrate
from dmsjournal.testing.embedded import EmbeddedPostgres
from tests.helpers import in_psycopg
from tests.migrations.conftest import Program
from tests.older import other_binaries

from .helpers import Sql, track

TABLES = """CREATE SCHEMA app;
CREATE TABLE app.a (gone int, id int PRIMARY KEY, name text, boss int REFERENCES app.a DEFERRABLE INITIALLY DEFERRED,
    at timestamptz);
ALTER TABLE app.a DROP COLUMN gone;
CREATE TABLE app.b (id int, day date, a int REFERENCES app.a ON DELETE CASCADE ON UPDATE CASCADE, PRIMARY KEY (id, day))
    PARTITION BY RANGE (day);
CREATE TABLE app.b1 PARTITION OF app.b FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
INSERT INTO app.a SELECT g, 'n', nullif(g % 7, 0), now() FROM generate_series(1, 50) AS g;
INSERT INTO app.b SELECT g, '2026-05-05', 1 + g % 50 FROM generate_series(1, 100) AS g;"""
B = dj.ResourceKey("App", "b", "1")


@pytest.fixture
def empty(postgres_server: Any) -> Iterator[str]:
    with postgres_server.fresh_database() as url:
        yield url


def codes(journal: dj.Journal) -> set[str]:
    return {finding.code for finding in journal.verify().findings}


def goes_on(url: str) -> None:
    """Rows, documents and references agree; a rename, a cascade and a new row are journaled."""
    with psycopg.connect(in_psycopg(url), autocommit=True) as conn, dj.connect(url) as journal:
        assert codes(journal) == set()
        before = journal.versions().newest
        conn.execute("UPDATE app.a SET name = 'restored' WHERE id = 5")
        assert len(list(journal.changes(B, dj.Window(before + 1)))) == 2
        conn.execute("DELETE FROM app.b WHERE a = 6")
        conn.execute("INSERT INTO app.b1 VALUES (900, '2026-01-01', 5)")
        assert len(list(journal.changes(B, dj.Window(before + 1)))) == 3
        assert len(list(journal.deletes(B, dj.Window(before + 1)))) == 2
        assert codes(journal) == set()


def renewed(url: str, *tables: str) -> None:
    done = CliRunner().invoke(app, ["track", *tables, "--renew", "--url", url])
    assert done.exit_code == 0, done.output


@pytest.mark.acceptance("58", "75")
def test_a_dump_of_an_older_server_keeps_tracking_on_a_newer_one(
    postgres_server: Any, program: Program, empty: str, tmp_path: Path
) -> None:
    dump = str(tmp_path / "dump")
    older = other_binaries(postgres_server.embedded.version)
    with EmbeddedPostgres(settings={"fsync": "off"}, bin_dir=older) as server:
        migrate.upgrade(server.url(), options=["tracking"])
        with psycopg.connect(in_psycopg(server.url()), autocommit=True) as conn:
            conn.execute(TABLES)
            track(lambda statement, *values: _rows(conn, statement, values), "a", "b", shows={"a": ["name"]})
        with dj.connect(server.url()) as old:
            assert codes(old) == set()
            seen = list(old.changes(B))
        program(str(older / "pg_dump"), server.url(), "--format=custom", f"--file={dump}")
    program("pg_restore", empty, "--exit-on-error", f"--dbname={sa.make_url(empty).database}", dump)
    with dj.connect(empty) as new:
        assert list(new.changes(B)) == seen
        assert [one.state for one in new.tracked()] == [None, None]
    goes_on(empty)
    renewed(empty)
    with dj.connect(empty) as new:
        assert codes(new) == set()


def _rows(conn: psycopg.Connection[Any], statement: str, values: tuple[object, ...]) -> list[Any]:
    cursor = conn.execute(statement, values or None)
    return cursor.fetchall() if cursor.description else []


@pytest.mark.acceptance("74", "75")
def test_columns_that_change_after_a_restore_are_named(
    tracked: str, sql: Sql, program: Program, empty: str, tmp_path: Path
) -> None:
    """Columns have other numbers there, since the dropped one is not restored: a rename is not guessed by number."""
    sql(TABLES)
    track(sql, "a", "b", shows={"a": ["name"]})
    _restore(program, tracked, empty, tmp_path)
    with psycopg.connect(in_psycopg(empty), autocommit=True) as conn, dj.connect(empty) as journal:
        conn.execute("ALTER TABLE app.a ADD COLUMN more text")
        [state] = [one.state for one in journal.tracked() if one.table == "app.a"]
        assert state == "column more is new"
        conn.execute("ALTER TABLE app.a RENAME COLUMN name TO title")
        with pytest.raises(psycopg.errors.UndefinedColumn, match="dmsjournal track --renew"):
            conn.execute("UPDATE app.a SET title = 'x'")
        with pytest.raises(dj.UnsupportedCapability, match=r"column name of table app\.a"):
            journal.renew_tracking("app.a")
        conn.execute("ALTER TABLE app.a RENAME COLUMN title TO name")
        journal.renew_tracking("app.a")
        conn.execute("ALTER TABLE app.a RENAME COLUMN name TO title")
        journal.renew_tracking("app.a")  # the numbers are known again
        assert [one.shows for one in journal.tracked() if one.table == "app.a"] == [("id", "title")]
        conn.execute("UPDATE app.a SET title = 'x'")
        assert codes(journal) == set()


@pytest.mark.acceptance("72", "75")
def test_a_fill_goes_on_in_a_restored_database(tracked: str, sql: Sql, program: Program, empty: str, tmp_path: Path) -> None:
    sql(TABLES)
    sql("SELECT dms.track('app.a', 'App', shows => ARRAY['name'::name]); SELECT dms.track('app.b', 'App')")
    _restore(program, tracked, empty, tmp_path)
    with dj.connect(empty) as journal:
        [finding] = [one for one in journal.verify().findings if one.code == "tracking-unfilled"]
        assert "track --renew" in finding.remedy
    renewed(empty)
    goes_on(empty)


@pytest.mark.acceptance("74", "75")
def test_a_table_that_is_restored_alone_is_renewed(tracked: str, sql: Sql, program: Program, tmp_path: Path) -> None:
    sql(TABLES)
    track(sql, "a", "b", shows={"a": ["name"]})
    dump = str(tmp_path / "dump")
    program("pg_dump", tracked, "--format=custom", "--table=app.b", "--table=app.b1", f"--file={dump}")
    sql("DELETE FROM app.b WHERE id < 10; INSERT INTO app.b VALUES (700, '2026-01-01', 1); DROP TABLE app.b CASCADE")
    with dj.connect(tracked) as journal:
        assert "tracked-table-gone" in codes(journal)
    program("pg_restore", tracked, f"--dbname={sa.make_url(tracked).database}", dump)
    with dj.connect(tracked) as journal:
        found = journal.verify().findings
        assert {"tracking-altered"} <= {one.code for one in found}
        assert all("track --renew" in one.remedy for one in found)
    renewed(tracked)
    goes_on(tracked)


@pytest.mark.acceptance("54", "75")
@pytest.mark.parametrize("target", ["0006", "base"])
def test_a_downgrade_and_an_upgrade_leave_tables_writable(tracked: str, sql: Sql, target: str) -> None:
    sql(TABLES)
    track(sql, "a", "b", shows={"a": ["name"]})
    migrate.downgrade(tracked, target, **({"without": ["tracking"]} if target == "base" else {}))
    sql("UPDATE app.a SET name = 'between' WHERE id = 7; INSERT INTO app.b VALUES (800, '2026-01-01', 7)")
    migrate.upgrade(tracked, options=["tracking"])
    if target == "base":
        track(sql, "a", "b", shows={"a": ["name"]})
    goes_on(tracked)


def _restore(program: Program, source: str, target: str, tmp_path: Path) -> None:
    dump = str(tmp_path / "dump")
    program("pg_dump", source, "--format=custom", f"--file={dump}")
    program("pg_restore", target, "--exit-on-error", f"--dbname={sa.make_url(target).database}", dump)
