"""Verify: whether triggers, journals and floors say what the invariants promise; repair: what bypassed them is journaled.

A check reads a batch at a time, each in a transaction of its own, so no snapshot is old and no lock is long. It is exact while
others write; each statement of sql/<engine>/queries/verify_*.sql says by what. Source: docs/how-it-works.md, What can bypass it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from dmsjournal import images, installed, statements
from dmsjournal.errors import InvalidRequest
from dmsjournal.findings import MEANINGS
from dmsjournal.session import Session
from dmsjournal.windows import LOWEST_ID

WALKS = ("documents", "edges", "events", "tombstones")
_BATCH, _SAMPLED_BATCH = 5_000, 500  # rows that one statement looks at
_REPAIRED = 1_000  # rows that one transaction writes: below the number at which SQL Server locks a whole table
_BUFFER = 50_000  # documents that are gone, looked for in one pass over the tombstones
_SHOWN = 100  # objects that a finding names

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


def verify(sessions: Sessions, sample: float | None = None, progress: Progress | None = None) -> Verification:
    """See Journal.verify."""
    return _looked(sessions, _checked_sample(sample), progress).verification


def repair(sessions: Sessions, progress: Progress | None = None) -> Repair:
    """See Journal.repair."""
    found = _looked(sessions, 1.0, progress)
    codes = {finding.code for finding in found.verification.findings}
    if "table-missing" not in codes and any(finding.is_repaired for finding in found.verification.findings):
        expired = _Repairer(sessions, found, progress or _silent).run()
        return Repair(found.verification, _looked(sessions, 1.0, progress).verification, expired)
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
        rows = sorted(session.execute("verify_state"), key=lambda row: str(row.source))
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
    deviations: list[installed.Deviation]
    state: _State
    again: _Again


def _looked(sessions: Sessions, sample: float, progress: Progress | None) -> _Looked:
    """Looks at everything, or at a sample of the rows."""
    tally, walker = _Tally(), _Walker(sessions, sample, progress or _silent)
    with sessions() as session:
        deviations = installed.deviations(session)
        for deviation in deviations:
            tally.add(deviation.code, str(deviation))
        if any(deviation.code == "table-missing" for deviation in deviations):  # every statement needs the tables
            return _Looked(Verification(tally.findings(), sample=sample, **walker.rows), deviations, _State(0, []), _Again())
        state = _State.read(session)
        if images.is_floor_missing(session):
            tally.add("floor-missing", "DocumentImageFloor")
        for row in session.execute("verify_feed"):
            tally.add("feed-altered", f"{row.name} ({row.state})")
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
    for rows in walker.tombstones(again.binds(with_range=False)):
        for row in rows:
            if row.code == "stamp-given-again":
                twice.add(row.version)
                tally.add(row.code, f"tombstone {row.version}")
            else:
                tally.add(row.code, row.document_id)
    for rows in walker.images():
        for row in rows:
            tally.add(row.code, row.change_version)
    verification = Verification(tally.findings(), sample=sample, **walker.rows)
    return _Looked(verification, deviations, state, twice)


class _Walker:
    """The checks, a batch at a time: what each statement found. A sample is every n-th batch, from a random one on."""

    def __init__(self, sessions: Sessions, sample: float = 1.0, progress: Progress = _silent) -> None:
        self._sessions, self._progress = sessions, progress
        self._every = round(1 / sample)
        self._size = _BATCH if self._every == 1 else _SAMPLED_BATCH
        self.rows = dict.fromkeys((*WALKS, "images"), 0)  # that were looked at

    def documents(self, again: dict[str, Any]) -> Iterator[list[Any]]:
        has_maxima = self._has("max_dep_identity_version")
        for batch in self._batches("documents"):
            yield self._read("verify_documents", **batch, **again)
            if has_maxima:
                yield self._read("verify_maxima", **batch)

    def edges(self) -> Iterator[list[Any]]:
        for batch in self._batches("edges"):
            yield self._read("verify_edges", **batch)

    def tombstones(self, again: dict[str, Any]) -> Iterator[list[Any]]:
        for batch in self._batches("tombstones"):
            yield self._read("verify_tombstones", **batch, **again)

    def vanished(self) -> Iterator[list[Any]]:
        """Documents that have events and are gone, and whose tombstone is not there: looked for by many, since that is one pass."""
        gone: dict[int, dict[str, Any]] = {}
        told: set[int] = set()
        for batch in self._batches("events"):
            for row in self._read("verify_events", **batch):
                born = gone[row.document_id]["born"] if row.document_id in gone and row.born is None else row.born
                gone[row.document_id] = {"document_id": row.document_id, "version": row.version, "born": born}
            if len(gone) >= _BUFFER:
                yield self._not_buried(gone, told)
        yield self._not_buried(gone, told)

    def images(self) -> Iterator[list[Any]]:
        """Images without an event, where the database has the option."""
        for batch in self._batches("images", "verify_image_batch") if self._has(images.OPTION) else ():
            yield self._read("verify_images", **batch)

    def _has(self, option: str) -> bool:
        with self._sessions() as session:
            return option in session.options

    def _not_buried(self, gone: dict[int, dict[str, Any]], told: set[int]) -> list[Any]:
        wanted = list(gone.values())
        gone.clear()
        found = [row for row in self._read("verify_vanished", rows=wanted) if row.document_id not in told] if wanted else []
        told.update(row.document_id for row in found)
        return found

    def _read(self, statement: str, **binds: Any) -> list[Any]:
        with self._sessions() as session:
            return list(session.execute(statement, **binds))

    def _batches(self, walk: str, statement: str = "verify_batch") -> Iterator[dict[str, int]]:
        """(after, last] of each batch that is to be looked at; of the last one, where the sample met none."""
        after, skipped, number = LOWEST_ID, None, random.randrange(self._every)
        binds: dict[str, Any] = {"walk": walk} if statement == "verify_batch" else {}
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
        self._objects()
        self._sequence()
        self._floors()
        self._tombstones("stamp-given-again")  # before the documents, which must lie above tombstones of their own
        self._documents()
        self._edges()
        self._vanished()
        self._tombstones("document-below-tombstone")
        self._images()
        if "constraint-altered" in self._codes:
            with self._writing() as session:
                session.execute("repair_constraints")
        return tuple(sorted(self._expired))

    @contextmanager
    def _writing(self) -> Iterator[Session]:
        with self._sessions() as session:
            session.execute("begin_repair")
            try:
                yield session
                session.execute("end_repair")
            except BaseException:
                session.conn.invalidate()  # what begin_repair set must not stay with the connection
                raise

    def _walker(self) -> _Walker:
        return _Walker(self._sessions, progress=lambda walk, rows: self._progress(f"repaired {walk}", rows))

    def _objects(self) -> None:
        from dmsjournal import migrating  # Alembic, which reading does without

        with self._writing() as session:
            for text in installed.replacements(session, self._found.deviations):
                for batch in statements.batches(text):
                    migrating.run_batch(session.conn, batch)
            if installed.is_of_option(session, images.OPTION, self._found.deviations):
                session.execute("enter_change")
                session.execute("expire_images")

    def _sequence(self) -> None:
        if self._codes & {"sequence-altered", "sequence-behind"}:
            with self._writing() as session:
                session.execute("repair_sequence")
                session.execute("raise_sequence", version=self._found.state.newest)

    def _floors(self) -> None:
        for row in self._found.state.journals:
            if row.floor is None:
                self._expire(row.source)
        if "floor-contradicted" in self._codes:
            rows = 1
            while rows:
                with self._writing() as session:
                    rows = session.execute("remove_expired", size=_REPAIRED).scalar_one()

    def _expire(self, journal: str) -> None:
        with self._writing() as session:
            session.execute("enter_change")
            session.execute("expire_journal", journal=journal)
        self._expired.append(journal)

    def _documents(self) -> None:
        for rows in self._walker().documents(self._again):
            self._stamp(_signals(rows))

    def _stamp(self, wanted: Iterable[dict[str, Any]]) -> None:
        for rows in _parts(sorted(wanted, key=lambda row: row["document_id"])):
            with self._writing() as session:
                session.execute("lock_documents", document_ids=[row["document_id"] for row in rows])
                session.execute("repair_documents", rows=rows)

    def _edges(self) -> None:
        for rows in self._walker().edges():
            for code, statement in (
                ("edge-dangling", "remove_dangling_edges"),
                ("edge-misfiled", "refile_edges"),
                ("dependency-missing", "add_dependencies"),
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
                    session.execute("enter_change")
                    session.execute("bury_documents", rows=part)
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
                session.execute("enter_change")
                session.execute("expire_images")
        for rows in self._walker().images():
            for part in _parts([{"change_version": row.change_version, "document_id": row.document_id} for row in rows]):
                with self._writing() as session:
                    session.execute("remove_images", rows=part)

    def _move(self, versions: list[int]) -> None:
        for part in _parts([{"version": version} for version in versions]):
            with self._writing() as session:
                session.execute("enter_change")
                session.execute("move_tombstones", rows=part)


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
