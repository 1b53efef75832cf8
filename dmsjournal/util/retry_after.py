"""The header Retry-After: how long whoever answers a request asks for."""

from __future__ import annotations

import email.utils
from datetime import UTC, datetime

LONGEST = 3600.0  # seconds that are heeded


def seconds_of(text: str | None, now: datetime | None = None) -> float:
    """The seconds of a Retry-After, which has seconds or a date; 0 for none and for what is neither."""
    if text is None:
        return 0.0
    if text.strip().isascii() and text.strip().isdigit():
        return min(LONGEST, float(text.strip()[:12]))
    try:
        at = email.utils.parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return 0.0
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return min(LONGEST, max(0.0, (at - (now or datetime.now(UTC))).total_seconds()))
