"""Listing: what the change queries give of a resource, read in threads: documents, deletes and key changes, page by page."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from functools import partial
from typing import Any
from uuid import UUID

from dmsjournal.deletes import Delete
from dmsjournal.errors import InvalidRequest
from dmsjournal.http.paging import Place, place_of
from dmsjournal.journal import Journal
from dmsjournal.key_changes import KeyChange
from dmsjournal.pages import Change
from dmsjournal.resources import ResourceKey
from dmsjournal.stored import StoredDocument
from dmsjournal.streams import DELETE, KEY_CHANGE, UPSERT
from dmsjournal.walks import VersionPage
from dmsjournal.windows import Cursor, Window

_LONGEST = 5.0  # seconds, after which a page ends where it is
_MOST = 1_000  # rows that are read at once

_At = tuple[int, int]  # a position: version and document's id


@dataclass(frozen=True, slots=True)
class ListQuery:
    """What is asked of a resource: a window, both ends inclusive, and a page of it. Raises InvalidRequest."""

    min: int | None
    max: int | None
    limit: int
    offset: int
    page_token: str | None
    total: bool

    def __post_init__(self) -> None:
        Window(self.min, self.max)  # tells what is wrong with it
        if self.offset and self.page_token is not None:
            raise InvalidRequest("offset", self.offset, "it does not go with pageToken")


@dataclass(frozen=True, slots=True)
class Listed:
    """One page: its items, where to go on (None at the end), and how many there are in all, where that was asked for."""

    items: Sequence[dict[str, Any]]
    next: str | None
    total: int | None


@dataclass(frozen=True, slots=True)
class _Listing:
    """How one kind of list is read: rows after a position with the position to go on at, each row's own, and how rows are shown."""

    name: str
    read: Callable[[Window, _At | None, int], tuple[Sequence[Any], _At | None]]
    position: Callable[[Any], _At]
    show: Callable[[Sequence[Any], Window], list[dict[str, Any]]]
    count: Callable[[Window], int]


def list_documents(journal: Journal, resource: ResourceKey, query: ListQuery) -> Listed:
    """Documents whose derived version lies in the window; all live ones, in the order of their ids, where none was given."""

    def changed(window: Window, at: _At | None, size: int) -> tuple[Sequence[Change], _At | None]:
        page = journal.change_page(resource, window, None if at is None else Cursor(*at), size)
        return page.items, None if page.next is None else (page.next.change_version, page.next.document_id)

    def everything(_: Window, at: _At | None, size: int) -> tuple[Sequence[Change], _At | None]:
        page = journal.snapshot_page(resource, None if at is None else at[1], size)
        return page, (0, page[-1].document_id) if len(page) == size else None

    if query.min is None and query.max is None:
        return _listed(
            journal,
            query,
            _Listing(
                f"all {resource}",
                everything,
                lambda change: (0, change.document_id),
                lambda found, _: list(_documents(journal, [change.document_id for change in found]).values()),
                lambda _: journal.count(resource),
            ),
        )
    return _listed(
        journal,
        query,
        _Listing(
            f"documents {resource}",
            changed,
            lambda change: (change.change_version, change.document_id),
            lambda found, window: list(_documents(journal, [change.document_id for change in found], window.max).values()),
            partial(journal.count, resource, kind=UPSERT),
        ),
    )


def list_deletes(journal: Journal, resource: ResourceKey, query: ListQuery) -> Listed:
    """The tombstones of a window."""

    def shown(found: Sequence[Delete], _: Window) -> list[dict[str, Any]]:
        return [{"id": d.document_uuid.hex, "changeVersion": d.change_version, "keyValues": d.key_values} for d in found]

    return _listed(journal, query, _versions(journal, resource, "deletes", journal.delete_page, shown, DELETE))


def list_key_changes(journal: Journal, resource: ResourceKey, query: ListQuery) -> Listed:
    """The key changes of a window."""

    def shown(found: Sequence[KeyChange], _: Window) -> list[dict[str, Any]]:
        return [
            {
                "id": change.document_uuid.hex,
                "changeVersion": change.change_version,
                "oldKeyValues": change.old_key_values,
                "newKeyValues": change.new_key_values,
            }
            for change in found
        ]

    return _listed(journal, query, _versions(journal, resource, "keyChanges", journal.key_change_page, shown, KEY_CHANGE))


def read_document(journal: Journal, resource: ResourceKey, document_uuid: UUID) -> dict[str, Any] | None:
    """A document as a list shows it, None where there is none."""
    document_id = journal.find(resource, document_uuid)
    return None if document_id is None else _documents(journal, [document_id]).get(document_id)


def _versions(
    journal: Journal,
    resource: ResourceKey,
    name: str,
    page_of: Callable[..., VersionPage[Any]],
    show: Callable[[Sequence[Any], Window], list[dict[str, Any]]],
    kind: str,
) -> _Listing:
    """A list that is read by version alone."""

    def read(window: Window, at: _At | None, size: int) -> tuple[Sequence[Any], _At | None]:
        page = page_of(resource, window, None if at is None else at[0], size)
        return page.items, None if page.next is None else (page.next, 0)

    return _Listing(
        f"{name} {resource}", read, lambda item: (item.change_version, 0), show, partial(journal.count, resource, kind=kind)
    )


def _listed(journal: Journal, query: ListQuery, listing: _Listing) -> Listed:
    """A page of a list. All of its pages end where the horizon was when the first was read."""
    place = None if query.page_token is None else place_of(query.page_token, listing.name, query.min, query.max)
    newest = journal.versions().newest if place is None else place.through
    through = newest if query.max is None else min(query.max, newest)
    if through < (query.min or 0):  # a window above the horizon is empty, and no error
        return Listed([], None, 0 if query.total else None)
    window = Window(query.min, through)
    found, following = _read(listing, window, None if place is None else (place.version, place.document_id), query)
    token = None
    if following is not None:
        token = Place(listing.name, query.min, query.max, newest, *following).token()
    return Listed(listing.show(found, window), token, listing.count(window) if query.total else None)


def _read(listing: _Listing, window: Window, at: _At | None, query: ListQuery) -> tuple[Sequence[Any], _At | None]:
    """The rows of a page, and the position of the next, None at the end. One row more is read, to know whether it is the end."""
    found: list[Any] = []
    skip, deadline = query.offset, time.monotonic() + _LONGEST
    while True:
        rows, following = listing.read(window, at, min(query.limit + 1 + skip - len(found), _MOST))
        found += rows[skip:]
        skip = max(0, skip - len(rows))
        if len(found) > query.limit:
            return found[: query.limit], listing.position(found[query.limit - 1]) if query.limit else None
        if following is None or (time.monotonic() > deadline and not query.offset):
            return found, following
        at = following


def _documents(journal: Journal, ids: Sequence[int], through: int | None = None) -> dict[int, dict[str, Any]]:
    """Documents with their etags, by id, in the order of the ids; without those that have gone, or above a version since.

    The derived values are read before the bodies: a body that is newer than its etag is asked for again, an older one would stay.
    """
    derived = journal.derive(ids)
    stored = journal.documents(ids)
    return {
        i: {
            **_content(stored[i]),
            "id": stored[i].document_uuid.hex,
            "_etag": derived[i].etag,
            "_lastModifiedDate": derived[i].last_modified.astimezone(UTC).isoformat(timespec="microseconds")[:26] + "Z",
        }
        for i in ids
        if i in derived and i in stored and (through is None or derived[i].change_version <= through)
    }


def _content(document: StoredDocument) -> Mapping[str, object]:
    """The body; the key values where none is kept, or one that has no fields to be shown."""
    return document.body if isinstance(document.body, Mapping) else document.key_values or {}
