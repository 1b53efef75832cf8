"""Key changes: the documents of a resource whose key values differ between the ends of a window."""

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
class KeyChange:
    """A document's key values before its first key change in the window and after its last, at the version of the last."""

    document_id: int
    document_uuid: UUID
    change_version: int
    old_key_values: Mapping[str, object] | None
    new_key_values: Mapping[str, object] | None
    changed_at: datetime


def key_changes_page(
    session: Session, resource_key_id: int, window: Window, after: int, through: int, limit: int
) -> VersionPage[KeyChange]:
    """The key changes after a version (exclusive) up to another (inclusive), oldest first; scans `limit` events."""
    found = session.execute(
        "key_changes",
        resource_key_id=resource_key_id,
        min_version=window.first,
        after_version=after,
        max_version=through,
        page_size=limit,
    ).all()
    refuse_expired(window, floor_of(found, "KeyChangeEvent"))
    events = [row for row in found if row.document_id is not None]
    items = [
        KeyChange(row.document_id, row.document_uuid, row.change_version, row.old_key_values, row.new_key_values, row.changed_at)
        for row in events
        if row.is_listed
    ]
    return VersionPage(items, events[-1].change_version if len(events) == limit else None)
