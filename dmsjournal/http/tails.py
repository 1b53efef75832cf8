"""Tails: the newest events in memory, read once for all who follow.

A tail is of one selection. Whoever stands in it is given what comes after his place; it is read on from its end when somebody needs
more. Who stands before it reads for himself until he has caught up. Nothing in it changes: events at or below a horizon do not.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from itertools import islice

from dmsjournal.http.event_pages import EventPage, Selection, Sent

_EVENTS, _BYTES = 5_000, 4 << 20  # that a tail keeps
_TAILS = 16  # that are kept: the one that was used last goes last
_READ = 1_000  # events that are read at once

_Read = Callable[[int, Selection, int], Awaitable[EventPage]]


class Tail:
    """The events after version `begin`, exclusive, up to version `latest`, inclusive."""

    def __init__(self, begin: int) -> None:
        self.begin = self.latest = self.horizon = begin
        self.oldest = 1
        self._events: list[Sent] = []
        self._sequences: list[int] = []
        self._bytes = 0
        self._pages: dict[tuple[int, int], EventPage] = {}  # that were asked for since it was read on
        self._reading = asyncio.Lock()

    def covers(self, version: int) -> bool:
        """Whether what comes after a version can be told."""
        return self.begin <= version <= self.latest

    async def extend(self, at: int, read: Callable[[int], Awaitable[EventPage]]) -> None:
        """Reads on, unless the tail has come to a horizon meanwhile. One reads at a time, for all."""
        async with self._reading:
            if self.latest < at:
                self._append(await read(self.latest))

    def after(self, version: int, limit: int) -> EventPage:
        """The events after a version that it covers, about `limit` at most: a version's are not parted."""
        first = bisect_right(self._sequences, version)
        page = self._pages.get((first, limit))
        if page is None:
            page = self._pages[first, limit] = self._page(first, limit)
        return page

    def _page(self, first: int, limit: int) -> EventPage:
        end = first + limit
        if end >= len(self._events):
            return EventPage(self._events[first:], self.latest, self.horizon, self.oldest)
        end = bisect_right(self._sequences, self._sequences[end - 1])
        return EventPage(self._events[first:end], self._sequences[end - 1], self.horizon, self.oldest)

    def has_after(self, version: int) -> bool:
        """Whether an event is there after a version."""
        return bool(self._sequences) and self._sequences[-1] > version

    def _append(self, page: EventPage) -> None:
        self._pages.clear()
        self._events += page.events
        self._sequences += [event.sequence for event in page.events]
        self._bytes += sum(event.size for event in page.events)
        self.latest, self.horizon, self.oldest = page.latest, page.horizon, page.oldest
        while self._events and (len(self._events) > _EVENTS or self._bytes > _BYTES):
            self._drop(max(1, len(self._events) // 4))

    def _drop(self, count: int) -> None:
        """Forgets about so many of the oldest events: those of a version go together."""
        self.begin = self._sequences[count - 1]
        end = bisect_right(self._sequences, self.begin)
        self._bytes -= sum(event.size for event in islice(self._events, end))
        del self._events[:end]
        del self._sequences[:end]


class Tails:
    """The tails of all selections that somebody follows."""

    def __init__(self, read: _Read) -> None:
        self._read = read
        self._tails: OrderedDict[Selection, Tail] = OrderedDict()

    def has(self, after: int, selection: Selection) -> bool:
        """Whether there is a tail that tells what comes after a version."""
        tail = self._tails.get(selection)
        return tail is not None and tail.covers(after)

    def clear(self) -> None:
        """Forgets all: the database's history is another one."""
        self._tails.clear()

    async def page(self, after: int, selection: Selection, limit: int, at: int) -> EventPage:
        """The events after a version, up to a horizon that was seen: from the selection's tail, or read where it has not got them.

        Where there is no tail, or one that has been left so far behind that a read does not bring it here, one begins here.
        """

        def read(place: int) -> Awaitable[EventPage]:
            return self._read(place, selection, _READ)

        if at < after:  # the horizon has stepped back: the database knows whether that place ever was
            return await self._read(after, selection, limit)
        tail = self._followed(selection, after)
        if tail.latest < at and not (tail.covers(after) and tail.has_after(after)):
            await tail.extend(at, read)
        if tail.latest < after:
            tail = self._tails[selection] = Tail(after)
            await tail.extend(at, read)
        if tail.covers(after):
            return tail.after(after, limit)
        return await self._read(after, selection, limit)

    def _followed(self, key: Selection, after: int) -> Tail:
        """The tail of a selection, a new one where there is none."""
        tail = self._tails.setdefault(key, Tail(after))
        self._tails.move_to_end(key)
        if len(self._tails) > _TAILS:
            self._tails.popitem(last=False)
        return tail
