"""What tests of T-SQL share: an empty database, a plain connection to it, what a database is made of, and a grammar."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from tests.helpers import commit
from tests.sqlserver import babelfish, grammar

_CATALOG = {  # names in lower case, and no name that the server makes up: a stand-in mangles those of indexes
    "columns": """SELECT LOWER(t.name), LOWER(c.name), TYPE_NAME(c.user_type_id), c.max_length, c.is_nullable, c.is_identity
                  FROM sys.tables AS t JOIN sys.columns AS c ON c.object_id = t.object_id WHERE t.schema_id = SCHEMA_ID('dms')""",
    "indexes": """SELECT LOWER(t.name), LOWER(c.name), ic.key_ordinal, i.is_unique, i.is_primary_key
                  FROM sys.tables AS t JOIN sys.indexes AS i ON i.object_id = t.object_id
                  JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id
                  JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
                  WHERE t.schema_id = SCHEMA_ID('dms')""",
    "foreign keys": """SELECT LOWER(OBJECT_NAME(parent_object_id)), LOWER(OBJECT_NAME(referenced_object_id)),
                              delete_referential_action
                       FROM sys.foreign_keys WHERE schema_id = SCHEMA_ID('dms')""",
    "objects": """SELECT LOWER(name), type FROM sys.objects
                  WHERE schema_id = SCHEMA_ID('dms') AND type IN ('U', 'V', 'P', 'TR', 'SO')""",
    "triggers": "SELECT LOWER(name), LOWER(OBJECT_NAME(parent_id)), is_disabled FROM sys.triggers WHERE parent_class = 1",
}


def catalog(connection: sa.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Everything that schema dms of a SQL Server database is made of, whatever the order in which it was made."""
    found = {name: sorted((tuple(row) for row in commit(connection, query)), key=repr) for name, query in _CATALOG.items()}
    if ("alembic_version", "version_num") in {row[:2] for row in found["columns"]}:
        found["revision"] = [tuple(row) for row in commit(connection, "SELECT version_num FROM dms.alembic_version")]
    return found


@pytest.fixture
def empty(sqlserver_server, request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a database in which nothing is installed."""
    sqlserver_server.expect(request.node)
    with sqlserver_server.fresh_database() as url:
        yield url


@pytest.fixture
def admin(empty: str) -> Iterator[sa.Connection]:
    engine = sa.create_engine(empty, poolclass=sa.NullPool)
    with engine.connect() as connection:
        yield connection


@pytest.fixture(scope="module")
def database(sqlserver_server) -> Iterator[str]:
    """The URL of a database with option tracking, one for a module: installing it takes a stand-in many seconds."""
    from dmsjournal.schema import migrate

    with sqlserver_server.fresh_database() as url:
        migrate.upgrade(url, options=["tracking"])
        yield url


@pytest.fixture(scope="module")
def library(database: str) -> Iterator[dj.Journal]:
    """Its journal."""
    with dj.connect(database) as journal:
        yield journal


@pytest.fixture
def as_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our SQL as it is, also where a test before has put a stand-in's in its place."""
    monkeypatch.setattr("dmsjournal.database.sql.text_of", babelfish.shipped)
    monkeypatch.setattr("dmsjournal.schema.drift.COMPARED", babelfish.shipped_compared)


@pytest.fixture(scope="session")
def scriptdom(pytestconfig: pytest.Config) -> Path:
    """The library of Microsoft's T-SQL grammar, for grammar.parse."""
    try:
        return grammar.library(pytestconfig.cache.mkdir("scriptdom"))
    except grammar.Unreachable:
        pytest.skip("the package registry cannot be reached, which Microsoft's T-SQL grammar is fetched from")
