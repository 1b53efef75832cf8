"""Streams: the changes after an offset, or of a window, in parts that many readers read at once, as dmsjournal.spark.source does.

An offset is a version up to which everything was read. What lies between two offsets is planned in parts (`read.plan`), and a part
is read in one snapshot, a batch of rows at a time. Source: docs/how-it-works.md, Streams.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from dmsjournal.database.database import Database
from dmsjournal.database.floors import read_floors, refuse_missing_parts
from dmsjournal.database.history import has_diverged
from dmsjournal.database.session import Session
from dmsjournal.errors import CheckpointExpired, HistoryDiverged, InvalidRequest
from dmsjournal.model.resources import ResourceKey
from dmsjournal.model.windows import HIGHEST_ID, LOWEST_ID, Window, checked_version
from dmsjournal.read import times
from dmsjournal.read.density import Mass, Range, density
from dmsjournal.read.pages import refuse_expired
from dmsjournal.read.plan import SubWindow, plan_changes, plan_snapshot
from dmsjournal.util.iteration import raises_again

KEY_CHANGE, UPSERT, DELETE = "key_change", "upsert", "delete"
KINDS = (KEY_CHANGE, UPSERT, DELETE)  # in the order in which they are folded into a table

EARLIEST, LATEST = "earliest", "latest"

BATCH_ROWS = 10_000

_QUERIES = {KEY_CHANGE: "read/part_key_changes", UPSERT: "read/part_changes", DELETE: "read/part_deletes"}
_JOURNALS = {
    KEY_CHANGE: {"KeyChangeEvent"},
    UPSERT: {"DocumentChangeEvent", "IdentityChangeEvent"},
    DELETE: {"DocumentDeleteEvent"},
}


_NOTHING = LOWEST_ID - 1  # the `documents` of a snapshot of which nothing was read


@dataclass(frozen=True, slots=True)
class Offset:
    """Everything up to a version, inclusive, was read. `event` is the last event at or below it, by which the database's history is
    known again; `scope` says of what the stream is. A plain value, to be kept as JSON.

    `documents`: of a snapshot as of the version, the documents up to this id, inclusive, were read; None: all of them.
    """

    version: int
    event: str
    scope: str
    documents: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The offset as JSON has it."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_dict(cls, kept: dict[str, Any]) -> Offset:
        """The inverse of to_dict. Raises InvalidRequest for what is no offset of a stream."""
        names, documents = set(kept) - {"documents"}, kept.get("documents")
        is_id = documents is None or (type(documents) is int and _NOTHING <= documents <= HIGHEST_ID)
        if (
            names != {"version", "event", "scope"}
            or not is_id
            or not all(isinstance(kept[name], str) for name in ("event", "scope"))
        ):
            raise InvalidRequest("offset", kept, "it is none of dmsjournal's: use a checkpoint of its own for this stream")
        return cls(checked_version("offset", kept["version"]), kept["event"], kept["scope"], documents)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a window of changes, to be read by one reader. A plain value: it can be pickled and sent to another process.

    `first` and `last` are the window's versions, both inclusive; `kinds`: what to read of it.
    """

    resource_key_ids: Sequence[int]
    kinds: Sequence[str]
    first: int
    last: int
    bounds: SubWindow


@dataclass(frozen=True, slots=True)
class SnapshotPart:
    """A part of a snapshot, to be read by one reader, as Part: live documents whose version is `last` at most.

    Bounds: their ids are above `after_id` (exclusive) and up to `through_id` (inclusive); None: no bound.
    """

    resource_key_ids: Sequence[int]
    last: int
    after_id: int | None
    through_id: int | None


class Stream:
    """The changes of some resources, or of all, of one database: `Journal.stream`."""

    def __init__(self, database: Database, resources: Collection[ResourceKey] | None, kinds: Collection[str]) -> None:
        self._database = database
        self._resources = None if resources is None else frozenset(resources)
        self._kinds = checked_kinds(kinds)

    def at(self, place: int | str | datetime) -> Offset:
        """The offset of a version that was read in full; or of EARLIEST, before the oldest change that is kept; or of LATEST.

        Of a time, which has a zone: before the first change that is not older. Later ones that are older come as well. Raises
        InvalidRequest, also for a version that the database has not given yet; CheckpointExpired for a time where such a change may
        have been pruned.
        """
        with self._database.session() as session:
            newest = self._database.horizon.read(session, "database/horizon")
            if place == EARLIEST:
                return self._offset(session, self._floor(session))
            if isinstance(place, datetime):
                return self._offset(session, self._before(session, newest, place))
            version = newest if place == LATEST else checked_version("version", place)
            drawn = session.execute("database/last_event", version=version).one().drawn
            if version > drawn:
                raise InvalidRequest("version", version, f"it is above the newest readable version ({newest})")
            return self._offset(session, version)

    def snapshot(self) -> Offset:
        """Where a stream begins that reads all live documents first, as of the newest version, and then what changes after it.

        Floors do not matter to the documents. Raises InvalidRequest where the stream has no upserts.
        """
        if UPSERT not in self._kinds:
            raise InvalidRequest("kinds", ", ".join(self._kinds), f"a snapshot has upserts: name {UPSERT} among them")
        return replace(self.at(LATEST), documents=_NOTHING)

    def next(self, after: Offset, events: int | None = None, newest: Offset | None = None) -> Offset:
        """How far the batch after an offset goes: to the horizon, or to a version by which about `events` events have come.

        Within a snapshot: to its end, or by that many documents. `after` itself where there is nothing new. It ends at `newest` at
        the latest, and always at a whole version: one that moves more documents is one batch all the same. Raises InvalidRequest,
        CheckpointExpired, HistoryDiverged.
        """
        with self._database.session() as session:
            horizon = self._database.horizon.read(session, "database/horizon")
            self._check(session, after, horizon)
            if after.documents is not None:
                return replace(after, documents=None if events is None else self._nth_document(session, after.documents, events))
            last = horizon if newest is None else min(horizon, newest.version)
            if last <= after.version:  # also where another process has seen the horizon further than this one
                return after
            if events is not None:
                last = self._admitted(session, Range(after.version + 1, last), events)
            return self._offset(session, last)

    def lag(self, after: Offset) -> tuple[int, float]:
        """How far an offset is behind: versions up to the horizon, and the age in seconds of the first event among them.

        0 and 0.0 where none is left. The age is by this program's clock, and of events of all resources.
        """
        with self._database.session() as session:
            newest = self._database.horizon.read(session, "database/horizon")
            at = times.first_event_time(session, after.version, newest)
        age = 0.0 if at is None else (datetime.now(UTC) - at).total_seconds()
        return max(newest - after.version, 0), max(age, 0.0)

    def between(
        self, after: Offset, through: Offset, *, events_per_part: int | None = None, parts: int | None = None
    ) -> Sequence[Part | SnapshotPart]:
        """What lies between two offsets, exclusive and inclusive, in parts of about equal numbers of events; see Journal.plan.

        A snapshot of which nothing was read is as of `through`, whatever `after` says: a query that is started again before its
        first batch is done begins with a newer one, and ends that batch where it ended before.

        `through` was at most the horizon when it was taken. The horizon of now is not asked: another process may see it lower
        (dmsjournal.database.horizon). Raises InvalidRequest, CheckpointExpired, HistoryDiverged.
        """
        with self._database.session() as session:
            newest = self._database.horizon.read(session, "database/horizon")
            for offset in (after, through):
                self._check(session, offset, newest)
            found: list[Part | SnapshotPart] = []
            begins = after.version
            if after.documents is not None:
                as_of = through if after.documents == _NOTHING else after
                begins = as_of.version
                found += self._snapshot_parts(session, after.documents, through.documents, begins, events_per_part, parts)
            return [*found, *self._parts(session, Range(begins + 1, through.version), events_per_part, parts)]

    def window(
        self,
        window: Window,
        *,
        events_per_part: int | None = None,
        parts: int | None = None,
    ) -> Sequence[Part]:
        """A window's changes in parts.

        Bounds: inclusive; without a max, to the horizon. Raises InvalidRequest, also for a max above the horizon, which would be a
        short answer without a word; CheckpointExpired.
        """
        with self._database.session() as session:
            newest = self._database.horizon.read(session, "database/horizon")
            if window.max is not None and window.max > newest:
                raise InvalidRequest(
                    "max", window.max, f"it is above the newest readable version ({newest}): leave max out, or ask again later"
                )
            refuse_expired(window, self._floor(session))
            return self._parts(session, Range(window.first, window.last(newest)), events_per_part, parts)

    @raises_again
    def read(
        self, part: Part | SnapshotPart, *, keys: bool = True, bodies: bool = False, rows: int = BATCH_ROWS
    ) -> Generator[tuple[str, Sequence[sa.Row[Any]]]]:
        """The rows of a part, at most so many at a time, each lot with its kind; key changes first, then upserts, then deletes.

        Columns: resource, change_version, committed_at, document_id, uuid, keys, old_keys, body_text; JSON as text, null where it
        is not asked for. All of one snapshot, on SQL Server where the database allows it. Raises CheckpointExpired, at the end,
        where some of it was pruned meanwhile: what was read before is short then.
        """
        if isinstance(part, SnapshotPart):
            yield from self._read_documents(part, keys, bodies, rows)
            return
        wanted = {
            "resource_key_ids": list(part.resource_key_ids),
            "first_version": part.bounds.first,
            "last_version": part.bounds.last,
            "from_id": LOWEST_ID if part.bounds.after_id is None else part.bounds.after_id + 1,
            "through_id": HIGHEST_ID if part.bounds.through_id is None else part.bounds.through_id,
            "with_keys": int(keys),
        }
        more: dict[str, dict[str, object]] = {
            KEY_CHANGE: {"min_version": part.first, "max_version": part.last},
            UPSERT: {"with_bodies": int(bodies)},
            DELETE: {},
        }
        with self._one_moment() as session:
            for kind in part.kinds:
                for lot in session.partitions(_QUERIES[kind], rows, **wanted, **more[kind]):
                    yield kind, lot
            # After the rows: where each statement sees a moment of its own, a prune may have come before them.
            refuse_expired(Window(min=part.first), self._floor(session, part.kinds))
            self._refuse_missing(session, part.first, part.last, part.kinds)

    def _read_documents(
        self, part: SnapshotPart, keys: bool, bodies: bool, rows: int
    ) -> Generator[tuple[str, Sequence[sa.Row[Any]]]]:
        wanted = {
            "resource_key_ids": list(part.resource_key_ids),
            "from_id": LOWEST_ID if part.after_id is None else part.after_id + 1,
            "through_id": HIGHEST_ID if part.through_id is None else part.through_id,
            "last_version": part.last,
            "with_keys": int(keys),
            "with_bodies": int(bodies),
        }
        with self._one_moment() as session:
            for lot in session.partitions("read/part_documents", rows, **wanted):
                yield UPSERT, lot

    @contextmanager
    def _one_moment(self) -> Iterator[Session]:
        """A session whose statements see one moment, where the database allows it; not for the horizon (invariant 5)."""
        with self._database.connection() as conn:
            conn.detach()  # closed at the end: its isolation level is of no other use
            with conn.begin():
                level = Session(conn).execute("read/begin_part").one().isolation
            assert conn.connection.dbapi_connection is not None
            conn.dialect.set_isolation_level(conn.connection.dbapi_connection, level)
            with conn.begin():
                self._database.engine.begin_part(conn)
                yield Session(conn, options=self._database.options)

    def _parts(self, session: Session, window: Range, events_per_part: int | None, parts: int | None) -> Sequence[Part]:
        self._refuse_missing(session, window.first, window.last, self._kinds)
        chosen = self._ids(session)
        plan = plan_changes(session, chosen, self._resources is None, *window, window.last, events_per_part, parts)
        return [Part(sorted(chosen.values()), self._kinds, *window, bounds) for bounds in plan.parts]

    def _snapshot_parts(
        self,
        session: Session,
        after_id: int,
        through_id: int | None,
        last: int,
        events_per_part: int | None,
        parts: int | None,
    ) -> Sequence[SnapshotPart]:
        if after_id == HIGHEST_ID:
            return []
        chosen, above = self._ids(session), None if after_id == _NOTHING else after_id
        everything = self._resources is None
        plan = plan_snapshot(session, chosen, everything, last, events_per_part, parts, above, through_id)
        ids = sorted(chosen.values())
        return [SnapshotPart(ids, last, each.after_id, each.through_id) for each in plan.parts]

    def _nth_document(self, session: Session, after_id: int, number: int) -> int | None:
        """The id of the n-th document after one; None where there are fewer, so that a snapshot ends with them."""
        if after_id == HIGHEST_ID:
            return None
        ids = sorted(self._ids(session).values())
        binds = {"resource_key_ids": ids, "is_everything": int(self._resources is None), "from_id": after_id + 1, "number": number}
        found: int | None = session.execute("read/nth_document", **binds).scalar()
        return found

    def _before(self, session: Session, newest: int, at: datetime) -> int:
        """The version before the first change at a time. Raises CheckpointExpired where such a change may have been pruned."""
        return times.version_before(session, self._floor(session), newest, at, lambda: self._floor(session))

    def _admitted(self, session: Session, window: Range, events: int) -> int:
        """The version of the window by which about so many events have come, or so many tombstones; it has one event at least."""
        ids = sorted(self._ids(session).values())
        last = window.last
        if self._kinds != (DELETE,):  # a key change is a change of its document, too
            last = admitted(density(session, ids, self._resources is None, window).masses, last, events)
        if DELETE in self._kinds:  # tombstones are not in the densities
            binds = {"resource_key_ids": ids, "first_version": window.first, "last_version": last, "number": events}
            last = session.execute("read/nth_delete", **binds).scalar() or last
        return last

    def _ids(self, session: Session) -> dict[ResourceKey, int]:
        return self._database.resource_ids.among(session, self._resources)

    def _check(self, session: Session, offset: Offset, newest: int) -> None:
        """Raises InvalidRequest, HistoryDiverged or CheckpointExpired where the stream cannot go on from an offset."""
        if offset.scope != self.scope:
            remedy = f"this stream is of {self.scope}: go on with what the checkpoint is of, or use a checkpoint of its own"
            raise InvalidRequest("offset", offset.scope, remedy)
        found = session.execute("database/last_event", version=offset.version).one()
        remembered = int(offset.event.split()[0]) if offset.event else None
        if has_diverged(
            offset.version,
            found.drawn,
            remembered=remembered,
            found=found.event_version,
            is_same=offset.event == _event_text(found),
            event_floor=found.event_floor,
        ):
            raise HistoryDiverged(offset.version, newest)
        floor = self._floor(session)
        if floor > offset.version:
            raise CheckpointExpired(offset.version + 1, floor + 1)

    @property
    def scope(self) -> str:
        """Of what the stream is, in words."""
        names = "every resource" if self._resources is None else ", ".join(sorted(map(str, self._resources)))
        return f"{', '.join(self._kinds)} of {names}"

    def _offset(self, session: Session, version: int) -> Offset:
        return Offset(version, _event_text(session.execute("database/last_event", version=version).one()), self.scope)

    @staticmethod
    def _refuse_missing(session: Session, first: int, last: int, kinds: Sequence[str]) -> None:
        refuse_missing_parts(session, first, last, *sorted({journal for kind in kinds for journal in _JOURNALS[kind]}))

    def _floor(self, session: Session, kinds: Sequence[str] | None = None) -> int:
        """The highest floor of the journals that are read."""
        floors = read_floors(session)
        return max((floors[journal] for kind in kinds or self._kinds for journal in _JOURNALS[kind]), default=0)


def admitted(masses: Sequence[Mass], last: int, events: int) -> int:
    """The version by which about so many events have come, `last` where there are fewer; one event at least."""
    before = 0.0
    for mass in masses:
        if before + mass.weight > events:
            width = mass.last - mass.first + 1
            through = mass.first + int(width * (events - before) / mass.weight) - 1
            return min(max(through, masses[0].first), mass.last)
        before += mass.weight
    return last


def checked_kinds(kinds: Collection[str]) -> tuple[str, ...]:
    """The kinds, each once, in the order of KINDS. Raises InvalidRequest for another word, and where there is none."""
    if not kinds or not set(kinds) <= set(KINDS):
        raise InvalidRequest("kinds", ", ".join(kinds), f"name some of {', '.join(KINDS)}")
    return tuple(kind for kind in KINDS if kind in kinds)


def _event_text(event: sa.Row[Any]) -> str:
    """The event of last_event as a text, its version first; empty where none is kept."""
    if event.event_version is None:
        return ""
    return (
        f"{event.event_version} {event.document_id} {event.transaction_id} {event.created_at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}"
    )
