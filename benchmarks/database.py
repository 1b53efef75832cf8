"""The benchmark's own databases, and the SQL files beside this one."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import MappingProxyType

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from dmsjournal.testing.embedded import EmbeddedPostgres

SQL = Path(__file__).parent / "sql"
LOGICAL = {"wal_level": "logical", "max_replication_slots": "4"}  # for benchmarks/feed.py: it has writers log more
EMBEDDED_SETTINGS = {"shared_buffers": "1GB", "max_wal_size": "8GB", "fsync": "off"}  # see benchmarks/write.py


@contextmanager
def server(url: str | None, settings: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """The URL that was given, or an embedded server's for as long as the block lasts, with settings of its own."""
    if url is not None:
        yield url
        return
    with EmbeddedPostgres(settings=EMBEDDED_SETTINGS | dict(settings)) as embedded:
        yield embedded.url()


@contextmanager
def scratch(server_url: str, name: str, *, keep: bool) -> Iterator[str]:
    """The URL of a database of our own, so that nobody's data are touched; dropped at both ends unless it is kept."""
    with connect(server_url) as admin:
        if not keep:
            admin.exec_driver_sql(f"DROP DATABASE IF EXISTS {name}")
        if not admin.scalar(sa.text("SELECT true FROM pg_database WHERE datname = :name"), {"name": name}):
            admin.exec_driver_sql(f"CREATE DATABASE {name}")
        try:
            yield sa.make_url(server_url).set(database=name).render_as_string(hide_password=False)
        finally:
            if not keep:
                admin.exec_driver_sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@contextmanager
def connect(url: str, *, prepare: bool = False, **settings: str) -> Iterator[sa.Connection]:
    """A session of its own, in which each statement is one transaction; `settings` are PostgreSQL's.

    `prepare` lets the driver prepare a statement that it has run five times; without, each run is planned for its own
    values, as the package's own readers have it.
    """
    arguments: dict[str, object] = {"options": " ".join(f"-c {name}={value}" for name, value in settings.items())}
    if not prepare:
        arguments["prepare_threshold"] = None
    engine = sa.create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT", connect_args=arguments)
    with engine.connect() as connection:
        yield connection


def script(connection: sa.Connection, name: str) -> None:
    """Run a file of several statements as one transaction."""
    text = (SQL / f"{name}.sql").read_text()
    connection.exec_driver_sql(text, execution_options={"no_parameters": True})


@cache
def exists(name: str) -> bool:
    return (SQL / f"{name}.sql").exists()


@cache
def query(name: str) -> sa.TextClause:
    """The one statement of a file, with its binds."""
    return sa.text((SQL / f"{name}.sql").read_text())


def create_baseline(url: str, schema: str) -> None:
    """The tables in a schema named after a directory of SQL files, and its capture, if it has one."""
    with connect(url) as connection:
        for name in (f"{schema}/schema", "tables", f"{schema}/capture"):
            if exists(name):
                script(connection, name)
