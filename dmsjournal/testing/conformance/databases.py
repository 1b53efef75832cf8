"""Harnesses of the journals: PostgreSQL, embedded or the one of DMSJOURNAL_CONFORMANCE_URL; SQL Server where a URL names one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from uuid import uuid4

import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.database.connect import engine_for
from dmsjournal.feed import FeedProvider
from dmsjournal.testing.conformance.harness import NotHere

ITEM = dj.ResourceKey("Conformance", "Item", "1")
OPTIONS = ("images", "context")


class JournalSource:
    """An empty journal. What only a database can do to itself is plain SQL that both engines take."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.provider = dj.connect(url)

    def another(self) -> AbstractContextManager[FeedProvider]:
        """Another journal of the same database."""
        return dj.connect(self.url)

    def create(self, number: int, body: Mapping[str, object]) -> None:
        """Adds a document."""
        with self.provider.write() as tx:
            tx.upsert(dj.Document(ITEM, {"number": number}, body))

    update = create

    def delete(self, number: int) -> None:
        """Deletes it."""
        with self.provider.write() as tx:
            tx.delete(ITEM, {"number": number})

    def update_as(self, number: int, body: Mapping[str, object], user: str) -> None:
        """Changes it, in a transaction with a context."""
        with self.provider.write(dj.Context(user=user)) as tx:
            tx.upsert(dj.Document(ITEM, {"number": number}, body))

    def rename_with_referrer(self, number: int, referrer: int) -> None:
        """The key gets another value besides the number."""
        with self.provider.write() as tx:
            tx.upsert(dj.Document(ITEM, {"number": referrer}, {}, [dj.Reference(ITEM, {"number": number})]))
        with self.provider.write() as tx:
            tx.rekey(ITEM, {"number": number}, {"number": number, "renamed": True})

    def number_of(self, key_values: Mapping[str, object]) -> int:
        """Its key."""
        number = key_values["number"]
        assert isinstance(number, int)
        return number

    def expire(self) -> None:
        """Prunes everything."""
        self.provider.prune(self.provider.versions().newest)

    def restore_earlier(self) -> None:
        """Takes the newest event away, as the database was before it; what it says of documents is not looked at."""
        newest = self.provider.versions().newest
        for journal in ("DocumentChangeEvent", "DocumentDeleteEvent"):
            self._run(f"DELETE FROM dms.{journal} WHERE ChangeVersion = {newest}")

    def change_partitions(self, count: int) -> None:
        """Begins a generation of buckets."""
        self.provider.change_bucket_count(count)

    def _run(self, statement: str) -> None:
        with self.provider.database.pool.begin() as conn:
            conn.exec_driver_sql(statement)


class Postgres:
    """Databases of a PostgreSQL server, each a copy of one that was installed once."""

    name = "postgresql"
    options: Sequence[str] = ()

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._url = sa.URL.create("postgresql+psycopg")

    def __enter__(self) -> Postgres:
        given = os.environ.get("DMSJOURNAL_CONFORMANCE_URL")
        if given:
            self._url = sa.make_url(given)
        else:
            try:
                from dmsjournal.testing.embedded import EmbeddedPostgres

                server = self._stack.enter_context(EmbeddedPostgres(settings={"fsync": "off"}))
            except dj.JournalError as error:
                raise NotHere(f"no PostgreSQL: {error}; or set DMSJOURNAL_CONFORMANCE_URL") from error
            self._url = sa.make_url(server.url())
        self._template = self._made("template0")
        from dmsjournal.schema import migrate

        migrate.upgrade(self._of(self._template), options=self.options)
        return self

    def __exit__(self, *error: object) -> None:
        self._admin(f"DROP DATABASE {self._template}")
        self._stack.close()

    @contextmanager
    def source(self) -> Iterator[JournalSource]:
        """A journal in a database of its own."""
        name = self._made(self._template)
        source = JournalSource(self._of(name))
        try:
            yield source
        finally:
            source.provider.close()
            self._admin(f"DROP DATABASE {name} WITH (FORCE)")

    def _of(self, name: str) -> str:
        return self._url.set(database=name).render_as_string(hide_password=False)

    def _made(self, template: str) -> str:
        name = f"conformance_{uuid4().hex[:12]}"
        self._admin(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def _admin(self, statement: str) -> None:
        engine = engine_for(self._url)
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
            conn.exec_driver_sql(statement)  # it names no function, no operator and no table
        engine.dispose()


class PostgresWithOptions(Postgres):
    """The same with all that options add to the feed."""

    name = "postgresql with options"
    options = OPTIONS


class SqlServer:
    """One database of a SQL Server, which the environment names and this empties by removing and installing the journal."""

    name = "sqlserver"
    options: Sequence[str] = ()

    def __enter__(self) -> SqlServer:
        url = os.environ.get("DMSJOURNAL_CONFORMANCE_SQLSERVER_URL")
        if not url:
            raise NotHere("no SQL Server: set DMSJOURNAL_CONFORMANCE_SQLSERVER_URL to an empty database's URL")
        self._url = url
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is kept open."""

    @contextmanager
    def source(self) -> Iterator[JournalSource]:
        """The journal, installed anew."""
        from dmsjournal.schema import migrate

        migrate.upgrade(self._url, options=self.options)
        source = JournalSource(self._url)
        try:
            yield source
        finally:
            source.provider.close()
            source._run("DELETE FROM dms.Document")
            migrate.downgrade(self._url, "base")


class SqlServerWithOptions(SqlServer):
    """The same with all that options add to the feed."""

    name = "sqlserver with options"
    options = OPTIONS
