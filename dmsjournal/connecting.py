"""Connections to the database, and the driver's errors as ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from dmsjournal import statements
from dmsjournal.errors import DatabaseRefused, InvalidRequest, JournalError, NotInstalled, Unavailable, UnsupportedCapability

REVISION = "0006"  # the newest migration; this program reads nothing older

_NOT_FROM_A_URL = {"autocommit", "context", "cursor_factory", "prepare_threshold", "row_factory"}  # psycopg takes objects there
_RETRY = {"40001", "40P01", "55P03", "57014", "57P01", "57P02", "57P03", "53200", "53300", "25P02"}
_MISSING = {"3F000", "42P01", "42883", "42703"}
_WRONG_LOGIN = {"28P01", "28000", "3D000"}
_WRONG_VALUE = {"22P05", "22021", "22P02", "22003", "22001", "54000"}


def engine_for(url: str | sa.URL) -> sa.Engine:
    """A pool of connections for a SQLAlchemy URL. Raises InvalidRequest, which never shows the URL's password."""
    try:
        parsed = sa.make_url(url)
    except (exc.ArgumentError, ValueError) as error:
        raise InvalidRequest("url", "***", "write it as postgresql+psycopg://user:password@host:port/database") from error
    if parsed.drivername in ("postgresql", "postgres"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername != "postgresql+psycopg":
        raise InvalidRequest("url", shown(parsed), "this version speaks postgresql+psycopg://")
    if "@" in (parsed.host or ""):
        raise InvalidRequest("url", "***", "in a password, write @ as %40 (and : / ? # as %3A %2F %3F %23)")
    if not parsed.database:
        raise InvalidRequest("url", shown(parsed), "name the database at its end, after the slash")
    refused = sorted(_NOT_FROM_A_URL & parsed.query.keys())
    if refused:
        raise InvalidRequest("url", shown(parsed), f"{refused[0]} is no option of libpq's: leave it out")
    # READ COMMITTED whatever the database's default: each statement its own snapshot, so that the one which reads comes after the
    # horizon's (invariant 5). Nothing prepared: a kept plan would be one for any number of rows.
    engine = sa.create_engine(
        parsed,
        isolation_level="READ COMMITTED",
        pool_pre_ping=True,
        json_deserializer=statements.decoded,
        connect_args={"prepare_threshold": None, "application_name": "dmsjournal", "client_encoding": "utf8"} | dict(parsed.query),
    )
    sa.event.listen(engine, "connect", _prepare)
    return engine


def _prepare(connection: Any, _: object) -> None:
    connection.execute(statements.query("postgres", "connect").text)
    connection.commit()


def shown(url: sa.URL) -> str:
    """The URL without its secrets, wherever they stand in it."""
    return url.set(query={name: "hidden" if "pass" in name else value for name, value in url.query.items()}).render_as_string()


def retried(error: exc.DBAPIError) -> bool:
    """Whether the same transaction may succeed at another try: a deadlock or a serialisation failure."""
    return getattr(error.orig, "sqlstate", None) in ("40001", "40P01")


@contextmanager
def translated() -> Iterator[None]:
    """Within it, a driver's error leaves as a JournalError that has it as `__cause__`."""
    try:
        yield
    except exc.TimeoutError as error:
        raise Unavailable("no connection became free in the pool", "try again, or use more journals") from error
    except exc.ResourceClosedError as error:
        raise InvalidRequest("transaction", "an ended one", "its block is left: open another one") from error
    except exc.PendingRollbackError as error:
        raise Unavailable("the transaction has ended with an error", "let the error leave the block, and try again") from error
    except exc.DBAPIError as error:
        raise _as_journal_error(error) from error
    except (exc.NoSuchModuleError, ModuleNotFoundError) as error:
        raise UnsupportedCapability(f"the database driver is missing ({error})", "install the driver that the URL names") from error
    except UnicodeEncodeError as error:
        raise InvalidRequest("value", error.object, "it holds an unpaired surrogate, which is no character") from error


def _as_journal_error(error: exc.DBAPIError) -> JournalError:
    original: Any = error.orig
    code: str | None = getattr(original, "sqlstate", None)
    diagnosis = getattr(original, "diag", None)
    message = _line(getattr(diagnosis, "message_primary", None) or str(original))
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
        return DatabaseRefused(code, message, "GRANT CONNECT ON DATABASE to the role")
    if code in _WRONG_LOGIN or (code is None and re.search(r"authentication failed|role \".*\" does not exist", message)):
        return DatabaseRefused(code, message, "check the user, the password and the database in the URL")
    if code is None and re.search(r"database \".*\" does not exist", message):
        return DatabaseRefused(code, message, "check the database in the URL")
    if code is None and isinstance(error, exc.ProgrammingError):
        return InvalidRequest("url", message, "see the driver's documentation for the options after the question mark")
    if code is None and re.match(r"failed to resolve host|connection (failed|is bad)", message):
        return Unavailable(message, "check the host, the port and sslmode in the URL; if they are right, try again when it is up")
    if code in _RETRY or (code or "").startswith("08") or code is None or error.connection_invalidated:
        return Unavailable(message)
    if code == "42501":
        return DatabaseRefused(code, message, "grant the role what docs/dba/roles.md lists")
    return DatabaseRefused(code, message, hint or "see the cause")


def _line(message: str) -> str:
    """One line; libpq repeats its message once for each address it tried."""
    return " ".join(message.split())
