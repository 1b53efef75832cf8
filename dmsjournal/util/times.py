"""Times as whole microseconds since 1970, in UTC, as tokens, rings and Arrow have them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_of(at: int) -> datetime:
    """The inverse of microseconds."""
    return _EPOCH + timedelta(microseconds=at)


def microseconds(at: datetime) -> int:
    """A time, which has a zone, in microseconds since 1970, in UTC."""
    return (at - _EPOCH) // timedelta(microseconds=1)
