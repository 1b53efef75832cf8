"""Verify while others write: no false alarm, and nothing that is wrong is missed (docs/operator/verify.md).

The race that each check could lose: it reads a document at its new stamp and looks for the event that was committed with it, or the
other way round, while the writer commits in between. On PostgreSQL one snapshot holds both; a check in two statements, events
first, would see the document and not the event.
"""

import random
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

import dmsjournal as dj
from dmsjournal.operate import verify

from .races import CHILD, Race
from .test_mix import WRITERS, Program, for_seconds

WRITES_OF_A_RUN = 250


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many batches, so that writers commit between them."""
    monkeypatch.setattr(verify, "_BATCH", 5)
    monkeypatch.setattr(verify, "_BUFFER", 3)


def under_load(race: Race, seconds: float, prune: bool = True) -> list[dj.Finding]:
    """What verifications find while eight writers do everything at once, and somebody prunes."""
    race.committed(lambda w: w.create())
    children = [i for i, _ in race.committed(*[lambda w: w.create(CHILD)] * 12)]
    documents = [i for i, _ in race.committed(*[lambda w: w.create()] * 40)]
    programs = [Program(race, number, documents, children) for number in range(WRITERS)]
    is_time_left, is_any_time_left = for_seconds(seconds), for_seconds(180)
    found: list[dj.Finding] = []
    runs = 0

    def goes_on() -> bool:
        """On a busy machine a run takes seconds: the load lasts until the third."""
        return not found and (is_time_left() or runs < 3) and is_any_time_left()

    def writes_on() -> bool:
        """As `goes_on`. What is written during a run makes the next one longer: without a limit, ever longer on a busy machine."""
        while goes_on() and sum(program.done["committed"] for program in programs) > WRITES_OF_A_RUN * (runs + 1):
            time.sleep(0.01)
        return goes_on()

    with ThreadPoolExecutor(WRITERS + 1) as threads:
        writing = [threads.submit(program.run, writes_on) for program in programs]
        while goes_on():
            found += race.journal.verify().findings
            runs += 1
            if prune:
                prune_below(race, race.newest() - 50)
        for program in writing:
            program.result()
    assert runs >= 3 or found
    print({"runs": runs, "committed": sum(program.done["committed"] for program in programs)})
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
    assert under_load(race, 6) == []
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
    goes_on = for_seconds(5)
    with ThreadPoolExecutor(4) as threads:
        writing = [threads.submit(program.run, goes_on) for program in programs]
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


@pytest.mark.long
def test_the_load_would_show_a_check_that_reads_events_first(race: Race, small_batches, monkeypatch: pytest.MonkeyPatch) -> None:
    """The events' snapshot taken before the documents': the race that the one statement does not have."""
    execute = verify.Session.execute

    def events_first(session, name, /, **binds):
        if name != "operate/verify_documents":
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

    monkeypatch.setattr(verify.Session, "execute", events_first)
    assert {finding.code for finding in under_load(race, 12, prune=False)} == {"document-unjournaled"}


# In the order that a rule is there for.


def interrupting(monkeypatch: pytest.MonkeyPatch, statement: str, act: Callable[[], object]) -> None:
    """Has something happen just before the statement is run, once."""
    execute, done = verify.Session.execute, []

    def first_act(session, name, /, **binds):
        if name == statement and not done:
            done.append(True)
            act()
        return execute(session, name, **binds)

    monkeypatch.setattr(verify.Session, "execute", first_act)


def past_triggers(race: Race, statement: str) -> None:
    with race.engine.begin() as conn:
        conn.exec_driver_sql("SET LOCAL session_replication_role = replica")
        conn.exec_driver_sql(statement)


def test_a_tombstone_that_is_pruned_while_it_is_looked_for_is_not_missed(race: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    """The event was read before, the floor is read with the tombstones."""
    [(document, _)] = race.committed(lambda w: w.create())
    race.committed(lambda w: w.delete(document))
    interrupting(monkeypatch, "operate/verify_vanished", lambda: race.journal.prune(race.newest()))
    assert race.journal.verify().is_clean


@pytest.mark.parametrize("race", ["max_dep_identity_version"], indirect=True)
def test_a_rename_that_is_left_to_the_next_one_is_no_finding(race: Race) -> None:
    """Of a REPEATABLE READ transaction: its parents are not raised yet, and readers go by the journals until they are."""
    [(parent, _), (child, _)] = race.committed(lambda w: w.create(), lambda w: w.create(CHILD))
    race.committed(lambda w: w.refer(parent, child))
    old = race.writer("REPEATABLE READ")
    old.rename(child, "new")
    old.commit()
    assert race.look("SELECT count(*) FROM dms.MaxDepIdentityPending").scalar_one() == 1
    assert race.journal.verify().is_clean


def test_nobody_draws_a_stamp_while_the_sequence_is_raised(race: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it is one that was given before the sequence was set back."""
    [(document, _), (_, given)] = race.committed(lambda w: w.create(), lambda w: w.create())
    race.look("SELECT setval('dms.ChangeVersionSequence', 1)")
    drawing: list[Future[int]] = []
    interrupting(
        monkeypatch,
        "operate/raise_sequence",
        lambda: drawing.append(race.blocked(lambda: race.first.touch(document), race.first.pid)),
    )
    repair = ThreadPoolExecutor(1).submit(race.journal.repair)
    while not drawing and not repair.done():
        time.sleep(0.005)
    if repair.done():
        repair.result()
    assert drawing[0].result(60) > given
    race.first.commit()
    assert repair.result(60).left.is_clean


def test_an_edge_whose_child_has_come_back_meanwhile_is_not_removed(race: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    [(parent, _), (child, _)] = race.committed(lambda w: w.create(), lambda w: w.create(CHILD))
    race.committed(lambda w: w.refer(parent, child))
    race.look("CREATE TABLE kept AS SELECT * FROM dms.Document")
    past_triggers(race, f"DELETE FROM dms.Document WHERE DocumentId = {child}")
    back = f"INSERT INTO dms.Document SELECT * FROM kept WHERE DocumentId = {child}"
    interrupting(monkeypatch, "operate/remove_dangling_edges", lambda: past_triggers(race, back))
    race.journal.repair()
    assert race.look("SELECT count(*) FROM dms.ReferenceEdge").scalar_one() == 1
