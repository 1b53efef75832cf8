"""Pages of changes: which documents of a resource changed in a window, in (ChangeVersion, DocumentId) order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from dmsjournal.database.floors import floor_of, refuse_missing_parts
from dmsjournal.database.session import Session
from dmsjournal.errors import CheckpointExpired, InvalidRequest
from dmsjournal.model.resources import ResourceKey
from dmsjournal.model.windows import Cursor, Window


@dataclass(frozen=True, slots=True)
class Change:
    """A live document at its derived ChangeVersion."""

    document_id: int
    document_uuid: UUID
    change_version: int


@dataclass(frozen=True, slots=True)
class ChangePage:
    """One page. `next` is the cursor of the page after it, None at the end of the window; a page may be empty before the end.

    `through` is the last version that the walk covers, inclusive: the window's max, or the horizon where that is lower (then
    `cut` is true). Go on with a window from `through` + 1.
    """

    items: Sequence[Change]
    next: Cursor | None
    through: int
    cut: bool


@dataclass(frozen=True, slots=True)
class SnapshotPage:
    """Documents in DocumentId order. `next` is the id of the last one, which the page after it comes after; None at the end."""

    items: Sequence[Change]
    next: int | None


def change_page(
    session: Session, resource: ResourceKey, resource_key_id: int, window: Window, after: Cursor | None, limit: int, horizon: int
) -> ChangePage:
    """The changes after a cursor; see Journal.change_page. Source: docs/how-it-works.md, Paging."""
    through = window.last(horizon)
    if after is not None and after.change_version > through:
        raise InvalidRequest(
            "after", after, f"it is above the newest readable version ({horizon}): if another program has just read it, try again"
        )
    start = after or Cursor.before(window.first)
    found = _scanned(
        session,
        resource_key_id=resource_key_id,
        after_version=start.change_version,
        after_id=start.document_id,
        max_version=through,
        page_size=limit + 1,  # one more, so that the last page knows that it is
    )
    refuse_expired(window, floor_of(found, "DocumentChangeEvent or IdentityChangeEvent"))
    reached = through if found[0].scanned_version is None else found[0].scanned_version
    refuse_missing_parts(session, start.change_version, reached, "DocumentChangeEvent", "IdentityChangeEvent")
    items = [Change(row.document_id, row.document_uuid, row.change_version) for row in found if row.document_id is not None]
    if len(items) > limit:
        items = items[:limit]
        position: Cursor | None = Cursor(items[-1].change_version, items[-1].document_id, resource)
    elif found[0].scanned_version is None:
        position = None
    else:
        position = Cursor(found[0].scanned_version, found[0].scanned_id, resource)
    return ChangePage(items, position, through, window.is_cut(through))


def _scanned(session: Session, **binds: object) -> Sequence[Any]:
    """The rows of change_page: from the stored versions where the database has them and they are exact, else from the journals."""
    if "max_dep_identity_version" in session.options:
        found = session.execute("read/change_page_stored", **binds).all()
        if found and found[0].is_exact:
            return found
    return session.execute("read/change_page", **binds).all()


def snapshot_page(session: Session, resource_key_id: int, after: int, limit: int) -> SnapshotPage:
    """The documents of a resource after an id (exclusive), at most `limit`, each at its derived version as of now."""
    found = session.execute("read/snapshot_page", resource_key_id=resource_key_id, after_id=after, page_size=limit)
    items = [Change(row.document_id, row.document_uuid, row.change_version) for row in found]
    return SnapshotPage(items, items[-1].document_id if len(items) == limit else None)


def refuse_expired(window: Window, floor: int) -> None:
    """Raises CheckpointExpired where the window reaches to or below a floor (invariant 8)."""
    if floor > 0 and window.first <= floor:
        raise CheckpointExpired(window.first, floor + 1)
