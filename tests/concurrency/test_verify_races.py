"""Verify while others write: no false alarm, and nothing that is wrong is missed (docs/operator/verify.md).

The race that each check could lose: it reads a document at its new stamp and looks for the event that was committed with it, or the
other way round, while the writer commits in between. On PostgreSQL one snapshot holds both; a check in two statements, events
first, would see the document and not the event.
"""

import random
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import dmsjournal as dj
from dmsjournal import verifying

from .races import CHILD, Race
from .test_mix import WRITERS, Program


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many batches, so that writers commit between them."""
    monkeypatch.setattr(verifying, "_BATCH", 5)
    monkeypatch.setattr(verifying, "_BUFFER", 3)


def under_load(race: Race, seconds: float, prune: bool = True) -> list[dj.Finding]:
    """What verifications find while eight writers do everything at once, and somebody prunes."""
    race.committed(lambda w: w.create())
    children = [i for i, _ in race.committed(*[lambda w: w.create(CHILD)] * 12)]
    documents = [i for i, _ in race.committed(*[lambda w: w.create()] * 40)]
    programs = [Program(race, number, documents, children) for number in range(WRITERS)]
    until = time.monotonic() + seconds
    found: list[dj.Finding] = []
    runs = 0
    with ThreadPoolExecutor(WRITERS + 1) as threads:
        writing = [threads.submit(program.run, until) for program in programs]
        while time.monotonic() < until and not found:
            found += race.journal.verify().findings
            runs += 1
            if prune:
                prune_below(race, race.newest() - 50)
        for program in writing:
            program.result()
    print({"runs": runs, "committed": sum(program.done["committed"] for program in programs)})
    assert runs >= 3 or found
    return found


def prune_below(race: Race, version: int) -> None:
    """As pruning does it: floors rise with what they remove."""
    with race.engine.begin() as conn:
        for journal in ("DocumentChangeEvent", "IdentityChangeEvent", "KeyChangeEvent", "DocumentDeleteEvent"):
            conn.exec_driver_sql(
                f"UPDATE dms.JournalFloor SET ChangeVersion = greatest(ChangeVersion, {version}), PrunedAt = now() "
                f"WHERE Journal = '{journal}'"
            )
            conn.exec_driver_sql(
                f"DELETE FROM dms.{journal} WHERE ChangeVersion <= (SELECT ChangeVersion FROM dms.JournalFloor "
                f"WHERE Journal = '{journal}')"
            )


@pytest.mark.acceptance("59")
def test_no_false_alarm_under_load(race: Race, small_batches) -> None:
    assert under_load(race, 12) == []
    assert race.journal.verify().is_clean


def test_what_bypasses_under_load_is_found_and_repaired_under_load(race: Race, small_batches) -> None:
    """Repair runs beside the writers: what it heals is exact, and their changes are not lost either."""
    [(victim, _), (renamed, _)] = race.committed(lambda w: w.create(key=1), lambda w: w.create(key=2))
    race.committed(lambda w: w.rename(renamed, 3))
    race.reader.step()
    with race.engine.begin() as conn:
        conn.exec_driver_sql("SET LOCAL session_replication_role = replica")
        conn.exec_driver_sql(f"UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = {victim}")
        conn.exec_driver_sql(f"DELETE FROM dms.Document WHERE DocumentId = {renamed}")
    children = [i for i, _ in race.committed(*[lambda w: w.create(CHILD)] * 6)]
    documents = [i for i, _ in race.committed(*[lambda w: w.create()] * 20)]
    programs = [Program(race, number, documents, children) for number in range(4)]
    until = time.monotonic() + 5
    with ThreadPoolExecutor(4) as threads:
        writing = [threads.submit(program.run, until) for program in programs]
        time.sleep(random.uniform(0, 0.5))
        repair = race.journal.repair()
        for program in writing:
            program.result()
    assert {finding.code: list(finding.objects) for finding in repair.found.findings} == {
        "document-unstamped": [victim],
        "document-vanished": [renamed],
    }
    assert repair.left.is_clean
    assert race.missed() == {}
    assert renamed in race.reader.deleted


def test_the_load_would_show_a_check_that_reads_events_first(race: Race, small_batches, monkeypatch: pytest.MonkeyPatch) -> None:
    """The events' snapshot taken before the documents': the race that the one statement does not have."""
    execute = verifying.Session.execute

    def events_first(session, name, **binds):
        if name != "verify_documents":
            return execute(session, name, **binds)
        journaled = set(map(tuple, session.conn.exec_driver_sql("SELECT ChangeVersion, DocumentId FROM dms.DocumentChangeEvent")))
        time.sleep(0.02)
        floor = "(SELECT ChangeVersion FROM dms.JournalFloor WHERE Journal = 'DocumentChangeEvent')"
        rows = session.conn.exec_driver_sql(
            "SELECT 'document-unjournaled' AS code, DocumentId AS document_id, true AS is_content, false AS is_identity, "
            "false AS is_key, ContentVersion AS content_version, IdentityVersion AS identity_version FROM dms.Document "
            f"WHERE DocumentId > {binds['after']} AND DocumentId <= {binds['last']} AND ContentVersion > {floor}"
        ).all()
        return [row for row in rows if (row.content_version, row.document_id) not in journaled]

    monkeypatch.setattr(verifying.Session, "execute", events_first)
    assert {finding.code for finding in under_load(race, 12, prune=False)} == {"document-unjournaled"}
