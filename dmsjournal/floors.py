"""Floors: below which each journal is no longer complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from dmsjournal.errors import UnsupportedCapability
from dmsjournal.session import Session


class Floors(dict[str, int]):
    """The floor of each journal, by its name. One whose row somebody deleted raises UnsupportedCapability."""

    def __missing__(self, journal: str) -> NoReturn:
        unknown = f"the floor of {journal} is missing, so what was pruned is not known"
        raise UnsupportedCapability(unknown, "dmsjournal verify --repair")


def read_floors(session: Session) -> Floors:
    """The floor of each journal, by its name: what is at or below it may be gone; 0 while nothing is."""
    return Floors({row.journal: row.change_version for row in session.execute("floors")})


def floor_of(rows: Sequence[Any], journal: str) -> int:
    """The floor that each row of a page has; there is a row wherever there is a floor. Raises UnsupportedCapability."""
    return int(rows[0].floor) if rows else Floors()[journal]
