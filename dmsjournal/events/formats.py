"""Events of a page as lines of text, in each format that there is; those that a filter wants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from dmsjournal.events import jsonl
from dmsjournal.events.cdc import CdcEvent, CdcReader, EventFilter
from dmsjournal.events.cloudevents import CloudEvent
from dmsjournal.events.debezium import DebeziumEvent
from dmsjournal.feed.events import FeedEvent

FORMATS: Mapping[str, Callable[[FeedEvent, CdcEvent], str]] = {
    "jsonl": lambda event, _: jsonl.text(event),
    "cdc": lambda _, made: made.to_json(),
    "cloudevents": lambda _, made: CloudEvent.of(made).to_json(),
    "debezium": lambda _, made: DebeziumEvent.of(made).to_json(),
}


def lines(events: Sequence[FeedEvent], format_: str, reader: CdcReader, wants: EventFilter) -> Iterator[str]:
    """The events of a page that are wanted, a line each, without its end. Raises what CdcReader.convert raises."""
    write = FORMATS[format_]
    for event, made in zip(events, reader.convert(events), strict=True):
        if wants(made):
            yield write(event, made)
