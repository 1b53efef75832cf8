"""Parts of journals that come, are split and go beside writers and readers (option partitions; acceptance 50, 52)."""

import os
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.database import postgres, sql
from dmsjournal.database.session import Session
from dmsjournal.operate import partitions
from dmsjournal.operate.prune import JOURNALS
from dmsjournal.schema import migrate

from .mutating import GATE, Edit
from .pruned import History, expire_leases, populate
from .races import Race
from .test_prune_races import PersistentReader, assert_all_end_with_what_is_there, keep_writing

ROOT = Path(__file__).parents[2]
SIZE = 50  # versions a part


@pytest.fixture
def parted(race: Race) -> Race:
    migrate.upgrade(race.url, options=["partitions"])
    return in_parts(race)


def in_parts(race: Race) -> Race:
    """Thirty documents, in parts of fifty versions."""
    race.journal.partitions.ensure(versions=SIZE, ahead=2)
    race.committed(*[lambda w: w.create()] * 30)
    return race


def parts_of(race: Race, name: str = "DocumentChangeEvent") -> list[str]:
    return [part.partition for part in race.journal.partitions.list() if part.journal == name and not part.is_default]


def go_on_to(race: Race, version: int) -> None:
    """Stamps are given up to that version."""
    while race.sequence() < version:
        race.committed(lambda w: w.touch(1))


@pytest.mark.acceptance("50")
@pytest.mark.parametrize("seconds", [4, pytest.param(60, marks=pytest.mark.long)])
def test_writers_and_readers_beside_parts_that_come_are_split_and_go(parted: Race, seconds: int) -> None:
    """No write fails, and each reader ends with what is there: a short page, or a row in no part, would be missing then."""
    documents = list(parted.look("SELECT DocumentId FROM dms.Document ORDER BY 1").scalars())
    readers = [PersistentReader(dj.connect(parted.url), page_size=size) for size in (1, 50)]
    enough = threading.Event()
    rng = random.Random(50)
    counts = dict.fromkeys(("added", "closed", "split", "dropped"), 0)

    def keep() -> None:
        """Adds parts, too late now and then, so that the default part is filled and closed; splits, and drops."""
        with dj.connect(parted.url) as journal:
            while not enough.is_set():
                for step in journal.partitions.ensure(versions=SIZE, ahead=rng.choice([1, 2, 4])):
                    counts[step.step.partition(" ")[0]] = counts.get(step.step.partition(" ")[0], 0) + 1
                with suppress(
                    dj.InvalidRequest, dj.UnsupportedCapability
                ):  # the writers were faster: the default part holds events
                    counts["split"] += len(journal.partitions.split(versions=SIZE // 2, batch_size=rng.choice([7, 1_000])))
                pruned = journal.prune(keep_at_least=rng.randint(1, 4 * SIZE), batch_size=rng.choice([7, 1_000]))
                counts["dropped"] += sum(each.dropped for each in pruned.journals)
                time.sleep(rng.random() / 5)

    def read(reader: PersistentReader, nap: float) -> None:
        while not enough.is_set():
            reader.step()
            time.sleep(nap)

    with ThreadPoolExecutor(8) as threads:
        working = [threads.submit(keep_writing, parted, documents[n::2], enough, rng, 0.2) for n in range(2)]
        working += [threads.submit(keep)]
        working += [threads.submit(read, reader, nap) for reader, nap in zip(readers, (0, 0.2), strict=True)]
        time.sleep(seconds)
        enough.set()
        for each in working:
            each.result(60)
    assert all(counts[what] for what in ("added", "dropped")), counts
    assert_all_end_with_what_is_there(parted, readers)
    assert parted.journal.verify().is_clean


@pytest.mark.acceptance("50")
def test_a_snapshot_that_is_older_than_the_floor_keeps_its_rows(parted: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's tasks read one snapshot, which shows the old floor: what it shows must be there, so rows go by batches alone."""
    monkeypatch.setattr(partitions, "_FALLS_BACK", 0)
    go_on_to(parted, 3 * SIZE)
    old = parted.writer("REPEATABLE READ")
    before = old.value("SELECT count(*) FROM dms.Document")  # it has looked at no journal yet
    pruned = parted.journal.prune(2 * SIZE)
    assert pruned.finished
    assert {each.dropped for each in pruned.journals} == {0}
    events = old.value("SELECT count(*) FROM dms.DocumentChangeEvent")
    assert events >= 3 * SIZE
    assert old.value("SELECT max(ChangeVersion) FROM dms.JournalFloor") == 0
    assert old.value("SELECT count(*) FROM dms.Document") == before
    old.rollback()
    assert parted.look("SELECT min(ChangeVersion) FROM dms.DocumentChangeEvent").scalar_one() == 2 * SIZE + 1
    assert all(each.dropped for each in parted.journal.prune(2 * SIZE).journals)


def test_without_waiting_for_old_snapshots_rows_would_be_missing(parted: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the race above is about: the rule is taken out."""
    monkeypatch.setattr("dmsjournal.operate.prune.open_transactions", lambda session: [])
    go_on_to(parted, 3 * SIZE)
    old = parted.writer("REPEATABLE READ")
    old.value("SELECT count(*) FROM dms.Document")
    parted.journal.prune(2 * SIZE)
    assert old.value("SELECT max(ChangeVersion) FROM dms.JournalFloor") == 0
    assert old.value("SELECT min(ChangeVersion) FROM dms.DocumentChangeEvent") > 1
    old.rollback()


NOT_SEEN: Edit = ("functions/is_read_yet.v1", "WHERE reader LIKE", "WHERE false AND reader LIKE")


@pytest.mark.acceptance("50")
@pytest.mark.parametrize(("how", "edits"), [("plain", []), ("as Spark's tasks", [NOT_SEEN])])
def test_a_snapshot_that_a_later_session_adopted_keeps_its_rows(
    parted: Race, monkeypatch: pytest.MonkeyPatch, how: str, edits: list[Edit]
) -> None:
    """It began after the open transactions were noted, and the one that exported the snapshot has ended when a part is dropped.

    The installing role sees that somebody has the snapshot. Where it may not see that, a lock of Spark's tasks is in the way.
    """
    assert adopts_an_exported_snapshot(parted, monkeypatch, how, edits) == (0, 1)
    assert all(each.dropped for each in parted.journal.prune(2 * SIZE).journals)


@pytest.mark.acceptance("50")
def test_without_looking_for_adopted_snapshots_rows_would_be_missing(parted: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the race above is about: the rule is taken out."""
    assert adopts_an_exported_snapshot(parted, monkeypatch, "plain", [NOT_SEEN]) == (0, SIZE)


def adopts_an_exported_snapshot(race: Race, monkeypatch: pytest.MonkeyPatch, how: str, edits: list[Edit]) -> tuple[int, int]:
    """The floor and the first event that somebody sees who adopts a snapshot in the middle of a prune of the first part."""
    monkeypatch.setattr(partitions, "_FALLS_BACK", 0)
    race.edit(*edits)
    go_on_to(race, 3 * SIZE)
    old, adopting = race.writer("REPEATABLE READ"), race.writer("AUTOCOMMIT")
    snapshot = old.value("SELECT pg_export_snapshot()")
    note, adopted = partitions.open_transactions, []

    def noted(session: Session) -> list[str]:
        readers = note(session)
        if not adopted:
            adopted.append(adopting.sql("BEGIN ISOLATION LEVEL REPEATABLE READ"))
            begin = (
                f"SET TRANSACTION SNAPSHOT '{snapshot}'"
                if how == "plain"
                else postgres.literal(sql.source("postgres", "begin").bindparams(snapshot=snapshot))
            )
            for statement in begin.split(";"):
                adopting.sql(statement)
            old.rollback()
        return readers

    monkeypatch.setattr("dmsjournal.operate.prune.open_transactions", noted)
    race.journal.prune(SIZE, journals=["DocumentChangeEvent"])
    seen = (
        adopting.value("SELECT ChangeVersion FROM dms.JournalFloor WHERE Journal = 'DocumentChangeEvent'"),
        adopting.value("SELECT min(ChangeVersion) FROM dms.DocumentChangeEvent"),
    )
    adopting.sql("ROLLBACK")
    return seen


@pytest.mark.acceptance("50")
def test_a_snapshot_that_is_older_than_a_split_keeps_its_rows(parted: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on_to(parted, 2 * SIZE)
    old = parted.writer("REPEATABLE READ")
    old.value("SELECT count(*) FROM dms.Document")
    monkeypatch.setattr(partitions, "_PATIENCE", partitions.timedelta(seconds=0.3))
    with pytest.raises(dj.Unavailable, match="not free"):
        parted.journal.partitions.split(versions=SIZE // 2, journal="DocumentChangeEvent")
    assert old.value("SELECT count(*) FROM dms.DocumentChangeEvent") == 2 * SIZE
    old.rollback()
    assert parted.journal.partitions.split(versions=SIZE // 2, journal="DocumentChangeEvent")
    assert parted.look("SELECT count(*) FROM dms.DocumentChangeEvent").scalar_one() == 2 * SIZE


@pytest.mark.acceptance("50")
def test_a_long_reader_keeps_nobody_waiting_and_a_prune_goes_on(parted: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader of newer events has the journal open: no part can be dropped, rows go in batches, and writers write."""
    monkeypatch.setattr(partitions, "_FALLS_BACK", 0)
    go_on_to(parted, 3 * SIZE)
    reader = parted.writer()
    seen: list[dj.Pruned] = []

    def read_after_the_floor_rose(session: Session) -> list[str]:
        for name in JOURNALS:
            reader.value(f"SELECT max(ChangeVersion) FROM dms.{name} WHERE ChangeVersion > {2 * SIZE}")
        return []

    monkeypatch.setattr("dmsjournal.operate.prune.open_transactions", read_after_the_floor_rose)
    began = time.monotonic()
    pruned = parted.journal.prune(2 * SIZE, progress=lambda so_far: (seen.append(so_far), parted.committed(lambda w: w.touch(1))))
    assert pruned.finished
    assert {each.dropped for each in pruned.journals} == {0}
    assert time.monotonic() - began < 30
    reader.rollback()


def test_a_writer_that_is_open_while_parts_come_is_journaled(parted: Race) -> None:
    """It has drawn a stamp, and writes its next event when the parts are others."""
    stamp = parted.first.touch(1)
    while parted.sequence() < 5 * SIZE:  # past the last part
        parted.second.touch(2)
        parted.second.commit()
    ensuring = parted.blocked(lambda: parted.journal.partitions.ensure(versions=SIZE, ahead=1))
    later = parted.first.touch(3)
    parted.first.commit()
    assert ensuring.result(60)
    events = "SELECT count(*) FROM dms.DocumentChangeEvent WHERE ChangeVersion IN (:first, :second)"
    assert parted.look(events, first=stamp, second=later).scalar_one() == 2
    assert parted.missed() == {}


GATED: Edit = (
    "functions/ensure_partitions.v1",
    "                step := 'added ' || name;",
    f"                PERFORM pg_advisory_xact_lock_shared({GATE}); step := 'added ' || name;",
)
UNGUARDED: list[Edit] = [
    ("functions/ensure_partitions.v1", "is_near := low IS NULL OR low <= newest + near;", "is_near := false;"),
    ("functions/ensure_partitions.v1", "IF NOT is_near AND low <=", "IF false AND low <="),
]


@pytest.mark.parametrize("edits", [[], UNGUARDED], ids=["guarded", "unguarded"])
def test_an_event_on_its_way_into_the_default_part_is_not_refused(parted: Race, edits: list[Edit]) -> None:
    """Its version gets a part of its own meanwhile. Without the lock that keeps writers off, the server refuses it (23514)."""
    parted.edit(*edits, ("functions/ensure_partitions.v1", "'1500ms'", "'60s'"), GATED)
    for end in (2 * SIZE, 3 * SIZE):
        parted.look(f"ALTER TABLE dms.DocumentChangeEvent DETACH PARTITION dms.documentchangeevent_to_{end}")
        parted.look(f"DROP TABLE dms.documentchangeevent_to_{end}")
        parted.look(f"DELETE FROM dms.KnownPartition WHERE Partition = 'documentchangeevent_to_{end}'")  # as if it never was
    go_on_to(parted, SIZE - 1)
    with parted.closed_gate():
        ensuring = parted.blocked(lambda: parted.journal.partitions.ensure(versions=SIZE, ahead=1))
        writing = parted.first.blocked(lambda: parted.first.touch(1))
    if edits:
        with pytest.raises(sa.exc.IntegrityError, match="violates partition constraint"):
            writing.result(60)
        parted.first.rollback()
    else:
        assert writing.result(60) == SIZE
        parted.first.commit()
        assert parted.look("SELECT count(*) FROM dms.DocumentChangeEvent WHERE ChangeVersion = :v", v=SIZE).scalar_one() == 1
    assert ensuring.result(60)


# Killed.

_WORK = """
import sys, time
from datetime import timedelta
import dmsjournal as dj
while True:
    try:
        with dj.connect(sys.argv[1]) as journal:
            {work}
        break
    except dj.Unavailable:  # the server has not noticed yet that the one before is gone
        time.sleep(0.05)
"""


def working(url: str, work: str) -> "subprocess.Popen[bytes]":
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", _WORK.format(work=work), url], env=environment)


@pytest.mark.acceptance("52")
@pytest.mark.parametrize("kills", [3, pytest.param(30, marks=[pytest.mark.long, pytest.mark.timeout(1200)])])
@pytest.mark.parametrize(
    "what", [pytest.param("ensure", marks=pytest.mark.long), "split", pytest.param("prune", marks=pytest.mark.long)]
)
def test_work_on_parts_that_is_killed_loses_nothing_and_is_finished_by_the_next(url: str, what: str, kills: int) -> None:
    """Killed at a random moment: every row above the floor is there and none twice, verify is clean, a re-run finishes."""
    populate(url, 300 * kills)
    migrate.upgrade(url, options=["partitions"])
    history = History(url)
    size = history.newest // (10 * kills)
    calls = {
        "ensure": f"journal.partitions.ensure(versions={size}, ahead=20)",
        "split": f"journal.partitions.split(versions={size}, batch_size=50)",
        "prune": f"journal.prune({history.newest}, batch_size=20)",
    }
    with dj.connect(url) as journal:
        if what != "ensure":
            journal.partitions.ensure(versions=size, ahead=2)
        if what == "prune":
            journal.partitions.split(versions=size)
        rng = random.Random(kills)
        for _ in range(kills):
            with working(url, calls[what]) as process:
                time.sleep(0.8 + rng.random())  # of which a second or so is Python's own start
                process.kill()
            expire_leases(url)  # else the next ones would wait, and be killed while they do
            above_the_floor(history)
            assert journal.verify().is_clean
        with working(url, calls[what]) as process:
            assert process.wait(180) == 0
        above_the_floor(history)
        assert journal.verify().is_clean
        if what == "prune":
            assert history.check() == 0
        else:
            assert history.check() == sum(map(len, history.versions.values()))
            again = journal.partitions.ensure(size, 20) if what == "ensure" else journal.partitions.split(size)
            assert list(again) == []
        left = "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname LIKE '%event%split%'"
        with sa.create_engine(url, poolclass=sa.NullPool).connect() as conn:
            assert conn.execute(sa.text(left)).scalar_one() == 0


def above_the_floor(history: History) -> None:
    """Each journal has the rows above its floor; below it there may be some of parts that are going to be dropped."""
    for name, (floor, versions) in history.read().items():
        assert [version for version in versions if version > floor] == [v for v in history.versions[name] if v > floor], name
        assert set(versions) <= set(history.versions[name])
