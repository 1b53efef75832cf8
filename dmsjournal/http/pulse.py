"""The pulse: whether the database answers at all, asked where a call takes long. A hung server keeps connections and says nothing.

Its kernel acknowledges what it is sent, so no limit of TCP's ends a wait for it, and it cannot end a statement that takes too long.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from dmsjournal.errors import Unavailable
from dmsjournal.util.concurrency import in_thread

logger = logging.getLogger("dmsjournal.http")

_T = TypeVar("_T")

_PAUSE = 0.5  # seconds between two looks at a database that was silent


class Pulse:
    """Tells a database that hangs from one that takes its time.

    `beat` logs in and asks the least there is, with more than `seconds` for its login. A call has half of `seconds` until somebody
    looks; then the database has `seconds` for a beat. An error is an answer, too: calls find it by themselves. `cut_off` ends what
    waits for a database that hangs, the beat too.
    """

    def __init__(self, beat: Callable[[], object], seconds: float, cut_off: Callable[[], None]) -> None:
        self._beat, self._seconds, self._cut_off = beat, seconds, cut_off
        self._look: asyncio.Task[None] | None = None
        self._is_silent = False

    def check(self) -> None:
        """Raises Unavailable while the database hangs."""
        if self._is_silent:
            raise _silence()

    async def while_it_beats(self, call: asyncio.Future[_T]) -> _T:
        """What a call of the database gives. Raises Unavailable as soon as it is known to hang, and cancels the call."""
        try:
            while not (await asyncio.wait({call}, timeout=self._seconds / 2))[0]:
                if not self._is_silent:
                    either: set[asyncio.Future[Any]] = {call, self._looking()}
                    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                if self._is_silent and not call.done():
                    raise _silence()
            return call.result()
        finally:
            call.cancel()

    def stop(self) -> None:
        """Looks no more."""
        if self._look is not None:
            self._look.cancel()

    def _looking(self) -> asyncio.Task[None]:
        """The look of now, which all who ask share."""
        if self._look is None or self._look.done():
            self._look = asyncio.create_task(self._listen())
        return self._look

    async def _listen(self) -> None:
        """One look; where the database is silent it goes on in the background until that is over."""
        if await self._beats():
            return
        self._is_silent = True
        logger.error("the database does not answer: it hangs", extra={"action": "database_silent"})
        self._cut_off()
        self._look = asyncio.create_task(self._until_it_beats())

    async def _until_it_beats(self) -> None:
        while not await self._beats():
            self._cut_off()
            await asyncio.sleep(_PAUSE)
        self._is_silent = False
        logger.info("the database answers again", extra={"action": "database_answers"})

    async def _beats(self) -> bool:
        beat = asyncio.wrap_future(in_thread(self._beat))
        done, _ = await asyncio.wait({beat}, timeout=self._seconds)
        if not done:
            beat.cancel()
            return False
        with suppress(Exception):  # it is looked at: an error is an answer
            beat.result()
        return True


def _silence() -> Unavailable:
    return Unavailable("the database does not answer", "it hangs: try again when it is up")
