"""Change queries as the Ed-Fi API has them: which versions there are, and what of a resource changed between two of them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, TypeAlias
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from pydantic import BaseModel, Field

from dmsjournal.errors import InvalidRequest
from dmsjournal.events.encoding import encoder
from dmsjournal.http import listing
from dmsjournal.http.access import Reader, refuse_unreadable
from dmsjournal.http.listing import Listed, ListQuery
from dmsjournal.http.problems import EXPIRED, NOT_FOUND, Refused, documented
from dmsjournal.http.security import Token
from dmsjournal.http.service import Service, service_of
from dmsjournal.journal import Journal
from dmsjournal.resources import ResourceKey
from dmsjournal.windows import MAX_VERSION

router = APIRouter(tags=["change queries"])

Project = Annotated[str, Path(max_length=300, description="Such as `ed-fi`.")]
Resource = Annotated[str, Path(max_length=300, description="Such as `students`.")]
MinVersion = Annotated[int | None, Query(alias="minChangeVersion", ge=0, le=MAX_VERSION, description="First version, inclusive.")]
MaxVersion = Annotated[int | None, Query(alias="maxChangeVersion", ge=0, le=MAX_VERSION, description="Last version, inclusive.")]
Limit = Annotated[int, Query(ge=0, le=10_000, description="Items of a page; the service's own limit may be lower.")]
Offset = Annotated[int, Query(ge=0, le=MAX_VERSION, description="Items to leave out, for old clients: pageToken costs less.")]
PageToken = Annotated[str | None, Query(alias="pageToken", max_length=500, description="Next-Page-Token of the page before.")]
TotalCount = Annotated[bool, Query(alias="totalCount", description="Tell how many there are in all, as Total-Count.")]
IfNoneMatch = Annotated[str | None, Header(description="An ETag: 304 where it still holds.")]

_HEADERS = {
    "ETag": {"description": "Of this very page.", "schema": {"type": "string"}},
    "Next-Page-Token": {"description": "Where to go on; missing at the end.", "schema": {"type": "string"}},
    "Total-Count": {"description": "With totalCount.", "schema": {"type": "integer"}},
}
_UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "It is as If-None-Match says."}}
_LISTS = {200: {"headers": _HEADERS}, **_UNCHANGED, **documented(EXPIRED, NOT_FOUND)}
_encode = encoder()


async def _asked(
    min_version: MinVersion = None,
    max_version: MaxVersion = None,
    limit: Limit = 25,
    offset: Offset = 0,
    page_token: PageToken = None,
    total_count: TotalCount = False,
) -> ListQuery:
    return ListQuery(min_version, max_version, limit, offset, page_token, total_count)


Asked: TypeAlias = Annotated[ListQuery, Depends(_asked)]


class AvailableChangeVersions(BaseModel):
    """The versions that can be asked for."""

    oldestChangeVersion: int = Field(description="The lowest that is kept; 0 while nothing was pruned.")
    newestChangeVersion: int = Field(description="At or below it, every writer has finished.")


class DeletedItem(BaseModel):
    """A deleted document."""

    id: str
    changeVersion: int
    keyValues: dict[str, Any] | None


class KeyChangedItem(BaseModel):
    """A document whose key differs between the ends of the window."""

    id: str
    changeVersion: int
    oldKeyValues: dict[str, Any] | None
    newKeyValues: dict[str, Any] | None


@router.get(
    "/changeQueries/v1/availableChangeVersions",
    summary="The versions that can be asked for",
    response_model=AvailableChangeVersions,
    responses=documented(),
)
async def available_change_versions(request: Request, token: Reader) -> AvailableChangeVersions:
    """Note the newest before you read: it is where the next window begins, plus one."""
    database = service_of(request).database
    versions = await database.call(database.journal.versions)
    return AvailableChangeVersions(oldestChangeVersion=versions.oldest, newestChangeVersion=versions.newest)


@router.get("/data/v3/{project}/{resource}", summary="Changed documents", response_model=list[dict[str, Any]], responses=_LISTS)
async def documents(
    request: Request,
    token: Reader,
    project: Project,
    resource: Resource,
    asked: Asked,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The documents whose version lies in the window, lowest first; without a window all live ones, for who begins."""
    found = await _found(request, token, project, resource, listing.list_documents, asked)
    return _list_response(found, if_none_match)


@router.get(
    "/data/v3/{project}/{resource}/deletes", summary="Deleted documents", response_model=list[DeletedItem], responses=_LISTS
)
async def deletes(
    request: Request,
    token: Reader,
    project: Project,
    resource: Resource,
    asked: Asked,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The documents that were deleted in the window, with their last keys, oldest first. Each lifetime of a key has its own id."""
    found = await _found(request, token, project, resource, listing.list_deletes, asked)
    return _list_response(found, if_none_match)


@router.get(
    "/data/v3/{project}/{resource}/keyChanges", summary="Changed keys", response_model=list[KeyChangedItem], responses=_LISTS
)
async def key_changes(
    request: Request,
    token: Reader,
    project: Project,
    resource: Resource,
    asked: Asked,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The documents whose keys differ between the ends of the window, each at its last key change in it. Apply them first."""
    found = await _found(request, token, project, resource, listing.list_key_changes, asked)
    return _list_response(found, if_none_match)


@router.get(
    "/data/v3/{project}/{resource}/{id}",
    summary="A document",
    response_model=dict[str, Any],
    responses={200: {"headers": {"ETag": _HEADERS["ETag"]}}, **_UNCHANGED, **documented(NOT_FOUND)},
)
async def document(
    request: Request, token: Reader, project: Project, resource: Resource, id: UUID, if_none_match: IfNoneMatch = None
) -> Response:
    """A document as it is now. Its ETag changes with it, and with the keys of what it refers to."""
    service = service_of(request)
    of = await _resource(request, service, token, project, resource)
    found = await service.database.call(listing.read_document, service.database.journal, of, id)
    if found is None:
        raise Refused(NOT_FOUND, f"there is no document {id} of {of}")
    return _response(_encode(found), str(found["_etag"]), if_none_match, {})


async def _resource(request: Request, service: Service, token: Token, project: str, name: str) -> ResourceKey:
    """The resource of a path, if the token may read it. Raises Refused."""
    known = await service.database.call(service.database.journal.resources)
    found = service.names.find(project, name, known)
    refuse_unreadable(request, token, found)
    return found


async def _found(
    request: Request,
    token: Token,
    project: str,
    resource: str,
    list_of: Callable[[Journal, ResourceKey, ListQuery], Listed],
    asked: ListQuery,
) -> Listed:
    service = service_of(request)
    if asked.offset > service.settings.largest_offset:
        raise InvalidRequest("offset", asked.offset, f"more than {service.settings.largest_offset}: go on by pageToken")
    of = await _resource(request, service, token, project, resource)
    query = replace(asked, limit=min(asked.limit, service.settings.largest_page))
    return await service.database.call(list_of, service.database.journal, of, query)


def _list_response(found: Listed, if_none_match: str | None) -> Response:
    headers = {}
    if found.next is not None:
        headers["Next-Page-Token"] = found.next
    if found.total is not None:
        headers["Total-Count"] = str(found.total)
    body = _encode(found.items)
    told = b"%b %d %d" % (body, found.next is not None, -1 if found.total is None else found.total)  # all that a client goes by
    etag = base64.b64encode(hashlib.sha256(told).digest()).decode("ascii")
    return _response(body, etag, if_none_match, headers)


def _response(body: bytes, etag: str, if_none_match: str | None, headers: dict[str, str]) -> Response:
    headers |= {"ETag": f'"{etag}"', "Cache-Control": "private, no-cache"}
    if if_none_match is not None and _matches(etag, if_none_match):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type="application/json")


def _matches(etag: str, if_none_match: str) -> bool:
    """Whether one of the header's tags is this one; old clients send it without its quotes."""
    tags = {tag.strip().removeprefix("W/").strip('"') for tag in if_none_match.split(",")}
    return "*" in tags or etag in tags
