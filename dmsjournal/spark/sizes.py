"""How much is read at once: parts and round trips are of about equal bytes, whatever the bodies are."""

from __future__ import annotations

from dmsjournal.database.session import Session
from dmsjournal.read.plan import EVENTS_PER_PART

ROW = 250  # bytes of a change without its body, about
PART = 64 * 2**20  # bytes that one task reads
FEWEST = 1_000  # events of a part
_FETCH = 8 * 2**20  # bytes that come at once, to each task
_MOST_ROWS, _FEWEST_ROWS = 10_000, 50


def body_bytes(session: Session) -> int:
    """About how many bytes a body has, 0 where none is kept."""
    return int(session.execute("spark/body_bytes").scalar_one() or 0)


def events_per_part(row_bytes: int) -> int:
    """How many events of that size one task reads."""
    return max(FEWEST, min(EVENTS_PER_PART, PART // row_bytes))


def fetch_size(row_bytes: int) -> int:
    """How many rows come at once: the driver keeps them all in memory."""
    return max(_FEWEST_ROWS, min(_MOST_ROWS, _FETCH // row_bytes))
