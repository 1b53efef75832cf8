"""Waking: one look at the horizon for all who wait for changes. Who waits holds no connection and no thread.

There is nothing to listen to: a commit is safe to read when the last writer below it ends, which no trigger sees. So the horizon is
read every few hundredths of a second while a client waits, and not otherwise. If a look takes long, it is read less often.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from dmsjournal.errors import JournalError
from dmsjournal.http.single_flight import Fresh
from dmsjournal.util.backoff import Backoff

logger = logging.getLogger("dmsjournal.http")

_LONGEST_WAIT = 1.0  # seconds between looks at a database that does not answer
_RESTS = 10  # times as long as a look took: SQL Server looks through all locks of the instance


class Waker:
    """Wakes who waits for the horizon to pass a version."""

    def __init__(self, newest: Callable[[], Awaitable[int]], poll_seconds: float, on_step_back: Callable[[], None]) -> None:
        self._read, self._poll_seconds, self._on_step_back = newest, poll_seconds, on_step_back
        self.newest = 0  # as of the last look
        self._waiting = 0
        self._steps_back = 0  # how often newest has fallen: the database is another one, or was restored
        self._announced = (0, 0)  # newest and steps back, as those who wait have heard
        self._is_stopping = False
        self._changed, self._wanted = asyncio.Event(), asyncio.Event()
        self._looks: Fresh[int] = Fresh()

    @property
    def is_stopping(self) -> bool:
        """Whether the service ends: nobody waits any more."""
        return self._is_stopping

    async def beyond(self, version: int, seconds: float) -> bool:
        """Whether the horizon has passed a version, waited for for so long at most; at once where the service ends.

        True also where the horizon has fallen meanwhile: whoever has read up to the version should look again.
        """
        self._waiting += 1
        steps_back = self._steps_back
        self._wanted.set()
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                while not self._is_stopping and self.newest <= version and steps_back == self._steps_back:
                    await self._changed.wait()
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._wanted.clear()
        return not self._is_stopping

    def stop(self) -> None:
        """Ends all waits, now and from now on."""
        self._is_stopping = True
        self._wake()

    async def now(self) -> int:
        """The horizon, read after this was asked. Raises what reading it raises."""
        return await self._looks.get(None, self._look)

    async def _look(self) -> int:
        newest = await self._read()
        if newest < self.newest:
            self._steps_back += 1
            self._on_step_back()
        self.newest = newest
        return newest

    async def run(self) -> None:
        """Looks at the horizon, until it is cancelled."""
        backoff = Backoff(self._poll_seconds, max(self._poll_seconds, _LONGEST_WAIT))
        while True:
            pause = self._poll_seconds
            await self._wanted.wait()
            began = time.monotonic()
            try:
                await self.now()
            except JournalError as error:
                if backoff.tries == 0:
                    logger.warning("the horizon cannot be read (%s)", type(error).__name__, extra={"action": "horizon_unread"})
                pause = backoff.next()
            except Exception:
                logger.exception("the horizon cannot be read", extra={"action": "horizon_unread"})
                pause = _LONGEST_WAIT
            else:
                backoff.reset()
                self._announce()
                pause = max(pause, _RESTS * (time.monotonic() - began))
            await asyncio.sleep(pause)

    def _announce(self) -> None:
        """Wakes who waits, where the horizon is another one than they have heard of. Looks of others wake nobody: they are many."""
        if (self.newest, self._steps_back) != self._announced:
            self._announced = (self.newest, self._steps_back)
            self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
