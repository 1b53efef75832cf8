"""Deletes: the tombstones of a resource in a window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dmsjournal.database.floors import floor_of, refuse_missing_parts
from dmsjournal.database.session import Session
from dmsjournal.model.windows import Window
from dmsjournal.read.iteration import VersionPage
from dmsjournal.read.pages import refuse_expired


@dataclass(frozen=True, slots=True)
class Delete:
    """A deleted document: its last key values, and its tombstone's own version, above all of the document's stamps.

    Each lifetime of a key has a uuid of its own and a tombstone of its own.
    """

    document_id: int
    document_uuid: UUID
    change_version: int
    key_values: Mapping[str, object] | None
    deleted_at: datetime


def deletes_page(
    session: Session,
    resource_key_id: int,
    window: Window,
    after: int,
    through: int,
    limit: int,
    with_key: bool = True,
    *,
    reused_keys: bool = True,
) -> VersionPage[Delete]:
    """The next tombstones after a version (exclusive) up to another (inclusive), oldest first; scans `limit` of them.

    Without `reused_keys` those are left out whose key another document had again at `through`.
    """
    found = session.execute(
        "read/deletes",
        resource_key_id=resource_key_id,
        after_version=after,
        max_version=through,
        page_size=limit,
        with_key=with_key,
    ).all()
    refuse_expired(window, floor_of(found, "DocumentDeleteEvent"))
    items = [
        Delete(row.document_id, row.document_uuid, row.change_version, row.key_values, row.deleted_at)
        for row in found
        if row.document_id is not None
    ]
    reached = items[-1].change_version if len(items) == limit else through
    refuse_missing_parts(session, after, reached, "DocumentDeleteEvent")
    following = items[-1].change_version if len(items) == limit else None
    if items and not reused_keys:
        reused = _reused(session, items, through)
        items = [item for item in items if item.change_version not in reused]
    return VersionPage(items, following)


def _reused(session: Session, items: Sequence[Delete], through: int) -> frozenset[int]:
    """The versions of those tombstones whose key another document had again at `through`."""
    versions = [item.change_version for item in items]
    return frozenset(row.change_version for row in session.execute("read/reused_keys", versions=versions, max_version=through))
