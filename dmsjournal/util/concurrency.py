"""What twins are made of: each piece once for event loops, once for threads, under names that differ by `async` alone.

`make twins` makes a blocking module of each async_*.py (CONTRIBUTING.md, Change a twin), so the pieces of a pair take the same
arguments.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Event
from typing import Any, Generic, TypeVar

__all__ = [
    "Ahead",
    "AsyncAhead",
    "AsyncCalls",
    "AsyncEvent",
    "Calls",
    "Event",
    "Threads",
    "async_call",
    "call",
    "has_calls",
    "in_thread",
]

_T = TypeVar("_T")

_LOOK = 0.1  # seconds between two looks whether it was stopped
_GRACE = 0.4  # seconds that who leaves waits for a call that is on its way, and may hold a connection
_running: set[Future[Any]] = set()


def in_thread(function: Callable[..., _T], *arguments: object) -> Future[_T]:
    """Begins a call in a daemon thread of its own.

    A database that does not answer holds the thread for as long as it likes. So it is none of a pool that others need, such as the
    event loop's default executor, and neither the end of the loop nor the end of the program waits for it.
    """
    made: Future[_T] = Future()
    made.set_running_or_notify_cancel()  # who no longer waits for it does not end it
    context = contextvars.copy_context()

    threading.Thread(target=_run, args=[made, partial(context.run, function, *arguments)], name="dmsjournal", daemon=True).start()
    return made


def has_calls() -> bool:
    """Whether a call runs in a thread now, also one that is waited for no longer."""
    return bool(_running)


def _run(made: Future[Any], function: Callable[[], Any]) -> None:
    _running.add(made)
    try:
        result = function()
    except BaseException as error:
        _running.discard(made)
        made.set_exception(error)
    else:
        _running.discard(made)
        made.set_result(result)


class Threads:
    """Daemon threads, `most` of them, which take calls in turn. See in_thread for why they are none of Python's own pools."""

    def __init__(self, most: int) -> None:
        self._most, self._started = most, 0
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._unfinished: set[Future[Any]] = set()

    def submit(self, function: Callable[..., _T], *arguments: object) -> Future[_T]:
        """Queues a call."""
        made: Future[_T] = Future()
        with self._lock:
            self._unfinished.add(made)
            is_short, self._started = self._started < self._most, min(self._started + 1, self._most)
        made.add_done_callback(self._forget)
        self._calls.put((made, partial(function, *arguments)))
        if is_short:
            threading.Thread(target=self._work, name="dmsjournal", daemon=True).start()
        return made

    def close(self, seconds: float) -> None:
        """Cancels what is queued, and waits so long for what runs; that is left alone then. No call may follow."""
        with self._lock:
            left = set(self._unfinished)
        wait({each for each in left if not each.cancel()}, seconds)
        for _ in range(self._started):
            self._calls.put(None)

    def _forget(self, made: Future[Any]) -> None:
        with self._lock:
            self._unfinished.discard(made)

    def _work(self) -> None:
        while (queued := self._calls.get()) is not None:
            made, function = queued
            if made.set_running_or_notify_cancel():
                _run(made, function)
            del made, function, queued  # while it waits for the next one


def call(function: Callable[..., Any], *arguments: object) -> Any:
    """The function's result."""
    return function(*arguments)


async def async_call(function: Callable[..., Any], *arguments: object) -> Any:
    """The function's result: awaited where it is a coroutine, else from a thread of its own."""
    if inspect.iscoroutinefunction(function):
        return await function(*arguments)
    result = await asyncio.wrap_future(in_thread(function, *arguments))
    return await result if inspect.isawaitable(result) else result


class AsyncEvent:
    """threading.Event for coroutines: set by any thread, waited for in any event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_set = False
        self._waiting: set[asyncio.Future[None]] = set()

    def is_set(self) -> bool:
        """Whether it was set."""
        return self._is_set

    def set(self) -> None:
        """Ends all waits, those to come too."""
        with self._lock:
            self._is_set = True
            for each in self._waiting:
                with suppress(RuntimeError):  # its loop was closed
                    each.get_loop().call_soon_threadsafe(_wake, each)

    async def wait(self, timeout: float | None = None) -> bool:
        """Waits until it is set, for `timeout` seconds at most. Whether it is set."""
        woken = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._is_set:
                return True
            self._waiting.add(woken)
        try:
            await asyncio.wait({woken}, timeout=timeout)
        finally:
            with self._lock:
                self._waiting.discard(woken)
        return self._is_set


def _wake(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)


class Ahead(Generic[_T]):
    """One call that runs beside who will need its result. `stopped` ends the wait for it."""

    def __init__(self, stopped: Event) -> None:
        self._stopped = stopped
        self._call: Future[_T] | None = None

    def begin(self, function: Callable[..., _T], *arguments: object) -> None:
        """Begins a call, unless there is one whose result was not taken."""
        if self._call is None:
            self._call = in_thread(function, *arguments)

    def result(self) -> _T | None:
        """The call's result, which stays until take(); None where it was stopped before. After an error there is no call."""
        assert self._call is not None
        while not self._stopped.is_set():
            if not wait([self._call], _LOOK).done:  # and not result(_LOOK), whose TimeoutError may be the call's own, or too late
                continue
            if error := self._call.exception():
                self._call = None
                raise error
            return self._call.result()
        return None

    def take(self) -> None:
        """The result is taken: the next call may begin."""
        self._call = None

    def leave(self) -> None:
        """Waits a moment for a call that is on its way, and leaves it alone then."""
        if self._call is not None:
            wait([self._call], _GRACE)


class AsyncAhead(Generic[_T]):
    """Ahead for event loops. Who is cancelled while it waits for the result leaves the call as it is."""

    def __init__(self, stopped: AsyncEvent) -> None:
        self._stopped = stopped
        self._call: asyncio.Task[_T] | None = None

    def begin(self, function: Callable[..., Coroutine[Any, Any, _T]], *arguments: object) -> None:
        """Begins a call, unless there is one whose result was not taken."""
        if self._call is None:
            self._call = asyncio.create_task(function(*arguments))

    async def result(self) -> _T | None:
        """The call's result, which stays until take(); None where it was stopped before. After an error there is no call."""
        assert self._call is not None
        stopped = asyncio.create_task(self._stopped.wait())
        try:
            await asyncio.wait({self._call, stopped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
        if self._stopped.is_set():
            return None
        if self._call.cancelled() or self._call.exception() is not None:
            failed, self._call = self._call, None
            return failed.result()
        return self._call.result()

    def take(self) -> None:
        """The result is taken: the next call may begin."""
        self._call = None

    async def leave(self) -> None:
        """Waits a moment for a call that is on its way, and cancels it then."""
        if self._call is not None:
            await _leave(self._call)


class Calls:
    """Calls of one object, one after another, in the caller's thread."""

    def call(self, function: Callable[..., Any], *arguments: object) -> Any:
        """The call's result."""
        return call(function, *arguments)

    def leave(self) -> None:
        """There is nothing to wait for."""


class AsyncCalls:
    """Calls of one object, one after another. Who is cancelled leaves the call as it is, and asks for it once more later."""

    def __init__(self) -> None:
        self._call: asyncio.Task[Any] | None = None

    async def call(self, function: Callable[..., Any], *arguments: object) -> Any:
        """The call's result. A call that is on its way already must be this one."""
        if self._call is None:
            self._call = asyncio.create_task(async_call(function, *arguments))
        await asyncio.wait({self._call})
        ended, self._call = self._call, None
        return ended.result()

    async def leave(self) -> None:
        """Waits a moment for a call that is on its way, and cancels it then."""
        if self._call is not None:
            await _leave(self._call)


async def _leave(task: asyncio.Task[Any]) -> None:
    try:
        await asyncio.wait({task}, timeout=_GRACE)
    finally:
        task.cancel()
    if task.done() and not task.cancelled():
        task.exception()  # it is looked at: nothing is left to report
