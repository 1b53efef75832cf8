"""Verify: whether triggers, journals and floors say what the invariants promise; repair: what bypassed them is journaled.

A check reads a batch at a time, each in a transaction of its own, so no snapshot is old and no lock is long. It is exact while
others write; each statement of sql/<engine>/queries/verify_*.sql says by what. Source: docs/how-it-works.md, What can bypass it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from dmsjournal.database import sql
from dmsjournal.database.connect import is_missing, is_unreadable, message_of
from dmsjournal.database.session import Session
from dmsjournal.errors import DatabaseRefused, InvalidRequest, JournalError
from dmsjournal.model.windows import LOWEST_ID
from dmsjournal.operate import tracking
from dmsjournal.operate.findings import MEANINGS
from dmsjournal.operate.partitions import missing_parts
from dmsjournal.read import images
from dmsjournal.schema import drift, ownership

WALKS = ("documents", "edges", "events", "tombstones", "key_changes")
_BATCH, _SAMPLED_BATCH = 5_000, 500  # rows that one statement looks at
_REPAIRED = 1_000  # rows that one transaction writes: below the number at which SQL Server locks a whole table
_BUFFER = 50_000  # documents that are gone, looked for in one pass over the tombstones
_SHOWN = 100  # objects that a finding names
_ENDS_THERE = {"table-missing", "sequence-missing", "rows-hidden"}  # what no statement of a check can do without
_BLOCKS = 1_024  # of a tracked table, whose rows one statement looks at
_UNRENEWABLE = {"tracked-table-gone", "tracking-untrusted", "tracking-refused"}  # an operator decides first
_UNSEEN = {"row-undocumented", "document-rowless", "body-stale"}  # something was written past the triggers of a tracked table
_UNREADABLE = ("key-too-long", "row-unreadable", "time-unreadable")

Sessions = Callable[[], AbstractContextManager[Session]]
Progress = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of thing that should not be: how many there are, the first 100 of them, what it means and what to do.

    `objects` are document ids; "parent->child" for edges, versions for tombstones, names for what the schema is made of.
    `is_repaired`: whether repair heals it.
    """

    code: str
    count: int
    objects: tuple[int | str, ...]
    meaning: str
    remedy: str
    is_repaired: bool


@dataclass(frozen=True, slots=True)
class Verification:
    """What was found, and among how many rows that were looked at; `sample` is the part of the rows that was asked for."""

    findings: tuple[Finding, ...]
    documents: int
    edges: int
    events: int
    tombstones: int
    sample: float = 1.0
    images: int = 0
    key_changes: int = 0

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


@dataclass(frozen=True, slots=True)
class Repair:
    """What was found before a repair, what a verification after it finds still, and the journals whose floor became a new stamp.

    A consumer that has not read past such a floor gets CheckpointExpired from the journal, and reads in full.
    """

    found: Verification
    left: Verification
    expired: tuple[str, ...] = ()


def verify(
    sessions: Sessions, sample: float | None = None, progress: Progress | None = None, trust: Collection[str] = ()
) -> Verification:
    """See Journal.verify."""
    return _looked(sessions, _checked_sample(sample), progress, trust).verification


def repair(sessions: Sessions, progress: Progress | None = None, trust: Collection[str] = ()) -> Repair:
    """See Journal.repair."""
    found = _looked(sessions, 1.0, progress, trust)
    codes = {finding.code for finding in found.verification.findings}
    if "object-missing" in codes and not codes & _ENDS_THERE:  # a function may be what was missed: the rest shows without it
        before = found.verification
        _Repairer(sessions, found, progress or _silent).replace_objects()
        found = _looked(sessions, 1.0, progress, trust)
        codes = {finding.code for finding in found.verification.findings}
        if "object-missing" in codes:
            return Repair(before, found.verification)
    if not codes & _ENDS_THERE and any(finding.is_repaired for finding in found.verification.findings):
        expired = _Repairer(sessions, found, progress or _silent).run()
        return Repair(found.verification, _looked(sessions, 1.0, progress, trust).verification, expired)
    return Repair(found.verification, found.verification)


def _checked_sample(sample: object) -> float:
    if sample is None:
        return 1.0
    if isinstance(sample, bool) or not isinstance(sample, int | float) or not 0 < sample <= 1:
        raise InvalidRequest("sample", sample, "give the part of the rows to look at, above 0 and at most 1, such as 0.01")
    return float(sample)


def _silent(walk: str, rows: int) -> None:
    pass


@dataclass(slots=True)
class _Again:
    """Stamps that may have been given twice: a range, and those up to `rewound_through` that were given after `rewound_at`."""

    low: int = 1
    high: int = 0
    rewound_through: int | None = None
    rewound_at: Any = None

    def add(self, stamp: int) -> None:
        self.low, self.high = (min(self.low, stamp), max(self.high, stamp)) if self.high else (stamp, stamp)

    def binds(self, *, with_range: bool) -> dict[str, Any]:
        low, high = (self.low, self.high) if with_range else (1, 0)
        rewound = {"rewound_through": self.rewound_through, "rewound_at": self.rewound_at}
        return {"again_from": low, "again_through": high} | rewound


@dataclass(slots=True)
class _Tally:
    """What is found, by code."""

    counts: dict[str, int] = field(default_factory=dict)
    objects: dict[str, list[int | str]] = field(default_factory=dict)

    def add(self, code: str, what: int | str) -> None:
        self.counts[code] = self.counts.get(code, 0) + 1
        named = self.objects.setdefault(code, [])
        if len(named) < _SHOWN:
            named.append(what)

    def findings(self) -> tuple[Finding, ...]:
        return tuple(
            Finding(code, self.counts[code], tuple(self.objects[code]), meaning.meaning, meaning.remedy, meaning.is_repaired)
            for code, meaning in MEANINGS.items()
            if code in self.counts
        )


@dataclass(frozen=True, slots=True)
class _State:
    """The sequence, the newest that a journal or floor holds, and each journal's floor and ends."""

    sequence: int
    rows: list[Any]

    @classmethod
    def read(cls, session: Session) -> _State:
        rows = sorted(session.execute("operate/verify_state"), key=lambda row: str(row.source))
        [sequence] = [row.newest for row in rows if row.source == "sequence"]
        return cls(sequence, [row for row in rows if row.source != "sequence"])

    @property
    def journals(self) -> list[Any]:
        return [row for row in self.rows if not row.source.startswith("consumer ")]

    @property
    def newest(self) -> int:
        """The newest stamp that a journal or a floor holds."""
        return max((max(row.newest or 0, row.floor or 0) for row in self.journals), default=0)

    def deviations(self) -> Iterator[tuple[str, str]]:
        for row in self.rows:
            if row.source.startswith("consumer "):
                if row.newest > self.sequence and self.newest <= self.sequence:
                    yield "consumer-ahead", row.source.removeprefix("consumer ")
                continue
            if max(row.newest or 0, row.floor or 0) > self.sequence:
                yield "sequence-behind", row.source
            if row.floor is None:
                yield "floor-missing", row.source
            elif row.pruned_at is not None and row.lowest is not None and row.lowest <= row.floor:
                yield "floor-contradicted", row.source

    def again(self) -> _Again:
        """Where the sequence is behind: what was stamped since is told by its time, later than the newest event's."""
        for row in self.journals:
            if row.source == "DocumentChangeEvent" and (row.newest or 0) > self.sequence:
                return _Again(rewound_through=self.sequence, rewound_at=row.newest_at)
        return _Again()


@dataclass(frozen=True, slots=True)
class _Looked:
    """A verification, and what a repair needs of it besides."""

    verification: Verification
    deviations: list[drift.Deviation]
    state: _State
    again: _Again


_FOREIGN = {
    "owner": "owner-differs",
    "right": "schema-open",
    "kind": "object-foreign",
    "reached": "object-foreign",
    "grant": "table-open",
}


def _note_foreign(session: Session, tally: _Tally, trust: Collection[str]) -> bool:
    """Notes what is not of the installing role; whether to stop there, because reading could run another role's code."""
    installer = session.execute("database/installing_role").scalar()
    found = ownership.untrusted(ownership.foreign_objects(session, installer), trust)
    foreign = [one for one in found if one.kind in _FOREIGN]  # the shape of tables is looked at with their definitions
    known = ownership.trusted_by_tracking(session, foreign)
    foreign = [one for one in foreign if one.subject not in known]
    for one in foreign:
        owned = f"{one.name} (is owned by {one.owner})" if one.kind == "owner" else str(one)
        tally.add(_FOREIGN[one.kind], owned)
    return any(one.kind not in ("right", "grant") for one in foreign)


def _looked(sessions: Sessions, sample: float, progress: Progress | None, trust: Collection[str]) -> _Looked:
    """Looks at everything, or at a sample of the rows."""
    tally, walker = _Tally(), _Walker(sessions, sample, progress or _silent)
    with sessions() as session:
        if _note_foreign(session, tally, trust):
            return _Looked(Verification(tally.findings(), sample=sample, **walker.rows), [], _State(0, []), _Again())
        deviations = drift.deviations(session)
        for deviation in deviations:
            tally.add(deviation.code, str(deviation))
        if any(deviation.code in _ENDS_THERE for deviation in deviations):
            return _Looked(Verification(tally.findings(), sample=sample, **walker.rows), deviations, _State(0, []), _Again())
    try:
        return _looked_at_rows(sessions, sample, walker, tally, deviations)
    except JournalError as error:
        if not is_missing(error.__cause__):
            raise
        tally.add("object-missing", message_of(error.__cause__))
        return _Looked(Verification(tally.findings(), sample=sample, **walker.rows), deviations, _State(0, []), _Again())


def _looked_at_rows(
    sessions: Sessions, sample: float, walker: _Walker, tally: _Tally, deviations: list[drift.Deviation]
) -> _Looked:
    with sessions() as session:
        state = _State.read(session)
        if images.is_floor_missing(session):
            tally.add("floor-missing", "DocumentImageFloor")
        for row in missing_parts(session):
            tally.add("part-missing", f"{row.partition} ({_held(row)})")
        for row in session.execute("operate/verify_feed"):
            tally.add("feed-altered", f"{row.name} ({row.state})")
        for row in session.execute("operate/verify_ids"):
            tally.add(row.code, row.name)
    for code, name in state.deviations():
        tally.add(code, name)
    again = state.again()
    twice = _Again(rewound_through=again.rewound_through, rewound_at=again.rewound_at)
    for rows in walker.documents(again.binds(with_range=False)):
        for row in rows:
            tally.add(row.code, row.document_id)
            if row.code == "stamp-given-again":
                for is_given, stamp in ((row.is_content, row.content_version), (row.is_identity, row.identity_version)):
                    if is_given:
                        twice.add(stamp)
    for rows in walker.edges():
        for row in rows:
            tally.add(row.code, f"{row.parent_id}->{row.child_id}")
    for rows in walker.vanished():
        for row in rows:
            tally.add(row.code, row.document_id)
    for row in walker.untimely:
        tally.add(row.code, f"event {row.version}")
    for rows in walker.key_changes():
        for row in rows:
            tally.add(row.code, f"key change {row.version}")
    for rows in walker.tombstones(again.binds(with_range=False)):
        for row in rows:
            if row.code == "stamp-given-again":
                twice.add(row.version)
                tally.add(row.code, f"tombstone {row.version}")
            elif row.code in _UNREADABLE:
                tally.add(row.code, f"tombstone {row.version}")
            else:
                tally.add(row.code, row.document_id)
    for rows in walker.images():
        for row in rows:
            tally.add(row.code, row.change_version)
    for table, code, name in walker.tracked(sample):
        tally.add(code, f"{table} {name}")
    verification = Verification(tally.findings(), sample=sample, **walker.rows)
    return _Looked(verification, deviations, state, twice)


def _held(part: Any) -> str:
    return "the versions of no other part" if part.high is None else f"versions {part.low or 0} to {part.high - 1}"


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """A row that a statement could not look at: a document, or an event at a version."""

    place: int
    code: str = "row-unreadable"
    is_content = is_identity = is_key = False
    content_version = identity_version = 0

    @property
    def document_id(self) -> int:
        return self.place

    @property
    def version(self) -> int:
        return self.place


class _Walker:
    """The checks, a batch at a time: what each statement found. A sample is every n-th batch, from a random one on."""

    def __init__(self, sessions: Sessions, sample: float = 1.0, progress: Progress = _silent) -> None:
        self._sessions, self._progress = sessions, progress
        self._every = round(1 / sample)
        self._size = _BATCH if self._every == 1 else _SAMPLED_BATCH
        self.rows = dict.fromkeys((*WALKS, "images"), 0)  # that were looked at
        self.untimely: list[Any] = []  # events whose time cannot be read, of what `vanished` looked at

    def documents(self, again: dict[str, Any]) -> Iterator[list[Any]]:
        has_maxima = self._has("max_dep_identity_version")
        for batch in self._batches("documents"):
            yield self._read_apart("documents", "operate/verify_documents", batch, **again)
            yield self._read_apart("documents", "operate/verify_bodies", batch)
            if has_maxima:
                yield self._read("operate/verify_maxima", **batch)

    def key_changes(self) -> Iterator[list[Any]]:
        for batch in self._batches("key_changes"):
            yield self._read_apart("key_changes", "operate/verify_key_changes", batch)

    def edges(self) -> Iterator[list[Any]]:
        for batch in self._batches("edges"):
            yield self._read("operate/verify_edges", **batch)

    def tombstones(self, again: dict[str, Any]) -> Iterator[list[Any]]:
        for batch in self._batches("tombstones"):
            yield self._read_apart("tombstones", "operate/verify_tombstones", batch, **again)

    def vanished(self) -> Iterator[list[Any]]:
        """Documents that have events and are gone, and whose tombstone is not there: looked for by many, since that is one pass."""
        gone: dict[int, dict[str, Any]] = {}
        told: set[int] = set()
        for batch in self._batches("events"):
            self.untimely += self._read("operate/verify_times", **batch)
            for row in self._read("operate/verify_events", **batch):
                born = gone[row.document_id]["born"] if row.document_id in gone and row.born is None else row.born
                gone[row.document_id] = {"document_id": row.document_id, "version": row.version, "born": born}
            if len(gone) >= _BUFFER:
                yield self._not_buried(gone, told)
        yield self._not_buried(gone, told)

    def images(self) -> Iterator[list[Any]]:
        """Images without an event, where the database has the option."""
        for batch in self._batches("images", "operate/verify_image_batch") if self._has(images.OPTION) else ():
            yield self._read("operate/verify_images", **batch)

    def tracked(self, sample: float = 1.0) -> Iterator[tuple[str, str, str]]:
        """What is wrong with tracked tables: the table, the code, and what it is about."""
        if not self._has(tracking.OPTION):
            return
        unmade: set[str] = set()  # tables whose view lacks columns that the catalog has by now: their rows cannot be looked at
        for row in self._read("operate/verify_tracking"):
            yield row.table_name, row.code, row.name
            if row.code == "tracking-altered" and row.name.startswith("view "):
                unmade.add(row.table_name)
        for found in self._read("operate/tracked_tables"):
            table = found.table_name
            if not unmade.isdisjoint([table, *found.refers_to]):
                continue  # until it is renewed, which looks at them
            low, last = 0, 1
            while low < last:
                is_last = low + _BLOCKS >= last
                if sample == 1.0 or is_last or random.random() < sample:
                    rows = self._read("operate/verify_tracked_rows", table_name=table, low=low, high=low + _BLOCKS)
                    last = max((int(row.name) for row in rows if row.code == "end"), default=0)
                    yield from ((table, row.code, row.name) for row in rows if row.code != "end")
                    self._progress("tracked rows", low)
                low += _BLOCKS
            after: int | None = LOWEST_ID
            while after is not None:
                rows = self._read("operate/verify_tracked_documents", table_name=table, after=after)
                after = next((int(row.name) for row in rows if row.code == "end" and row.name is not None), None)
                yield from ((table, row.code, row.name) for row in rows if row.code != "end")

    def _has(self, option: str) -> bool:
        with self._sessions() as session:
            return option in session.options

    def _not_buried(self, gone: dict[int, dict[str, Any]], told: set[int]) -> list[Any]:
        wanted = list(gone.values())
        gone.clear()
        found = [row for row in self._read("operate/verify_vanished", rows=wanted) if row.document_id not in told] if wanted else []
        told.update(row.document_id for row in found)
        return found

    def _read(self, statement: str, **binds: Any) -> list[Any]:
        with self._sessions() as session:
            return list(session.execute(statement, **binds))

    def _read_apart(self, walk: str, statement: str, batch: dict[str, int], size: int = 0, **binds: Any) -> list[Any]:
        """The rows of a batch; where the server cannot give one of them, those of its parts, down to that row."""
        try:
            return self._read(statement, **batch, **binds)
        except JournalError as error:
            if not is_unreadable(error.__cause__):
                raise
        size = size or self._size
        while (middle := self._end_of(walk, batch, size)) == batch["last"] and size > 1:
            size = (size + 1) // 2
        if middle == batch["last"]:
            return [_Unreadable(middle)]
        found: list[Any] = []
        while batch["after"] < batch["last"]:
            part = {"after": batch["after"], "last": self._end_of(walk, batch, size)}
            found += self._read_apart(walk, statement, part, size, **binds)
            batch = {"after": part["last"], "last": batch["last"]}
        return found

    def _end_of(self, walk: str, batch: dict[str, int], size: int) -> int:
        """The place of the last of the first `size` rows of a batch."""
        last = self._read("operate/verify_batch", walk=walk, after=batch["after"], size=size)[0].last
        return batch["last"] if last is None else min(int(last), batch["last"])

    def _batches(self, walk: str, statement: str = "operate/verify_batch") -> Iterator[dict[str, int]]:
        """(after, last] of each batch that is to be looked at; of the last one, where the sample met none."""
        after, skipped, number = LOWEST_ID, None, random.randrange(self._every)
        binds: dict[str, Any] = {"walk": walk} if statement == "operate/verify_batch" else {}
        while (ends := self._read(statement, after=after, size=self._size, **binds)[0]).last is not None:
            batch = {"after": after, "last": ends.last}
            after = ends.last
            if number % self._every == 0:
                yield self._counted(walk, batch, ends.rows)
            elif not self.rows[walk]:
                skipped = (batch, ends.rows)
            number += 1
        if not self.rows[walk] and skipped is not None:
            yield self._counted(walk, *skipped)

    def _counted(self, walk: str, batch: dict[str, int], rows: int) -> dict[str, int]:
        self.rows[walk] += rows
        self._progress(walk, self.rows[walk])
        return batch


class _Repairer:
    """Heals what a verification found, in the order in which one thing needs another. Each step can be run again."""

    def __init__(self, sessions: Sessions, found: _Looked, progress: Progress) -> None:
        self._sessions, self._found, self._progress = sessions, found, progress
        self._codes = {finding.code for finding in found.verification.findings}
        self._again = found.again.binds(with_range=True)
        self._expired: list[str] = []

    def run(self) -> tuple[str, ...]:
        """Gives the journals that it had to expire, in the order of their names."""
        self.replace_objects()
        self._sequence()
        self._ids()
        self._floors()
        self._tombstones("stamp-given-again")  # before the documents, which must lie above tombstones of their own
        self._documents()
        self._edges()
        self._vanished()
        self._tombstones("document-below-tombstone")
        self._images()
        self._tracked()
        self._constraints()
        return tuple(sorted(self._expired))

    @contextmanager
    def _writing(self) -> Iterator[Session]:
        with self._sessions() as session:
            session.execute("operate/begin_repair")
            try:
                yield session
                session.execute("operate/end_repair")
            except BaseException:
                session.conn.invalidate()  # what begin_repair set must not stay with the connection
                raise

    def _walker(self) -> _Walker:
        return _Walker(self._sessions, progress=lambda walk, rows: self._progress(f"repaired {walk}", rows))

    def replace_objects(self) -> None:
        """Makes triggers, routines and views that deviate as shipped."""
        from dmsjournal.schema import migrate  # Alembic, which reading does without

        with self._writing() as session:
            for text in drift.replacements(session, self._found.deviations):
                for batch in sql.batches(text):
                    migrate.run_batch(session.conn, batch)
            if drift.is_of_option(session, images.OPTION, self._found.deviations):
                session.execute("database/enter_change")
                session.execute("operate/expire_images")

    def _sequence(self) -> None:
        if self._codes & {"sequence-altered", "sequence-behind"}:
            with self._writing() as session:
                session.execute("operate/repair_sequence")
                session.execute("operate/raise_sequence", version=self._found.state.newest)

    def _ids(self) -> None:
        if "ids-ahead" in self._codes:
            with self._writing() as session:
                session.execute("operate/repair_ids")

    def _floors(self) -> None:
        for row in self._found.state.journals:
            if row.floor is None:
                self._expire(row.source)
        if "part-missing" in self._codes:
            with self._sessions() as session:
                journals = sorted({row.journal for row in missing_parts(session)})
            for journal in journals:
                self._expire(journal)
        if "floor-contradicted" in self._codes:
            rows = 1
            while rows:
                with self._writing() as session:
                    rows = session.execute("operate/remove_expired", size=_REPAIRED).scalar_one()

    def _expire(self, journal: str) -> None:
        with self._writing() as session:
            session.execute("database/enter_change")
            session.execute("operate/expire_journal", journal=journal)
            if "part-missing" in self._codes:
                session.execute("operate/forget_parts", journal=journal)
        self._expired.append(journal)

    def _documents(self) -> None:
        for rows in self._walker().documents(self._again):
            self._stamp(_signals(rows))

    def _stamp(self, wanted: Iterable[dict[str, Any]]) -> None:
        for rows in _parts(sorted(wanted, key=lambda row: row["document_id"])):
            with self._writing() as session:
                session.execute("write/lock_documents", document_ids=[row["document_id"] for row in rows])
                session.execute("operate/repair_documents", rows=rows)

    def _edges(self) -> None:
        for rows in self._walker().edges():
            for code, statement in (
                ("edge-dangling", "operate/remove_dangling_edges"),
                ("edge-misfiled", "operate/refile_edges"),
                ("dependency-missing", "operate/add_dependencies"),
            ):
                for part in _parts([{"parent_id": row.parent_id, "child_id": row.child_id} for row in rows if row.code == code]):
                    with self._writing() as session:
                        session.execute(statement, rows=part)
            self._stamp(_signal(parent_id) for parent_id in {row.parent_id for row in rows if row.is_stale})

    def _vanished(self) -> None:
        is_unknown = False
        for rows in self._walker().vanished():
            self._move([row.tombstone for row in rows if row.code == "tombstone-too-low"])
            known = [row.document_id for row in rows if row.code == "document-vanished" and row.is_known]
            for part in _parts([{"document_id": document_id} for document_id in known]):
                with self._writing() as session:
                    session.execute("database/enter_change")
                    session.execute("operate/bury_documents", rows=part)
            is_unknown |= any(row.code == "document-vanished" and not row.is_known for row in rows)
        if is_unknown:  # a tombstone needs the document's uuid: consumers are told to read in full instead
            self._expire("DocumentDeleteEvent")

    def _tombstones(self, code: str) -> None:
        for rows in self._walker().tombstones(self._again):
            found = [row for row in rows if row.code == code]
            if code == "stamp-given-again":
                self._move([row.version for row in found])
            else:
                self._stamp(_signal(document_id) for document_id in {row.document_id for row in found})

    def _images(self) -> None:
        with self._writing() as session:
            if images.is_floor_missing(session):
                session.execute("database/enter_change")
                session.execute("operate/expire_images")
        for rows in self._walker().images():
            for part in _parts([{"change_version": row.change_version, "document_id": row.document_id} for row in rows]):
                with self._writing() as session:
                    session.execute("operate/remove_images", rows=part)

    def _tracked(self) -> None:
        """Renews each tracked table that something is wrong with, and fills it."""
        wrong: dict[str, set[str]] = {}
        for table, code, _ in self._walker().tracked():
            wrong.setdefault(table, set()).add(code)
        for table, codes in wrong.items():
            if codes & _UNRENEWABLE:
                continue
            with self._writing() as session:
                session.execute("operate/renew_tracking", table_name=table, unseen=bool(codes & _UNSEEN), trust=False)
            batch: Any = True
            while batch is not None:
                with self._writing() as session:
                    batch = session.execute("operate/fill_tracked", table_name=table, blocks=tracking.BLOCKS).first()

    def _constraints(self) -> None:
        from dmsjournal.schema import migrate  # Alembic, which reading does without

        names = [deviation.name for deviation in self._found.deviations if deviation.code == "constraint-altered"]
        with self._writing() as session:
            statements = session.execute("operate/repair_constraints", names=names).scalars().all()
        for statement in statements:
            with suppress(DatabaseRefused, InvalidRequest), self._writing() as session:  # rows break it: it stays a finding
                migrate.run_batch(session.conn, statement)

    def _move(self, versions: list[int]) -> None:
        for part in _parts([{"version": version} for version in versions]):
            with self._writing() as session:
                session.execute("database/enter_change")
                session.execute("operate/move_tombstones", rows=part)


def _signal(document_id: int) -> dict[str, Any]:
    """A row of repair_documents that gives a content stamp."""
    flags = {"is_content": True, "is_identity": False, "is_key": False, "is_again": False}
    return {"document_id": document_id, "identity_version": 0} | flags


def _signals(rows: list[Any]) -> list[dict[str, Any]]:
    """Rows of repair_documents: one a document, for all that was found of it."""
    wanted: dict[int, dict[str, Any]] = {}
    for row in rows:
        signal = wanted.setdefault(row.document_id, _signal(row.document_id) | {"is_content": False})
        signal["identity_version"] = row.identity_version
        for flag in ("is_content", "is_identity", "is_key"):
            signal[flag] |= bool(getattr(row, flag))
        signal["is_again"] |= row.code == "stamp-given-again"
    return [signal for signal in wanted.values() if signal["is_content"] or signal["is_identity"]]


def _parts(rows: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    for start in range(0, len(rows), _REPAIRED):
        yield rows[start : start + _REPAIRED]
