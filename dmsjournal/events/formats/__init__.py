"""The registry of event formats. Each other module of this package is a format; its name is the format's name.

To add a format, add a module here that assigns a `Format` to `FORMAT`. `dmsjournal feed`, `dmsjournal deliver` and `GET /feed`
then accept it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dmsjournal.errors import InvalidRequest, UnsupportedCapability
from dmsjournal.events.shapes import FeedEventLike
from dmsjournal.util.iteration import raises_again

if TYPE_CHECKING:  # CDC events need pydantic, of the extra `events`; jsonl works without it
    import sqlalchemy as sa

    from dmsjournal.events.cdc import CdcConverter, CdcEvent, EventFilter

DEFAULT = "jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How an event is written: give exactly one of `from_feed` and `from_cdc`.

    Each returns the event's JSON on one line, without the line's end. `from_feed` takes the event of the feed. `from_cdc` takes its
    CDC event, so the format needs the extra `events`. `id_of` returns the id that this JSON contains. `content_type` is the HTTP
    content type of one event, `content_type_of_arrays` that of a JSON array of events.
    """

    from_feed: Callable[[FeedEventLike], bytes] | None = None
    from_cdc: Callable[[CdcEvent], bytes] | None = None
    id_of: Callable[[FeedEventLike], str]
    content_type: str = "application/json"
    content_type_of_arrays: str = "application/json"

    def __post_init__(self) -> None:
        if (self.from_feed is None) == (self.from_cdc is None):
            raise TypeError("a format has exactly one of from_feed and from_cdc")


def names() -> list[str]:
    """The names of all formats, the default first. It imports none of them."""
    return sorted((module.name for module in pkgutil.iter_modules(__path__)), key=lambda name: (name != DEFAULT, name))


def load(name: str) -> Format:
    """A format by its name. Raises InvalidRequest; UnsupportedCapability if the extra that the format needs is not installed."""
    if name not in names():
        raise InvalidRequest("format", name, f"pass one of {', '.join(names())}")
    try:
        found: Format = importlib.import_module(f"{__name__}.{name}").FORMAT
        if found.from_cdc is not None:
            importlib.import_module("dmsjournal.events.cdc")
    except ModuleNotFoundError as error:
        reason = f"format {name} needs {error.name}, which is not installed"
        raise UnsupportedCapability(reason, "pip install 'dmsjournal[events]'") from error
    return found


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes events in one format: the one way in which the command, deliveries and HTTP write them, so each writes the same.

    `converter` makes the CDC events that the format and the filter go by; `wants` is the filter. A format from the feed without a
    filter needs neither, nor the extra `events`. `sees_effects` is whether requests have to ask for effects.
    """

    format: Format
    converter: CdcConverter | None = None
    wants: EventFilter | None = None

    def __post_init__(self) -> None:
        if self.converter is None and (self.format.from_cdc is not None or self.wants is not None):
            raise TypeError("a format made of CDC events, and a filter, need a converter")

    @property
    def sees_effects(self) -> bool:
        """Whether what the format writes has what else changed."""
        return self.format.from_cdc is not None

    def encode(self, event: FeedEventLike) -> bytes:
        """The event's JSON on one line, without its end, wanted or not. Raises what CdcConverter.convert raises."""
        if self.format.from_feed is not None:
            return self.format.from_feed(event)
        assert self.format.from_cdc is not None
        return self.format.from_cdc(self._converted(event))

    def is_wanted(self, event: FeedEventLike) -> bool:
        """Whether the filter wants the event."""
        return self.wants is None or self.wants(self._converted(event))

    def line(self, event: FeedEventLike) -> bytes | None:
        """The event's JSON as `encode` gives it; None if the filter does not want it."""
        if self.wants is None or self.format.from_feed is not None:
            return self.encode(event) if self.is_wanted(event) else None
        made = self._converted(event)
        assert self.format.from_cdc is not None
        return self.format.from_cdc(made) if self.wants(made) else None

    @raises_again
    def lines(self, events: Iterable[FeedEventLike]) -> Generator[bytes]:
        """The lines of the events that the filter wants."""
        for event in events:
            if (line := self.line(event)) is not None:
                yield line

    def _converted(self, event: FeedEventLike) -> CdcEvent:
        assert self.converter is not None
        return self.converter.convert(event)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventOptions:
    """What an operator says of all CDC events: the same options on each way out.

    `instance` is what events call the server, its host and port without it. `region` is `source.region`. `soft_delete_field` and
    `version_field` are names of documents' own: when it was marked as deleted, and its version for optimistic locking.
    `invalidations` is a file of rules: which queries an event makes stale.
    """

    instance: str | None = None
    region: str | None = None
    soft_delete_field: str | None = None
    version_field: str | None = None
    invalidations: Path | None = None


def criteria_of(**given: Sequence[object] | None) -> dict[str, tuple[str, ...]]:
    """The criteria of EventFilter, by name, that options or parameters give: those without a value are left out."""
    return {name: tuple(map(str, values)) for name, values in given.items() if values}


def writer(
    format_: Format, url: str | sa.URL, options: EventOptions | None = None, filters: Mapping[str, tuple[str, ...]] | None = None
) -> Writer:
    """The writer of a database's events. `filters` are criteria of EventFilter by name.

    Raises InvalidRequest for a URL or a file of rules; UnsupportedCapability if the extra `events` is needed and not installed.
    """
    if format_.from_feed is not None and not filters:
        return Writer(format_)
    made = converter(url, options)
    from dmsjournal.events.cdc import EventFilter

    return Writer(format_, made, EventFilter(**filters) if filters else None)


def converter(url: str | sa.URL, options: EventOptions | None = None) -> CdcConverter:
    """The converter of a database's events. Raises what `writer` raises."""
    try:
        from dmsjournal.events import cdc
    except ModuleNotFoundError as error:
        raise UnsupportedCapability(f"{error.name} is not installed", "pip install 'dmsjournal[events]'") from error
    given = options or EventOptions()
    return cdc.CdcConverter(
        cdc.source_of(url, given.instance, given.region),
        soft_delete_field=given.soft_delete_field,
        version_field=given.version_field,
        identifier=cdc.key_identifier,
        invalidations=None if given.invalidations is None else cdc.InvalidationRules.read(given.invalidations),
    )
