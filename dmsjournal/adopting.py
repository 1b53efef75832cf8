"""Adoption: installing on document tables that exist already, with rows in them and writers at work.

Whatever takes long runs in batches, or in statements that no writer waits for; what needs a lock is short, waits for it at most
`lock_timeout`, and tries again. Nothing is remembered outside the database: the plan is what the tables lack, worked out anew at
each run, and dms.Adoption holds how far the batches are, so a killed adoption goes on where it was. The shape that the tables need
is written once, in the migrations' files. Source: docs/dba/adopt.md.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import sqlalchemy as sa

from dmsjournal import migrating, statements
from dmsjournal.connecting import engine_for, is_locked_out, module_of, translated
from dmsjournal.errors import (
    AdoptionRefused,
    DatabaseRefused,
    InvalidRequest,
    JournalError,
    MigrationRefused,
    NotInstalled,
    Unavailable,
)
from dmsjournal.session import Session
from dmsjournal.windows import LOWEST_ID, checked_size

JOURNALED = "0005"  # from this revision on every write is journaled; the next one lets readers in

_MADE = re.compile(r"^CREATE (?:TABLE|VIEW|SEQUENCE|FUNCTION|PROCEDURE) (?:IF NOT EXISTS )?dms\.(\w+)", re.MULTILINE)
_TRIGGER = re.compile(r"^CREATE TRIGGER (?:dms\.)?(\w+)", re.MULTILINE)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0  # seconds, before a lock is tried for again

# What runs in batches: where a batch ends, and what is done for it in one transaction, in this order.
_FILLS = {
    "resource keys": ("adopt_document_range", ("adopt_resource_names", "adopt_resource_ids")),
    "document values": ("adopt_document_range", ("adopt_document_values",)),
    "referenceedge values": ("adopt_edge_range", ("adopt_edge_values",)),
    "parents": ("adopt_edge_range", ("adopt_edge_parents",)),
    "documents": ("adopt_document_range", ("adopt_stamps", "adopt_document_events", "adopt_identity_events")),
    "dependencies": ("adopt_edge_range", ("adopt_edge_parents", "adopt_dependencies")),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found about `subject` before an adoption, and what to do about it."""

    subject: str
    found: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.found}. {self.remedy}"


@dataclass(frozen=True, slots=True)
class Step:
    """A step of an adoption.

    `kind` is "short" (a transaction of its own, no longer than a moment), "online" (long, but no writer waits), "batches", or
    "scan" (SQL Server: one statement that reads the table, and writers wait for its end). `lock` is the strongest that it takes on
    a table. `rows` is how many it reads or writes, by the database's own estimate.
    """

    name: str
    kind: str
    lock: str
    rows: int


@dataclass(frozen=True, slots=True)
class Adoption:
    """What an adoption does, or has done: its steps, what is worth knowing, and the revision that the database is at."""

    steps: list[Step]
    notes: list[Finding]
    revision: str | None


_Result = TypeVar("_Result")
Progress = Callable[[Step, int], None]  # a step, at its beginning and after each batch, and how many rows of it are done


def adopt(
    url: str | sa.URL,
    *,
    dry_run: bool = False,
    batch_size: int = 2000,
    pause: float = 0.0,
    lock_timeout: str = "2s",
    tries: int = 30,
    new_stamps: bool = False,
    content_columns: Sequence[str] = (),
    progress: Progress | None = None,
) -> Adoption:
    """Installs the journal on a dms.Document and a dms.ReferenceEdge of another program, while its writers go on.

    `dry_run` checks and plans, and changes nothing. Units: `batch_size` is rows (1 to 50,000; on SQL Server to 2,000, since more
    would lock the table), `pause` is seconds between batches (0 or more), `lock_timeout` is as in migrating.upgrade, and is waited
    for at most `tries` times (1 or more). `new_stamps` gives every document a new stamp, whatever versions it has. A change of
    `content_columns` counts as changed content, where programs do not signal it. Killed at any moment, it goes on when it is called
    again. A database that is adopted already is left alone, but for `content_columns`, which may be named later, or anew.

    Raises AdoptionRefused, with all that is in the way and nothing changed; InvalidRequest; MigrationRefused where there is nothing
    to adopt; Unavailable where a lock was not to be had: what was done so far is kept.
    Source: docs/dba/adopt.md.
    """
    for parameter, value, least in (("tries", tries, 1), ("pause", pause, 0)):
        if value < least:
            raise InvalidRequest(parameter, value, f"ask for {least} or more")
    migrating.checked_lock_timeout(lock_timeout)
    engine = engine_for(url)
    name = statements.engine_name(engine.dialect.name)
    try:
        checked_size("batch_size", batch_size, module_of(name).LARGEST_BATCH)
        with translated(), engine.connect().execution_options(isolation_level="AUTOCOMMIT") as kept:
            run = _Run(
                url,
                name,
                engine,
                kept,
                batch_size,
                pause,
                lock_timeout,
                tries,
                new_stamps,
                list(content_columns),
                progress,
            )
            return run.planned() if dry_run else run.done()
    except DatabaseRefused as error:
        if error.refused != "right":
            raise
        raise DatabaseRefused(error.code, error.message, module_of(name).ADOPTER, refused="right") from error.__cause__
    finally:
        engine.dispose()


@dataclass(frozen=True, slots=True)
class _Work:
    """A step and what performs it."""

    step: Step
    perform: Callable[[Step], None]


@dataclass
class _Run:
    """An adoption on its way. `kept` is a connection that commits each statement, and holds the lock on adopting."""

    url: str | sa.URL
    engine: str
    pool: sa.Engine
    kept: sa.Connection
    batch_size: int
    pause: float
    lock_timeout: str
    tries: int
    new_stamps: bool
    content_columns: list[str]
    progress: Progress | None

    def planned(self) -> Adoption:
        """What is to do. Raises AdoptionRefused."""
        revision, switched = self._found()
        if self._is_done(revision, switched):
            return Adoption([work.step for work in self._late()], self._late_notes(), revision)
        notes = self._checked(switched)
        return Adoption([work.step for work in self._works(switched)], notes, revision)

    def done(self) -> Adoption:
        """Does it."""
        self._run_online("adopting/online")
        self._retried(self._alone)
        revision, switched = self._found()
        if self._is_done(revision, switched):
            works = self._late()
            for work in works:
                work.perform(work.step)
            return Adoption([work.step for work in works], self._late_notes(), revision)
        notes = self._checked(switched)
        works = self._works(switched)
        self._short("adopting/begin")
        for work in works:
            self._tell(work.step, 0)
            try:
                with translated():
                    work.perform(work.step)
            except DatabaseRefused:  # such as a null that was written after all: nothing is taken for filled the next time
                self._ask("adopt_reset")
                raise
        return Adoption([work.step for work in works], notes, migrating.current(self.url))

    def _found(self) -> tuple[str | None, bool]:
        """The revision that the database is at, and whether an adoption has brought the triggers."""
        state = self._ask("adopt_state").one()
        if not state.has_documents:
            raise MigrationRefused("there is no dms.Document to adopt", "Run dmsjournal upgrade, which makes one.")
        revision = migrating.current(self.url) if state.has_versions else None
        return revision, bool(state.is_begun) and revision is not None

    def _is_done(self, revision: str | None, switched: bool) -> bool:
        if revision is None or switched:
            return False
        if revision != migrating.newest(self.engine):
            raise MigrationRefused(f"the journal is installed, at revision {revision}", "Run dmsjournal upgrade.")
        return True

    # What is in the way

    def _checked(self, switched: bool) -> list[Finding]:
        """The notes. Raises AdoptionRefused, with the whole list."""
        columns = self._of_catalog("adopt_content_obstacles", content_columns=self.content_columns)
        obstacles = [_finding(row) for row in columns]
        if switched:  # the rest was checked then, and nothing that was wrong can come back
            if obstacles:
                raise AdoptionRefused(obstacles)
            return []
        findings = self._of_catalog("adopt_obstacles", **_needed(self.engine), content_columns=self.content_columns)
        obstacles += [_finding(row) for row in findings if row.severity == "obstacle"]
        obstacles += self._of_rows(bool(obstacles))
        if obstacles:
            raise AdoptionRefused(obstacles)
        return [_finding(row) for row in findings if row.severity == "note"]

    def _of_rows(self, misshapen: bool) -> list[Finding]:
        """What is wrong with the rows, as far as the tables' shape lets them be read."""
        state = self._ask("adopt_state").one()
        checks: list[Callable[[], Any]] = [partial(self._ask, "adopt_check_documents")]
        if state.has_edges:
            checks.append(partial(self._ask, "adopt_check_edges"))
        if state.has_cache:
            checks.append(partial(self._ask, "adopt_check_cache"))
        if state.has_names:
            checks.append(partial(self._ask, "adopt_check_names"))
        if state.has_resource_key_id and state.has_resources:
            checks.append(partial(self._ask, "adopt_check_resources", has_names=state.has_names))
        if state.has_stamps:
            checks.append(partial(self._ask, "adopt_check_stamps", new_stamps=self.new_stamps))
        if state.has_times:
            checks.append(partial(self._ask, "adopt_check_times"))
        found = []
        for check in checks:
            with suppress(NotInstalled) if misshapen else nullcontext(), translated():
                found += [_finding(row) for row in check()]
        return found

    def _of_catalog(self, query: str, **binds: object) -> Sequence[Any]:
        """Runs a query beside the document tables as the migrations make them, in a transaction that is rolled back."""
        with self.pool.connect() as conn:
            try:
                module = module_of(self.engine)
                for file in module.MODEL:
                    migrating.run_batch(conn, module.as_model(statements.text_of(self.engine, file)))
                for batch in statements.batches(statements.text_of(self.engine, "adopting/model")):
                    migrating.run_batch(conn, batch)
                return Session(conn, self.engine).execute(query, **binds).all()
            finally:
                conn.rollback()

    # What is to do

    def _works(self, switched: bool) -> list[_Work]:
        early: list[_Work] = []
        late: list[_Work] = []
        for row in self._of_catalog("adopt_plan", is_switched=switched):
            kind = {"file": "short", "fill": "batches", "index": "online"}.get(row.kind, row.kind)
            work = _Work(Step(row.name, kind, row.lock, row.estimated_rows), self._performing(row.kind, row.statement))
            (late if row.is_after_switch else early).append(work)
        rows = self._ask("adopt_estimates").one()
        held = module_of(self.engine).HELD
        if not switched:
            early.append(_Work(Step("bring the triggers: from here on every write is journaled", "short", held, 0), self._switch))
        if self.content_columns:
            late.append(self._content())
        late += [
            _Work(Step("stamp and journal all documents", "batches", "rows", rows.documents), partial(self._fill, "documents")),
            _Work(
                Step("find which resources refer to which", "batches", "rows", rows.edges),
                partial(self._fill, "dependencies"),
            ),
            _Work(Step("check all of it", "online", "none", rows.documents + rows.edges), self._verify),
            _Work(Step("let readers in", "short", held, 0), self._finish),
        ]
        return early + late

    def _late(self) -> list[_Work]:
        """What is to do where the journal is installed: content columns may be named anew. Raises AdoptionRefused."""
        if not self.content_columns:
            return []
        self._checked(True)
        return [self._content()]

    def _late_notes(self) -> list[Finding]:
        found = "the journal is installed already, its documents keep the stamps that they have"
        return [Finding("--new-stamps", found, "Nothing was done for it.")] if self.new_stamps else []

    def _content(self) -> _Work:
        held = module_of(self.engine).HELD
        return _Work(Step("take a change of other columns for content", "short", held, 0), self._signal_content)

    def _performing(self, kind: str, statement: str) -> Callable[[Step], None]:
        if kind == "fill":
            return partial(self._fill, statement)
        if kind == "online":
            return lambda step: migrating.run_batch(self.kept, statement)
        if kind == "index":
            return lambda step: self._retried(lambda: self._outside(statement))
        if kind == "file":
            return lambda step: self._short(statement)
        return lambda step: self._retried(lambda: self._in_transaction([statement]))

    def _switch(self, step: Step) -> None:
        self._retried(partial(self._upgrade, JOURNALED, ("adopting/ready",), fills=False))

    def _finish(self, step: Step) -> None:
        checks = ("tables/hold_writers.v1", "tables/JournalFloor.raised.v1", "adopting/finish")
        self._retried(partial(self._upgrade, "head", checks, fills=True))

    def _upgrade(self, revision: str, checks: tuple[str, ...], *, fills: bool) -> None:
        migrating.upgrade_adopted(self.url, revision, checks, fills=fills, lock_timeout=self.lock_timeout)

    def _signal_content(self, step: Step) -> None:
        self._short("adopting/content", lambda session: session.execute("adopt_content", columns=self.content_columns))

    def _verify(self, step: Step) -> None:
        faults = [_finding(row) for row in self._ask("adopt_faults")]
        if faults:
            self._ask("adopt_reset")
            raise AdoptionRefused(faults)

    def _fill(self, name: str, step: Step) -> None:
        """Runs a fill in batches, by ascending id, from where a run before has come to.

        A trigger sees to what is written behind it. Where a null is written all the same, the step that looks for nulls fails, and
        all fills begin again.
        """
        key = f"{name}, new stamps" if self.new_stamps else name
        reached = self._ask("adopt_reached", fill=key).scalar_one_or_none()
        after, done = LOWEST_ID if reached is None else reached, 0
        while (batch := self._retried(partial(self._batch, name, after, key))) is not None:
            after, done = batch[0], done + batch[1]
            self._tell(step, done)
            time.sleep(self.pause)

    def _batch(self, name: str, after: int, key: str) -> tuple[int, int] | None:
        """One batch, in one transaction: its last id and its rows; None at the end."""
        range_query, queries = _FILLS[name]
        with translated(), self.pool.begin() as conn:
            session = Session(conn, self.engine)
            self._give_up_soon(conn)
            batch = session.execute(range_query, after_id=after, batch_size=self.batch_size).one()
            if batch.through_id is None:
                return None
            for query in queries:
                more = {"new_stamps": self.new_stamps} if query == "adopt_stamps" else {}
                session.execute(query, after_id=after, through_id=batch.through_id, **more)
            session.execute("adopt_reach", fill=key, through_id=batch.through_id)
            return batch.through_id, batch.documents

    # How it is done

    def _alone(self) -> None:
        if not self._ask("adopt_alone").scalar_one():
            raise Unavailable("another adoption is on its way", "wait for it to end")

    def _run_online(self, name: str) -> None:
        migrating.run_batch(self.kept, statements.text_of(self.engine, name))

    def _short(self, name: str, first: Callable[[Session], object] | None = None) -> None:
        """Runs a file in a transaction of its own, with a lock timeout."""
        batches = statements.batches(statements.text_of(self.engine, name))
        self._retried(lambda: self._in_transaction(batches, first))

    def _in_transaction(self, batches: list[str], first: Callable[[Session], object] | None = None) -> None:
        with translated(), self.pool.begin() as conn:
            self._give_up_soon(conn)
            if first is not None:
                first(Session(conn, self.engine))
            for batch in batches:
                migrating.run_batch(conn, batch)

    def _outside(self, statement: str) -> None:
        """Runs a statement in no transaction, with a lock timeout."""
        with translated():
            self._give_up_soon(self.kept)
            try:
                migrating.run_batch(self.kept, statement)
            finally:
                self._run_online("adopting/online")

    def _ask(self, name: str, /, **binds: object) -> sa.Result[Any]:
        return Session(self.kept, self.engine).execute(name, **binds)

    def _give_up_soon(self, conn: sa.Connection) -> None:
        text = module_of(self.engine).lock_timeout(self.lock_timeout)
        migrating.run_batch(conn, statements.text_of(self.engine, "checks/lock_timeout").replace("{lock_timeout}", text))

    def _retried(self, work: Callable[[], _Result]) -> _Result:
        """Does what may meet a lock, at most `tries` times. Raises Unavailable."""
        wait = _FIRST_PAUSE
        for _ in range(self.tries - 1):
            try:
                return work()
            except (Unavailable, MigrationRefused) as error:
                if not _may_succeed(error):
                    raise
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_PAUSE)
        try:
            return work()
        except (Unavailable, MigrationRefused) as error:
            if not _may_succeed(error):
                raise
            raise Unavailable(
                f"a lock that the adoption needs was not to be had in {self.tries} tries of {self.lock_timeout}",
                "what was done so far is kept: see who holds it (docs/dba/locks.md), and run adopt again",
            ) from error

    def _tell(self, step: Step, done: int) -> None:
        if self.progress is not None:
            self.progress(step, done)


def _finding(row: Any) -> Finding:
    return Finding(row.subject, row.found, row.remedy)


def _may_succeed(error: JournalError) -> bool:
    """Whether a lock, or another adoption, was in the way."""
    cause = error.__cause__
    return is_locked_out(cause) or (cause is not None and is_locked_out(cause.__cause__)) or "another adoption" in str(error)


def _needed(engine: str) -> dict[str, list[str]]:
    """The names of the relations, functions and triggers that the migrations make, as their files have them, in lower case."""
    texts = [path.read_text(encoding="utf-8") for path in (statements.shipped("sql") / engine).rglob("*.v*.sql")]
    names, triggers = ({name.lower() for text in texts for name in pattern.findall(text)} for pattern in (_MADE, _TRIGGER))
    return {"names": sorted(names | {"alembic_version", "adoption"}), "triggers": sorted(triggers)}
