"""Connections to the database, and the driver's errors as ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from dmsjournal import statements
from dmsjournal.errors import InvalidRequest, JournalError, Unavailable, UnsupportedCapability

REVISION = "0007"  # the newest migration; this program reads nothing older

_DIALECTS = {"postgres": "postgresql", "sqlserver": "mssql"}  # what people write for the names that SQLAlchemy has
_DRIVERS = {"psycopg": "postgres"}  # the package that an error comes from; all others are of SQL Server's


def engine_for(url: str | sa.URL, connections: int | None = None, seconds: float | None = None) -> sa.Engine:
    """A pool of connections for a SQLAlchemy URL, so many at most, with so long for a login and for each statement at most.

    Raises InvalidRequest, which never shows the URL's password.
    """
    parsed = checked_url(url)
    name = statements.engine_name(parsed.get_backend_name())
    bounds = {} if connections is None else {"pool_size": connections, "max_overflow": 0, "hide_parameters": True}  # in logs
    engine: sa.Engine = module_of(name).engine_for(parsed, seconds, **bounds)
    text = statements.query(name, "connect").text

    def prepare(connection: Any, _: object) -> None:
        cursor = connection.cursor()
        cursor.execute(text)
        cursor.close()
        connection.commit()

    sa.event.listen(engine, "connect", prepare)
    return engine


def checked_url(url: str | sa.URL) -> sa.URL:
    """The URL, its driver named, of a database of an engine that is known; nothing is loaded. Raises InvalidRequest."""
    parsed, dialect = _parsed(url)
    drivers = module_of(statements.engine_name(dialect)).DRIVERS
    driver = parsed.drivername.partition("+")[2] or drivers[0]
    if driver not in drivers:
        spoken = " and ".join(f"{dialect}+{known}://" for known in drivers)
        raise InvalidRequest("url", shown(parsed), f"this version speaks {spoken}")
    if not parsed.database:
        raise InvalidRequest("url", shown(parsed), "name the database at its end, after the slash")
    return parsed.set(drivername=f"{dialect}+{driver}")


def engine_name_of(url: str | sa.URL) -> str:
    """The name of a URL's engine: postgres or sqlserver. Raises InvalidRequest, which never shows the URL's password."""
    return statements.engine_name(_parsed(url)[1])


def _parsed(url: str | sa.URL) -> tuple[sa.URL, str]:
    """A URL and the name of its dialect. Raises InvalidRequest."""
    try:
        parsed = sa.make_url(url)
    except (exc.ArgumentError, ValueError) as error:
        raise InvalidRequest("url", "***", f"write it as {' or '.join(examples())}") from error
    if "@" in (parsed.host or "") or re.search("@.*/", parsed.database or ""):  # a password's rest, which errors would show
        raise InvalidRequest("url", "***", "in the password write @ as %40 and % as %25")
    written = parsed.drivername.partition("+")[0]
    dialect = _DIALECTS.get(written, written)
    if dialect not in statements.ENGINES:
        raise InvalidRequest("url", shown(parsed), f"this version speaks {' and '.join(examples())}")
    return parsed, dialect


def module_of(engine: str) -> Any:
    """The module of dmsjournal.engines that knows an engine's drivers, URLs and errors."""
    return import_module(f"dmsjournal.engines.{engine}")


def examples() -> list[str]:
    """How URLs are written, one for each engine."""
    return [module_of(engine).EXAMPLE for engine in statements.ENGINES.values()]


def shown(url: sa.URL) -> str:
    """The URL without its secrets, wherever they stand in it."""
    hidden = {name: "hidden" if "pass" in name.lower() or name.lower() == "pwd" else value for name, value in url.query.items()}
    return url.set(query=hidden).render_as_string()


def is_retried(error: exc.DBAPIError) -> bool:
    """Whether the same work may succeed at another try from a savepoint on, in the same transaction."""
    return bool(_module_of(error).is_retried(error))


def is_duplicate(error: exc.DBAPIError) -> bool:
    """Whether a row with the same key was there."""
    return bool(_module_of(error).is_duplicate(error))


def is_locked_out(error: BaseException | None) -> bool:
    """Whether a driver's error says that a lock was not to be had."""
    return isinstance(error, exc.DBAPIError) and bool(_module_of(error).is_locked_out(error))


def message_of(error: BaseException | None) -> str:
    """What the database said in a driver's error, in one line; empty for another error."""
    return str(_module_of(error).message_of(error)) if isinstance(error, exc.DBAPIError) else ""


def _module_of(error: exc.DBAPIError) -> Any:
    return module_of(_DRIVERS.get(type(error.orig).__module__.partition(".")[0], "sqlserver"))


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
        raised: JournalError = _module_of(error).as_journal_error(error)
        raise raised from error
    except (exc.NoSuchModuleError, ModuleNotFoundError) as error:
        raise UnsupportedCapability(f"the database driver is missing ({error})", "install the driver that the URL names") from error
    except UnicodeEncodeError as error:
        raise InvalidRequest("value", error.object, "it holds an unpaired surrogate, which is no character") from error
    except Exception as error:
        if type(error).__name__ != "ConnectionStringParseError":  # mssql-python's, of no class that SQLAlchemy knows
            raise
        raise InvalidRequest("url", "***", f"its options are not the driver's ({error})") from error
