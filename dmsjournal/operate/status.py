"""Status: how far the journal is, who holds it back, how large it is, how fast it grows, and what is wrong with it.

Nothing here reads a journal from end to end. Sizes are the catalog's, and times are found by a bounded number of lookups by
version, since CreatedAt rises with the version but for writers that overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from dmsjournal.database.floors import Floors
from dmsjournal.database.horizon import Horizon
from dmsjournal.database.revisions import option_of
from dmsjournal.database.session import Session
from dmsjournal.model.windows import MAX_VERSION, ChangeVersions
from dmsjournal.operate import tracking
from dmsjournal.operate.consumers import consumer_of
from dmsjournal.operate.partitions import OPTION, missing_parts

_SAMPLES = 48  # of the history
_WAYS = 16  # that a range is split into to find a time in it: 2^32 versions take 8 statements
_RANGES = 16  # that a period's versions are split into to estimate its rows
_COUNTED = 64  # rows in each of them: exact where it has fewer
_ENSURE = "run `dmsjournal partitions ensure`, and let cron run it daily"
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Holder:
    """A transaction that has drawn a stamp and is open: the horizon cannot pass its floor.

    `pid` is the session's id, None for a transaction that is `prepared` under that name. `client`, `state` and
    `transaction_seconds` are None where the role may not see them.
    """

    floor: int
    pid: int | None
    prepared: str | None
    user: str | None
    application: str | None
    client: str | None
    state: str | None
    transaction_seconds: float | None


@dataclass(frozen=True, slots=True)
class JournalStatus:
    """A journal: its rows and those written in the last hour and day, estimated and not pruned; bytes with its indexes; floor."""

    name: str
    rows: int
    bytes: int
    rows_last_hour: int
    rows_last_day: int
    floor: int
    pruned_at: datetime | None


@dataclass(frozen=True, slots=True)
class ConsumerStatus:
    """A registered consumer: how far it is behind the horizon.

    `lag_versions` is Consumer.lag: inside a version, that version is not read yet. `lag_seconds` is the age of the first event at
    or below the horizon that it has not read, 0 where there is none. `is_expired`: events that it has not read are pruned, so it
    must read in full.
    """

    name: str
    change_version: int
    lag_versions: int
    lag_seconds: float
    is_expired: bool
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class TriggerStatus:
    """A trigger that the journal needs; `state` is enabled, disabled, missing, or hidden where the role may not see it."""

    table: str
    name: str
    state: str


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """The parts of the journals, with option partitions.

    `through` is the last version that has a part with bounds in each journal, None where there is none or the role may not see it;
    `days_left` is when it is reached at the pace of the last day, 0 where it is passed, None where nothing was written.
    `overflowing` are the journals with events above it, `missing` the parts that were detached or dropped by hand, each with its
    journal: readers of what they held are refused. `versions` a part, `ahead` parts and `ensured_at` are of the last ensure,
    None where none ran.
    """

    through: int | None
    days_left: float | None
    overflowing: tuple[str, ...]
    versions: int | None
    ahead: int | None
    ensured_at: datetime | None
    missing: tuple[str, ...] = ()

    def warnings(self, days: float) -> list[str]:
        """What an operator should know if the parts are to last for so many days, a sentence each."""
        found = [f"the default part of {journal} holds events: {_ENSURE}" for journal in self.overflowing]
        if not found and self.through is None:
            found = [f"no part with bounds can be seen: {_ENSURE}, or see it as the installing role"]
        elif not found and self.days_left is not None and self.days_left < days:
            since = "never ran" if self.ensured_at is None else f"ran last at {self.ensured_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
            found = [f"the parts of the journals last for {self.days_left:.1f} days, and ensure {since}: {_ENSURE}"]
        return [f"{part} is gone, readers of what it held are refused: run `dmsjournal verify`" for part in self.missing] + found


@dataclass(frozen=True, slots=True)
class TrackedStatus:
    """A tracked table and what is not as it should be with it: columns that changed since, a trigger that is missing.

    `is_whole` is False where a trigger, a function, the view or the table itself is not as it should be: changes may go unseen.
    """

    table: str
    problems: tuple[str, ...]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Sample:
    """An event of the history: its version and its time."""

    change_version: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Hidden:
    """Something that the role may not see, and the grant that would show it. `part` is a short name of it."""

    part: str
    what: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Status:
    """A journal's status at a moment, by the database's clock.

    `newest` is the horizon. `last_stamp` is the last one that was given, committed or not, None where the role may not see it;
    `lag_versions` is how far the horizon is below it. `lag_seconds` is the age of the first event above the horizon that can be
    seen, 0 where there is none: how late readers are. `holders` begin with the one that holds the horizon. `history` is 48 events
    at most, at equal distances of version, oldest first. `partitions` is None without option partitions, `tracked` without option
    tracking, or where the role may not see it.
    """

    at: datetime
    server: str
    database: str
    database_bytes: int | None
    revisions: tuple[str, ...]
    oldest: int
    newest: int
    last_stamp: int | None
    lag_versions: int | None
    lag_seconds: float
    holders: tuple[Holder, ...]
    journals: tuple[JournalStatus, ...]
    consumers: tuple[ConsumerStatus, ...]
    triggers: tuple[TriggerStatus, ...]
    history: tuple[Sample, ...]
    hidden: tuple[Hidden, ...]
    partitions: PartitionStatus | None = None
    tracked: tuple[TrackedStatus, ...] | None = None


def read_status(session: Session, horizon: Horizon) -> Status:
    """See Journal.status. The last stamp is read before the horizon: what is drawn in between is no lag."""
    server = session.execute("operate/status_server").one()
    newest = horizon.read(session, "database/begin_page")
    hidden = tuple(Hidden(row.part, row.what, row.remedy) for row in session.execute("operate/status_hidden"))
    journals = session.execute("operate/status_journals").all()
    floors = Floors({row.journal: row.floor for row in journals})
    events = _Events(session, floors["DocumentChangeEvent"] + 1, newest, server.now)
    history = events.history()
    since_hour, since_day = (events.first_since(server.now - period, history) for period in (_HOUR, _DAY))
    growth = events.rows_since([since_hour, since_day])
    revisions = tuple(session.execute("database/revisions").scalars())
    options = [option_of(revision) for revision in revisions]
    tracked, unseen = _tracked(session) if tracking.OPTION in options else (None, ())
    oldest, last_stamp = ChangeVersions.above(floors, newest).oldest, server.last_stamp
    return Status(
        at=server.now,
        server=server.server,
        database=server.database_name,
        database_bytes=server.database_bytes,
        revisions=revisions,
        oldest=oldest,
        newest=newest,
        last_stamp=last_stamp,
        lag_versions=None if last_stamp is None else max(0, last_stamp - newest),
        lag_seconds=events.age(newest + 1, MAX_VERSION if last_stamp is None else last_stamp),
        holders=() if "holders" in {missing.part for missing in hidden} else read_holders(session),
        journals=tuple(_journal(row, *growth) for row in journals),
        consumers=_consumers(session, events, oldest),
        triggers=tuple(
            TriggerStatus(row.table_name, row.trigger_name, row.state) for row in session.execute("schema/status_triggers")
        ),
        history=tuple(history),
        hidden=(*hidden, *unseen),
        partitions=_partitions(session, newest, newest - since_day + 1) if OPTION in options else None,
        tracked=tracked,
    )


def _journal(row: Any, last_hour: Mapping[str, int], last_day: Mapping[str, int]) -> JournalStatus:
    hour, day = last_hour.get(row.journal, 0), last_day.get(row.journal, 0)
    rows = max(row.row_estimate or 0, day)  # the server's own statistics may not have heard of the newest yet
    return JournalStatus(row.journal, rows, row.bytes, hour, day, row.floor, row.pruned_at)


def _partitions(session: Session, newest: int, versions_a_day: int) -> PartitionStatus:
    rows = session.execute("operate/status_partitions").all()
    bounds = [row.last_bound for row in rows if row.last_bound is not None]
    through = min(bounds) - 1 if len(bounds) == len(rows) else None
    days_left = None
    if through is not None and (through <= newest or versions_a_day):
        days_left = round(max(0, through - newest) / max(1, versions_a_day), 2)
    settings = session.execute("operate/partition_settings").first()
    versions, ahead, ensured_at = (None, None, None) if settings is None else tuple(settings)
    overflowing = tuple(row.journal for row in rows if row.overflows)
    missing = tuple(f"part {row.partition} of {row.journal}" for row in missing_parts(session))
    return PartitionStatus(through, days_left, overflowing, versions, ahead, ensured_at, missing)


def _tracked(session: Session) -> tuple[tuple[TrackedStatus, ...] | None, tuple[Hidden, ...]]:
    """The tracked tables; None where the role may not see them, and what it lacks."""
    seen = session.execute("operate/status_tracking_seen").one()
    if not seen.is_seen:
        return None, (Hidden("tracked", "the state of tracked tables", seen.remedy),)
    rows = session.execute("operate/status_tracking")
    return tuple(TrackedStatus(row.table_name, tuple(row.problems), row.is_whole) for row in rows), ()


def read_holders(session: Session) -> tuple[Holder, ...]:
    return tuple(
        Holder(row.floor, row.pid, row.prepared, row.user_name, row.application, row.client, row.state, row.transaction_seconds)
        for row in session.execute("operate/status_holders")
    )


def _consumers(session: Session, events: _Events, oldest: int) -> tuple[ConsumerStatus, ...]:
    found = [consumer_of(row, events.newest) for row in session.execute("operate/status_consumers")]
    events.look_up(consumer.through + 1 for consumer in found)  # in one statement
    return tuple(
        ConsumerStatus(
            consumer.name,
            consumer.change_version,
            consumer.lag,
            events.age(consumer.through + 1, events.newest),
            consumer.through + 1 < oldest,
            consumer.updated_at,
        )
        for consumer in found
    )


class _Events:
    """The events from a version (`first`, above the floor) to the horizon, looked up by version; each lookup is kept."""

    def __init__(self, session: Session, first: int, newest: int, now: datetime) -> None:
        self._session, self._first, self.newest, self._now = session, first, newest, now
        self._found: dict[int, Sample | None] = {}

    def look_up(self, versions: Iterable[int]) -> None:
        """Finds the first event at or above each version."""
        wanted = sorted({self._kept(version) for version in versions} - self._found.keys())
        if wanted:
            self._found |= dict.fromkeys(wanted)
            for row in self._session.execute("operate/status_events", versions=wanted):
                self._found[row.version] = Sample(row.change_version, row.created_at)

    def _kept(self, version: int) -> int:
        """The version, or the first one that is kept: below it, an index may be full of entries that were deleted."""
        return min(max(version, self._first), MAX_VERSION)

    def at_or_above(self, version: int, last: int) -> Sample | None:
        """The first event at or above a version and at or below another one."""
        self.look_up([version])
        found = self._found[self._kept(version)]
        return found if found is not None and found.change_version <= last else None

    def age(self, version: int, last: int) -> float:
        """The age of that event in seconds, 0 where there is none."""
        found = self.at_or_above(version, last)
        return 0.0 if found is None else round(max(0.0, (self._now - found.at).total_seconds()), 3)

    def history(self) -> list[Sample]:
        """Events at equal distances of version, oldest first."""
        begin = self.at_or_above(self._first, self.newest)
        if begin is None:
            return []
        versions = _split(begin.change_version, self.newest, _SAMPLES)
        self.look_up(versions)
        found = (self.at_or_above(version, self.newest) for version in versions)
        return sorted({sample for sample in found if sample is not None}, key=lambda sample: sample.change_version)

    def first_since(self, time: datetime, history: Sequence[Sample]) -> int:
        """The version of the first event at or after a time, the horizon plus one where there is none."""
        answer, low, high = self.newest + 1, self._first - 1, self.newest + 1  # or it lies between low and high
        known: list[tuple[int, Sample | None]] = [(sample.change_version, sample) for sample in history]
        while True:
            for version, sample in known:
                if sample is None or sample.at >= time:
                    answer, high = answer if sample is None else sample.change_version, version
                    break
                low = sample.change_version
            if high - low <= 1:
                return answer
            versions = _split(low + 1, high - 1, _WAYS)
            self.look_up(versions)
            known = [(version, self.at_or_above(version, high - 1)) for version in versions]

    def rows_since(self, versions: Sequence[int]) -> list[Mapping[str, int]]:
        """For each version, how many rows each journal has from it to the horizon: counted where they are few, else estimated."""
        ranges = [_ranges(version, self.newest) for version in versions]
        listed = [
            {"ordinal": period * _RANGES + place, "low": low, "high": high}
            for period, cut in enumerate(ranges)
            for place, (low, high) in enumerate(cut)
        ]
        rows: list[dict[str, float]] = [{} for _ in versions]
        if listed:
            for row in self._session.execute("operate/status_density", ranges=listed, most=_COUNTED):
                period, place = divmod(row.ordinal, _RANGES)
                low, high = ranges[period][place]
                scale = 1.0 if row.counted < _COUNTED else (high - low + 1) / (row.last_version - low + 1)
                rows[period][row.journal] = rows[period].get(row.journal, 0) + row.counted * scale
        return [{journal: round(count) for journal, count in found.items()} for found in rows]


def _split(low: int, high: int, points: int) -> list[int]:
    """Versions at equal distances, both ends included; every one where they are fewer."""
    return sorted({low + (high - low) * point // (points - 1) for point in range(points)})


def _ranges(low: int, high: int) -> list[tuple[int, int]]:
    """The versions from low to high in _RANGES parts, both ends of each inclusive; fewer where they are fewer."""
    borders = sorted({low + (high + 1 - low) * part // _RANGES for part in range(_RANGES + 1)})
    return [(begin, end - 1) for begin, end in pairwise(borders)] if low <= high else []
