"""Sharing: what many clients ask for at the same time is read once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Fresh(Generic[_T]):
    """Results that were read after they were asked for: all who ask for one while it is being read share the next."""

    def __init__(self) -> None:
        self._running: dict[Hashable, asyncio.Task[_T]] = {}
        self._next: dict[Hashable, asyncio.Task[_T]] = {}

    async def get(self, asked: Hashable, read: Callable[[], Awaitable[_T]]) -> _T:
        """The result of `read`, or of another one's for the same that has not begun yet. Raises what it raises."""
        task = self._next.get(asked)
        if task is None:
            task = self._next[asked] = asyncio.ensure_future(self._read(asked, read))
            task.add_done_callback(_noted)
        return await asyncio.shield(task)  # one who leaves does not end it for the others

    async def _read(self, asked: Hashable, read: Callable[[], Awaitable[_T]]) -> _T:
        if (before := self._running.get(asked)) is not None:
            await asyncio.wait({before})
        task = self._running[asked] = self._next.pop(asked)
        try:
            return await read()
        finally:
            if self._running.get(asked) is task:
                del self._running[asked]


class Recent(Generic[_T]):
    """The last result of one question, asked again when it is older than `seconds`, or has failed."""

    def __init__(self, read: Callable[[], Awaitable[_T]], seconds: float = 1.0) -> None:
        self._read, self._seconds = read, seconds
        self._task: asyncio.Task[_T] | None = None
        self._asked = 0.0

    async def get(self) -> _T:
        """The result. Raises what asking raises."""
        if self._task is None or (self._task.done() and self._is_old(self._task)):
            self._asked = time.monotonic()
            self._task = asyncio.ensure_future(_awaited(self._read))
            self._task.add_done_callback(_noted)
        return await asyncio.shield(self._task)

    def _is_old(self, task: asyncio.Task[_T]) -> bool:
        return time.monotonic() - self._asked > self._seconds or task.cancelled() or task.exception() is not None


async def _awaited(read: Callable[[], Awaitable[_T]]) -> _T:
    return await read()


def _noted(task: asyncio.Task[_T]) -> None:
    """Looks at the error of a task that perhaps nobody awaits any more."""
    if not task.cancelled():
        task.exception()
