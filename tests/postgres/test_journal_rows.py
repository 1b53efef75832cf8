"""The journals as record batches: every event once, in order, whatever the batch; bounded memory; expiry is an error."""

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock
from uuid import UUID

import pyarrow as pa
import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.database import sql, sqlserver
from dmsjournal.events.arrow import read_journal
from dmsjournal.events.arrow.reader import JOURNAL_SCHEMA
from tests.helpers import STUDENT, commit

EVENTS = """
    SELECT ChangeVersion, DocumentId, ResourceKeyId, Operation, TransactionId, CreatedAt, NULL, NULL FROM dms.DocumentChangeEvent
    UNION ALL
    SELECT ChangeVersion, DocumentId, ResourceKeyId, 'delete', TransactionId, CreatedAt, DocumentUuid, KeyValues::text
    FROM dms.DocumentDeleteEvent ORDER BY 1, 2"""


@pytest.fixture
def history(journal: dj.Journal, connections: list[sa.Connection]) -> list[tuple[object, ...]]:
    """The events of 60 documents, as SQL gives them: created, changed, every third deleted, one of them with a key of text."""
    with journal.write() as tx:
        for n in range(60):
            tx.upsert(dj.Document(STUDENT, {"studentId": f"😀{n}"}, {}))
    commit(connections[0], "UPDATE dms.Document SET ContentVersion = 0 WHERE mod(DocumentId, 2) = 0")
    commit(connections[0], "DELETE FROM dms.Document WHERE mod(DocumentId, 3) = 0")
    return [tuple(row) for row in commit(connections[0], EVENTS)]


def rows(batches: list[pa.RecordBatch]) -> list[tuple[object, ...]]:
    found = []
    for row in itertools.chain.from_iterable(batch.to_pylist() for batch in batches):
        row["document_uuid"] = row["document_uuid"] and UUID(row["document_uuid"])
        found.append(tuple(row.values()))
    return found


@pytest.mark.parametrize("size", [1, 7, 55, 110, 50_000])
def test_every_event_is_read_once_in_order(url: str, history: list[tuple[object, ...]], size: int) -> None:
    batches = list(read_journal(url, batch_rows=size))
    assert rows(batches) == history
    assert {batch.schema for batch in batches} == {JOURNAL_SCHEMA}
    assert all(1 <= batch.num_rows <= size for batch in batches)


def test_a_window_s_ends_are_inclusive(url: str, history: list[tuple[object, ...]]) -> None:
    first, last = int(str(history[10][0])), int(str(history[70][0]))
    assert rows(list(read_journal(url, dj.Window(first, last), batch_rows=9))) == history[10:71]
    assert rows(list(read_journal(url, dj.Window(last + 1)))) == history[71:]
    assert list(read_journal(url, dj.Window(10_000))) == []


def test_nothing_above_the_horizon_is_read(url: str, history: list[tuple[object, ...]], connections: list[sa.Connection]) -> None:
    held, free = connections
    held.exec_driver_sql("UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = 1")
    commit(free, "UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = 2")
    assert rows(list(read_journal(url))) == history
    held.commit()
    assert len(rows(list(read_journal(url)))) == len(history) + 2


def test_what_was_pruned_before_or_meanwhile_is_expired(url: str, journal: dj.Journal, history: list[tuple[object, ...]]) -> None:
    walk = read_journal(url, batch_rows=10)
    next(walk)
    journal.prune(through=40)
    for _ in range(2):  # the second time, too: it is no end
        with pytest.raises(dj.CheckpointExpired):
            list(walk)
    with pytest.raises(dj.CheckpointExpired):
        list(read_journal(url, dj.Window(40)))
    assert rows(list(read_journal(url, dj.Window(41)))) == [row for row in history if int(str(row[0])) > 40]


def test_an_empty_journal_and_wrong_sizes(url: str) -> None:
    assert list(read_journal(url)) == []
    for size in (0, -1, 1_000_001):
        with pytest.raises(dj.InvalidRequest, match="batch_rows"):
            list(read_journal(url, batch_rows=size))


def test_what_is_missing_is_said(
    url: str, history: list[tuple[object, ...]], connections: list[sa.Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "adbc_driver_postgresql", None)
        with pytest.raises(dj.UnsupportedCapability, match=r"dmsjournal\[events\]"):
            list(read_journal(url))
    with pytest.raises(dj.UnsupportedCapability, match=r"mssql\+mssqlpython"):
        sqlserver.arrow_source(mock.Mock(url=sa.make_url("mssql+pyodbc://a:b@host/c"))).__enter__()
    walk = read_journal(url, batch_rows=10)
    next(walk)
    commit(connections[0], "ALTER TABLE dms.DocumentDeleteEvent RENAME TO Gone")
    with pytest.raises(dj.NotInstalled):
        next(walk)


def test_a_connection_that_is_lost_may_be_tried_again(
    url: str, history: list[tuple[object, ...]], connections: list[sa.Connection]
) -> None:
    walk = read_journal(url, batch_rows=10)
    next(walk)
    others = "datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    connections[1].connection.close()
    connections[0].exec_driver_sql(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {others}")
    for _ in range(2):
        with pytest.raises(dj.Unavailable):
            next(walk)


READ = """
import re, sys
from pathlib import Path
from dmsjournal.events.arrow import read_journal
rows = sum(batch.num_rows for batch in read_journal(sys.argv[1], batch_rows=20_000))
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(rows, peak[1])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process's memory is read from Linux's /proc")
@pytest.mark.parametrize("documents", [100_000, pytest.param(2_000_000, marks=pytest.mark.long)])
def test_memory_does_not_grow_with_the_journal(url: str, connections: list[sa.Connection], documents: int) -> None:
    commit(connections[0], "INSERT INTO dms.ResourceKey VALUES (1, 'Ed-Fi', 'Student', '5.2.0')")
    commit(connections[0], f"INSERT INTO dms.Document (ResourceKeyId) SELECT 1 FROM generate_series(1, {documents})")
    done = subprocess.run([sys.executable, "-c", READ, url], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    read, peak = map(int, done.stdout.split())
    assert read == documents
    assert peak < 300 * 1024  # KiB: pyarrow alone takes half of it


def test_a_page_reads_ranges_of_the_primary_keys(connections: list[sa.Connection]) -> None:
    connection = connections[0]
    commit(connection, "INSERT INTO dms.ResourceKey VALUES (1, 'Ed-Fi', 'Student', '5.2.0')")
    commit(connection, "INSERT INTO dms.Document (ResourceKeyId) SELECT 1 FROM generate_series(1, 20000)")
    commit(connection, "DELETE FROM dms.Document WHERE mod(DocumentId, 2) = 0")
    commit(connection, "ANALYZE dms.DocumentChangeEvent, dms.DocumentDeleteEvent")
    binds = {"after_version": 15_000, "after_id": 3, "max_version": 30_000, "page_size": 100}
    explained = sa.text("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + sql.text_of("postgres", "queries/events/journal_rows"))
    [plan] = connection.execute(explained, binds).scalar_one()
    scans = list(nodes(plan["Plan"]))
    journals = [node for node in scans if "event" in node.get("Relation Name", "")]
    assert {node["Node Type"] for node in journals} <= {"Index Scan", "Index Only Scan"}
    assert len(journals) == 2
    assert sum(node["Actual Rows"] * node["Actual Loops"] for node in journals) <= 202
    assert plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"] < 50


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from nodes(child)
