"""Deletes: the tombstones of a resource in a window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dmsjournal.floors import floor_of
from dmsjournal.pages import refuse_expired
from dmsjournal.session import Session
from dmsjournal.walks import VersionPage
from dmsjournal.windows import Window


@dataclass(frozen=True, slots=True)
class Delete:
    """A deleted document: its last key values, and its tombstone's own version, above all of the document's stamps.

    Each lifetime of a key has a uuid of its own and a tombstone of its own, listed whether or not the key lives again.
    """

    document_id: int
    document_uuid: UUID
    change_version: int
    key_values: Mapping[str, object] | None
    deleted_at: datetime


def deletes_page(
    session: Session, resource_key_id: int, window: Window, after: int, through: int, limit: int
) -> VersionPage[Delete]:
    """The next tombstones after a version (exclusive) up to another (inclusive), oldest first, at most `limit`."""
    found = session.execute(
        "deletes", resource_key_id=resource_key_id, after_version=after, max_version=through, page_size=limit
    ).all()
    refuse_expired(window, floor_of(found, "DocumentDeleteEvent"))
    items = [
        Delete(row.document_id, row.document_uuid, row.change_version, row.key_values, row.deleted_at)
        for row in found
        if row.document_id is not None
    ]
    return VersionPage(items, items[-1].change_version if len(items) == limit else None)
