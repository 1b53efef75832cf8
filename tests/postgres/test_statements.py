"""Every way to write a row in PostgreSQL (acceptance 15b, 19, 20, 48): the same events, at the same cost, in any session."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

import dmsjournal as dj
from tests.helpers import (
    PLAN,
    SCHOOL,
    STUDENT,
    add_edge,
    change_identity,
    commit,
    document,
    document_events,
    drawn,
    expected_changes,
    identity_events,
    in_psycopg,
    newest,
    stamps,
    unjournaled,
    write,
)


@pytest.fixture
def client(url: str) -> Iterator[psycopg.Connection[Any]]:
    """A plain psycopg connection, each statement in a transaction of its own."""
    with psycopg.connect(in_psycopg(url), autocommit=True) as client:
        client.execute("INSERT INTO dms.ResourceKey VALUES (DEFAULT, 'Ed-Fi', 'Student', '5.2.0')")
        yield client


VERSIONS = "ContentVersion, IdentityVersion"
ON_CONFLICT = "INSERT INTO dms.Document AS d (DocumentId, ResourceKeyId, KeyValues) VALUES (1, 1, '{}'), (20, 1, '{}') ON CONFLICT"


@pytest.mark.acceptance("19")
def test_on_conflict_do_nothing_journals_what_it_inserts(journal: dj.Journal, connections, client) -> None:
    write(journal, document(STUDENT, "1"))
    assert client.execute(f"{ON_CONFLICT} DO NOTHING RETURNING DocumentId").fetchall() == [(20,)]
    assert document_events(connections[0], 1) == [(1, "insert")]
    [(version, operation)] = document_events(connections[0], 20)
    assert (version, operation) == (stamps(connections[0], 20)[0], "insert")
    assert newest(journal) == drawn(connections[0])
    assert client.execute(f"{ON_CONFLICT} DO NOTHING").rowcount == 0
    assert commit(connections[0], "SELECT count(*) FROM dms.DocumentChangeEvent") == [(2,)]
    assert newest(journal) == drawn(connections[0])


@pytest.mark.acceptance("19")
@pytest.mark.parametrize(
    ("assignment", "content", "identity"),
    [
        ("ContentVersion = excluded.ContentVersion", True, False),
        ("ContentVersion = 0", True, False),
        ("KeyValues = excluded.KeyValues", False, True),
        ("KeyValues = excluded.KeyValues, ContentVersion = 0", True, True),
        ("KeyValues = d.KeyValues", False, False),
    ],
)
def test_on_conflict_do_update_journals_as_an_update(
    journal: dj.Journal, connections, client, assignment: str, content: bool, identity: bool
) -> None:
    write(journal, document(STUDENT, "1"))
    returned = client.execute(f"{ON_CONFLICT} (DocumentId) DO UPDATE SET {assignment} RETURNING DocumentId, {VERSIONS}")
    assert {row[0]: row[1:] for row in returned} == {i: stamps(connections[0], i) for i in (1, 20)}
    new = stamps(connections[0], 1)
    assert (new[0] > 1, new[1] > 1) == (content, identity)
    assert document_events(connections[0], 1) == [(1, "insert"), *([(max(new), "update")] if content or identity else [])]
    assert identity_events(connections[0], 1) == ([new[1]] if identity else [])
    assert document_events(connections[0], 20) == [(stamps(connections[0], 20)[0], "insert")]
    assert list(journal.changes(STUDENT)) == expected_changes(connections[0], 1)
    assert newest(journal) == drawn(connections[0])


@pytest.mark.acceptance("19")
def test_merge_journals_each_of_its_actions(journal: dj.Journal, connections, client) -> None:
    ids = write(journal, *(document(STUDENT, n) for n in range(1, 5)))
    client.execute(
        """MERGE INTO dms.Document AS d
           USING (VALUES (1, 'content'), (2, 'identity'), (3, 'delete'), (4, 'nothing'), (50, 'new'), (51, 'new')) AS w (id, what)
           ON d.DocumentId = w.id
           WHEN MATCHED AND w.what = 'content' THEN UPDATE SET ContentVersion = 0
           WHEN MATCHED AND w.what = 'identity' THEN UPDATE SET KeyValues = '{"studentId": 22}'
           WHEN MATCHED AND w.what = 'delete' THEN DELETE
           WHEN MATCHED THEN DO NOTHING
           WHEN NOT MATCHED THEN INSERT (DocumentId, ResourceKeyId) VALUES (w.id, 1)"""
    )
    connection = connections[0]
    assert [document_events(connection, i)[1:] for i in ids] == [
        [(stamps(connection, 1)[0], "update")],
        [(stamps(connection, 2)[1], "update")],
        [],
        [],
    ]
    assert [document_events(connection, i) for i in (50, 51)] == [[(stamps(connection, i)[0], "insert")] for i in (50, 51)]
    assert identity_events(connection, 2) == [stamps(connection, 2)[1]]
    assert [tombstone.document_id for tombstone in journal.deletes(STUDENT)] == [3]
    assert [(change.document_id, change.new_key_values) for change in journal.key_changes(STUDENT)] == [(2, {"studentId": 22})]
    assert list(journal.changes(STUDENT)) == expected_changes(connection, 1)
    assert newest(journal) == drawn(connection) == 9
    assert not unjournaled(connection)


@pytest.mark.acceptance("19", "26")
def test_merge_of_edges_stamps_their_parents(journal: dj.Journal, connections, client) -> None:
    a, b, p, q, r = write(journal, *(document(STUDENT, n) for n in "ab"), *(document(PLAN, n) for n in "pqr"))
    add_edge(connections[0], p, a)
    add_edge(connections[0], q, a)
    client.execute(
        f"""MERGE INTO dms.ReferenceEdge AS e USING (VALUES ({p}, {a}), ({q}, {a}), ({r}, {b})) AS w (parent, child)
            ON e.ParentDocumentId = w.parent AND e.ChildDocumentId = w.child
            WHEN MATCHED AND w.parent = {p} THEN DELETE
            WHEN MATCHED THEN UPDATE SET ChildDocumentId = {b}
            WHEN NOT MATCHED THEN INSERT (ParentDocumentId, ChildDocumentId) VALUES (w.parent, w.child)"""
    )
    assert {max(stamps(connections[0], i)) for i in (p, q, r)} == {8, 9, 10}
    assert [tuple(row) for row in commit(connections[0], "SELECT * FROM dms.ResourceDependency")] == [(2, 1)]
    assert not unjournaled(connections[0])


@pytest.mark.acceptance("19")
@pytest.mark.parametrize("form", ["text", "binary"])
def test_copy_journals_every_row(journal: dj.Journal, connections, client, form: str) -> None:
    with client.cursor().copy(f"COPY dms.Document (ResourceKeyId, ContentVersion, KeyValues) FROM STDIN (FORMAT {form})") as copy:
        copy.set_types(["int2", "int8", "jsonb"])
        for n in range(300):
            copy.write_row((1, n * 7, psycopg.types.json.Jsonb({"studentId": n})))
    assert commit(connections[0], "SELECT min(ContentVersion), max(IdentityVersion) FROM dms.Document") == [(1, 300)]
    with client.cursor().copy("COPY dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) FROM STDIN") as copy:
        for n in range(2, 301):
            copy.write_row((n, 1))
    assert newest(journal) == drawn(connections[0]) == 599
    change_identity(connections[0], 1)
    assert list(journal.changes(STUDENT, dj.Window(600))) == expected_changes(connections[0], 1, dj.Window(600))
    assert len(list(journal.changes(STUDENT, dj.Window(600)))) == 300
    assert not unjournaled(connections[0])


@pytest.mark.acceptance("19")
def test_executemany_journals_every_row(journal: dj.Journal, connections, client) -> None:
    with client.cursor() as cursor:
        cursor.executemany("INSERT INTO dms.Document (ResourceKeyId) VALUES (%s)", [(1,)] * 50)
        cursor.executemany("UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = %s", [(n,) for n in range(1, 51)])
        cursor.executemany(
            "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (%s, 1)", [(n,) for n in range(2, 51)]
        )
        cursor.executemany("DELETE FROM dms.Document WHERE DocumentId = %s", [(n,) for n in range(41, 51)])
    assert [change.change_version for change in journal.changes(STUDENT)] == [51, *range(101, 140)]
    assert len(list(journal.deletes(STUDENT))) == 10
    assert newest(journal) == drawn(connections[0]) == 159
    assert not unjournaled(connections[0])


@pytest.mark.acceptance("19")
def test_statements_inside_one_statement_journal_as_their_own(journal: dj.Journal, connections, client) -> None:
    """Data-modifying CTEs: their triggers all fire at the end of the statement."""
    student, plan, school = write(journal, document(STUDENT, 1), document(PLAN, 1), document(SCHOOL, 1))
    client.execute(
        f"""WITH content AS (UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = {plan}),
                 identity AS (UPDATE dms.Document SET IdentityVersion = 0 WHERE DocumentId = {student}),
                 created AS (INSERT INTO dms.Document (ResourceKeyId) VALUES (1) RETURNING DocumentId),
                 deleted AS (DELETE FROM dms.Document WHERE DocumentId = {school})
            INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES ({plan}, {student})"""
    )
    assert not unjournaled(connections[0])
    assert list(journal.changes(PLAN)) == expected_changes(connections[0], journal.resources()[PLAN])
    assert len(list(journal.changes(STUDENT))) == 2
    assert len(list(journal.deletes(SCHOOL))) == 1
    assert max(stamps(connections[0], plan)) > stamps(connections[0], student)[1]


@pytest.mark.acceptance("20")
def test_returning_and_currval_are_the_callers_own(journal: dj.Journal, connections, client) -> None:
    client.execute("INSERT INTO dms.Document (ResourceKeyId) VALUES (1), (1)")
    [row] = client.execute("INSERT INTO dms.Document (ResourceKeyId) VALUES (1) RETURNING DocumentId, " + VERSIONS)
    assert row == (3, 3, 3)
    assert client.execute("SELECT currval(pg_get_serial_sequence('dms.document', 'documentid'))").fetchone() == (3,)
    [row] = client.execute("UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = 2 RETURNING " + VERSIONS)
    assert row == (4, 2)
    assert client.execute("DELETE FROM dms.Document WHERE DocumentId = 2 RETURNING DocumentId").fetchall() == [(2,)]
    assert client.execute("UPDATE dms.Document SET ContentVersion = 0").statusmessage == "UPDATE 2"


@pytest.mark.acceptance("20")
def test_currval_is_the_callers_own_while_lastval_is_a_stamp(journal: dj.Journal, connections, client) -> None:
    client.execute("SELECT nextval('dms.changeversionsequence') FROM generate_series(1, 100)")
    client.execute("INSERT INTO dms.Document (ResourceKeyId) VALUES (1)")
    assert client.execute("SELECT currval(pg_get_serial_sequence('dms.document', 'documentid'))").fetchone() == (1,)
    # the session's last nextval(), whoever called it: PostgreSQL cannot draw one that it forgets (docs/python/sql-writers.md)
    assert client.execute("SELECT lastval()").fetchone() == (101,)


@pytest.mark.acceptance("48")
def test_truncate_reaches_the_documents_by_no_cascade(journal: dj.Journal, connections, client) -> None:
    student = document(STUDENT, "1")
    write(journal, student, document(PLAN, 1, student))
    for table in ("ResourceKey", "Document", "ReferenceEdge", "ResourceKey, dms.Document, dms.ReferenceEdge, dms.DocumentCache"):
        with pytest.raises(psycopg.DatabaseError, match="is refused") as refused:
            client.execute(f"TRUNCATE dms.{table} RESTART IDENTITY CASCADE")
        assert refused.value.sqlstate == "DJ005"
    assert len(list(journal.changes(PLAN))) == 1


# What a session keeps (acceptance 15b, docs/how-it-works.md, Kept plans). Work is counted, not timed: the blocks of our tables and
# indexes that a statement and its triggers fetch, and the rows that pass through all of their plans, which alone shows a join of
# transition tables.

SIZE = 20_000
EDGE = "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId)"
WRITES = {  # in the order of a document's life; each on the ids from {0} to {1}
    "insert": "INSERT INTO dms.Document (DocumentId, ResourceKeyId) SELECT n, 1 FROM generate_series({0}, {1}) AS n",
    "update": "UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId BETWEEN {0} AND {1}",
    "identity update": "UPDATE dms.Document SET IdentityVersion = 0 WHERE DocumentId BETWEEN {0} AND {1}",
    "edge insert": EDGE + " SELECT n, n + 1000000 FROM generate_series({0}, {1}) AS n",
    "edge update": "UPDATE dms.ReferenceEdge SET ChildDocumentId = ParentDocumentId WHERE ParentDocumentId BETWEEN {0} AND {1}",
    "edge delete": "DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId BETWEEN {0} AND {1}",
    "delete": "DELETE FROM dms.Document WHERE DocumentId BETWEEN {0} AND {1}",
}
FETCHED = """SELECT coalesce(sum(pg_stat_get_xact_blocks_fetched(oid)), 0)::bigint FROM pg_class
             WHERE relnamespace = 'dms'::regnamespace AND relkind IN ('r', 'i')"""
EXPLAINED = ["log_min_duration = 0", "log_analyze = on", "log_timing = off", "log_format = json", "log_nested_statements = on",
             "log_level = notice"]  # fmt: skip


def blocks(session: psycopg.Connection[Any], statement: str) -> int:
    """The blocks of our relations that a statement fetches, its triggers included."""
    with session.transaction():
        [(before,)] = session.execute(FETCHED)
        session.execute(statement)
        [(after,)] = session.execute(FETCHED)
    return after - before


def rows(session: psycopg.Connection[Any], statement: str) -> int:
    """The rows that pass through the plans of a statement and of its triggers' statements."""
    plans: list[str] = []

    def note(notice: psycopg.errors.Diagnostic) -> None:
        plans.append(notice.message_primary or "")

    session.add_notice_handler(note)
    session.execute(statement)
    session.remove_notice_handler(note)
    assert plans
    return round(sum(passed(json.loads(plan[plan.index("{") :])["Plan"]) for plan in plans))


def passed(node: dict[str, Any]) -> float:
    removed = sum(node.get(f"Rows Removed by {what}", 0) for what in ("Filter", "Join Filter", "Index Recheck"))
    return (node["Actual Rows"] + removed) * node["Actual Loops"] + sum(map(passed, node.get("Plans", [])))


@pytest.mark.acceptance("15b")
@pytest.mark.parametrize(
    ("cost", "size", "write_names"),
    [(rows, 1_500, [*WRITES]), (blocks, SIZE, ["insert", "update", "edge insert", "edge delete", "delete"])],
    ids=["rows", "blocks"],
)
def test_a_session_of_one_row_and_many_costs_what_fresh_sessions_cost(url: str, cost, size: int, write_names: list[str]) -> None:
    one, many = iter(range(1, 100)), iter(range(100, 10 * size, size))

    @contextmanager
    def session() -> Iterator[psycopg.Connection[Any]]:
        with psycopg.connect(in_psycopg(url), autocommit=True) as session:
            if cost is rows:
                session.execute("LOAD 'auto_explain'")
                for setting in EXPLAINED:
                    session.execute(f"SET auto_explain.{setting}")
            yield session

    def of_one(session: psycopg.Connection[Any], statement: str) -> int:
        first = next(one)
        return cost(session, statement.format(first, first))

    def of_many(session: psycopg.Connection[Any], statement: str) -> int:
        first = next(many)
        return cost(session, statement.format(first, first + size - 1))

    with session() as setting_up:
        setting_up.execute("INSERT INTO dms.ResourceKey VALUES (DEFAULT, 'P', 'R', '1')")
        ours = "SELECT oid::regclass FROM pg_class WHERE relnamespace = 'dms'::regnamespace AND relkind = 'r'"
        for (table,) in setting_up.execute(ours).fetchall():  # autovacuum's ANALYZE midway is another plan
            setting_up.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
    for name in write_names:
        statement = WRITES[name]
        one, many = iter(range(1, 100)), iter(range(100, 10 * size, size))  # the same ids as the write before
        with session() as one_first:
            single, *singles = (of_one(one_first, statement) for _ in range(7))  # a custom plan five times, then perhaps a kept one
            late_many = of_many(one_first, statement)
            singles.append(of_one(one_first, statement))
        with session() as many_first:
            bulk = of_many(many_first, statement)
            singles += [of_one(many_first, statement) for _ in range(7)]
        assert max(singles) <= 3 * single + 30, (name, single, singles)
        assert late_many <= 1.5 * bulk, (name, bulk, late_many)
        assert single <= 200, name
        assert bulk <= 100 * size, name
        if name == "insert":  # the children that edges will refer to
            with session() as client:
                client.execute(statement.format(1_000_001, 1_000_100 + 2 * size))


@pytest.mark.acceptance("15b")
def test_no_kept_plan_of_a_trigger_is_compiled(client: psycopg.Connection[Any]) -> None:
    """The plan of a large first statement is dear enough to be compiled, and a session that keeps it compiles it for each row
    (25 ms an edge instead of 2 where the server has LLVM). Only triggers that read a transition table have such plans."""
    readers = """SELECT p.proname, 'jit=off' = ANY (p.proconfig) FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid
                 WHERE t.tgnewtable IS NOT NULL OR t.tgoldtable IS NOT NULL ORDER BY 1"""
    functions = client.execute(readers).fetchall()
    assert [name for name, _ in functions] == [
        *("journal_delete", "journal_insert", "journal_update", "stamp_parents", "stamp_parents", "stamp_repointed_parents")
    ]
    assert all(off for _, off in functions)
