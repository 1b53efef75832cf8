"""Held back: committed changes that no reader is given yet, since an older transaction is still open.

A reader that finds nothing new has caught up, or the horizon is held below what others have committed. The two look alike.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from dmsjournal.database.horizon import Horizon
from dmsjournal.database.session import Session
from dmsjournal.errors import DatabaseRefused
from dmsjournal.operate.status import Holder, read_holders


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Committed changes above the horizon, `newest`: `versions` were given above it, None where the role may not see how many.

    `since` is when the first of the changes was written, by the database's clock. `holders` begin with the transaction that holds
    the horizon.
    """

    newest: int
    versions: int | None
    since: datetime
    holders: tuple[Holder, ...]

    def __str__(self) -> str:
        many = "versions" if self.versions is None else f"{self.versions} version{'' if self.versions == 1 else 's'}"
        by = f" by {described(self.holders[0])}" if self.holders else ""
        others = f" and {len(self.holders) - 1} more" if len(self.holders) > 1 else ""
        return f"{many} above {self.newest} held back since {self.since.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC{by}{others}"


def described(holder: Holder) -> str:
    """Who holds the horizon, in words."""
    who = f"prepared transaction {holder.prepared!a}" if holder.prepared is not None else f"session {holder.pid}"
    age = None if holder.transaction_seconds is None else f"open for {holder.transaction_seconds:.0f} s"
    told = [f"user {holder.user}" if holder.user else None, holder.application, holder.state, age]
    known = ", ".join(each for each in told if each)
    return f"{who} ({known})" if known else who


def held_back_if_allowed(look: Callable[[], HeldBack | None]) -> HeldBack | None:
    """What Journal.held_back gives; None also where the role may not look."""
    with suppress(DatabaseRefused):
        return look()
    return None


def read_held_back(session: Session, horizon: Horizon) -> HeldBack | None:
    """See Journal.held_back. The last stamp is read before the horizon, as status reads it."""
    last_stamp: int | None = session.execute("operate/status_server").one().last_stamp
    newest = horizon.read(session, "database/begin_page")
    if last_stamp is not None and last_stamp <= newest:
        return None
    first = next(iter(session.execute("operate/status_events", versions=[newest + 1])), None)
    if first is None or first.change_version is None:
        return None
    hidden = {row.part for row in session.execute("operate/status_hidden")}
    holders = () if "holders" in hidden else read_holders(session)
    return HeldBack(newest, None if last_stamp is None else last_stamp - newest, first.created_at, holders)
