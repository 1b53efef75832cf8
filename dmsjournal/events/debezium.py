"""CDC events as Debezium's envelope, for what reads Debezium's topics: op, before, after, source, ts_ms.

Debezium has null both for no document and for an image that is not known. Its envelope says neither who caused the change nor what
else changed with it: of the CDC event's source, entity, operation, cascade and metadata only what DebeziumSource has is kept.
`source.event_id` tells repetitions apart, `source.sequence` orders, `source.entity_id` is the document's, as in the message's key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from dmsjournal.events.cdc.conversion import INDIRECT
from dmsjournal.events.cdc.models import CdcEvent, FieldChange
from dmsjournal.events.differences import differences
from dmsjournal.events.models import EventModel, Int64, Json
from dmsjournal.util.times import microseconds

Op = Literal["c", "u", "d", "r"]
_OPS: Mapping[str, Op] = {"CREATE": "c", "UPDATE": "u", "DELETE": "d"}


class DebeziumSource(EventModel):
    """Where and when the change was made. `schema` and `table` are the project's and the resource's names.

    `key_changes` is there where the event changed the document's key: by path, what `before` and `after` do not show.
    `indirect_of` is there in an indirect change: the id of the event that it comes from.
    """

    version: str
    connector: str
    name: str
    ts_ms: Int64
    ts_us: Int64
    snapshot: Literal["true", "false"]
    db: str | None
    schema_name: str = Field(alias="schema")
    table: str
    tx_id: str | None = Field(alias="txId")
    sequence: Int64
    event_id: str
    entity_id: str
    key_changes: dict[str, FieldChange] | None = None
    indirect_of: str | None = None


class DebeziumEvent(EventModel):
    """A change: `op` is c, u, d, or r of a snapshot; times are milliseconds and microseconds since 1970 in UTC."""

    before: Json
    after: Json
    source: DebeziumSource
    op: Op
    ts_ms: Int64
    ts_us: Int64

    @classmethod
    def of(cls, event: CdcEvent) -> DebeziumEvent:
        """The envelope of a CDC event."""
        at = microseconds(event.timestamp)
        times: dict[str, Any] = {"ts_ms": at // 1000, "ts_us": at}
        source = DebeziumSource(
            version=event.schema_version,
            connector=event.source.database,
            name=event.source.instance,
            snapshot="false",
            db=event.source.database_name,
            schema=event.schema_name,
            table=event.entity.entity_type,
            txId=event.source.transaction_id,
            sequence=event.sequence_number,
            event_id=event.event_id,
            entity_id=str(event.entity.entity_id),
            **_key_changes(event),
            **_indirect_of(event),
            **times,
        )
        operation = event.operation
        return cls(before=operation.before, after=operation.after, source=source, op=_OPS[operation.type], **times)


def _key_changes(event: CdcEvent) -> dict[str, Any]:
    """The changed fields that are not the body's."""
    operation = event.operation
    body = set()
    if operation.before is not None and operation.after is not None:
        body = {change.path for change in differences(operation.before, operation.after)}
    found = {path: change for path, change in (operation.changed_field_values or {}).items() if path not in body}
    return {"key_changes": found} if found else {}


def _indirect_of(event: CdcEvent) -> dict[str, Any]:
    found = (event.metadata.custom_fields or {}).get(INDIRECT)
    return {INDIRECT: found} if isinstance(found, str) else {}


def key(event: CdcEvent) -> dict[str, str]:
    """The key of the event's message: events of one document have one key, so that a topic keeps their order."""
    return {"entity_type": event.entity.entity_type, "entity_id": str(event.entity.entity_id)}
