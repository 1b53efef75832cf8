"""Retention: what a prune deletes, where it stops, and what readers are told (acceptance 49 to 51, 53)."""

import json
import logging
import os
import socket
import time
from datetime import timedelta
from itertools import pairwise
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.model.journals import JOURNALS as JOURNAL_NAMES
from dmsjournal.operate import prune
from dmsjournal.util import durations
from jobs import prune_journals
from tests.helpers import (
    PLAN,
    SCHOOL,
    STUDENT,
    change_content,
    change_identity,
    commit,
    document,
    expected_changes,
    newest,
    write,
)

JOURNALS = list(JOURNAL_NAMES)
ALL = "SELECT {} FROM dms.{} ORDER BY ChangeVersion"


@pytest.fixture
def history(journal: dj.Journal, connections: list[sa.Connection]) -> dj.Journal:
    return with_history(journal, connections[0])


def with_history(journal: dj.Journal, connection: sa.Connection) -> dj.Journal:
    """Documents 1 to 6, three students that plans refer to, at versions 1 to 6; then each journal gets events up to version 15."""
    students = [document(STUDENT, n) for n in range(3)]
    write(journal, *students)
    write(journal, *(document(PLAN, n, student) for n, student in enumerate(students)))
    with journal.write() as tx:
        for n in range(3):  # 7, 8, 9
            tx.rekey(STUDENT, {"studentId": n}, {"studentId": n + 10})
    change_content(connection, 4)  # 10
    with journal.write() as tx:
        for n in range(2):  # 11, 12
            tx.delete(PLAN, {"graduationPlanId": n})
    change_identity(connection, 3)  # 13
    with journal.write() as tx:
        tx.rekey(STUDENT, {"studentId": 12}, {"studentId": 2})  # 14
        tx.delete(PLAN, {"graduationPlanId": 2})  # 15
    assert newest(journal) == 15
    return journal


def versions_of(connection: sa.Connection) -> dict[str, list[int]]:
    return {name: [row[0] for row in commit(connection, ALL.format("ChangeVersion", name))] for name in JOURNALS}


def floors_of(connection: sa.Connection) -> dict[str, int]:
    return dict(tuple(row) for row in commit(connection, "SELECT Journal, ChangeVersion FROM dms.JournalFloor"))


@pytest.mark.acceptance("49")
@pytest.mark.parametrize("batch_size", [1, 2, 1000])
@pytest.mark.parametrize("through", [0, 1, 8, 11, 15])
def test_a_prune_deletes_what_is_at_or_below_a_version(history: dj.Journal, connections, through: int, batch_size: int) -> None:
    before = versions_of(connections[0])
    pruned = history.prune(through, batch_size=batch_size)
    assert versions_of(connections[0]) == {name: [v for v in kept if v > through] for name, kept in before.items()}
    assert floors_of(connections[0]) == dict.fromkeys(JOURNALS, through)
    assert (pruned.through, pruned.held_by, pruned.finished) == (through, None, True)
    gone = {name: sum(v <= through for v in kept) for name, kept in before.items()}
    counted = {j.journal: j.deleted for j in pruned.journals if not j.dropped}  # a part's rows are the server's estimate
    assert counted == {name: gone[name] for name in counted}
    assert {j.floor for j in pruned.journals} == {through}
    assert pruned.deleted == sum(j.deleted for j in pruned.journals)
    assert history.versions() == dj.ChangeVersions(through + 1 if through else 0, 15)


@pytest.mark.acceptance("49")
def test_a_window_from_the_floor_is_expired_and_one_above_it_is_served(history: dj.Journal, connections) -> None:
    expected = {
        read.__name__: list(read(of, dj.Window(8)))
        for read in (history.changes, history.deletes, history.key_changes)
        for of in (STUDENT, PLAN)
    }
    history.prune(7)
    for read in (history.changes, history.deletes, history.key_changes):
        for of in (STUDENT, PLAN):
            for window in (dj.Window(7), dj.Window(7, 7), dj.Window(1, 15), None):
                with pytest.raises(dj.CheckpointExpired) as expired:
                    read(of, window)
                assert expired.value.oldest == 8
        assert list(read(PLAN, dj.Window(8))) == expected[read.__name__]
    for of, resource_key_id in history.resources().items():
        window = dj.Window(8)
        assert list(history.changes(of, window)) == expected_changes(connections[0], resource_key_id, window)
    with pytest.raises(dj.CheckpointExpired):
        history.change_page(STUDENT, dj.Window(7), dj.Cursor(9, 1))


@pytest.mark.acceptance("49")
def test_a_floor_never_falls_and_a_second_prune_finds_nothing(history: dj.Journal, connections) -> None:
    history.prune(9)
    kept = versions_of(connections[0])
    for through in (9, 3):
        assert history.prune(through).deleted == 0
        assert floors_of(connections[0]) == dict.fromkeys(JOURNALS, 9)
    assert versions_of(connections[0]) == kept


@pytest.mark.acceptance("49")
def test_documents_their_versions_and_their_etags_stay(history: dj.Journal) -> None:
    before, derived = list(history.snapshot(STUDENT)), history.derive(range(1, 7))
    history.prune(newest(history))
    assert list(history.snapshot(STUDENT)) == before
    assert history.derive(range(1, 7)) == derived


def test_who_goes_on_from_a_snapshot_misses_nothing_after_everything_was_pruned(history: dj.Journal, connections) -> None:
    walk = history.snapshot(STUDENT)
    history.prune(newest(history))
    assert len(list(walk)) == 3
    after = dj.Window(walk.through + 1)
    assert list(history.changes(STUDENT, after)) == []
    change_identity(connections[0], 2)
    assert [change.change_version for change in history.changes(STUDENT, after)] == [16]


def test_what_was_written_after_a_prune_is_journaled_whoever_wrote_it(history: dj.Journal, connections) -> None:
    """Triggers look whether a stamp is their own transaction's in the journal: those are above the horizon, so never pruned."""
    history.prune(newest(history))
    school = document(SCHOOL, 1)
    with history.write() as tx:
        tx.upsert_many([school, document(PLAN, 7, document(STUDENT, 10), school)])
        tx.rekey(STUDENT, {"studentId": 10}, {"studentId": 0})
    for of, resource_key_id in history.resources().items():
        window = dj.Window(16)
        assert list(history.changes(of, window)) == expected_changes(connections[0], resource_key_id, window)


def test_a_floor_above_newest_is_refused(history: dj.Journal, connections) -> None:
    with connections[0].begin():
        connections[0].exec_driver_sql("UPDATE dms.Document SET ContentVersion = ContentVersion + 1 WHERE DocumentId = 1")
        with pytest.raises(dj.InvalidRequest, match="newest is 15"):
            history.prune(16)
        assert history.prune(older_than=timedelta()).through == 15
    assert floors_of(connections[1]) == dict.fromkeys(JOURNALS, 15)
    assert [change.change_version for change in history.changes(STUDENT, dj.Window(16))] == [16]


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"through": -1},
        {"through": True},
        {"through": "5"},
        {"older_than": 5},
        {"older_than": timedelta(seconds=-1)},
        {"keep_at_least": 0},
        {"through": 1, "journals": ["Document"]},
        {"through": 1, "journals": "KeyChangeEvent"},
        {"through": 1, "batch_size": 0},
        {"through": 1, "batch_size": 50_001},
        {"through": 1, "pause": 1},
        {"through": 1, "max_runtime": -timedelta(seconds=1)},
    ],
)
def test_what_makes_no_sense_is_refused(journal: dj.Journal, asked) -> None:
    with pytest.raises(dj.InvalidRequest):
        journal.prune(**asked)


def test_some_journals_only(history: dj.Journal, connections) -> None:
    """Changes expire at the higher floor of the two journals that tell of them."""
    history.prune(5, journals=["DocumentDeleteEvent"])
    assert history.versions().oldest == 0
    history.prune(8, journals=["IdentityChangeEvent"])
    floors = {"DocumentChangeEvent": 0, "IdentityChangeEvent": 8, "KeyChangeEvent": 0, "DocumentDeleteEvent": 5}
    assert floors_of(connections[0]) == floors
    assert history.versions().oldest == 9
    with pytest.raises(dj.CheckpointExpired):
        history.changes(PLAN, dj.Window(8))
    assert len(list(history.key_changes(STUDENT, dj.Window(1)))) == 2  # 2 to 12 and back is none
    assert versions_of(connections[0])["DocumentChangeEvent"][0] == 1


def test_more_events_of_one_version_than_a_batch_holds(journal: dj.Journal, connections) -> None:
    """What was adopted or restored can have it so. The floor is at the version with the first of them, and they all go."""
    rows = ", ".join(f"(1, {n}, 1, '2020-01-01', 1, 'insert'), (2, {n}, 1, '2020-01-01', 1, 'insert')" for n in range(100, 105))
    columns = "ChangeVersion, DocumentId, TransactionId, CreatedAt, ResourceKeyId, Operation"
    commit(connections[0], f"INSERT INTO dms.DocumentChangeEvent ({columns}) VALUES {rows}")
    write(journal, *(document(STUDENT, n) for n in range(4)))
    assert journal.prune(3, batch_size=2, max_runtime=timedelta()).finished is False
    pruned = journal.prune(3, batch_size=2)
    assert {j.journal: j.deleted for j in pruned.journals}["DocumentChangeEvent"] == 13
    assert versions_of(connections[0])["DocumentChangeEvent"] == [4]


def test_events_below_a_floor_go_too(history: dj.Journal, connections) -> None:
    """An installation over documents leaves some there."""
    commit(connections[0], "UPDATE dms.JournalFloor SET ChangeVersion = 12")
    assert history.prune(9).deleted > 0
    assert all(v > 9 for versions in versions_of(connections[0]).values() for v in versions)
    assert floors_of(connections[0]) == dict.fromkeys(JOURNALS, 12)


# Age and number.


@pytest.fixture
def aged(history: dj.Journal, connections) -> dj.Journal:
    """The events up to version 9 are of 2020."""
    for name in JOURNALS:
        commit(connections[0], f"UPDATE dms.{name} SET CreatedAt = '2020-01-01' WHERE ChangeVersion <= 9")
    return history


@pytest.mark.acceptance("49")
def test_an_age_is_turned_into_the_version_below_the_first_younger_event(aged: dj.Journal, connections) -> None:
    assert aged.prune(older_than=timedelta(days=36_500)).through == 0
    assert aged.prune(older_than=timedelta(days=1), dry_run=True).through == 9
    commit(
        connections[0], "UPDATE dms.DocumentChangeEvent SET CreatedAt = '2020-01-01' WHERE ChangeVersion = 13"
    )  # a clock went back
    assert aged.prune(older_than=timedelta(days=1)).through == 9
    assert floors_of(connections[0]) == dict.fromkeys(JOURNALS, 9)
    assert aged.prune(older_than=timedelta()).through == 15


@pytest.mark.parametrize("first", JOURNALS)
def test_every_journal_has_its_say_in_an_age(aged: dj.Journal, connections, first: str) -> None:
    for name in JOURNALS:
        commit(connections[0], f"UPDATE dms.{name} SET CreatedAt = '2020-01-01'")
    event = max(versions_of(connections[0])[first])
    commit(connections[0], f"UPDATE dms.{first} SET CreatedAt = CURRENT_TIMESTAMP WHERE ChangeVersion = {event}")
    assert aged.prune(older_than=timedelta(days=1), dry_run=True).through == event - 1


def test_the_newest_events_stay_whatever_their_age(aged: dj.Journal, connections) -> None:
    for keep, through in ((1, 13), (2, 12), (4, 8), (12, 0), (100, 0)):
        assert aged.prune(keep_at_least=keep, dry_run=True).through == through
    assert aged.prune(older_than=timedelta(days=1), keep_at_least=4).through == 8
    assert len(versions_of(connections[0])["DocumentChangeEvent"]) == 4


def test_the_lowest_counts(aged: dj.Journal) -> None:
    assert aged.prune(5, older_than=timedelta(days=1), keep_at_least=1, dry_run=True).through == 5
    assert aged.prune(12, older_than=timedelta(days=1), keep_at_least=1, dry_run=True).through == 9
    assert aged.prune(12, older_than=timedelta(days=1), keep_at_least=5, dry_run=True).through == 7


def test_a_dry_run_says_how_much_and_changes_nothing(history: dj.Journal, connections) -> None:
    before = versions_of(connections[0])
    meant = history.prune(9, dry_run=True)
    assert (versions_of(connections[0]), floors_of(connections[0])) == (before, dict.fromkeys(JOURNALS, 0))
    assert all(j.bytes > 0 if j.deleted else j.bytes == 0 for j in meant.journals)
    done = history.prune(9)
    assert [(j.journal, j.floor, j.deleted) for j in done.journals] == [(j.journal, j.floor, j.deleted) for j in meant.journals]


# Batches.


def test_batches_have_a_size_a_progress_and_an_end(history: dj.Journal, connections) -> None:
    seen: list[dj.Pruned] = []
    history.prune(15, batch_size=2, progress=seen.append)
    assert seen[0].deleted == 0
    steps = [after.deleted - before.deleted for before, after in pairwise(seen)]
    assert max(steps) == 2
    assert seen[-1].finished
    assert seen[-1].deleted == sum(steps) == 12 + 5 + 4 + 3
    turns = [{j.journal: j.deleted for j in step.journals} for step in seen[: len(JOURNALS) + 1]]
    assert all(turns[-1].values()), "each journal gets on from the first round"


def test_a_prune_ends_in_time_and_the_next_one_goes_on(history: dj.Journal, connections, monkeypatch: pytest.MonkeyPatch) -> None:
    naps: list[float] = []
    now = iter(range(1000))
    monkeypatch.setattr(prune, "time", SimpleNamespace(monotonic=lambda: next(now), sleep=naps.append))
    pruned = history.prune(15, batch_size=1, pause=timedelta(seconds=7), max_runtime=timedelta(seconds=10))
    assert not pruned.finished
    assert 0 < pruned.deleted < 12
    assert 0 < max(naps) <= 7
    assert {j.journal: j.floor for j in pruned.journals} == floors_of(connections[0])
    assert history.prune(15, batch_size=1).finished
    assert not any(versions_of(connections[0]).values())


@pytest.mark.acceptance("50")
@pytest.mark.parametrize("reader", ["changes", "deletes", "key_changes"])
def test_a_walk_that_the_floor_passes_ends_with_an_error(history: dj.Journal, reader: str) -> None:
    of = PLAN if reader == "deletes" else STUDENT
    walk = getattr(history, reader)(of, dj.Window(1), page_size=1)
    read = [next(walk)]
    history.prune(2)
    with pytest.raises(dj.CheckpointExpired):
        read += list(walk)


@pytest.mark.acceptance("50")
def test_a_walk_that_the_floor_does_not_pass_finishes(history: dj.Journal) -> None:
    walks = [read(STUDENT, dj.Window(8), page_size=1) for read in (history.changes, history.key_changes)]
    expected = [list(read(STUDENT, dj.Window(8))) for read in (history.changes, history.key_changes)]
    begun = [[next(walk)] for walk in walks]
    history.prune(7)
    assert [read + list(walk) for read, walk in zip(begun, walks, strict=True)] == expected


# One at a time.


def test_one_prune_at_a_time_and_the_other_is_named(history: dj.Journal) -> None:
    def interrupt(pruned: dj.Pruned) -> None:
        with dj.connect(history.database.pool.url) as other, pytest.raises(dj.Unavailable) as refused:
            other.prune(3)
        told.append(str(refused.value))
        raise InterruptedError

    told: list[str] = []
    with pytest.raises(InterruptedError):
        history.prune(15, progress=interrupt)
    assert "another prune is running" in told[0]
    assert f"process {os.getpid()} on {socket.gethostname()}" in told[0]
    with dj.connect(history.database.pool.url) as other:
        assert other.prune(3).finished  # whatever ended the first one, it let go


# Consumers.


@pytest.mark.acceptance("51")
def test_a_prune_stops_at_the_slowest_consumer_and_names_it(history: dj.Journal, connections) -> None:
    history.consumers.register("fast", 14)
    history.consumers.register("warehouse", 6)
    pruned = history.prune(10)
    assert pruned.through == 6
    assert pruned.held_by is not None
    assert (pruned.held_by.name, pruned.held_by.lag) == ("warehouse", 9)
    assert floors_of(connections[0]) == dict.fromkeys(JOURNALS, 6)
    history.consumers.advance("warehouse", 12)
    assert history.prune(10).held_by is None
    assert history.prune(13, force=True).through == 13
    assert [consumer.state for consumer in history.consumers.list()] == ["current", "expired"]
    assert history.prune(15).held_by.state == "expired"
    history.consumers.drop("warehouse")
    assert history.prune(15).held_by.name == "fast"


@pytest.mark.acceptance("51")
def test_a_consumer_inside_a_version_keeps_that_version(history: dj.Journal) -> None:
    consumer = history.consumers.register("search", dj.Cursor(9, 5))
    assert (consumer.through, consumer.document_id, consumer.cursor) == (8, 5, dj.Cursor(9, 5))
    assert history.prune(15).through == 8
    assert history.change_page(PLAN, dj.Window(9), consumer.cursor).through == 15
    history.consumers.advance("search", dj.Cursor(9, 6))
    assert history.consumers.advance("search", 9).cursor is None
    assert history.prune(15).through == 9


@pytest.mark.acceptance("51")
def test_a_consumer_that_comes_during_a_prune_is_heeded(history: dj.Journal, connections) -> None:
    def register(pruned: dj.Pruned) -> None:
        if pruned.deleted == 4:
            history.consumers.register("late", 5)

    pruned = history.prune(15, batch_size=1, journals=["DocumentChangeEvent"], progress=register)
    assert (pruned.through, pruned.deleted, pruned.held_by and pruned.held_by.name) == (5, 5, "late")
    assert floors_of(connections[0])["DocumentChangeEvent"] == 5
    assert list(history.changes(STUDENT, dj.Window(6)))


@pytest.fixture
def named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DMSJOURNAL_URL", url)


def invoke(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli.app, arguments)
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.usefixtures("named")
def test_the_command(history: dj.Journal) -> None:
    code, out, _ = invoke("prune", "--through", "9", "--dry-run")
    assert code == 0
    assert out.startswith("DocumentChangeEvent\t9\t9\t")
    assert len(out.splitlines()) == 4
    assert json.loads(invoke("prune", "--through", "9", "--dry-run", "--json")[1])["dry_run"]
    assert history.versions().oldest == 0
    code, out, _ = invoke("prune", "--through", "9", "--journal", "KeyChangeEvent", "--pause", "1ms", "--max-runtime", "1h")
    assert (code, out) == (0, "KeyChangeEvent\t9\t3\ttrue\n")
    history.consumers.register("warehouse", 10)
    code, out, err = invoke("prune", "--older-than", "0s", "--json")
    assert code == 0
    assert "stopped at version 10: consumer warehouse has read up to version 10, 5 behind newest" in err
    told = json.loads(out)
    assert (told["through"], told["deleted"], told["finished"], told["held_by"]["name"]) == (10, 13, True, "warehouse")
    assert not told["dry_run"]
    assert invoke("prune", "--keep-at-least", "1", "--force")[0] == 0
    assert history.versions().oldest == 14
    assert "5 behind newest, and is expired; advance it" in invoke("prune", "--through", "15")[2]
    for bad in (["--through", "99"], ["--older-than", "90"], ["--through", "1", "--journal", "Nothing"]):
        code, _, err = invoke("prune", *bad)
        assert code == 1
        assert len(err.splitlines()) == 1
    assert invoke("prune")[0] == 2


@pytest.mark.usefixtures("named")
def test_the_job_for_cron(history: dj.Journal, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    history.consumers.register("warehouse", 10)
    with caplog.at_level(logging.INFO):
        assert prune_journals.main(["--older-than", "0s", "--keep-at-least", "1"]) == 0
    assert "through version 10" in caplog.text
    assert "warehouse has read up to version 10" in caplog.text
    assert history.versions().oldest == 11
    assert prune_journals.main(["--older-than", "a while"]) == 1
    monkeypatch.delenv("DMSJOURNAL_URL")
    assert prune_journals.main(["--older-than", "1d"]) == 1
    assert os.environ.get("DMSJOURNAL_URL") is None


def test_durations() -> None:
    assert durations.parsed("pause", "90d") == timedelta(days=90)
    assert durations.parsed("pause", "500ms") == timedelta(milliseconds=500)
    assert durations.parsed("pause", "0") == timedelta()
    for text in ("", "90", "00", "d", "-1d", "1.5h", "1d 2h", "999999999d"):
        with pytest.raises(dj.InvalidRequest, match="pause"):
            durations.parsed("pause", text)


@pytest.mark.parametrize("locked", ["dms.JournalFloor", "dms.Lease"])
def test_a_lock_is_waited_for_no_longer_than_the_runtime(
    history: dj.Journal, connections: list[sa.Connection], locked: str
) -> None:
    """The race: another session locks what the batch needs for longer than the prune may take. It stops in time, as without one."""
    history.versions()
    hold = {
        "postgresql": f"LOCK TABLE {locked} IN EXCLUSIVE MODE",
        "mssql": {
            "dms.JournalFloor": "UPDATE dms.JournalFloor WITH (TABLOCKX, HOLDLOCK) SET PrunedAt = PrunedAt",
            "dms.Lease": "SELECT count(*) FROM dms.Lease WITH (TABLOCKX, HOLDLOCK)",
        }[locked],
    }
    with connections[0].begin():
        connections[0].exec_driver_sql(hold[connections[0].dialect.name])
        began = time.monotonic()
        if locked == "dms.Lease":
            with pytest.raises(dj.Unavailable):
                history.prune(10, max_runtime=timedelta(seconds=1))
        else:
            pruned = history.prune(10, max_runtime=timedelta(seconds=1))
            assert (pruned.finished, pruned.deleted) == (False, 0)
        assert 0.9 < time.monotonic() - began < 3
        connections[0].rollback()
    assert history.prune(10).finished


def test_what_the_runtime_stopped_is_said_on_standard_error(history: dj.Journal, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DMSJOURNAL_URL", url)
    result = CliRunner().invoke(cli.app, ["prune", "--through", "10", "--batch-size", "1", "--max-runtime", "0s"])
    assert result.exit_code == 0
    said = "stopped by --max-runtime 0s: DocumentChangeEvent, IdentityChangeEvent, KeyChangeEvent, DocumentDeleteEvent not finished"
    assert said in result.stderr
    assert "stopped" not in result.stdout
    assert CliRunner().invoke(cli.app, ["prune", "--through", "10"]).stderr == ""
