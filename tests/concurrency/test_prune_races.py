"""Prunes beside readers, writers and consumers, and prunes that are killed (acceptance 50 to 52)."""

import os
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.operate import lease

from .pruned import History, expire_leases, populate
from .races import PARENT, Race, Reader

ROOT = Path(__file__).parents[2]


class PersistentReader(Reader):
    """A consumer that reads in full where its window has expired."""

    expired = 0

    def step(self) -> list[int]:
        try:
            return super().step()
        except dj.CheckpointExpired:
            self.expired += 1
            walk = self.journal.snapshot(self.resource, page_size=self.page_size)
            self.seen = {change.document_id: change.change_version for change in walk}
            self.deleted = set()
            self.passed = walk.through
            return list(self.seen)


def keep_writing(race: Race, own: list[int], enough: threading.Event, rng: random.Random, renames: float = 0.0) -> None:
    """Changes, deletes and creates documents until it is enough; of the changes so many are renames."""
    writer = race.writer()
    while not enough.is_set():
        document = rng.choice(own)
        if rng.random() < 0.1:
            writer.delete(document)
            own.remove(document)
            own.append(writer.create()[0])
        elif rng.random() < renames:
            writer.rename(document, rng.random())
        else:
            writer.touch(document)
        writer.commit()


def assert_all_end_with_what_is_there(race: Race, readers: list[PersistentReader]) -> None:
    live = set(race.look("SELECT DocumentId FROM dms.Document WHERE ResourceKeyId = :r", r=race.ids[PARENT]).scalars())
    derived = {i: derived.change_version for i, derived in race.journal.derive(live).items()}
    for reader in readers:
        while reader.step():
            pass
        assert {i: version for i, version in reader.seen.items() if i not in reader.deleted} == derived
        reader.journal.close()


@pytest.mark.acceptance("50")
@pytest.mark.parametrize("seconds", [3, pytest.param(60, marks=pytest.mark.long)])
def test_readers_beside_a_prune_end_with_what_is_there(race: Race, seconds: int) -> None:
    """Never a short answer: a change that a window should have had, and did not, would be missing at the end."""
    documents = [i for i, _ in race.committed(*[lambda w: w.create()] * 30)]
    readers = [PersistentReader(dj.connect(race.url), page_size=size) for size in (1, 3, 50)]
    enough = threading.Event()
    rng = random.Random(50)

    def prune() -> None:
        with dj.connect(race.url) as journal:
            while not enough.is_set():
                size = rng.choice([1, 7, 1000])  # one by one a prune might go on long after the others have ended
                journal.prune(keep_at_least=rng.randint(1, 60), batch_size=size, max_runtime=timedelta(seconds=5))

    def read(reader: PersistentReader, nap: float) -> None:
        while not enough.is_set():
            reader.step()
            time.sleep(nap)

    with ThreadPoolExecutor(8) as threads:
        working = [threads.submit(keep_writing, race, documents[n::2], enough, rng) for n in range(2)]
        working += [threads.submit(prune)]
        working += [threads.submit(read, reader, nap) for reader, nap in zip(readers, (0, 0.02, 0.3), strict=True)]
        time.sleep(seconds)
        enough.set()
        for each in working:
            each.result(60)
    assert any(reader.expired for reader in readers)
    assert_all_end_with_what_is_there(race, readers)


@pytest.mark.acceptance("51")
def test_nobody_registers_below_a_batch_that_is_on_its_way(race: Race) -> None:
    """The batch has looked at the consumers and not yet committed. Who registers now waits, and is told."""
    race.committed(*[lambda w: w.create()] * 6)
    race.first.sql("SELECT FROM dms.DocumentChangeEvent FOR UPDATE")  # so that the batch waits where it deletes
    try:
        pruning = race.blocked(lambda: race.journal.prune(3))
        registering = race.blocked(lambda: race.journal.consumers.register("late", 0))
    finally:
        race.first.rollback()
    assert pruning.result(60).through == 3
    with pytest.raises(dj.CheckpointExpired):
        registering.result(60)


@pytest.mark.acceptance("51")
def test_a_batch_waits_for_who_is_registering(race: Race) -> None:
    race.committed(*[lambda w: w.create()] * 6)
    race.first.sql("INSERT INTO dms.ChangeConsumer (Name, ChangeVersion, DocumentId) VALUES ('late', 9, 9)")
    try:
        registering = race.blocked(lambda: race.journal.consumers.register("late", 2))
        pruning = race.blocked(lambda: race.journal.prune(5))
    finally:
        race.first.rollback()
    assert registering.result(60).through == 2
    pruned = pruning.result(60)
    assert (pruned.through, pruned.held_by.name) == (2, "late")


def test_a_batch_that_is_on_its_way_keeps_a_lease_that_has_ended(race: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    """The race: a batch waits for a lock, longer than its lease lasts. Another prune comes, and must not take the lease."""
    monkeypatch.setattr(lease, "SECONDS", 1)
    race.committed(*[lambda w: w.create()] * 6)
    race.first.sql("SELECT FROM dms.JournalFloor FOR UPDATE")  # so that the batch waits at its end
    try:
        pruning = race.blocked(lambda: race.journal.prune(3))
        race.look("SELECT pg_sleep_until(max(ExpiresAt) + interval '100 ms') FROM dms.Lease")
        with (
            dj.connect(race.url) as other,
            pytest.raises(lease.HeldByAnother, match="another prune is running: role postgres, process "),
        ):
            other.prune(3)
    finally:
        race.first.rollback()
    assert pruning.result(60).finished


def test_two_that_advance_one_consumer_leave_the_further_place(race: Race) -> None:
    race.committed(*[lambda w: w.create()] * 6)
    race.journal.consumers.register("etl", 0)
    race.first.sql("SELECT FROM dms.ChangeConsumer FOR UPDATE")
    try:
        further = race.blocked(lambda: race.journal.consumers.advance("etl", 5))
        behind = race.blocked(lambda: race.journal.consumers.advance("etl", 3))
    finally:
        race.first.rollback()
    assert further.result(60).through == 5
    with pytest.raises(dj.InvalidRequest, match="backwards"):
        behind.result(60)
    assert race.journal.consumers.get("etl").through == 5


@pytest.mark.acceptance("52")
@pytest.mark.parametrize("kills", [3, pytest.param(30, marks=[pytest.mark.long, pytest.mark.timeout(1200)])])
def test_a_prune_that_is_killed_leaves_floors_and_rows_in_agreement(url: str, kills: int) -> None:
    populate(url, 1000 * kills)
    history = History(url)
    rng = random.Random(kills)
    left = history.check()
    for kill in range(kills):
        reached, _ = history.read()["DocumentChangeEvent"]  # where the one before was killed, perhaps past the next target
        target = max(reached, history.newest * (kill + rng.random()) / (kills + 1))
        with pruning(url, history.newest) as process:
            assert wait_for_floor(url, target, process)
            time.sleep(rng.random() / 50)
            process.kill()
            process.wait(60)
        expire_leases(url)
        left, before = history.check(), left
        assert 0 < left < before
    with pruning(url, history.newest) as process:
        assert process.wait(120) == 0
    assert history.check() == 0


_PRUNE = """
import sys, time
import dmsjournal as dj
while True:
    try:
        dj.connect(sys.argv[1]).prune(int(sys.argv[2]), batch_size=20)
        break
    except dj.Unavailable:  # the server has not noticed yet that the one before is gone
        time.sleep(0.05)
"""


def pruning(url: str, through: int) -> "subprocess.Popen[bytes]":
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", _PRUNE, url, str(through)], env=environment)


def wait_for_floor(url: str, target: float, process: "subprocess.Popen[bytes]") -> bool:
    """Waits until the document events are pruned so far; false where the process has ended before."""
    engine = sa.create_engine(url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as conn:
        while process.poll() is None:
            floor = conn.exec_driver_sql("SELECT ChangeVersion FROM dms.JournalFloor WHERE Journal = 'DocumentChangeEvent'")
            if floor.scalar_one() > target:
                return True
            time.sleep(0.002)
    return False
