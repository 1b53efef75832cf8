"""Option partitions: the parts of the journals are added ahead, split while readers and writers go on, and dropped by a prune.

Where a part begins and ends is the database's to say; what takes more than a moment is done in steps, each a transaction.
Source: docs/how-it-works.md, Partitions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from dmsjournal.connecting import is_locked_out
from dmsjournal.durations import checked_duration
from dmsjournal.errors import InvalidRequest, Unavailable, UnsupportedCapability, valid_names
from dmsjournal.horizon import Horizon
from dmsjournal.session import Session
from dmsjournal.windows import MAX_VERSION, checked_size

OPTION = "partitions"
VERSIONS, AHEAD, BATCH_SIZE = 10_000_000, 3, 10_000
_MOST_AHEAD, _MOST_PIECES = 1_000, 1_000
_PATIENCE = timedelta(minutes=2)  # how long a step is tried again that a lock or an open transaction is in the way of
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0  # seconds
_FALLS_BACK = 5  # tries to drop a part before its rows go in batches meanwhile


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
class Step:
    """What was done with a journal, and how many rows it copied; see Partitions.ensure and Partitions.split."""

    journal: str
    step: str
    rows: int = 0


Progress = Callable[[Step], None]


class Partitions:
    """The parts of the journals of one database: `Journal.partitions`. Without the option they raise UnsupportedCapability."""

    def __init__(self, connection: Callable[[], AbstractContextManager[sa.Connection]], engine: str, horizon: Horizon) -> None:
        self._connection, self._engine, self._horizon = connection, engine, horizon

    def list(self) -> Sequence[Partition]:
        """All parts, by journal and in order, the default one last."""
        with self._connection() as conn, conn.begin():
            return _read(self._checked(conn))

    def ensure(self, versions: int = VERSIONS, ahead: int = AHEAD, progress: Progress | None = None) -> Sequence[Step]:
        """Makes parts for the versions to come, and one with bounds of what the default part holds; returns what was done.

        Units: `versions` is versions a part (1 or more), `ahead` is how many of them there are above the last stamp (1 to 1,000).
        Safe to run again; what is there already stays as it is. Writers and readers go on. `progress` is called after each step.
        The installing role's. Raises InvalidRequest; Unavailable while a prune runs, or where a lock is not to be had in 2 min.
        """
        checked_size("versions", versions, MAX_VERSION, "versions")
        checked_size("ahead", ahead, _MOST_AHEAD, "parts")
        done = []
        with self._alone() as conn:
            while (row := self._tried(conn, "ensure_partitions", versions=versions, ahead=ahead).first()) is not None:
                done.append(Step(row.journal, row.step))
                if progress is not None:
                    progress(done[-1])
        return done

    def split(
        self,
        versions: int = VERSIONS,
        journal: str | None = None,
        *,
        batch_size: int = BATCH_SIZE,
        pause: timedelta = timedelta(),
        progress: Progress | None = None,
    ) -> Sequence[Step]:
        """Splits the parts that are wider than `versions` versions, at multiples of it; returns what was split.

        Each part's rows are copied in batches of `batch_size` rows (1 to 1,000,000), a `pause` after each, into tables that then
        take its place at once; it takes the part's room twice. Only parts that lie at or below newest are split, of one `journal`
        if it is named. Killed, it goes on where it was when it is called again with the same `versions`. Writers and readers go on,
        prunes wait. The installing role's. Raises InvalidRequest; Unavailable, also where transactions that were open when the
        last row was copied do not end in two minutes; UnsupportedCapability on SQL Server.
        """
        from dmsjournal.pruning import JOURNALS

        checked_size("versions", versions, MAX_VERSION, "versions")
        checked_size("batch_size", batch_size)
        checked_duration("pause", pause)
        if journal is not None and journal not in JOURNALS:
            raise InvalidRequest("journal", journal, f"no journal has the name; {valid_names(list(JOURNALS))}")
        if self._engine != "postgres":
            raise UnsupportedCapability(
                f"splitting a part on {self._engine}", "the upgrade has cut what was there; take the option away and add it again"
            )
        done = []
        with self._alone() as conn:
            with conn.begin():
                session = Session(conn, self._engine)
                newest, parts = self._horizon.read(session, "horizon"), _read(session)
            for part in parts:
                is_wanted = journal in (None, part.journal) and part.is_finished(newest) and part.is_wider(versions)
                copied = self._split(conn, part, versions, batch_size, pause, progress) if is_wanted else None
                if copied is not None:
                    done.append(Step(part.journal, f"split {part.partition}", copied))
        return done

    def _split(
        self, conn: sa.Connection, part: Partition, versions: int, batch_size: int, pause: timedelta, progress: Progress | None
    ) -> int | None:
        """How many rows were copied, None for a part that lies within one piece."""
        which: dict[str, object] = {"journal": part.journal, "partition": part.partition, "versions": versions}
        pieces = self._tried(conn, "split_begin", **which).scalar_one()
        if pieces < 2:
            return None
        if pieces > _MOST_PIECES:
            raise InvalidRequest("versions", versions, f"{part.partition} would fall into {pieces} pieces: give more versions")
        copied, step = 0, "copied"
        while step == "copied":
            row = self._tried(conn, "split_step", **which, batch_size=batch_size, readers=None).one()
            copied, step = copied + row.copied, row.step
            if progress is not None:
                progress(Step(part.journal, f"copied {part.partition}", copied))
            time.sleep(pause.total_seconds())
        with conn.begin():
            readers = open_transactions(Session(conn, self._engine))
        binds = {**which, "batch_size": batch_size, "readers": readers}
        self._tried(conn, "split_step", lambda result: result.one().step == "split", **binds)
        return copied

    @contextmanager
    def _alone(self) -> Iterator[sa.Connection]:
        """A connection, while which no prune runs nor anything else that works on parts."""
        from dmsjournal.pruning import alone

        with self._connection() as conn:
            with conn.begin():
                self._checked(conn)
            with alone(conn, self._engine):
                yield conn

    @contextmanager
    def kept_whole(self, conn: sa.Connection) -> Iterator[None]:
        """Within it nobody splits a part: what a split has copied must not change. Without the option there is nothing to keep."""
        from dmsjournal.pruning import alone

        with conn.begin():
            has_parts = self._has_parts(Session(conn, self._engine))
        with alone(conn, self._engine) if has_parts else nullcontext():
            yield

    def _has_parts(self, session: Session) -> bool:
        """Whether the database has the option by now, whatever was known of it before."""
        from dmsjournal.revisions import option_of

        return OPTION in {option_of(revision) for revision in session.execute("revisions").scalars()}

    def _checked(self, conn: sa.Connection) -> Session:
        """A session. Raises UnsupportedCapability for a database without the option."""
        session = Session(conn, self._engine)
        if not self._has_parts(session):
            raise UnsupportedCapability("the journals have no partitions", f"dmsjournal upgrade --with {OPTION}")
        return session

    def _tried(
        self, conn: sa.Connection, name: str, is_done: Callable[[Any], bool] = lambda result: True, /, **binds: object
    ) -> sa.Result[Any]:
        """A statement in a transaction of its own, again while a lock, or a transaction that it waits for, is in the way."""
        deadline, pause = time.monotonic() + _PATIENCE.total_seconds(), _FIRST_PAUSE
        while True:
            error: exc.DBAPIError | None = None
            try:
                with conn.begin():
                    result = Session(conn, self._engine).execute(name, **binds)
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
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


def _read(session: Session) -> list[Partition]:
    return [
        Partition(row.journal, row.partition, row.low, row.high, bool(row.is_default), row.rows, row.bytes)
        for row in session.execute("partitions")
    ]


def open_transactions(session: Session) -> list[str]:
    """The other transactions of the database that are open: whoever has an older snapshot is among them."""
    return list(session.execute("open_transactions").scalars())


@dataclass(slots=True)
class Part:
    """A part that a prune is to drop, and about how many of its rows are left."""

    partition: str
    last_version: int
    rows: int


@dataclass(slots=True)
class Dropping:
    """The parts of a journal that lie at or below its floor, and may be dropped when `readers` have ended."""

    journal: str
    parts: list[Part] = field(default_factory=list)
    readers: list[str] = field(default_factory=list)
    tries: int = 0
    again_at: float = 0.0  # by time.monotonic()

    def drop(self, conn: sa.Connection, engine: str) -> bool | None:
        """Tries to drop the next part: whether it is gone; None where it is not time to try again yet.

        What is in the way is a transaction that is older than the floor, or a lock of whoever reads the journal.
        """
        if time.monotonic() < self.again_at:
            return None
        try:
            with conn.begin():
                session = Session(conn, engine)
                binds = {"journal": self.journal, "partition": self.parts[0].partition, "readers": self.readers}
                if session.execute("prune_drop", **binds).scalar_one():
                    self.tries, self.again_at = 0, 0.0
                    return True
        except exc.DBAPIError as error:
            if not is_locked_out(error):
                raise
        self.again_at = time.monotonic() + min(_FIRST_PAUSE * 2**self.tries, 30.0)
        self.tries += 1
        return False

    def deleted(self, rows: int) -> None:
        """Notes that so many rows, the oldest ones, went in a batch."""
        for part in self.parts:
            gone = min(part.rows, rows)
            part.rows, rows = part.rows - gone, rows - gone

    @property
    def is_patient(self) -> bool:
        """Whether it is worth waiting for the next try, and doing nothing meanwhile."""
        return self.tries <= _FALLS_BACK
