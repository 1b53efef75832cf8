"""Change queries as the Ed-Fi API has them: which versions there are, and what of a resource changed between two of them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, TypeAlias
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from pydantic import BaseModel, Field

from dmsjournal.errors import InvalidRequest
from dmsjournal.events.encoding import encoder
from dmsjournal.http import resource_pages
from dmsjournal.http.access import Reader, refuse_unreadable
from dmsjournal.http.bodies import Body, response_of
from dmsjournal.http.problems import EXPIRED, NO_SNAPSHOT, NOT_FOUND, Refused, documented
from dmsjournal.http.resource_pages import Listed, ListQuery
from dmsjournal.http.security import Token
from dmsjournal.http.service import Service, service_of
from dmsjournal.journal import Journal
from dmsjournal.model.resources import ResourceKey
from dmsjournal.model.windows import MAX_VERSION

router = APIRouter(tags=["change queries"])

Project = Annotated[str, Path(max_length=300, description="Such as `ed-fi`.")]
Resource = Annotated[str, Path(max_length=300, description="Such as `students`.")]
MinVersion = Annotated[int | None, Query(alias="minChangeVersion", ge=0, le=MAX_VERSION, description="First version, inclusive.")]
MaxVersion = Annotated[int | None, Query(alias="maxChangeVersion", ge=0, le=MAX_VERSION, description="Last version, inclusive.")]
Limit = Annotated[
    int | None, Query(ge=0, le=10_000, description="Items of a page; 25 without it. Above the service's own limit it is an error.")
]
Offset = Annotated[
    int,
    Query(
        ge=0, le=MAX_VERSION, description="Items to leave out, for old clients: pageToken costs less. Not together with pageToken."
    ),
]
PageToken = Annotated[
    str | None,
    Query(
        alias="pageToken",
        max_length=500,
        description="Next-Page-Token of the page before. Pass the window's parameters unchanged, and no offset.",
    ),
]
PageSize = Annotated[
    int | None,
    Query(
        alias="pageSize",
        ge=0,
        le=10_000,
        description="As limit, for clients of ODS 7.3: with a pageToken it counts, and limit does not.",
    ),
]
TotalCount = Annotated[bool, Query(alias="totalCount", description="Tell how many there are in all, as Total-Count.")]
ReusedKeys = Annotated[
    bool,
    Query(
        alias="reusedKeys",
        description="Also list deletes whose key another document has again when the window ends: for a copy by ids.",
    ),
]
UseSnapshot = Annotated[
    str | None,
    Header(alias="Use-Snapshot", description="There are no snapshots: true is answered with 404, as by an ODS that has none."),
]
IfNoneMatch = Annotated[str | None, Header(description="An ETag: 304 where it still holds.")]

_HEADERS = {
    "ETag": {"description": "Of this very page.", "schema": {"type": "string"}},
    "Next-Page-Token": {"description": "Where to go on; missing at the end.", "schema": {"type": "string"}},
    "Total-Count": {"description": "With totalCount.", "schema": {"type": "integer"}},
}
_UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "It is as If-None-Match says."}}
_LISTS = {200: {"headers": _HEADERS}, **_UNCHANGED, **documented(EXPIRED, NOT_FOUND, NO_SNAPSHOT)}
_encode = encoder()
_PAGE = 25  # items, without a limit


async def _asked(
    request: Request,
    min_version: MinVersion = None,
    max_version: MaxVersion = None,
    limit: Limit = None,
    offset: Offset = 0,
    page_token: PageToken = None,
    page_size: PageSize = None,
    total_count: TotalCount = False,
) -> ListQuery:
    by_size = page_size is not None and (page_token is not None or limit is None)
    size = service_of(request).page_size(*((page_size, _PAGE, "pageSize") if by_size else (limit, _PAGE)))
    return ListQuery(min_version, max_version, size, offset, page_token, total_count)


async def _present(token: Reader, use_snapshot: UseSnapshot = None) -> Token:
    """The token of a request for the data as they are now. Raises Refused for one that wants them from a snapshot."""
    if use_snapshot is not None and use_snapshot.strip().lower() == "true":
        raise Refused(NO_SNAPSHOT, "Snapshot not found. The service keeps none: leave the header Use-Snapshot out")
    return token


Asked: TypeAlias = Annotated[ListQuery, Depends(_asked)]
PresentReader: TypeAlias = Annotated[Token, Depends(_present)]


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
    responses=documented(NO_SNAPSHOT),
)
async def available_change_versions(request: Request, token: PresentReader) -> AvailableChangeVersions:
    """Note the newest before you read: it is where the next window begins, plus one."""
    database = service_of(request).database
    versions = await database.call(database.journal.versions)
    return AvailableChangeVersions(oldestChangeVersion=versions.oldest, newestChangeVersion=versions.newest)


@router.get("/data/v3/{project}/{resource}", summary="Changed documents", response_model=list[dict[str, Any]], responses=_LISTS)
async def documents(
    request: Request,
    token: PresentReader,
    project: Project,
    resource: Resource,
    asked: Asked,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The documents whose version lies in the window, lowest first; without a window all live ones, for who begins."""
    return await _listed(request, token, project, resource, resource_pages.list_documents, asked, if_none_match)


@router.get(
    "/data/v3/{project}/{resource}/deletes", summary="Deleted documents", response_model=list[DeletedItem], responses=_LISTS
)
async def deletes(
    request: Request,
    token: PresentReader,
    project: Project,
    resource: Resource,
    asked: Asked,
    reused_keys: ReusedKeys = False,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The documents that were deleted in the window, with their last keys, oldest first.

    Left out are those whose key another document has again when the window ends, as the Ed-Fi API leaves them out.
    """
    query = replace(asked, reused_keys=reused_keys)
    return await _listed(request, token, project, resource, resource_pages.list_deletes, query, if_none_match)


@router.get(
    "/data/v3/{project}/{resource}/keyChanges", summary="Changed keys", response_model=list[KeyChangedItem], responses=_LISTS
)
async def key_changes(
    request: Request,
    token: PresentReader,
    project: Project,
    resource: Resource,
    asked: Asked,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The documents whose keys differ between the ends of the window, each at its last key change in it. Apply them first."""
    return await _listed(request, token, project, resource, resource_pages.list_key_changes, asked, if_none_match)


@router.get(
    "/data/v3/{project}/{resource}/{id}",
    summary="A document",
    response_model=dict[str, Any],
    responses={200: {"headers": {"ETag": _HEADERS["ETag"]}}, **_UNCHANGED, **documented(NOT_FOUND, NO_SNAPSHOT)},
)
async def document(
    request: Request, token: PresentReader, project: Project, resource: Resource, id: UUID, if_none_match: IfNoneMatch = None
) -> Response:
    """A document as it is now. Its ETag changes with it, and with the keys of what it refers to."""
    service = service_of(request)
    of = await _resource(request, service, token, project, resource)
    found = await service.database.call(resource_pages.read_document, service.database.journal, of, id)
    if found is None:
        raise Refused(NOT_FOUND, f"there is no document {id} of {of}")
    headers: dict[str, str] = {}
    unchanged = _unchanged(str(found["_etag"]), if_none_match, headers)
    return unchanged or Response(_encode(found), headers=headers, media_type="application/json")


async def _resource(request: Request, service: Service, token: Token, project: str, name: str) -> ResourceKey:
    """The resource of a path, if the token may read it. Raises Refused."""
    known = await service.database.call(service.database.journal.resources)
    found = service.names.find(project, name, known)
    refuse_unreadable(request, token, found)
    return found


async def _listed(
    request: Request,
    token: Token,
    project: str,
    resource: str,
    list_of: Callable[[Journal, ResourceKey, ListQuery, Body], Listed],
    asked: ListQuery,
    if_none_match: str | None,
) -> Response:
    service = service_of(request)
    if asked.offset > service.settings.largest_offset:
        raise InvalidRequest("offset", asked.offset, f"more than {service.settings.largest_offset}: go on by pageToken")
    of = await _resource(request, service, token, project, resource)
    body = service.bodies.one()
    try:
        found = await service.database.call(list_of, service.database.journal, of, asked, body)
        headers = {}
        if found.next is not None:
            headers["Next-Page-Token"] = found.next
        if found.total is not None:
            headers["Total-Count"] = str(found.total)
        told = b" %d %d" % (found.next is not None, -1 if found.total is None else found.total)  # with the body all that it goes by
        etag = base64.b64encode(body.end(told)).decode("ascii")
        unchanged = _unchanged(etag, if_none_match, headers)
    except BaseException:
        body.close()
        raise
    if unchanged is not None:
        body.close()
    return unchanged or response_of(body, headers)


def _unchanged(etag: str, if_none_match: str | None, headers: dict[str, str]) -> Response | None:
    """The answer where a client has it already, else None; `headers` have the ETag then."""
    headers |= {"ETag": f'"{etag}"', "Cache-Control": "private, no-cache"}
    if if_none_match is not None and _matches(etag, if_none_match):
        return Response(status_code=304, headers=headers)
    return None


def _matches(etag: str, if_none_match: str) -> bool:
    """Whether one of the header's tags is this one; old clients send it without its quotes."""
    tags = {tag.strip().removeprefix("W/").strip('"') for tag in if_none_match.split(",")}
    return "*" in tags or etag in tags
