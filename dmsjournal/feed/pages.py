"""Pages: events, and the token of where to go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dmsjournal.feed.events import FeedEvent
from dmsjournal.feed.scopes import PhysicalPartition


@dataclass(frozen=True, slots=True)
class FeedDiagnostics:
    """How far the page is behind, and what it cost.

    `horizon` is the newest version that could be read. `lag_versions` is how many versions the page ends below it. `lag_seconds` is
    the age, by the provider's clock, of the last event up to there, 0 where nothing was left. `rows_scanned` are the events that
    were looked at, wanted or not. `oldest` is the oldest version that is kept. `request_units` is what the provider charges for the
    page. Portability: None where the provider does not tell.
    """

    rows_scanned: int
    horizon: int | None = None
    lag_versions: int | None = None
    lag_seconds: float | None = None
    oldest: int | None = None
    request_units: float | None = None


@dataclass(frozen=True, slots=True)
class ChildPartition:
    """A partition that goes on where a retired one ends: read it from `token`, after all of `parents` were read to their ends."""

    scope: PhysicalPartition
    token: str
    parents: Sequence[str]


@dataclass(frozen=True, slots=True)
class FeedPage:
    """One page. `token` is where the next one begins, also after an empty page.

    `idle` says that nothing at all was there, wanted or not: ask again later. `partition_retired` says that the scope, a physical
    partition, has ended, and with this page it was read to its end; `child_partitions` go on from there.
    """

    events: Sequence[FeedEvent]
    token: str
    idle: bool
    partition_retired: bool
    child_partitions: Sequence[ChildPartition]
    diagnostics: FeedDiagnostics
