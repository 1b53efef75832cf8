"""The engines that this version speaks."""

from __future__ import annotations

import sqlalchemy as sa

from dmsjournal.database import postgres, sqlserver
from dmsjournal.database.engine import Engine
from dmsjournal.errors import InvalidRequest, near_matches

ENGINES: tuple[Engine, ...] = (postgres, sqlserver)
DEFAULT = postgres.NAME  # of a script, where neither an engine nor a URL is named


def engine_of_dialect(dialect: str) -> Engine:
    """The engine of a dialect of SQLAlchemy's. Raises InvalidRequest."""
    for engine in ENGINES:
        if dialect == engine.DIALECT:
            return engine
    raise InvalidRequest("url", f"{dialect}://", f"this version speaks {' and '.join(engine.EXAMPLE for engine in ENGINES)}")


def engine_of(conn: sa.Connection | sa.Engine) -> Engine:
    """The engine of a connection, or of a pool. Raises InvalidRequest."""
    return engine_of_dialect(conn.dialect.name)


def engine_named(name: str) -> Engine:
    """The engine by its NAME. Raises InvalidRequest."""
    for engine in ENGINES:
        if name == engine.NAME:
            return engine
    raise InvalidRequest("engine", name, near_matches(name, [engine.NAME for engine in ENGINES]))
