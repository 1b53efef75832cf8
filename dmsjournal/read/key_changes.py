"""Key changes: the documents of a resource whose key values differ between the ends of a window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dmsjournal.database.floors import floor_of, refuse_missing_parts
from dmsjournal.database.session import Session
from dmsjournal.model.windows import Window
from dmsjournal.read.iteration import VersionPage
from dmsjournal.read.pages import refuse_expired


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A document's key values before its first key change in the window and after its last, at the version of the last."""

    document_id: int
    document_uuid: UUID
    change_version: int
    old_key_values: Mapping[str, object] | None
    new_key_values: Mapping[str, object] | None
    changed_at: datetime


def key_changes_page(
    session: Session, resource_key_id: int, window: Window, after: int, through: int, limit: int, with_key: bool = True
) -> VersionPage[KeyChange]:
    """The key changes after a version (exclusive) up to another (inclusive), oldest first; scans `limit` events."""
    found = session.execute(
        "read/key_changes",
        resource_key_id=resource_key_id,
        min_version=window.first,
        after_version=after,
        max_version=through,
        page_size=limit,
        with_key=with_key,
    ).all()
    refuse_expired(window, floor_of(found, "KeyChangeEvent"))
    refuse_missing_parts(session, window.first, through, "KeyChangeEvent")  # of a key's other changes in the window, too
    events = [row for row in found if row.document_id is not None]
    items = [
        KeyChange(row.document_id, row.document_uuid, row.change_version, row.old_key_values, row.new_key_values, row.changed_at)
        for row in events
        if row.is_listed
    ]
    return VersionPage(items, events[-1].change_version if len(events) == limit else None)
