"""Connections to the database, and the driver's errors as ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from dmsjournal.database.engine import Engine, PoolBounds
from dmsjournal.database.engines import ENGINES, engine_of_dialect
from dmsjournal.database.urls import once_each, shown
from dmsjournal.database.urls import parsed as as_url
from dmsjournal.errors import DatabaseRefused, InvalidRequest, JournalError, Unavailable, UnsupportedCapability
from dmsjournal.util.printable import without_secrets


def engine_for(url: str | sa.URL, connections: int | None = None, seconds: float | None = None) -> sa.Engine:
    """A pool of connections for a SQLAlchemy URL, so many at most, with so long for a login and for each statement at most.

    Raises InvalidRequest, which never shows the URL's password.
    """
    parsed = checked_url(url)
    engine = engine_of_dialect(parsed.get_backend_name())
    bounds = PoolBounds() if connections is None else PoolBounds(pool_size=connections, max_overflow=0, hide_parameters=True)
    return engine.engine_for(parsed, seconds, bounds)


def ping(pool: sa.Engine) -> None:
    """Logs in anew, and asks the least there is: a server that hangs may keep the connections that it has. Raises JournalError."""
    try:
        with translated(), pool.connect() as conn:
            conn.execute(engine_of_dialect(pool.dialect.name).statement("operate/ping"))
    finally:
        pool.dispose()


class OpenConnections:
    """The connections that a pool has made and not closed: for the end of those whose server hangs."""

    def __init__(self, pool: sa.Engine) -> None:
        self._engine = engine_of_dialect(pool.dialect.name)
        self._made: dict[int, Any] = {}
        sa.event.listen(pool, "connect", self._note)
        for end in ("close", "close_detached"):
            sa.event.listen(pool, end, self._forget)

    def cut_off(self) -> None:
        """Ends them all: what waits for an answer raises Unavailable at once, and the pool makes others."""
        for connection in list(self._made.values()):
            self._engine.cut_off(connection)

    def _note(self, connection: Any, _: object) -> None:
        self._made[id(connection)] = connection

    def _forget(self, connection: Any, _: object = None) -> None:
        self._made.pop(id(connection), None)


def with_fixed_names(engine: sa.Engine) -> sa.Engine:
    """An engine for our statements on the same pool: whatever its role and database are set to, their names resolve to ours.

    The engine that was given keeps its own transactions as they are. Source: docs/how-it-works.md, invariant 13.
    """
    return engine_of_dialect(engine.dialect.name).with_fixed_names(engine)


def checked_url(url: str | sa.URL) -> sa.URL:
    """The URL, its driver named, of a database of an engine that is known; nothing is loaded. Raises InvalidRequest."""
    parsed, engine = _parsed(url)
    parsed = once_each(parsed)
    driver = parsed.drivername.partition("+")[2] or engine.DRIVERS[0]
    if driver not in engine.DRIVERS:
        spoken = " and ".join(f"{engine.DIALECT}+{known}://" for known in engine.DRIVERS)
        raise InvalidRequest("url", shown(parsed), f"this version speaks {spoken}")
    if not parsed.database:
        raise InvalidRequest("url", shown(parsed), "name the database at its end, after the slash")
    return parsed.set(drivername=f"{engine.DIALECT}+{driver}")


def engine_of_url(url: str | sa.URL) -> Engine:
    """The engine that a URL names. Raises InvalidRequest, which never shows the URL's password."""
    return _parsed(url)[1]


def _parsed(url: str | sa.URL) -> tuple[sa.URL, Engine]:
    """A URL and its engine. Raises InvalidRequest."""
    try:
        parsed = as_url(url)
    except (exc.ArgumentError, ValueError) as error:
        raise InvalidRequest("url", "***", f"write it as {' or '.join(examples())}") from error
    if "@" in (parsed.host or "") or re.search("@.*/", parsed.database or ""):  # a password's rest, which errors would show
        raise InvalidRequest("url", "***", "in the password write @ as %40 and % as %25")
    written = parsed.drivername.partition("+")[0]
    for engine in ENGINES:
        if written in (engine.NAME, engine.DIALECT):
            return parsed, engine
    raise InvalidRequest("url", shown(parsed), f"this version speaks {' and '.join(examples())}")


def examples() -> list[str]:
    """How URLs are written, one for each engine."""
    return [engine.EXAMPLE for engine in ENGINES]


def is_retried(error: exc.DBAPIError) -> bool:
    """Whether the same work may succeed at another try from a savepoint on, in the same transaction."""
    engine = engine_of_error(error)
    return engine is not None and engine.is_retried(error)


def violates(error: exc.DBAPIError, *constraints: str) -> bool:
    """Whether one of these constraints of ours refused a row. A constraint of another program gives False."""
    engine = engine_of_error(error)
    name = None if engine is None else engine.violated(error)
    return name is not None and name.startswith(tuple(each.lower() for each in constraints))


def is_locked_out(error: BaseException | None) -> bool:
    """Whether a driver's error says that a lock was not to be had."""
    engine = engine_of_error(error)
    return engine is not None and isinstance(error, exc.DBAPIError) and engine.is_locked_out(error)


def is_out_of_locks(error: BaseException | None) -> bool:
    """Whether a driver's error says that the server has no room for another lock, so that the same work fails again."""
    engine = engine_of_error(error)
    return engine is not None and isinstance(error, exc.DBAPIError) and engine.is_out_of_locks(error)


def is_unreadable(error: BaseException | None) -> bool:
    """Whether a driver's error says that the server cannot give a value, such as one that is longer than it can send."""
    engine = engine_of_error(error)
    return engine is not None and isinstance(error, exc.DBAPIError) and engine.is_unreadable(error)


def is_missing(error: BaseException | None) -> bool:
    """Whether a driver's error says that a table, column, function or the like is not there."""
    engine = engine_of_error(error)
    return engine is not None and isinstance(error, exc.DBAPIError) and engine.is_missing(error)


def is_timed_out(error: BaseException | None) -> bool:
    """Whether a driver's error says that a lock was waited for in vain, for as long as the lock timeout says."""
    engine = engine_of_error(error)
    return engine is not None and isinstance(error, exc.DBAPIError) and engine.is_timed_out(error)


def message_of(error: BaseException | None) -> str:
    """What the database said in a driver's error, in one line; empty for another error."""
    engine = engine_of_error(error)
    return engine.message_of(error) if engine is not None and isinstance(error, exc.DBAPIError) else ""


def engine_of_error(error: BaseException | None) -> Engine | None:
    """The engine whose driver an error comes from; None for any other error, that of an unknown driver included."""
    package = type(getattr(error, "orig", None)).__module__.partition(".")[0]
    return next((engine for engine in ENGINES if package in engine.DRIVER_PACKAGES), None)


def _as_journal_error(error: exc.DBAPIError) -> JournalError:
    engine = engine_of_error(error)
    if engine is None:
        return DatabaseRefused(None, " ".join(str(error.orig).split()), f"its driver is unknown: use {' or '.join(examples())}")
    return engine.as_journal_error(error)


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
    except Exception as error:
        if type(error).__name__ != "ConnectionStringParseError":  # mssql-python's, of no class that SQLAlchemy knows
            raise
        raise InvalidRequest("url", "***", f"its options are not the driver's ({without_secrets(str(error))})") from error
