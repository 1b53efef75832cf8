"""Whether a database's history still leads to where a consumer has read it (invariant 9)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dmsjournal.util.times import microseconds


@dataclass(frozen=True, slots=True)
class LastEvent:
    """The identity of the last event at or below a place. `at` is its time, in microseconds since 1970 in UTC."""

    change_version: int
    document_id: int
    transaction_id: int
    at: int

    @classmethod
    def of(cls, change_version: int | None, document_id: int, transaction_id: int, at: datetime) -> LastEvent | None:
        """From a row of a query; None where there is no event."""
        return None if change_version is None else cls(change_version, document_id, transaction_id, microseconds(at))


def has_diverged(place: int, drawn: int, *, remembered: int | None, found: int | None, is_same: bool, event_floor: int) -> bool:
    """Whether the history is another one than somebody has read up to version `place`.

    `remembered` is the version of the last event at or below the place when it was set, `found` of the one that is there now, and
    `is_same` whether the two are one event. `drawn` is the newest stamp that the sequence has given.

    What is at or below a horizon stays as it is, until it is pruned. So the last event at or below the place is the one that was
    there when it was set, or both are at or below the floor; and the sequence has given the place's version.
    """
    is_kept = max(remembered or 0, found or 0) > event_floor
    return place > drawn or (is_kept and not is_same)
