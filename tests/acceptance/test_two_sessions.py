"""What one session sees while another one writes (acceptance 16, 18, 25b, 31 to 33, 36, 38), in an order that the test decides."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.database.connect import translated
from dmsjournal.database.session import Session
from tests.helpers import (
    PLAN,
    SCHOOL,
    STUDENT,
    add_edge,
    commit,
    document,
    document_events,
    drawn,
    expected_changes,
    newest,
    stamps,
    unjournaled,
    write,
)

DRAW = {"postgresql": "SELECT nextval('dms.changeversionsequence')", "mssql": "SELECT NEXT VALUE FOR dms.ChangeVersionSequence"}
OF_ONE_SNAPSHOT = {"postgresql": "REPEATABLE READ", "mssql": "SNAPSHOT"}


def touch(writer: sa.Connection, document_id: int, column: str = "ContentVersion") -> int:
    """Signals a change, without a commit; the stamp that was given."""
    writer.exec_driver_sql(f"UPDATE dms.Document SET {column} = {column} + 1 WHERE DocumentId = {document_id}")
    return int(writer.exec_driver_sql(f"SELECT {column} FROM dms.Document WHERE DocumentId = {document_id}").scalar_one())


def create(writer: sa.Connection, resource_key_id: int) -> int:
    """A new document's id, without a commit."""
    writer.exec_driver_sql(f"INSERT INTO dms.Document (ResourceKeyId) VALUES ({resource_key_id})")
    return int(writer.exec_driver_sql("SELECT MAX(DocumentId) FROM dms.Document").scalar_one())


def changed(journal: dj.Journal, of: dj.ResourceKey, first: int = 1) -> list[int]:
    return [change.document_id for change in journal.changes(of, dj.Window(first))]


@pytest.fixture
def more(url: str) -> Iterator[list[sa.Connection]]:
    """Five further connections."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with ExitStack() as opened:
        yield [opened.enter_context(engine.connect()) for _ in range(5)]


@pytest.mark.acceptance("16")
@pytest.mark.parametrize("column", ["ContentVersion", "IdentityVersion"])
def test_a_stamp_that_was_drawn_early_is_not_written_late(journal: dj.Journal, connections, column: str) -> None:
    first, second = connections
    [student] = write(journal, document(STUDENT, 1))
    early = first.exec_driver_sql(DRAW[first.dialect.name]).scalar_one()
    between = touch(second, student)
    second.commit()
    passed = newest(journal)
    first.exec_driver_sql(f"UPDATE dms.Document SET {column} = {early} WHERE DocumentId = {student}")
    first.commit()
    assert max(stamps(first, student)) > between > early
    assert changed(journal, STUDENT, passed + 1) == [student]
    assert len(document_events(first, student)) == 3
    assert unjournaled(first) == []


@pytest.mark.acceptance("16")
def test_a_transaction_that_has_stamped_already_stamps_above_who_came_between(journal: dj.Journal, connections) -> None:
    first, second = connections
    one, two = write(journal, document(STUDENT, 1), document(STUDENT, 2))
    touch(first, two)
    between = touch(second, one)
    second.commit()
    assert touch(first, one) > between
    first.commit()
    assert [version for version, _ in document_events(first, one)] == [1, between, between + 1]
    assert list(journal.changes(STUDENT)) == expected_changes(first, 1)
    assert unjournaled(first) == []


@pytest.mark.acceptance("18")
def test_a_rollback_leaves_no_event_and_holds_nothing(journal: dj.Journal, connections) -> None:
    writer, other = connections
    [student] = write(journal, document(STUDENT, 1))
    touch(writer, student)
    assert newest(journal) == 1
    writer.rollback()
    assert newest(journal) == drawn(other) == 2
    assert document_events(other, student) == [(1, "insert")]


@pytest.mark.acceptance("18")
def test_a_savepoint_that_is_rolled_back_leaves_no_event(journal: dj.Journal, connections) -> None:
    writer, other = connections
    one, two = write(journal, document(STUDENT, 1), document(STUDENT, 2))
    with writer.begin():
        before = writer.begin_nested()
        touch(writer, one)
        before.rollback()
        kept = touch(writer, two)
    assert (document_events(other, one), document_events(other, two)) == ([(1, "insert")], [(2, "insert"), (kept, "update")])
    with writer.begin():
        before = writer.begin_nested()
        touch(writer, one)
        before.rollback()
    assert newest(journal) == drawn(other)
    assert unjournaled(other) == []


@pytest.mark.acceptance("25b")
def test_a_child_created_between_its_parent_and_the_edge(journal: dj.Journal, connections) -> None:
    first, second = connections
    write(journal, document(STUDENT, 1), document(PLAN, 1))
    ids = journal.resources()
    passed = newest(journal)
    parent = create(first, ids[PLAN])
    child = create(second, ids[STUDENT])
    second.commit()
    assert max(stamps(second, child)) > passed + 1
    first.exec_driver_sql(f"INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES ({parent}, {child})")
    first.commit()
    [change] = journal.changes(PLAN, dj.Window(passed + 1))
    assert (change.document_id, change.change_version) == (parent, journal.derive([parent])[parent].change_version)


@pytest.mark.acceptance("25b")
def test_an_edge_dropped_after_another_session_renamed_the_child(journal: dj.Journal, connections) -> None:
    first, second = connections
    student = document(STUDENT, 1)
    child, parent = write(journal, student, document(PLAN, 1, student))
    touch(first, parent)
    renamed = touch(second, child, "IdentityVersion")
    second.commit()
    first.exec_driver_sql(f"DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId = {parent}")
    first.commit()
    [change] = journal.changes(PLAN, dj.Window(renamed))
    assert change.change_version == max(stamps(first, parent)) == journal.derive([parent])[parent].change_version
    assert change.change_version > renamed


@pytest.mark.acceptance("31")
def test_newest_is_below_a_stamp_that_is_not_committed(journal: dj.Journal, connections) -> None:
    first, second = connections
    one, two = write(journal, document(STUDENT, 1), document(STUDENT, 2))
    lower, higher = touch(first, one), touch(second, two)
    second.commit()
    assert newest(journal) < lower
    assert changed(journal, STUDENT) == [one]  # at its old version; the other one has left it and waits above
    first.commit()
    assert newest(journal) == higher
    assert changed(journal, STUDENT, lower) == [one, two]


@pytest.mark.acceptance("31")
@pytest.mark.parametrize(
    "write_",
    [
        "INSERT INTO dms.Document (ResourceKeyId) VALUES (1)",
        "DELETE FROM dms.Document WHERE DocumentId = 1",
        "UPDATE dms.Document SET IdentityVersion = IdentityVersion + 1 WHERE DocumentId = 1",
        "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (1, 3)",
        "DELETE FROM dms.ReferenceEdge",
        "UPDATE dms.ReferenceEdge SET ChildDocumentId = 3",
    ],
)
def test_whatever_is_not_committed_holds_newest(journal: dj.Journal, connections, write_: str) -> None:
    writer, other = connections
    write(journal, document(STUDENT, 1), document(STUDENT, 2), document(SCHOOL, 3))
    add_edge(other, 2, 3)
    if write_.startswith("UPDATE dms.ReferenceEdge"):
        write_ = "UPDATE dms.ReferenceEdge SET ChildDocumentId = 2"
    passed = newest(journal)
    writer.exec_driver_sql(write_)
    touch(other, 3)
    other.commit()
    assert newest(journal) == passed
    writer.commit()
    assert newest(journal) == drawn(other) == passed + 2
    assert unjournaled(other) == []


@pytest.mark.acceptance("31")
@pytest.mark.parametrize("ends_first", [0, 2, 4])
def test_newest_is_below_the_lowest_of_many_writers(journal: dj.Journal, more: list[sa.Connection], ends_first: int) -> None:
    ids = write(journal, *(document(STUDENT, number) for number in range(5)))
    stamped = [touch(writer, i) for writer, i in zip(more, ids, strict=True)]
    left = set(stamped)
    for number in [ends_first, *(n for n in (4, 2, 0, 3, 1) if n != ends_first)]:
        more[number].commit()
        left.discard(stamped[number])
        assert newest(journal) == (min(left) - 1 if left else max(stamped))


@pytest.mark.acceptance("32")
def test_a_stamp_that_was_rolled_back_is_a_gap_that_stops_nobody(journal: dj.Journal, connections) -> None:
    first, second = connections
    one, two = write(journal, document(STUDENT, 1), document(STUDENT, 2))
    touch(first, one)
    higher = touch(second, two)
    second.commit()
    first.rollback()
    assert newest(journal) == higher
    assert [change.change_version for change in journal.changes(STUDENT)] == [1, higher]


@pytest.mark.acceptance("33")
def test_what_is_not_of_the_journal_does_not_hold_newest(journal: dj.Journal, connections, more: list[sa.Connection]) -> None:
    writer, other = connections
    [student] = write(journal, document(STUDENT, 1))
    commit(writer, "CREATE TABLE other_application (n integer)")
    try:
        others, reading, unchanged, *_ = more
        others.exec_driver_sql("INSERT INTO other_application VALUES (1)")
        reading.exec_driver_sql("SELECT * FROM dms.DocumentChangeEvent").all()
        unchanged.exec_driver_sql("UPDATE dms.ResourceKey SET ProjectName = ProjectName WHERE ResourceKeyId < 0")
        stamp = touch(writer, student)
        writer.commit()
        assert newest(journal) == stamp
        for connection in (others, reading, unchanged):
            connection.rollback()
    finally:
        commit(other, "DROP TABLE other_application")


@pytest.mark.acceptance("36")
def test_the_horizon_is_refused_in_a_snapshot_that_may_be_older(journal: dj.Journal, url: str) -> None:
    write(journal, document(STUDENT, 1))
    level = OF_ONE_SNAPSHOT["mssql" if url.startswith("mssql") else "postgresql"]
    engine = sa.create_engine(url, poolclass=sa.NullPool, isolation_level=level)
    with engine.connect() as reader:
        reader.exec_driver_sql("SELECT COUNT(*) FROM dms.Document").scalar_one()  # the snapshot
        write(journal, document(STUDENT, 2))
        with pytest.raises(dj.UnsupportedCapability, match=f"(?i)the horizon cannot be read in a {level}"), translated():
            Session(reader).execute("database/begin_page")
    assert len(changed(journal, STUDENT)) == 2


@pytest.mark.acceptance("38")
def test_neither_of_two_statements_is_visible_before_the_commit(journal: dj.Journal, connections) -> None:
    writer, other = connections
    write(journal, document(STUDENT, 1))
    passed = newest(journal)
    one = create(writer, 1)
    assert changed(journal, STUDENT, passed + 1) == []
    create(other, 1)
    other.commit()
    assert changed(journal, STUDENT, passed + 1) == []
    two = create(writer, 1)
    assert changed(journal, STUDENT, passed + 1) == []
    writer.commit()
    assert {one, two} < set(changed(journal, STUDENT, passed + 1))
