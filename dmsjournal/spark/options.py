"""The options of the data source "dmsjournal", as text that Spark hands on, and what they ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from dmsjournal.database.connect import engine_for
from dmsjournal.errors import InvalidRequest, near_matches
from dmsjournal.model.resources import ResourceKey
from dmsjournal.model.windows import MAX_VERSION, Window, checked_size, checked_version
from dmsjournal.read.plan import MOST_PARTS
from dmsjournal.read.stream import EARLIEST, KINDS, LATEST, checked_kinds

SNAPSHOT = "snapshot"
STARTS = ("startingVersion", "startingOffsets", "startingPosition", "startingTimestamp")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the options ask for; None where they do not say. The URL, which may hold a password, is never shown.

    `starting` is a version, inclusive, or a time, or EARLIEST, LATEST or SNAPSHOT.
    """

    url: str = field(repr=False)
    resources: tuple[ResourceKey, ...] | None
    kinds: tuple[str, ...]
    with_body: bool
    window: Window
    starting: int | str | datetime
    starting_option: str
    max_rows: int | None
    max_option: str
    parts: int | None
    events_per_part: int | None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Asked:
        """Raises InvalidRequest for an option that is not known, and for a value that makes no sense."""
        given = {name.lower(): text.strip() for name, text in options.items()}
        for name in given.keys() - {known.lower() for known in _OPTIONS}:
            raise InvalidRequest("option", name, f"the options are {', '.join(_OPTIONS)}; {near_matches(name, list(_OPTIONS))}")
        if "url" not in given:
            raise InvalidRequest("url", None, "name the database: .option('url', 'postgresql://user:password@host/database')")
        for names in _EITHER:
            if len(both := [name for name in names if name.lower() in given]) > 1:
                raise InvalidRequest(both[0], given[both[0].lower()], f"give either {both[0]} or {both[1]}")
        engine_for(given["url"]).dispose()
        asked = {name: read(name, given[name.lower()]) for name, read in _OPTIONS.items() if name.lower() in given}
        return cls(
            given["url"],
            asked.get("resource", asked.get("resources")),
            asked.get("include", KINDS),
            asked.get("body", False),
            Window(asked.get("min"), asked.get("max")),
            next((asked[name] for name in STARTS if name in asked), 0),
            next((name for name in STARTS if name in asked), STARTS[0]),
            asked.get("maxEventsPerTrigger", asked.get("maxRowsPerTrigger")),
            "maxRowsPerTrigger" if "maxRowsPerTrigger" in asked else "maxEventsPerTrigger",
            asked.get("parts"),
            asked.get("eventsPerPart"),
        )


def refused(options: Mapping[str, str], names: tuple[str, ...], instead: str) -> None:
    """Raises InvalidRequest where one of the options was given, with what to use instead."""
    given = {name.lower(): text for name, text in options.items()}
    for name in names:
        if name.lower() in given:
            raise InvalidRequest(name, given[name.lower()], instead)


def _text(name: str, text: str) -> str:
    return text


def _resource(name: str, text: str) -> tuple[ResourceKey, ...]:
    return (ResourceKey.parse(text),)


def _resources(name: str, text: str) -> tuple[ResourceKey, ...]:
    return tuple(ResourceKey.parse(each.strip()) for each in text.split(","))


def _kinds(name: str, text: str) -> tuple[str, ...]:
    try:
        return checked_kinds([each.strip() for each in text.split(",")])
    except InvalidRequest as error:
        raise InvalidRequest(name, text, error.remedy) from error


def _flag(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise InvalidRequest(name, text, "write true or false")
    return text.lower() == "true"


def _number(text: str) -> object:
    """The number that it is, or the text: whoever checks it says what is wrong with that."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else text


def _version(name: str, text: str) -> int:
    return checked_version(name, _number(text))


def _starting(name: str, text: str) -> int | str:
    if text.lower() in (EARLIEST, LATEST):
        return text.lower()
    if not text.isdigit():
        raise InvalidRequest(name, text, f"write {EARLIEST}, {LATEST} or a version")
    return _version(name, text)


def _position(name: str, text: str) -> str:
    if text.lower() not in (SNAPSHOT, EARLIEST, LATEST):
        raise InvalidRequest(name, text, f"write {SNAPSHOT}, {EARLIEST} or {LATEST}; a version is startingVersion")
    return text.lower()


def _time(name: str, text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
        if found.utcoffset() is None:
            raise ValueError
        return found.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidRequest(name, text, "write a time with its zone, such as 2026-08-01T06:00:00Z") from error


def _size(most: int, of: str) -> Callable[[str, str], int]:
    return lambda name, text: checked_size(name, _number(text), most, of)


_OPTIONS: dict[str, Callable[[str, str], Any]] = {
    "url": _text,
    "resource": _resource,
    "resources": _resources,
    "include": _kinds,
    "body": _flag,
    "min": _version,
    "max": _version,
    "startingVersion": _version,
    "startingOffsets": _starting,
    "startingPosition": _position,
    "startingTimestamp": _time,
    "maxEventsPerTrigger": _size(MAX_VERSION, "events"),
    "maxRowsPerTrigger": _size(MAX_VERSION, "rows"),
    "parts": _size(MOST_PARTS, "parts"),
    "eventsPerPart": _size(MAX_VERSION, "events"),
}
_EITHER = (("resource", "resources"), STARTS, ("maxEventsPerTrigger", "maxRowsPerTrigger"), ("parts", "eventsPerPart"))
