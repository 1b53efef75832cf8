"""Sharing: what many clients ask for at the same time is read once."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Shared(Generic[_T]):
    """Results by what was asked for: while one is being read, and for as long as it is among the last `kept`."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._found: OrderedDict[Hashable, asyncio.Task[_T]] = OrderedDict()

    async def get(self, asked: Hashable, read: Callable[[], Awaitable[_T]]) -> _T:
        """The result of `read`, or of another one's for the same. What fails is not kept."""
        task = self._found.get(asked)
        if task is None:
            task = self._found[asked] = asyncio.ensure_future(_awaited(read))
            task.add_done_callback(lambda done: self._forget(asked, done))
            while len(self._found) > self._kept:
                self._found.popitem(last=False)
        return await asyncio.shield(task)  # one who leaves does not end it for the others

    def _forget(self, asked: Hashable, task: asyncio.Task[_T]) -> None:
        if (task.cancelled() or task.exception() is not None) and self._found.get(asked) is task:
            del self._found[asked]


class Recent(Generic[_T]):
    """The last result of one question, asked again when it is older than `seconds`."""

    def __init__(self, read: Callable[[], Awaitable[_T]], seconds: float = 1.0) -> None:
        self._read, self._seconds = read, seconds
        self._shared: Shared[_T] = Shared(1)
        self._asked, self._number = float("-inf"), 0

    async def get(self) -> _T:
        """The result. Raises what asking raises."""
        now = time.monotonic()
        if now - self._asked > self._seconds:
            self._asked, self._number = now, self._number + 1
        return await self._shared.get(self._number, self._read)


async def _awaited(read: Callable[[], Awaitable[_T]]) -> _T:
    return await read()
