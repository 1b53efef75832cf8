"""Stamping (acceptance 10 to 15, 17, 19b to 21): what one session's statements leave behind."""

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from tests.helpers import (
    PLAN,
    SCHOOL,
    STUDENT,
    add_edge,
    change_content,
    change_identity,
    commit,
    document,
    document_events,
    drawn,
    identity_events,
    listed,
    newest,
    stamps,
    unjournaled,
    write,
)

EDGES = "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId)"


@pytest.mark.acceptance("10")
def test_an_insert_gives_both_versions_one_stamp_and_one_event(journal: dj.Journal, connections) -> None:
    [student] = write(journal, document(STUDENT, "1"))
    assert stamps(connections[0], student) == (1, 1)
    assert document_events(connections[0], student) == [(1, "insert")]
    assert identity_events(connections[0], student) == []


@pytest.mark.acceptance("11")
def test_a_content_update_stamps_content_alone(journal: dj.Journal, connections) -> None:
    [student] = write(journal, document(STUDENT, "1"))
    change_content(connections[0], student)
    assert stamps(connections[0], student) == (2, 1)
    assert document_events(connections[0], student) == [(1, "insert"), (2, "update")]
    assert identity_events(connections[0], student) == []


@pytest.mark.acceptance("12")
def test_an_identity_update_has_a_document_and_an_identity_event_of_one_stamp(journal: dj.Journal, connections) -> None:
    [student] = write(journal, document(STUDENT, "1"))
    with journal.write() as tx:
        assert tx.rekey(STUDENT, {"studentId": "1"}, {"studentId": "2"}) == 1
    assert stamps(connections[0], student) == (1, 2)
    assert document_events(connections[0], student) == [(1, "insert"), (2, "update")]
    assert identity_events(connections[0], student) == [2]


@pytest.mark.acceptance("12")
def test_new_key_values_alone_are_an_identity_update(journal: dj.Journal, connections) -> None:
    [student] = write(journal, document(STUDENT, "1"))
    commit(connections[0], "UPDATE dms.Document SET KeyValues = NULL")
    commit(connections[0], 'UPDATE dms.Document SET KeyValues = \'{"studentId": "1"}\'')
    assert stamps(connections[0], student) == (1, 3)
    assert identity_events(connections[0], student) == [2, 3]


@pytest.mark.acceptance("13")
def test_content_and_identity_in_one_statement_share_a_stamp(journal: dj.Journal, connections) -> None:
    [student] = write(journal, document(STUDENT, "1"))
    commit(connections[0], "UPDATE dms.Document SET ContentVersion = ContentVersion + 1, IdentityVersion = IdentityVersion + 5")
    assert stamps(connections[0], student) == (2, 2)
    assert document_events(connections[0], student) == [(1, "insert"), (2, "update")]
    assert identity_events(connections[0], student) == [2]


@pytest.mark.acceptance("14")
def test_the_same_values_again_change_nothing(journal: dj.Journal, connections) -> None:
    write(journal, document(SCHOOL, 1), document(PLAN, 1, document(SCHOOL, 1)))
    before = commit(connections[0], "SELECT * FROM dms.Document ORDER BY DocumentId")
    otherwise = "UPDATE dms.Document SET KeyValues = '{ \"schoolId\":1.0 }' WHERE DocumentId = 1"  # equal where it is not text
    for statement in (
        "UPDATE dms.Document SET ContentVersion = ContentVersion, IdentityVersion = IdentityVersion, KeyValues = KeyValues",
        *([otherwise] if connections[0].dialect.name == "postgresql" else []),
        "UPDATE dms.Document SET CreatedAt = '2001-01-01', ContentLastModifiedAt = '2001-01-01'",
        "UPDATE dms.ReferenceEdge SET ChildDocumentId = ChildDocumentId, ParentDocumentId = ParentDocumentId",
        "UPDATE dms.ReferenceEdge SET ParentResourceKeyId = 99, CreatedAt = '2001-01-01'",
    ):
        commit(connections[0], statement)
        assert drawn(connections[0]) == 2, statement
    assert commit(connections[0], "SELECT * FROM dms.Document ORDER BY DocumentId") == before
    assert [document_events(connections[0], document_id) for document_id in (1, 2)] == [[(1, "insert")], [(2, "insert")]]
    assert commit(connections[0], "SELECT ParentResourceKeyId FROM dms.ReferenceEdge") == [(journal.resources()[PLAN],)]


@pytest.mark.acceptance("15")
@pytest.mark.parametrize("change", [change_content, change_identity])
def test_every_document_of_a_statement_gets_a_stamp_of_its_own(journal: dj.Journal, connections, change) -> None:
    ids = write(journal, *(document(STUDENT, str(number)) for number in range(50)))
    change(connections[0], *ids)
    change(connections[0], *ids[:25])
    local = [max(stamps(connections[0], document_id)) for document_id in ids]
    assert sorted(local) == [*range(76, 126)]
    assert sorted(local[:25]) == [*range(101, 126)]
    events = commit(connections[0], "SELECT ChangeVersion FROM dms.DocumentChangeEvent ORDER BY ChangeVersion")
    assert [version for (version,) in events] == [*range(1, 126)]
    assert newest(journal) == 125
    assert unjournaled(connections[0]) == []


@pytest.mark.acceptance("17")
@pytest.mark.parametrize("column", ["ContentVersion", "IdentityVersion"])
def test_a_stamp_that_a_caller_supplies_is_replaced(journal: dj.Journal, connections, column: str) -> None:
    first, second, third = write(journal, *(document(STUDENT, str(number)) for number in range(3)))  # stamps 1, 2 and 3
    stale, own, next_one, highest = 2, "ContentVersion + IdentityVersion", newest(journal) + 1, 2**63 - 1
    supplied = (0, -1, -(2**63), 1, stale, own, next_one, highest, f"{column} - 1", 0)
    for version, value in enumerate(supplied, start=4):
        commit(connections[0], f"UPDATE dms.Document SET {column} = {value} WHERE DocumentId = {third}")
        assert sorted(stamps(connections[0], third)) == [3, version], value
        assert document_events(connections[0], third)[-1] == (version, "update")
    assert newest(journal) == 3 + len(supplied)
    assert (stamps(connections[0], first), stamps(connections[0], second)) == ((1, 1), (2, 2))


@pytest.mark.acceptance("17")
def test_a_new_document_keeps_no_supplied_stamp_and_no_supplied_time(journal: dj.Journal, connections) -> None:
    write(journal, document(STUDENT, "1"))
    values = ", ".join(f"(1, {stamp}, {-stamp}, '2001-01-01', '2001-01-01')" for stamp in (0, 1, -7, 900))
    commit(
        connections[0],
        "INSERT INTO dms.Document (ResourceKeyId, ContentVersion, IdentityVersion, ContentLastModifiedAt, IdentityLastModifiedAt)"
        f" VALUES {values}",
    )
    rows = commit(connections[0], "SELECT ContentVersion, IdentityVersion FROM dms.Document ORDER BY DocumentId")
    assert rows == [(version, version) for version in range(1, 6)]
    old = commit(
        connections[0],
        "SELECT DocumentId FROM dms.Document WHERE ContentLastModifiedAt < '2002-01-01' OR IdentityLastModifiedAt < '2002-01-01'",
    )
    assert old == []
    assert unjournaled(connections[0]) == []
    assert newest(journal) == 5


@pytest.mark.acceptance("17")
def test_a_stamp_from_another_transaction_is_replaced(journal: dj.Journal, connections) -> None:
    first, second = connections
    one, two = write(journal, document(STUDENT, "1"), document(STUDENT, "2"))
    with first.begin():
        first.exec_driver_sql(f"UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = {one}")
        foreign = max(first.exec_driver_sql(f"SELECT ContentVersion FROM dms.Document WHERE DocumentId = {one}").one())
        commit(second, f"UPDATE dms.Document SET ContentVersion = {foreign} WHERE DocumentId = {two}")
    assert foreign == 3
    assert stamps(second, two) == (4, 2)
    assert unjournaled(second) == []


@pytest.mark.acceptance("19b")
@pytest.mark.parametrize("change", ["DocumentId = DocumentId + 100", "ResourceKeyId = 2"])
def test_what_a_document_is_never_changes(journal: dj.Journal, connections, change: str) -> None:
    write(journal, document(STUDENT, "1"), document(SCHOOL, 1))
    before = drawn(connections[0])
    refused = r"cannot change its DocumentId|Cannot update identity column|can only be updated to DEFAULT"
    with pytest.raises(sa.exc.DBAPIError, match=refused):
        commit(connections[0], f"UPDATE dms.Document SET {change} WHERE ResourceKeyId = 1")
    assert drawn(connections[0]) == before
    assert list(journal.changes(STUDENT)) == [dj.Change(1, journal.change_page(STUDENT).items[0].document_uuid, 1)]


@pytest.mark.acceptance("19b")
def test_of_two_updates_by_one_transaction_the_later_is_live(journal: dj.Journal, connections) -> None:
    [student] = write(journal, document(STUDENT, "1"))
    writer = connections[0]
    with writer.begin():
        writer.exec_driver_sql(f"UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = {student}")
        writer.exec_driver_sql(f"UPDATE dms.Document SET IdentityVersion = 0 WHERE DocumentId = {student}")
        writer.exec_driver_sql(f"UPDATE dms.Document SET ContentVersion = ContentVersion WHERE DocumentId = {student}")
    assert document_events(writer, student) == [(1, "insert"), (2, "update"), (3, "update")]
    assert identity_events(writer, student) == [3]
    assert [change.change_version for change in journal.changes(STUDENT)] == [3]
    assert not list(journal.changes(STUDENT, dj.Window(1, 2)))


@pytest.mark.acceptance("20")
def test_rowcounts_are_the_callers_own(journal: dj.Journal, connections) -> None:
    write(journal, document(SCHOOL, 1), document(STUDENT, "1"))
    writer = connections[0]

    def count(statement: str) -> int:
        return writer.exec_driver_sql(statement).rowcount

    with writer.begin():
        assert count("INSERT INTO dms.Document (ResourceKeyId) VALUES (1), (2), (2)") == 3
        assert count("UPDATE dms.Document SET ContentVersion = 0") == 5
        assert count("UPDATE dms.Document SET ContentVersion = ContentVersion") == 5
        assert count(f"{EDGES} SELECT 2, DocumentId FROM dms.Document") == 5
        assert count("UPDATE dms.ReferenceEdge SET ParentDocumentId = 1 WHERE ChildDocumentId IN (1, 5)") == 2
        assert count("DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId = 1") == 2
        assert count("DELETE FROM dms.ReferenceEdge") == 3
        assert count("DELETE FROM dms.Document WHERE DocumentId > 1") == 4
        assert count("DELETE FROM dms.Document WHERE DocumentId > 1") == 0


@pytest.mark.acceptance("21")
def test_a_statement_that_touches_no_row_does_nothing(journal: dj.Journal, connections) -> None:
    write(journal, document(SCHOOL, 1), document(PLAN, 1, document(SCHOOL, 1)))
    writer, other = connections
    for statement in (
        "UPDATE dms.Document SET ContentVersion = 0, IdentityVersion = 0 WHERE DocumentId < 0",
        "DELETE FROM dms.Document WHERE DocumentId < 0",
        "INSERT INTO dms.Document (ResourceKeyId) SELECT 1 WHERE 1 = 0",
        "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) SELECT 1, 1 WHERE 1 = 0",
        "UPDATE dms.ReferenceEdge SET ChildDocumentId = 3 WHERE ParentDocumentId < 0",
        "DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId < 0",
    ):
        before = newest(journal)
        with writer.begin():
            writer.exec_driver_sql(statement)
            change_content(other, 1)
            assert drawn(other) == before + 1, statement
            if not statement.startswith("INSERT INTO dms.Document"):  # whose statement enters before it knows
                assert newest(journal) == before + 1, statement  # the writer holds nothing
    assert document_events(writer, 2) == [(2, "insert")]


@pytest.mark.acceptance("21")
def test_stamping_a_parent_stamps_nobody_elses_parent(journal: dj.Journal, connections) -> None:
    a, b, c = write(journal, *(document(SCHOOL, number) for number in range(3)))
    add_edge(connections[0], a, b)
    add_edge(connections[0], b, c)  # stamps b, whose parent is a
    assert [stamps(connections[0], document_id) for document_id in (a, b, c)] == [(4, 1), (5, 2), (3, 3)]
    assert drawn(connections[0]) == 5


@pytest.mark.acceptance("15", "20")
def test_a_statement_that_fails_leaves_nothing(journal: dj.Journal, connections) -> None:
    ids = write(journal, document(SCHOOL, 1), document(PLAN, 1, document(SCHOOL, 1)))
    with pytest.raises(sa.exc.IntegrityError):
        commit(connections[0], f"DELETE FROM dms.Document WHERE DocumentId IN {listed(ids[:1])}")
    with pytest.raises(sa.exc.IntegrityError):
        commit(connections[0], "INSERT INTO dms.Document (ResourceKeyId) VALUES (1), (99)")
    assert commit(connections[0], "SELECT count(*) FROM dms.DocumentDeleteEvent") == [(0,)]
    assert commit(connections[0], "SELECT count(*) FROM dms.DocumentChangeEvent") == [(2,)]
    assert newest(journal) == drawn(connections[0])  # nobody holds it
