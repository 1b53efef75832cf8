"""Fixtures of all tests: a server a worker, a migrated template database on it, a copy of that a test.

Whatever is of the package is imported inside the fixtures, so that tests of one module run while another one is broken.
"""

import itertools
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import psutil
import pytest
import sqlalchemy as sa

if TYPE_CHECKING:
    import dmsjournal as dj
    from dmsjournal.testing.embedded import EmbeddedPostgres
    from tests.commands import Commands
    from tests.consumer import Consumer
    from tests.sqlserver.server import SqlServer

hypothesis.settings.register_profile("untimed", deadline=None)  # a busy machine is no fault
hypothesis.settings.load_profile("untimed")

Connections = list[sa.Connection]

ENGINES = ["postgres", "sqlserver"]  # an engine named here has a fixture "<engine>_server" with the methods of PostgresServer
ENGINES_OF = {"acceptance": ENGINES, "sqlserver": ENGINES[1:]}  # by folder: tests in words that both know, tests in T-SQL

SETTINGS = {
    "autovacuum": "on",
    "fsync": "off",  # a killed server loses nothing by these two, a machine that loses its power would
    "full_page_writes": "off",
    "max_connections": "200",
    "max_prepared_transactions": "20",
    "max_wal_size": "256MB",
    "shared_buffers": "128MB",
}


_SESSIONS = "SELECT EXISTS (SELECT FROM pg_stat_get_activity(NULL) JOIN pg_database ON oid = datid WHERE datname = %s)"


class PostgresServer:
    """A server whose databases are made for one test each and dropped after it, whoever is still connected."""

    def __init__(self, embedded: "EmbeddedPostgres") -> None:
        self.embedded = embedded
        if (
            int(embedded.version.split(".")[0]) >= 16
        ):  # a connection takes 4 ms, not 15: its password is hashed once, not 4,096 times
            password = sa.make_url(embedded.url()).password
            with self._admin.connect() as connection:
                connection.exec_driver_sql("SET scram_iterations = 1")
                connection.exec_driver_sql(f"ALTER ROLE postgres PASSWORD '{password}'")
        self._numbers = itertools.count(1)

    @contextmanager
    def fresh_database(self) -> Iterator[str]:
        """The URL of an empty database."""
        with self._database("template0") as url:
            yield url

    @contextmanager
    def copy_of_template(self) -> Iterator[str]:
        """The URL of a database in which the journal is installed and holds nothing."""
        with self._database(self._migrated) as url:
            yield url

    def engine(self, url: str) -> sa.Engine:
        """Connections for a test's own SQL."""
        return sa.create_engine(url, poolclass=sa.NullPool)

    def expect(self, item: pytest.Item) -> None:
        """For each test: it is expected to pass."""

    @cached_property
    def _migrated(self) -> str:
        from dmsjournal.schema.migrate import upgrade

        self._execute("CREATE DATABASE migrated TEMPLATE template0")
        upgrade(self.embedded.url("migrated"))
        return "migrated"

    @contextmanager
    def _database(self, template: str) -> Iterator[str]:
        name = f"test_{next(self._numbers)}"
        self._execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        try:
            yield self.embedded.url(name)
        finally:
            if self.embedded.running:  # a test that kills the server may leave it so
                self._await_end_of_sessions(name)
                self._execute(f"DROP DATABASE {name} WITH (FORCE)")

    def _await_end_of_sessions(self, name: str) -> None:
        """Waits for sessions that a test has closed and that are about to end: DROP DATABASE looks again after 100 ms only."""
        with self._admin.connect() as connection:
            for _ in range(10):
                if not connection.exec_driver_sql(_SESSIONS, (name,)).scalar():
                    return
                time.sleep(0.005)

    def _execute(self, statement: str) -> None:
        with self._admin.connect() as connection:
            connection.exec_driver_sql(statement)

    @cached_property
    def _admin(self) -> sa.Engine:
        """One connection for all databases that come and go; another one after a test that killed the server."""
        return sa.create_engine(self.embedded.url(), isolation_level="AUTOCOMMIT", pool_size=1, pool_pre_ping=True)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The worker's own server, of the binaries in DMSJOURNAL_TEST_POSTGRES_BIN if it is set."""
    from dmsjournal.testing.embedded import EmbeddedPostgres

    bin_dir = os.environ.get("DMSJOURNAL_TEST_POSTGRES_BIN")
    with folder_in_memory() as folder, EmbeddedPostgres(folder, settings=SETTINGS, bin_dir=bin_dir) as embedded:
        yield PostgresServer(embedded)


@contextmanager
def folder_in_memory() -> Iterator[Path | None]:
    """A folder in memory where there is plenty: a database is some 300 files, which take a disk ten times as long. Else None."""
    memory, plenty = Path("/dev/shm"), 8 << 30
    if not memory.is_dir() or min(shutil.disk_usage(memory).free, psutil.virtual_memory().available) < plenty:
        yield None
    else:
        with tempfile.TemporaryDirectory(prefix="dmsjournal-", dir=memory) as folder:
            yield Path(folder)


@pytest.fixture(scope="session")
def commands() -> "Iterator[Commands]":
    """Runs commands in processes of their own, without the second that each would take to import the package."""
    from tests.commands import Commands

    with Commands() as commands:
        yield commands


@pytest.fixture(scope="session")
def sqlserver_server() -> "Iterator[SqlServer]":
    """A SQL Server, if there is one here; else the test is skipped with the reason."""
    from tests.sqlserver.server import sqlserver

    with sqlserver() as server:
        if isinstance(server, str):
            pytest.skip(server)
        yield server


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Whatever uses a database of its own runs on the engines of its folder, on PostgreSQL where none are named."""
    own = {
        name for mark in metafunc.definition.iter_markers("parametrize") for name in str(mark.args[0]).replace(" ", "").split(",")
    }
    if "url" in metafunc.fixturenames and "url" not in own:
        engines = ENGINES_OF.get(metafunc.definition.path.parent.name, ["postgres"])
        metafunc.parametrize("url", engines, indirect=True)


@pytest.fixture
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of the database that `journal` and `connections` of the same test use."""
    server = request.getfixturevalue(f"{request.param}_server")
    server.expect(request.node)
    with server.copy_of_template() as url:
        yield url


@pytest.fixture
def journal(url: str) -> Iterator["dj.Journal"]:
    """A journal in a fresh copy of a migrated template database."""
    import dmsjournal as dj

    journal = dj.connect(url)
    yield journal
    journal.close()


@pytest.fixture
def connections(url: str, request: pytest.FixtureRequest) -> Iterator[Connections]:
    """Two connections to the database of `journal`, each in a transaction of its own from its first statement on."""
    name = "sqlserver" if url.startswith("mssql") else "postgres"
    engine = request.getfixturevalue(f"{name}_server").engine(url)
    with engine.connect() as first, engine.connect() as second:  # leaving it rolls back what is open
        yield [first, second]


@pytest.fixture
def consumer(journal: "dj.Journal", connections: Connections) -> "Consumer":
    """A consumer of `journal` that has read everything: see tests/consumer.py."""
    from tests.consumer import followed

    return followed(journal, connections[0])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Note a test's acceptance numbers in its report, because that is all a worker sends home."""
    for item in items:
        for marker in item.iter_markers("acceptance"):
            item.user_properties += [("acceptance", str(number)) for number in marker.args]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    numbers: dict[str, set[str]] = {}
    for outcome in ("passed", "failed", "error"):
        reports = terminalreporter.getreports(outcome)
        noted = (pair for report in reports for pair in getattr(report, "user_properties", ()))  # a collection has none
        numbers[outcome] = {str(value) for name, value in noted if name == "acceptance"}
    not_held = numbers["failed"] | numbers["error"]
    if numbers["passed"] | not_held:
        failed = f", {len(not_held)} with a test that failed: {', '.join(sorted(not_held))}" if not_held else ""
        terminalreporter.line(f"acceptance list: {len(numbers['passed'] - not_held)} numbers covered{failed}")
    for reason, count in reasons_of(terminalreporter.getreports("skipped")):
        terminalreporter.line(f"SKIPPED [{count}] {reason}")


def reasons_of(skipped: list[pytest.TestReport]) -> list[tuple[str, int]]:
    """Each reason with its number of tests, the most frequent first. `pytest -rs` shows where each test is."""
    reasons = (report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr) for report in skipped)
    return Counter(" ".join(reason.removeprefix("Skipped: ").split()) for reason in reasons).most_common()
