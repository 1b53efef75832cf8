"""Rows of the journals straight into record batches: the driver makes the columns, and nothing is made of each row in Python."""

from __future__ import annotations

from collections.abc import Generator

import pyarrow as pa
import sqlalchemy as sa

from dmsjournal.database import sql
from dmsjournal.database.connect import engine_for, translated
from dmsjournal.database.floors import refuse_missing_parts
from dmsjournal.journal import Journal
from dmsjournal.model.windows import Cursor, Window, checked_size
from dmsjournal.read.pages import refuse_expired
from dmsjournal.util.iteration import raises_again

JOURNAL_SCHEMA = pa.schema(
    [
        pa.field("change_version", pa.int64()),
        pa.field("document_id", pa.int64()),
        pa.field("resource_key_id", pa.int16()),  # Journal.resources() names it
        pa.field("operation", pa.string()),  # insert, update or delete
        pa.field("transaction_id", pa.int64()),
        pa.field("created_at", pa.timestamp("us", tz="UTC")),
        pa.field("document_uuid", pa.string()),  # of a delete; of others the journal does not keep it
        pa.field("key_values", pa.string()),  # JSON, of a delete
    ]
)


@raises_again
def read_journal(url: str | sa.URL, window: Window | None = None, *, batch_rows: int = 50_000) -> Generator[pa.RecordBatch]:
    """The events of all resources in a window, tombstones among them, in (change_version, document_id) order, as JOURNAL_SCHEMA.

    Bounds: the window's ends are inclusive, its end is cut to the horizon of when the walk began. A batch has 1 to `batch_rows`
    rows (1 to 1,000,000), and one at a time is in memory. Raises CheckpointExpired also where events are pruned meanwhile,
    UnsupportedCapability where no driver gives Arrow: on SQL Server it is mssql-python, in a URL as mssql+mssqlpython://.
    """
    checked_size("batch_rows", batch_rows)
    window = window or Window()
    pool = engine_for(url)
    with Journal(pool) as journal:
        last = window.last(journal.versions().newest)
        engine = journal.database.engine
    statement = sql.query(engine.NAME, "events/journal_rows")
    at = Cursor.before(window.first)
    with translated(), engine.arrow_source(pool) as rows, Journal(pool) as journal:
        while True:
            binds = {"after_version": at.change_version, "after_id": at.document_id, "max_version": last, "page_size": batch_rows}
            page = rows(statement, binds)
            refuse_expired(window, page["floor"][0].as_py())
            batch = _batch(page)
            reached = last if batch.num_rows < batch_rows else batch["change_version"][-1].as_py()
            with journal.database.session() as session:
                refuse_missing_parts(session, at.change_version, reached, "DocumentChangeEvent", "DocumentDeleteEvent")
            if batch.num_rows:
                yield batch
            if batch.num_rows < batch_rows:
                return
            at = Cursor(batch["change_version"][-1].as_py(), batch["document_id"][-1].as_py())


def _batch(page: pa.Table) -> pa.RecordBatch:
    """A page as one batch. The one row of an empty page is there for the floor alone."""
    if page.num_rows == 1 and page["change_version"][0].as_py() is None:
        page = page.slice(0, 0)
    # Unsafe: SQL Server has a tenth of a microsecond more than Python, which is cut off as its drivers do.
    chunks = page.select(JOURNAL_SCHEMA.names).cast(JOURNAL_SCHEMA, safe=False).combine_chunks().to_batches()
    return chunks[0] if chunks else pa.RecordBatch.from_pylist([], JOURNAL_SCHEMA)
