"""Adoption: installing on document tables that exist already, with rows in them and writers at work.

Whatever takes long runs in batches, or in statements that no writer waits for; what needs a lock is short, waits for it at most
`lock_timeout`, and tries again. Nothing is remembered outside the database: the plan is what the tables lack, worked out anew at
each run, and dms.Adoption holds how far the batches are, so a killed adoption goes on where it was. The shape that the tables need
is written once, in the migrations' files. Source: docs/dba/adopt.md.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import sqlalchemy as sa

from dmsjournal.database import sql
from dmsjournal.database.connect import engine_for, engine_of_url, is_locked_out, translated
from dmsjournal.database.engine import Engine
from dmsjournal.database.engines import engine_of
from dmsjournal.database.session import Session
from dmsjournal.errors import (
    AdoptionRefused,
    AdoptionStopped,
    DatabaseRefused,
    InvalidRequest,
    JournalError,
    MigrationRefused,
    NotInstalled,
    Obstacle,
    Unavailable,
)
from dmsjournal.model.windows import LOWEST_ID, checked_size
from dmsjournal.schema import migrate, ownership
from dmsjournal.util.backoff import Backoff
from dmsjournal.util.durations import checked_lock_timeout

logger = logging.getLogger("dmsjournal.adopt")

JOURNALED = "0005"  # from this revision on every write is journaled; the next one lets readers in

_MADE = (  # what has a name of its own in a schema, an index and its key too
    re.compile(r"^CREATE (?:TABLE|VIEW|SEQUENCE|FUNCTION|PROCEDURE) (?:IF NOT EXISTS )?dms\.(\w+)", re.MULTILINE),
    re.compile(r"^CREATE (?:UNIQUE )?INDEX (?:IF NOT EXISTS )?(\w+)", re.MULTILINE),
    re.compile(r"CONSTRAINT (\w+) (?:PRIMARY KEY|UNIQUE)"),
)
_TRIGGER = re.compile(r"^CREATE TRIGGER (?:dms\.)?(\w+)", re.MULTILINE)
_FOREIGN = "Adopt as the owner, or read it, then drop it or change its owner; to take it over as it is, name it: --trust"
_ANOTHER = "another adoption is on its way"
_SAID_AFTER = 1.0  # seconds that it waits for another adoption without a word

# What runs in batches: where a batch ends, and what is done for it in one transaction, in this order.
_FILLS = {
    "resource keys": ("schema/adopt_document_range", ("schema/adopt_resource_names", "schema/adopt_resource_ids")),
    "document values": ("schema/adopt_document_range", ("schema/adopt_document_values",)),
    "referenceedge values": ("schema/adopt_edge_range", ("schema/adopt_edge_values",)),
    "parents": ("schema/adopt_edge_range", ("schema/adopt_edge_parents",)),
    "documents": (
        "schema/adopt_document_range",
        ("schema/adopt_stamps", "schema/adopt_document_events", "schema/adopt_identity_events"),
    ),
    "dependencies": ("schema/adopt_edge_range", ("schema/adopt_edge_parents", "schema/adopt_dependencies")),
}


@dataclass(frozen=True, slots=True)
class AdoptionStep:
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

    steps: list[AdoptionStep]
    notes: list[Obstacle]
    revision: str | None


_Result = TypeVar("_Result")
Progress = Callable[[AdoptionStep, int], None]  # a step, at its beginning and after each batch, and how many rows of it are done


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
    trust: Collection[str] = (),
    progress: Progress | None = None,
) -> Adoption:
    """Installs the journal on a dms.Document and a dms.ReferenceEdge of another program, while its writers go on.

    `dry_run` checks and plans, and changes nothing. Units: `batch_size` is rows (1 to 50,000; on SQL Server to 2,000, since more
    would lock the table), `pause` is seconds between batches (0 or more), `lock_timeout` is as in migrating.upgrade, and is waited
    for at most `tries` times (1 or more). `new_stamps` gives every document a new stamp, whatever versions it has. A change of
    `content_columns` counts as changed content, where programs do not signal it. Killed at any moment, it goes on when it is called
    again. `trust` names what is taken over although another role owns it, as in migrating.upgrade; what the session's own role
    owns, with its triggers, is taken over anyway. A database that is adopted already is left alone, but for `content_columns`,
    which may be named later, or anew.

    Raises AdoptionRefused, with all that is in the way and nothing changed; InvalidRequest; MigrationRefused where there is nothing
    to adopt; AdoptionStopped for a step that failed, and Unavailable where a lock was not to be had: what was done so far is kept,
    and `abandon` goes back.
    Source: docs/dba/adopt.md.
    """
    checked_size("batch_size", batch_size, engine_of_url(url).LARGEST_BATCH)
    if pause < 0:
        raise InvalidRequest("pause", pause, "ask for 0 or more")
    with _run(url, lock_timeout, tries, trust) as run:
        run.batch_size, run.pause, run.new_stamps, run.progress = batch_size, pause, new_stamps, progress
        run.content_columns = list(content_columns)
        return run.planned() if dry_run else run.done()


def abandon(url: str | sa.URL, *, lock_timeout: str = "2s", tries: int = 30, trust: Collection[str] = ()) -> list[Obstacle]:
    """Takes an adoption that is on its way back: what it added goes, and the program's own journals and triggers come back.

    Returns notes on what stays, and on what the program's journals do not hold. `lock_timeout`, `tries` and `trust` are as adopt's.
    Raises MigrationRefused where no adoption is on its way, with nothing changed; AdoptionRefused for what another role owns;
    Unavailable where a lock was not to be had, with nothing changed. Source: docs/dba/adopt.md, To go back.
    """
    with _run(url, lock_timeout, tries, trust) as run:
        return run.abandoned()


@contextmanager
def _run(url: str | sa.URL, lock_timeout: str, tries: int, trust: Collection[str]) -> Iterator[_Run]:
    """A run on connections of its own."""
    if tries < 1:
        raise InvalidRequest("tries", tries, "ask for 1 or more")
    checked_lock_timeout(lock_timeout)
    ownership.checked_trust(trust)
    pool = engine_for(url)
    engine = engine_of(pool)
    try:
        with translated(), pool.connect().execution_options(isolation_level="AUTOCOMMIT") as kept:
            yield _Run(url, engine, pool, kept, lock_timeout, tries, trust)
    except DatabaseRefused as error:
        if error.refused != "right":
            raise
        raise DatabaseRefused(error.sqlstate, error.message, engine.ADOPTER, refused="right") from error.__cause__
    finally:
        pool.dispose()


@dataclass(frozen=True, slots=True)
class _Work:
    """A step and what performs it."""

    step: AdoptionStep
    perform: Callable[[AdoptionStep], None]


@dataclass
class _Run:
    """An adoption on its way. `kept` is a connection that commits each statement, and holds the lock on adopting."""

    url: str | sa.URL
    engine: Engine
    pool: sa.Engine
    kept: sa.Connection
    lock_timeout: str
    tries: int
    trust: Collection[str]
    batch_size: int = 2000
    pause: float = 0.0
    new_stamps: bool = False
    content_columns: list[str] = field(default_factory=list)
    progress: Progress | None = None
    began: float = field(default_factory=time.monotonic)
    is_said: bool = False  # who else adopts

    def planned(self) -> Adoption:
        """What is to do. Raises AdoptionRefused."""
        self._refuse_pooler()
        self._run_online("adopt/online")
        self._refuse_foreign()
        revision, switched = self._found()
        if self._is_done(revision, switched):
            return Adoption([work.step for work in self._late()], self._late_notes(), revision)
        notes = self._checked(switched)
        return Adoption([work.step for work in self._works(switched)], notes, revision)

    def done(self) -> Adoption:
        """Does it."""
        self._refuse_pooler()
        self._run_online("adopt/online")
        self._refuse_foreign()
        self._retried(self._alone)
        revision, switched = self._found()
        if self._is_done(revision, switched):
            works = self._late()
            for work in works:
                work.perform(work.step)
            return Adoption([work.step for work in works], self._late_notes(), revision)
        notes = self._checked(switched)
        works = self._works(switched)
        self._retried(lambda: self._begin(switched))
        for done, work in enumerate(works):
            self._report(work.step, 0)
            try:
                with translated():
                    work.perform(work.step)
            except (DatabaseRefused, MigrationRefused) as error:
                self._ask("schema/adopt_reset")  # such as a null that was written after all: the next run fills anew
                raise AdoptionStopped(work.step.name, done, len(works), _said(error)) from error.__cause__
        return Adoption([work.step for work in works], notes, migrate.current(self.url))

    def _refuse_pooler(self) -> None:
        """Raises MigrationRefused behind a pooler: the lock and the settings of this session would stay in another program's."""
        if self.engine.is_pooled(self.kept):
            raise MigrationRefused(
                "the URL leads to a pooler, such as PgBouncer, and an adoption needs a session of its own",
                "Name the database server itself in --url.",
            )

    def abandoned(self) -> list[Obstacle]:
        """Goes back. Returns the notes."""
        self._run_online("adopt/online")
        self._refuse_foreign()
        self._retried(self._alone)
        if not self._ask("database/adopt_state").one().is_begun:
            raise MigrationRefused("no adoption is on its way", "After its end, run dmsjournal downgrade base.")
        notes = [_obstacle(row) for row in self._ask("schema/adopt_left")]
        self._retried(lambda: migrate.abandon_adoption(self.url, lock_timeout=self.lock_timeout, trust=self.trust))
        return notes

    def _begin(self, switched: bool) -> None:
        """Says that an adoption is on its way, and keeps what there was before it."""
        before = [] if switched else [dict(row._mapping) for row in self._of_catalog("schema/adopt_before")]
        batches = sql.batches(sql.text_of(self.engine.NAME, "adopt/begin"))
        self._in_transaction(batches, last=lambda session: session.execute("schema/adopt_remember", rows=before))

    def _refuse_foreign(self) -> None:
        """Raises AdoptionRefused for what the role does not own, before anything of the schema runs or is read.

        How the role's own tables are made is told by adopt_obstacles, with what to do about each.
        """
        objects = [one for one in ownership.foreign_objects(Session(self.kept)) if one.kind not in ("kind", "shape", "grant")]
        if foreign := ownership.untrusted(objects, self.trust):
            raise AdoptionRefused([Obstacle(one.subject, one.found, _FOREIGN) for one in foreign])

    def _found(self) -> tuple[str | None, bool]:
        """The revision that the database is at, and whether an adoption has brought the triggers."""
        state = self._ask("database/adopt_state").one()
        if not state.has_documents:
            if cased := self._of_catalog("schema/adopt_cased"):
                raise AdoptionRefused([_obstacle(row) for row in cased])
            raise MigrationRefused("there is no dms.Document to adopt", "Run dmsjournal upgrade, which makes one.")
        revision = migrate.current(self.url) if state.has_versions else None
        return revision, bool(state.is_begun) and revision is not None

    def _is_done(self, revision: str | None, switched: bool) -> bool:
        if revision is None or switched:
            return False
        if revision != migrate.newest(self.engine.NAME):
            raise MigrationRefused(f"the journal is installed, at revision {revision}", "Run dmsjournal upgrade.")
        return True

    # What is in the way

    def _checked(self, switched: bool) -> list[Obstacle]:
        """The notes. Raises AdoptionRefused, with the whole list."""
        columns = self._of_catalog("schema/adopt_content_obstacles", content_columns=self.content_columns)
        obstacles = [_obstacle(row) for row in columns]
        if switched:  # the rest was checked then, and nothing that was wrong can come back
            if obstacles:
                raise AdoptionRefused(obstacles)
            return []
        findings = self._of_catalog("schema/adopt_obstacles", **_needed(self.engine.NAME), content_columns=self.content_columns)
        obstacles += [_obstacle(row) for row in self._of_catalog("schema/adopt_cased")]
        obstacles += [_obstacle(row) for row in findings if row.severity != "note"]
        if not any(row.severity == "danger" for row in findings):  # else a read could run another role's code with our rights
            obstacles += self._of_rows(bool(obstacles))
        if obstacles:
            raise AdoptionRefused(obstacles)
        return [_obstacle(row) for row in findings if row.severity == "note"]

    def _of_rows(self, misshapen: bool) -> list[Obstacle]:
        """What is wrong with the rows, as far as the tables' shape lets them be read."""
        state = self._ask("database/adopt_state").one()
        checks: list[Callable[[], Any]] = [
            partial(self._ask, "schema/adopt_check_documents"),
            partial(self._ask, "schema/adopt_check_limits"),
        ]
        if state.has_keys:
            checks.append(partial(self._ask, "schema/adopt_check_keys"))
        if state.has_edges:
            checks.append(partial(self._ask, "schema/adopt_check_edges"))
        if state.has_cache:
            checks.append(partial(self._ask, "schema/adopt_check_cache"))
        if state.has_names:
            checks.append(partial(self._ask, "schema/adopt_check_names"))
        if state.has_resource_key_id and state.has_resources:
            checks.append(partial(self._ask, "schema/adopt_check_resources", has_names=state.has_names))
        if state.has_stamps:
            checks.append(partial(self._ask, "schema/adopt_check_stamps", new_stamps=self.new_stamps))
        if state.has_times:
            checks.append(partial(self._ask, "schema/adopt_check_times"))
        found = []
        for check in checks:
            with suppress(NotInstalled) if misshapen else nullcontext(), translated():
                found += [_obstacle(row) for row in check()]
        return found

    def _of_catalog(self, query: str, **binds: object) -> Sequence[Any]:
        """Runs a query beside the document tables as the migrations make them, in a transaction that is rolled back."""
        with self.pool.connect() as conn:
            try:
                for file in self.engine.MODEL:
                    migrate.run_batch(conn, self.engine.as_model(sql.text_of(self.engine.NAME, file)))
                for batch in sql.batches(sql.text_of(self.engine.NAME, "adopt/model")):
                    migrate.run_batch(conn, batch)
                return Session(conn).execute(query, **binds).all()
            finally:
                conn.rollback()

    # What is to do

    def _works(self, switched: bool) -> list[_Work]:
        early: list[_Work] = []
        late: list[_Work] = []
        for row in self._of_catalog("schema/adopt_plan", is_switched=switched):
            kind = {"file": "short", "fill": "batches", "index": "online"}.get(row.kind, row.kind)
            work = _Work(AdoptionStep(row.name, kind, row.lock, row.estimated_rows), self._performing(row.kind, row.statement))
            (late if row.is_after_switch else early).append(work)
        rows = self._ask("schema/adopt_estimates").one()
        held = self.engine.HELD
        if not switched:
            early.append(
                _Work(AdoptionStep("bring the triggers: from here on every write is journaled", "short", held, 0), self._switch)
            )
        if self.content_columns:
            late.append(self._content())
        late += [
            _Work(
                AdoptionStep("stamp and journal all documents", "batches", "rows", rows.documents), partial(self._fill, "documents")
            ),
            _Work(
                AdoptionStep("find which resources refer to which", "batches", "rows", rows.edges),
                partial(self._fill, "dependencies"),
            ),
            _Work(AdoptionStep("check all of it", "online", "none", rows.documents + rows.edges), self._verify),
            _Work(AdoptionStep("let readers in", "short", held, 0), self._finish),
        ]
        return early + late

    def _late(self) -> list[_Work]:
        """What is to do where the journal is installed: content columns may be named anew. Raises AdoptionRefused."""
        if not self.content_columns:
            return []
        self._checked(True)
        return [self._content()]

    def _late_notes(self) -> list[Obstacle]:
        found = "the journal is installed already, its documents keep the stamps that they have"
        return [Obstacle("--new-stamps", found, "Nothing was done for it.")] if self.new_stamps else []

    def _content(self) -> _Work:
        held = self.engine.HELD
        return _Work(AdoptionStep("take a change of other columns for content", "short", held, 0), self._signal_content)

    def _performing(self, kind: str, statement: str) -> Callable[[AdoptionStep], None]:
        if kind == "fill":
            return partial(self._fill, statement)
        if kind == "online":
            return lambda step: migrate.run_batch(self.kept, statement)
        if kind == "index":
            return lambda step: self._retried(lambda: self._outside(statement))
        if kind == "file":
            return lambda step: self._short(statement)
        return lambda step: self._retried(lambda: self._in_transaction([statement]))

    def _switch(self, step: AdoptionStep) -> None:
        self._retried(partial(self._upgrade, JOURNALED, ("adopt/ready", "adopt/journals"), fills=False))

    def _finish(self, step: AdoptionStep) -> None:
        checks = ("tables/hold_writers.v1", "tables/JournalFloor.raised.v1", "adopt/finish")
        self._retried(partial(self._upgrade, "head", checks, fills=True))

    def _upgrade(self, revision: str, checks: tuple[str, ...], *, fills: bool) -> None:
        migrate.upgrade_adopted(self.url, revision, checks, fills=fills, lock_timeout=self.lock_timeout, trust=self.trust)

    def _signal_content(self, step: AdoptionStep) -> None:
        self._short("adopt/content", lambda session: session.execute("schema/adopt_content", columns=self.content_columns))

    def _verify(self, step: AdoptionStep) -> None:
        faults = [_obstacle(row) for row in self._ask("schema/adopt_faults")]
        if faults:
            self._ask("schema/adopt_reset")
            raise AdoptionRefused(faults)

    def _fill(self, name: str, step: AdoptionStep) -> None:
        """Runs a fill in batches, by ascending id, from where a run before has come to.

        A trigger sees to what is written behind it. Where a null is written all the same, the step that looks for nulls fails, and
        all fills begin again.
        """
        key = f"{name}, new stamps" if self.new_stamps else name
        reached = self._ask("schema/adopt_reached", fill=key).scalar_one_or_none()
        after, done = LOWEST_ID if reached is None else reached, 0
        while (batch := self._retried(partial(self._batch, name, after, key))) is not None:
            after, done = batch[0], done + batch[1]
            self._report(step, done)
            time.sleep(self.pause)

    def _batch(self, name: str, after: int, key: str) -> tuple[int, int] | None:
        """One batch, in one transaction: its last id and its rows; None at the end."""
        range_query, queries = _FILLS[name]
        with translated(), self.pool.begin() as conn:
            session = Session(conn)
            self._give_up_soon(conn)
            batch = session.execute(range_query, after_id=after, batch_size=self.batch_size).one()
            if batch.through_id is None:
                return None
            for query in queries:
                more = {"new_stamps": self.new_stamps} if query == "schema/adopt_stamps" else {}
                session.execute(query, after_id=after, through_id=batch.through_id, **more)
            session.execute("schema/adopt_reach", fill=key, through_id=batch.through_id)
            return batch.through_id, batch.documents

    # How it is done

    def _alone(self) -> None:
        if self._ask("schema/adopt_alone").scalar_one():
            return
        error = Unavailable(f"{_ANOTHER}{self._holder()}", "wait for it to end")
        if not self.is_said and time.monotonic() - self.began >= _SAID_AFTER:
            self.is_said = True
            logger.warning("%s", error, extra={"action": "adopt_waits"})
        raise error

    def _holder(self) -> str:
        try:
            with translated():
                row = self._ask("schema/adopt_holder").first()
        except DatabaseRefused:  # it may not look
            return ""
        return "" if row is None else f": {row.holder}"

    def _run_online(self, name: str) -> None:
        migrate.run_batch(self.kept, sql.text_of(self.engine.NAME, name))

    def _short(self, name: str, first: Callable[[Session], object] | None = None) -> None:
        """Runs a file in a transaction of its own, with a lock timeout."""
        batches = sql.batches(sql.text_of(self.engine.NAME, name))
        self._retried(lambda: self._in_transaction(batches, first))

    def _in_transaction(
        self,
        batches: list[str],
        first: Callable[[Session], object] | None = None,
        last: Callable[[Session], object] | None = None,
    ) -> None:
        with translated(), self.pool.begin() as conn:
            self._give_up_soon(conn)
            if first is not None:
                first(Session(conn))
            for batch in batches:
                migrate.run_batch(conn, batch)
            if last is not None:
                last(Session(conn))

    def _outside(self, statement: str) -> None:
        """Runs a statement in no transaction, with a lock timeout."""
        with translated():
            self._give_up_soon(self.kept)
            try:
                migrate.run_batch(self.kept, statement)
            finally:
                self._run_online("adopt/online")

    def _ask(self, name: str, /, **binds: object) -> sa.Result[Any]:
        return Session(self.kept).execute(name, **binds)

    def _give_up_soon(self, conn: sa.Connection) -> None:
        text = self.engine.lock_timeout(self.lock_timeout)
        migrate.run_batch(conn, sql.text_of(self.engine.NAME, "checks/lock_timeout").replace("{lock_timeout}", text))

    def _retried(self, work: Callable[[], _Result]) -> _Result:
        """Does what may meet a lock, at most `tries` times. Raises Unavailable."""
        backoff = Backoff(0.1, 5.0)
        for _ in range(self.tries - 1):
            try:
                return work()
            except (Unavailable, MigrationRefused) as error:
                if not _may_succeed(error):
                    raise
            time.sleep(backoff.next())
        try:
            return work()
        except (Unavailable, MigrationRefused) as error:
            if not _may_succeed(error) or _ANOTHER in str(error):
                raise
            raise Unavailable(
                f"a lock that the adoption needs was not to be had in {self.tries} tries of {self.lock_timeout}",
                "what was done so far is kept: see who holds it (docs/dba/locks.md), and run adopt again",
            ) from error

    def _report(self, step: AdoptionStep, done: int) -> None:
        if self.progress is not None:
            self.progress(step, done)


def _said(error: DatabaseRefused | MigrationRefused) -> str:
    """The error without "nothing was changed": the steps before it were."""
    return str(error) if isinstance(error, DatabaseRefused) else f"{error.reason}. {error.remedy}"


def _obstacle(row: Any) -> Obstacle:
    return Obstacle(row.subject, row.found, row.remedy)


def _may_succeed(error: JournalError) -> bool:
    """Whether a lock, or another adoption, was in the way."""
    cause = error.__cause__
    return is_locked_out(cause) or (cause is not None and is_locked_out(cause.__cause__)) or _ANOTHER in str(error)


def _needed(engine: str) -> dict[str, list[str]]:
    """The names of the relations, indexes, functions and triggers that the migrations make, in lower case."""
    texts = [path.read_text(encoding="utf-8") for path in (sql.shipped("sql") / engine).rglob("*.v*.sql")]
    names = {name.lower() for text in texts for pattern in _MADE for name in pattern.findall(text)}
    triggers = {name.lower() for text in texts for name in _TRIGGER.findall(text)}
    return {"names": sorted(names | {"alembic_version", "adoption", "adoptionbefore"}), "triggers": sorted(triggers)}
