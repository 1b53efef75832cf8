"""Floors: below which each journal is no longer complete."""

from __future__ import annotations

from dmsjournal.session import Session


def read_floors(session: Session) -> dict[str, int]:
    """The floor of each journal, by its name: what is at or below it may be gone; 0 while nothing is."""
    return {row.journal: row.change_version for row in session.execute("floors")}
