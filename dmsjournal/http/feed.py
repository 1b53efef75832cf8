"""The portable feed: pages of events with opaque tokens, in any event format, and the partitions that it can be read in."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec
from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, Field

from dmsjournal.errors import InvalidRequest
from dmsjournal.events import formats
from dmsjournal.events.encoding import encoder
from dmsjournal.feed.events import Effects, FeedEvent, FeedEventType
from dmsjournal.feed.pages import FeedPage
from dmsjournal.feed.requests import MAX_PAGE_SIZE, FeedFilter, FeedRequest, NewItemStateMode, carried
from dmsjournal.feed.scopes import EntireCollection, FeedScope, LogicalPartition, PhysicalPartition
from dmsjournal.feed.starts import AfterVersion, AtTime, Beginning, FromToken, Now, StartPosition
from dmsjournal.feed.tokens import LONGEST
from dmsjournal.http.access import Reader, client_of, is_whole
from dmsjournal.http.event_filters import Filters
from dmsjournal.http.long_poll import wait_for_change
from dmsjournal.http.problems import BUSY, DIVERGED, EXPIRED, FORBIDDEN, NOT_FOUND, Refused, documented
from dmsjournal.http.security import Token
from dmsjournal.http.service import Service, service_of
from dmsjournal.model.resources import ResourceKey
from dmsjournal.operate.held_back import HeldBack
from dmsjournal.util.json import decoded

_PAGE = 100  # events, without a limit

router = APIRouter(prefix="/feed", tags=["feed"])

_SCOPES = 'all, resource:ed-fi/students, partition:1-0, document:7 or key:ed-fi/students:{"studentUniqueId":"604822"}'
_encode = encoder()


@dataclass(frozen=True, slots=True)
class FeedQuestion:
    """What is read of the feed, and how it is written."""

    request: FeedRequest
    writer: formats.Writer


class Child(BaseModel):
    """A partition that goes on where a retired one ends."""

    partition: str
    token: str
    parents: list[str]


class Diagnostics(BaseModel):
    """How far the page is behind, and what it cost."""

    rows_scanned: int
    horizon: int | None
    lag_versions: int | None
    lag_seconds: float | None
    oldest: int | None = Field(description="The oldest version that is kept.")
    request_units: float | None = Field(description="What the provider charges for the page; a database does not.")


class HeldBackItem(BaseModel):
    """Committed changes that no reader is given yet, since an older transaction is still open."""

    versions: int | None = Field(description="How many; null where the service's role may not see it.")
    since: datetime = Field(description="When the first of them was written.")


class Page(BaseModel):
    """A page of events. Go on from `token`, also after an empty page."""

    events: list[dict[str, Any]] = Field(description="Each as the format writes it.")
    count: int
    token: str
    idle: bool = Field(description="Nothing at all was there, wanted or not: ask again later.")
    held_back: HeldBackItem | None = Field(
        description="Of an idle page: what is committed and waits for an older transaction. null: you have read everything."
    )
    partition_retired: bool
    child_partitions: list[Child]
    diagnostics: Diagnostics


class FeedPartitionItem(BaseModel):
    """A partition, and its place among the others."""

    partition: str
    parents: list[str]
    children: list[str]
    begins_after: int | None
    ends_at: int | None


class FeedPartitionList(BaseModel):
    """The partitions that still have versions to read, oldest first."""

    partitions: list[FeedPartitionItem]


async def asked_of(
    request: Request,
    wanted: Filters,
    token: Annotated[str | None, Query(max_length=LONGEST, description="The token of the page before.")] = None,
    start: Annotated[
        str | None, Query(max_length=100, description="Without a token: beginning, now, a time, or after:17 for a version.")
    ] = None,
    scope: Annotated[str | None, Query(max_length=2000, description=f"What to read: {_SCOPES}. Without it all.")] = None,
    item_state: Annotated[
        NewItemStateMode, Query(description="Whether events carry bodies.")
    ] = NewItemStateMode.INCLUDE_IF_AVAILABLE,
    types: Annotated[str | None, Query(max_length=100, description="Only these: CREATE,UPDATE,DELETE.")] = None,
    resources: Annotated[str | None, Query(max_length=4000, description="Only these: ed-fi/students,ed-fi/schools.")] = None,
    format: Annotated[
        str, Query(description="How an event is written.", json_schema_extra={"enum": [*formats.names()]})
    ] = formats.DEFAULT,
    contexts: Annotated[bool, Query(description="Whether events say what caused them.")] = True,
    effects: Annotated[
        bool, Query(description="Whether events say what else changed because of them. Formats made of CDC events always do.")
    ] = False,
    indirect: Annotated[
        bool,
        Query(description="An event, too, for each document whose representation changed with the identity of what it refers to."),
    ] = False,
) -> FeedQuestion:
    """What is read of the feed, and how it is written: the parameters of pages and of streams. Raises InvalidRequest, Refused."""
    service = service_of(request)
    writer = service.writer(format, wanted)
    chosen: tuple[FeedScope, FeedFilter]
    if token is not None and scope is None and types is None and resources is None:
        chosen = carried(token)
    else:
        scope, known = scope or "all", {}
        if resources is not None or scope.startswith(("resource:", "key:")):
            known = await service.database.call(service.database.journal.resources)
        chosen = _scope(scope, service, known), FeedFilter(_types(types), _resources(resources, service, known))
    asked = FeedRequest(
        scope=chosen[0],
        start=_start(token, start),
        item_state=item_state,
        filters=chosen[1],
        contexts=contexts and service.settings.contexts,
        effects=effects or writer.sees_effects,
        indirect=indirect,
    )
    return FeedQuestion(asked, writer)


@router.get("", summary="A page of events", response_model=Page, responses=documented(EXPIRED, DIVERGED, NOT_FOUND, BUSY))
async def page(
    request: Request,
    bearer: Reader,
    asked: Annotated[FeedQuestion, Depends(asked_of)],
    limit: Annotated[
        int | None,
        Query(ge=0, description="Events; 100 without it. 0, and more than the service's own limit, ask for that."),
    ] = None,
    long_poll_ms: Annotated[int, Query(ge=0, le=60_000, description="How long to wait for an event where there is none.")] = 0,
) -> Response:
    """The next events of a scope, oldest first. A token alone goes on with the scope and the filters that it was made with."""
    service = service_of(request)
    refuse_unreadable_feed(bearer, asked.request, service)
    size = _PAGE if limit is None else min(limit or MAX_PAGE_SIZE, MAX_PAGE_SIZE)
    asked = replace(asked, request=replace(asked.request, max_page_size=min(size, service.settings.largest_page)))
    with ExitStack() as slot:
        if long_poll_ms:
            slot.enter_context(service.waiting.one(client_of(request, bearer), bearer.streams))
        found = await _polled(request, service, asked, bearer, long_poll_ms / 1000)
    service.metrics.events.inc(len(found.lines))
    held = await service.held_back.get() if found.page.idle else None
    return Response(found.body(held), media_type="application/json")


@router.get("/partitions", summary="The partitions", response_model=FeedPartitionList, responses=documented())
async def partitions(request: Request, bearer: Reader) -> FeedPartitionList:
    """Read one after all of its parents were read to their ends: then each document's events come in order."""
    database = service_of(request).database
    found = await database.call(database.journal.list_physical_partitions)
    return FeedPartitionList(
        partitions=[
            FeedPartitionItem(
                partition=of.id,
                parents=list(of.parents),
                children=list(of.children),
                begins_after=of.begins_after,
                ends_at=of.ends_at,
            )
            for of in found
        ]
    )


@dataclass(frozen=True, slots=True)
class Found:
    """A page, and the events of it that the filter wants, with their ids, as the format writes them."""

    page: FeedPage
    ids: list[UUID]
    lines: list[bytes]

    def body(self, held: HeldBack | None) -> bytes:
        """The page as JSON; `held` is what no reader is given yet."""
        rest = {
            "count": len(self.lines),
            "token": self.page.token,
            "idle": self.page.idle,
            "held_back": None if held is None else {"versions": held.versions, "since": held.since},
            "partition_retired": self.page.partition_retired,
            "child_partitions": [
                {"partition": child.scope.id, "token": child.token, "parents": child.parents}
                for child in self.page.child_partitions
            ],
            "diagnostics": self.page.diagnostics,
        }
        return b'{"events":[%b],%b' % (b",".join(self.lines), _encode(rest)[1:])


async def _polled(request: Request, service: Service, asked: FeedQuestion, bearer: Token, seconds: float) -> Found:
    """The first page that has a wanted event or retires its partition, or the last one that could be had in time."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while True:
        found = await service.database.call(read, service, asked, bearer)
        left = deadline - loop.time()
        if found.lines or found.page.partition_retired or left <= 0:
            return found
        if found.page.idle:
            horizon = found.page.diagnostics.horizon or 0
            if not await wait_for_change(request, horizon, left):
                return found
        asked = replace(asked, request=replace(asked.request, start=FromToken(found.page.token)))


def read(service: Service, asked: FeedQuestion, bearer: Token) -> Found:
    """A page, as a token may see it. Raises what Journal.read_changes raises."""
    page = service.database.journal.read_changes(asked.request, max_bytes=service.settings.page_bytes)
    ids, lines = [], []
    for event in page.events:
        if (line := asked.writer.line(visible(event, bearer, service))) is not None:
            ids.append(event.event_id)
            lines.append(line)
    return Found(page, ids, lines)


def visible(event: FeedEvent, bearer: Token, service: Service) -> FeedEvent:
    """The event as a token may see it: its effects name documents of those resources alone that the token may read."""
    effects = event.effects
    if effects is None or bearer.resources is None:
        return event
    updated, deleted = (
        [effect for effect in listed if bearer.may_read(effect.resource, service.names)]
        for listed in (effects.updated, effects.deleted)
    )
    return replace(event, effects=Effects(updated, deleted))


def _start(token: str | None, start: str | None) -> StartPosition:
    if token is not None:
        if start is not None:
            raise InvalidRequest("start", start, "it does not go with a token")
        return FromToken(token)
    if start is None or start == "beginning":
        return Beginning()
    if start == "now":
        return Now()
    kind, _, version = start.partition(":")
    if kind == "after":
        return AfterVersion(_number("start", version))
    try:
        return AtTime(datetime.fromisoformat(start))
    except ValueError as error:
        raise InvalidRequest("start", start, "it is beginning, now, after:17, or a time such as 2026-05-01T12:00:00Z") from error


def _scope(text: str, service: Service, known: dict[ResourceKey, int]) -> FeedScope:
    kind, _, name = text.partition(":")
    match kind:
        case "all" if text == "all":
            return EntireCollection()
        case "resource":
            return LogicalPartition(_resource(name, service, known))
        case "partition":
            return PhysicalPartition(name)
        case "key":
            return _key_scope(name, service, known)
        case "document":
            return LogicalPartition(document_id=_number("scope", name))
    raise InvalidRequest("scope", text, f"it is {_SCOPES}")


def _key_scope(text: str, service: Service, known: dict[ResourceKey, int]) -> LogicalPartition:
    """The scope of a document's key: its resource, and the key as JSON."""
    name, found, json = text.partition(":{")
    try:
        key = decoded("{" + json) if found else None
    except (ValueError, RecursionError, msgspec.MsgspecError):
        key = None
    if not isinstance(key, dict) or not key:
        raise InvalidRequest("scope", f"key:{text}", f"it is {_SCOPES}")
    return LogicalPartition(_resource(name, service, known), key=key)


def _resource(text: str, service: Service, known: dict[ResourceKey, int]) -> ResourceKey:
    """A resource by its path or its name."""
    project, _, name = text.partition("/")
    return ResourceKey.parse(text) if "/" in name else service.names.find(project, name, known)


def _number(parameter: str, text: str) -> int:
    if is_whole(text) and len(text) <= 20:
        return int(text)
    raise InvalidRequest(parameter, text, "it is a whole number")


def _types(text: str | None) -> frozenset[FeedEventType] | None:
    if text is None:
        return None
    given = set(text.split(","))
    if not given <= set(FeedEventType):
        raise InvalidRequest("types", text, f"name some of {', '.join(FeedEventType)}, with commas between them")
    return frozenset(map(FeedEventType, given))


def _resources(text: str | None, service: Service, known: dict[ResourceKey, int]) -> frozenset[ResourceKey] | None:
    return None if text is None else frozenset(_resource(part, service, known) for part in text.split(","))


def refuse_unreadable_feed(bearer: Token, asked: FeedRequest, service: Service) -> None:
    """Raises Refused where the request may give events of resources that the token may not read."""
    if bearer.resources is None:
        return
    named = set(asked.filters.resources or ())
    if isinstance(asked.scope, LogicalPartition) and asked.scope.resource is not None:
        named.add(asked.scope.resource)
    if not named or not all(bearer.may_read(resource, service.names) for resource in named):
        raise Refused(FORBIDDEN, f"name resources that the token may read: {', '.join(sorted(bearer.resources))}")
