"""Option partitions: the parts of the journals are added ahead, split while readers and writers go on, and dropped by a prune.

Where a part begins and ends is the database's to say; what takes more than a moment is done in steps, each a transaction.
Source: docs/how-it-works.md, Partitions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from dmsjournal.database.connect import is_locked_out
from dmsjournal.database.database import Database
from dmsjournal.database.floors import PARTITIONS
from dmsjournal.database.revisions import option_of
from dmsjournal.database.session import Session
from dmsjournal.errors import InvalidRequest, Unavailable, UnsupportedCapability, valid_names
from dmsjournal.model.journals import JOURNALS
from dmsjournal.model.windows import MAX_VERSION, checked_size
from dmsjournal.operate.lease import Lease, holding, lease_of_prune
from dmsjournal.util.backoff import Backoff
from dmsjournal.util.durations import checked_duration

OPTION = PARTITIONS
VERSIONS, AHEAD, BATCH_SIZE = 10_000_000, 3, 10_000
_MOST_AHEAD, _MOST_PIECES = 1_000, 1_000
_PATIENCE = timedelta(minutes=2)  # how long a step is tried again that a lock or an open transaction is in the way of
_FALLS_BACK = 5  # tries to drop a part before its rows go in batches meanwhile


def missing_parts(session: Session) -> list[Any]:
    """The parts of journals above the floors that were detached or dropped by hand. Only PostgreSQL's parts are tables."""
    if PARTITIONS not in session.options or not session.engine.SPLITS_PARTITIONS:
        return []
    return list(session.execute("operate/missing_parts"))


@dataclass(frozen=True, slots=True)
class Partition:
    """A part of a journal: the versions from `low` (inclusive; None: from the beginning on) to `high` (exclusive).

    Both are None for the default part, which takes what is in no other. `rows` is an estimate, `bytes` are with indexes.
    """

    journal: str
    partition: str
    low: int | None
    high: int | None
    is_default: bool
    rows: int
    bytes: int

    def is_finished(self, newest: int) -> bool:
        """Whether no event comes to it any more."""
        return self.high is not None and self.high - 1 <= newest

    def is_wider(self, versions: int) -> bool:
        """Whether it has more versions than that."""
        return self.high is not None and self.high - (self.low or 0) > versions


@dataclass(frozen=True, slots=True)
class PartitionStep:
    """What was done with a journal, and how many rows it copied; see Partitions.ensure and Partitions.split."""

    journal: str
    step: str
    rows: int = 0


Progress = Callable[[PartitionStep], None]


class Partitions:
    """The parts of the journals of one database: `Journal.partitions`. Without the option they raise UnsupportedCapability."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self) -> Sequence[Partition]:
        """All parts, by journal and in order, the default one last."""
        with self._database.connection() as conn, conn.begin():
            return _read(self._checked(conn))

    def ensure(
        self, versions: int | None = None, ahead: int | None = None, progress: Progress | None = None
    ) -> Sequence[PartitionStep]:
        """Makes parts for the versions to come, and one with bounds of what the default part holds; returns what was done.

        Units: `versions` is versions a part (1 or more), `ahead` is how many of them there are above the last stamp (1 to 1,000).
        The database keeps both: without them it is what the last call was given, 10,000,000 and 3 at the first one.
        Safe to run again; what is there already stays as it is. Writers and readers go on. `progress` is called after each step.
        The installing role's. Raises InvalidRequest; Unavailable while a prune runs, or where a lock is not to be had in 2 min.
        """
        if versions is not None:
            checked_size("versions", versions, MAX_VERSION, "versions")
        if ahead is not None:
            checked_size("ahead", ahead, _MOST_AHEAD, "parts")
        done = []
        with self._alone() as (conn, lease):
            kept = self._kept(conn)
            versions, ahead = versions or kept[0], ahead or kept[1]
            while (
                row := self._tried(conn, lease, "operate/ensure_partitions", versions=versions, ahead=ahead).first()
            ) is not None:
                done.append(PartitionStep(row.journal, row.step))
                if progress is not None:
                    progress(done[-1])
            with conn.begin():
                Session(conn).execute("operate/keep_partition_settings", versions=versions, ahead=ahead)
        return done

    def _kept(self, conn: sa.Connection) -> tuple[int, int]:
        """What the last ensure was asked for: versions a part, and parts ahead."""
        with conn.begin():
            row = Session(conn).execute("operate/partition_settings").first()
        return (VERSIONS, AHEAD) if row is None else (row.versions, row.ahead)

    def split(
        self,
        versions: int | None = None,
        journal: str | None = None,
        *,
        batch_size: int = BATCH_SIZE,
        pause: timedelta = timedelta(),
        progress: Progress | None = None,
    ) -> Sequence[PartitionStep]:
        """Splits the parts that are wider than `versions` versions, at multiples of it; returns what was split.

        Without `versions` it is what the last ensure was given.
        Each part's rows are copied in batches of `batch_size` rows (1 to 1,000,000), a `pause` after each, into tables that then
        take its place at once; it takes the part's room twice. Only parts that lie at or below newest are split, of one `journal`
        if it is named. Killed, it goes on where it was when it is called again with the same `versions`. Writers and readers go on,
        prunes wait. The installing role's. Raises InvalidRequest; Unavailable, also where transactions that were open when the
        last row was copied do not end in two minutes; UnsupportedCapability on SQL Server.
        """
        if versions is not None:
            checked_size("versions", versions, MAX_VERSION, "versions")
        checked_size("batch_size", batch_size)
        checked_duration("pause", pause)
        if journal is not None and journal not in JOURNALS:
            raise InvalidRequest("journal", journal, f"no journal has the name; {valid_names(list(JOURNALS))}")
        if not self._database.engine.SPLITS_PARTITIONS:
            raise UnsupportedCapability(
                f"splitting a part on {self._database.engine.TITLE}",
                "the upgrade has cut what was there; take the option away and add it again",
            )
        done = []
        with self._alone() as (conn, lease):
            versions = versions or self._kept(conn)[0]
            with conn.begin():
                session = Session(conn)
                newest, parts = self._database.horizon.read(session, "database/horizon"), _read(session)
                rest = [row.journal for row in session.execute("operate/status_partitions") if row.overflows]
            for name in rest:
                if journal in (None, name):
                    raise UnsupportedCapability(
                        f"the default part of dms.{name} holds events", "run dmsjournal partitions ensure first"
                    )
            for part in parts:
                is_wanted = journal in (None, part.journal) and part.is_finished(newest) and part.is_wider(versions)
                copied = self._split(conn, lease, part, versions, batch_size, pause, progress) if is_wanted else None
                if copied is not None:
                    done.append(PartitionStep(part.journal, f"split {part.partition}", copied))
        return done

    def _split(
        self,
        conn: sa.Connection,
        lease: Lease,
        part: Partition,
        versions: int,
        batch_size: int,
        pause: timedelta,
        progress: Progress | None,
    ) -> int | None:
        """How many rows were copied, None for a part that lies within one piece."""
        which: dict[str, object] = {"journal": part.journal, "partition": part.partition, "versions": versions}
        pieces = self._tried(conn, lease, "operate/split_begin", **which).scalar_one()
        if pieces < 2:
            return None
        if pieces > _MOST_PIECES:
            raise InvalidRequest("versions", versions, f"{part.partition} would fall into {pieces} pieces: give more versions")
        copied, step = 0, "copied"
        while step == "copied":
            row = self._tried(conn, lease, "operate/split_step", **which, batch_size=batch_size, readers=None).one()
            copied, step = copied + row.copied, row.step
            if progress is not None:
                progress(PartitionStep(part.journal, f"copied {part.partition}", copied))
            time.sleep(pause.total_seconds())
        with conn.begin():
            readers = open_transactions(Session(conn))
        binds = {**which, "batch_size": batch_size, "readers": readers}
        self._tried(conn, lease, "operate/split_step", lambda result: result.one().step == "split", **binds)
        return copied

    @contextmanager
    def _alone(self) -> Iterator[tuple[sa.Connection, Lease]]:
        """A connection, and the lease under which no prune runs nor anything else that works on parts."""
        with self._database.connection() as conn:
            with conn.begin():
                self._checked(conn)
            with holding(lease_of_prune(self._database)) as lease:
                yield conn, lease

    @contextmanager
    def kept_whole(self) -> Iterator[Callable[[], AbstractContextManager[Session]]]:
        """Sessions during which no part is split: what a split has copied must not change. Without the option, plain ones."""
        with self._database.session() as session:
            has_parts = self._has_parts(session)
        if not has_parts:
            yield self._database.session
            return
        with holding(lease_of_prune(self._database)) as lease:
            yield lease.session

    def _has_parts(self, session: Session) -> bool:
        """Whether the database has the option by now, whatever was known of it before."""
        return OPTION in {option_of(revision) for revision in session.execute("database/revisions").scalars()}

    def _checked(self, conn: sa.Connection) -> Session:
        """A session. Raises UnsupportedCapability for a database without the option."""
        session = Session(conn)
        if not self._has_parts(session):
            raise UnsupportedCapability("the journals have no partitions", f"dmsjournal upgrade --with {OPTION}")
        return session

    def _tried(
        self,
        conn: sa.Connection,
        lease: Lease,
        name: str,
        is_done: Callable[[Any], bool] = lambda result: True,
        /,
        **binds: object,
    ) -> sa.Result[Any]:
        """A statement in a transaction of its own, again while a lock, or a transaction that it waits for, is in the way."""
        deadline, backoff = time.monotonic() + _PATIENCE.total_seconds(), Backoff(0.05, 5.0)
        while True:
            error: exc.DBAPIError | None = None
            try:
                with conn.begin():
                    session = Session(conn)
                    lease.keep(session)
                    result = session.execute(name, **binds)
                if is_done(result):
                    return result
            except exc.DBAPIError as met:
                if not is_locked_out(met):
                    raise
                error = met
            if time.monotonic() >= deadline:
                raise Unavailable(
                    f"for {_PATIENCE.total_seconds():.0f} s a part of a journal was not free",
                    "see who reads it (docs/dba/locks.md), and run it again: it goes on where it is",
                ) from error
            time.sleep(backoff.next())


def _read(session: Session) -> list[Partition]:
    return [
        Partition(row.journal, row.partition, row.low, row.high, bool(row.is_default), row.rows, row.bytes)
        for row in session.execute("operate/partitions")
    ]


def open_transactions(session: Session) -> list[str]:
    """The other transactions of the database that are open: whoever has an older snapshot is among them."""
    return list(session.execute("operate/open_transactions").scalars())


@dataclass(slots=True)
class ExpiredPart:
    """A part that a prune is to drop, and about how many of its rows are left."""

    partition: str
    last_version: int
    rows: int


@dataclass(slots=True)
class Dropping:
    """The parts of a journal that lie at or below its floor, and may be dropped when `readers` have ended."""

    journal: str
    lease: Lease
    parts: list[ExpiredPart] = field(default_factory=list)
    readers: list[str] = field(default_factory=list)
    backoff: Backoff = field(default_factory=lambda: Backoff(0.05, 30.0))
    again_at: float = 0.0  # by time.monotonic()

    def drop(self, conn: sa.Connection) -> bool | None:
        """Tries to drop the next part: whether it is gone; None where it is not time to try again yet.

        What is in the way is a transaction that is older than the floor, or a lock of whoever reads the journal.
        """
        if time.monotonic() < self.again_at:
            return None
        try:
            with conn.begin():
                session = Session(conn)
                self.lease.keep(session)
                binds = {"journal": self.journal, "partition": self.parts[0].partition, "readers": self.readers}
                if session.execute("operate/prune_drop", **binds).scalar_one():
                    self.backoff.reset()
                    self.again_at = 0.0
                    return True
        except exc.DBAPIError as error:
            if not is_locked_out(error):
                raise
        self.again_at = time.monotonic() + self.backoff.next()
        return False

    def deleted(self, rows: int) -> None:
        """Notes that so many rows, the oldest ones, went in a batch."""
        for part in self.parts:
            gone = min(part.rows, rows)
            part.rows, rows = part.rows - gone, rows - gone

    @property
    def is_patient(self) -> bool:
        """Whether it is worth waiting for the next try, and doing nothing meanwhile."""
        return self.backoff.tries <= _FALLS_BACK
