"""Streams of server-sent events: what the change feed's and the portable feed's have in common."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import Query
from sse_starlette import EventSourceResponse
from sse_starlette.sse import SendTimeoutError
from starlette.types import Receive, Scope, Send

from dmsjournal.errors import CheckpointExpired, HistoryDiverged, InvalidRequest, JournalError
from dmsjournal.http.problems import Refused, document_of
from dmsjournal.http.service import Service
from dmsjournal.model.windows import MAX_VERSION

logger = logging.getLogger("dmsjournal.http")

RECONNECT = b"retry: 1000\n\n"  # milliseconds
NO_ANSWER = b": the database does not answer\n\n"
_PAUSE = 0.5  # seconds between tries while the database does not answer
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a stream lasts, and what it does at the end of the events. Both times are seconds."""

    heartbeat: float
    keep_alive: bool
    max_seconds: float


async def pace_of(
    heartbeat_ms: Annotated[
        int, Query(ge=100, le=60_000, description="A comment is sent where nothing else was for so long.")
    ] = 15_000,
    keep_alive: Annotated[bool, Query(description="Go on at the end, and wait for more; without it the stream ends there.")] = True,
    max_seconds: Annotated[
        int, Query(ge=1, le=60, description="The stream ends after so long: connect again, with the last id.")
    ] = 30,
) -> Pace:
    """The parameters of each stream."""
    return Pace(heartbeat_ms / 1000, keep_alive, max_seconds)


def described(names: list[str], event: str, id_: str, data: str) -> dict[str, Any]:
    """What OpenAPI says of a frame: the names of events besides `message`, and what each field has."""
    return {
        "type": "object",
        "description": "One event. Comments and an id without data come too.",
        "properties": {
            "event": {"enum": ["message", *names], "description": event},
            "id": {"type": "string", "description": id_},
            "data": {"type": "string", "description": data},
            "retry": {"type": "integer"},
        },
    }


def no_id(text: str) -> InvalidRequest:
    """The refusal of a Last-Event-ID that no stream has sent."""
    return InvalidRequest("Last-Event-ID", text, "it is no id of an event: leave it out, or send one unchanged")


class Frames:
    """What one stream sends, apart from its events. A subclass reads the next page only after it has sent the last one."""

    def __init__(self, service: Service, pace: Pace) -> None:
        self._service, self._pace = service, pace
        self._deadline = asyncio.get_running_loop().time() + pace.max_seconds

    async def _waited(self, horizon: int, moved: Callable[[], bytes]) -> AsyncIterator[bytes]:
        """Heartbeats, each with the id that `moved` gives, until there is more above the horizon or the stream is over."""
        loop = asyncio.get_running_loop()
        while not self._is_over():
            if await self._service.waker.beyond(horizon, min(self._pace.heartbeat, self._deadline - loop.time())):
                return
            if not self._is_over():
                yield moved() + b": heartbeat\n\n"

    async def _answer(self, reading: Awaitable[_T]) -> _T | Exception | None:
        """The next page; an error that ends the stream; None where the database does not answer."""
        try:
            return await reading
        except (CheckpointExpired, HistoryDiverged) as error:
            return error
        except (JournalError, Refused) as error:
            logger.warning("a stream cannot go on yet (%s)", type(error).__name__, extra={"action": "stream_waits"})
            return None

    async def _pause(self) -> None:
        """Waits before the next try, unless the service ends."""
        await self._service.waker.beyond(MAX_VERSION, _PAUSE)

    def _last_word(self, error: Exception, *, text_versions: bool = False) -> bytes:
        name = b"expired" if isinstance(error, CheckpointExpired) else b"diverged"
        found = document_of(error, text_versions=text_versions)
        return b"event: %b\ndata: %b\n\n" % (name, msgspec.json.encode(found))

    def _is_over(self) -> bool:
        return self._service.waker.is_stopping or asyncio.get_running_loop().time() >= self._deadline


class EventStream(EventSourceResponse):
    """The response of a stream: it gives back its place when it ends, and cuts off a client that does not read."""

    def __init__(self, frames: AsyncIterator[bytes], slot: ExitStack, send_seconds: float) -> None:
        super().__init__(frames, ping=0, sep="\n", send_timeout=send_seconds)
        self._slot = slot

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._slot:
            try:
                await super().__call__(scope, receive, send)
            except SendTimeoutError:
                logger.info("a client did not read its stream", extra={"action": "stream_cut_off"})
                if (abort := scope.get("state", {}).get("abort")) is not None:
                    abort()
                    await asyncio.sleep(0)  # in which the server hears of it
