"""What other programs write, and callers who use things as they were not meant: clear errors, and readers that go on."""

import os
from decimal import Decimal

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from tests.helpers import PLAN, STUDENT, commit, document, refer, write

Connections = list[sa.Connection]


@pytest.mark.acceptance("43")
def test_a_walk_of_deletes_passes_key_values_that_are_huge(journal: dj.Journal, connections: Connections) -> None:
    ids = write(journal, document(STUDENT, 1), document(STUDENT, 2))
    huge = "1" + "0" * 5000
    commit(connections[0], f"UPDATE dms.Document SET KeyValues = '{{\"k\": {huge}}}' WHERE DocumentId = {ids[0]}")
    assert journal.documents([ids[0]])[ids[0]].key_values == {"k": Decimal(huge)}
    commit(connections[0], "DELETE FROM dms.Document")
    assert sorted([delete.document_id for delete in journal.deletes(STUDENT)]) == ids


@pytest.mark.acceptance("28", "30")
@pytest.mark.parametrize("written", ["[1, 2]", "[]", '{"x": [1]}', "null", "5", '"x"', "true"])
def test_a_parent_whose_key_is_no_object_can_be_followed_and_named(
    journal: dj.Journal, connections: Connections, written: str
) -> None:
    student = document(STUDENT, 1)
    plan = dj.Document(PLAN, {"planId": 1}, references=[refer(student, identity_component=True)])
    _, parent = write(journal, student, plan)
    rewrite = f"UPDATE dms.Document SET KeyValues = '{written}' WHERE DocumentId = {parent}"
    if connections[0].dialect.name == "mssql" and written[0] not in "[{":
        with pytest.raises(sa.exc.IntegrityError, match=r"(?i)CK_Document_KeyValues"):  # its ISJSON takes objects and arrays
            commit(connections[0], rewrite)
        return
    commit(connections[0], rewrite)
    kept, changed = journal.documents([parent])[parent].key_values, list(journal.key_changes(PLAN))
    with pytest.raises(dj.ReferencedDocument, match=f"document {parent}"), journal.write() as tx:
        tx.delete(STUDENT, student.key_values)
    with journal.write() as tx:
        assert tx.rekey(STUDENT, student.key_values, {"studentId": 2}) == 2
    assert journal.documents([parent])[parent].key_values == kept
    assert list(journal.key_changes(PLAN)) == changed  # its key did not change again, whatever it is


def test_who_writes_while_documents_are_rejected_is_told_to_wait(journal: dj.Journal) -> None:
    student = document(STUDENT, 1)
    with pytest.raises(dj.InvalidRequest, match="write afterwards"), journal.write() as tx:
        tx.upsert_many([document(PLAN, 1, student), student], rejected=lambda position, error: tx.upsert(student))  # type: ignore[arg-type]
    assert journal.versions().newest == 0


def test_a_transaction_that_is_over_says_so(journal: dj.Journal) -> None:
    with journal.write() as tx:
        tx.upsert(document(STUDENT, 1))
    with pytest.raises(dj.InvalidRequest, match="open another one"):
        tx.upsert(document(STUDENT, 2))


@pytest.mark.parametrize("wrong", [5, None, "12"])
def test_ids_that_are_no_list_are_refused(journal: dj.Journal, wrong: object) -> None:
    for read in (journal.derive, journal.documents):
        with pytest.raises(dj.InvalidRequest, match="document_ids"):
            read(wrong)  # type: ignore[operator]


def test_one_document_is_no_list_of_documents(journal: dj.Journal) -> None:
    with pytest.raises(dj.InvalidRequest, match="upsert writes one"), journal.write() as tx:
        tx.upsert_many(document(STUDENT, 1))  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_process_does_not_read_from_its_parents_connections(journal: dj.Journal) -> None:
    write(journal, document(STUDENT, 1))
    child = os.fork()
    if child == 0:
        os._exit(0 if [journal.versions().newest for _ in range(20)] == [1] * 20 else 1)
    assert [journal.versions().newest for _ in range(20)] == [1] * 20
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
