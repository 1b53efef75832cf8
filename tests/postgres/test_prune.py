"""What a prune holds and reads while it runs (acceptance 53, at a size where it shows)."""

import threading
import time
from itertools import pairwise
from typing import Any

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.database import sql
from dmsjournal.database.session import Session
from tests.helpers import commit, newest

ROWS, BATCH = 20_000, 1_000
# What a batch may hold: on tables the locks that writers and readers take as well, on rows and keys those of its own.
MODES = {"AccessShareLock", "RowExclusiveLock", "RowShareLock"}


@pytest.fixture
def full(journal: dj.Journal, connections: list[sa.Connection]) -> dj.Journal:
    """Versions 1 to ROWS, and nobody who takes dead rows away."""
    commit(connections[0], "ALTER TABLE dms.DocumentChangeEvent SET (autovacuum_enabled = off)")
    commit(
        connections[0], "INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion) VALUES ('Ed-Fi', 'Student', '5')"
    )
    commit(
        connections[0],
        f"INSERT INTO dms.Document (ResourceKeyId) SELECT ResourceKeyId FROM dms.ResourceKey, generate_series(1, {ROWS})",
    )
    commit(connections[0], "ANALYZE dms.DocumentChangeEvent")
    return journal


@pytest.mark.acceptance("53")
def test_a_prune_goes_in_batches_that_lock_no_table(full: dj.Journal, connections: list[sa.Connection]) -> None:
    held: set[tuple[str, str]] = set()
    enough = threading.Event()
    seen: list[dj.Pruned] = []
    between: list[list[Any]] = []
    # Of a whole table: 'extend', 'page' and 'tuple' locks name their table too, and last for a moment.
    locks = (
        "SELECT DISTINCT CASE locktype WHEN 'relation' THEN relation::regclass::text ELSE locktype END, mode"
        " FROM pg_locks JOIN pg_stat_activity USING (pid)"
        " WHERE application_name = 'dmsjournal' AND pg_stat_activity.datname = current_database()"
    )

    def look() -> None:
        while not enough.is_set():
            held.update(tuple(row) for row in commit(connections[0], locks))

    def progress(pruned: dj.Pruned) -> None:
        seen.append(pruned)
        if len(seen) % 5 == 0:
            between.append([tuple(row) for row in commit(connections[1], locks)])

    watching = threading.Thread(target=look)
    watching.start()
    try:
        deadline = time.monotonic() + 60
        pruned = full.prune(ROWS, batch_size=BATCH, progress=progress)
        assert time.monotonic() < deadline
    finally:
        enough.set()
        watching.join()
    assert pruned.deleted == ROWS
    steps = [step.deleted for step in seen]
    assert len(steps) > ROWS / BATCH
    assert max(after - before for before, after in pairwise(steps)) == BATCH
    on_tables = {(name, mode) for name, mode in held if name.startswith("dms.")}
    assert ("dms.documentchangeevent", "RowExclusiveLock") in on_tables, "nobody looked during a batch"
    assert {mode for _, mode in on_tables} <= MODES
    assert between
    assert not any(between), "a lock outlived its batch"


@pytest.mark.acceptance("53")
def test_a_batch_begins_where_the_last_one_ended(full: dj.Journal, connections: list[sa.Connection], monkeypatch) -> None:
    """Else each would look at the index entries of all that were deleted before it, which are there until a vacuum."""
    execute, begins = Session.execute, []

    def spy(session: Session, name: str, /, **binds: object) -> object:
        if name == "operate/prune_document_changes":
            begins.append(binds["after_version"])
        return execute(session, name, **binds)

    monkeypatch.setattr(Session, "execute", spy)
    full.prune(ROWS // 2, batch_size=BATCH)
    assert begins == [-1, *range(BATCH, ROWS // 2 + 1, BATCH)]
    with connections[0].begin():
        after = blocks_of_a_batch(connections[0], after=ROWS // 2)
        connections[0].rollback()
    with connections[0].begin():
        from_the_beginning = blocks_of_a_batch(connections[0], after=0)
        connections[0].rollback()
    assert after < 40
    assert from_the_beginning > 2 * after


def blocks_of_a_batch(connection: sa.Connection, after: int) -> int:
    """What finding a batch's rows reads, in blocks; the plan must be an index's."""
    connection.execute(sql.query("postgres", "operate/prune_begin"))
    text = sql.text_of("postgres", "queries/operate/prune_document_changes")
    binds = {"after_version": after, "after_id": 0, "through": ROWS, "batch_size": BATCH}
    [plan] = connection.execute(sa.text(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {text}"), binds).scalar_one()
    scans = [node for node in nodes(plan["Plan"]) if node.get("Relation Name") == "documentchangeevent"]
    assert {node["Node Type"] for node in scans} == {"Index Scan", "Tid Scan", "ModifyTable"}, plan
    [scan] = [node for node in scans if node["Node Type"] == "Index Scan"]
    assert scan["Index Name"] == "pk_documentchangeevent"
    return int(scan["Shared Hit Blocks"] + scan["Shared Read Blocks"])


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for child in plan.get("Plans", []) for node in nodes(child))]


def test_a_batch_that_fails_changes_nothing(full: dj.Journal, connections: list[sa.Connection]) -> None:
    with connections[0].begin():
        connections[0].exec_driver_sql("LOCK TABLE dms.JournalFloor IN SHARE MODE")
        with dj.connect(full.database.pool.url.update_query_dict({"options": "-c lock_timeout=200ms"})) as other:
            with pytest.raises(dj.Unavailable):
                other.prune(10)
            connections[0].rollback()
            assert commit(connections[1], "SELECT count(*) FROM dms.DocumentChangeEvent") == [(ROWS,)]
            assert other.versions() == dj.ChangeVersions(0, ROWS) == dj.ChangeVersions(0, newest(full))
            assert other.prune(10).deleted == 10
