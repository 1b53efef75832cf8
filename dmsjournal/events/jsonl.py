"""Events of the feed as JSON lines: one object a line, all that the feed gives, exact.

Numbers that are not whole are read as Decimals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import IO, Any
from uuid import UUID

import msgspec

from dmsjournal import statements
from dmsjournal.errors import InvalidRequest
from dmsjournal.events import shapes
from dmsjournal.events.encoding import encoder
from dmsjournal.events.shapes import FeedEventLike
from dmsjournal.resources import ResourceKey


class Key(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which document an event is of. `key_values` is an object, unless another program wrote something else; None: not known."""

    document_uuid: UUID | None = None
    key_values: Any = None
    document_id: int | None = None


class State(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The document before and after; None where that is not known or where there was none."""

    before: Any = None
    after: Any = None


class FeedRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An event of the feed as a line has it; the converters of this package take it as they take the feed's own."""

    event_id: UUID
    key: Key
    resource: ResourceKey
    type: shapes.Operation
    timestamp: datetime
    change_version: int
    item_state: State | None = None
    transaction_id: int | None = None
    context: dict[str, Any] | None = None

    @classmethod
    def of(cls, event: FeedEventLike) -> FeedRecord:
        """The record of an event, whichever provider it comes from. Raises InvalidRequest."""
        return cls(
            event_id=event.event_id,
            key=Key(event.key.document_uuid, shapes.key_of(event), event.key.document_id),
            resource=event.resource,
            type=shapes.operation_of(event),
            timestamp=event.timestamp.astimezone(UTC),
            change_version=event.change_version,
            item_state=None if event.item_state is None else State(*shapes.images_of(event)),
            transaction_id=event.transaction_id,
            context=None if event.context is None else dict(event.context),
        )


def line(event: FeedEventLike) -> bytes:
    """The event as one line of UTF-8, its end included."""
    return _encode(FeedRecord.of(event)) + b"\n"


def text(event: FeedEventLike) -> str:
    """The event as a line of text, without its end."""
    return _encode(FeedRecord.of(event)).decode("utf-8")


def write(events: Iterable[FeedEventLike], file: IO[bytes]) -> int:
    """Writes events to a file, a line each; how many."""
    written = 0
    for event in events:
        file.write(line(event))
        written += 1
    return written


def read(file: Iterable[bytes]) -> Iterator[FeedRecord]:
    """The events of a file's lines, in their order. Raises InvalidRequest, which names the line."""
    for number, text in enumerate(file, 1):
        try:
            yield msgspec.convert(statements.decoded(text), FeedRecord, strict=True)
        except (msgspec.ValidationError, ValueError) as error:
            raise InvalidRequest(f"line {number}", text, f"it is no event of the feed ({error})") from error


_encode = encoder()
