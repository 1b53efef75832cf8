"""Random histories of two interleaved sessions: the journal answers what the model says, after each step (invariants 1 to 7)."""

import json
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

import dmsjournal as dj
from dmsjournal.operate.prune import JOURNALS
from dmsjournal.schema import migrate
from tests.feeds import walk

from .model import Doc, Edge, Event, KeyEvent, State, Tombstone, check_statement, difference, stamped_by_edges

RESOURCES = [dj.ResourceKey("Model", name, "1") for name in ("School", "Student", "Plan")]
SIZES = (1, 2, 7, 500)
# Referred to or missing; there already; an older snapshot; locked by the other session.
REFUSED = {"23503", "23505", "40001", "55P03"}


class Refused(Exception):
    """The database refused the statement and said why; nothing of it stands."""


@dataclass
class Standing:
    """What stands of a session's transaction; a savepoint keeps a copy."""

    docs: dict[int, Doc | None] = field(default_factory=dict)
    edges: dict[Edge, bool] = field(default_factory=dict)
    tombstones: tuple[Tombstone, ...] = ()
    key_events: tuple[KeyEvent, ...] = ()
    events: tuple[Event, ...] = ()
    own: frozenset[int] = frozenset()  # the documents that the transaction has stamped
    floor: int | None = None

    def copy(self) -> "Standing":
        return Standing(dict(self.docs), dict(self.edges), self.tombstones, self.key_events, self.events, self.own, self.floor)

    def over(self, base: State) -> State:
        state = base.copy()
        for i, doc in self.docs.items():
            if doc is None:
                state.docs.pop(i, None)
            else:
                state.docs[i] = doc
        kept = {edge for edge in state.edges if self.edges.get(edge, True)} | {edge for edge, there in self.edges.items() if there}
        state.edges = frozenset((p, c) for p, c in kept if p in state.docs and c in state.docs)
        state.tombstones += self.tombstones
        state.key_events += self.key_events
        state.events += self.events
        return state


class Session:
    def __init__(self, engine: sa.Engine, isolation: str) -> None:
        self.conn = engine.connect().execution_options(isolation_level=isolation)
        self.isolation = isolation
        self.snapshot: State | None = None
        self.standing = Standing()
        self.savepoints: list[Standing] = []

    def end(self) -> None:
        self.snapshot, self.standing, self.savepoints = None, Standing(), []


class Database:
    """One database for all histories of a test; each begins with no rows, and goes on with the sequence."""

    def __init__(self, url: str) -> None:
        # Nothing prepared: after a ROLLBACK the driver would deallocate, which takes a snapshot before its time in REPEATABLE READ.
        self.engine = sa.create_engine(url, connect_args={"options": "-c lock_timeout=20ms", "prepare_threshold": None})
        self.onlooker = self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        options = migrate.installed(url).options
        self.stores_maximum, self.is_partitioned = "max_dep_identity_version" in options, "partitions" in options
        self.journal = dj.connect(url)
        with self.journal.write() as tx:
            tx.upsert_many([dj.Document(resource, {"first": 1}) for resource in RESOURCES])
        self.ids = self.journal.resources()
        self.histories = 0

    def clean(self) -> None:
        if self.is_partitioned:  # drops what the history before has left
            self.journal.prune(self.journal.versions().newest)
        with self.engine.begin() as conn:
            conn.execute(sa.text("SET LOCAL session_replication_role = replica"))
            for table in (
                "ReferenceEdge", "DocumentCache", "Document", "ResourceDependency",
                "DocumentChangeEvent", "IdentityChangeEvent", "DocumentDeleteEvent", "KeyChangeEvent",
            ) + (("MaxDepIdentityPending",) if self.stores_maximum else ()):  # fmt: skip
                conn.execute(sa.text(f"DELETE FROM dms.{table}"))
            conn.execute(sa.text("UPDATE dms.JournalFloor SET ChangeVersion = 0"))
            conn.execute(sa.text("DELETE FROM dms.FeedGeneration WHERE Generation > 1"))
        if self.is_partitioned:  # one part and a bit, so that a history comes to its end and goes on in the default one
            self.journal.partitions.ensure(versions=20, ahead=1)

    def sequence(self) -> int:
        return int(self.onlooker.execute(sa.text("SELECT pg_sequence_last_value('dms.changeversionsequence')")).scalar_one())

    def close(self) -> None:
        self.onlooker.close()
        self.engine.dispose()
        self.journal.close()


def read_state(conn: sa.Connection, base: State) -> State:
    """Documents and edges as a connection sees them, in one statement."""
    rows = conn.execute(
        sa.text(
            "SELECT DocumentId, ResourceKeyId, DocumentUuid::text, ContentVersion, IdentityVersion, KeyValues ->> 'k', "
            "ARRAY(SELECT ChildDocumentId FROM dms.ReferenceEdge WHERE ParentDocumentId = DocumentId) FROM dms.Document"
        )
    ).all()
    docs = {row[0]: Doc(row[1], row[2], row[3], row[4], row[5]) for row in rows}
    edges = frozenset((row[0], child) for row in rows for child in row[6] if child in docs)
    return State(docs, edges, base.tombstones, base.key_events, base.events)


def as_key(key: str | None) -> str | None:
    return None if key is None else json.dumps({"k": key})


sessions = st.integers(0, 1)
keys = st.sampled_from(["a", "b", "c", None])
choices = st.integers(0, 10**6)


class History(RuleBasedStateMachine):
    database: Database

    def __init__(self) -> None:
        super().__init__()
        self.database.histories += 1
        self.database.clean()
        self.base = self.database.sequence()
        self.committed = State()
        self.sessions: list[Session] = []
        self.gone: set[int] = set()
        self.steps = 0
        self.passed = self.base
        self.floors = dict.fromkeys(JOURNALS, 0)
        self.token: str | None = None  # of a consumer of the feed, which has read up to `fed_through`
        self.fed_through = 0

    @initialize(levels=st.sampled_from([("READ COMMITTED",) * 2, ("READ COMMITTED", "REPEATABLE READ"), ("REPEATABLE READ",) * 2]))
    def begin(self, levels: tuple[str, str]) -> None:
        self.sessions = [Session(self.database.engine, level) for level in levels]
        for resource in range(3):  # something to begin with
            self.create(0, resource, "a", 2)
        self.refer(0, parent=4, child=0, among=2, component=True)
        self.refer(0, parent=4, child=1, among=2, component=False)  # two parents of two children
        self.refer(0, parent=2, child=1, among=1, component=False)
        self.end_transaction(0, "commit")

    def teardown(self) -> None:
        try:
            if self.sessions:
                for number in (0, 1):
                    self.end_transaction(number, "commit")
                self.check_everything()
        finally:
            for session in self.sessions:
                session.conn.close()

    # A statement and what it must do.

    def view(self, session: Session) -> State:
        return session.standing.over(session.snapshot or self.committed)

    def pick(self, session: Session, choice: int, among: int = 1) -> list[int]:
        there = sorted(self.view(session).docs)
        return [there[(choice + n) % len(there)] for n in range(min(among, len(there)))]

    @contextmanager
    def guarded(self, session: Session) -> Iterator[None]:
        session.conn.execute(sa.text("SAVEPOINT guard"))
        try:
            yield
        except sa.exc.DBAPIError as error:
            code = getattr(error.orig, "sqlstate", None)
            session.conn.execute(sa.text("ROLLBACK TO guard"))
            if code not in REFUSED:
                raise
            raise Refused(code) from error
        session.conn.execute(sa.text("RELEASE guard"))

    def statement(
        self,
        session: Session,
        sql: str,
        binds: dict[str, object],
        content: set[int] | None = None,
        identity: set[int] | None = None,
        edges: Callable[[State], frozenset[Edge]] = lambda before: before.edges,
        keys: dict[int, str | None] | None = None,
        created: int = 0,
        deleted: set[int] | None = None,
    ) -> None:
        """Runs it in the session and checks that it did what it must, and nothing else. Refused: it did nothing."""
        if session.isolation == "REPEATABLE READ" and session.snapshot is None:
            session.snapshot = self.committed.copy()
        before, newest = self.view(session), self.database.sequence()
        content, identity, deleted, keys = set(content or ()), set(identity or ()), deleted or set(), keys or {}
        try:
            with self.guarded(session):
                session.conn.execute(sa.text(sql), binds)
        except Refused as refused:
            code = str(refused)
            event(f"refused: {code}")
            self.refuse(code, session, before, deleted)
            return
        event("done")
        now = session.standing.over(self.committed)  # whether a document is referred to is no question of snapshots
        assert not any(c in deleted and p not in deleted for p, c in now.edges), "a document that is referred to was deleted"
        after = read_state(session.conn, before)

        wanted = frozenset(edge for edge in edges(before) if not deleted.intersection(edge))
        assert after.edges == wanted
        moved = {edge for edge in before.edges ^ wanted if not deleted.intersection(edge)}
        content |= stamped_by_edges(before, session.standing.own, moved)
        assert len(after.docs.keys() - before.docs.keys()) == created
        assert before.docs.keys() - after.docs.keys() == deleted
        if not (content or identity or created or deleted):
            assert self.database.sequence() == newest or "ON CONFLICT" in sql, "nothing changed, yet a stamp was drawn"
        stamped = set(check_statement(before, after, content, identity, newest))
        for i, key in keys.items():
            assert after.docs[i].key == key
        for i in before.docs.keys() & after.docs.keys() - keys.keys():
            assert after.docs[i].key == before.docs[i].key

        standing = session.standing
        docs, added, removed = difference(before, after)
        standing.docs |= docs
        standing.edges |= {edge: True for edge in added} | {edge: False for edge in removed}
        standing.own |= stamped
        standing.key_events += tuple(
            KeyEvent(after.docs[i].identity, i, after.docs[i].uuid, after.docs[i].resource, before.docs[i].key, after.docs[i].key)
            for i in before.docs.keys() & after.docs.keys()
            if before.docs[i].key != after.docs[i].key
        )
        standing.events += tuple(
            Event(doc.local, i, "UPDATE" if i in before.docs else "CREATE", doc.uuid, doc.resource, doc.key)
            for i, doc in after.docs.items()
            if i in stamped
        )
        if deleted:
            self.take_tombstones(session, before, deleted, newest)
        if standing.floor is None and (self.database.sequence() > newest or " INTO dms.Document " in sql):  # whatever it inserts
            standing.floor = newest

    def refuse(self, code: str, session: Session, before: State, deleted: set[int]) -> None:
        """A refusal has a reason: the other session's lock, or a document that is referred to, or gone since the snapshot."""
        if code == "23503" and session.snapshot is None:
            assert any(before.is_referenced(i) for i in deleted), "refused for no reason"
        elif code in ("23505", "40001"):
            assert session.snapshot is not None, "a snapshot of its own for each statement, and yet too old"

    def take_tombstones(self, session: Session, before: State, deleted: set[int], newest: int) -> None:
        rows = session.conn.execute(
            sa.text("SELECT DocumentId, ChangeVersion FROM dms.DocumentDeleteEvent WHERE DocumentId = ANY (:ids)"),
            {"ids": list(deleted)},
        ).all()
        assert sorted(row[0] for row in rows) == sorted(deleted), "not one tombstone each"
        assert len({row[1] for row in rows}) == len(rows)
        for i, version in rows:
            assert version > max(newest, before.docs[i].local)
            session.standing.tombstones += (Tombstone(version, i, before.docs[i]),)
            self.gone.add(i)

    def some(self) -> bool:
        return bool(self.sessions)

    # Documents.

    @precondition(some)
    @rule(number=sessions, resource=st.integers(0, 2), key=keys, count=st.sampled_from([1, 1, 1, 3]))
    def create(self, number: int, resource: int, key: str | None, count: int) -> None:
        self.statement(
            self.sessions[number],
            "INSERT INTO dms.Document (ResourceKeyId, KeyValues, ContentVersion) "
            "SELECT :r, CAST(:key AS jsonb), 1 FROM generate_series(1, :n)",
            {"r": self.database.ids[RESOURCES[resource]], "key": as_key(key), "n": count},
            created=count,
        )

    @precondition(some)
    @rule(
        number=sessions, choice=choices, among=st.integers(1, 3), key=keys,
        sets=st.sampled_from(["content", "identity", "key", "both", "all", "nothing", "old stamps"]),
    )  # fmt: skip
    def update(self, number: int, choice: int, among: int, key: str | None, sets: str) -> None:
        session = self.sessions[number]
        ids = self.pick(session, choice, among)
        view = self.view(session)
        differs = {i for i in ids if view.docs[i].key != key}
        text, content, identity, keyed = {
            "content": ("ContentVersion = NULL", set(ids), set(), False),
            "identity": ("IdentityVersion = NULL", set(), set(ids), False),
            "key": ("KeyValues = CAST(:key AS jsonb)", set(), differs, True),
            "both": ("ContentVersion = NULL, IdentityVersion = NULL", set(ids), set(ids), False),
            "all": ("ContentVersion = NULL, KeyValues = CAST(:key AS jsonb)", set(ids), differs, True),
            "nothing": ("KeyValues = KeyValues, ContentVersion = ContentVersion, CreatedAt = now()", set(), set(), False),
            "old stamps": ("ContentVersion = -1, IdentityVersion = 0", set(ids), set(ids), False),
        }[sets]
        self.statement(
            session,
            f"UPDATE dms.Document SET {text} WHERE DocumentId = ANY (:ids)",
            {"ids": ids} | ({"key": as_key(key)} if keyed else {}),
            content=content,
            identity=identity,
            keys=dict.fromkeys(ids, key) if keyed else {},
        )

    @precondition(some)
    @rule(number=sessions, choice=choices, key=keys, way=st.sampled_from(["merge", "do update", "do nothing"]), new=st.booleans())
    def upsert(self, number: int, choice: int, key: str | None, way: str, new: bool) -> None:
        session = self.sessions[number]
        view = self.view(session)
        ids = [] if new else self.pick(session, choice)
        if ids and way != "merge" and ids[0] not in self.committed.docs and ids[0] not in session.standing.docs:
            return  # only an old snapshot still has it: the uuid is free, and a second lifetime would begin with it
        name = view.docs[ids[0]].uuid if ids else str(uuid.uuid4())
        resource = view.docs[ids[0]].resource if ids else self.database.ids[RESOURCES[choice % 3]]
        insert = (
            "INSERT INTO dms.Document (DocumentUuid, ResourceKeyId, KeyValues) "
            "VALUES (CAST(:uuid AS uuid), :r, CAST(:key AS jsonb)) "
        )
        text = {
            "merge": "MERGE INTO dms.Document AS d USING (SELECT CAST(:uuid AS uuid) AS u, CAST(:key AS jsonb) AS k) AS s "
            "ON d.DocumentUuid = s.u WHEN MATCHED THEN UPDATE SET KeyValues = s.k "
            "WHEN NOT MATCHED THEN INSERT (DocumentUuid, ResourceKeyId, KeyValues) VALUES (s.u, :r, s.k)",
            "do update": insert + "ON CONFLICT (DocumentUuid) DO UPDATE SET KeyValues = excluded.KeyValues",
            "do nothing": insert + "ON CONFLICT (DocumentUuid) DO NOTHING",
        }[way]
        changes = {i for i in ids if view.docs[i].key != key and way != "do nothing"}
        self.statement(
            session,
            text,
            {"uuid": name, "r": resource, "key": as_key(key)},
            identity=changes,
            keys=dict.fromkeys(changes, key),
            created=0 if ids else 1,
        )

    @precondition(some)
    @rule(number=sessions, choice=choices, among=st.sampled_from([1, 1, 2]))
    def delete(self, number: int, choice: int, among: int) -> None:
        session = self.sessions[number]
        ids = set(self.pick(session, choice, among))
        if not ids:
            return
        self.statement(session, "DELETE FROM dms.Document WHERE DocumentId = ANY (:ids)", {"ids": list(ids)}, deleted=ids)

    # Edges.

    @precondition(some)
    @rule(number=sessions, parent=choices, child=choices, among=st.sampled_from([1, 1, 3]), component=st.booleans())
    def refer(self, number: int, parent: int, child: int, among: int, component: bool) -> None:
        session = self.sessions[number]
        parents, children = self.pick(session, parent, among), self.pick(session, child)
        if not parents:
            return
        added = {(p, children[0]) for p in parents}
        self.statement(
            session,
            "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, IsIdentityComponent, ParentResourceKeyId) "
            "SELECT p, :c, :component, 0 FROM unnest(CAST(:ps AS bigint[])) AS p ON CONFLICT DO NOTHING",
            {"ps": parents, "c": children[0], "component": component},
            edges=lambda before: before.edges | added,
        )

    @precondition(some)
    @rule(
        number=sessions, choice=choices, to=choices,
        way=st.sampled_from(["remove", "to child", "to parent", "swap", "flag", "all of a child"]),
    )  # fmt: skip
    def change_edge(self, number: int, choice: int, to: int, way: str) -> None:
        session = self.sessions[number]
        there = sorted(self.view(session).edges)
        if not there:
            return
        p, c = there[choice % len(there)]
        other = self.pick(session, to)[0]
        one = "WHERE ParentDocumentId = :p AND ChildDocumentId = :c"
        text, after = {
            "remove": (f"DELETE FROM dms.ReferenceEdge {one}", None),
            "all of a child": ("DELETE FROM dms.ReferenceEdge WHERE ChildDocumentId = :c AND :p = :p", None),
            "flag": (f"UPDATE dms.ReferenceEdge SET IsIdentityComponent = NOT IsIdentityComponent {one}", (p, c)),
            "to child": (f"UPDATE dms.ReferenceEdge SET ChildDocumentId = :o {one}", (p, other)),
            "to parent": (f"UPDATE dms.ReferenceEdge SET ParentDocumentId = :o {one}", (other, c)),
            "swap": (f"UPDATE dms.ReferenceEdge SET ParentDocumentId = :c, ChildDocumentId = :p {one}", (c, p)),
        }[way]
        if after is not None and after != (p, c) and after in there:
            return  # the primary key would refuse it
        gone = {e for e in there if e[1] == c} if way == "all of a child" else {(p, c)}
        self.statement(
            session,
            text,
            {"p": p, "c": c} | ({"o": other} if ":o" in text else {}),
            edges=lambda before: (before.edges - gone) | ({after} if after else set()),
        )

    # Transactions.

    @precondition(some)
    @rule(number=sessions, way=st.sampled_from(["commit", "commit", "rollback"]))
    def end_transaction(self, number: int, way: str) -> None:
        session = self.sessions[number]
        try:
            getattr(session.conn, way)()
        except sa.exc.DBAPIError as error:
            if not self.database.stores_maximum or getattr(error.orig, "sqlstate", None) not in REFUSED:
                raise  # only an option's deferred trigger has something left to lock
            session.conn.rollback()
            way = "rollback"
        if way == "commit":
            self.committed = session.standing.over(self.committed)
        session.end()

    @precondition(some)
    @rule(number=sessions, choice=choices, way=st.sampled_from(["SAVEPOINT", "SAVEPOINT", "ROLLBACK TO", "RELEASE"]))
    def savepoint(self, number: int, choice: int, way: str) -> None:
        session = self.sessions[number]
        if way != "SAVEPOINT" and not session.savepoints:
            return
        if session.isolation == "REPEATABLE READ" and session.snapshot is None:
            # else the driver takes it unseen: it forgets its prepared statements after a ROLLBACK TO, by a statement of its own
            session.conn.execute(sa.text("SELECT 1"))
            session.snapshot = self.committed.copy()
        depth = len(session.savepoints) if way == "SAVEPOINT" else choice % len(session.savepoints)
        session.conn.execute(sa.text(f"{way} s{depth}"))
        if way == "SAVEPOINT":
            session.savepoints.append(session.standing.copy())
        elif way == "RELEASE":
            del session.savepoints[depth:]
        else:
            session.standing = session.savepoints[depth].copy()
            del session.savepoints[depth + 1 :]

    @precondition(some)
    @rule()
    def draw_a_stamp_for_nothing(self) -> None:
        self.database.onlooker.execute(sa.text("SELECT nextval('dms.changeversionsequence')"))

    @precondition(some)
    @rule(choice=choices, journals=st.sampled_from([None, None, *([name] for name in JOURNALS)]), size=st.sampled_from([1, 2, 500]))
    def prune(self, choice: int, journals: list[str] | None, size: int) -> None:
        """Whatever transactions are open. Low versions are likelier, so that something is left to read."""
        kept = self.horizon() - self.base + 1
        through = self.base + choice % kept // (1 + choice % 3)
        pruned = self.database.journal.prune(through, journals=journals, batch_size=size)
        for name in journals or JOURNALS:
            self.floors[name] = max(self.floors[name], through)
        assert {journal.journal: journal.floor for journal in pruned.journals} == {
            name: self.floors[name] for name in journals or JOURNALS
        }

    @precondition(some)
    @rule(count=st.sampled_from([1, 2, 3, 8]))
    def change_bucket_count(self, count: int) -> None:
        """Whatever transactions are open."""
        assert len([p for p in self.database.journal.change_bucket_count(count) if p.ends_at is None]) == count

    # What the journal must say.

    def floor(self, *journals: str) -> int:
        return max(self.floors[name] for name in journals)

    def kept(self, asked: dj.Window, floor: int, read: Callable[[dj.Window], Iterator[Any]]) -> dj.Window:
        """The window, or where it reaches to or below the floor, which is an error, one that begins above it."""
        if not floor or asked.first > floor:
            return asked
        with pytest.raises(dj.CheckpointExpired) as expired:
            list(read(asked))
        assert expired.value.oldest == floor + 1
        event("expired")
        return dj.Window(floor + 1, asked.max if asked.max and asked.max > floor else None)

    def horizon(self) -> int:
        return min([self.database.sequence(), *(s.standing.floor for s in self.sessions if s.standing.floor is not None)])

    def name(self, resource: int) -> dj.ResourceKey:
        return next(name for name, number in self.database.ids.items() if number == resource)

    @invariant()
    def the_journal_says_what_the_model_says(self) -> None:
        if not self.sessions:
            return
        self.steps += 1
        newest = self.horizon()
        journal = self.database.journal
        floor = self.floor("DocumentChangeEvent", "IdentityChangeEvent")
        assert journal.versions() == dj.ChangeVersions(floor + 1 if floor else 0, newest)
        self.check_view()
        if self.steps % 2:
            self.check_derived()
        resource = self.database.ids[RESOURCES[self.steps % 3]]
        size = SIZES[self.steps % 4]
        found = self.committed.changes(resource, 0, newest)
        middle = found[len(found) // 2][0] if found else newest
        window = [(None, None), (self.passed + 1, newest), (middle, None), (None, middle), (middle, middle)][self.steps % 5]
        if window[0] is not None and window[1] is not None and window[0] > window[1]:
            window = (None, None)
        self.check_changes(resource, window, newest, size, cursors=self.steps % 2)
        if self.steps % 4 == 0:
            self.check_events(resource, window, newest, size)
        if self.steps % 5 == 1:
            self.consume_the_feed(newest, size)
        if self.steps % 3 == 0:
            self.passed = newest

    def check_view(self) -> None:
        rows = self.database.onlooker.execute(
            sa.text(
                "SELECT ResourceKeyId, ChangeVersion, DocumentId, DocumentUuid::text, ContentVersion, IdentityVersion, "
                "KeyValues ->> 'k', WitnessDocumentId FROM dms.ResourceChange"
            )
        ).all()
        docs, floor = self.committed.docs, self.floor("DocumentChangeEvent", "IdentityChangeEvent")
        rows = [row for row in rows if row[1] > floor]
        found = sorted(tuple(row[:7]) for row in rows)
        assert found == sorted(
            (doc.resource, self.committed.derived(i), i, doc.uuid, doc.content, doc.identity, doc.key)
            for i, doc in docs.items()
            if self.committed.derived(i) > floor
        )
        for row in rows:
            witness = docs[row[7]]
            assert row[1] == (witness.local if row[7] == row[2] else witness.identity)

    def check_derived(self) -> None:
        ids = [*self.committed.docs, *self.gone]
        derived = self.database.journal.derive(ids)
        assert {i: (d.change_version, d.etag) for i, d in derived.items()} == {
            i: (self.committed.derived(i), self.committed.etag(i)) for i in self.committed.docs
        }

    def check_changes(self, resource: int, window: tuple[int | None, int | None], newest: int, size: int, cursors: int) -> None:
        journal, name = self.database.journal, self.name(resource)
        floor = self.floor("DocumentChangeEvent", "IdentityChangeEvent")
        asked = self.kept(dj.Window(*window), floor, lambda window: journal.changes(name, window, page_size=size))
        first, last = asked.first, asked.last(newest)
        wanted = self.committed.changes(resource, first, last)
        changes = list(journal.changes(name, asked, page_size=size))
        assert [(c.change_version, c.document_id) for c in changes] == wanted
        assert [str(c.document_uuid) for c in changes] == [self.committed.docs[i].uuid for _, i in wanted]
        if wanted and cursors:  # from a cursor that is a document
            position = wanted[self.steps % len(wanted)]
            assert self.walk(name, asked, dj.Cursor(*position), size) == [p for p in wanted if p > position]

    def check_events(self, resource: int, window: tuple[int | None, int | None], newest: int, size: int) -> None:
        journal, name = self.database.journal, self.name(resource)
        asked = self.kept(dj.Window(*window), self.floor("DocumentDeleteEvent"), lambda window: journal.deletes(name, window))
        first, last = asked.first, asked.last(newest)
        deletes = [
            (d.change_version, d.document_id, str(d.document_uuid), d.key_values and d.key_values["k"])
            for d in journal.deletes(name, asked, page_size=size)
        ]
        assert deletes == self.committed.deletes(resource, first, last)
        asked = self.kept(dj.Window(*window), self.floor("KeyChangeEvent"), lambda window: journal.key_changes(name, window))
        first, last = asked.first, asked.last(newest)
        key_changes = [
            (k.change_version, k.document_id, *((values and values["k"]) for values in (k.old_key_values, k.new_key_values)))
            for k in journal.key_changes(name, asked, page_size=size)
        ]
        assert key_changes == self.committed.key_changes(resource, first, last)

    def consume_the_feed(self, newest: int, size: int) -> None:
        """What a consumer gets that goes on from its token, or begins anew where that has expired."""
        floor = self.floor("DocumentChangeEvent", "DocumentDeleteEvent", "KeyChangeEvent")
        request = dj.FeedRequest(max_page_size=size)
        if self.token is not None:
            request = dj.FeedRequest(start=dj.FromToken(self.token), max_page_size=size)
            if self.fed_through < floor:
                with pytest.raises(dj.CheckpointExpired) as expired:
                    self.database.journal.read_changes(request)
                assert expired.value.oldest == floor + 1
                event("the feed has expired")
                request, self.token = dj.FeedRequest(max_page_size=size), None
        start = self.base if self.token is None else self.fed_through
        found, pages = walk(self.database.journal, request)
        assert self.as_the_model(found) == self.committed.feed(max(start, floor) + 1, newest)
        self.token, self.fed_through = pages[-1].token, max(newest, self.fed_through)

    def check_feed(self, newest: int, size: int) -> None:
        """Every scope, from the beginning."""
        floor = self.floor("DocumentChangeEvent", "DocumentDeleteEvent", "KeyChangeEvent")
        expected, journal = self.committed.feed(max(self.base, floor) + 1, newest), self.database.journal
        scopes: dict[dj.EntireCollection | dj.LogicalPartition, list[Event]] = {dj.EntireCollection(): expected}
        scopes |= {dj.LogicalPartition(self.name(r)): [e for e in expected if e.resource == r] for r in self.database.ids.values()}
        for i in list(self.committed.docs)[:2] + list(self.gone)[:1]:
            scopes[dj.LogicalPartition(document_id=i)] = [e for e in expected if e.document_id == i]
        for scope, events in scopes.items():
            assert self.as_the_model(walk(journal, dj.FeedRequest(scope, max_page_size=size))[0]) == events, scope
        deletes = dj.FeedFilter(types=[dj.FeedEventType.DELETE])
        assert self.as_the_model(walk(journal, dj.FeedRequest(filters=deletes))[0]) == [e for e in expected if e.type == "DELETE"]
        partitions = journal.list_physical_partitions()
        found = [e for p in partitions for e in self.as_the_model(walk(journal, dj.FeedRequest(p.scope, max_page_size=size))[0])]
        assert sorted(found) == expected
        for i in {e.document_id for e in found}:  # listed parents first
            assert [e for e in found if e.document_id == i] == [e for e in expected if e.document_id == i]

    def as_the_model(self, events: list[dj.FeedEvent]) -> list[Event]:
        return [
            Event(
                e.change_version,
                e.key.document_id or 0,
                str(e.type),
                str(e.key.document_uuid),
                self.database.ids[e.resource],
                e.key.key_values and e.key.key_values["k"],
            )
            for e in events
        ]

    def walk(self, name: dj.ResourceKey, window: dj.Window, after: dj.Cursor | None, size: int) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        while True:
            page = self.database.journal.change_page(name, window, after, size)
            assert len(page.items) <= size
            found += [(c.change_version, c.document_id) for c in page.items]
            if page.next is None:
                return found
            assert after is None or after < page.next, "a walk must go on"
            after = page.next

    def check_stored(self) -> None:
        """Option max_dep_identity_version: what is stored is what is derived, wherever it is said to be exact."""
        rows = self.database.onlooker.execute(
            sa.text(
                "SELECT DocumentId, greatest(ContentVersion, IdentityVersion, MaxDepIdentityVersion) FROM dms.Document "
                "WHERE NOT EXISTS (SELECT FROM dms.MaxDepIdentityPending)"
            )
        ).all()
        event(f"stored versions are {'exact' if rows else 'not exact, or none'}")
        assert all(self.committed.derived(i) == version for i, version in rows)

    def check_everything(self) -> None:
        if self.database.stores_maximum:
            self.check_stored()
        newest = self.horizon()
        assert newest == self.database.sequence()
        self.check_view()
        self.check_derived()
        self.consume_the_feed(newest, SIZES[self.steps % 4])
        self.check_feed(newest, (7, 500)[self.steps % 2])
        for number, name in enumerate(RESOURCES):
            resource = self.database.ids[name]
            changes = self.committed.changes(resource, 0, newest)
            stones = self.committed.deletes(resource, 0, newest)
            versions = sorted({version for version, *_ in [*changes, *stones]})
            cuts = [versions[len(versions) // 3], versions[2 * len(versions) // 3]] if versions else []
            for size in (SIZES[(number + self.steps) % 4], SIZES[(number + self.steps + 1) % 4]):
                self.check_changes(resource, (None, None), newest, size, cursors=1)
            self.check_events(resource, (None, None), newest, 2)
            parts: list[tuple[int, int]] = []  # window after window, nothing is missing
            for low, high in pairwise([self.base, *cuts, newest]):
                if low < high:
                    self.check_changes(resource, (low + 1, high), newest, 2, cursors=0)
                    self.check_events(resource, (low + 1, high), newest, 1)
                    parts += self.committed.changes(resource, low + 1, high)
            assert parts == changes


def run(url: str, histories: int, steps: int) -> int:
    database = Database(url)
    profile = settings(
        max_examples=histories,
        stateful_step_count=steps,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
        print_blob=True,
    )
    machine: Any = type("History", (History,), {"database": database})
    try:
        run_state_machine_as_test(machine, settings=profile)
    finally:
        database.close()
    return database.histories


OPTIONS = pytest.mark.parametrize(
    "options", [[], ["max_dep_identity_version"], ["partitions"]], ids=lambda o: o[0] if o else "journal"
)


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prune waits for nobody's transaction to end, since the sessions of a history stay open: batches go on."""
    monkeypatch.setattr("dmsjournal.operate.partitions._FALLS_BACK", 0)


@OPTIONS
def test_random_histories(url: str, options: list[str]) -> None:
    migrate.upgrade(url, options=options)
    wanted = 5 if options else 12  # the long runs try more
    assert run(url, wanted, 20) >= wanted


@pytest.mark.long
@pytest.mark.timeout(3600)
@OPTIONS
def test_many_long_random_histories(url: str, options: list[str]) -> None:
    migrate.upgrade(url, options=options)
    wanted = int(os.environ.get("DMSJOURNAL_TEST_HISTORIES", "1500"))
    histories = run(url, wanted, 20)
    print(f"{histories} histories")
    assert histories >= wanted
