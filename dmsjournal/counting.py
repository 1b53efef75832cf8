"""Counting: how many changes, deletes or key changes a window of a resource holds, or how many documents there are."""

from __future__ import annotations

from dmsjournal.errors import InvalidRequest
from dmsjournal.floors import read_floors
from dmsjournal.key_changes import key_changes_page
from dmsjournal.pages import refuse_expired
from dmsjournal.session import Session
from dmsjournal.streams import DELETE, KEY_CHANGE, KINDS, UPSERT
from dmsjournal.windows import Window

_SCANNED = 10_000  # key changes that are looked at at once
_STATEMENTS = {UPSERT: "count_changes", DELETE: "count_deletes"}


def checked_kind(kind: object) -> str:
    """The kind of what is counted. Raises InvalidRequest."""
    if kind not in KINDS:
        raise InvalidRequest("kind", kind, f"name one of {', '.join(KINDS)}")
    return str(kind)


def count_documents(session: Session, resource_key_id: int) -> int:
    """The live documents of a resource."""
    return int(session.execute("count_documents", resource_key_id=resource_key_id).scalar_one())


def count_window(session: Session, resource_key_id: int, window: Window, horizon: int, kind: str) -> int:
    """What a walk of the window would give. The floors are read after it (invariant 8). Raises CheckpointExpired."""
    last = window.last(horizon)
    if kind == KEY_CHANGE:
        return _count_key_changes(session, resource_key_id, window, last)
    binds = {"resource_key_id": resource_key_id, "min_version": window.first, "max_version": last}
    found = int(session.execute(_STATEMENTS[kind], **binds).scalar_one())
    floors = read_floors(session)
    journals = ("DocumentChangeEvent", "IdentityChangeEvent") if kind == UPSERT else ("DocumentDeleteEvent",)
    refuse_expired(window, max(floors[journal] for journal in journals))
    return found


def _count_key_changes(session: Session, resource_key_id: int, window: Window, last: int) -> int:
    found, after = 0, window.first - 1
    while True:
        page = key_changes_page(session, resource_key_id, window, after, last, _SCANNED)
        found += len(page.items)
        if page.next is None:
            return found
        after = page.next
