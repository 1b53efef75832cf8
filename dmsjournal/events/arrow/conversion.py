"""Events of the feed and CDC events as change events.

A page is converted a column at a time. Events of one operation that follow each other become one, whose rows are a slice of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dmsjournal.events import shapes
from dmsjournal.events.arrow.models import ChangeEvent, ChangeEventBatch, Delete, Insert, Update
from dmsjournal.events.encoding import encoder
from dmsjournal.events.shapes import FeedEventLike, Operation
from dmsjournal.util.times import microseconds

if TYPE_CHECKING:
    from dmsjournal.events.cdc import CdcEvent

SCHEMA = pa.schema(
    [
        pa.field("event_id", pa.binary(16), nullable=False),
        pa.field("change_version", pa.int64(), nullable=False),
        pa.field("document_id", pa.int64()),
        pa.field("document_uuid", pa.binary(16)),
        pa.field("project_name", pa.string(), nullable=False),
        pa.field("resource_name", pa.string(), nullable=False),
        pa.field("resource_version", pa.string(), nullable=False),
        pa.field("timestamp", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("transaction_id", pa.int64()),
        pa.field("key_values", pa.string()),  # JSON, as is the state: names in order; null where it is not known
        pa.field("state", pa.string()),
    ]
)

_Row = tuple[Any, ...]
_Rows = list[tuple[Operation, _Row, tuple[Any, Any], tuple[Any, Any]]]  # the first columns; the last two before, and after
_VERSION, _TIMESTAMP = SCHEMA.get_field_index("change_version"), SCHEMA.get_field_index("timestamp")


def from_feed(events: Iterable[FeedEventLike], source: str) -> ChangeEventBatch:
    """The events of a page of the feed, of SCHEMA: a row is a document, its key and its `state` before (old, deleted) or after
    (new, inserted).

    The batch covers from the first event's version to the last one's. Raises InvalidRequest. Portability: so does a change_version
    of more than 64 bits, as DynamoDB's streams have.
    """
    return _batch([_feed_row(event) for event in events], source)


def from_cdc(events: Iterable[CdcEvent], source: str) -> ChangeEventBatch:
    """CDC events, of the same schema; they have neither document_id nor key_values, which are null."""
    return _batch([_cdc_row(event) for event in events], source)


def documents_of(events: Sequence[FeedEventLike]) -> pa.RecordBatch:
    """One row of SCHEMA an event, in their order: its document after it. The events may be of any order and operation."""
    return _images([_feed_row(event) for event in events])[1]


def _feed_row(event: FeedEventLike) -> tuple[Operation, _Row, tuple[Any, Any], tuple[Any, Any]]:
    key, resource = event.key, event.resource
    row = (
        event.event_id.bytes,
        shapes.version_of(event),
        key.document_id,
        None if key.document_uuid is None else key.document_uuid.bytes,
        resource.project_name,
        resource.resource_name,
        resource.resource_version,
        event.timestamp,
        event.transaction_id,
    )
    now, old = _json(shapes.key_of(event)), shapes.old_key_of(event)
    before, after = shapes.images_of(event)
    return shapes.operation_of(event), row, (now if old is None else _json(old), _json(before)), (now, _json(after))


def _cdc_row(event: CdcEvent) -> tuple[Operation, _Row, tuple[Any, Any], tuple[Any, Any]]:
    operation, transaction = event.operation, event.source.transaction_id
    row = (
        event.uuid.bytes,
        event.sequence_number,
        None,
        event.entity.entity_id.bytes,
        event.schema_name,
        event.entity.entity_type,
        event.schema_version,
        event.timestamp,
        int(transaction) if transaction is not None and _is_int64(transaction) else None,
    )
    return operation.type, row, (None, _json(operation.before)), (None, _json(operation.after))


def _batch(rows: _Rows, source: str) -> ChangeEventBatch:
    if not rows:
        return ChangeEventBatch(source, (), 0, 0)
    versions, times = [row[_VERSION] for _, row, _, _ in rows], [row[_TIMESTAMP] for _, row, _, _ in rows]
    before, after = _images(rows)
    events: list[ChangeEvent] = []
    first = 0
    for operation, run in groupby(row[0] for row in rows):
        end = first + len(list(run))
        timestamp, sequence = microseconds(times[end - 1]), versions[end - 1]
        old, new = before.slice(first, end - first), after.slice(first, end - first)
        match operation:
            case "CREATE":
                events.append(Insert(new, timestamp, sequence))
            case "UPDATE":
                events.append(Update(old, new, timestamp, sequence))
            case "DELETE":
                events.append(Delete(old, timestamp, sequence))
        first = end
    return ChangeEventBatch(source, tuple(events), versions[0], versions[-1] + 1)


def _images(rows: _Rows) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """All rows with their keys and states before, and with those after: two batches that share every other column."""
    values = zip(*(row for _, row, _, _ in rows), strict=True)
    columns = [pa.array(column, field.type) for column, field in zip(values, SCHEMA, strict=False)]
    sides = [before for _, _, before, _ in rows], [after for *_, after in rows]
    last = ([pa.array(column, pa.string()) for column in zip(*side, strict=True)] for side in sides)
    old, new = (pa.RecordBatch.from_arrays([*columns, *side], schema=SCHEMA) for side in last)
    return old, new


def _json(value: Any) -> str | None:
    return None if value is None else _encode(value).decode("utf-8")


def _is_int64(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20 and int(text) < 2**63


_encode: Callable[[Any], bytes] = encoder(in_order=True)
