"""A SQL Server for the tests: the one that DMSJOURNAL_TEST_SQLSERVER_URL names, else a container, else none, with the reason."""

import itertools
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest import mock

import sqlalchemy as sa

from tests.sqlserver import babelfish

IMAGE = "mcr.microsoft.com/mssql/server:2022-latest"
EMPTY = [
    *(f"DELETE FROM dms.{table}" for table in ("ReferenceEdge", "DocumentCache", "Document", "ResourceDependency", "ResourceKey")),
    *(f"DELETE FROM dms.{journal}Event" for journal in ("DocumentChange", "IdentityChange", "KeyChange", "DocumentDelete")),
    "UPDATE dms.JournalFloor SET ChangeVersion = 0",
    "DELETE FROM dms.ChangeConsumer",
    "ALTER SEQUENCE dms.ChangeVersionSequence RESTART WITH 0",
    "DECLARE @none bigint = NEXT VALUE FOR dms.ChangeVersionSequence",
]
FROM_ONE = [f"DBCC CHECKIDENT ('dms.{table}', RESEED, 0)" for table in ("ResourceKey", "Document")]  # ids begin at 1 again


class SqlServer:
    """A server whose databases are made for one test each and dropped after it."""

    def __init__(self, url: str | sa.URL) -> None:
        self.url = sa.make_url(url)
        self._emptied: str | None = None
        self._kept, self._kept_database = ExitStack(), ExitStack()
        self._numbers = itertools.count(1)
        with self.connect(self._url("master")) as conn:
            self.version: str = conn.exec_driver_sql("SELECT @@VERSION").scalar_one()
        self.is_babelfish = "babelfish" in self.version.lower()
        if self.is_babelfish:
            self._kept.enter_context(mock.patch("dmsjournal.statements.text_of", babelfish.text_of))

    @contextmanager
    def fresh_database(self) -> Iterator[str]:
        """The URL of an empty database. The one that is kept makes room for it: a stand-in may allow but one."""
        self._kept_database.close()
        self._emptied = None
        name = f"test_{os.getpid()}_{next(self._numbers)}"
        self._execute(f"CREATE DATABASE {name}")
        try:
            if not self.is_babelfish:
                self._execute(f"ALTER DATABASE {name} SET READ_COMMITTED_SNAPSHOT ON")
            yield self._url(name)
        finally:
            if not self.is_babelfish:
                self._execute(f"ALTER DATABASE {name} SET SINGLE_USER WITH ROLLBACK IMMEDIATE")
            self._execute(f"DROP DATABASE {name}")

    @contextmanager
    def copy_of_template(self) -> Iterator[str]:
        """The URL of a database in which the journal is installed and holds nothing. One is emptied again and again: installing
        takes a stand-in many seconds."""
        from dmsjournal.migrating import upgrade

        if self._emptied is None:
            url = self._kept_database.enter_context(self.fresh_database())
            upgrade(url)
            self._emptied = url
        with self.connect(self._emptied) as conn:
            for statement in EMPTY + (babelfish.FROM_ONE if self.is_babelfish else FROM_ONE):
                conn.exec_driver_sql(statement)
        yield self._emptied

    @contextmanager
    def connect(self, url: str) -> Iterator[sa.Connection]:
        """A connection that commits each statement."""
        engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        with engine.connect() as conn:
            yield conn

    def close(self) -> None:
        self._kept_database.close()
        self._kept.close()

    def _url(self, database: str) -> str:
        from dmsjournal.connecting import engine_for

        return engine_for(self.url.set(database=database)).url.render_as_string(hide_password=False)  # with its driver

    def _execute(self, statement: str) -> None:
        with self.connect(self._url("master")) as conn:
            conn.exec_driver_sql(statement)


@contextmanager
def sqlserver() -> Iterator[SqlServer | str]:
    """The server, or why there is none."""
    url = os.environ.get("DMSJOURNAL_TEST_SQLSERVER_URL")
    if url:
        server = SqlServer(url)
        yield server
        server.close()
        return
    try:
        from testcontainers.community.mssql import SqlServerContainer
    except ImportError:
        yield "no SQL Server: DMSJOURNAL_TEST_SQLSERVER_URL is not set, and testcontainers is not installed"
        return
    try:
        container = SqlServerContainer(IMAGE, dialect="mssql+pyodbc").start()
    except Exception as error:  # whatever a missing Docker raises
        yield f"no SQL Server: DMSJOURNAL_TEST_SQLSERVER_URL is not set, and Docker does not answer ({type(error).__name__})"
        return
    try:
        server = SqlServer(sa.make_url(container.get_connection_url()).update_query_dict({"TrustServerCertificate": "yes"}))
        yield server
        server.close()
    finally:
        container.stop()
