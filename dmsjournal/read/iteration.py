"""Pages that a walk goes through, of whatever there is to walk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from dmsjournal.database.session import Session
from dmsjournal.model.windows import Window

_Walked = TypeVar("_Walked", covariant=True)


class WalkPage(Protocol[_Walked]):
    """A page of a walk."""

    @property
    def items(self) -> Sequence[_Walked]:
        """What is on it."""

    @property
    def next(self) -> Any:
        """What the next page is read by, None at the end."""


class VersionItem(Protocol):
    """What a walk by versions gives: of a document, at a version."""

    @property
    def document_id(self) -> int: ...
    @property
    def change_version(self) -> int: ...


_Versioned = TypeVar("_Versioned", bound=VersionItem)


@dataclass(frozen=True, slots=True)
class VersionPage(Generic[_Versioned]):
    """What was found among the events that were scanned, and the version to go on after, None at the end."""

    items: Sequence[_Versioned]
    next: int | None


# Session, resource's id, window, version to go on after (exclusive), last version (inclusive), events to scan, with keys.
PageReader = Callable[[Session, int, Window, int, int, int, bool], VersionPage[_Versioned]]
