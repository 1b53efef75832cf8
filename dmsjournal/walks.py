"""Walks: a window's results, page after page, as one iterator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from dmsjournal.session import Session
from dmsjournal.windows import Window

_Item = TypeVar("_Item")
_Walked = TypeVar("_Walked", covariant=True)


@dataclass(frozen=True, slots=True)
class VersionPage(Generic[_Item]):
    """What was found among the events that were scanned, and the version to go on after, None at the end."""

    items: Sequence[_Item]
    next: int | None


# Session, resource's id, window, version to go on after (exclusive), last version (inclusive), events to scan.
PageReader = Callable[[Session, int, Window, int, int, int], VersionPage[_Item]]


class Walk(Iterator[_Walked]):
    """An iterator over a window, which tells how far it goes.

    `through` is the last version that it covers, inclusive: the window's max, or the horizon where that is lower; then `cut` is
    true. Go on with a window from `through` + 1.
    """

    def __init__(self, items: Iterator[_Walked], through: int, cut: bool) -> None:
        self._items = items
        self.through, self.cut = through, cut

    def __next__(self) -> _Walked:
        return next(self._items)
