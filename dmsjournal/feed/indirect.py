"""Indirect changes as events: the documents that refer to one whose identity changed. Source: docs/how-it-works.md, The feed.

Such an event lies at the version of the identity change, under the id of the document that refers: so it has a place in the feed's
order, and a token may lie between any two. Only a document that was not written since has one: one that was written since has a
later event of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dmsjournal.database.session import Session
from dmsjournal.model.windows import HIGHEST_ID, LOWEST_ID, Cursor
from dmsjournal.read.room import Room

RENAMES = 1_000  # identity changes that a page looks at
_LOOKED = 1_000  # references that a page looks at, where its own size is less
_CHUNK = 20  # identity changes whose references one query looks at


@dataclass(frozen=True, slots=True)
class Rename:
    """An identity change of a document."""

    change_version: int
    document_id: int
    transaction_id: int
    created_at: Any


@dataclass(frozen=True, slots=True)
class Indirect:
    """The rows of documents that refer to what changed, each with the change, in the feed's order.

    `through` is the last place that was looked at, None where all of the range was. `floor` is that of the identity changes.
    """

    rows: Sequence[tuple[Any, Rename]]
    through: Cursor | None
    floor: int


def read_indirect(
    session: Session, start: Cursor, reached: Cursor, size: int, *, with_key: bool, with_body: bool, room: Room
) -> Indirect:
    """The documents after a place (exclusive) up to another (inclusive), about `size` of them at least if there are so many."""
    first = start.change_version + (start.document_id == HIGHEST_ID)
    found = session.execute("feed/renames", first_version=first, max_version=reached.change_version, most=RENAMES + 1).all()
    floor = found[0].floor
    listed = [row for row in found if row.change_version is not None]
    through: Cursor | None = None
    if len(listed) > RENAMES:
        last = listed[-1].change_version
        listed = [row for row in listed if row.change_version < last]
        through = Cursor(last - 1, HIGHEST_ID)
    renames = {
        (row.change_version, row.document_id): Rename(row.change_version, row.document_id, row.transaction_id, row.created_at)
        for row in listed
        if row.is_referred and row.transaction_id is not None
    }
    rows: dict[Cursor, tuple[Any, Rename]] = {}
    budget = max(size, _LOOKED)
    chunks = _chunks([*renames.values()])
    before = start.change_version  # the last version whose references were all looked at
    for number, chunk in enumerate(chunks, 1):
        looked, left = _taken(
            session,
            room,
            rows=[
                {
                    "change_version": rename.change_version,
                    "document_id": rename.document_id,
                    "after_id": start.document_id if rename.change_version == start.change_version else LOWEST_ID,
                }
                for rename in chunk
            ],
            looked=budget,
            with_key=with_key,
            with_body=with_body,
        )
        for row in looked:
            place = Cursor(row.change_version, row.document_id)
            if row.is_told and place <= reached:
                rows.setdefault(place, (row, renames[row.change_version, row.cause_id]))
        if left is not None or len(looked) >= budget:
            end = Cursor(looked[-1].change_version, looked[-1].document_id) if looked else Cursor(before, HIGHEST_ID)
            return Indirect([*rows.values()], end, floor)
        before = chunk[-1].change_version
        budget -= len(looked)
        if len(rows) > size and number < len(chunks):
            return Indirect([*rows.values()], Cursor(chunk[-1].change_version, HIGHEST_ID), floor)
    return Indirect([*rows.values()], through, floor)


def _taken(session: Session, room: Room, **binds: object) -> tuple[Sequence[Any], Any | None]:
    """The rows, as far as there is room, and the first that has none."""
    if not room.is_bounded:
        return session.execute("feed/indirect", **binds).all(), None
    return session.taken("feed/indirect", lambda row: room.has(row.key_values, row.body), room.rows, **binds)


def _chunks(renames: Sequence[Rename]) -> Sequence[Sequence[Rename]]:
    """The renames in pieces that do not cut a version."""
    chunks: list[list[Rename]] = []
    for rename in renames:
        if not chunks or (len(chunks[-1]) >= _CHUNK and rename.change_version != chunks[-1][-1].change_version):
            chunks.append([])
        chunks[-1].append(rename)
    return chunks
