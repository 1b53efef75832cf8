"""Fingerprints: what a checkpoint remembers of a database's history, so that another history is told from it (invariant 9)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from dmsjournal.database.history import has_diverged
from dmsjournal.database.session import Session
from dmsjournal.errors import CheckpointExpired, HistoryDiverged


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A version that was at most the horizon, and the last event at or below it; the event's fields are None where there is none.

    It is the same after a restart, and in a database that was dumped and restored: history counts, not the server.
    """

    version: int
    event_version: int | None = None
    document_id: int | None = None
    transaction_id: int | None = None
    created_at: datetime | None = None


def read_fingerprint(session: Session, version: int) -> Fingerprint:
    """The database's fingerprint at a version, which is at most a horizon read before."""
    return _at(version, session.execute("database/last_event", version=version).one())


def refuse_another_history(session: Session, taken: Fingerprint) -> None:
    """Raises HistoryDiverged where the database's history does not lead to the fingerprint, CheckpointExpired where events after
    its version are pruned. Source: docs/how-it-works.md, Consumers."""
    row = session.execute("database/last_event", version=taken.version).one()
    found = _at(taken.version, row)
    if has_diverged(
        taken.version,
        row.drawn,
        remembered=taken.event_version,
        found=found.event_version,
        is_same=taken == found,
        event_floor=row.event_floor,
    ):
        raise HistoryDiverged(taken.version, row.drawn)
    if taken.version < row.floor:
        raise CheckpointExpired(taken.version + 1, row.floor + 1)


def _at(version: int, event: sa.Row[Any]) -> Fingerprint:
    """The fingerprint that a row of last_event makes."""
    return Fingerprint(version, event.event_version, event.document_id, event.transaction_id, event.created_at)
