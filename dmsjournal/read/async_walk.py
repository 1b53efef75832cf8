"""AsyncWalk: a window's results, page after page, as one iterator."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Generic, TypeVar

from dmsjournal.read.iteration import WalkPage

_T = TypeVar("_T")


class AsyncWalk(AsyncIterator[_T], Generic[_T]):
    """An iterator over a window, which tells how far it goes.

    `through` is the last version that it covers, inclusive: the window's max, or the horizon where that is lower; then `cut` is
    true. Go on with a window from `through` + 1. A step that fails, or is cancelled, can be taken again: the walk is where it was.
    """

    def __init__(self, first: WalkPage[_T], read: Callable[[Any], Awaitable[WalkPage[_T]]], through: int, cut: bool) -> None:
        self._items, self._next, self._read = iter(first.items), first.next, read
        self.through, self.cut = through, cut

    async def __anext__(self) -> _T:
        while True:
            for item in self._items:
                return item
            if self._next is None:
                raise StopAsyncIteration
            page = await self._read(self._next)
            self._items, self._next = iter(page.items), page.next
