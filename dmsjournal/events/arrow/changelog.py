"""Change logs, as stream processors write them: an update is two records, what was and what is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

import pyarrow as pa

from dmsjournal.events.arrow.models import ChangeEvent, ChangeEventBatch, Delete, Update


class ChangelogOperation(Enum):
    """What a record says of its rows."""

    INSERT = "+I"
    UPDATE_BEFORE = "-U"
    UPDATE_AFTER = "+U"
    DELETE = "-D"


@dataclass(frozen=True)
class ChangelogRecord:
    """Rows of one operation. The two records of an update follow each other and have one sequence."""

    operation: ChangelogOperation
    data: pa.RecordBatch
    timestamp: int
    sequence: int


def from_changelog(records: Iterable[ChangelogRecord], source: str) -> ChangeEventBatch:
    """The records as change events: UPDATE_BEFORE and its UPDATE_AFTER are one update.

    One that is alone counts as it did: what was, a delete; what is, an insert. Weights are those of the log in any case.
    """
    events: list[ChangeEvent] = []
    before: ChangelogRecord | None = None
    for record in records:
        if before is not None and _is_pair(before, record):
            events.append(Update(before.data, record.data, record.timestamp, record.sequence))
            before = None
            continue
        if before is not None:
            events.append(ChangeEvent.from_changelog_record(before))
        before = record if record.operation is ChangelogOperation.UPDATE_BEFORE else None
        if before is None:
            events.append(ChangeEvent.from_changelog_record(record))
    if before is not None:
        events.append(ChangeEvent.from_changelog_record(before))
    return ChangeEventBatch.of(source, events)


def to_changelog(batch: ChangeEventBatch) -> Iterator[ChangelogRecord]:
    """The events as records. A snapshot's rows are inserts at the sequence before it, or the batch's start; a watermark is none."""
    sequence = batch.start
    for event in batch:
        sequence = sequence if event.sequence is None else event.sequence
        if isinstance(event, Update):
            yield ChangelogRecord(ChangelogOperation.UPDATE_BEFORE, event.old, event.timestamp, sequence)
            yield ChangelogRecord(ChangelogOperation.UPDATE_AFTER, event.new, event.timestamp, sequence)
        elif event.has_data:
            operation = ChangelogOperation.DELETE if isinstance(event, Delete) else ChangelogOperation.INSERT
            yield ChangelogRecord(operation, event.parts[0], event.timestamp, sequence)


def _is_pair(before: ChangelogRecord, after: ChangelogRecord) -> bool:
    return (
        after.operation is ChangelogOperation.UPDATE_AFTER
        and after.sequence == before.sequence
        and after.data.num_rows == before.data.num_rows
    )
