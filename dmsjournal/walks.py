"""Walks: a window's results, page after page, as one iterator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

_Item = TypeVar("_Item", covariant=True)


class Walk(Iterator[_Item]):
    """An iterator over a window, which tells how far it goes.

    `through` is the last version that it covers, inclusive: the window's max, or the horizon where that is lower; then `cut` is
    true. Go on with a window from `through` + 1.
    """

    def __init__(self, items: Iterator[_Item], through: int, cut: bool) -> None:
        self._items = items
        self.through, self.cut = through, cut

    def __next__(self) -> _Item:
        return next(self._items)
