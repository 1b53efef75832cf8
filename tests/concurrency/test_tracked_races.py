"""The races of the core, by plain SQL on tracked tables: each change once, none missed (acceptance 31, 25b, 28, 68, 69, 72).

`app.parent` refers to `app.child`. Reader and onlooker are those of races.py: a row's document is found by the row's key.
"""

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from dmsjournal.schema import migrate

from .mutating import GATE, Edit
from .races import CHILD, PARENT, Race, Writer

TABLES = """
CREATE SCHEMA app;
CREATE TABLE app.child (id int PRIMARY KEY, name text, note text);
CREATE TABLE app.parent (id int PRIMARY KEY, note text, child int REFERENCES app.child ON DELETE CASCADE ON UPDATE CASCADE,
    late int REFERENCES app.child DEFERRABLE INITIALLY DEFERRED);
"""
CHECKS = """SELECT code, name FROM dms.check_tracking() UNION ALL
SELECT f.code, f.name FROM dms.TrackedTable AS t, dms.check_tracked_rows(t.TableName, 0, 1000) AS f WHERE f.code <> 'end' UNION ALL
SELECT f.code, f.name FROM dms.TrackedTable AS t, dms.check_tracked_documents(t.TableName, 0) AS f WHERE f.code <> 'end'"""
FILL = "SELECT * FROM dms.fill_tracked('app.child')"

FILL_WITH_A_GATE: Edit = (
    "functions/tracking_of.v1",
    "d.DocumentId IS NULL\n        FOR NO KEY UPDATE OF r SKIP LOCKED",
    f"d.DocumentId IS NULL AND (SELECT pg_advisory_xact_lock_shared({GATE})) IS NOT NULL\n"
    "        FOR NO KEY UPDATE OF r SKIP LOCKED",
)
AS_SHIPPED: Edit = ("functions/tracking_of.v1", "CREATE FUNCTION", "CREATE FUNCTION")


def tables(race: Race) -> Race:
    """Tracks both tables, which are empty."""
    for statement in TABLES.split(";")[:-1]:
        race.look(statement)
    race.look("SELECT dms.track('app.child', 'Race', 'Child', shows => ARRAY['name'::name])")
    race.look("SELECT dms.track('app.parent', 'Race', 'Parent')")
    race.look("SELECT dms.fill_table('app.child'), dms.fill_table('app.parent')")
    return race


@pytest.fixture
def race(url: str) -> Iterator[Race]:
    migrate.upgrade(url, options=["tracking"])
    race = tables(Race(url))
    yield race
    race.close()


def rows(race: Race, *statements: str) -> None:
    """Statements, each committed; the reader has read what they did."""
    for statement in statements:
        race.look(statement)
    race.reader.step()


def document(race: Race, key: int, of: Any = PARENT) -> int:
    """The one document of a row."""
    found = race.look(
        "SELECT DocumentId FROM dms.Document WHERE ResourceKeyId = :r AND KeyValues ->> 'id' = :key", r=race.ids[of], key=str(key)
    ).scalars()
    ids = found.all()
    assert len(ids) == 1, ids
    return int(ids[0])


def finished(waiting: "Future[Any]") -> None:
    """The statement that waited has ended without an error."""
    error = waiting.exception()
    assert error is None, error


def settled(race: Race) -> bool:
    """The reader has missed nothing, and rows, documents and references agree."""
    assert race.missed() == {}
    assert race.look(CHECKS).all() == []
    return True


def unfilled(race: Race, *ids: int) -> None:
    """Rows of app.child that have no document, since they came before the triggers."""
    race.look("SET session_replication_role = replica")
    for number in ids:
        race.look(f"INSERT INTO app.child VALUES ({number}, 'n')")
    race.look("SET session_replication_role = origin")
    race.look("SELECT dms.renew_tracking('app.child')")


def filled(race: Race) -> None:
    for table in ("app.child", "app.parent"):
        race.look(f"SELECT dms.fill_table('{table}')")


def generated(race: Race, edit: Edit) -> None:
    """Makes the triggers of both tables anew by the edited function."""
    race.edit(edit)
    race.look("SELECT dms.make_tracking(TrackedTableId) FROM dms.TrackedTable")


@pytest.mark.acceptance("31")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE app.parent SET note = 'new' WHERE id = 1",
        "INSERT INTO app.parent VALUES (9)",
        "DELETE FROM app.parent WHERE id = 1",
        "UPDATE app.parent SET id = 9 WHERE id = 1",
    ],
)
def test_a_plain_statement_that_is_not_committed_holds_newest(race: Race, statement: str) -> None:
    rows(race, "INSERT INTO app.child VALUES (1)", "INSERT INTO app.parent VALUES (1, 'x', 1), (2, 'x', NULL)")
    before, higher = race.newest(), document(race, 2)
    race.first.sql(statement)
    race.second.sql("UPDATE app.parent SET note = 'newer' WHERE id = 2")
    race.second.commit()
    assert race.newest() == before
    assert race.reader.step() == []
    race.first.commit()
    assert higher in race.reader.step()
    assert settled(race)


@pytest.mark.acceptance("25b", "66")
@pytest.mark.parametrize("way", ["INSERT INTO app.parent VALUES (2, 'x', 1)", "UPDATE app.parent SET child = 1 WHERE id = 1"])
@pytest.mark.parametrize(
    ("begins_first", "commits_first"), [("referrer", "referrer"), ("referrer", "rename"), ("rename", "referrer")]
)
def test_a_rename_meets_a_new_referrer(race: Race, way: str, begins_first: str, commits_first: str) -> None:
    rows(race, "INSERT INTO app.child VALUES (1, 'old')", "INSERT INTO app.parent VALUES (1, 'x', NULL), (3, 'x', 1)")
    rename = "UPDATE app.child SET name = 'new'"
    for statement in (way, rename) if begins_first == "referrer" else (rename, way):
        (race.first if statement == way else race.second).sql(statement)
    for writer in (race.first, race.second) if commits_first == "referrer" else (race.second, race.first):
        race.reader.step()
        writer.commit()
    race.reader.step()
    renamed = race.look("SELECT ContentVersion FROM dms.Document WHERE DocumentId = :id", id=document(race, 1, CHILD)).scalar_one()
    for parent in (document(race, 2 if "INSERT" in way else 1), document(race, 3)):
        assert race.reader.seen[parent] >= renamed, "the row shows the new name, and was not told after it"
    assert settled(race)


@pytest.mark.acceptance("67")
def test_keys_change_while_a_referrer_comes(race: Race) -> None:
    rows(race, "INSERT INTO app.child VALUES (1), (2)")
    one, two = document(race, 1, CHILD), document(race, 2, CHILD)
    race.first.sql("INSERT INTO app.parent VALUES (1, 'x', 1)")
    waiting = race.second.blocked(lambda: race.second.sql("UPDATE app.child SET id = id + 10"))
    race.first.commit()
    finished(waiting)
    race.reader.step()
    race.second.commit()
    assert race.reader.step() == [document(race, 1)]
    assert (document(race, 11, CHILD), document(race, 12, CHILD)) == (one, two)
    assert settled(race)


@pytest.mark.acceptance("28", "68")
def test_a_delete_meets_a_new_referrer(race: Race) -> None:
    rows(race, "INSERT INTO app.child VALUES (1)")
    race.first.sql("INSERT INTO app.parent VALUES (1, 'x', 1)")
    waiting = race.second.blocked(lambda: race.second.sql("DELETE FROM app.child"))
    race.first.commit()
    finished(waiting)
    race.reader.step()
    parent = document(race, 1)
    race.second.commit()
    race.reader.step()
    assert race.reader.deleted == {parent}
    assert settled(race)


@pytest.mark.acceptance("28")
def test_a_referrer_of_a_row_that_is_being_deleted_is_refused(race: Race) -> None:
    rows(race, "INSERT INTO app.child VALUES (1)")
    race.first.sql("DELETE FROM app.child")
    waiting = race.second.blocked(lambda: race.second.sql("INSERT INTO app.parent VALUES (1, 'x', 1)"))
    race.first.commit()
    assert isinstance(waiting.exception(), sa.exc.IntegrityError)
    race.second.rollback()
    assert race.reader.step() == []
    assert settled(race)


@pytest.mark.acceptance("69")
def test_another_session_brings_the_row_of_a_deferred_reference(race: Race) -> None:
    race.first.sql("INSERT INTO app.parent VALUES (1, 'x', NULL, 7)")
    race.second.sql("INSERT INTO app.child VALUES (7)")
    race.second.commit()
    race.reader.step()
    race.first.commit()
    parent = document(race, 1)
    assert race.reader.step() == [parent]
    rows(race, "UPDATE app.child SET note = 'not shown'")
    race.look("UPDATE app.child SET name = 'shown'")
    assert race.reader.step() == [parent]
    assert settled(race)


@pytest.mark.acceptance("72")
def test_a_fill_comes_back_for_a_row_that_a_writer_has_locked(race: Race) -> None:
    unfilled(race, 1, 2)
    race.first.sql("SELECT FROM app.child WHERE id = 1 FOR UPDATE")
    for _ in range(4):
        race.look(FILL)
    race.first.rollback()
    filled(race)
    assert settled(race)


@pytest.mark.acceptance("72")
def test_a_batch_waits_for_no_writer(race: Race) -> None:
    """Nor for one that has locked a row that a row of the batch refers to: its locks would hold other writers as long."""
    race.look("ALTER TABLE app.child ADD COLUMN boss int REFERENCES app.child")
    unfilled(race, 1, 2)
    race.look("UPDATE app.child SET boss = 3 - id")
    race.look("DELETE FROM dms.ReferenceEdge")
    race.look("DELETE FROM dms.Document")
    race.look("SELECT dms.renew_tracking('app.child')")
    race.look("UPDATE dms.TrackedTable SET IsLinked = true")  # as of a table that is tracked for the first time
    race.first.sql("SELECT FROM app.child WHERE id = 2 FOR UPDATE")
    race.second.sql("SET LOCAL lock_timeout = '1s'")
    assert _run(race.second, FILL) is None
    assert document(race, 1, CHILD)
    race.first.rollback()
    filled(race)
    assert race.look("SELECT count(*) FROM dms.ReferenceEdge").scalar_one() == 2
    assert settled(race)


@pytest.mark.acceptance("72")
@pytest.mark.parametrize(
    "statement", ["UPDATE app.child SET id = 5, note = 'new'", "DELETE FROM app.child", "INSERT INTO app.parent VALUES (1, 'x', 1)"]
)
def test_a_writer_waits_for_a_batch_that_holds_its_row(race: Race, statement: str) -> None:
    unfilled(race, 1)
    race.first.sql(FILL)
    waiting = race.second.blocked(lambda: race.second.sql(statement))
    race.first.commit()
    finished(waiting)
    race.second.commit()
    filled(race)
    made = "SELECT count(*) FROM dms.DocumentChangeEvent WHERE Operation = 'insert' AND ResourceKeyId = :r"
    assert race.look(made, r=race.ids[CHILD]).scalar_one() == 1
    assert settled(race)


@pytest.mark.acceptance("72")
@pytest.mark.parametrize("statement", ["UPDATE app.child SET note = 'new'", "INSERT INTO app.parent VALUES (1, 'x', 1)"])
def test_a_batch_that_an_older_snapshot_does_not_see_makes_no_second_document(race: Race, statement: str) -> None:
    unfilled(race, 1)
    writer = race.writer("REPEATABLE READ")
    writer.sql("SELECT FROM app.child")  # the snapshot
    race.look(FILL)
    refused = _run(writer, statement)
    assert refused in (None, psycopg.errors.SerializationFailure), refused
    if refused:  # and tried again, as such a transaction is
        assert _run(writer, statement) is None
    assert document(race, 1, CHILD)
    filled(race)
    assert settled(race)


def _run(writer: Writer, statement: str) -> type[Exception] | None:
    """Runs and commits a statement; the class of the driver's error, after which nothing of it stands."""
    try:
        writer.sql(statement)
        writer.commit()
    except sa.exc.DBAPIError as error:
        writer.rollback()
        return type(error.orig) if isinstance(error.orig, Exception) else None
    return None


@pytest.mark.acceptance("72")
def test_a_batch_does_not_trust_what_it_saw_before_it_locked(race: Race) -> None:
    """A referrer makes the row's document after the batch has looked for it, and before it locks the row."""
    unfilled(race, 1)
    generated(race, FILL_WITH_A_GATE)
    with race.closed_gate():
        waiting = race.first.blocked(lambda: race.first.sql(FILL))
        race.second.sql("INSERT INTO app.parent VALUES (1, 'x', 1)")
        race.second.commit()
    finished(waiting)
    race.first.commit()
    assert document(race, 1, CHILD)
    generated(race, AS_SHIPPED)
    filled(race)
    assert settled(race)


@pytest.mark.acceptance("72")
@pytest.mark.parametrize("begins_first", ["writer", "fill"])
def test_a_row_comes_under_the_key_of_a_document_that_a_fill_removes(race: Race, begins_first: str) -> None:
    rows(race, "INSERT INTO app.child VALUES (1)")
    race.look("SET session_replication_role = replica")
    race.look("DELETE FROM app.child")
    race.look("SET session_replication_role = origin")
    race.look("SELECT dms.renew_tracking('app.child')")
    race.look(FILL)  # the pass over the rows; the next batch is over the documents
    insert = "INSERT INTO app.child VALUES (1, 'again')"
    first, then = (insert, FILL) if begins_first == "writer" else (FILL, insert)
    race.first.sql(first)
    waiting = race.second.blocked(lambda: race.second.sql(then))
    race.first.commit()
    finished(waiting)
    race.second.commit()
    filled(race)
    assert settled(race)
