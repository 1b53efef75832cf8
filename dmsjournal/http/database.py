"""The database as the event loop sees it: blocking work runs in a bounded number of threads, each with one connection at most."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from dmsjournal.connecting import engine_for
from dmsjournal.errors import UnsupportedCapability
from dmsjournal.http.problems import BUSY, Refused
from dmsjournal.http.settings import Settings
from dmsjournal.journal import Journal

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Database:
    """The journal, and the threads that ask it. The horizon has a thread of its own: no slow page keeps who waits from waking."""

    def __init__(self, settings: Settings) -> None:
        pool = engine_for(settings.url, settings.connections + 1, settings.statement_seconds)
        self.journal = Journal(pool)
        self._names = (pool.dialect.name, str(pool.url.database))
        self._pruner = (
            None if settings.admin_url is None else Journal(engine_for(settings.admin_url, 1, settings.statement_seconds))
        )
        self._threads = ThreadPoolExecutor(settings.connections, "dmsjournal-http")
        self._watcher = ThreadPoolExecutor(1, "dmsjournal-horizon")
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
        """What the work returns, from a thread. Raises Refused where too much is queued."""
        if self._pending >= self._most:
            raise Refused(BUSY, "too much is queued: try again")
        self._pending += 1
        loop = asyncio.get_running_loop()
        future: Future[_T] = self._threads.submit(contextvars.copy_context().run, partial(work, *args, **kwargs))
        future.add_done_callback(lambda _: _on(loop, self._done))  # also where nobody awaits it any more
        return await asyncio.wrap_future(future)

    async def newest(self) -> int:
        """The horizon."""
        return await asyncio.wrap_future(self._watcher.submit(lambda: self.journal.versions().newest))

    def _done(self) -> None:
        self._pending -= 1

    def close(self) -> None:
        """Lets what is being done come to its end, and closes the connections."""
        for threads in (self._threads, self._watcher):
            threads.shutdown(wait=True, cancel_futures=True)
        for journal in (self.journal, self._pruner):
            if journal is not None:
                journal.close()


def _on(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(callback)
