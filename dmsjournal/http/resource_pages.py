"""Listing: what the change queries give of a resource, read in threads: documents, deletes and key changes, page by page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from functools import partial
from typing import Any
from uuid import UUID

from dmsjournal.errors import InvalidRequest
from dmsjournal.events.encoding import encoder
from dmsjournal.http.bodies import Body
from dmsjournal.http.page_tokens import Place, place_of
from dmsjournal.journal import Journal
from dmsjournal.model.resources import ResourceKey
from dmsjournal.model.windows import Cursor, Window
from dmsjournal.read.deletes import Delete
from dmsjournal.read.documents import StoredDocument
from dmsjournal.read.iteration import VersionPage
from dmsjournal.read.key_changes import KeyChange
from dmsjournal.read.pages import Change
from dmsjournal.read.stream import DELETE, KEY_CHANGE, UPSERT

_LONGEST = 5.0  # seconds, after which a page ends where it is
_MOST = 1_000  # rows that are read at once
_FEW = 4  # rows whose bodies are read at once while nothing is known of them: 64 MiB each at most
_encode = encoder()

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
    reused_keys: bool = False

    def __post_init__(self) -> None:
        Window(self.min, self.max)  # tells what is wrong with it
        if self.offset and self.page_token is not None:
            raise InvalidRequest("offset", self.offset, "it does not go with pageToken")


@dataclass(frozen=True, slots=True)
class Listed:
    """One page, whose items are in its body: where to go on (None at the end), and how many there are in all, if that was asked."""

    next: str | None
    total: int | None


@dataclass(frozen=True, slots=True)
class _Listing:
    """How one kind of list is read: rows after a position with the position to go on at, each row's own, and how rows are shown."""

    name: str
    read: Callable[[Window, _At | None, int], tuple[Sequence[Any], _At | None]]
    position: Callable[[Any], _At]
    show: Callable[[Sequence[Any], Window], Iterable[dict[str, Any]]]
    count: Callable[[Window], int]


def list_documents(journal: Journal, resource: ResourceKey, query: ListQuery, body: Body) -> Listed:
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
            body,
            _Listing(
                f"all {resource}",
                everything,
                lambda change: (0, change.document_id),
                lambda found, _: _documents(journal, [change.document_id for change in found]).values(),
                lambda _: journal.count(resource),
            ),
        )
    return _listed(
        journal,
        query,
        body,
        _Listing(
            f"documents {resource}",
            changed,
            lambda change: (change.change_version, change.document_id),
            lambda found, window: _documents(journal, [change.document_id for change in found], window.max).values(),
            partial(journal.count, resource, kind=UPSERT),
        ),
    )


def list_deletes(journal: Journal, resource: ResourceKey, query: ListQuery, body: Body) -> Listed:
    """The tombstones of a window; without those whose key another document has again at its end, unless they are asked for."""

    def shown(found: Sequence[Delete], _: Window) -> list[dict[str, Any]]:
        return [{"id": d.document_uuid.hex, "changeVersion": d.change_version, "keyValues": d.key_values} for d in found]

    name = "all deletes" if query.reused_keys else "deletes"
    page_of = partial(journal.delete_page, reused_keys=query.reused_keys)
    count = partial(journal.count, resource, kind=DELETE, reused_keys=query.reused_keys)
    return _listed(journal, query, body, _versions(resource, name, page_of, shown, count))


def list_key_changes(journal: Journal, resource: ResourceKey, query: ListQuery, body: Body) -> Listed:
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

    count = partial(journal.count, resource, kind=KEY_CHANGE)
    return _listed(journal, query, body, _versions(resource, "keyChanges", journal.key_change_page, shown, count))


def read_document(journal: Journal, resource: ResourceKey, document_uuid: UUID) -> dict[str, Any] | None:
    """A document as a list shows it, None where there is none."""
    document_id = journal.find(resource, document_uuid)
    return None if document_id is None else _documents(journal, [document_id]).get(document_id)


def _versions(
    resource: ResourceKey,
    name: str,
    page_of: Callable[..., VersionPage[Any]],
    show: Callable[[Sequence[Any], Window], list[dict[str, Any]]],
    count: Callable[[Window], int],
) -> _Listing:
    """A list that is read by version alone."""

    def read(window: Window, at: _At | None, size: int) -> tuple[Sequence[Any], _At | None]:
        page = page_of(resource, window, None if at is None else at[0], size)
        return page.items, None if page.next is None else (page.next, 0)

    return _Listing(f"{name} {resource}", read, lambda item: (item.change_version, 0), show, count)


def _listed(journal: Journal, query: ListQuery, body: Body, listing: _Listing) -> Listed:
    """A page of a list, its items put into a body. All of its pages end where the horizon was when the first was read."""
    place = None if query.page_token is None else place_of(query.page_token, listing.name, query.min, query.max)
    newest = journal.versions().newest if place is None else place.through
    through = newest if query.max is None else min(query.max, newest)
    if through < (query.min or 0):  # a window above the horizon is empty, and no error
        return Listed(None, 0 if query.total else None)
    window = Window(query.min, through)
    found, following = _read(listing, window, None if place is None else (place.version, place.document_id), query)
    written = _write(listing, window, found, body, may_end=query.page_token is not None)
    if written < len(found):
        following = listing.position(found[written - 1])
    token = None
    if following is not None:
        token = Place(listing.name, query.min, query.max, newest, *following).token()
    return Listed(token, listing.count(window) if query.total else None)


def _write(listing: _Listing, window: Window, rows: Sequence[Any], body: Body, *, may_end: bool) -> int:
    """Puts what is shown of rows into a body, a few at a time, more of them where they are small; of how many rows.

    A page that may end does so when it is full. Others have all rows: a client that counts them would lose the rest.
    """
    done, few = 0, _FEW
    while done < len(rows):
        lot, before = rows[done : done + few], body.size
        for item in listing.show(lot, window):
            body.append(_encode(item))
        done += len(lot)
        if may_end and body.size >= body.in_memory:
            break
        each = max(1, (body.size - before) // len(lot))
        few = max(1, min(2 * few, _MOST, body.in_memory // each))
    return done


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
    stored = journal.documents(ids, current_references=True)
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
    """The body; the key values where none is kept, or one that has no fields to be shown; nothing where neither has fields."""
    return next((each for each in (document.body, document.key_values) if isinstance(each, Mapping)), {})
