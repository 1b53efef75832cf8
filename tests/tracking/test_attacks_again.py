"""Attacks on tracking: waits of writers for each other, keys that are made anew, marks of references (acceptance 66, 72, 74)."""

import time

import pytest

import dmsjournal as dj

from .helpers import Sql, fill, track
from .test_open_writers import Connect, meanwhile
from .test_traps import clean, documents, stamp


def until_a_session_waits(sql: Sql) -> None:
    ends_at = time.monotonic() + 20
    while not sql("SELECT pid FROM pg_locks WHERE NOT granted"):
        assert time.monotonic() < ends_at
        time.sleep(0.01)


@pytest.mark.acceptance("72")
def test_rows_that_no_fill_has_reached_are_locked_in_the_order_of_their_keys(tracked: str, sql: Sql, connect: Connect) -> None:
    """Two statements that refer to two such rows, each by other columns, cannot wait for each other."""
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY); INSERT INTO app.a VALUES (1), (2)")
    sql("CREATE TABLE app.b (id int PRIMARY KEY, x int REFERENCES app.a, y int REFERENCES app.a)")
    for table in ("a", "b"):
        sql(f"SELECT dms.track('app.{table}')")
    other = connect(autocommit=False)
    other.execute("SELECT FROM app.a WHERE id = 1 FOR NO KEY UPDATE")
    writer = meanwhile(connect, "INSERT INTO app.b VALUES (1, 2, 1)")
    until_a_session_waits(sql)
    sql("SELECT FROM app.a WHERE id = 2 FOR NO KEY UPDATE NOWAIT")
    other.rollback()
    writer.join(10)
    for table in ("a", "b"):
        fill(sql, table)
    assert clean(tracked)


@pytest.mark.acceptance("66")
def test_the_first_reference_of_a_table_keeps_no_other_writer_waiting(tracked: str, sql: Sql, connect: Connect) -> None:
    """Nor can the first ones of two tables, written in opposite order, end in a deadlock."""
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY)")
    sql("CREATE TABLE app.b (id int PRIMARY KEY, a int REFERENCES app.a)")
    track(sql, "b", "a")
    sql("INSERT INTO app.a VALUES (1)")
    first = connect(autocommit=False)
    first.execute("INSERT INTO app.b VALUES (1, 1)")
    sql("SET lock_timeout = '1s'")
    sql("INSERT INTO app.b VALUES (2, 1)")
    first.commit()
    assert clean(tracked)


@pytest.mark.acceptance("66")
def test_a_writer_beside_untrack_is_no_victim_of_a_deadlock(tracked: str, sql: Sql, connect: Connect) -> None:
    """`untrack` waits for the writer's other table, and gives back its locks meanwhile."""
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY); INSERT INTO app.a VALUES (1)")
    sql("CREATE TABLE app.b (id int PRIMARY KEY, a int REFERENCES app.a)")
    track(sql, "a", "b")
    writer = connect(options="-c lock_timeout=900ms", autocommit=False)
    writer.execute("DELETE FROM app.b")  # of no row: it has locked app.b alone
    waiting = meanwhile(connect, "SELECT dms.untrack('app.a')")
    until_a_session_waits(sql)
    writer.execute("INSERT INTO app.b VALUES (2, 1)")
    writer.commit()
    waiting.join(10)
    assert sql("SELECT TableName FROM dms.TrackedTable") == [("app.b",)]
    assert sql("SELECT id FROM app.b") == [(2,)]
    assert clean(tracked)


@pytest.mark.acceptance("66")
def test_two_references_of_a_row_that_change_places(tracked: str, sql: Sql) -> None:
    """An edge says whether its reference is part of the key, after the change as well; `verify` compares that."""
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY); INSERT INTO app.a VALUES (1), (2)")
    sql("CREATE TABLE app.b (x int PRIMARY KEY REFERENCES app.a, y int REFERENCES app.a); INSERT INTO app.b VALUES (1, 2)")
    track(sql, "a", "b")
    sql("UPDATE app.b SET x = 2, y = 1")
    flags = """SELECT CAST(c.KeyValues ->> 'id' AS int), e.IsIdentityComponent FROM dms.ReferenceEdge AS e
               JOIN dms.Document AS c ON c.DocumentId = e.ChildDocumentId ORDER BY 1"""
    assert sql(flags) == [(1, False), (2, True)]
    assert clean(tracked)
    sql("UPDATE dms.ReferenceEdge SET IsIdentityComponent = NOT IsIdentityComponent")
    with dj.connect(tracked) as journal:
        assert [found.code for found in journal.verify().findings] == ["reference-differs"]
        journal.repair()
    assert sql(flags) == [(1, False), (2, True)]


@pytest.mark.acceptance("74")
def test_a_primary_key_that_is_made_anew(tracked: str, sql: Sql) -> None:
    """A column keeps its name in the key values, whatever its place in the key is."""
    sql("CREATE SCHEMA app; CREATE TABLE app.a (x int, y int, z int UNIQUE, PRIMARY KEY (x, y))")
    sql("INSERT INTO app.a VALUES (1, 2, 3), (2, 1, 4)")
    track(sql, "a")
    before, last = documents(sql, "a"), stamp(sql)

    def renew(*statements: str) -> None:
        for statement in statements:
            sql(f"ALTER TABLE app.a {statement}")
        with dj.connect(tracked) as journal:
            assert journal.tracked()[0].state is not None
            journal.renew_tracking()

    renew("DROP CONSTRAINT a_pkey, ADD PRIMARY KEY (y, x)")
    assert documents(sql, "a") == before
    renew("RENAME x TO v")
    assert documents(sql, "a") == before, "column v is called x in the key values"
    assert stamp(sql) == last
    renew("ADD x int DEFAULT 7", "DROP CONSTRAINT a_pkey, ADD PRIMARY KEY (v, x, y)")
    assert set(documents(sql, "a")) == {'{"v": 1, "x": 7, "y": 2}', '{"v": 2, "x": 7, "y": 1}'}
    assert {row[0] for row in documents(sql, "a").values()}.isdisjoint(row[0] for row in before.values())
    assert clean(tracked)


@pytest.mark.acceptance("66")
def test_a_statement_that_changes_many_keys_looks_at_each_once(tracked: str, sql: Sql) -> None:
    """Ten times the keys take about ten times as long: no array is read through for each of them."""
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY)")
    track(sql, "a")
    assert "<> ALL (" not in sql("SELECT prosrc FROM pg_proc WHERE proname = 'tracked_1_update'")[0][0]
