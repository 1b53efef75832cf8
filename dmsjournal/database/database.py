"""One database: its pool, its engine, and what a program knows of it so far."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import sqlalchemy as sa

from dmsjournal.database.connect import message_of, translated, with_fixed_names
from dmsjournal.database.engines import engine_of
from dmsjournal.database.horizon import Horizon
from dmsjournal.database.lock_holders import naming_holders
from dmsjournal.database.resource_ids import ResourceIds
from dmsjournal.database.revisions import REVISION, journal_revision, option_of
from dmsjournal.database.session import Session
from dmsjournal.database.urls import shown
from dmsjournal.errors import DatabaseRefused, NotInstalled, Unavailable
from dmsjournal.model.resources import ResourceKey


class Database:
    """A database that has a journal: sessions in it, its horizon, the ids of its resources, and its options.

    Threads may share it. `options` are those that the database had when it was last looked at; `is_known` says whether it was.
    """

    def __init__(self, pool: sa.Engine) -> None:
        self.pool, self.engine = with_fixed_names(pool), engine_of(pool)
        self.horizon = Horizon()
        self.resource_ids = ResourceIds()
        self.options: frozenset[str] = frozenset()
        self.is_known = False
        self.held: dict[str, Callable[[Session], None]] = {}  # consumers that this program holds: what keeps each in a transaction
        self._ids_of = ""  # the history that the resource ids were read in
        self._process = os.getpid()

    def __repr__(self) -> str:
        return f"Database({shown(self.pool.url)!r})"

    def close(self) -> None:
        """Closes the pool's connections."""
        self.pool.dispose()

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A connection in a transaction of its own. Each statement has a snapshot of its own (READ COMMITTED)."""
        with self.connection() as conn, conn.begin():
            yield Session(conn, options=self.options)

    def session_with(self, option: str) -> AbstractContextManager[Session]:
        """A session in which an option is known if the database has it."""
        self.look_for(option)
        return self.session()

    def look_for(self, option: str) -> None:
        """Reads the options again where this one was not there: it may have come since."""
        if option not in self.options:
            self.look()

    @contextmanager
    def connection(self) -> Iterator[sa.Connection]:
        """A connection outside of any transaction. Raises NotInstalled, Unavailable, DatabaseRefused."""
        if self._process != os.getpid():  # a fork: the connections are the parent's, and stay open for it
            self.pool.dispose(close=False)
            self._process = os.getpid()
        try:
            if not self.is_known:
                self.look()
            with naming_holders(self.pool), translated(), self.pool.connect() as conn:
                yield conn
        except NotInstalled as error:
            self.is_known = False
            raise self._missing(error) from error.__cause__

    def _missing(self, error: NotInstalled) -> NotInstalled | Unavailable | DatabaseRefused:
        """What it means that a statement missed an object: the revisions are compared first."""
        revisions = self._revisions()
        found = journal_revision(revisions)
        if found is None or found < REVISION or error.__cause__ is None:
            return NotInstalled(found, error.needed, self._installing_command())
        if self.options - {option_of(revision) for revision in revisions}:
            return Unavailable("an option of the journal was removed meanwhile")
        if found > REVISION:
            remedy = f"the journal is at revision {found}, newer than this program's {REVISION}: use the release that installed it"
        else:
            remedy = "it was dropped or renamed: `dmsjournal verify` names what is missing, and what to do"
        return DatabaseRefused(None, message_of(error.__cause__), remedy)

    def look(self) -> None:
        """Reads which options there are. Raises NotInstalled where the journal is absent or older.

        Raises DatabaseRefused for a role that may not read the revisions: an option's part of an answer would be missing.
        """
        revisions = self._revisions()
        found = journal_revision(revisions)
        if found is None or found < REVISION:
            raise NotInstalled(found, REVISION, self._installing_command())
        self.options = frozenset(name for revision in revisions if (name := option_of(revision)))
        self.is_known = True

    @contextmanager
    def at_horizon(self) -> Iterator[tuple[Session, int]]:
        """A session to read a page in, and the horizon.

        The horizon is read in a statement of its own, so that the page's snapshot holds everything up to it (invariant 5).
        """
        with self.session() as session:
            horizon = self.horizon.read(session, "database/begin_page")
            if self._ids_of != self.horizon.history:  # the ids may be others
                self.resource_ids.refresh(session)
                self._ids_of = self.horizon.history
            yield session, horizon

    @contextmanager
    def reading(self, resource: ResourceKey) -> Iterator[tuple[Session, int, int]]:
        """A session to read a page of a resource in, the resource's id, and the horizon. Raises InvalidRequest."""
        with self.at_horizon() as (session, horizon):
            yield session, self.resource_ids.id_of(session, resource), horizon

    def _installing_command(self) -> str:
        with translated(), self.pool.begin() as conn:
            return Session(conn).installing_command()

    def _revisions(self) -> list[str]:
        """The revisions that are installed, the journal's and the options'; none where nothing is."""
        try:
            with naming_holders(self.pool), translated(), self.pool.begin() as conn:
                session = Session(conn)
                session.execute("database/hold_versions")
                return list(session.execute("database/revisions").scalars())
        except NotInstalled:
            return []
