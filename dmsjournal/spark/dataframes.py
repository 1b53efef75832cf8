"""What changed in a window, or resources in full, as DataFrames: cut into parts, one a task or a few, all of one moment."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise

import sqlalchemy as sa
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from sqlalchemy import exc

from dmsjournal.database import sql
from dmsjournal.database.connect import engine_for, translated
from dmsjournal.database.engine import Engine
from dmsjournal.database.floors import read_floors, refuse_missing_parts
from dmsjournal.database.session import Session
from dmsjournal.errors import InvalidRequest, Unavailable, UnsupportedCapability
from dmsjournal.journal import Journal, connect
from dmsjournal.model.resources import ResourceKey
from dmsjournal.model.windows import Window
from dmsjournal.operate.tracking import OPTION
from dmsjournal.read import plan as planner
from dmsjournal.read.pages import refuse_expired
from dmsjournal.read.plan import DocumentRange, Piece, Plan, SnapshotPlan
from dmsjournal.read.stream import DELETE, KEY_CHANGE, UPSERT
from dmsjournal.spark import sizes
from dmsjournal.spark.copies import Connection, Copy, copy_of
from dmsjournal.spark.jdbc import jdbc_options, resolved

_CHANGE = ("resource_key_id", "change_version", "document_id", "document_uuid", "key_values", "committed_at")
_KEY_CHANGE = (
    "resource_key_id",
    "change_version",
    "document_id",
    "document_uuid",
    "old_key_values",
    "new_key_values",
    "committed_at",
)
_version: sa.ColumnClause[int] = sa.column("change_version")
_document: sa.ColumnClause[int] = sa.column("document_id")
_resource: sa.ColumnClause[int] = sa.column("resource_key_id")

_Condition = sa.ColumnElement[bool]
_Sessions = Callable[[], AbstractContextManager[Session]]


@dataclass(frozen=True)
class _Source:
    """A query by name, and which of its rows each task reads."""

    name: str
    text: str
    conditions: Sequence[_Condition]


@dataclass(frozen=True)
class Reading:
    """What `read` gives: its plan, and DataFrames of one moment, to be used inside its block. A frame's rows are in no order.

    `plan.parts` are read by one task each, and by up to three where a version is cut. `horizon`: of the moment, so that a window
    from `horizon` + 1 goes on after what was read in full, and one from `plan.last` + 1 after a window. `row_bytes`: about how many
    a change has, with its body where `read` was told of bodies.
    """

    plan: Plan | SnapshotPlan
    horizon: int
    _spark: SparkSession
    _options: dict[str, str] = field(repr=False)
    _url: sa.URL = field(repr=False)
    _begin: str | None  # what takes a task's transaction to the moment
    _engine: Engine
    _sessions: _Sessions
    _rows_per_part: int
    row_bytes: int
    _has_tracking: bool
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _journals: set[str] = field(default_factory=set)  # what is read of: each has a floor of its own

    def changes(self, *, body: bool = False, derived: bool = False) -> DataFrame:
        """The live documents whose derived ChangeVersion lies in the window; each live document where there is none.

        Columns: resource_key_id smallint, change_version bigint, document_id bigint, document_uuid string, key_values string (JSON,
        null where there are none), committed_at timestamp (when the version was given). `body`: and body string, the JSON of
        dms.DocumentCache, or of a tracked table's row as the snapshot has it, null where there is neither. `derived`: and etag
        string, last_modified timestamp, as Journal.derive gives them. Only what is asked of the frame is asked of the database.
        """
        return self._changes([], body=body, derived=derived)

    def _changes(self, more: Sequence[str], *, body: bool = False, derived: bool = False) -> DataFrame:
        frame = self._frame(self._source_of_changes(body), body_bytes=self._body_bytes if body else 0)
        columns: list[Column] = [F.col(name) for name in (*_CHANGE, *(["body"] if body else []), *more)]
        if derived:
            columns += [_etag(F.col("stamps")).alias("etag"), F.col("last_modified")]
        return frame.select(columns)

    def deletes(self) -> DataFrame:
        """The tombstones of the window; none where there is no window: they follow in the first one after `horizon`.

        Columns: resource_key_id, change_version, document_id, document_uuid, key_values, committed_at, as in `changes`. Raises
        CheckpointExpired: tombstones have a floor of their own.
        """
        return self._deletes([])

    def _deletes(self, more: Sequence[str]) -> DataFrame:
        return self._frame(self._source_of_deletes()).select(*_CHANGE, *more)

    def key_changes(self) -> DataFrame:
        """The documents whose key values differ between the ends of the window, each at its last key change in it.

        A→B→C is one row from A to C, A→B→A is none; none where there is no window. Columns: resource_key_id, change_version,
        document_id, document_uuid, old_key_values and new_key_values string (JSON), committed_at. Raises CheckpointExpired.
        """
        return self._key_changes([])

    def _key_changes(self, more: Sequence[str]) -> DataFrame:
        return self._frame(self._source_of_key_changes()).select(*_KEY_CHANGE, *more)

    def rows(self, *, body: bool = False) -> DataFrame:
        """The changes, deletes and key changes of the window in one frame, with the columns of the data source "dmsjournal".

        Columns: resource, _change_type, _commit_version, _commit_timestamp, document_id, document_uuid, key_values, old_key_values,
        and body where it is asked for. What is not used of the frame is not asked of the database, and filters on resource,
        _commit_version and document_id are part of its queries; one on _change_type leaves the others' queries out. `explain()`
        shows both. Raises CheckpointExpired.
        """
        wanted = ["body"] if body else []
        frames = [_of_source(self._changes(["resource"], body=body), "upsert", wanted)]
        if isinstance(self.plan, Plan):
            frames.append(_of_source(self._deletes(["resource"]), "delete", wanted))
            frames.append(_of_source(self._key_changes(["resource"]), "key_change", wanted))
        return reduce(DataFrame.unionByName, frames)

    @property
    def connection(self) -> Connection | None:
        """How tasks read `copies`; None where the database has no COPY."""
        return Connection(self._engine.NAME, self._url, self._begin) if self._engine.HAS_COPY and self._begin is not None else None

    def copies(self, *, body: bool, derived: bool) -> list[list[Copy]]:
        """What is in `changes`, and in `deletes` and `key_changes` where there is a window, as statements: one task's in each list.

        Only where there is a `connection`. As frames have it, but with `stamps` in the place of an etag (derived.etag). Raises
        CheckpointExpired.
        """
        wanted = (*_CHANGE, *["body"] * body, *["stamps", "last_modified"] * derived)
        changes = self._copied(UPSERT, self._source_of_changes(body), wanted)
        if isinstance(self.plan, SnapshotPlan):
            return [[copy] for copy in changes]
        others = self._copied(DELETE, self._source_of_deletes(), _CHANGE)
        others += self._copied(KEY_CHANGE, self._source_of_key_changes(), _KEY_CHANGE)
        tasks = [[copy] for copy in changes] if len(self.plan.parts) > 1 else [changes]
        for number, copy in enumerate(others):  # few, as a rule: a task of their own would make small files
            tasks[number % len(tasks)].append(copy)
        return tasks

    def _copied(self, kind: str, source: _Source, columns: Sequence[str]) -> list[Copy]:
        return [copy_of(self._engine, kind, columns, source.name, source.text, each) for each in source.conditions]

    def _source_of_changes(self, body: bool) -> _Source:
        self._refuse_expired("DocumentChangeEvent", "IdentityChangeEvent")
        name = "changes" if isinstance(self.plan, Plan) else "documents"
        text = _source(self._engine, name)
        if body and self._has_tracking:
            ids = sorted(self.plan.resources.values())
            with self._session() as session:
                text = session.execute("spark/tracked_source", resource_key_ids=ids, source=text).scalar_one()
        return _Source(name, text, self._conditions())

    def _source_of_deletes(self) -> _Source:
        self._refuse_expired("DocumentDeleteEvent")
        return _Source("deletes", _source(self._engine, "deletes"), self._parts_of("spark/plan_deletes"))

    def _source_of_key_changes(self) -> _Source:
        self._refuse_expired("KeyChangeEvent")
        window = {"min_version": self.plan.first, "max_version": self.plan.last}
        text = _source(self._engine, "key_changes", **window)
        return _Source("key_changes", text, self._parts_of("spark/plan_key_changes"))

    def since(self, version: int) -> DataFrame:
        """The documents that changed or were deleted after a version, each once, whether or not at or below the horizon.

        Columns: document_id bigint. For who compares a copy that is as of that version with the database: what is not here is in
        the copy as it is. Raises CheckpointExpired.
        """
        self._refuse_expired("DocumentChangeEvent", "IdentityChangeEvent", "DocumentDeleteEvent")
        later = [_version > version]
        sources = [_Source(name, _source(self._engine, name), later) for name in ("changes", "deletes")]
        found = [self._frame(source).select("document_id") for source in sources]
        return found[0].union(found[1]).distinct()

    def resource(self) -> Column:
        """The name of a row's resource, by its resource_key_id; null of one that is not in the plan.

        A look into a list that Spark makes once: a join costs each row more than the rest of its way. As text, since executors need
        no Python to read that.
        """
        return self._looked_up(str)

    def project(self) -> Column:
        """The name of the project of a row's resource; as `resource`."""
        return self._looked_up(lambda resource: resource.project_name)

    def _looked_up(self, word: Callable[[ResourceKey], str]) -> Column:
        names = {number: word(resource) for resource, number in self.plan.resources.items()}
        first, last = min(names, default=0), max(names, default=0)
        listed = F.from_json(F.lit(json.dumps([names.get(number) for number in range(first, last + 1)])), "array<string>")
        return F.get(listed, F.col("resource_key_id") - F.lit(first))

    def refuse_expired(self) -> None:
        """Raises CheckpointExpired where what was read may have been pruned meanwhile: `read` calls it at the end of its block.

        Never on PostgreSQL, whose snapshot keeps what is pruned after it.
        """
        if not self._engine.HAS_ONE_SNAPSHOT_FOR_ALL:
            self._refuse_expired("DocumentChangeEvent", "IdentityChangeEvent", *self._journals)

    def _refuse_expired(self, *journals: str) -> None:
        if isinstance(self.plan, SnapshotPlan):
            return
        with self._session() as session:
            floors = read_floors(session)
            refuse_missing_parts(session, self.plan.first, self.plan.last, *journals)
        refuse_expired(Window(self.plan.first), max(floors[journal] for journal in journals))
        self._journals.update(journals)

    @contextmanager
    def _session(self) -> Iterator[Session]:
        with self._lock, translated(), self._sessions() as session:
            yield session

    def _conditions(self) -> list[_Condition]:
        """Which rows each task reads."""
        ids = sorted(self.plan.resources.values())
        if isinstance(self.plan, SnapshotPlan):
            bound = _version <= self.plan.last
            return [
                sa.and_(*_documents(part), bound, *([] if self.plan.is_everything else [_resource.in_(ids)]))
                for part in self.plan.parts
            ]
        everything = self.plan.is_everything
        return [_changes(piece, ids, everything) for part in self.plan.parts for piece in part.pieces()]

    def _parts_of(self, statement: str) -> list[_Condition]:
        """Which rows of a journal that is read by version alone each task reads."""
        if isinstance(self.plan, SnapshotPlan):
            return []
        ids, first, last = sorted(self.plan.resources.values()), self.plan.first, self.plan.last
        if first > last:
            return []
        with self._session() as session:
            ends = planner.equal_parts(session, statement, ids, self._rows_per_part, min_version=first, max_version=last)
        edges = [first - 1, *(end for end, _ in ends)]
        return [sa.and_(_version.between(after + 1, through), _resource.in_(ids)) for after, through in pairwise(edges)]

    @property
    def _body_bytes(self) -> int:
        """About how many bytes a body has; it is looked for where `read` was not told of bodies."""
        if self.row_bytes > sizes.ROW:
            return self.row_bytes - sizes.ROW
        with self._session() as session:
            return sizes.body_bytes(session)

    def _frame(self, source: _Source, *, body_bytes: int = 0) -> DataFrame:
        options = self._options | {"fetchsize": str(sizes.fetch_size(sizes.ROW + body_bytes))}
        nothing = sa.literal_column("1") == 0
        predicates = [self._engine.literal(condition) for condition in source.conditions or [nothing]]
        try:
            return self._spark.read.jdbc(
                options.pop("url"),
                f"({source.text}) AS {source.name}",
                # closed at both ends: Spark's own partitionColumn leaves the outer partitions open
                predicates=predicates,
                properties=options,
            )
        except Py4JJavaError as error:
            if "ClassNotFoundException" not in str(error.java_exception):
                raise
            raise UnsupportedCapability(
                f"Spark without the JDBC driver {options['driver']}",
                f"start the session with local_session(…, engines=['{self._engine.NAME}']), "
                f"with spark.jars.packages={self._engine.JDBC_DRIVER}, or name its jar in DMSJOURNAL_JDBC_JARS",
            ) from error


@contextmanager
def read(
    spark: SparkSession,
    url: str | sa.URL,
    resources: ResourceKey | Collection[ResourceKey] | None = None,
    window: Window | None = None,
    *,
    full: bool = False,
    events_per_part: int | None = None,
    parts: int | None = None,
    body: bool = False,
) -> Iterator[Reading]:
    """A window of the changes of a resource, of several, or of all (None), to be read by Spark inside the `with` block.

    Bounds: the window is inclusive and cut to the horizon; one above it is empty. `full`: no window, but each live document at its
    version as of now, where that is at most the horizon; what is above it is in the window that follows. Either `parts` (1 to
    10,000: about so many) or `events_per_part`; without either 250,000 events. `body`: bodies will be read, so that a part without
    either has about 64 MB at most. On PostgreSQL all tasks read one snapshot, taken where the block begins and gone where it
    ends: a frame that is read later fails. On SQL Server each task has a snapshot of its own where the database allows it, else
    each statement is READ COMMITTED: then two windows that follow one another hold the last state of each document, and what is
    read is right once the block has ended without an error. Raises InvalidRequest, CheckpointExpired, NotInstalled,
    UnsupportedCapability, Unavailable. Source: docs/how-it-works.md, Spark.
    """
    if full and window is not None:
        raise InvalidRequest("window", window, "resources in full have none: go on with one from `horizon` + 1")
    with connect(url) as journal:
        address = resolved(url, journal)
        options = jdbc_options(address)
        row_bytes = sizes.ROW
        if body:
            with journal.database.session() as session:
                row_bytes += sizes.body_bytes(session)
        if parts is None and events_per_part is None:
            events_per_part = sizes.events_per_part(row_bytes)
        plan: Plan | SnapshotPlan
        if full:
            plan = journal.plan_snapshot(resources, documents_per_part=events_per_part, parts=parts)
        else:
            plan = journal.plan(resources, window, events_per_part=events_per_part, parts=parts)
        engine = journal.database.engine
        moment = _one_snapshot if engine.HAS_ONE_SNAPSHOT_FOR_ALL else _a_snapshot_each
        with moment(url, journal) as (sessions, begin):
            if begin is not None:
                options["sessionInitStatement"] = begin  # run by each task
            size = events_per_part or planner.EVENTS_PER_PART
            journal.database.look_for(OPTION)
            has_tracking = OPTION in journal.database.options
            reading = Reading(plan, plan.horizon, spark, options, address, begin, engine, sessions, size, row_bytes, has_tracking)
            yield reading
            reading.refuse_expired()


@contextmanager
def _one_snapshot(url: str | sa.URL, journal: Journal) -> Iterator[tuple[_Sessions, str | None]]:
    """Sessions that all see one moment, later than the horizon that was read before, and what takes others there."""
    engine = engine_for(url).execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    try:
        with translated():
            conn = engine.connect()
        try:
            session = Session(conn)
            with translated():
                snapshot = session.execute("spark/export_snapshot").scalar_one()

            @contextmanager
            def same() -> Iterator[Session]:
                yield session

            try:
                yield same, _source(session.engine, "begin", snapshot=snapshot)
            except Unavailable:
                with (
                    suppress(Unavailable),
                    translated(),
                ):  # tasks only know that it is gone: its session knows which setting ended it
                    session.execute("database/session_pid")
                raise
        finally:
            with suppress(exc.DBAPIError):  # a lost connection; whoever read meanwhile has been told
                conn.close()
    finally:
        engine.dispose()


@contextmanager
def _a_snapshot_each(url: str | sa.URL, journal: Journal) -> Iterator[tuple[_Sessions, str | None]]:
    """Sessions that see a moment each, where the database allows it."""
    database = journal.database
    with database.session() as session:
        allowed = session.execute("spark/snapshot_isolation").scalar_one()
    yield database.session, _source(database.engine, "begin") if allowed else None


def _source(engine: Engine, name: str, **binds: object) -> str:
    """A statement with its binds written out: Spark takes texts only."""
    return engine.literal(sql.source(engine.NAME, name).bindparams(**binds))


def _of_source(frame: DataFrame, kind: str, wanted: Sequence[str]) -> DataFrame:
    """Rows of one kind with the columns of the data source."""
    keys = "new_key_values" if kind == "key_change" else "key_values"
    missing = F.lit(None).cast("string")
    return frame.select(
        "resource",
        F.lit(kind).alias("_change_type"),
        F.col("change_version").alias("_commit_version"),
        F.col("committed_at").alias("_commit_timestamp"),
        "document_id",
        "document_uuid",
        F.col(keys).alias("key_values"),
        (F.col("old_key_values") if kind == "key_change" else missing).alias("old_key_values"),
        *((F.col(name) if name in frame.columns else missing).alias(name) for name in wanted),
    )


def _etag(stamps: Column) -> Column:
    """What deriving.etag makes of these numbers. Source: docs/how-it-works.md, Etags."""
    numbers = F.transform(F.split(stamps, ","), lambda number: F.lpad(F.hex(number.cast("bigint")), 16, "0"))
    return F.base64(F.unhex(F.sha2(F.unhex(F.array_join(numbers, "")), 256)))


def _changes(piece: Piece, resource_key_ids: list[int], is_everything: bool) -> _Condition:
    """The changes of a piece. Documents of one version are found by their resource, which comes before them in the indexes."""
    if piece.after_id is None and piece.through_id is None:
        versions = _version.between(piece.first, piece.last)
        return versions if is_everything else sa.and_(versions, _resource.in_(resource_key_ids))
    ids = DocumentRange(piece.after_id, piece.through_id, 0)
    return sa.and_(_version == piece.first, *_documents(ids), _resource.in_(resource_key_ids))


def _documents(part: DocumentRange) -> list[_Condition]:
    above = [] if part.after_id is None else [_document > part.after_id]
    return [*above, *([] if part.through_id is None else [_document <= part.through_id])]
