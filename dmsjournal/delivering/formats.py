"""Formats: how an event is written into a request or a line, and what its id is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid5

import sqlalchemy as sa

from dmsjournal import connecting
from dmsjournal.errors import InvalidRequest, UnsupportedCapability
from dmsjournal.events import jsonl
from dmsjournal.events.shapes import FeedEventLike

NAMES = ("jsonl", "cdc", "cloudevents")

_BATCHES = UUID("c1f0a9be-6f0e-5d0b-8a39-54a0c3f9d2e7")  # the namespace of the ids of several events together


@dataclass(frozen=True, slots=True)
class Format:
    """One of NAMES. `encode` gives an event's JSON without a line's end, `id_of` the id that is in it."""

    name: str
    encode: Callable[[FeedEventLike], bytes]
    id_of: Callable[[FeedEventLike], str]
    content_type: str = "application/json"
    content_type_of_arrays: str = "application/json"

    def array(self, events: Sequence[FeedEventLike]) -> bytes:
        """The events as one JSON array."""
        return b"[" + b",".join(map(self.encode, events)) + b"]"

    def id_of_array(self, events: Sequence[FeedEventLike]) -> str:
        """The same for the same events in the same order; a single event's own."""
        ids = [self.id_of(event) for event in events]
        return ids[0] if len(ids) == 1 else str(uuid5(_BATCHES, " ".join(ids)))


def format_of_database(name: str, url: str) -> Format:
    """A format of events that come from a database. Raises what format_of raises, and InvalidRequest for its URL."""
    engine, parsed = connecting.engine_name_of(url), sa.make_url(url)
    instance = parsed.host or parsed.database or "localhost"
    return format_of(name, database="postgresql" if engine == "postgres" else engine, instance=instance)


def format_of(name: str, *, database: str = "postgresql", instance: str = "dmsjournal") -> Format:
    """A format by its name. `database` and `instance` are the `source` that cdc and cloudevents name.

    Raises InvalidRequest; UnsupportedCapability where the extra events is not installed.
    """
    if name == "jsonl":
        return Format(name, lambda event: jsonl.line(event)[:-1], lambda event: str(event.event_id))
    if name not in NAMES:
        raise InvalidRequest("format", name, f"pass one of {', '.join(NAMES)}")
    try:
        from dmsjournal.events import cdc
        from dmsjournal.events.cloudevents import CloudEvent
    except ModuleNotFoundError as error:
        raise UnsupportedCapability(f"format {name} needs pydantic", "pip install 'dmsjournal[events]'") from error
    converter = cdc.CdcConverter(cdc.Source(database=database, instance=instance), identifier=cdc.key_identifier)

    def id_of(event: FeedEventLike) -> str:
        return f"evt_{event.event_id}"

    if name == "cdc":
        return Format(name, lambda event: converter.convert(event).to_json().encode(), id_of)
    return Format(
        name,
        lambda event: CloudEvent.of(converter.convert(event)).to_json().encode(),
        id_of,
        "application/cloudevents+json",
        "application/cloudevents-batch+json",
    )
