"""What is read once for many: the newest events in memory, looks at the horizon, questions asked at the same time."""

from __future__ import annotations

import asyncio
import random
from bisect import bisect_right
from types import SimpleNamespace

import pytest

from dmsjournal.errors import Unavailable
from dmsjournal.http import tails
from dmsjournal.http.event_pages import EventPage, Selection, Sent
from dmsjournal.http.horizon_watch import Waker
from dmsjournal.http.single_flight import Fresh, Recent
from dmsjournal.http.tails import Tails

ALL = Selection()


class Journal:
    """Events 1 to `newest`, of which every third version has none and every seventh has two."""

    def __init__(self) -> None:
        self.newest = 0
        self.reads = 0

    def versions(self) -> list[int]:
        return [v for version in range(1, self.newest + 1) if version % 3 for v in [version] * (2 if version % 7 == 0 else 1)]

    async def read(self, after: int, selection: Selection, limit: int) -> EventPage:
        self.reads += 1
        horizon, versions = self.newest, self.versions()
        await asyncio.sleep(0)
        begin = bisect_right(versions, after)
        end = begin + limit
        latest = horizon
        if end < len(versions):
            end = bisect_right(versions, versions[end - 1])
            latest = versions[end - 1]
        return EventPage([Sent(v, b"x" * 10, b"y" * 10) for v in versions[begin:end]], max(latest, after), max(horizon, after))


@pytest.mark.parametrize("seed", range(20))
def test_whoever_follows_in_whatever_way_gets_each_event_once(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that wait, that page, that come late and that are left behind, on tails of a few events."""
    chance = random.Random(seed)
    monkeypatch.setattr(tails, "_EVENTS", 10)
    monkeypatch.setattr(tails, "_BYTES", 300)
    monkeypatch.setattr(tails, "_READ", 6)
    journal = Journal()
    found = Tails(journal.read)

    async def follow() -> tuple[list[int], int]:
        seen: list[int] = []
        after = 0
        while after < 200:
            await asyncio.sleep(0)
            if chance.random() < 0.1:
                await asyncio.sleep(0.002)  # slow
            at = journal.newest
            if at > after:
                page = await found.page(after, ALL, chance.randrange(1, 9), at)
                assert page.latest > after, "no progress"
                assert page.latest <= page.horizon <= journal.newest
                seen += [event.sequence for event in page.events]
                after = page.latest
        return seen, after

    async def change() -> None:
        while journal.newest < 200:
            journal.newest += chance.randrange(1, 12)
            for _ in range(chance.randrange(5)):
                await asyncio.sleep(0)

    async def run() -> list[tuple[list[int], int]]:
        _, *seen = await asyncio.wait_for(asyncio.gather(change(), *(follow() for _ in range(8))), 30)
        return seen

    for seen, after in asyncio.run(run()):
        assert seen == [version for version in journal.versions() if version <= after]


def test_a_place_above_the_horizon_is_asked_of_the_database() -> None:
    """After a restore to an earlier state: the database alone can say that the place is of another history."""
    journal = Journal()
    journal.newest = 3
    found = Tails(journal.read)
    asyncio.run(found.page(5, ALL, 10, 3))
    assert journal.reads == 1


def test_those_who_ask_while_one_reads_share_the_next() -> None:
    began: list[int] = []

    async def read() -> int:
        began.append(len(began))
        number = len(began)
        await asyncio.sleep(0.02)
        return number

    async def run() -> None:
        fresh: Fresh[int] = Fresh()
        first = asyncio.ensure_future(fresh.get("a", read))
        await asyncio.sleep(0.005)
        late = [asyncio.ensure_future(fresh.get("a", read)) for _ in range(5)]
        other = asyncio.ensure_future(fresh.get("b", read))
        late[0].cancel()
        assert await first == 1
        assert {await task for task in late[1:]} == {3}  # began after they asked
        assert await other == 2
        assert await fresh.get("a", read) == 4

    asyncio.run(run())


def test_what_fails_fails_for_those_who_asked_and_no_others() -> None:
    answers = [Unavailable("gone"), 7, 8]

    async def read() -> int:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def run() -> None:
        recent = Recent(read, seconds=60)
        with pytest.raises(Unavailable):
            await recent.get()
        assert [await recent.get(), await recent.get()] == [7, 7]

    asyncio.run(run())


def test_the_waker_looks_only_while_somebody_waits_and_wakes_all() -> None:
    looks: list[int] = []
    horizon = [0]

    async def newest() -> int:
        looks.append(horizon[0])
        return horizon[0]

    async def run() -> None:
        cleared: list[bool] = []
        waker = Waker(newest, 0.01, lambda: cleared.append(True))
        running = asyncio.create_task(waker.run())
        await asyncio.sleep(0.05)
        assert looks == []
        waiting = [asyncio.create_task(waker.beyond(4, 5)) for _ in range(100)]
        await asyncio.sleep(0.05)
        horizon[0] = 4
        await asyncio.sleep(0.05)
        assert not any(task.done() for task in waiting)
        horizon[0] = 5
        assert await asyncio.gather(*waiting) == [True] * 100
        count = len(looks)
        await asyncio.sleep(0.05)
        assert len(looks) <= count + 1
        assert await waker.beyond(5, 0.02) is False
        back = asyncio.create_task(waker.beyond(5, 5))
        await asyncio.sleep(0.03)
        horizon[0] = 2  # restored: who has read up to 5 should look
        assert await back is True
        assert cleared == [True]
        waiting = [asyncio.create_task(waker.beyond(9, 60)) for _ in range(3)]
        await asyncio.sleep(0.02)
        waker.stop()
        assert await asyncio.gather(*waiting) == [False] * 3
        running.cancel()

    asyncio.run(run())


def test_a_look_for_one_does_not_wake_all() -> None:
    """A hundred who poll look a hundred times a second: all who wait would be woken as often."""
    horizon = [0]

    async def newest() -> int:
        return horizon[0]

    async def run() -> None:
        waker = Waker(newest, 0.01, lambda: None)
        waiting = asyncio.create_task(waker.beyond(0, 5))
        await asyncio.sleep(0)
        horizon[0] = 5
        assert await waker.now() == 5
        await asyncio.sleep(0.02)
        assert not waiting.done()
        running = asyncio.create_task(waker.run())
        assert await waiting is True  # though the horizon is not newer than at the look before
        running.cancel()

    asyncio.run(run())


def test_a_look_that_takes_long_is_taken_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQL Server looks through all locks of the instance for a horizon: looking without rest would be its only work."""
    clock, rests = [0.0], []

    async def newest() -> int:
        clock[0] += 0.2
        return 0

    async def rest(seconds: float) -> None:
        rests.append(seconds)
        waker.stop()

    waker = Waker(newest, 0.01, lambda: None)

    async def run() -> None:
        monkeypatch.setattr("dmsjournal.http.horizon_watch.time", SimpleNamespace(monotonic=lambda: clock[0]))
        monkeypatch.setattr(
            "dmsjournal.http.horizon_watch.asyncio", SimpleNamespace(sleep=rest, Event=asyncio.Event, timeout=asyncio.timeout)
        )
        waiting, running = asyncio.create_task(waker.beyond(4, 60)), asyncio.create_task(waker.run())
        await waiting
        running.cancel()

    asyncio.run(run())
    assert rests[0] == pytest.approx(2.0)
