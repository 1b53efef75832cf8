"""A window, or a whole resource, read from a database: one page of it, or a walk through all of its pages."""

from __future__ import annotations

from typing import TypeVar

from dmsjournal.database.database import Database
from dmsjournal.errors import JournalError
from dmsjournal.model.resources import ResourceKey
from dmsjournal.model.windows import (
    LOWEST_ID,
    Cursor,
    Window,
    checked_cursor,
    checked_id,
    checked_size,
    checked_version,
    checked_window,
)
from dmsjournal.read import pages
from dmsjournal.read.iteration import PageReader, VersionItem, VersionPage
from dmsjournal.read.pages import Change, ChangePage, SnapshotPage
from dmsjournal.read.unreadable import PassBy, passed, reduced
from dmsjournal.read.walk import Walk

_Item = TypeVar("_Item", bound=VersionItem)


def change_page(database: Database, resource: ResourceKey, window: Window | None, after: Cursor | None, limit: int) -> ChangePage:
    """See Journal.change_page."""
    checked = checked_window(window)
    if after is not None:
        checked_cursor(after, resource, checked)
    checked_size("limit", limit)
    return _change_page(database, resource, checked, after, limit)


def changes(database: Database, resource: ResourceKey, window: Window | None, page_size: int) -> Walk[Change]:
    """See Journal.changes."""
    checked = checked_window(window)
    checked_size("page_size", page_size)
    first = _change_page(database, resource, checked, None, page_size)
    rest = checked if first.next is None else Window(checked.min, first.through)
    return Walk(first, lambda after: _change_page(database, resource, rest, after, page_size), first.through, first.cut)


def _change_page(database: Database, resource: ResourceKey, window: Window, after: Cursor | None, limit: int) -> ChangePage:
    with database.reading(resource) as (session, resource_key_id, horizon):
        return pages.change_page(session, resource, resource_key_id, window, after, limit, horizon)


def snapshot_page(database: Database, resource: ResourceKey, after: int | None, limit: int) -> SnapshotPage:
    """See Journal.snapshot_page."""
    start = LOWEST_ID if after is None else checked_id("after", after)
    checked_size("limit", limit)
    with database.reading(resource) as (session, resource_key_id, _):
        return pages.snapshot_page(session, resource_key_id, start, limit)


def snapshot(database: Database, resource: ResourceKey, page_size: int) -> Walk[Change]:
    """See Journal.snapshot. The horizon is read before the first page, so that a window from there on misses nothing."""
    checked_size("page_size", page_size)
    with database.reading(resource) as (session, resource_key_id, horizon):
        first = pages.snapshot_page(session, resource_key_id, LOWEST_ID, page_size)
    return Walk(first, lambda after: snapshot_page(database, resource, after, page_size), horizon, cut=False)


def version_page(
    database: Database,
    pass_by: PassBy | None,
    read: PageReader[_Item],
    resource: ResourceKey,
    window: Window | None,
    after: int | None,
    limit: int,
) -> VersionPage[_Item]:
    """One page of what is read by version alone: see Journal.delete_page and key_change_page."""
    checked = checked_window(window)
    checked_size("limit", limit)
    start = checked.first - 1 if after is None else max(checked.first - 1, checked_version("after", after))
    return _readable_page(database, pass_by, read, resource, checked, start, limit)[0]


def versions(
    database: Database,
    pass_by: PassBy | None,
    read: PageReader[_Item],
    resource: ResourceKey,
    window: Window | None,
    page_size: int,
) -> Walk[_Item]:
    """A window of what is read by version alone: see Journal.deletes and key_changes. It reads the first page at once."""
    checked = checked_window(window)
    checked_size("page_size", page_size)
    first, through = _readable_page(database, pass_by, read, resource, checked, checked.first - 1, page_size)

    def page(after: int) -> VersionPage[_Item]:
        return _readable_page(database, pass_by, read, resource, checked, after, page_size, through)[0]

    return Walk(first, page, through, checked.is_cut(through))


def _readable_page(
    database: Database,
    pass_by: PassBy | None,
    read: PageReader[_Item],
    resource: ResourceKey,
    window: Window,
    after: int,
    limit: int,
    through: int | None = None,
) -> tuple[VersionPage[_Item], int]:
    """A page without what cannot be read, which `pass_by` takes, and the last version that the page could hold."""

    def page(size: int, with_key: bool = True) -> tuple[VersionPage[_Item], int]:
        with database.reading(resource) as (session, resource_key_id, horizon):
            last = window.last(horizon) if through is None else through
            return read(session, resource_key_id, window, after, last, size, with_key), last

    found = reduced(page, limit)
    if not isinstance(found, JournalError):
        return found
    without, last = page(1, with_key=False)
    for item in without.items:
        passed(pass_by, found, item.document_id, "KeyValues", item.change_version)
    return VersionPage([], without.next), last
