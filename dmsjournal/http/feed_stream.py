"""The portable feed as it comes: server-sent events in any format, resumable by the id of the last one.

An id is a token, or the token of the page before and the event's own id, joined by a tilde: the events of that page up to it are
left out when the stream goes on. So ids need no place in the database, and outlive the service.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Annotated
from uuid import UUID

import msgspec
from fastapi import APIRouter, Depends, Header, Request, Response
from sse_starlette import EventSourceResponse

from dmsjournal.errors import CheckpointExpired, HistoryDiverged
from dmsjournal.feed.starts import FromToken
from dmsjournal.feed.tokens import LONGEST
from dmsjournal.http.access import StreamReader, client_of
from dmsjournal.http.event_stream import NO_ANSWER, RECONNECT, EventStream, Frames, Pace, described, no_id, pace_of
from dmsjournal.http.feed import FeedQuestion, Found, asked_of, read, refuse_unreadable_feed
from dmsjournal.http.problems import BUSY, NOT_FOUND, documented
from dmsjournal.http.security import Token
from dmsjournal.http.service import Service, service_of

router = APIRouter(prefix="/feed", tags=["feed"])

_PAGE = 500  # events that are read at once
_CHUNK = 32 * 1024  # bytes that are sent at once

_SSE = described(
    ["expired", "diverged", "retired"],
    event="What a frame without the field is: message, an event of the feed.",
    id_="Send the last one as Last-Event-ID, or, where it has no tilde, as `token`.",
    data="JSON: an event as the format writes it, or what the event's name says.",
)


@router.get(
    "/stream",
    summary="Events as they come: server-sent events",
    response_class=EventSourceResponse,
    responses={200: {"content": {"text/event-stream": {"schema": _SSE}}}, **documented(NOT_FOUND, BUSY)},
)
async def stream(
    request: Request,
    bearer: StreamReader,
    asked: Annotated[FeedQuestion, Depends(asked_of)],
    pace: Annotated[Pace, Depends(pace_of)],
    last_event_id: Annotated[str | None, Header(description="The last id seen; it overrides token and start.")] = None,
) -> Response:
    """Events of the feed are plain messages. `expired` and `diverged` have a problem document: stop there.

    `retired` ends a partition, and has those that go on, with their tokens.
    """
    service = service_of(request)
    refuse_unreadable_feed(bearer, asked.request, service)
    size = min(_PAGE, service.settings.largest_page)
    asked = replace(asked, request=replace(asked.request, max_page_size=size))
    seen: UUID | None = None
    if last_event_id:
        token, seen = _place(last_event_id)
        asked = _from(asked, token)
    with ExitStack() as stack:
        stack.enter_context(service.waiting.one(client_of(request, bearer), bearer.streams))
        first: Found | Exception
        begun = ""
        try:
            begun = await service.database.call(service.database.journal.feed_start, asked.request)
            asked = _from(asked, begun)
            first = await service.database.call(read, service, asked, bearer)
        except (CheckpointExpired, HistoryDiverged) as error:
            first = error  # an EventSource cannot read what an error's response says
        frames = _Frames(service, asked, bearer, begun, first, seen, pace)
        return EventStream(frames.sent(), stack.pop_all(), service.settings.send_seconds)


def _place(text: str) -> tuple[str, UUID | None]:
    """The token of an id, and the event behind it that was seen last. Raises InvalidRequest."""
    token, tilde, event = text.partition("~")
    try:
        if not text.isascii() or len(token) > LONGEST:
            raise ValueError
        return token, UUID(event) if tilde else None
    except ValueError as error:
        raise no_id(text) from error


def _from(asked: FeedQuestion, token: str) -> FeedQuestion:
    return replace(asked, request=replace(asked.request, start=FromToken(token)))


class _Frames(Frames):
    """What one stream sends. Nothing is read before what was read has gone out, so a slow client holds one page."""

    def __init__(
        self,
        service: Service,
        asked: FeedQuestion,
        bearer: Token,
        begun: str,
        first: Found | Exception,
        seen: UUID | None,
        pace: Pace,
    ) -> None:
        super().__init__(service, pace)
        self._asked, self._bearer, self._first, self._seen = asked, bearer, first, seen
        self._token = begun  # of the page before
        self._told = begun  # the last token that the client knows

    async def sent(self) -> AsyncIterator[bytes]:
        """The frames, one or more at once."""
        yield RECONNECT
        found: Found | Exception | None = self._first
        while isinstance(found, Found):
            for chunk in self._chunks(found):
                yield chunk
            self._service.metrics.events.inc(len(found.lines))
            self._token = found.page.token
            if found.page.partition_retired:
                yield self._retired(found)
                return
            if found.page.idle:
                if not self._pace.keep_alive:
                    break
                async for heartbeat in self._waited(found.page.diagnostics.horizon or 0, self._moved):
                    yield heartbeat
            if self._is_over():
                break
            following = await self._following()
            while following is None and not self._is_over():
                yield NO_ANSWER
                await self._pause()
                following = await self._following()
            found = following
        if isinstance(found, Exception):
            yield self._last_word(found)
        elif moved := self._moved():
            yield moved + b"\n"

    def _chunks(self, found: Found) -> list[bytes]:
        """The frames of a page's events, those left out that the client has seen, in parts that are sent one by one."""
        ids, lines = found.ids, found.lines
        if self._seen is not None and self._seen in ids:
            behind = ids.index(self._seen) + 1
            ids, lines = ids[behind:], lines[behind:]
        self._seen = None
        frames = [
            b"id: %b~%b\ndata: %b\n\n" % (self._token.encode(), id_.hex.encode(), line)
            for id_, line in zip(ids, lines, strict=True)
        ]
        if lines:
            frames[-1] = b"id: %b\ndata: %b\n\n" % (found.page.token.encode(), lines[-1])
            self._told = found.page.token
        joined = b"".join(frames)
        return [joined[begin : begin + _CHUNK] for begin in range(0, len(joined), _CHUNK)]

    def _moved(self) -> bytes:
        """The token of what was looked at, where no event has told it: without data it is noted and no event."""
        if self._token == self._told:
            return b""
        self._told = self._token
        return b"id: %b\n" % self._token.encode()

    async def _following(self) -> Found | Exception | None:
        asked = _from(self._asked, self._token)
        return await self._answer(self._service.database.call(read, self._service, asked, self._bearer))

    def _retired(self, found: Found) -> bytes:
        children = [
            {"partition": child.scope.id, "token": child.token, "parents": child.parents} for child in found.page.child_partitions
        ]
        return b"event: retired\ndata: %b\n\n" % msgspec.json.encode({"child_partitions": children})
