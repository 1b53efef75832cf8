"""The change feed as a list of puts and deletes: pages, long polls, a stream of server-sent events, figures, retention."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sse_starlette import EventSourceResponse
from sse_starlette.sse import SendTimeoutError
from starlette.types import Receive, Scope, Send

from dmsjournal.errors import CheckpointExpired, HistoryDiverged, InvalidRequest, JournalError
from dmsjournal.http.access import Admin, Reader, client_of, is_whole, refuse_limited
from dmsjournal.http.polling import wait_for_change
from dmsjournal.http.problems import (
    BUSY,
    DIVERGED,
    EXPIRED,
    TIMEOUT,
    TOO_LARGE,
    Refused,
    document_of,
    documented,
)
from dmsjournal.http.reading import EventPage, Selection
from dmsjournal.http.service import Service, service_of
from dmsjournal.windows import MAX_VERSION

router = APIRouter(prefix="/changefeed", tags=["change feed"])
logger = logging.getLogger("dmsjournal.http")

_STREAM_PAGE = 500  # events that are read at once for a stream
_RECONNECT_MS = 1000
_PAUSE = 0.5  # seconds between tries while the database does not answer

FromSeq = Annotated[
    int | None, Query(ge=0, le=MAX_VERSION, description="The last sequence seen, exclusive; without it from the oldest event.")
]
Limit = Annotated[int, Query(ge=1, le=10_000, description="Events of a page; the service's own limit may be lower.")]
KeyPrefix = Annotated[str, Query(max_length=500, description="Only keys that begin with this text, such as `students:`.")]
Versions = Annotated[Literal["number", "string"], Query(description="How versions and ids are written: JavaScript needs strings.")]


class ChangeEvent(BaseModel):
    """A change of a document."""

    sequence: int | str = Field(description="Orders the events, with gaps.")
    type: Literal["PUT", "DELETE"]
    key: str = Field(description="<resource>:<uuid of the document>")
    value: Any = Field(description="The document's body where this is its last change and a body is kept, else null.")
    timestamp_ms: int
    metadata: dict[str, Any]


class ChangePage(BaseModel):
    """Some changes. Go on with `from_seq` = `latest_sequence`, also where there are none."""

    events: list[ChangeEvent]
    count: int
    latest_sequence: int | str = Field(description="Everything up to it was looked at.")


class Stats(BaseModel):
    """Figures of the journal. Rows are estimated."""

    total_events: int
    latest_sequence: int = Field(description="The horizon: every writer at or below it has finished.")
    total_size_bytes: int
    horizon: int
    floor: int = Field(description="Events up to it have been pruned.")
    lag_versions: int | None = Field(description="How far the horizon is below the last stamp; null where the role may not see it.")
    lag_seconds: float


class Retention(BaseModel):
    """What is to go."""

    model_config = ConfigDict(extra="forbid", strict=True)

    before_sequence: int = Field(ge=1, le=MAX_VERSION, description="Events strictly below it are deleted.")


class Holder(BaseModel):
    """The consumer that a retention stopped at."""

    name: str
    change_version: int


class Retained(BaseModel):
    """What has gone. `finished` is false where time was over: ask again."""

    deleted: int
    floor: int
    finished: bool
    held_by: Holder | None = Field(description="The consumer that it stopped at.")


@router.get("", summary="A page of changes", response_model=ChangePage, responses=documented(EXPIRED, DIVERGED, BUSY))
async def changes(
    request: Request,
    token: Reader,
    from_seq: FromSeq = None,
    limit: Limit = 100,
    long_poll_ms: Annotated[int, Query(ge=0, le=60_000, description="How long to wait for a change where there is none.")] = 0,
    key_prefix: KeyPrefix = "",
    versions: Versions = "number",
) -> Response:
    """The next changes, oldest first, each once. An empty page moves `latest_sequence` too, past what the prefix leaves out."""
    service = service_of(request)
    selection = Selection(key_prefix, token.resources)
    asked = (selection, min(limit, service.settings.largest_page), versions == "string")
    with ExitStack() as slot:
        if long_poll_ms:
            slot.enter_context(service.waiting.one(client_of(request, token), token.streams))
        page = await _polled(request, service, from_seq, asked, long_poll_ms / 1000)
    service.metrics.events += len(page.events)
    return Response(_body(page, versions == "string"), media_type="application/json")


_Asked = tuple[Selection, int, bool]


async def _polled(request: Request, service: Service, after: int | None, asked: _Asked, seconds: float) -> EventPage:
    """The first page that has an event, or the last one that could be had in time."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    page = await service.read_events(after, *asked)
    while not page.events and (left := deadline - loop.time()) > 0:
        if not page.is_at_end:
            page = await service.read_events(page.latest, *asked)
        elif await wait_for_change(request, page.latest, left):
            page = await service.read_events(page.latest, *asked, at=service.waker.newest)
        else:
            break
    return page


def _body(page: EventPage, as_text: bool) -> bytes:
    latest = b'"%d"' if as_text else b"%d"
    return (b'{"events":[%b],"count":%d,"latest_sequence":' + latest + b"}") % (page.listed, len(page.events), page.latest)


_SSE: dict[str, Any] = {
    "type": "object",
    "description": "One event. Comments and an id without data come too.",
    "properties": {
        "event": {"enum": ["change", "expired", "diverged"]},
        "id": {"type": "string", "description": "The sequence: send the last one as Last-Event-ID."},
        "data": {"type": "string", "description": "JSON: a change as in a page, or a problem document."},
        "retry": {"type": "integer"},
    },
}


@router.get(
    "/stream",
    summary="Changes as they come: server-sent events",
    response_class=EventSourceResponse,
    responses={200: {"content": {"text/event-stream": {"schema": _SSE}}}, **documented(BUSY)},
)
async def stream(
    request: Request,
    token: Reader,
    from_seq: FromSeq = None,
    last_event_id: Annotated[str | None, Header(description="The last id seen; it overrides from_seq.")] = None,
    key_prefix: KeyPrefix = "",
    heartbeat_ms: Annotated[
        int, Query(ge=100, le=60_000, description="A comment is sent where nothing else was for so long.")
    ] = 15_000,
    keep_alive: Annotated[bool, Query(description="Go on at the end, and wait for more; without it the stream ends there.")] = True,
    max_seconds: Annotated[
        int, Query(ge=1, le=60, description="The stream ends after so long: connect again, from the last id.")
    ] = 30,
    versions: Versions = "number",
) -> Response:
    """Events are `change`, whose data is as in a page, and `expired` and `diverged`, whose data is a problem document: stop there.

    `id` is the sequence of a change; one without data says that nothing up to it was wanted.
    """
    service = service_of(request)
    after = from_seq if last_event_id is None else _cursor(last_event_id)
    asked = (Selection(key_prefix, token.resources), min(_STREAM_PAGE, service.settings.largest_page), versions == "string")
    with ExitStack() as stack:
        stack.enter_context(service.waiting.one(client_of(request, token), token.streams))
        first: EventPage | Exception
        try:
            first = await service.read_events(after, *asked)
        except (CheckpointExpired, HistoryDiverged) as error:
            first = error  # an EventSource cannot read what an error's response says
        frames = _Frames(service, asked, first, heartbeat_ms / 1000, max_seconds, keep_alive)
        return _Stream(frames.sent(), stack.pop_all(), service.settings.send_seconds)


def _cursor(text: str) -> int:
    if is_whole(text) and len(text) <= 20 and 0 <= int(text) <= MAX_VERSION:
        return int(text)
    raise InvalidRequest("Last-Event-ID", text, "it is no id of an event: leave it out, or send one unchanged")


class _Frames:
    """What one stream sends. Nothing is read before what was read has gone out, so a slow client holds one page."""

    def __init__(
        self,
        service: Service,
        asked: _Asked,
        first: EventPage | Exception,
        heartbeat: float,
        max_seconds: float,
        keep_alive: bool,
    ) -> None:
        self._service, self._asked, self._first = service, asked, first
        self._heartbeat, self._keep_alive = heartbeat, keep_alive
        self._deadline = asyncio.get_running_loop().time() + max_seconds
        self._told = 0  # the last id that the client knows

    async def sent(self) -> AsyncIterator[bytes]:
        """The frames, one or more at once."""
        yield b"retry: %d\n\n" % _RECONNECT_MS
        page = self._first
        while isinstance(page, EventPage):
            for chunk in page.chunks:
                yield chunk
            self._note(page)
            woken_at = None
            if page.is_at_end:
                if not self._keep_alive:
                    break
                async for heartbeat in self._waited(page.latest):
                    yield heartbeat
                woken_at = self._service.waker.newest
            if self._is_over():
                break
            following = await self._following(page.latest, woken_at)
            if following is None:
                yield b": the database does not answer\n\n"
                await self._service.waker.beyond(MAX_VERSION, _PAUSE)  # that is: unless the service ends
            page = following or replace(page, events=())
        if isinstance(page, EventPage):
            if page.latest > self._told:
                yield self._moved(page.latest) + b"\n"
        else:
            yield self._last_word(page)

    def _note(self, page: EventPage) -> None:
        if page.events:
            self._told = page.events[-1].sequence
            self._service.metrics.events += len(page.events)

    async def _waited(self, latest: int) -> AsyncIterator[bytes]:
        """Heartbeats, until there is more or the stream is over."""
        loop = asyncio.get_running_loop()
        while not self._is_over():
            if await self._service.waker.beyond(latest, min(self._heartbeat, self._deadline - loop.time())):
                return
            if not self._is_over():
                yield self._moved(latest) + b": heartbeat\n\n"

    def _moved(self, latest: int) -> bytes:
        """The id of what was looked at, where no event has told it: without data it is noted and no event."""
        if latest <= self._told:
            return b""
        self._told = latest
        return b"id: %d\n" % latest

    async def _following(self, after: int, woken_at: int | None) -> EventPage | Exception | None:
        """The next page; an error that ends the stream; None where the database does not answer."""
        try:
            return await self._service.read_events(after, *self._asked, at=woken_at)
        except (CheckpointExpired, HistoryDiverged) as error:
            return error
        except (JournalError, Refused) as error:
            logger.warning("a stream cannot go on yet (%s)", type(error).__name__, extra={"action": "stream_waits"})
            return None

    def _last_word(self, error: Exception) -> bytes:
        name = b"expired" if isinstance(error, CheckpointExpired) else b"diverged"
        found = document_of(error, text_versions=self._asked[2])
        return b"event: %b\ndata: %b\n\n" % (name, msgspec.json.encode(found))

    def _is_over(self) -> bool:
        return self._service.waker.is_stopping or asyncio.get_running_loop().time() >= self._deadline


class _Stream(EventSourceResponse):
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


@router.get("/stats", summary="Figures", response_model=Stats, responses=documented())
async def stats(request: Request, token: Reader) -> Stats:
    """How much there is, and how far it is behind; at most a second old. Not for tokens that may read some resources only."""
    refuse_limited(token)
    status = await request.app.state.status.get()
    journals = {journal.name: journal for journal in status.journals}
    counted = [journals[name] for name in ("DocumentChangeEvent", "DocumentDeleteEvent")]
    return Stats(
        total_events=sum(journal.rows for journal in counted),
        latest_sequence=status.newest,
        total_size_bytes=sum(journal.bytes for journal in counted),
        horizon=status.newest,
        floor=max(journal.floor for journal in [*counted, journals["KeyChangeEvent"]]),
        lag_versions=status.lag_versions,
        lag_seconds=status.lag_seconds,
    )


async def _asked_retention(request: Request, token: Admin) -> Retention:
    """The body, which is looked at once it is known who sends it: the framework would do so before."""
    try:
        return Retention.model_validate_json(await request.body())
    except ValidationError as error:
        raise RequestValidationError([{**each, "loc": ("body", *each["loc"])} for each in error.errors()]) from error


@router.post(
    "/retention",
    summary="Delete old events",
    response_model=Retained,
    responses=documented(TIMEOUT, TOO_LARGE),
    openapi_extra={"requestBody": {"required": True, "content": {"application/json": {"schema": Retention.model_json_schema()}}}},
)
async def retention(request: Request, token: Admin, asked: Annotated[Retention, Depends(_asked_retention)]) -> Retained:
    """Deletes events strictly below a sequence, of all journals, as far as registered consumers have read. Documents stay."""
    service = service_of(request)
    pruned = await service.prune(asked.before_sequence - 1)
    logger.info("retention through %d by %s", pruned.through, token.name, extra={"action": "retention", "deleted": pruned.deleted})
    holder = pruned.held_by
    return Retained(
        deleted=pruned.deleted,
        floor=min(journal.floor for journal in pruned.journals),
        finished=pruned.finished,
        held_by=None if holder is None else Holder(name=holder.name, change_version=holder.change_version),
    )
