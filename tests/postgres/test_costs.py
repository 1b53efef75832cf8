"""What statements that run again and again read: as much as they do, however much there is, whatever the planner knows of it."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

import dmsjournal as dj
from dmsjournal.database import sql
from dmsjournal.model.windows import HIGHEST_ID
from dmsjournal.schema import migrate
from tests.helpers import in_psycopg
from tests.postgres.test_plans import nodes, read

ROWS, BATCH = 30_000, 1_000
KNOWN = ["nothing", "that it was empty", "a thirtieth of it", "all of it"]  # when statistics were taken
FILL = {
    "ChangeContext": "SELECT n, 0, n, now(), '{}' FROM generate_series(%s::bigint, %s) AS n",
    "DocumentImage": "SELECT n, n, n %% 2 = 0, NULL, '{}' FROM generate_series(%s::bigint, %s) AS n",
    "Document": "SELECT n, gen_random_uuid(), 1 FROM generate_series(%s::bigint, %s) AS n",
    "ReferenceEdge": "SELECT n, n, false, 1 FROM generate_series(%s::bigint, %s) AS n",
    "DocumentChangeEvent": "SELECT n, n, 1, now(), 1, 'insert' FROM generate_series(%s::bigint, %s) AS n",
    "DocumentDeleteEvent": "SELECT n, n, gen_random_uuid(), 1, now(), 1, NULL FROM generate_series(%s::bigint, %s) AS n",
}


@contextmanager
def connected(url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(in_psycopg(url), autocommit=True, prepare_threshold=None) as session:
        yield session


def prepare(session: psycopg.Connection[Any]) -> None:
    session.execute("INSERT INTO dms.ResourceKey VALUES (1, 'Ed-Fi', 'Student', '5.2.0')")
    for table in FILL:
        session.execute(f"ALTER TABLE IF EXISTS dms.{table} SET (autovacuum_enabled = off)")


def fill(session: psycopg.Connection[Any], first: int, last: int, tables: tuple[str, ...] = tuple(FILL)) -> None:
    """Rows in the tables themselves, in the order of a journal."""
    with session.transaction():
        session.execute("SET LOCAL session_replication_role = replica")  # no triggers
        for table in tables:
            columns = " (DocumentId, DocumentUuid, ResourceKeyId)" if table == "Document" else ""
            session.execute(f"INSERT INTO dms.{table}{columns} {FILL[table]}", [first, last])


def fill_all(url: str, known: str) -> None:
    """All tables full, and statistics from when there was as much in them as `known` says; the sequence is at the last version."""
    migrate.upgrade(url, options=["images", "context"])
    with connected(url) as session:
        prepare(session)
        filled = 0
        for said, last in zip(KNOWN[1:], (0, ROWS // 30, ROWS), strict=True):
            fill(session, filled + 1, last)
            filled = last
            if said == known:
                session.execute("VACUUM ANALYZE")
        session.execute("SELECT setval('dms.ChangeVersionSequence', %s)", [ROWS])


@pytest.fixture(scope="module", params=KNOWN)
def full(postgres_server, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection[Any]]:
    with postgres_server.copy_of_template() as url:
        fill_all(url, request.param)
        with connected(url) as session:
            yield session


def explain(session: psycopg.Connection[Any], query_name: str, /, *begin: str, **binds: object) -> dict[str, Any]:
    """The plan of a query after those that begin its transaction; what it writes is taken back."""
    query = re.sub(r"(?<!:):(\w+)", r"%(\1)s", sql.text_of("postgres", f"queries/{query_name}").replace("%", "%%"))
    with session.transaction(force_rollback=True):
        for first in begin:
            session.execute(sql.text_of("postgres", f"queries/{first}"))
        [(found,)] = session.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query}", binds)
    return found[0]["Plan"]


def most_rows(plan: dict[str, Any]) -> int:
    """The most rows that a scan of a table or index came upon."""
    scans = [node for node in nodes(plan) if "Scan" in node["Node Type"]]
    return max((n["Actual Rows"] + n.get("Rows Removed by Filter", 0)) * n["Actual Loops"] for n in scans)


PLACES = [0, ROWS // 30 + 1, ROWS // 2]  # the second is where the statistics of a thirtieth end


@pytest.mark.parametrize("after", PLACES)
@pytest.mark.parametrize("walk", ["documents", "edges", "events", "tombstones", "images"])
def test_a_batch_of_verify_ends_after_its_rows(full: psycopg.Connection[Any], walk: str, after: int) -> None:
    name, binds = ("operate/verify_image_batch", {}) if walk == "images" else ("operate/verify_batch", {"walk": walk})
    plan = explain(full, name, after=after, size=BATCH, **binds)
    assert most_rows(plan) <= BATCH, json.dumps(plan)


@pytest.mark.parametrize("known", KNOWN)
def test_a_batch_of_the_prune_reads_its_own_contexts_and_images(url: str, known: str) -> None:
    """What is read goes by the rows, and not by the rows times the batches."""
    fill_all(url, known)
    with dj.connect(url) as journal:
        journal.prune(through=ROWS, batch_size=BATCH)
    counted = """SELECT t.relname, t.n_tup_del, t.seq_tup_read + sum(i.idx_tup_read)
                 FROM pg_stat_user_tables AS t JOIN pg_stat_user_indexes AS i USING (relid)
                 WHERE t.relname IN ('changecontext', 'documentimage') GROUP BY t.relname, t.n_tup_del, t.seq_tup_read"""
    deadline = time.monotonic() + 30  # the prune's session counts when it ends, which is after it was closed
    with connected(url) as session:
        found = session.execute(counted).fetchall()
        while sum(deleted for _, deleted, _ in found) < 2 * ROWS and time.monotonic() < deadline:
            time.sleep(0.05)
            found = session.execute(counted).fetchall()
    assert [deleted for _, deleted, _ in found] == [ROWS, ROWS]
    # to find a row and to delete it; and the planner, who has statistics, looks for the ends of an index, behind what was deleted
    assert all(ROWS <= rows <= 6 * ROWS for _, _, rows in found), found


def test_contexts_that_end_at_one_version_go_in_one_batch(url: str) -> None:
    migrate.upgrade(url, options=["context"])
    with connected(url) as session:
        with session.transaction():
            session.execute("SET LOCAL session_replication_role = replica")
            session.execute("INSERT INTO dms.ChangeContext SELECT n, 0, 1 + n / 6, now(), '{}' FROM generate_series(0, 17) AS n")
        session.execute("UPDATE dms.JournalFloor SET ChangeVersion = 2")
        session.execute("SELECT nextval('dms.ChangeVersionSequence') FROM generate_series(1, 10)")
        with dj.connect(url) as journal:
            journal.prune(through=2, batch_size=4)
        assert session.execute("SELECT min(ThroughVersion), count(*) FROM dms.ChangeContext").fetchone() == (3, 6)


@pytest.mark.parametrize(
    "name", ["database/last_event", "operate/consumers", "operate/update_consumer", "operate/insert_consumer", "feed/feed_page"]
)
def test_who_stands_at_the_floor_reads_nothing_that_was_pruned(url: str, name: str) -> None:
    """Without a vacuum, the index entries of what was deleted are still there."""
    binds: dict[str, dict[str, Any]] = {
        "database/last_event": {"version": ROWS},
        "operate/consumers": {"name": "reader"},
        "operate/update_consumer": {
            "name": "reader", "change_version": ROWS, "document_id": HIGHEST_ID, "feed_token": None, "backwards": False,
        },
        "operate/insert_consumer": {"name": "another", "change_version": ROWS, "document_id": HIGHEST_ID, "feed_token": None},
        "feed/feed_page": dict.fromkeys(
            ["resource_key_id", "document_id", "bucket", "bucket_count", "operations", "resource_key_ids"]
        ) | {
            "after_version": ROWS, "after_id": HIGHEST_ID, "max_version": ROWS, "page_size": 100, "scan_size": 100,
            "with_body": True, "with_key": 1,
        },
    }  # fmt: skip
    with connected(url) as session:
        prepare(session)
        fill(session, 1, ROWS, ("DocumentChangeEvent", "DocumentDeleteEvent"))
        session.execute("SELECT setval('dms.ChangeVersionSequence', %s)", [ROWS])
        session.execute(
            "INSERT INTO dms.ChangeConsumer (Name, ChangeVersion, DocumentId) VALUES ('reader', %s, %s)", [ROWS, HIGHEST_ID]
        )
        with dj.connect(url) as journal:
            journal.prune(through=ROWS)
        costs = [read(explain(session, name, "database/begin_page", **binds[name])) for _ in range(3)]
        assert costs[-1] <= 40, costs


def test_a_context_costs_the_same_after_ten_thousand_others(url: str) -> None:
    """In a session that has kept the plans of an empty table, and in a transaction that has said as many things before."""
    migrate.upgrade(url, options=["context"])
    with connected(url) as session:
        prepare(session)
        session.execute("INSERT INTO dms.Document (DocumentId, ResourceKeyId) VALUES (1, 1)")
        session.execute("VACUUM ANALYZE")
        for n in range(10):
            with session.transaction():
                write(session, n)
        with connected(url) as another:
            fill(another, 10**9, 10**9 + 10_000, ("ChangeContext",))
        before = rows_read(session, "changecontext")
        with session.transaction():
            for n in range(200):
                write(session, n)
            assert rows_read(session, "changecontext") - before <= 2 * 200


def write(session: psycopg.Connection[Any], n: int) -> None:
    session.execute("SELECT set_config('dmsjournal.context', %s, true)", [f'{{"n": {n}}}'])
    session.execute("UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = 1")


def rows_read(session: psycopg.Connection[Any], table: str) -> int:
    """Rows that this session has read and not reported yet, by scans and by index."""
    [(rows,)] = session.execute("SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_all_tables WHERE relname = %s", [table])
    return rows
