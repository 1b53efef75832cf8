"""Rows into Arrow, a column at a time beside row by row: from the journal's tables, and from events of the feed in memory."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from time import perf_counter
from uuid import UUID

import pyarrow as pa

import dmsjournal as dj
from benchmarks import database, prune
from benchmarks.facts import Facts, facts
from benchmarks.report import Table
from dmsjournal.database import sql
from dmsjournal.events import arrow, shapes
from dmsjournal.events.arrow.reader import JOURNAL_SCHEMA
from dmsjournal.events.encoding import encoder
from dmsjournal.events.jsonl import FeedRecord, Key, StateRecord
from dmsjournal.model.windows import Cursor
from dmsjournal.schema import migrate

encode = encoder(in_order=True)

BATCH = 50_000  # rows, both ways


@dataclass(frozen=True)
class Options:
    """Units: events of the journal, and as many in memory."""

    events: int
    repeat: int
    command: str


def measure(url: str, options: Options) -> tuple[list[Table], Facts]:
    """The table, seconds a row; raises AssertionError where both ways do not give the same rows."""
    table = Table("into Arrow, a row", ("row by row", "by column"), (("row by row", "by column"),))
    migrate.upgrade(url)
    prune.build(url, options.events)
    journal: dict[str, Callable[[], list[pa.RecordBatch]]] = {
        "row by row": lambda: list(_journal_rows(url)),
        "by column": lambda: list(arrow.read_journal(url, batch_rows=BATCH)),
    }
    _compare(table, f"{options.events:,} events of the journal", journal, options)
    page = [_event(number) for number in range(1, options.events + 1)]
    feed: dict[str, Callable[[], list[pa.RecordBatch]]] = {
        "row by row": lambda: _feed_rows(page),
        "by column": lambda: [part for event in arrow.from_feed(page, "students") for part in event.parts],
    }
    _compare(table, f"{options.events:,} events of the feed", feed, options)
    with database.connect(url) as connection:
        return [table], facts(connection)


def _compare(table: Table, measured: str, ways: dict[str, Callable[[], list[pa.RecordBatch]]], options: Options) -> None:
    for repetition in range(options.repeat + 1):
        found = {}
        for way, read in ways.items():
            began = perf_counter()
            found[way] = read()
            if repetition > 0:  # the first warms the caches
                table.row(measured, options.command).add(way, (perf_counter() - began) / options.events)
        assert sum(batch.num_rows for batch in found["by column"]) >= options.events  # an update has two
        assert found["row by row"] == found["by column"]


def _journal_rows(url: str) -> Iterator[pa.RecordBatch]:
    """What read_journal gives, by way of a dictionary a row."""
    with dj.connect(url) as journal:
        newest = journal.versions().newest
    statement = sql.query("postgres", "events/journal_rows")
    at = Cursor.before(0)
    with database.connect(url) as connection:
        while True:
            binds = {"after_version": at.change_version, "after_id": at.document_id, "max_version": newest, "page_size": BATCH}
            page = [row._asdict() for row in connection.execute(statement, binds) if row.change_version is not None]
            if page:
                yield pa.RecordBatch.from_pylist(page, JOURNAL_SCHEMA)
            if len(page) < BATCH:
                return
            at = Cursor(page[-1]["change_version"], page[-1]["document_id"])


def _feed_rows(page: list[FeedRecord]) -> list[pa.RecordBatch]:
    """What from_feed gives, by way of a dictionary a row."""
    batches = []
    for operation, run in groupby(page, key=shapes.operation_of):
        events = list(run)
        if operation != "CREATE":
            batches.append(pa.RecordBatch.from_pylist([_row(event, 0) for event in events], arrow.SCHEMA))
        batches.append(pa.RecordBatch.from_pylist([_row(event, 1) for event in events], arrow.SCHEMA))
    return batches


def _row(event: FeedRecord, side: int) -> dict[str, object]:
    state = shapes.images_of(event)[side]
    return {
        "event_id": event.event_id.bytes,
        "change_version": event.change_version,
        "document_id": event.key.document_id,
        "document_uuid": event.key.document_uuid.bytes if event.key.document_uuid else None,
        "project_name": event.resource.project_name,
        "resource_name": event.resource.resource_name,
        "resource_version": event.resource.resource_version,
        "timestamp": event.timestamp,
        "transaction_id": event.transaction_id,
        "key_values": encode(event.key.key_values).decode(),
        "state": None if state is None else encode(state).decode(),
    }


def _event(number: int) -> FeedRecord:
    """Each tenth is an insert, so a run is nine updates."""
    body = {"studentUniqueId": str(number), "firstName": "Ada", "grade": number % 12}
    is_new = number % 10 == 0
    return FeedRecord(
        event_id=UUID(int=number),
        key=Key(UUID(int=number), {"studentUniqueId": str(number)}, number),
        resource=dj.ResourceKey("Ed-Fi", "Student", "5.2.0"),
        type="CREATE" if is_new else "UPDATE",
        timestamp=datetime(2026, 1, 11, tzinfo=UTC),
        change_version=number,
        item_state=StateRecord(None if is_new else body, body),
        transaction_id=number,
    )
