"""A writer whose transaction is open while a table is tracked or renewed: it wrote by the triggers of before."""

import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from .helpers import Sql, fill, track
from .test_traps import clean, edges

Connect = Callable[..., psycopg.Connection[Any]]

TABLES = """CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY); INSERT INTO app.a VALUES (1);
CREATE TABLE app.b (id int PRIMARY KEY{})"""


def meanwhile(connect: Connect, *statements: str) -> threading.Thread:
    """Runs statements in a session and a thread of their own."""

    def run() -> None:
        session = connect()
        for statement in statements:
            session.execute(statement)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def beside_an_open_row(connect: Connect, statement: str) -> None:
    """Runs a statement while a transaction that has inserted a row into app.b is open: it waits for that."""
    writer = connect(autocommit=False)
    writer.execute("INSERT INTO app.b VALUES (1)")
    waiting = meanwhile(connect, statement)
    waiting.join(1)
    assert waiting.is_alive()
    writer.commit()
    waiting.join(10)


@pytest.mark.acceptance("66")
def test_a_row_that_was_open_while_its_referred_table_was_tracked_has_its_reference(
    tracked: str, sql: Sql, connect: Connect
) -> None:
    sql(TABLES.format(" REFERENCES app.a"))
    track(sql, "b")
    beside_an_open_row(connect, "SELECT dms.track('app.a')")
    for table in ("a", "b"):
        fill(sql, table)
    assert len(edges(sql)) == 1
    assert clean(tracked)


@pytest.mark.acceptance("66")
def test_a_row_that_was_open_while_a_foreign_key_was_taken_in_has_its_reference(tracked: str, sql: Sql, connect: Connect) -> None:
    sql(TABLES.format(""))
    track(sql, "a", "b")
    sql("ALTER TABLE app.b ADD FOREIGN KEY (id) REFERENCES app.a NOT VALID")
    beside_an_open_row(connect, "SELECT dms.renew_tracking('app.b')")
    fill(sql, "b")
    assert len(edges(sql)) == 1
    assert clean(tracked)


@pytest.mark.acceptance("66")
def test_a_writer_of_both_tables_is_no_victim_of_a_deadlock(tracked: str, sql: Sql, connect: Connect) -> None:
    sql(TABLES.format(" REFERENCES app.a"))
    track(sql, "b")
    writer = connect(autocommit=False)
    writer.execute("INSERT INTO app.b VALUES (1)")
    waiting = meanwhile(connect, "SELECT dms.track('app.a')")
    waiting.join(0.3)
    writer.execute("INSERT INTO app.a VALUES (2)")  # which the other session has locked, while it waits for app.b
    writer.commit()
    waiting.join(10)
    for table in ("a", "b"):
        fill(sql, table)
    assert clean(tracked)


def test_a_writer_that_does_not_end_is_waited_for_no_longer_than_the_lock_timeout(tracked: str, sql: Sql, connect: Connect) -> None:
    sql(TABLES.format(" REFERENCES app.a"))
    track(sql, "b")
    writer = connect(autocommit=False)
    writer.execute("INSERT INTO app.b VALUES (1)")
    sql("SET lock_timeout = '1s'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        sql("SELECT dms.track('app.a')")
    assert sql("SHOW lock_timeout") == [("1s",)]
    assert sql("SELECT count(*) FROM dms.TrackedTable") == [(1,)]
    writer.rollback()
    sql("SELECT dms.track('app.a')")
