"""Deletes and key changes (acceptance 43 to 48)."""

from uuid import UUID

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from tests.helpers import (
    EVERYTHING,
    PLAN,
    SCHOOL,
    STUDENT,
    change_content,
    change_identity,
    commit,
    document,
    listed,
    newest,
    stamps,
    write,
)

UUID_OF_ADA = UUID("00000000-0000-4000-8000-00000000ada0")


def rekey(journal: dj.Journal, old: object, new: object) -> None:
    with journal.write() as tx:
        assert tx.rekey(STUDENT, {"studentId": old}, {"studentId": new}) == 1


def delete(journal: dj.Journal, key: object) -> None:
    with journal.write() as tx:
        assert tx.delete(STUDENT, {"studentId": key})


@pytest.mark.acceptance("43")
@pytest.mark.parametrize("by", ["api", "sql"])
def test_a_delete_leaves_one_tombstone_above_every_stamp(journal: dj.Journal, connections, by: str) -> None:
    [student] = write(journal, document(STUDENT, "A"))
    rekey(journal, "A", "Ñandú")
    change_content(connections[0], student)
    change_identity(connections[0], student)
    last = max(stamps(connections[0], student))
    uuid = journal.change_page(STUDENT).items[0].document_uuid
    if by == "api":
        delete(journal, "Ñandú")
    else:
        commit(connections[0], "DELETE FROM dms.Document")
    [tombstone] = journal.deletes(STUDENT)
    assert (tombstone.document_id, tombstone.document_uuid, tombstone.key_values) == (student, uuid, {"studentId": "Ñandú"})
    assert tombstone.change_version == last + 1 == newest(journal)
    assert tombstone.deleted_at.tzinfo is not None
    assert not list(journal.changes(STUDENT))
    assert journal.derive([student]) == {}
    assert list(journal.deletes(STUDENT, dj.Window(last + 1, last + 1))) == [tombstone]
    assert not list(journal.deletes(STUDENT, dj.Window(1, last)))


@pytest.mark.acceptance("43")
def test_a_document_that_is_written_and_deleted_by_one_transaction_leaves_a_tombstone(journal: dj.Journal, connections) -> None:
    names = "(ProjectName, ResourceName, ResourceVersion) VALUES ('Ed-Fi', 'Student', '5.2.0')"
    with connections[0].begin():
        connections[0].exec_driver_sql(f"INSERT INTO dms.ResourceKey {names}")
        connections[0].exec_driver_sql("INSERT INTO dms.Document (ResourceKeyId) VALUES (1), (1)")
        connections[0].exec_driver_sql("UPDATE dms.Document SET ContentVersion = 0")
        connections[0].exec_driver_sql("DELETE FROM dms.Document")
    tombstones = list(journal.deletes(STUDENT))
    assert [tombstone.change_version for tombstone in tombstones] == [5, 6]
    assert [tombstone.key_values for tombstone in tombstones] == [None, None]
    assert not list(journal.changes(STUDENT))


@pytest.mark.acceptance("43")
def test_deleting_what_is_not_there_is_false(journal: dj.Journal) -> None:
    write(journal, document(STUDENT, "1"))
    with journal.write() as tx:
        assert not tx.delete(STUDENT, {"studentId": "2"})
    assert newest(journal) == 1


@pytest.mark.acceptance("44")
def test_a_key_that_lives_again_has_a_tombstone_and_a_change_of_two_lifetimes(journal: dj.Journal) -> None:
    wished = dj.Document(STUDENT, {"studentId": "1"}, document_uuid=UUID_OF_ADA)
    with journal.write() as tx:
        first = tx.upsert(wished)
    delete(journal, "1")
    with journal.write() as tx:
        second = tx.upsert(wished)
    assert first.document_uuid == UUID_OF_ADA
    assert (second.outcome, second.document_uuid != first.document_uuid) == ("created", True)
    for window in (EVERYTHING, dj.Window(2, 3)):
        [tombstone] = journal.deletes(STUDENT, window)
        [change] = journal.changes(STUDENT, window)
        assert (tombstone.change_version, tombstone.document_uuid) == (2, first.document_uuid)
        assert (change.change_version, change.document_uuid) == (3, second.document_uuid)
    delete(journal, "1")
    assert [tombstone.document_uuid for tombstone in journal.deletes(STUDENT)] == [first.document_uuid, second.document_uuid]


@pytest.mark.acceptance("44")
def test_a_key_that_lives_again_in_the_same_transaction_has_another_uuid(journal: dj.Journal) -> None:
    [first] = write(journal, dj.Document(STUDENT, {"studentId": "1"}, document_uuid=UUID_OF_ADA))
    with journal.write() as tx:
        assert tx.delete(STUDENT, document_uuid=UUID_OF_ADA)
        second = tx.upsert(dj.Document(STUDENT, {"studentId": "1"}, document_uuid=UUID_OF_ADA))
    assert second.document_id != first
    assert second.document_uuid != UUID_OF_ADA
    assert [tombstone.document_id for tombstone in journal.deletes(STUDENT)] == [first]


@pytest.mark.acceptance("45")
def test_a_statement_that_deletes_many_leaves_a_tombstone_each(journal: dj.Journal, connections) -> None:
    ids = write(journal, document(STUDENT, 0), *(document(PLAN, n, document(STUDENT, 0)) for n in range(30)))
    commit(connections[0], f"DELETE FROM dms.Document WHERE DocumentId IN {listed(ids[1:])}")
    tombstones = list(journal.deletes(PLAN, page_size=7))
    assert [tombstone.change_version for tombstone in tombstones] == [*range(32, 62)]
    assert sorted(tombstone.document_id for tombstone in tombstones) == sorted(ids[1:])
    assert commit(connections[0], "SELECT count(*) FROM dms.ReferenceEdge") == [(0,)]


@pytest.mark.acceptance("45")
def test_documents_that_a_cascade_deletes_leave_a_tombstone_each(journal: dj.Journal, connections) -> None:
    ids = write(journal, *(document(STUDENT, n, body={"n": n}) for n in range(5)), document(SCHOOL, 1))
    commit(connections[0], "ALTER TABLE dms.Document DROP CONSTRAINT FK_Document_ResourceKey")
    commit(
        connections[0],
        "ALTER TABLE dms.Document ADD CONSTRAINT Cascading FOREIGN KEY (ResourceKeyId)"
        " REFERENCES dms.ResourceKey (ResourceKeyId) ON DELETE CASCADE",
    )
    commit(connections[0], f"DELETE FROM dms.ResourceKey WHERE ResourceKeyId = {journal.resources()[STUDENT]}")
    rows = commit(connections[0], "SELECT DocumentId, ChangeVersion FROM dms.DocumentDeleteEvent ORDER BY ChangeVersion")
    assert sorted(document_id for document_id, _ in rows) == ids[:5]
    assert [version for _, version in rows] == [*range(7, 12)]
    assert newest(journal) == 11


@pytest.mark.acceptance("45")
def test_deleting_a_parent_moves_none_of_its_children(journal: dj.Journal, connections) -> None:
    student = document(STUDENT, 1)
    student_id, plan_id = write(journal, student, document(PLAN, 1, student))
    commit(connections[0], f"DELETE FROM dms.Document WHERE DocumentId = {plan_id}")
    assert stamps(connections[0], student_id) == (1, 1)
    assert newest(journal) == 3


@pytest.mark.acceptance("46")
def test_key_changes_of_a_window_are_one_from_first_to_last(journal: dj.Journal) -> None:
    [student] = write(journal, document(STUDENT, "A"))
    rekey(journal, "A", "B")
    rekey(journal, "B", "C")
    uuid = journal.change_page(STUDENT).items[0].document_uuid

    def found(*bounds: int) -> list[tuple[int, dict, dict]]:
        changes = list(journal.key_changes(STUDENT, dj.Window(*bounds)))
        assert all((change.document_id, change.document_uuid) == (student, uuid) for change in changes)
        return [(c.change_version, c.old_key_values["studentId"], c.new_key_values["studentId"]) for c in changes]

    assert found() == found(1, 3) == found(2, 3) == [(3, "A", "C")]
    assert found(1, 2) == [(2, "A", "B")]
    assert found(3, 3) == [(3, "B", "C")]
    assert found(1, 1) == found(4, 9) == []


@pytest.mark.acceptance("46")
def test_a_key_that_comes_back_is_no_key_change(journal: dj.Journal) -> None:
    write(journal, document(STUDENT, "A"))
    rekey(journal, "A", "B")
    rekey(journal, "B", "A")
    assert not list(journal.key_changes(STUDENT))
    assert [change.change_version for change in journal.key_changes(STUDENT, dj.Window(3, 3))] == [3]
    assert [change.change_version for change in journal.key_changes(STUDENT, dj.Window(2, 2))] == [2]


@pytest.mark.acceptance("46")
def test_an_identity_stamp_without_new_key_values_is_no_key_change(journal: dj.Journal, connections) -> None:
    [student] = write(journal, document(STUDENT, "A"))
    change_identity(connections[0], student)
    assert not list(journal.key_changes(STUDENT))


@pytest.mark.acceptance("47")
def test_a_key_change_and_a_delete_of_one_window_are_both_listed(journal: dj.Journal) -> None:
    [student] = write(journal, document(STUDENT, "A"))
    rekey(journal, "A", "B")
    delete(journal, "B")
    window = dj.Window(2, 3)
    [key_change], [tombstone] = journal.key_changes(STUDENT, window), journal.deletes(STUDENT, window)
    assert (key_change.document_id, key_change.change_version) == (student, 2)
    assert (key_change.old_key_values, key_change.new_key_values) == ({"studentId": "A"}, {"studentId": "B"})
    assert (tombstone.document_id, tombstone.change_version, tombstone.key_values) == (student, 3, {"studentId": "B"})
    assert not list(journal.changes(STUDENT, window))


TABLES = [
    "Document",
    "ReferenceEdge",
    "ResourceKey",
    "ResourceDependency",
    "DocumentChangeEvent",
    "IdentityChangeEvent",
    "DocumentDeleteEvent",
    "KeyChangeEvent",
    "JournalFloor",
    "ChangeConsumer",
]


@pytest.mark.acceptance("48")
@pytest.mark.parametrize("table", TABLES)
def test_truncating_what_holds_history_is_refused(journal: dj.Journal, connections, table: str) -> None:
    """dms.DocumentCache is left out: what it holds is no history, and its next writer notices."""
    student = document(STUDENT, "1")
    student_id, *_ = write(journal, student, document(PLAN, 1, student), document(SCHOOL, 1))
    rekey(journal, "1", "2")
    with pytest.raises(sa.exc.DBAPIError):
        commit(connections[0], f"TRUNCATE TABLE dms.{table}")
    assert [change.change_version for change in journal.changes(PLAN)] == [4]
    assert len(list(journal.key_changes(STUDENT))) == 1
    assert journal.derive([student_id])[student_id].change_version == 4
