"""The change feed as a list of puts and deletes: pages, long polls, a stream of server-sent events, figures, retention."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sse_starlette import EventSourceResponse

from dmsjournal.errors import CheckpointExpired, HistoryDiverged, InvalidRequest
from dmsjournal.events.cdc import EventFilter
from dmsjournal.http.access import Admin, Reader, StreamReader, client_of, is_whole, refuse_limited
from dmsjournal.http.event_filters import Filters
from dmsjournal.http.event_pages import EventPage, Selection
from dmsjournal.http.event_stream import NO_ANSWER, RECONNECT, EventStream, Frames, Pace, described, no_id, pace_of
from dmsjournal.http.long_poll import wait_for_change
from dmsjournal.http.problems import (
    BUSY,
    DIVERGED,
    EXPIRED,
    TIMEOUT,
    TOO_LARGE,
    documented,
)
from dmsjournal.http.security import Token
from dmsjournal.http.service import Service, service_of
from dmsjournal.model.windows import MAX_VERSION

router = APIRouter(prefix="/changefeed", tags=["change feed"])
logger = logging.getLogger("dmsjournal.http")

_PAGE = 100  # events, without a limit
_STREAM_PAGE = 500  # events that are read at once for a stream

FromSeq = Annotated[
    int | None, Query(ge=0, le=MAX_VERSION, description="The last sequence seen, exclusive; without it from the oldest event.")
]
Limit = Annotated[
    int | None,
    Query(ge=1, le=10_000, description="Events of a page; 100 without it. Above the service's own limit it is an error."),
]
KeyPrefix = Annotated[str, Query(max_length=500, description="Only keys that begin with this text, such as `students:`.")]
Values = Annotated[
    Literal["text", "json"], Query(description="How a document's body is given: as JSON text, as published, or as an object.")
]
Keys = Annotated[
    Literal["pk", "uuid"],
    Query(
        description="What keys have: the document's own key, where a key change is a DELETE and a PUT; or its uuid, which stays."
    ),
]
Versions = Annotated[Literal["number", "string"], Query(description="How versions and ids are written: JavaScript needs strings.")]


class ChangefeedEvent(BaseModel):
    """A change of a document."""

    sequence: int | str = Field(description="Orders the events, with gaps.")
    type: Literal["PUT", "DELETE"]
    key: str = Field(description="<table>:<key of the document>")
    value: Any = Field(
        description="The document's body, as JSON text, where this is its last change and a body is kept, else null."
    )
    timestamp_ms: int
    metadata: dict[str, Any]


class ChangefeedPage(BaseModel):
    """Some changes. Go on with `from_seq` = `next_sequence`, also where there are none."""

    events: list[ChangefeedEvent]
    count: int
    latest_sequence: int | str = Field(description="The newest that can be read, as in the figures: the page may end before it.")
    next_sequence: int | str = Field(description="Everything up to it was looked at: the next `from_seq`.")
    oldest_sequence: int | str = Field(description="The oldest that is kept. What came before it was pruned.")


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


class HorizonHolder(BaseModel):
    """The consumer that a retention stopped at."""

    name: str
    change_version: int


class Retained(BaseModel):
    """What has gone. `finished` is false where time was over: ask again."""

    deleted: int
    floor: int
    finished: bool
    held_by: HorizonHolder | None = Field(description="The consumer that it stopped at.")


@router.get("", summary="A page of changes", response_model=ChangefeedPage, responses=documented(EXPIRED, DIVERGED, BUSY))
async def changes(
    request: Request,
    token: Reader,
    wanted: Filters,
    from_seq: FromSeq = None,
    limit: Limit = None,
    long_poll_ms: Annotated[int, Query(ge=0, le=60_000, description="How long to wait for a change where there is none.")] = 0,
    key_prefix: KeyPrefix = "",
    values: Values = "text",
    keys: Keys = "pk",
    versions: Versions = "number",
) -> Response:
    """The next changes, oldest first, each once. An empty page moves `next_sequence` too, past what the prefix leaves out."""
    service = service_of(request)
    selection = _selection(key_prefix, token, wanted, values, keys, versions)
    asked = (selection, service.page_size(limit, _PAGE))
    with ExitStack() as slot:
        if long_poll_ms:
            slot.enter_context(service.waiting.one(client_of(request, token), token.streams))
        page = await _polled(request, service, from_seq, asked, long_poll_ms / 1000)
    service.metrics.events.inc(len(page.events))
    return Response(_body(page, versions == "string"), media_type="application/json")


_Asked = tuple[Selection, int]


def _selection(
    prefix: str, token: Token, wanted: Mapping[str, tuple[str, ...]], values: str, keys: str, versions: str
) -> Selection:
    return Selection(
        prefix,
        token.resources,
        EventFilter(**wanted) if wanted else None,
        by_uuid=keys == "uuid",
        as_text=versions == "string",
        as_json=values == "json",
    )


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
    number = b'"%d"' if as_text else b"%d"
    sequences = b'"latest_sequence":%b,"next_sequence":%b,"oldest_sequence":%b' % (number, number, number)
    numbers = sequences % (max(page.horizon, page.latest), page.latest, page.oldest)
    return b'{"events":[%b],"count":%d,%b}' % (page.listed, len(page.events), numbers)


_SSE = described(
    ["expired", "diverged"],
    event="What a frame without the field is: message, a change. The others are problems.",
    id_="The sequence: send the last one as Last-Event-ID.",
    data="JSON: a change as in a page, or a problem document.",
)


@router.get(
    "/stream",
    summary="Changes as they come: server-sent events",
    response_class=EventSourceResponse,
    responses={200: {"content": {"text/event-stream": {"schema": _SSE}}}, **documented(BUSY)},
)
async def stream(
    request: Request,
    token: StreamReader,
    wanted: Filters,
    pace: Annotated[Pace, Depends(pace_of)],
    from_seq: FromSeq = None,
    last_event_id: Annotated[str | None, Header(description="The last id seen; it overrides from_seq.")] = None,
    key_prefix: KeyPrefix = "",
    values: Values = "text",
    keys: Keys = "pk",
    versions: Versions = "number",
) -> Response:
    """Changes are plain messages, whose data is as in a page. Events `expired` and `diverged` have a problem document: stop there.

    `id` is the sequence of a change; one without data says that nothing up to it was wanted.
    """
    service = service_of(request)
    after = from_seq if not last_event_id else _cursor(last_event_id)
    asked = (_selection(key_prefix, token, wanted, values, keys, versions), service.page_size(None, _STREAM_PAGE))
    with ExitStack() as stack:
        stack.enter_context(service.waiting.one(client_of(request, token), token.streams))
        first: EventPage | Exception
        try:
            first = await service.read_events(after, *asked)
        except (CheckpointExpired, HistoryDiverged) as error:
            first = error  # an EventSource cannot read what an error's response says
        frames = _Frames(service, asked, first, pace)
        return EventStream(frames.sent(), stack.pop_all(), service.settings.send_seconds)


def _cursor(text: str) -> int:
    if is_whole(text) and len(text) <= 20 and 0 <= int(text) <= MAX_VERSION:
        return int(text)
    raise no_id(text)


class _Frames(Frames):
    """What one stream sends. Nothing is read before what was read has gone out, so a slow client holds one page."""

    def __init__(self, service: Service, asked: _Asked, first: EventPage | Exception, pace: Pace) -> None:
        super().__init__(service, pace)
        self._asked, self._first = asked, first
        self._last_sent = 0  # the last id that the client knows

    async def sent(self) -> AsyncIterator[bytes]:
        """The frames, one or more at once."""
        yield RECONNECT
        page = self._first
        while isinstance(page, EventPage):
            for chunk in page.chunks:
                yield chunk
            self._note(page)
            woken_at = None
            if page.is_at_end:
                if not self._pace.keep_alive:
                    break
                async for heartbeat in self._waited(page.latest, partial(self._moved, page.latest)):
                    yield heartbeat
                woken_at = self._service.waker.newest
            if self._is_over():
                break
            following = await self._answer(self._service.read_events(page.latest, *self._asked, at=woken_at))
            if following is None:
                yield NO_ANSWER
                await self._pause()
            page = following or replace(page, events=())
        if isinstance(page, EventPage):
            if page.latest > self._last_sent:
                yield self._moved(page.latest) + b"\n"
        else:
            yield self._last_word(page, text_versions=self._asked[0].as_text)

    def _note(self, page: EventPage) -> None:
        if page.events:
            self._last_sent = page.events[-1].sequence
            self._service.metrics.events.inc(len(page.events))

    def _moved(self, latest: int) -> bytes:
        """The id of what was looked at, where no event has told it: without data it is noted and no event."""
        if latest <= self._last_sent:
            return b""
        self._last_sent = latest
        return b"id: %d\n" % latest


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
    try:
        pruned = await service.prune(asked.before_sequence - 1)
    except InvalidRequest as error:
        raise InvalidRequest("before_sequence", asked.before_sequence, error.remedy) from error
    logger.info("retention through %d by %s", pruned.through, token.name, extra={"action": "retention", "deleted": pruned.deleted})
    holder = pruned.held_by
    return Retained(
        deleted=pruned.deleted,
        floor=min(journal.floor for journal in pruned.journals),
        finished=pruned.finished,
        held_by=None if holder is None else HorizonHolder(name=holder.name, change_version=holder.change_version),
    )
