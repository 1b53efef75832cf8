"""Floors, below which each journal is no longer complete; and parts of it that are gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from dmsjournal.database.session import Session
from dmsjournal.errors import UnsupportedCapability

PARTITIONS = "partitions"  # the option whose parts can be taken away, on an engine where they are tables


class Floors(dict[str, int]):
    """The floor of each journal, by its name. A journal whose row was deleted raises UnsupportedCapability."""

    def __missing__(self, journal: str) -> NoReturn:
        unknown = f"the floor of {journal} is missing, so what was pruned is not known"
        raise UnsupportedCapability(unknown, "dmsjournal verify --repair")


def read_floors(session: Session) -> Floors:
    """The floor of each journal, by its name: what is at or below it may be gone; 0 while nothing is."""
    return Floors({row.journal: row.change_version for row in session.execute("database/floors")})


def floor_of(rows: Sequence[Any], journal: str) -> int:
    """The floor that each row of a page has; there is a row wherever there is a floor. Raises UnsupportedCapability."""
    return int(rows[0].floor) if rows else Floors()[journal]


def refuse_missing_parts(session: Session, first: int, last: int, *journals: str) -> None:
    """Refuses a window, both ends inclusive, if a part of it was detached or dropped by hand. Call it after the window was read.

    Raises UnsupportedCapability: what the part held is not known to be pruned, so an answer without it would be short.
    """
    if PARTITIONS not in session.options or not session.engine.SPLITS_PARTITIONS:
        return
    row = session.execute("database/missing_part", journals=list(journals), first=first, last=last).first()
    if row is not None:
        held = "the versions of no other part" if row.high is None else f"versions {row.low or 0} to {row.high - 1}"
        raise UnsupportedCapability(
            f"part {row.partition} of {row.journal} is gone, which held {held}",
            "attach it again (ALTER TABLE … ATTACH PARTITION), or run `dmsjournal verify --repair` as the installing role: "
            "consumers then read in full",
        )
