"""Counting: how many changes, deletes or key changes a window of a resource holds, or how many documents there are."""

from __future__ import annotations

from functools import partial
from typing import TypeVar

from dmsjournal.database.floors import read_floors, refuse_missing_parts
from dmsjournal.database.session import Session
from dmsjournal.errors import InvalidRequest
from dmsjournal.model.windows import Window
from dmsjournal.read.deletes import deletes_page
from dmsjournal.read.iteration import PageReader, VersionItem
from dmsjournal.read.key_changes import key_changes_page
from dmsjournal.read.pages import refuse_expired
from dmsjournal.read.stream import DELETE, KEY_CHANGE, KINDS, UPSERT

_SCANNED = 10_000  # key changes or tombstones that are looked at at once
_Item = TypeVar("_Item", bound=VersionItem)
_STATEMENTS = {UPSERT: "read/count_changes", DELETE: "read/count_deletes"}


def checked_kind(kind: object) -> str:
    """The kind of what is counted. Raises InvalidRequest."""
    if kind not in KINDS:
        raise InvalidRequest("kind", kind, f"name one of {', '.join(KINDS)}")
    return str(kind)


def count_documents(session: Session, resource_key_id: int) -> int:
    """The live documents of a resource."""
    return int(session.execute("read/count_documents", resource_key_id=resource_key_id).scalar_one())


def count_window(session: Session, resource_key_id: int, window: Window, horizon: int, kind: str, reused_keys: bool = True) -> int:
    """What a walk of the window would give. The floors are read after it (invariant 8). Raises CheckpointExpired."""
    last = window.last(horizon)
    if kind == KEY_CHANGE:
        return _count_pages(session, key_changes_page, resource_key_id, window, last, with_key=True)
    if kind == DELETE and not reused_keys:
        return _count_pages(session, partial(deletes_page, reused_keys=False), resource_key_id, window, last, with_key=False)
    binds = {"resource_key_id": resource_key_id, "min_version": window.first, "max_version": last}
    found = int(session.execute(_STATEMENTS[kind], **binds).scalar_one())
    floors = read_floors(session)
    journals = ("DocumentChangeEvent", "IdentityChangeEvent") if kind == UPSERT else ("DocumentDeleteEvent",)
    refuse_expired(window, max(floors[journal] for journal in journals))
    refuse_missing_parts(session, window.first, last, *journals)
    return found


def _count_pages(session: Session, read: PageReader[_Item], resource_key_id: int, window: Window, last: int, with_key: bool) -> int:
    found, after = 0, window.first - 1
    while True:
        page = read(session, resource_key_id, window, after, last, _SCANNED, with_key)
        found += len(page.items)
        if page.next is None:
            return found
        after = page.next
