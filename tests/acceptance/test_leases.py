"""Leases: one program prunes, one reads as a consumer, and who loses the right to do so writes nothing more (acceptance 94)."""

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.operate import lease
from tests.helpers import STUDENT, commit, document, newest, write

TAKEN_AWAY = {  # as another program would take it
    "postgresql": "UPDATE dms.Lease SET Token = gen_random_uuid(), Process = 'another', ExpiresAt = now() + interval '1 hour'",
    "mssql": "UPDATE dms.Lease SET Token = NEWID(), Process = N'another', ExpiresAt = DATEADD(hour, 1, SYSUTCDATETIME())",
}
ENDED = {
    "postgresql": "UPDATE dms.Lease SET ExpiresAt = clock_timestamp() + interval '1500 ms'",
    "mssql": "UPDATE dms.Lease SET ExpiresAt = DATEADD(millisecond, 1500, SYSUTCDATETIME())",
}


def in_utc(time: datetime) -> datetime:
    return time if time.tzinfo is None else time.astimezone(UTC)


@pytest.fixture
def written(journal: dj.Journal) -> dj.Journal:
    write(journal, *(document(STUDENT, number) for number in range(10)))
    return journal


def test_a_prune_that_lost_its_lease_deletes_nothing_more(written: dj.Journal, connections: list[sa.Connection]) -> None:
    """The race: the program stands still between two batches, its lease ends, and another program takes it."""
    seen: list[dj.Pruned] = []

    def lose(pruned: dj.Pruned) -> None:
        seen.append(pruned)
        if pruned.deleted == 2:
            commit(connections[0], TAKEN_AWAY[connections[0].dialect.name])

    with pytest.raises(lease.HeldByAnother, match=r"another prune is running: .*another, since "):
        written.prune(8, batch_size=1, progress=lose, journals=["DocumentChangeEvent"])
    assert seen[-1].deleted == 2
    assert commit(connections[0], "SELECT count(*) FROM dms.DocumentChangeEvent")[0][0] == 8
    assert commit(connections[0], "SELECT count(*) FROM dms.Lease WHERE Process = 'another'")[0][0] == 1  # and takes nothing back


def test_a_consumer_whose_lease_was_lost_is_not_moved(written: dj.Journal, connections: list[sa.Connection]) -> None:
    checkpoint = dj.DatabaseCheckpoint(written, "etl")
    with written.consumers.hold("etl") as held:
        token = checkpoint.begin(dj.FeedRequest())
        page = written.read_changes(dj.FeedRequest(start=dj.FromToken(token), max_page_size=3))
        commit(connections[0], TAKEN_AWAY[connections[0].dialect.name])
        for move in (lambda: written.consumers.advance("etl", 5), lambda: checkpoint.save(page.token)):
            with pytest.raises(lease.HeldByAnother, match=r"another program reads as consumer etl: .*another, since "):
                move()
        assert not held.is_held()
        assert written.consumers.get("etl").through == 0
    assert written.consumers.advance("etl", 5).through == 5  # who does not hold the name moves it as before


def test_the_lease_of_a_program_that_is_gone_is_waited_for(
    written: dj.Journal, connections: list[sa.Connection], caplog: pytest.LogCaptureFixture, url: str
) -> None:
    """A killed program releases nothing. The next one says until when it waits, and goes on then."""
    with dj.connect(url) as killed:
        gone = lease.lease_of_prune(killed.database)
        assert gone._ask(taking=True).is_ours  # no thread renews it
        commit(connections[0], ENDED[connections[0].dialect.name])
        [(ends_at,)] = commit(connections[0], "SELECT ExpiresAt FROM dms.Lease")
        with caplog.at_level(logging.WARNING, "dmsjournal.lease"):
            assert written.prune(3).finished
    [record] = caplog.records
    assert "another prune is running: " in record.getMessage()
    assert f"waiting for it until {in_utc(ends_at):%H:%M:%S} UTC" in record.getMessage()
    assert not commit(connections[0], "SELECT 1 FROM dms.Lease")


def test_who_renews_keeps_the_others_out(written: dj.Journal, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lease of two seconds, renewed by its thread: it is held all the same for as long as its program lives.

    A stand-in may notice after a second only that the row that it waits for is free.
    """
    monkeypatch.setattr(lease, "SECONDS", 2)
    monkeypatch.setattr(lease, "RENEWED_EVERY", 0.2)
    with written.consumers.hold("etl") as held, dj.connect(url) as other:
        ends = time.monotonic() + 4.5
        while time.monotonic() < ends:
            with pytest.raises(lease.HeldByAnother):
                other.consumers.hold("etl").__enter__()
        assert held.is_certain
        assert held.is_held()


def test_six_that_take_an_expired_lease_have_it_one_after_the_other(
    written: dj.Journal, connections: list[sa.Connection], url: str
) -> None:
    """The race: all see a lease that has ended, and take it: a compare and set, so one of them gets it, and then the next."""
    gone = lease.lease_of_prune(written.database)
    assert gone._ask(taking=True).is_ours
    commit(connections[0], ENDED[connections[0].dialect.name].replace("1500", "0"))
    ready, inside = threading.Barrier(6), threading.Lock()

    def take(number: int) -> bool:
        with dj.connect(url) as other:
            newest(other)
            ready.wait(20)
            until = time.monotonic() + 30
            while time.monotonic() < until:
                with suppress(lease.HeldByAnother), lease.holding(lease.lease_of_prune(other.database)):
                    assert inside.acquire(blocking=False), "two hold it"
                    time.sleep(0.05)
                    inside.release()
                    return True
            return False

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(take, range(6))) == [True] * 6
