"""A write block that passes over an error keeps nothing, and says so; inside it, errors are ours."""

from enum import Enum

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from tests.helpers import PLAN, STUDENT, document, write


def test_a_block_that_passes_over_an_error_is_not_taken_for_committed(journal: dj.Journal) -> None:
    with pytest.raises(dj.Unavailable), journal.write() as tx:  # noqa: PT012
        tx.upsert(document(STUDENT, "1"))
        with pytest.raises(sa.exc.DBAPIError):  # the server refuses it, which ends the transaction
            tx._session.execute("write/lock_documents", document_ids=["no number"])
    with pytest.raises(dj.InvalidRequest):  # nobody has written a student
        journal.changes(STUDENT)


def test_an_error_inside_the_block_is_one_of_ours(journal: dj.Journal, url: str) -> None:
    write(journal, document(STUDENT, "1"))
    engine = sa.create_engine(url)
    with pytest.raises(dj.JournalError), journal.write() as tx:  # noqa: PT012
        pid = tx._session.conn.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
        with engine.connect() as conn:
            conn.execute(sa.text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": pid})
        for _ in range(2):
            with pytest.raises(dj.Unavailable):
                tx.upsert(document(STUDENT, "2"))
    engine.dispose()
    write(journal, document(STUDENT, "3"))  # the next block has another connection


def test_a_text_that_is_an_enum_is_the_same_key(journal: dj.Journal) -> None:
    class Key(str, Enum):  # noqa: UP042  # what programs have
        A = "a"

    assert dj.Document(STUDENT, {"k": Key.A}).key == dj.Document(STUDENT, {"k": "a"}).key
    assert repr(dj.Document(STUDENT, {"k": Key.A}).key) == repr(dj.Document(STUDENT, {"k": "a"}).key)  # its creation lock


def test_a_key_that_differs_in_kind_alone_is_another_key(journal: dj.Journal) -> None:
    write(journal, dj.Document(PLAN, {"k": 1}))
    with journal.write() as tx:
        assert tx.rekey(PLAN, {"k": 1}, {"k": True}) == 1
    (change,) = journal.key_changes(PLAN)
    assert change.new_key_values == {"k": True}
