"""Versions, windows and cursors: what a caller asks about, checked before anything is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dmsjournal.errors import InvalidRequest
from dmsjournal.model.resources import ResourceKey

MAX_VERSION = 2**63 - 1
LOWEST_ID, HIGHEST_ID = -(2**63), 2**63 - 1


def checked_version(parameter: str, value: object) -> int:
    """The value as a version: a whole number from 0 to 2^63 - 1. Raises InvalidRequest naming the parameter."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_VERSION:
        raise InvalidRequest(parameter, value, f"a version is a whole number from 0 to {MAX_VERSION}")
    return value


def checked_size(parameter: str, value: object, most: int = 1_000_000, of: str = "rows") -> int:
    """The value as a number of rows, or of what `of` says, from 1 to `most`. Raises InvalidRequest naming the parameter."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InvalidRequest(parameter, value, f"ask for 1 to {most} {of}")
    return value


def checked_id(parameter: str, value: object) -> int:
    """The value as a document id: a whole number of 64 bits. Raises InvalidRequest naming the parameter."""
    if isinstance(value, bool) or not isinstance(value, int) or not LOWEST_ID <= value < -LOWEST_ID:
        raise InvalidRequest(parameter, value, "a document id is a whole number of 64 bits")
    return value


def checked_flag(parameter: str, value: object) -> bool:
    """The value as true or false. Raises InvalidRequest naming the parameter."""
    if not isinstance(value, bool):
        raise InvalidRequest(parameter, value, "it is true or false")
    return value


def checked_ids(parameter: str, values: object) -> list[int]:
    """The values as document ids. Raises InvalidRequest naming the parameter."""
    if not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise InvalidRequest(parameter, values, "pass a list of document ids")
    return [int(checked_id(parameter, value)) for value in values]


def checked_events(parameter: str, values: object) -> list[tuple[int, int]]:
    """The values as (change_version, document_id), each once, in order. Raises InvalidRequest naming the parameter."""
    if not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise InvalidRequest(parameter, values, "pass a list of (change_version, document_id)")
    events = set()
    for value in values:
        if not isinstance(value, tuple) or len(value) != 2:
            raise InvalidRequest(parameter, value, "an event is (change_version, document_id)")
        events.add((int(checked_version(parameter, value[0])), int(checked_id(parameter, value[1]))))
    return sorted(events)


@dataclass(frozen=True, slots=True)
class ChangeVersions:
    """What a database holds: `oldest`, 0 while nothing was pruned, else the floor plus one; `newest`, the horizon."""

    oldest: int
    newest: int

    @classmethod
    def above(cls, floors: Mapping[str, int], newest: int) -> ChangeVersions:
        """The versions above the floors of the journals, by their names: what a window may ask for."""
        floor = max(floors["DocumentChangeEvent"], floors["IdentityChangeEvent"])
        return cls(oldest=floor + 1 if floor else 0, newest=newest)


@dataclass(frozen=True, slots=True)
class Window:
    """A range of versions, both ends inclusive; without an end, to the beginning or to the horizon.

    Raises InvalidRequest where an end is no version or min is above max.
    """

    min: int | None = None
    max: int | None = None

    def __post_init__(self) -> None:
        for parameter in ("min", "max"):
            if getattr(self, parameter) is not None:
                checked_version(parameter, getattr(self, parameter))
        if self.min is not None and self.max is not None and self.min > self.max:
            raise InvalidRequest("min", self.min, f"it is above `max` ({self.max}): give the lower version first")

    @property
    def first(self) -> int:
        """The lower end, inclusive."""
        return self.min or 0

    def last(self, horizon: int) -> int:
        """The upper end, inclusive, cut to the horizon; below `first` where the window lies above it (acceptance 8)."""
        return horizon if self.max is None else min(self.max, horizon)

    def is_cut(self, through: int) -> bool:
        """Whether a walk through that version ends below the upper end that was asked for."""
        return self.max is not None and through < self.max


@dataclass(frozen=True, order=True, slots=True)
class Cursor:
    """A position in a walk, exclusive: the next page starts after (change_version, document_id).

    A page's cursor carries the page's resource, so that it cannot be used on another one by mistake. Raises InvalidRequest.
    """

    change_version: int
    document_id: int
    resource: ResourceKey | None = None

    def __post_init__(self) -> None:
        checked_version("cursor.change_version", self.change_version)
        checked_id("cursor.document_id", self.document_id)

    @classmethod
    def before(cls, version: int) -> Cursor:
        """The cursor of a first page: everything from the version on, inclusive."""
        return cls(version, LOWEST_ID)

    @property
    def through(self) -> int:
        """Everything up to this version, inclusive, was read."""
        return self.change_version if self.document_id == HIGHEST_ID else self.change_version - 1


def checked_cursor(cursor: object, resource: ResourceKey, window: Window) -> Cursor:
    """The cursor, if it is one of this resource and lies in the window. Raises InvalidRequest."""
    if not isinstance(cursor, Cursor):
        raise InvalidRequest("after", cursor, "pass the `next` of the page before, unchanged")
    if cursor.resource is not None and cursor.resource != resource:
        raise InvalidRequest("after", cursor, f"it is a cursor of {cursor.resource}, the page is of {resource}")
    if cursor.change_version < window.first or (window.max is not None and cursor.change_version > window.max):
        raise InvalidRequest("after", cursor, f"it lies outside the window from {window.first} to {window.max}")
    return cursor


def checked_window(window: object) -> Window:
    """The window, everything where there is none. Raises InvalidRequest."""
    if window is None:
        return Window()
    if not isinstance(window, Window):
        raise InvalidRequest("window", window, "pass a Window(min=…, max=…), both ends inclusive")
    return window
