"""A document and those that refer to it can go together, whatever the order of the rows."""

import psycopg
import pytest

import dmsjournal as dj
from tests.helpers import PLAN, STUDENT, document, in_psycopg, write


@pytest.mark.acceptance("28")
def test_documents_that_refer_to_each_other_can_be_deleted_together(journal: dj.Journal, url: str) -> None:
    student = document(STUDENT, "1")
    write(journal, student, document(PLAN, 1, student))
    with psycopg.connect(in_psycopg(url)) as session:
        with pytest.raises(psycopg.errors.ForeignKeyViolation), session.transaction():
            session.execute("DELETE FROM dms.Document")  # the student's row comes first
        with session.transaction():
            session.execute("SET CONSTRAINTS dms.FK_ReferenceEdge_Referenced DEFERRED")
            session.execute("DELETE FROM dms.Document")
    assert len(list(journal.deletes(STUDENT))) == len(list(journal.deletes(PLAN))) == 1
