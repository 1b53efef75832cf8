"""Writers, a reader and an onlooker on one database, in an order that the test decides and never the clock.

A race is run by one thread wherever nobody waits for anybody. Where a writer must wait for another one, `Writer.blocked` starts
its call in a thread and returns once the server says that the session waits for a lock.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

import dmsjournal as dj

from .mutating import GATE, Edit, apply

PARENT = dj.ResourceKey("Race", "Parent", "1")
CHILD = dj.ResourceKey("Race", "Child", "1")
PATIENCE = 60  # seconds until a session that should wait for a lock, and does not, fails its test


class Writer:
    """A session of plain SQL, in a transaction from its first statement on. Calls return the stamp that was given."""

    def __init__(self, race: "Race", isolation: str = "READ COMMITTED") -> None:
        self.race = race
        self.conn = race.engine.connect().execution_options(isolation_level=isolation)
        self.pid: int = self.conn.connection.driver_connection.info.backend_pid  # type: ignore[union-attr]

    def sql(self, statement: str, **binds: object) -> sa.CursorResult[Any]:
        return self.conn.execute(sa.text(statement), binds)

    def value(self, statement: str, **binds: object) -> Any:
        return self.sql(statement, **binds).scalar_one()

    def commit(self) -> None:
        self.conn.commit()

    def rollback(self) -> None:
        self.conn.rollback()

    def create(self, resource: dj.ResourceKey = PARENT, key: object = None) -> tuple[int, int]:
        """The new document's id and stamp."""
        row = self.sql(
            "INSERT INTO dms.Document (ResourceKeyId, KeyValues) VALUES (:resource, CAST(:key AS jsonb)) "
            "RETURNING DocumentId, ContentVersion",
            resource=self.race.ids[resource],
            key=None if key is None else json.dumps({"key": key}),
        ).one()
        return row.documentid, row.contentversion

    def touch(self, document_id: int) -> int:
        statement = "UPDATE dms.Document SET ContentVersion = NULL WHERE DocumentId = :id RETURNING ContentVersion"
        return int(self.value(statement, id=document_id))

    def rename(self, document_id: int, key: object) -> int:
        statement = "UPDATE dms.Document SET KeyValues = CAST(:key AS jsonb) WHERE DocumentId = :id RETURNING IdentityVersion"
        return int(self.value(statement, id=document_id, key=json.dumps({"key": key})))

    def delete(self, document_id: int) -> int:
        """The tombstone's stamp."""
        self.sql("DELETE FROM dms.Document WHERE DocumentId = :id", id=document_id)
        return int(self.value("SELECT ChangeVersion FROM dms.DocumentDeleteEvent WHERE DocumentId = :id", id=document_id))

    def refer(self, parent_id: int, child_id: int) -> int:
        """The parent's local version afterwards, as after unrefer and repoint."""
        self.sql("INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (:p, :c)", p=parent_id, c=child_id)
        return self.local(parent_id)

    def unrefer(self, parent_id: int, child_id: int) -> int:
        self.sql("DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId = :p AND ChildDocumentId = :c", p=parent_id, c=child_id)
        return self.local(parent_id)

    def repoint(self, parent_id: int, child_id: int, to: int) -> int:
        self.sql(
            "UPDATE dms.ReferenceEdge SET ChildDocumentId = :to WHERE ParentDocumentId = :p AND ChildDocumentId = :c",
            p=parent_id,
            c=child_id,
            to=to,
        )
        return self.local(parent_id)

    def local(self, document_id: int) -> int:
        statement = "SELECT greatest(ContentVersion, IdentityVersion) FROM dms.Document WHERE DocumentId = :id"
        return int(self.value(statement, id=document_id))

    def blocked(self, call: Callable[[], Any]) -> "Future[Any]":
        """Starts the call, which uses this session, and returns once the session waits for a lock."""
        return self.race.blocked(call, self.pid)


class Reader:
    """A consumer: one window after the other, each up to the horizon, page by page."""

    def __init__(self, journal: dj.Journal, resource: dj.ResourceKey = PARENT, page_size: int = 2) -> None:
        self.journal, self.resource, self.page_size = journal, resource, page_size
        self.passed = 0
        self.seen: dict[int, int] = {}
        self.deleted: set[int] = set()

    def step(self) -> list[int]:
        """Reads the next window; the ids of its changes, in order."""
        newest = self.journal.versions().newest
        if newest <= self.passed:
            return []
        first = self.passed + 1
        window = dj.Window(first, newest)
        walk = self.journal.changes(self.resource, window, page_size=self.page_size)
        changes = list(walk)
        assert walk.through == newest, "a window that ends at a horizon was cut"
        positions = [(change.change_version, change.document_id) for change in changes]
        assert positions == sorted(set(positions)), "out of order"
        assert len({change.document_id for change in changes}) == len(changes), "a document twice in one walk"
        for change in changes:
            assert first <= change.change_version <= newest, "outside the window"
            self.seen[change.document_id] = change.change_version
        self.deleted |= {delete.document_id for delete in self.journal.deletes(self.resource, window, page_size=self.page_size)}
        self.passed = newest
        return [change.document_id for change in changes]


class Race:
    """A database of its own: two sessions, a reader that has read nothing, and an onlooker.

    `mutation`: edits that the database's functions and views are made with.
    """

    def __init__(self, url: str, mutation: Sequence[Edit] = ()) -> None:
        self.url, self.mutation = url, mutation
        self.edit()
        self.engine = sa.create_engine(url, poolclass=sa.NullPool)
        self.onlooker = self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        self.ids: dict[dj.ResourceKey, int] = {
            resource: self.look(
                "INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion) "
                "VALUES (:p, :n, :v) RETURNING ResourceKeyId",
                p=resource.project_name,
                n=resource.resource_name,
                v=resource.resource_version,
            ).scalar_one()
            for resource in (PARENT, CHILD)
        }
        self.journal = dj.connect(url)
        self.reader = Reader(self.journal)
        self._threads = ThreadPoolExecutor(16)
        self._writers: list[Writer] = []
        self.first, self.second = self.writer(), self.writer()

    def close(self) -> None:
        for writer in self._writers:
            if self._waiting() & {writer.pid}:  # in vain: its call fails, so that its thread ends
                self.look("SELECT pg_terminate_backend(:pid)", pid=writer.pid)
        self._threads.shutdown()
        for prepared in self.look("SELECT gid FROM pg_prepared_xacts WHERE database = current_database()").scalars().all():
            self.look(f"ROLLBACK PREPARED '{prepared}'")
        for conn in (*(writer.conn for writer in self._writers), self.onlooker):
            conn.close()
        self.journal.close()

    def edit(self, *edits: Edit) -> None:
        """Edits shipped functions, such as GATES, and then mutates them as the race is mutated."""
        apply(self.url, *edits, *self.mutation)

    def writer(self, isolation: str = "READ COMMITTED") -> Writer:
        self._writers.append(Writer(self, isolation))
        return self._writers[-1]

    def committed(self, *calls: Callable[[Writer], Any]) -> list[Any]:
        """What each call returned, each in a transaction of its own."""
        results = []
        for call in calls:
            results.append(call(self.first))
            self.first.commit()
        return results

    def look(self, statement: str, **binds: object) -> sa.CursorResult[Any]:
        return self.onlooker.execute(sa.text(statement), binds)

    def blocked(self, call: Callable[[], Any], pid: int | None = None) -> "Future[Any]":
        """Starts the call in a thread and returns once its session (any session of dmsjournal without a pid) waits for a lock."""
        before = set() if pid else self._waiting()
        future = self._threads.submit(call)
        deadline = time.monotonic() + PATIENCE
        while not ({pid} & self._waiting() if pid else self._waiting() - before):
            if future.done():
                raise AssertionError(f"it waited for nobody and returned {future.result()}")
            assert time.monotonic() < deadline, "it waits for no lock"
            time.sleep(0.005)
        return future

    def _waiting(self) -> set[int]:
        return set(
            self.look(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
                "AND cardinality(pg_blocking_pids(pid)) > 0"
            ).scalars()
        )

    @contextmanager
    def closed_gate(self) -> Iterator[None]:
        """While it is closed, a function that a test has given a gate waits there; see mutating.GATE."""
        with self.engine.connect() as conn:
            conn.execute(sa.text("SELECT pg_advisory_xact_lock(:gate)"), {"gate": GATE})
            yield

    def missed(self) -> dict[int, tuple[int | None, int]]:
        """What a reader that is up to date does not know: document, version it saw last, version that derive reports."""
        while self.reader.step():
            pass
        live = list(
            self.look("SELECT DocumentId FROM dms.Document WHERE ResourceKeyId = :r", r=self.ids[self.reader.resource]).scalars()
        )
        derived = self.journal.derive(live)
        versions = {i: (self.reader.seen.get(i), derived[i].change_version) for i in live}
        return {i: (seen, now) for i, (seen, now) in versions.items() if seen != now}

    def wrongly_stored(self) -> list[tuple[int, int, int]]:
        """Documents that option max_dep_identity_version has at another version than derived, where it says that it is exact.

        A document, its stored version, its derived one.
        """
        return [
            tuple(row)
            for row in self.look(
                "SELECT * FROM (SELECT d.DocumentId, "
                "greatest(d.ContentVersion, d.IdentityVersion, d.MaxDepIdentityVersion) AS stored, "
                "greatest(d.ContentVersion, d.IdentityVersion, (SELECT max(c.IdentityVersion) FROM dms.ReferenceEdge AS e "
                "JOIN dms.Document AS c ON c.DocumentId = e.ChildDocumentId WHERE e.ParentDocumentId = d.DocumentId)) AS derived "
                "FROM dms.Document AS d WHERE NOT EXISTS (SELECT FROM dms.MaxDepIdentityPending)) AS versions "
                "WHERE stored <> derived"
            )
        ]

    def newest(self) -> int:
        return self.journal.versions().newest

    def sequence(self) -> int:
        return int(self.look("SELECT coalesce(pg_sequence_last_value('dms.changeversionsequence'), 0)").scalar_one())
