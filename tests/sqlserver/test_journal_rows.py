"""The journals as record batches through mssql-python: every event once, in order, whatever the batch."""

from unittest import mock

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.mssql.mssqlpython import MSDialect_mssqlpython

import dmsjournal as dj
from dmsjournal.events.arrow import read_journal
from dmsjournal.events.arrow.reader import JOURNAL_SCHEMA
from tests.helpers import STUDENT, commit, document, write

pytest.importorskip("mssql_python")

EVENTS = """
    SELECT ChangeVersion, DocumentId, Operation FROM dms.DocumentChangeEvent
    UNION ALL SELECT ChangeVersion, DocumentId, 'delete' FROM dms.DocumentDeleteEvent ORDER BY 1, 2"""


@pytest.mark.parametrize("size", [1, 5, 50_000])
def test_every_event_is_read_once_in_order(url: str, journal: dj.Journal, connections: list[sa.Connection], size: int) -> None:
    write(journal, *(document(STUDENT, f"😀{n}") for n in range(6)))
    with journal.write() as tx:
        tx.delete(STUDENT, {"studentId": "😀3"})
    expected = [tuple(row) for row in commit(connections[0], EVENTS)]
    [tombstone] = journal.deletes(STUDENT)
    address = sa.make_url(url)
    kept = {name: value for name, value in address.query.items() if name.lower() != "driver"}
    with mock.patch.object(MSDialect_mssqlpython, "_get_server_version_info", return_value=(15, 0)):  # a stand-in names another
        batches = list(read_journal(address.set(drivername="mssql+mssqlpython", query=kept), batch_rows=size))
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert [(row["change_version"], row["document_id"], row["operation"]) for row in rows] == expected
    assert {batch.schema for batch in batches} == {JOURNAL_SCHEMA}
    assert all(1 <= batch.num_rows <= size for batch in batches)
    assert (rows[-1]["document_uuid"], rows[-1]["key_values"]) == (str(tombstone.document_uuid), '{"studentId":"😀3"}')
    assert rows[-1]["created_at"] == tombstone.deleted_at
