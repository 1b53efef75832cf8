"""Calls of the service: which path and parameters each has, and what its answer means. Nothing here waits for anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar
from urllib.parse import quote
from uuid import UUID

import msgspec

from dmsjournal.client.items import ListedDelete, ListedDocument, ListedKeyChange
from dmsjournal.errors import InvalidRequest
from dmsjournal.events.jsonl import FeedRecord
from dmsjournal.feed.events import Effects, FeedEvent, FeedEventType, FeedKey, ItemState
from dmsjournal.feed.pages import ChildPartition, FeedDiagnostics, FeedPage
from dmsjournal.feed.partitions import FeedPartition
from dmsjournal.feed.requests import FeedRequest
from dmsjournal.feed.scopes import FeedScope, LogicalPartition, PhysicalPartition, text_of_key
from dmsjournal.feed.starts import AfterVersion, AtTime, FromToken, Now
from dmsjournal.model.resources import ResourceKey
from dmsjournal.model.windows import ChangeVersions, Window

_T = TypeVar("_T")
_U = TypeVar("_U")

Params = Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class Call(Generic[_T]):
    """A GET, and how the JSON and the headers of its answer are read. The service may wait `seconds` before it answers."""

    path: str
    params: Params
    read: Callable[[Any, Mapping[str, str]], _T]
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ListPage(Generic[_U]):
    """A page of a list, and the call of the next one, None at the end."""

    items: list[_U]
    next: Call[ListPage[_U]] | None


def versions() -> Call[ChangeVersions]:
    """The versions that can be asked for."""
    return Call(
        "/changeQueries/v1/availableChangeVersions",
        {},
        lambda answer, _: ChangeVersions(
            *msgspec.convert((answer["oldestChangeVersion"], answer["newestChangeVersion"]), tuple[int, int])
        ),
    )


def listed(
    path: str, window: Window | None, size: int, item: Callable[[Any], _U], more: Params | None = None
) -> Call[ListPage[_U]]:
    """The first page of a list, with `more` parameters. Without a window: all there is."""
    params: dict[str, str | int] = {"limit": size, **(more or {})}
    if window is not None:
        params |= {"minChangeVersion": window.min or 0}
        if window.max is not None:
            params |= {"maxChangeVersion": window.max}
    return _list_page(path, params, None, set(), item)


def _list_page(
    path: str, params: Params, token: str | None, read_before: set[str], item: Callable[[Any], _U]
) -> Call[ListPage[_U]]:
    """The page of a token. Its answer is none of the service's if it names a page that was read before: a walk would never end."""

    def read(answer: Any, headers: Mapping[str, str]) -> ListPage[_U]:
        if token is not None:
            read_before.add(token)
        following = headers.get("next-page-token")
        if following in read_before:
            raise ValueError("the next page is one that was read before")
        items = [item(each) for each in answer]
        return ListPage(items, None if following is None else _list_page(path, params, following, read_before, item))

    return Call(path, params if token is None else {**params, "pageToken": token}, read)


def document(path: str, document_uuid: UUID) -> Call[ListedDocument]:
    """One document."""
    return Call(f"{path}/{document_uuid}", {}, lambda answer, _: document_of(answer))


def document_of(item: dict[str, Any]) -> ListedDocument:
    """A document of a list: what the service adds to its body is taken out of it."""
    own = ("id", "_etag", "_lastModifiedDate")
    body = {name: value for name, value in item.items() if name not in own}
    return ListedDocument(UUID(item["id"]), item["_etag"], datetime.fromisoformat(item["_lastModifiedDate"]), body)


def delete_of(item: dict[str, Any]) -> ListedDelete:
    """A tombstone of a list."""
    return ListedDelete(UUID(item["id"]), item["changeVersion"], item["keyValues"])


def key_change_of(item: dict[str, Any]) -> ListedKeyChange:
    """A key change of a list."""
    return ListedKeyChange(UUID(item["id"]), item["changeVersion"], item["oldKeyValues"], item["newKeyValues"])


def feed_page(request: FeedRequest, seconds: float) -> Call[FeedPage]:
    """A page of the feed, for which the service waits at most so long where there is nothing."""
    params: dict[str, str | int] = {
        "limit": request.max_page_size,
        "item_state": request.item_state.value,
        "scope": _scope(request.scope),
        **_start(request),
    }
    if not request.contexts:
        params["contexts"] = "false"
    if request.indirect:
        params["indirect"] = "true"
    if request.effects:
        params["effects"] = "true"
    if request.filters.types is not None:
        params["types"] = ",".join(sorted(request.filters.types))
    if request.filters.resources is not None:
        params["resources"] = ",".join(sorted(map(_named, request.filters.resources)))
    if seconds:
        params["long_poll_ms"] = round(seconds * 1000)

    def read(answer: Any, _: Mapping[str, str]) -> FeedPage:
        page = page_of(answer, request.effects)
        if page.token == params.get("token") and not (page.idle or page.partition_retired):
            raise ValueError("the page's token is the one that was asked with, and there is more")
        return page

    return Call("/feed", params, read, seconds)


def partitions() -> Call[list[FeedPartition]]:
    """The feed's partitions."""

    def read(answer: Any, _: Mapping[str, str]) -> list[FeedPartition]:
        return [
            FeedPartition(PhysicalPartition(of["partition"]), of["parents"], of["children"], of["begins_after"], of["ends_at"])
            for of in answer["partitions"]
        ]

    return Call("/feed/partitions", {}, read)


def page_of(answer: dict[str, Any], with_effects: bool = False) -> FeedPage:
    """A page as the service writes it. `with_effects`: they were asked for."""
    return FeedPage(
        events=[_event(msgspec.convert(event, FeedRecord), with_effects) for event in answer["events"]],
        token=answer["token"],
        idle=answer["idle"],
        partition_retired=answer["partition_retired"],
        child_partitions=[
            ChildPartition(PhysicalPartition(child["partition"]), child["token"], child["parents"])
            for child in answer["child_partitions"]
        ],
        diagnostics=msgspec.convert(answer["diagnostics"], FeedDiagnostics),
    )


def path_for(path: str) -> str:
    """The route of a resource's path."""
    project, _, name = path.partition("/")
    return f"/data/v3/{quote(project, safe='')}/{quote(name, safe='')}"


def _event(record: FeedRecord, with_effects: bool) -> FeedEvent:
    state, key = record.item_state, record.key
    return FeedEvent(
        event_id=record.event_id,
        key=FeedKey(key.document_uuid, key.key_values, key.document_id, key.old_key_values),
        resource=record.resource,
        type=FeedEventType(record.type),
        timestamp=record.timestamp,
        change_version=record.change_version,
        item_state=None if state is None else ItemState(after=state.after, before=state.before),
        transaction_id=record.transaction_id,
        context=record.context,
        indirect_of=record.indirect_of,
        effects=(record.effects or Effects()) if with_effects else None,
    )


def _start(request: FeedRequest) -> dict[str, str]:
    match request.start:
        case FromToken(token):
            return {"token": token}
        case Now():
            return {"start": "now"}
        case AtTime(at):
            return {"start": at.isoformat()}
        case AfterVersion(version):
            return {"start": f"after:{version}"}
    return {"start": "beginning"}


def _scope(scope: FeedScope) -> str:
    match scope:
        case PhysicalPartition(id_):
            return f"partition:{id_}"
        case LogicalPartition(None, document_id):
            return f"document:{document_id}"
        case LogicalPartition(resource, _, key) if resource is not None and key is not None:
            return f"key:{_named(resource)}:{text_of_key(key)}"
        case LogicalPartition(resource, _) if resource is not None:
            return f"resource:{_named(resource)}"
    return "all"


def _named(resource: ResourceKey) -> str:
    """A resource as parameters name it: in full. Raises InvalidRequest for one whose name they cannot hold."""
    name = str(resource)
    if "," in name or ResourceKey.parse(name) != resource:
        raise InvalidRequest("resource", name, "over HTTP a name has neither commas nor slashes")
    return name
