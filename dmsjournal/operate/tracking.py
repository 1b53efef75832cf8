"""Tracking: tables of others, each row of which is a document, and each foreign key between them an edge (docs/dba/track.md)."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import registry

from dmsjournal.database import sql
from dmsjournal.database.database import Database
from dmsjournal.database.engine import Engine
from dmsjournal.database.engines import DEFAULT, engine_named, engine_of_dialect
from dmsjournal.database.session import Session
from dmsjournal.errors import DatabaseRefused, InvalidRequest, JournalError, UnsupportedCapability
from dmsjournal.model.resources import ResourceKey
from dmsjournal.util.durations import checked_lock_timeout

OPTION = "tracking"
BLOCKS = 16  # of 8 kB, whose rows one transaction of a fill takes: writers of these rows wait for its end
LOCK_TIMEOUT = "5s"

Progress = Callable[[str, str, int, int, int], None]  # table, pass, blocks done, blocks in all, documents made


@dataclass(frozen=True, slots=True)
class TrackedTable:
    """A table to track: its name with its schema, as SQL has it, and what is not as usual.

    `resource` is (project name, resource name, version); without it the schema's name, the table's, and "1". `shows`: columns that
    referring rows show besides the key. `columns`: the only ones that are watched. `key`: a unique constraint in place of the
    primary key. `bodies`: each row is kept as JSON. `trust`: the table's owner is trusted as the installing role is.
    """

    table: str
    resource: ResourceKey | None = None
    shows: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    key: str | None = None
    bodies: bool = False
    trust: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.table, str) or not self.table.strip():
            raise InvalidRequest("table", self.table, "name it with its schema, as SQL has it: app.student")
        if self.resource is not None and not isinstance(self.resource, ResourceKey):
            raise InvalidRequest("resource", self.resource, "give a ResourceKey, such as ResourceKey('App', 'Student', '1')")
        for name in ("shows", "columns"):
            given = getattr(self, name)
            if given is not None and (isinstance(given, str) or not all(isinstance(column, str) for column in given)):
                raise InvalidRequest(name, given, "give a list of columns, such as ['name']")

    @classmethod
    def of(cls, table: sa.Table, *, dialect: sa.Dialect | None = None, **settings: Any) -> TrackedTable:
        """The table that a SQLAlchemy Table describes; settings are the other fields of a TrackedTable.

        `dialect` is the database's, as an Engine of SQLAlchemy's has it, PostgreSQL's without it: it says how a name is quoted, and
        which schema a Table has that names none (`public`, on SQL Server `dbo`). Raises InvalidRequest for another dialect.

        A column whose `info` has {"dmsjournal": "shown"} is shown, one with {"dmsjournal": "unwatched"} is not watched.
        """
        spoken = registry.load(engine_named(DEFAULT).DIALECT)() if dialect is None else dialect
        schema = table.schema or engine_of_dialect(spoken.name).DEFAULT_SCHEMA
        quote = spoken.identifier_preparer.quote
        said = {str(column.name): column.info.get("dmsjournal") for column in table.columns}
        for name, word in said.items():
            if word not in (None, "shown", "unwatched"):
                raise InvalidRequest(f"info of column {name}", word, "write 'shown' or 'unwatched', or leave it out")
        shown = [name for name, word in said.items() if word == "shown"]
        watched = [name for name, word in said.items() if word != "unwatched"]
        found: dict[str, Any] = {"shows": shown or None, "columns": watched if len(watched) < len(said) else None}
        return cls(f"{quote(schema)}.{quote(table.name)}", **found | settings)

    def binds(self) -> dict[str, object]:
        """The binds of operate/track."""
        resource = self.resource
        return {
            "table_name": self.table,
            "project": resource and resource.project_name,
            "resource": resource and resource.resource_name,
            "version": "1" if resource is None else resource.resource_version,
            "shows": None if self.shows is None else list(self.shows),
            "columns": None if self.columns is None else list(self.columns),
            "key": self.key,
            "bodies": self.bodies,
            "trust": self.trust,
        }


@dataclass(frozen=True, slots=True)
class Tracked:
    """A tracked table: what its rows show, what they refer to, rows as the server estimates them.

    `state` is None, or says what is wrong with it: columns that changed, a trigger that is missing, a fill that is not done.
    """

    table: str
    resource: ResourceKey
    key: tuple[str, ...]
    shows: tuple[str, ...]
    columns: tuple[str, ...] | None
    bodies: bool
    refers_to: tuple[str, ...]
    estimated_rows: int
    is_filled: bool
    state: str | None


@dataclass(frozen=True, slots=True)
class TrackingPlan:
    """What tracking a table would do: the table as it would be listed, and the SQL that would run."""

    tracked: Tracked
    statements: tuple[str, ...]


def track(
    database: Database,
    tables: Sequence[TrackedTable],
    *,
    lock_timeout: str,
    blocks: int,
    pause: timedelta,
    progress: Progress | None,
) -> list[Tracked]:
    """See Journal.track."""
    _check_batches(blocks, pause)
    _require(database)
    if len(tables) > 1:  # one by itself is checked where it is tracked
        _refuse_any(database, tables)
    for table in tables:
        with naming(table.table, table.shows), database.session() as session:
            session.execute(
                "operate/track_lock_timeout", lock_timeout=database.engine.lock_timeout(checked_lock_timeout(lock_timeout))
            )
            session.execute("operate/track", **table.binds())
        _fill(database, table.table, blocks, pause, progress)
    _fill_rest(database, blocks, pause, progress)
    return tracked(database)


def renew(
    database: Database,
    tables: Sequence[str],
    *,
    trust: Collection[str],
    lock_timeout: str,
    blocks: int,
    pause: timedelta,
    progress: Progress | None,
) -> list[Tracked]:
    """See Journal.renew_tracking."""
    _check_batches(blocks, pause)
    _require(database)
    names = list(tables) or [one.table for one in tracked(database)]
    for name in trust:
        if name not in names:
            raise InvalidRequest("trust", name, f"name one of the tables that are renewed: {', '.join(names) or 'none'}")
    refused: dict[str, JournalError] = {}
    for name in names:
        try:
            with naming(name), database.session() as session:
                session.execute(
                    "operate/track_lock_timeout", lock_timeout=database.engine.lock_timeout(checked_lock_timeout(lock_timeout))
                )
                session.execute("operate/renew_tracking", table_name=name, unseen=False, trust=name in trust)
        except (DatabaseRefused, UnsupportedCapability) as error:
            if tables:
                raise
            refused[name] = error  # writers of the others may be waiting for their renewal
        else:
            _fill(database, name, blocks, pause, progress)
    if refused:
        first = next(iter(refused.values()))
        first.add_note(f"refused for {', '.join(refused)}; the others are renewed")
        raise first
    _fill_rest(database, blocks, pause, progress)
    return tracked(database)


def plan(database: Database, tables: Sequence[TrackedTable]) -> list[TrackingPlan]:
    """What `track` would do with the tables, in their order; nothing is kept, and no lock on a table of theirs is taken."""
    _require(database)
    _refuse_any(database, tables)
    plans = []
    with database.session() as session:
        noted = [session.execute("operate/note_tracked", **table.binds()).scalar_one() for table in tables]
        listed = {one.table: one for one in _listed(session)}
        for relation_id in noted:
            rows = session.execute("operate/tracking_statements", relation_id=relation_id).all()
            planned = replace(listed[rows[0].table_name], state=None)  # what it lacks is what the statements make
            plans.append(TrackingPlan(planned, tuple(row.statement for row in rows)))
        session.conn.rollback()
    return plans


def untrack(database: Database, table: str, *, keep_documents: bool, lock_timeout: str) -> None:
    """See Journal.untrack."""
    _require(database)
    with naming(table), database.session() as session:
        session.execute("operate/track_lock_timeout", lock_timeout=database.engine.lock_timeout(checked_lock_timeout(lock_timeout)))
        session.execute("operate/untrack", table_name=table, keep_documents=keep_documents)


def tracked(database: Database) -> list[Tracked]:
    """See Journal.tracked."""
    database.look_for(OPTION)
    if OPTION not in database.options:
        return []
    with database.session() as session:
        return _listed(session)


def tables_of(database: Database, schema: str) -> list[str]:
    """The tables of a schema that are not tracked yet, each after those that it refers to. Raises InvalidRequest for none."""
    _require(database)
    with database.session() as session:
        rows = session.execute("operate/trackable_tables", schema_name=schema).all()
    if not rows:
        raise InvalidRequest("schema", schema, "it has no table that is not tracked yet, or is not there")
    return _in_order({row.table_name: set(row.refers_to) for row in rows})


def script(engine: Engine, tables: Iterable[TrackedTable], lock_timeout: str) -> str:
    """The SQL that tracks and fills tables, for psql or sqlcmd."""
    parts = [engine.SCRIPT_BEGINS]
    for table in tables:
        parts += [_in_transaction(engine, lock_timeout, literal_of(engine, "operate/track", table.binds()))]
        parts += [_filling(engine, literal_of(engine, "operate/fill_table", {"table_name": table.table}))]
    return "\n".join(part for part in [*parts, engine.SCRIPT_ENDS] if part) + "\n"


def untracking_script(engine: Engine, table: str, lock_timeout: str, *, keep_documents: bool) -> str:
    """The SQL that untracks a table, for psql or sqlcmd."""
    statement = literal_of(engine, "operate/untrack", {"table_name": table, "keep_documents": keep_documents})
    parts = [engine.SCRIPT_BEGINS, _in_transaction(engine, lock_timeout, statement), engine.SCRIPT_ENDS]
    return "\n".join(part for part in parts if part) + "\n"


def _in_transaction(engine: Engine, lock_timeout: str, statement: str) -> str:
    begin, commit = engine.TRANSACTION
    waits = literal_of(
        engine, "operate/track_lock_timeout", {"lock_timeout": engine.lock_timeout(checked_lock_timeout(lock_timeout))}
    )
    return "\n".join([begin, *_first(engine), _batch(engine, waits), _batch(engine, statement), commit])


def _filling(engine: Engine, statement: str) -> str:
    """A whole fill. Where there are settings of ours to begin with, it is one transaction; else each of its batches is."""
    begin, commit = engine.TRANSACTION
    first = _first(engine)
    return "\n".join([begin, *first, _batch(engine, statement), commit] if first else [_batch(engine, statement)])


def _first(engine: Engine) -> list[str]:
    """What each transaction of ours begins with."""
    return [_batch(engine, sql.text_of(engine.NAME, name).strip()) for name in engine.FIRST_CHECKS]


def _batch(engine: Engine, statement: str) -> str:
    """A statement that ends its batch, where the engine has batches."""
    return f"{statement}\n{engine.SEPARATOR}" if engine.SEPARATOR else statement


def statement_of(engine: Engine, name: str, binds: Mapping[str, object]) -> sa.TextClause:
    """A statement with its binds."""
    statement = sql.query(engine.NAME, name)
    values = {key: engine.rows(value) if isinstance(value, list) else value for key, value in binds.items()}
    return statement.bindparams(*(sa.bindparam(key, value, _TYPES[type(value)]) for key, value in values.items()))


_TYPES: dict[type, sa.types.TypeEngine[Any]] = {
    str: sa.Unicode(),
    bool: sa.Boolean(),
    int: sa.BigInteger(),
    type(None): sa.types.NullType(),
}


def literal_of(engine: Engine, name: str, binds: Mapping[str, object]) -> str:
    """A statement as SQL, its values written out, with a semicolon at its end."""
    lines = engine.literal(statement_of(engine, name, binds)).splitlines()
    return "\n".join(line for line in lines if not line.startswith("--")).rstrip("\n;") + ";"


@contextmanager
def naming(table: str, shows: Collection[str] | None = None) -> Iterator[None]:
    """Has a refusal of a name say the table as it was given, and whether a column is one to show or one to watch."""
    try:
        yield
    except InvalidRequest as error:
        if error.parameter == "column":
            parameter = "shows" if error.value in (shows or ()) else "columns"
            raise InvalidRequest(parameter, error.value, error.remedy) from error.__cause__
        if error.parameter != "table":
            raise
        raise InvalidRequest("table", table, f"{error.value}. {error.remedy}") from error.__cause__


def _refuse_any(database: Database, tables: Sequence[TrackedTable]) -> None:
    """Raises UnsupportedCapability for all of the tables that cannot be tracked, before one of them is."""
    refused: list[UnsupportedCapability] = []
    for table in tables:
        try:
            with naming(table.table, table.shows), database.session() as session:
                binds = table.binds()
                session.execute(
                    "operate/check_track", **{name: binds[name] for name in ("table_name", "shows", "columns", "key", "trust")}
                )
        except UnsupportedCapability as error:
            refused.append(error)
    if len(refused) == 1 and len(tables) > 1:
        (alone,) = refused
        raise UnsupportedCapability(alone.capability, f"{alone.remedy.rstrip('.')}, or leave the table out. Nothing was changed")
    if len(refused) == 1:
        raise refused[0]
    if refused:
        told = "; ".join(f"{error.capability} ({error.remedy.rstrip('.')})" for error in refused)
        found = f"{len(refused)} of {len(tables)} tables were refused, and nothing was changed"
        raise UnsupportedCapability(found, f"{told}. Change these tables, or leave them out")


def _require(database: Database) -> None:
    """Raises UnsupportedCapability unless the database can track tables."""
    database.look_for(OPTION)
    if OPTION not in database.options:
        raise UnsupportedCapability("the database has no option tracking", "add it: dmsjournal upgrade --with tracking")


def _check_batches(blocks: object, pause: timedelta) -> None:
    if isinstance(blocks, bool) or not isinstance(blocks, int) or not 1 <= blocks <= 100_000:
        raise InvalidRequest("blocks", blocks, "give a number from 1 to 100,000")
    if pause < timedelta(0):
        raise InvalidRequest("pause", pause, "give a time, 0 or more")


def _fill_rest(database: Database, blocks: int, pause: timedelta, progress: Progress | None) -> None:
    """Fills what else is not filled: tables whose edges have changed because of another one."""
    for one in tracked(database):
        if not one.is_filled:
            _fill(database, one.table, blocks, pause, progress)


def _fill(database: Database, table: str, blocks: int, pause: timedelta, progress: Progress | None) -> None:
    """Fills a table in batches, each in a transaction of its own. A run that is killed goes on where it stopped.

    A row that a writer keeps locked is looked for in another pass over the table: from the third pass on the fill waits before it.
    """
    made = passes = 0
    while True:
        with database.session() as session:
            batch = session.execute("operate/fill_tracked", table_name=table, blocks=blocks).first()
        if batch is None:
            return
        made += batch.made
        if progress is not None:
            progress(table, getattr(batch, "pass"), batch.done, batch.total, made)
        ends = getattr(batch, "pass") == "rows" and batch.done >= batch.total
        passes += ends
        time.sleep(max(pause.total_seconds(), min(1.0, 0.2 * (passes - 2)) if ends else 0.0))


def _listed(session: Session) -> list[Tracked]:
    return [
        Tracked(
            row.table_name,
            ResourceKey(row.project_name, row.resource_name, row.resource_version),
            tuple(row.key_columns),
            tuple(row.shown_columns),
            None if row.watched_columns is None else tuple(row.watched_columns),
            row.keeps_bodies,
            tuple(row.refers_to),
            row.estimated_rows,
            row.is_filled,
            row.state,
        )
        for row in session.execute("operate/tracked_tables")
    ]


def _in_order(refers_to: dict[str, set[str]]) -> list[str]:
    """Names, each after those that it refers to; of a circle, the first by name comes first."""
    ordered: list[str] = []
    left = {name: others & refers_to.keys() for name, others in refers_to.items()}
    while left:
        free = sorted(name for name, others in left.items() if not others & left.keys()) or [min(left)]
        ordered += free
        for name in free:
            del left[name]
    return ordered
