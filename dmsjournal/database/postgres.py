"""PostgreSQL through psycopg."""

from __future__ import annotations

import inspect
import json
import os
import re
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, urlencode

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.dialects import postgresql

from dmsjournal.database import jdbc, sql
from dmsjournal.database.engine import PoolBounds, ScriptOptions
from dmsjournal.database.revisions import REVISION
from dmsjournal.database.urls import hosts_of, shown
from dmsjournal.errors import (
    DatabaseRefused,
    InvalidRequest,
    JournalError,
    MigrationRefused,
    NotInstalled,
    Unavailable,
    UnsupportedCapability,
)
from dmsjournal.util.json import decoded
from dmsjournal.util.json import rows as json_rows
from dmsjournal.util.printable import without_secrets

if TYPE_CHECKING:
    import pyarrow as pa

NAME, TITLE, DIALECT, EVENT_SOURCE = "postgres", "PostgreSQL", "postgresql", "postgresql"
EXAMPLE = "postgresql+psycopg://user:password@host:port/database"
DRIVERS = ("psycopg",)  # the first is meant where a URL names none
DRIVER_PACKAGES = ("psycopg",)

LOGIN_SECONDS = 10  # for each address, where neither the URL nor PGCONNECT_TIMEOUT says
_CANCEL_SECONDS = 0.5

LARGEST_BATCH = 50_000  # rows that a prune or an adoption takes in one transaction, at most

ENDS_FAILED_TRANSACTIONS = False
HAS_COPY = True
HAS_ONE_SNAPSHOT_FOR_ALL = True
SPLITS_PARTITIONS = True
TRANSACTION = ("BEGIN;", "COMMIT;")
TRACK_NOTE = "lastval() shows a stamp after a write to {table}; RETURNING and currval() are right"
FILLED_INDEXES = {
    "max_dep_identity_version": ("schema/index_max_dep", "schema/has_index_max_dep", "schema/drop_index_max_dep"),
}

JDBC_DRIVER = "org.postgresql:postgresql:42.7.13"
_JDBC_SETTINGS = {  # libpq's words, and the JDBC driver's for them
    "application_name": "ApplicationName",
    "channel_binding": "channelBinding",
    "connect_timeout": "connectTimeout",
    "options": "options",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "sslmode": "sslmode",
    "sslnegotiation": "sslNegotiation",
    "sslpassword": "sslpassword",
    "sslrootcert": "sslrootcert",
    "target_session_attrs": "targetServerType",
}
_JDBC_NEEDS_NONE = {  # of libpq's words, what JDBC does without: how the driver itself speaks to the server, and what is resolved
    *("client_encoding", "fallback_application_name", "gssdelegation", "gsslib", "hostaddr", "keepalives", "keepalives_count"),
    *("keepalives_idle", "keepalives_interval", "load_balance_hosts", "max_protocol_version", "min_protocol_version", "passfile"),
    *("requirepeer", "scram_client_key", "scram_server_key", "service", "sslcompression", "sslkeylogfile", "sslsni"),
    *("ssl_max_protocol_version", "tcp_user_timeout"),
}
_JDBC_AS_IT_IS = {  # settings of TLS that JDBC has no word for, and the values that ask for no more than it does
    "gssencmode": ("disable", "prefer"),
    "ssl_min_protocol_version": ("TLSv1", "TLSv1.1", "TLSv1.2"),
    "sslcertmode": ("allow", "disable"),
}
_TARGETS = {"read-write": "primary", "standby": "secondary", "read-only": "secondary", "prefer-standby": "preferSecondary"}

SCRIPT_OPTIONS: ScriptOptions = {"dialect_opts": {"paramstyle": "named"}}
SCRIPT_BEGINS, SCRIPT_ENDS = "\\set ON_ERROR_STOP on", ""
DEFAULT_SCHEMA = "public"
SEPARATOR = ""  # of a script's batches
FIRST_CHECKS = ("checks/search_path", "checks/printing")  # before a migration's own, and in each transaction of ours
MODEL = tuple(f"tables/{table}.v1" for table in ("ResourceKey", "Document", "DocumentCache", "ReferenceEdge"))  # what is adopted
ADOPTER = (  # what to do where a right is missing, for a dry run too: the plan is made beside temporary tables
    "adopt, with --dry-run too, as the role that owns dms.Document; "
    "GRANT USAGE, CREATE ON SCHEMA dms and TEMPORARY ON DATABASE to it"
)
HELD = "SHARE ROW EXCLUSIVE"  # the lock that holds writers while an adoption brings the triggers

_NOT_FROM_A_URL = {"autocommit", "context", "cursor_factory", "prepare_threshold", "row_factory"}  # psycopg takes objects there
_RETRY = {"40001", "40P01", "55P03", "57P01", "57P02", "57P03", "53200", "53300", "25P02"}
_MISSING = {"3F000", "42P01", "42883", "42703"}
_TIMED_OUT = {  # what a timeout of the user's own has ended, rolled back as it is; and what to do
    "57014": "raise statement_timeout of the role, the database or the URL, or ask for less at once",
    "25P03": "raise idle_in_transaction_session_timeout of the role or the database, or do less between two statements",
    "25P04": "raise transaction_timeout of the role or the database, or do less in one transaction",
}
_UNKNOWN = {"08007", "40003"}  # transaction_resolution_unknown, statement_completion_unknown
_WRONG_LOGIN = {"28P01", "28000", "3D000"}
_NO_OPTIONS = "unsupported startup parameter"  # of a pooler, about a login
# Of a login, psycopg gives words alone; the last two are PgBouncer's.
_NO_LOGIN = re.compile(r"authentication failed|role \".*\" does not exist|no such user|no such database")
_WRONG_VALUE = {"22P05", "22021", "22P02", "22003", "22001", "54000"}
_LOCKED = {"55P03", "40P01"}
_UNREADABLE = {"54000", "54001", "XX000", "XX001", "XX002"}  # longer than 1 GiB as text, too deep, or damaged on the disk
_FIXED = "dmsjournal_fixed_names"  # an engine's execution option
_BOUNDED = "dmsjournal_statement_milliseconds"  # another one: how long a statement may take
_NAMED = postgresql.dialect(paramstyle="named")  # type: ignore[no-untyped-call]
_NUMBERED = postgresql.dialect(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]  # $1, $2


@contextmanager
def arrow_source(pool: sa.Engine) -> Iterator[Callable[[sa.TextClause, Mapping[str, object]], pa.Table]]:
    """A function that runs a statement and gives its rows as a pyarrow.Table, which no Python object a row is made for.

    Raises UnsupportedCapability where its driver is missing.
    """

    def rows(statement: sa.TextClause, binds: Mapping[str, object]) -> pa.Table:
        compiled = statement.compile(dialect=_NUMBERED)
        cursor.execute(str(compiled), [binds[name] for name in compiled.positiontup or ()])
        return cursor.fetch_arrow_table()

    with _arrow_connection(pool.url, autocommit=True, extra="events") as connection, connection.cursor() as cursor:
        yield rows


@contextmanager
def copying(url: sa.URL, begin: Sequence[str]) -> Iterator[Callable[[str], Iterator[pa.RecordBatch]]]:
    """See Engine.copying."""

    def copied(query: str) -> Iterator[pa.RecordBatch]:
        cursor.execute(query)
        try:
            yield from cursor.fetch_record_batch()
        except OSError as error:  # what the server says behind the first rows comes as Arrow's error
            raise _arrow_error(None, str(error)) from error

    with _arrow_connection(url, autocommit=False, extra="spark") as connection, connection.cursor() as cursor:
        for statement in begin:
            cursor.execute(statement)
        yield copied


@contextmanager
def _arrow_connection(url: sa.URL, *, autocommit: bool, extra: str) -> Iterator[Any]:
    """A connection of the driver that gives Arrow, which asks the server by COPY. Its errors leave as ours."""
    try:
        from adbc_driver_manager import Error
        from adbc_driver_postgresql import dbapi
    except ImportError as error:
        raise UnsupportedCapability(f"no driver for Arrow ({error})", f"pip install 'dmsjournal[{extra}]'") from error

    # The driver asks for all types as soon as it is connected, so our settings come with the login (checks/search_path.sql).
    ours = "-csearch_path=pg_catalog,pg_temp -crow_security=off"
    options = f"{url.query.get('options', '')} {ours}".strip()  # the last of two counts
    servers = hosts_of(url)
    given: dict[str, object] = {"connect_timeout": LOGIN_SECONDS}
    given |= {name: value for name, value in url.query.items() if name not in ("host", "port")} | {"options": options}
    given |= {"host": ",".join(host for host, _ in servers), "port": ",".join(str(port or "") for _, port in servers)}
    query = urlencode(given, quote_via=quote)  # libpq takes no + for a blank
    address = url.set(drivername="postgresql", host=None, port=None, query={}).render_as_string(hide_password=False) + f"?{query}"
    try:
        with dbapi.connect(address, autocommit=autocommit) as connection:
            yield connection
    except Error as error:
        raise _arrow_error(error.sqlstate, str(error)) from error


def _arrow_error(code: str | None, told: str) -> JournalError:
    """An error of the driver that gives Arrow as ours; it quotes the whole statement behind what the server says."""
    said = re.search(r"(?:ERROR|FATAL|PANIC): +(.+)", told)
    message = _line(said[1] if said else told)
    if code in _MISSING:
        return NotInstalled(None, REVISION)
    if code in _TIMED_OUT:
        return DatabaseRefused(code, message, _TIMED_OUT[code])
    if _NO_OPTIONS in told:
        return DatabaseRefused(None, message, "Arrow needs a URL of the server itself", refused="login")
    if code in _RETRY or (code or "08").startswith("08"):
        return Unavailable(message)
    return DatabaseRefused(code, message, "see the cause")


COMPARES_TWINS = True  # of tables: another role's function or type may have the name of one of the server's

_COMMENT = re.compile(r"--[^\n]*")
_FUNCTION = re.compile(r"^(CREATE (?:OR REPLACE )?FUNCTION dms\.(\w+).*?\$\$.*?\$\$;)", re.MULTILINE | re.DOTALL)
_TRIGGER = re.compile(r"(CREATE (?:OR REPLACE )?(?:CONSTRAINT )?TRIGGER (\w+).*?;)", re.DOTALL)
_CONSTRAINT_TRIGGER = re.compile(r"^(CREATE CONSTRAINT TRIGGER (\w+).*? ON (dms\.\w+))", re.MULTILINE | re.DOTALL)
_VIEW = re.compile(r"(CREATE (?:OR REPLACE )?VIEW dms\.(\w+).*?;)", re.DOTALL)
_TABLE = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?dms\.(\w+)")
_INDEX = re.compile(r"CREATE (?:UNIQUE )?INDEX (?:CONCURRENTLY )?(?:IF NOT EXISTS )?(\w+)")
_CONSTRAINT = re.compile(r"CONSTRAINT (?!TRIGGER\b)(\w+)")
_TWIN = re.compile(r"^\s*((?:CREATE TABLE|CREATE (?:UNIQUE )?INDEX|ALTER TABLE dms\.\w+\s+ADD) [^;]*;)", re.MULTILINE)
_SEQUENCE = re.compile(r"CREATE SEQUENCE (?:IF NOT EXISTS )?dms\.(\w+)")


def engine_for(url: sa.URL, seconds: float | None, bounds: PoolBounds) -> sa.Engine:
    """See connect.engine_for."""
    refused = sorted(_NOT_FROM_A_URL & url.query.keys())
    if refused:
        raise InvalidRequest("url", shown(url), f"{refused[0]} is no option of libpq's: leave it out")
    ours = {"application_name": "dmsjournal", "client_encoding": "utf8"} | _login(seconds)
    # READ COMMITTED whatever the database's default: each statement its own snapshot, so that the one which reads comes after the
    # horizon's (invariant 5). Nothing prepared: a kept plan would be one for any number of rows.
    try:
        engine = sa.create_engine(
            url,
            isolation_level="READ COMMITTED",
            pool_pre_ping=True,
            json_deserializer=decoded,
            # Options of the URL count before ours. SQLAlchemy passes them on, several hosts and ports as libpq takes them.
            connect_args={"prepare_threshold": None} | {name: value for name, value in ours.items() if name not in url.query},
            **bounds,
        )
    except (exc.ArgumentError, ValueError) as error:
        raise InvalidRequest("url", shown(url), f"its hosts and ports do not fit together ({error})") from error
    sa.event.listen(engine, "do_connect", _connected)
    sa.event.listen(engine, "connect", _read_every_time)
    if seconds is not None and "statement_timeout" not in str(url.query.get("options", "")):
        engine.update_execution_options(**{_BOUNDED: round(seconds * 1000)})
    return _fixed(engine)


def _login(seconds: float | None) -> dict[str, str]:
    """How long a login may take, where the URL does not say."""
    if seconds is not None:
        return {"connect_timeout": str(max(2, min(LOGIN_SECONDS, round(seconds))))}
    return {} if os.environ.get("PGCONNECT_TIMEOUT") else {"connect_timeout": str(LOGIN_SECONDS)}


def _connected(_: object, __: object, arguments: Any, options: Any) -> Any:
    return _connection_type().connect(*arguments, **options)


def cut_off(connection: Any) -> None:
    """See engine.Engine.cut_off. The server, if it ever goes on, finds the connection closed, and rolls back."""
    from psycopg import Error

    with suppress(OSError, Error), socket.socket(fileno=os.dup(connection.fileno())) as its:
        its.shutdown(socket.SHUT_RDWR)


@cache
def _connection_type() -> Any:
    """psycopg's connection, which Ctrl-C ends within a second."""
    import psycopg

    class Connection(psycopg.Connection[Any]):
        def cancel_safe(self, *, timeout: float = 30.0) -> None:
            """psycopg cancels a statement that Ctrl-C interrupts, and waits for its end: ten seconds where the server is frozen."""
            try:
                super().cancel_safe(timeout=min(timeout, _CANCEL_SECONDS))
            except psycopg.errors.CancellationTimeout:
                raise KeyboardInterrupt from None  # which psycopg answers by closing the connection

    return Connection


def _read_every_time(connection: Any, _: object) -> None:
    """Times are read in UTC, and one that Python cannot hold as the first or the last that it can: psycopg would refuse the result.

    One row with such a time, which a restore or a superuser may have written, else ends every command that reads it.
    """
    from psycopg import DataError
    from psycopg.adapt import Loader
    from psycopg.pq import Format

    theirs = connection.adapters.get_loader(connection.adapters.types["timestamptz"].oid, Format.TEXT)

    class EveryTime(Loader):
        def __init__(self, oid: int, context: Any = None) -> None:
            super().__init__(oid, context)
            self._theirs = theirs(oid, context)

        def load(self, data: Any) -> datetime:
            try:
                return cast(datetime, self._theirs.load(data)).astimezone(UTC)  # whatever the role's TimeZone
            except (DataError, OverflowError):
                text = bytes(data)
                return (datetime.min if text.startswith(b"-") or text.endswith(b"BC") else datetime.max).replace(tzinfo=UTC)

    connection.adapters.register_loader("timestamptz", EveryTime)


def with_fixed_names(engine: sa.Engine) -> sa.Engine:
    """The engine; each of its transactions begins with settings of ours (FIRST_CHECKS), and so does its dialect's first look.

    Names then resolve to ours (invariant 13), and the server prints in the form that is compared.

    An engine of the user's keeps its own transactions as they are: what is returned is another one on the same pool. That one is
    READ COMMITTED, since a connection that commits each statement cannot begin with anything.
    """
    if engine.get_execution_options().get(_FIXED):  # of engine_for
        return engine
    return _fixed(engine.execution_options(isolation_level="READ COMMITTED"))


def _fixed(engine: sa.Engine) -> sa.Engine:
    engine.update_execution_options(**{_FIXED: True})
    sa.event.listen(engine, "begin", _fix_names)
    _fix_first_look(engine.dialect)
    return engine


@contextmanager
def own_names_kept(conn: sa.Connection) -> Iterator[None]:
    """Within it a migration may set what FIRST_CHECKS sets; afterwards these settings are as the connection's owner had them.

    Raises MigrationRefused for a connection that commits each statement, where a setting would not reach the next one.
    """
    if getattr(conn.connection.dbapi_connection, "autocommit", False):
        raise MigrationRefused(
            "the connection that Alembic was given commits each statement (AUTOCOMMIT)", "Give it one that has a transaction."
        )
    before = conn.execute(statement("database/settings")).scalar_one()
    yield
    conn.execute(statement("database/restore_settings"), {"settings": json.dumps(before)})


def _fix_names(conn: sa.Connection) -> None:
    raw = conn.connection.dbapi_connection
    if getattr(raw, "autocommit", False):  # what runs so looks no name up, or has set the session's path (adopt/online.sql)
        return
    text = _beginning()
    if (milliseconds := conn.engine.get_execution_options().get(_BOUNDED)) is not None:
        text += "\n" + _bare("queries/database/begin_bounded").replace("{milliseconds}", str(milliseconds))
    conn.exec_driver_sql(text)  # one round trip


@cache
def _beginning() -> str:
    """What each transaction of ours begins with."""
    return "\n".join(map(_bare, (*FIRST_CHECKS, "queries/database/begin")))


@cache
def _bare(name: str) -> str:
    """The text of sql/postgres/<name>.sql without its comments."""
    return _COMMENT.sub("", sql.text_of(NAME, name)).strip()


def _fix_first_look(dialect: sa.Dialect) -> None:
    """What the dialect asks a pool's first connection, before any transaction of ours, is asked with our search_path as well."""
    look = dialect.initialize
    if not inspect.ismethod(look):  # it is the one below
        return

    def initialize(connection: sa.Connection) -> None:
        raw: Any = connection.connection.dbapi_connection
        commits_each = getattr(raw, "autocommit", False)
        if commits_each:
            raw.autocommit = False
        schema = connection.exec_driver_sql(_bare("queries/database/current_schema")).scalar()
        connection.exec_driver_sql(_beginning())
        look(connection)
        dialect.default_schema_name = schema  # which the engine's owner goes by
        if commits_each:
            raw.rollback()
            raw.autocommit = True

    dialect.initialize = initialize  # type: ignore[method-assign]


def is_pooled(conn: sa.Connection) -> bool:
    """Whether a pooler such as PgBouncer is between: it answers a login with a process id of its own."""
    raw: Any = conn.connection.dbapi_connection
    return bool(raw.info.backend_pid != conn.execute(statement("database/session_pid")).scalar_one())


def is_retried(error: exc.DBAPIError) -> bool:
    """Whether the same work may succeed at another try in the same transaction, from a savepoint on: a deadlock or the like."""
    return getattr(error.orig, "sqlstate", None) in ("40001", "40P01")


def violated(error: exc.DBAPIError) -> str | None:
    """The name of the constraint on a table of schema dms that refused a row."""
    diagnosis = getattr(error.orig, "diag", None)
    name = getattr(diagnosis, "constraint_name", None)
    return str(name).lower() if name is not None and getattr(diagnosis, "schema_name", None) == "dms" else None


def is_locked_out(error: exc.DBAPIError) -> bool:
    """Whether a lock was not to be had."""
    return getattr(error.orig, "sqlstate", None) in _LOCKED


def is_out_of_locks(error: exc.DBAPIError) -> bool:
    """Whether the server has no room for another lock: a transaction that takes that many fails each time."""
    hint = getattr(getattr(error.orig, "diag", None), "message_hint", None) or ""
    return getattr(error.orig, "sqlstate", None) == "53200" and "max_locks_per_transaction" in hint


def is_unreadable(error: exc.DBAPIError) -> bool:
    """Whether the server cannot give a value that a statement reads."""
    return getattr(error.orig, "sqlstate", None) in _UNREADABLE


def is_missing(error: exc.DBAPIError) -> bool:
    """Whether a table, column, function or the like is not there."""
    return getattr(error.orig, "sqlstate", None) in _MISSING


def is_timed_out(error: exc.DBAPIError) -> bool:
    """Whether a lock was waited for in vain."""
    return getattr(error.orig, "sqlstate", None) == "55P03"


def is_commit_unknown(error: exc.DBAPIError) -> bool:
    """Whether the error of a COMMIT leaves open what became of the transaction: the connection is lost, or the server says so."""
    code = getattr(error.orig, "sqlstate", None)
    return code in _UNKNOWN or (error.connection_invalidated and code not in _TIMED_OUT)


def as_journal_error(error: exc.DBAPIError) -> JournalError:
    """The driver's error as ours."""
    original: Any = error.orig
    code: str | None = getattr(original, "sqlstate", None)
    diagnosis = getattr(original, "diag", None)
    message = message_of(error)
    hint = getattr(diagnosis, "message_hint", None)
    if code not in _RETRY and (theirs := _function_of_others(diagnosis)) is not None:
        return DatabaseRefused(code, message, f"{theirs} says so, a function that is not dmsjournal's: mend it or what calls it")
    if code in _MISSING:
        return NotInstalled(None, REVISION)
    if code in ("DJ001", "DJ004"):
        return UnsupportedCapability(message, hint or "")
    if code == "DJ009":
        column = getattr(diagnosis, "column_name", None)
        return InvalidRequest("column", column, f"{message}. {hint}") if column else InvalidRequest("table", message, hint or "")
    if code in ("DJ002", "DJ003", "DJ005", "DJ008"):
        return InvalidRequest("statement", message, hint or "")
    if code == "2200H":  # it names the sequence: that of resources has 32,767 ids
        return DatabaseRefused(code, message, "free ids as docs/dba/costs.md, Resource ids, says")
    if (code or "").startswith("23") and violated(error) not in _constraints():
        where = ".".join(filter(None, (getattr(diagnosis, "schema_name", None), getattr(diagnosis, "table_name", None))))
        name = getattr(diagnosis, "constraint_name", None)
        remedy = f"{name or 'a rule'} on {where or 'a table'} is not dmsjournal's: give what it takes, or change it"
        return DatabaseRefused(code, message, remedy)
    if code == "23514":
        return InvalidRequest("value", message, "docs/dba/limits.md tells what the tables take, and how a DBA changes it")
    if code in _WRONG_VALUE or isinstance(error, exc.DataError):
        return InvalidRequest("value", message, "the database cannot hold it")
    if code is None and "permission denied for database" in message:
        return DatabaseRefused(code, message, "GRANT CONNECT ON DATABASE to the role", refused="login")
    if code is None and _NO_OPTIONS in message:
        remedy = (
            "take `options` out of the URL: the pooler refuses it. Set it with ALTER ROLE or ALTER DATABASE (docs/dba/poolers.md)"
        )
        return DatabaseRefused(code, message, remedy, refused="login")
    if code is None and "no pg_hba.conf entry" in message:
        return DatabaseRefused(code, message, "allow the role, its host and sslmode in pg_hba.conf", refused="login")
    if code in _WRONG_LOGIN or (code is None and _NO_LOGIN.search(message)):
        return DatabaseRefused(code, message, "check the user, the password and the database in the URL", refused="login")
    if code is None and re.search(r"database \".*\" does not exist", message):
        return DatabaseRefused(code, message, "check the database in the URL", refused="login")
    if code is None and isinstance(error, exc.ProgrammingError):
        return InvalidRequest("url", message, "see the driver's documentation for the options after the question mark")
    if code is None and re.match(r"failed to resolve host|connection (failed|is bad|timeout expired)", message):
        return Unavailable(message, "check the host, the port and sslmode in the URL; if they are right, try again when it is up")
    if code in _TIMED_OUT and "user request" not in message:  # else an operator has cancelled it
        return DatabaseRefused(code, message, _TIMED_OUT[code])
    if code in _RETRY or code == "57014" or (code or "").startswith("08") or code is None or error.connection_invalidated:
        return Unavailable(message, f"try again. The server says: {hint}" if hint else "try again")
    if code == "2BP01":  # its own hint is DROP ... CASCADE, which would take what is not ours
        depends = _line(getattr(diagnosis, "message_detail", None) or "")
        return DatabaseRefused(code, f"{message}: {depends}", "drop that, and make it again afterwards")
    if code == "42501" and message.startswith("must be owner of"):
        return DatabaseRefused(code, message, "run it as the installing role, which owns schema dms", refused="right")
    if code == "42501" and _is_in_ours(diagnosis):
        remedy = "the installing role lacks it, whose rights dmsjournal's functions use: GRANT it to that role, as a superuser"
        return DatabaseRefused(code, message, remedy, refused="right")
    if code == "42501" and "row-level security" in message:
        remedy = "as the installing role: ALTER TABLE … DISABLE ROW LEVEL SECURITY, or give the role BYPASSRLS"
        return DatabaseRefused(code, message, remedy, refused="right")
    if code == "42501":
        return DatabaseRefused(code, message, hint or "grant the role what docs/dba/roles.md lists", refused="right")
    return DatabaseRefused(code, message, hint or "see the cause")


def _is_in_ours(diagnosis: Any) -> bool:
    """Whether a statement of a function of schema dms met an error: not one that it called or was called by, nor its own RAISE."""
    innermost = _innermost_function(diagnosis)
    is_raised = (getattr(diagnosis, "context", None) or "").partition("\n")[0].endswith(" at RAISE")
    return innermost is not None and innermost.startswith("dms.") and not is_raised


def _function_of_others(diagnosis: Any) -> str | None:
    """The function that raised an error, such as a user's trigger, where it is not of schema dms."""
    innermost = _innermost_function(diagnosis)
    return None if innermost is None or innermost.startswith("dms.") else innermost


def _innermost_function(diagnosis: Any) -> str | None:
    found = re.search(r"function (\S+?)\(", getattr(diagnosis, "context", None) or "")
    return found[1] if found else None


@cache
def _constraints() -> frozenset[str]:
    """The names of the constraints that the shipped tables have."""
    files = (sql.shipped("sql") / NAME / "tables").glob("*.sql")
    return frozenset(name.lower() for file in files for name in _CONSTRAINT.findall(file.read_text(encoding="utf-8")))


def message_of(error: exc.DBAPIError) -> str:
    """What the server said, in one line."""
    return _line(getattr(getattr(error.orig, "diag", None), "message_primary", None) or str(error.orig))


def defined(text: str) -> list[tuple[str, str, str | None]]:
    """What a file of sql/ defines, as (kind, name, definition as `comparable` gives it).

    The definition is None where the name alone is compared: tables, indexes and constraints, and views, which the server rewrites
    (`temporary_view`).
    """
    bare = _COMMENT.sub("", text)
    found: list[tuple[str, str, str | None]] = []
    found += [("routine", name.lower(), comparable("routine", whole)) for whole, name in _FUNCTION.findall(text)]
    if not found:  # what a function's body says is no definition
        found += [("trigger", name.lower(), comparable("trigger", whole)) for whole, name in _TRIGGER.findall(bare)]
        found += [("table", name.lower(), None) for name in _TABLE.findall(bare)]
        found += [("view", name.lower(), None) for _, name in _VIEW.findall(bare)]
        found += [("index", name.lower(), None) for name in _INDEX.findall(bare)]
        found += [("constraint", name.lower(), None) for name in _CONSTRAINT.findall(bare)]
        found += [
            ("sequence", name.lower(), "bigint increment 1 to 9223372036854775807 cache 1 no cycle")
            for name in _SEQUENCE.findall(bare)
        ]
    return found


def comparable(kind: str, definition: str) -> str:
    """A definition, shipped or as the server tells it, in a form in which the two are equal. A function's body stays as it is."""
    if kind == "sequence":
        return definition
    if kind == "trigger":
        return " ".join(re.sub(r"[();]|dms\.|OR REPLACE", " ", definition).lower().split())
    head, _, body = re.split(r"\bAS (\$\w*\$)", definition, maxsplit=1)
    words = re.sub(r"[()',=\"]| TO | VOLATILE\b|OR REPLACE", " ", _COMMENT.sub("", head), flags=re.IGNORECASE)
    return " ".join(words.lower().split()) + re.sub(r"\$\w*\$;?\s*$", "", body)


def replaced(text: str) -> str:
    """A file that creates functions, triggers or views, so that it replaces them. Rights stay, triggers are enabled."""
    replacing = re.sub(r"^CREATE (FUNCTION|TRIGGER|VIEW)", r"CREATE OR REPLACE \1", text, flags=re.MULTILINE)
    return _CONSTRAINT_TRIGGER.sub(r"DROP TRIGGER IF EXISTS \2 ON \3;\n\1", replacing)  # which cannot be replaced


def temporary_view(text: str) -> str | None:
    """The statement that makes a shipped view as a temporary one, for the server to tell its definition as it tells the other's."""
    found = _VIEW.search(_COMMENT.sub("", text))
    return found and re.sub(r"^CREATE (?:OR REPLACE )?VIEW dms\.", "CREATE TEMPORARY VIEW ", found[1])


def twins(text: str) -> list[str]:
    """The statements of a file that make or add to a table or index, so that they make a temporary twin of it."""
    return [statement.replace("dms.", "pg_temp.") for statement in _TWIN.findall(_COMMENT.sub("", text))]


def lock_timeout(text: str) -> str:
    """A lock timeout as the migrations' SQL takes it."""
    return text


def as_model(text: str) -> str:
    """The text of a table's file, so that it makes a temporary table beside the one that is there."""
    return text.replace("dms.", "pg_temp.")


def _line(message: str) -> str:
    """One line; libpq repeats its message once for each address it tried."""
    return without_secrets(" ".join(message.split()))


def statement(name: str) -> sa.Executable:
    """The statement sql/postgres/queries/<name>.sql."""
    return sql.query(NAME, name)


def rows(values: list[object]) -> str:
    """Rows as a JSON parameter."""
    return json_rows(values)


def savepoint(conn: sa.Connection) -> sa.NestedTransaction:
    """A savepoint, to which an error in the block rolls back."""
    return conn.begin_nested()


def begin_part(conn: sa.Connection) -> None:
    """See Engine.begin_part."""
    conn.execute(statement("read/part_settings"))


def literal(clause: sa.ClauseElement) -> str:
    """A clause as SQL, its values written out."""
    return sql.literal(_NAMED, clause)


def resolved(url: sa.URL, conn: sa.Connection) -> sa.URL:
    """See Engine.resolved. Raises UnsupportedCapability for what JDBC cannot reach, or not as safely."""
    info = cast(Any, conn.connection.dbapi_connection).info
    given: dict[str, str] = info.get_parameters()
    host = given.pop("host", "") or given.get("hostaddr", "")
    port = given.pop("port", "")
    if host.startswith(("/", "@")):
        raise UnsupportedCapability(f"the Unix socket {host} for Spark", "name a host in the URL, or in PGHOST")
    if given.get("hostaddr", host) != host:
        if given.get("sslmode") == "verify-full":
            raise UnsupportedCapability("hostaddr beside host for Spark with sslmode=verify-full", "leave hostaddr out")
        host = given["hostaddr"]
    if given.get("sslrootcert") == "system":
        raise UnsupportedCapability("sslrootcert=system for Spark", "name a file with the certificates of the authority")
    left_out = (
        {name for name, values in _JDBC_AS_IT_IS.items() if given.get(name) in values} | _JDBC_NEEDS_NONE | {"user", "dbname"}
    )
    query: dict[str, str | tuple[str, ...]] = {name: value for name, value in given.items() if name not in left_out}
    query |= {name: value for name, value in (("host", host), ("port", port)) if value}
    return sa.URL.create(url.drivername, info.user, info.password or None, database=info.dbname, query=query)


def jdbc_options(url: sa.URL) -> dict[str, str]:
    """See spark.jdbc. The settings are in the URL: Spark makes names of options lower case, and the driver then ignores them."""
    given = {name.lower(): str(value) for name, value in url.query.items() if name not in ("host", "port", "target_session_attrs")}
    if (attrs := url.query.get("target_session_attrs")) is not None:
        given["target_session_attrs"] = _TARGETS.get(str(attrs), str(attrs))
    # Spark and the driver ask for the columns' types before any transaction of ours, so the search_path comes with the login.
    path = {"currentSchema": "pg_catalog,pg_temp"}
    settings = {"ApplicationName": "dmsjournal"} | jdbc.translated(given, _JDBC_SETTINGS) | path
    database = quote(url.database or "", safe="")
    servers = ",".join(f"{jdbc.host(host)}:{port or 5432}" for host, port in hosts_of(url) or [("localhost", None)])
    address = f"jdbc:postgresql://{servers}/{database}?{urlencode(settings, quote_via=quote)}"
    return {"driver": "org.postgresql.Driver", "url": address}
