"""Where a time is in the journals: versions rise with time, but not strictly."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from dmsjournal.database.session import Session
from dmsjournal.errors import CheckpointExpired

OVERLAP = timedelta(minutes=10)  # events whose times differ by more than this are in the order of their versions


def first_at(session: Session, floor: int, horizon: int, at: datetime) -> int | None:
    """The version of the first event above the floor, up to the horizon, whose time is not before `at`; None where there is none.

    The versions are halved until one is found whose event is older than `at` by the overlap, and whose next half's is not; from
    there on each event is looked at. Later events may be older: they come as well.
    """
    at = at.astimezone(UTC)
    low, high = floor + 1, horizon  # what is below `low` is too old by the overlap
    margin = at - OVERLAP if at - datetime.min.replace(tzinfo=UTC) > OVERLAP else at
    while low < high:
        middle = (low + high) // 2
        found = _first(session, middle, high, None)
        if found.change_version is None or found.created_at >= margin:
            high = middle
        else:
            low = found.change_version + 1
    version: int | None = _first(session, low, horizon, at).change_version
    return version


def is_preceded(session: Session, floor: int, version: int) -> bool:
    """Whether an event is kept above the floor and below a version."""
    return _first(session, floor + 1, version - 1, None).change_version is not None


def first_event_time(session: Session, after: int, through: int) -> datetime | None:
    """When the first event above a version came, up to another, inclusive; None where there is none."""
    at: datetime | None = _first(session, after + 1, through, None).created_at
    return at


def version_before(session: Session, floor: int, newest: int, at: datetime, read_floor: Callable[[], int]) -> int:
    """The version before the first event at a time. Raises CheckpointExpired where such an event may have been pruned."""
    version = first_at(session, floor, newest, at)
    following = newest + 1 if version is None else version
    floor = read_floor()  # after what was looked for: a prune may have taken that meanwhile
    if floor > 0 and not is_preceded(session, floor, following):
        raise CheckpointExpired(floor, floor + 1)
    return following - 1


def _first(session: Session, from_version: int, max_version: int, at: datetime | None) -> Any:
    text = None if at is None else at.replace(tzinfo=None).isoformat(timespec="microseconds")
    return session.execute("read/first_at", from_version=from_version, max_version=max_version, at=text).one()
