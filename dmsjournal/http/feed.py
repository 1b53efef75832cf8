"""The portable feed: pages of events with opaque tokens, in one of two formats, and the partitions that it can be read in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from dmsjournal.errors import InvalidRequest
from dmsjournal.events import cdc, jsonl
from dmsjournal.events.encoding import encoder
from dmsjournal.feed.events import FeedEvent, FeedEventType
from dmsjournal.feed.pages import FeedPage
from dmsjournal.feed.requests import MAX_PAGE_SIZE, FeedFilter, FeedRequest, NewItemStateMode
from dmsjournal.feed.scopes import EntireCollection, FeedScope, LogicalPartition, PhysicalPartition
from dmsjournal.feed.starts import AfterVersion, AtTime, Beginning, FromToken, Now, StartPosition
from dmsjournal.http.access import Reader, client_of, is_whole
from dmsjournal.http.polling import wait_for_change
from dmsjournal.http.problems import BUSY, DIVERGED, EXPIRED, FORBIDDEN, NOT_FOUND, Refused, documented
from dmsjournal.http.security import Token
from dmsjournal.http.service import Service, service_of
from dmsjournal.journal import Journal
from dmsjournal.resources import ResourceKey

router = APIRouter(prefix="/feed", tags=["feed"])

_SCOPES = "all, resource:ed-fi/students, partition:1-0 or document:7"
_encode = encoder()


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


class Page(BaseModel):
    """A page of events. Go on from `token`, also after an empty page."""

    events: list[dict[str, Any]] = Field(description="Each as a line of JSON lines has it, or as a CDC event 1.0.")
    count: int
    token: str
    idle: bool = Field(description="Nothing at all was there, wanted or not: ask again later.")
    partition_retired: bool
    child_partitions: list[Child]
    diagnostics: Diagnostics


class Partition(BaseModel):
    """A partition, and its place among the others."""

    partition: str
    parents: list[str]
    children: list[str]
    begins_after: int | None
    ends_at: int | None


class Partitions(BaseModel):
    """The partitions that still have versions to read, oldest first."""

    partitions: list[Partition]


@router.get("", summary="A page of events", response_model=Page, responses=documented(EXPIRED, DIVERGED, NOT_FOUND, BUSY))
async def page(
    request: Request,
    bearer: Reader,
    token: Annotated[str | None, Query(max_length=4096, description="The token of the page before.")] = None,
    start: Annotated[
        str | None, Query(max_length=100, description="Without a token: beginning, now, a time, or after:17 for a version.")
    ] = None,
    scope: Annotated[str, Query(max_length=700, description=f"What to read: {_SCOPES}.")] = "all",
    item_state: Annotated[NewItemStateMode, Query(description="Whether events carry bodies.")] = NewItemStateMode.OMIT,
    types: Annotated[str | None, Query(max_length=100, description="Only these: CREATE,UPDATE,DELETE.")] = None,
    resources: Annotated[str | None, Query(max_length=4000, description="Only these: ed-fi/students,ed-fi/schools.")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE_SIZE, description="Events; the service's own limit may be lower.")] = 100,
    long_poll_ms: Annotated[int, Query(ge=0, le=60_000, description="How long to wait for an event where there is none.")] = 0,
    format: Annotated[Literal["jsonl", "cdc"], Query(description="How an event is written.")] = "jsonl",
) -> Response:
    """The next events of a scope, oldest first. A token goes on with the scope and the filters that it was made with."""
    service = service_of(request)
    known: dict[ResourceKey, int] = {}
    if resources is not None or scope.startswith("resource:"):
        known = await service.database.call(service.database.journal.resources)
    asked = FeedRequest(
        scope=_scope(scope, service, known),
        start=_start(token, start),
        item_state=item_state,
        max_page_size=min(limit, service.settings.largest_page),
        filters=FeedFilter(_types(types), _resources(resources, service, known)),
        contexts=False,  # who wrote, and from where, is nothing for every reader
    )
    _refuse_unreadable(bearer, asked, service)
    with ExitStack() as slot:
        if long_poll_ms:
            slot.enter_context(service.waiting.one(client_of(request, bearer), bearer.streams))
        found, body = await _polled(request, service, asked, _written(format, service), long_poll_ms / 1000)
    service.metrics.events += len(found.events)
    return Response(body, media_type="application/json")


@router.get("/partitions", summary="The partitions", response_model=Partitions, responses=documented())
async def partitions(request: Request, bearer: Reader) -> Partitions:
    """Read one after all of its parents were read to their ends: then each document's events come in order."""
    database = service_of(request).database
    found = await database.call(database.journal.list_physical_partitions)
    return Partitions(
        partitions=[
            Partition(
                partition=of.id,
                parents=list(of.parents),
                children=list(of.children),
                begins_after=of.begins_after,
                ends_at=of.ends_at,
            )
            for of in found
        ]
    )


_Written = Callable[[FeedEvent], bytes]


async def _polled(
    request: Request, service: Service, asked: FeedRequest, written: _Written, seconds: float
) -> tuple[FeedPage, bytes]:
    """The first page that has an event or retires its partition, or the last one that could be had in time."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while True:
        found, body = await service.database.call(_read, service.database.journal, asked, written)
        left = deadline - loop.time()
        if found.events or found.partition_retired or left <= 0:
            return found, body
        if found.idle:
            horizon = found.diagnostics.horizon or 0
            if not await wait_for_change(request, horizon, left):
                return found, body
        asked = replace(asked, start=FromToken(found.token))


def _read(journal: Journal, asked: FeedRequest, written: _Written) -> tuple[FeedPage, bytes]:
    found = journal.read_changes(asked)
    rest = {
        "count": len(found.events),
        "token": found.token,
        "idle": found.idle,
        "partition_retired": found.partition_retired,
        "child_partitions": [
            {"partition": child.scope.id, "token": child.token, "parents": child.parents} for child in found.child_partitions
        ],
        "diagnostics": found.diagnostics,
    }
    return found, b'{"events":[%b],%b' % (b",".join(map(written, found.events)), _encode(rest)[1:])


def _written(format_: str, service: Service) -> _Written:
    if format_ == "jsonl":
        return lambda event: _encode(jsonl.FeedRecord.of(event))
    kind, name = service.database.names
    source = cdc.Source(database=kind, instance=service.settings.instance, database_name=name)
    converter = cdc.CdcConverter(source, identifier=cdc.key_identifier)
    return lambda event: converter.convert(event).to_json().encode("utf-8")


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
        case "document":
            return LogicalPartition(document_id=_number("scope", name))
    raise InvalidRequest("scope", text, f"it is {_SCOPES}")


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


def _refuse_unreadable(bearer: Token, asked: FeedRequest, service: Service) -> None:
    """Raises Refused where the request may give events of resources that the token may not read."""
    if bearer.resources is None:
        return
    named = set(asked.filters.resources or ())
    if isinstance(asked.scope, LogicalPartition) and asked.scope.resource is not None:
        named.add(asked.scope.resource)
    if not named or not all(bearer.may_read(resource, service.names) for resource in named):
        raise Refused(FORBIDDEN, f"name resources that the token may read: {', '.join(sorted(bearer.resources))}")
