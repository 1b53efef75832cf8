"""Events of the feed as JSON lines: one object a line, all that the feed gives, exact.

Numbers that are not whole are read as Decimals.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from datetime import UTC, datetime
from typing import IO, Any
from uuid import UUID

import msgspec

from dmsjournal.errors import InvalidRequest
from dmsjournal.events import shapes
from dmsjournal.events.encoding import encoder
from dmsjournal.events.shapes import FeedEventLike
from dmsjournal.feed.events import Effects
from dmsjournal.model.resources import ResourceKey
from dmsjournal.util.iteration import raises_again
from dmsjournal.util.json import decoded


class Key(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which document an event is of. `key_values` is an object, unless another program wrote something else; None: not known.

    `old_key_values`, the key before the event, is written only where the event changed it.
    """

    document_uuid: UUID | None = None
    key_values: Any = None
    document_id: int | None = None
    old: Any = msgspec.field(default=msgspec.UNSET, name="old_key_values")

    @property
    def old_key_values(self) -> Any:
        """The key before the event; None where the event did not change it."""
        return None if self.old is msgspec.UNSET else self.old


class StateRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The document before and after; None where that is not known or where there was none."""

    before: Any = None
    after: Any = None


class FeedRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An event of the feed as a line has it; the converters of this package take it as they take the feed's own.

    `effects` is written only where there were some and the request asked for them; `indirect_of` only of an indirect change.
    """

    event_id: UUID
    key: Key
    resource: ResourceKey
    type: shapes.Operation
    timestamp: datetime
    change_version: int
    item_state: StateRecord | None = None
    transaction_id: int | None = None
    context: dict[str, Any] | None = None
    caused: Effects | msgspec.UnsetType = msgspec.field(default=msgspec.UNSET, name="effects")

    indirect: UUID | msgspec.UnsetType = msgspec.field(default=msgspec.UNSET, name="indirect_of")

    @property
    def indirect_of(self) -> UUID | None:
        """The id of the event that changed what the document refers to; None where the document itself was written."""
        return None if self.indirect is msgspec.UNSET else self.indirect

    @property
    def effects(self) -> Effects | None:
        """What else changed because of it; None where that is not known, or where there was nothing."""
        return None if self.caused is msgspec.UNSET else self.caused

    @classmethod
    def of(cls, event: FeedEventLike) -> FeedRecord:
        """The record of an event, whichever provider it comes from. Raises InvalidRequest."""
        return cls(
            event_id=event.event_id,
            key=Key(event.key.document_uuid, shapes.key_of(event), event.key.document_id, _given(shapes.old_key_of(event))),
            resource=event.resource,
            type=shapes.operation_of(event),
            timestamp=event.timestamp.astimezone(UTC),
            change_version=event.change_version,
            item_state=None if event.item_state is None else StateRecord(*shapes.images_of(event)),
            transaction_id=event.transaction_id,
            context=None if event.context is None else dict(event.context),
            caused=_given(None if event.effects == Effects() else event.effects),
            indirect=_given(event.indirect_of),
        )


def line(event: FeedEventLike) -> bytes:
    """The event as one line of UTF-8, its end included."""
    return encoded(event) + b"\n"


def encoded(event: FeedEventLike) -> bytes:
    """The event as UTF-8, without a line's end."""
    return _encode(FeedRecord.of(event))


def write(events: Iterable[FeedEventLike], file: IO[bytes]) -> int:
    """Writes events to a file, a line each; how many."""
    written = 0
    for event in events:
        file.write(line(event))
        written += 1
    return written


@raises_again
def read(file: Iterable[bytes]) -> Generator[FeedRecord]:
    """The events of a file's lines, in their order. Raises InvalidRequest, which names the line."""
    for number, text in enumerate(file, 1):
        try:
            yield msgspec.convert(decoded(text), FeedRecord, strict=True)
        except (msgspec.ValidationError, ValueError) as error:
            raise InvalidRequest(f"line {number}", text, f"it is no event of the feed ({error})") from error


def _given(value: Any) -> Any:
    """What is left out of a line where it is None."""
    return msgspec.UNSET if value is None else value


_encode = encoder()
