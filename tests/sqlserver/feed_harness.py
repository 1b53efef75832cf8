"""The conformance suite of feeds on the tests' SQL Server, or what stands in for it:

DMSJOURNAL_FEED_HARNESS=tests.sqlserver.feed_harness:TestsSqlServer pytest --pyargs dmsjournal.testing.conformance

TestsSqlServerWithOptions is the same with all that options add to the feed; both may be named, with a blank between them.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from dmsjournal.schema import migrate
from dmsjournal.testing.conformance.databases import OPTIONS, JournalSource
from dmsjournal.testing.conformance.harness import NotHere
from tests.sqlserver.server import sqlserver


class TestsSqlServer:
    __test__ = False
    name = "sqlserver"
    options: Sequence[str] = ()

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> "TestsSqlServer":
        server = self._stack.enter_context(sqlserver())
        if isinstance(server, str):
            raise NotHere(server)
        self._server = server
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @contextmanager
    def source(self) -> Iterator[JournalSource]:
        with self._server.copy_of_template() as url:
            if self.options:
                migrate.upgrade(url, options=self.options)
            source = JournalSource(url)
            yield source
            source.provider.close()


class TestsSqlServerWithOptions(TestsSqlServer):
    name = "sqlserver with options"
    options = OPTIONS
