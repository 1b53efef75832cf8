"""The database as the event loop sees it: blocking work runs in a bounded number of threads, each with one connection at most."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import ParamSpec, TypeVar

from dmsjournal.database.connect import OpenConnections, engine_for, ping
from dmsjournal.errors import UnreadableEvent, UnsupportedCapability
from dmsjournal.http.problems import BUSY, Refused
from dmsjournal.http.pulse import Pulse
from dmsjournal.http.settings import Settings
from dmsjournal.journal import Journal
from dmsjournal.util.concurrency import Threads

logger = logging.getLogger("dmsjournal.http")

_P = ParamSpec("_P")
_T = TypeVar("_T")


class JournalThreads:
    """The journal, and the threads that ask it. The horizon has a thread of its own: no slow page keeps who waits from waking."""

    def __init__(self, settings: Settings) -> None:
        pools = [engine_for(settings.url, settings.connections + 1, settings.statement_seconds)]
        if settings.admin_url is not None:
            pools.append(engine_for(settings.admin_url, 2, settings.statement_seconds))
        self.journal = Journal(pools[0], unreadable=_log_passed if settings.pass_unreadable else None)
        self._names = (pools[0].dialect.name, str(pools[0].url.database))
        self._pruner = Journal(pools[1]) if pools[1:] else None
        own = engine_for(settings.url, 1, 2 * settings.answer_seconds)
        opened = [OpenConnections(pool) for pool in (*pools, own)]

        def cut_off() -> None:
            for each in opened:
                each.cut_off()

        self._pulse = Pulse(partial(ping, own), settings.answer_seconds, cut_off)
        self._threads, self._watcher = Threads(settings.connections), Threads(1)
        self._grace_seconds = settings.grace_seconds
        self._most, self._pending = settings.connections + settings.queued, 0

    @property
    def pending(self) -> int:
        """How much work is queued or being done."""
        return self._pending

    @property
    def names(self) -> tuple[str, str]:
        """Which kind of database it is, and its name."""
        return self._names

    @property
    def pruner(self) -> Journal:
        """The journal as a role that may prune. Raises UnsupportedCapability where the service has none."""
        if self._pruner is None:
            raise UnsupportedCapability("retention over HTTP", "start the service with --admin-url, a pruner's")
        return self._pruner

    async def call(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """What the work returns, from a thread. Raises Refused where too much is queued, Unavailable where the database hangs."""
        self._pulse.check()
        if self._pending >= self._most:
            raise Refused(BUSY, "too much is queued: try again")
        self._pending += 1
        loop = asyncio.get_running_loop()
        future: Future[_T] = self._threads.submit(contextvars.copy_context().run, partial(work, *args, **kwargs))
        future.add_done_callback(lambda _: _on(loop, self._done))  # also where nobody awaits it any more
        return await self._pulse.while_it_beats(asyncio.wrap_future(future))

    async def newest(self) -> int:
        """The horizon. Raises what reading it raises, Unavailable where the database hangs."""
        self._pulse.check()
        newest = self._watcher.submit(lambda: self.journal.versions().newest)
        return await self._pulse.while_it_beats(asyncio.wrap_future(newest))

    def stop(self) -> None:
        """Ends what runs in the event loop."""
        self._pulse.stop()

    def _done(self) -> None:
        self._pending -= 1

    def close(self) -> None:
        """Lets what is being done come to its end, for as long as a service that ends has, and closes the connections."""
        deadline = time.monotonic() + self._grace_seconds
        for threads in (self._threads, self._watcher):
            threads.close(max(0.0, deadline - time.monotonic()))
        for journal in (self.journal, self._pruner):
            if journal is not None:
                journal.close()


def _log_passed(error: UnreadableEvent) -> None:
    """An event that is left out is named in the log, each time that it is."""
    logger.error("passed by: %s", error, extra={"action": "unreadable"})


def _on(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(callback)
