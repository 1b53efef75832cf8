"""What a delivery writes into a request or a line: events in one of the registry's formats, with the ids that requests carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid5

from dmsjournal.database import connect, postgres
from dmsjournal.events import formats
from dmsjournal.events.shapes import FeedEventLike

_BATCHES = UUID("c1f0a9be-6f0e-5d0b-8a39-54a0c3f9d2e7")  # the namespace of the ids of several events together


@dataclass(frozen=True, slots=True)
class MessageFormat:
    """A format for the events of one database."""

    writer: formats.Writer

    @property
    def format(self) -> formats.Format:
        """The registry's."""
        return self.writer.format

    def wanted(self, events: Sequence[FeedEventLike]) -> Sequence[FeedEventLike]:
        """The events that the filter wants."""
        return events if self.writer.wants is None else [event for event in events if self.writer.is_wanted(event)]

    def encode(self, event: FeedEventLike) -> bytes:
        """The event's JSON without a line's end."""
        return self.writer.encode(event)

    def id_of(self, event: FeedEventLike) -> str:
        """The id that the event's JSON contains."""
        return self.format.id_of(event)

    def array(self, events: Sequence[FeedEventLike]) -> bytes:
        """The events as one JSON array."""
        return b"[" + b",".join(map(self.encode, events)) + b"]"

    def id_of_array(self, events: Sequence[FeedEventLike]) -> str:
        """The same for the same events in the same order; a single event's own."""
        ids = [self.id_of(event) for event in events]
        return ids[0] if len(ids) == 1 else str(uuid5(_BATCHES, " ".join(ids)))


def format_of_database(
    name: str,
    url: str,
    options: formats.EventOptions | None = None,
    filters: Mapping[str, tuple[str, ...]] | None = None,
) -> MessageFormat:
    """A format of events that come from a database. Raises what format_of raises, and InvalidRequest for its URL."""
    connect.checked_url(url)
    return MessageFormat(formats.writer(formats.load(name), url, options, filters))


def format_of(name: str, *, database: str = postgres.EVENT_SOURCE, instance: str = "dmsjournal") -> MessageFormat:
    """A format by its name. `database` and `instance` are the `source` that all formats but jsonl name.

    Raises InvalidRequest; UnsupportedCapability where the extra events is not installed.
    """
    found = formats.load(name)
    if found.from_feed is not None:
        return MessageFormat(formats.Writer(found))
    from dmsjournal.events import cdc

    source = cdc.Source(database=database, instance=instance)
    return MessageFormat(formats.Writer(found, cdc.CdcConverter(source, identifier=cdc.key_identifier)))
