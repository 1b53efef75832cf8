"""PostgreSQL through psycopg."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.dialects import postgresql

from dmsjournal import statements
from dmsjournal.connecting import REVISION, shown
from dmsjournal.errors import DatabaseRefused, InvalidRequest, JournalError, NotInstalled, Unavailable, UnsupportedCapability

EXAMPLE = "postgresql+psycopg://user:password@host:port/database"
DRIVERS = ("psycopg",)  # the first is meant where a URL names none

LARGEST_BATCH = 50_000  # rows that a prune or an adoption takes in one transaction, at most

DIALECT = "postgresql"
SCRIPT_OPTIONS = {"dialect_opts": {"paramstyle": "named"}}
SCRIPT_BEGINS, SCRIPT_ENDS = "\\set ON_ERROR_STOP on", ""
SEPARATOR = ""  # of a script's batches
MODEL = tuple(f"tables/{table}.v1" for table in ("ResourceKey", "Document", "DocumentCache", "ReferenceEdge"))  # what is adopted
ADOPTER = (  # what to do where a right is missing, for a dry run too: the plan is made beside temporary tables
    "adopt, with --dry-run too, as the role that owns dms.Document; "
    "GRANT USAGE, CREATE ON SCHEMA dms and TEMPORARY ON DATABASE to it"
)
HELD = "SHARE ROW EXCLUSIVE"  # the lock that holds writers while an adoption brings the triggers

_NOT_FROM_A_URL = {"autocommit", "context", "cursor_factory", "prepare_threshold", "row_factory"}  # psycopg takes objects there
_RETRY = {"40001", "40P01", "55P03", "57014", "57P01", "57P02", "57P03", "53200", "53300", "25P02"}
_MISSING = {"3F000", "42P01", "42883", "42703"}
_WRONG_LOGIN = {"28P01", "28000", "3D000"}
_WRONG_VALUE = {"22P05", "22021", "22P02", "22003", "22001", "54000"}
_LOCKED = {"55P03", "40P01"}
_NUMBERED = postgresql.dialect(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]  # $1, $2


@contextmanager
def arrow_source(url: sa.URL) -> Iterator[Callable[[sa.TextClause, Mapping[str, object]], Any]]:
    """A function that runs a statement and gives its rows as a pyarrow.Table, which no Python object a row is made for.

    Raises UnsupportedCapability where its driver is missing.
    """
    try:
        from adbc_driver_manager import Error
        from adbc_driver_postgresql import dbapi
    except ImportError as error:
        raise UnsupportedCapability(f"no driver for Arrow ({error})", "pip install 'dmsjournal[events]'") from error

    def rows(statement: sa.TextClause, binds: Mapping[str, object]) -> Any:
        compiled = statement.compile(dialect=_NUMBERED)
        cursor.execute(str(compiled), [binds[name] for name in compiled.positiontup or ()])
        return cursor.fetch_arrow_table()

    address = url.set(drivername="postgresql").render_as_string(hide_password=False)
    try:
        with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
            yield rows
    except Error as error:
        if error.sqlstate in _MISSING:
            raise NotInstalled(None, REVISION) from error
        if error.sqlstate in _RETRY or (error.sqlstate or "08").startswith("08"):
            raise Unavailable(_line(str(error))) from error
        raise DatabaseRefused(error.sqlstate, _line(str(error)), "see the cause") from error


_COMMENT = re.compile(r"--[^\n]*")
_FUNCTION = re.compile(r"^(CREATE (?:OR REPLACE )?FUNCTION dms\.(\w+).*?\$\$.*?\$\$;)", re.MULTILINE | re.DOTALL)
_TRIGGER = re.compile(r"(CREATE (?:OR REPLACE )?(?:CONSTRAINT )?TRIGGER (\w+).*?;)", re.DOTALL)
_CONSTRAINT_TRIGGER = re.compile(r"^(CREATE CONSTRAINT TRIGGER (\w+).*? ON (dms\.\w+))", re.MULTILINE | re.DOTALL)
_VIEW = re.compile(r"(CREATE (?:OR REPLACE )?VIEW dms\.(\w+).*?;)", re.DOTALL)
_TABLE = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?dms\.(\w+)")
_INDEX = re.compile(r"CREATE (?:UNIQUE )?INDEX (?:CONCURRENTLY )?(?:IF NOT EXISTS )?(\w+)")
_CONSTRAINT = re.compile(r"CONSTRAINT (?!TRIGGER\b)(\w+)")
_SEQUENCE = re.compile(r"CREATE SEQUENCE (?:IF NOT EXISTS )?dms\.(\w+)")


def engine_for(url: sa.URL, seconds: float | None = None, **pool: Any) -> sa.Engine:
    """See connecting.engine_for."""
    refused = sorted(_NOT_FROM_A_URL & url.query.keys())
    if refused:
        raise InvalidRequest("url", shown(url), f"{refused[0]} is no option of libpq's: leave it out")
    # READ COMMITTED whatever the database's default: each statement its own snapshot, so that the one which reads comes after the
    # horizon's (invariant 5). Nothing prepared: a kept plan would be one for any number of rows.
    return sa.create_engine(
        url,
        isolation_level="READ COMMITTED",
        pool_pre_ping=True,
        json_deserializer=statements.decoded,
        connect_args={"prepare_threshold": None, "application_name": "dmsjournal", "client_encoding": "utf8"}
        | dict(url.query)
        | _bounded(url, seconds),
        **pool,
    )


def _bounded(url: sa.URL, seconds: float | None) -> dict[str, Any]:
    """What makes logins and statements end after so long, where the URL itself does not say."""
    if seconds is None:
        return {}
    options = f"-c statement_timeout={round(seconds * 1000)} {url.query.get('options', '')}".strip()  # the last of two counts
    return {"options": options, "connect_timeout": url.query.get("connect_timeout", max(2, round(seconds)))}


def is_retried(error: exc.DBAPIError) -> bool:
    """Whether the same work may succeed at another try in the same transaction, from a savepoint on: a deadlock or the like."""
    return getattr(error.orig, "sqlstate", None) in ("40001", "40P01")


def is_duplicate(error: exc.DBAPIError) -> bool:
    """Whether a row with the same key was there."""
    return getattr(error.orig, "sqlstate", None) == "23505"


def is_locked_out(error: exc.DBAPIError) -> bool:
    """Whether a lock was not to be had."""
    return getattr(error.orig, "sqlstate", None) in _LOCKED


def as_journal_error(error: exc.DBAPIError) -> JournalError:
    """The driver's error as ours."""
    original: Any = error.orig
    code: str | None = getattr(original, "sqlstate", None)
    diagnosis = getattr(original, "diag", None)
    message = message_of(error)
    hint = getattr(diagnosis, "message_hint", None)
    if code in _MISSING:
        return NotInstalled(None, REVISION)
    if code in ("DJ001", "DJ004"):
        return UnsupportedCapability(message, hint or "")
    if code in ("DJ002", "DJ003", "DJ005", "DJ008"):
        return InvalidRequest("statement", message, hint or "")
    if code in _WRONG_VALUE or isinstance(error, exc.DataError):
        return InvalidRequest("value", message, "the database cannot hold it")
    if code is None and "permission denied for database" in message:
        return DatabaseRefused(code, message, "GRANT CONNECT ON DATABASE to the role", refused="login")
    if code in _WRONG_LOGIN or (code is None and re.search(r"authentication failed|role \".*\" does not exist", message)):
        return DatabaseRefused(code, message, "check the user, the password and the database in the URL", refused="login")
    if code is None and re.search(r"database \".*\" does not exist", message):
        return DatabaseRefused(code, message, "check the database in the URL", refused="login")
    if code is None and isinstance(error, exc.ProgrammingError):
        return InvalidRequest("url", message, "see the driver's documentation for the options after the question mark")
    if code is None and re.match(r"failed to resolve host|connection (failed|is bad)", message):
        return Unavailable(message, "check the host, the port and sslmode in the URL; if they are right, try again when it is up")
    if code in _RETRY or (code or "").startswith("08") or code is None or error.connection_invalidated:
        return Unavailable(message)
    if code == "42501" and message.startswith("must be owner of"):
        return DatabaseRefused(code, message, "run it as the installing role, which owns schema dms", refused="right")
    if code == "42501":
        return DatabaseRefused(code, message, "grant the role what docs/dba/roles.md lists", refused="right")
    return DatabaseRefused(code, message, hint or "see the cause")


def message_of(error: exc.DBAPIError) -> str:
    """What the server said, in one line."""
    return _line(getattr(getattr(error.orig, "diag", None), "message_primary", None) or str(error.orig))


def defined(text: str) -> list[tuple[str, str, str | None]]:
    """What a file of sql/ defines, as (kind, name, definition as `told` gives it).

    The definition is None where the name alone is compared: tables, indexes and constraints, and views, which the server rewrites
    (`temporary_view`).
    """
    bare = _COMMENT.sub("", text)
    found: list[tuple[str, str, str | None]] = []
    found += [("routine", name.lower(), told("routine", whole)) for whole, name in _FUNCTION.findall(text)]
    if not found:  # what a function's body says is no definition
        found += [("trigger", name.lower(), told("trigger", whole)) for whole, name in _TRIGGER.findall(bare)]
        found += [("table", name.lower(), None) for name in _TABLE.findall(bare)]
        found += [("view", name.lower(), None) for _, name in _VIEW.findall(bare)]
        found += [("index", name.lower(), None) for name in _INDEX.findall(bare)]
        found += [("constraint", name.lower(), None) for name in _CONSTRAINT.findall(bare)]
        found += [
            ("sequence", name.lower(), "bigint increment 1 to 9223372036854775807 cache 1 no cycle")
            for name in _SEQUENCE.findall(bare)
        ]
    return found


def told(kind: str, definition: str) -> str:
    """A definition, shipped or as the server tells it, in a form in which the two are equal. A function's body stays as it is."""
    if kind == "sequence":
        return definition
    if kind == "trigger":
        return " ".join(re.sub(r"[();]|dms\.|OR REPLACE", " ", definition).lower().split())
    head, _, body = re.split(r"\bAS (\$\w*\$)", definition, maxsplit=1)
    words = re.sub(r"[()',=]| TO | VOLATILE\b|OR REPLACE", " ", _COMMENT.sub("", head), flags=re.IGNORECASE)
    return " ".join(words.lower().split()) + re.sub(r"\$\w*\$;?\s*$", "", body)


def replaced(text: str) -> str:
    """A file that creates functions, triggers or views, so that it replaces them. Rights stay, triggers are enabled."""
    replacing = re.sub(r"^CREATE (FUNCTION|TRIGGER|VIEW)", r"CREATE OR REPLACE \1", text, flags=re.MULTILINE)
    return _CONSTRAINT_TRIGGER.sub(r"DROP TRIGGER IF EXISTS \2 ON \3;\n\1", replacing)  # which cannot be replaced


def temporary_view(text: str) -> str | None:
    """The statement that makes a shipped view as a temporary one, for the server to tell its definition as it tells the other's."""
    found = _VIEW.search(_COMMENT.sub("", text))
    return found and re.sub(r"^CREATE (?:OR REPLACE )?VIEW dms\.", "CREATE TEMPORARY VIEW ", found[1])


def lock_timeout(text: str) -> str:
    """A lock timeout as the migrations' SQL takes it."""
    return text


def as_model(text: str) -> str:
    """The text of a table's file, so that it makes a temporary table beside the one that is there."""
    return text.replace("dms.", "pg_temp.")


def _line(message: str) -> str:
    """One line; libpq repeats its message once for each address it tried."""
    return " ".join(message.split())
