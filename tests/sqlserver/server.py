"""A SQL Server for the tests: the one that DMSJOURNAL_TEST_SQLSERVER_URL names, else a container, else none, with the reason.

DMSJOURNAL_TEST_SQLSERVER_RESTART is a shell command that kills the named one, without a shutdown, and starts it again.
"""

import itertools
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, cast
from unittest import mock

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.mssql.base import MSDialect

from tests.sqlserver import babelfish

IMAGE = "mcr.microsoft.com/mssql/server:2022-latest"
_JOURNALS = [f"DELETE FROM dms.{journal}Event" for journal in ("DocumentChange", "IdentityChange", "KeyChange", "DocumentDelete")]
EMPTY = [
    "ALTER SEQUENCE dms.ChangeVersionSequence RESTART WITH 0",  # a test may have left it at its end: a delete draws
    *_JOURNALS,  # first too: the sequence was set back, and tombstones have a stamp each
    *(f"DELETE FROM dms.{table}" for table in ("ReferenceEdge", "DocumentCache", "Document", "ResourceDependency", "ResourceKey")),
    *_JOURNALS,
    "DELETE FROM dms.JournalFloor",
    "INSERT INTO dms.JournalFloor (Journal, ChangeVersion) VALUES (N'DocumentChangeEvent', 0), (N'IdentityChangeEvent', 0),"
    " (N'KeyChangeEvent', 0), (N'DocumentDeleteEvent', 0)",
    "DELETE FROM dms.ChangeConsumer",
    "DELETE FROM dms.Lease",
    "DELETE FROM dms.FeedGeneration WHERE Generation > 1",
    "ALTER SEQUENCE dms.ChangeVersionSequence RESTART WITH 0",
    "DECLARE @none bigint = NEXT VALUE FOR dms.ChangeVersionSequence",
]
FROM_ONE = [  # ids begin at 1 again; where no row ever was, a reseed would let them begin at 0
    f"IF (SELECT last_value FROM sys.identity_columns WHERE object_id = OBJECT_ID('dms.{table}')) IS NOT NULL"
    f" DBCC CHECKIDENT ('dms.{table}', RESEED, 0)"
    for table in ("ResourceKey", "Document")
]


class SqlServer:
    """A server whose databases are made for one test each and dropped after it."""

    def __init__(self, url: str | sa.URL, kill_and_restart: Callable[[], object] | None = None) -> None:
        self.url = sa.make_url(url)
        self.kill_and_restart = kill_and_restart
        self._emptied: tuple[str, sa.Connection, list[int]] | None = None  # a connection that empties it, and its shape
        self._kept, self._kept_database = ExitStack(), ExitStack()
        self._kept_engines: dict[str, sa.Engine] = {}
        self._numbers = itertools.count(1)
        with self.connect(self._url("master")) as conn:
            self.is_babelfish = conn.exec_driver_sql("SELECT CAST(SERVERPROPERTY('Babelfish') AS int)").scalar_one() is not None
        if self.is_babelfish:
            self._kept.enter_context(mock.patch("dmsjournal.database.sql.text_of", babelfish.text_of))
            self._kept.enter_context(mock.patch("dmsjournal.schema.drift.COMPARED", babelfish.COMPARED))
            level = mock.patch.object(MSDialect, "get_default_isolation_level", return_value="READ COMMITTED")  # it does not tell
            self._kept.enter_context(level)
            self._migrate_by_one_connection()

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
                self._execute(f"ALTER DATABASE {name} SET ALLOW_SNAPSHOT_ISOLATION ON")
            yield self._url(name)
        finally:
            if not self.is_babelfish:
                self._execute(f"ALTER DATABASE {name} SET SINGLE_USER WITH ROLLBACK IMMEDIATE")
            self._drop(name)

    @contextmanager
    def copy_of_template(self) -> Iterator[str]:
        """The URL of a database in which the journal is installed and holds nothing. One is emptied again and again: installing
        takes a stand-in many seconds."""
        from dmsjournal.schema.migrate import upgrade

        if self._emptied is None or _shape(self._emptied[1]) != self._emptied[2]:
            url = self._kept_database.enter_context(self.fresh_database())
            upgrade(url)
            self._keep_connections_to(url)
            conn = self._kept_database.enter_context(self.connect(url))
            self._emptied = url, conn, _shape(conn)
        url, conn, _ = self._emptied
        for statement in EMPTY + (babelfish.FROM_ONE if self.is_babelfish else FROM_ONE):
            conn.exec_driver_sql(statement)
        yield url

    def alone(self) -> str:
        """The URL of the server, without a database of the tests: a stand-in may allow but one."""
        self._kept_database.close()
        self._emptied = None
        return self._url("master")

    def engine(self, url: str) -> sa.Engine:
        """Connections for a test's own SQL."""
        return self._kept_engines.get(url) or _engine(url, poolclass=sa.NullPool)

    def _keep_connections_to(self, url: str) -> None:
        """Journals share connections to the kept database, and tests share others: a stand-in needs seconds to warm each up."""
        from dmsjournal.database.connect import engine_for

        self._kept_engines[url] = _engine(url)
        sa.event.listen(self._kept_engines[url], "handle_error", _never_again)
        kept = engine_for(url)
        for close in (self._kept_engines.clear, self._kept_engines[url].dispose, kept.dispose):
            self._kept_database.callback(close)

        def dispose(close: bool = True) -> None:
            if not close:  # in a forked process
                kept.dispose(close=False)

        shared = mock.Mock(wraps=kept, dialect=kept.dialect, url=kept.url, dispose=dispose)
        sharing = mock.patch("dmsjournal.journal.engine_for", lambda asked: shared if asked == url else engine_for(asked))
        self._kept_database.enter_context(sharing)

    def _migrate_by_one_connection(self) -> None:
        """The parser of a stand-in is slow in each connection that is new to it, and a migration is many statements."""
        from dmsjournal.database.connect import engine_for

        kept, used = engine_for(self._url("master")), [""]
        self._kept_migration = kept
        self._kept.callback(kept.dispose)

        def use(connection: Any, database: str) -> None:
            cursor = connection.cursor()
            cursor.execute(f"USE [{database}]")
            cursor.close()
            connection.commit()

        sa.event.listen(kept, "checkout", lambda connection, *_: use(connection, used[0]))
        sa.event.listen(kept, "checkin", lambda connection, *_: connection and use(connection, "master"))
        sa.event.listen(kept, "handle_error", _never_again)

        def shared(url: str | sa.URL) -> sa.Engine:
            made = sa.make_url(url)
            if kept.url.set(database=made.database) != made or "master" in (made.database or "master"):
                return engine_for(url)
            used[0] = str(made.database)
            return cast("sa.Engine", mock.Mock(wraps=kept, dialect=kept.dialect, url=made, dispose=lambda: None))

        self._kept.enter_context(mock.patch("dmsjournal.schema.migrate.engine_for", shared))

    @contextmanager
    def connect(self, url: str) -> Iterator[sa.Connection]:
        """A connection that commits each statement."""
        engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        with engine.connect() as conn:
            yield conn

    def expect(self, item: pytest.Item) -> None:
        """For each test: what a stand-in is known not to do is expected to fail."""
        if self.is_babelfish:
            babelfish.expect(item)

    def close(self) -> None:
        self._kept_database.close()
        self._kept.close()

    def _url(self, database: str) -> str:
        from dmsjournal.database.connect import engine_for

        return engine_for(self.url.set(database=database)).url.render_as_string(hide_password=False)  # with its driver

    def _drop(self, name: str) -> None:
        for patience in range(300, -1, -1):  # a stand-in's sessions take their time to end
            try:
                return self._execute(f"DROP DATABASE {name}")
            except sa.exc.DBAPIError:
                if not (self.is_babelfish and patience):
                    raise
                if patience == 200:  # after ten seconds: end the sessions that are left
                    self._end_other_sessions()
                if patience == 150 and self.kill_and_restart is not None:  # one of a frozen client's, which KILL does not end
                    self._kept_migration.dispose()
                    self.kill_and_restart()
                time.sleep(0.1)

    def _end_other_sessions(self) -> None:
        """Of a stand-in, where nothing of the tests' runs but this."""
        with self.connect(self._url("master")) as conn:
            others = "datname IS NOT NULL AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
            for (pid,) in conn.exec_driver_sql(f"SELECT pid FROM pg_stat_activity WHERE {others}").all():
                with suppress(sa.exc.DBAPIError):  # it has ended meanwhile
                    conn.exec_driver_sql(f"KILL {pid}")

    def _execute(self, statement: str) -> None:
        with self.connect(self._url("master")) as conn:
            conn.exec_driver_sql(statement)


def _shape(conn: sa.Connection) -> list[int]:
    """What a test may change of a database by an option, or by taking something away: a stand-in drops triggers with a column."""
    counted = ("dms.alembic_version", "sys.triggers WHERE parent_class = 1", "sys.check_constraints", "sys.columns")
    return [conn.exec_driver_sql(f"SELECT COUNT(*) FROM {of}").scalar_one() for of in counted]


def _engine(url: str, **options: Any) -> sa.Engine:
    from dmsjournal.database.sqlserver import write_nulls

    engine = sa.create_engine(url, paramstyle="qmark", **options)
    write_nulls(engine)
    return engine


def _never_again(context: sa.engine.ExceptionContext) -> None:
    """A connection that met an error is not used again: a stand-in may have lost its way in it."""
    context.is_disconnect, context.invalidate_pool_on_disconnect = True, False


def _free_port() -> int:
    """Ours, since one that Docker chose is another one after a restart."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _kill_and_restart(container: Any, url: sa.URL) -> None:
    """Returns when the server answers again."""
    inner = container.get_wrapped_container()
    inner.kill()
    inner.start()
    for patience in range(120, -1, -1):
        try:
            SqlServer(url)
            return
        except sa.exc.DBAPIError:
            if not patience:
                raise
            time.sleep(1)


@contextmanager
def sqlserver() -> Iterator[SqlServer | str]:
    """The server, or why there is none."""
    url = os.environ.get("DMSJOURNAL_TEST_SQLSERVER_URL")
    if url:
        restart = os.environ.get("DMSJOURNAL_TEST_SQLSERVER_RESTART")
        server = SqlServer(url, (lambda: subprocess.run(restart, shell=True, check=True, timeout=120)) if restart else None)
        yield server
        server.close()
        return
    try:
        from testcontainers.community.mssql import SqlServerContainer
    except ImportError:
        yield "no SQL Server: DMSJOURNAL_TEST_SQLSERVER_URL is not set, and testcontainers is not installed"
        return
    try:
        container = SqlServerContainer(IMAGE, dialect="mssql+pyodbc").with_bind_ports(1433, _free_port()).start()
    except Exception as error:  # whatever a missing Docker raises
        yield f"no SQL Server: DMSJOURNAL_TEST_SQLSERVER_URL is not set, and Docker does not answer ({type(error).__name__})"
        return
    try:
        url = sa.make_url(container.get_connection_url()).update_query_dict({"TrustServerCertificate": "yes"})
        server = SqlServer(url, lambda: _kill_and_restart(container, url))
        yield server
        server.close()
    finally:
        container.stop()
