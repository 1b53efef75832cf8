"""The ring of notifications: nothing lost, nothing torn, nothing allocated, whoever is killed at whichever point."""

import contextlib
import ctypes
import multiprocessing
import os
import random
import re
import signal
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmsjournal import InvalidRequest, Unavailable
from dmsjournal.events import notification_checks, notifications
from dmsjournal.events.notifications import NotificationConsumer, NotificationProducer, NotificationRef

LARGE = 2**62  # sequences that are no small ints


@pytest.fixture
def path(tmp_path: Path) -> Path:
    notifications.create(tmp_path / "ring", 4)
    return tmp_path / "ring"


def ref(sequence: int) -> NotificationRef:
    """A notification whose every field tells its sequence, so that a mixture of two is seen."""
    return NotificationRef(
        sequence=sequence,
        source_id=sequence % 2**32,
        row_count=(sequence * 7) % 2**32,
        event_type=sequence % 5,
        timestamp=-sequence,
        batch_offset=sequence * 3 % 2**64,
    )


def sequences(consumer: NotificationConsumer) -> list[int]:
    found = []
    for notification in consumer.drain():
        assert notification.values() == ref(notification.sequence).values()
        found.append(notification.sequence)
    return found


def test_a_notification_is_a_cache_line(path: Path) -> None:
    assert ctypes.sizeof(NotificationRef) == 64
    with NotificationProducer(path) as ring:
        for place in ring._places:
            there = NotificationRef.from_buffer(ring._map, place.start)
            assert ctypes.addressof(there) % 64 == 0
            del there
        assert len(ring._places) == ring.capacity == 4


def test_what_is_sent_is_taken_in_order_until_the_ring_is_full(path: Path) -> None:
    with NotificationProducer(path) as producer, NotificationConsumer(path) as consumer:
        assert producer.last is None
        assert consumer.take() is None
        assert [producer.send(ref(n)) for n in range(6)] == [True] * 4 + [False] * 2
        first = consumer.take()
        assert first is not None
        kept = first.copy()
        assert not producer.send(ref(6))  # taken, not committed
        consumer.commit()
        assert producer.send(ref(6))
        assert sequences(consumer) == [1, 2, 3, 6]
        assert kept.values() == ref(0).values()
        assert [producer.send(ref(n)) for n in range(7, 9)] == [True, True]
        assert sequences(consumer) == [7, 8]


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["send", "take", "commit", "producer", "consumer"]), max_size=80), st.integers(2, 5))
def test_any_history_is_that_of_a_queue(steps: list[str], capacity: int) -> None:
    path = Path(f"/dev/shm/test_ring_{os.getpid()}") if os.path.isdir("/dev/shm") else Path(f"ring_{os.getpid()}")
    notifications.remove(path)
    notifications.create(path, capacity)
    producer, consumer = NotificationProducer(path), NotificationConsumer(path)
    sent = taken = committed = 0
    try:
        for step in steps:
            match step:
                case "send":
                    assert producer.send(ref(sent + 1)) == (sent - committed < capacity)
                    sent += sent - committed < capacity
                case "take":
                    found = consumer.take()
                    assert (found and found.values()) == (ref(taken + 1).values() if taken < sent else None)
                    taken += taken < sent
                case "commit":
                    consumer.commit()
                    committed = taken
                case "producer":
                    producer.close()
                    producer = NotificationProducer(path)
                    assert (producer.last and producer.last.values()) == (ref(sent).values() if sent else None)
                case "consumer":
                    consumer.close()
                    consumer = NotificationConsumer(path)
                    taken = committed
    finally:
        producer.close()
        consumer.close()
        notifications.remove(path)


# Killed at each of its stores.


class Killed(BaseException):
    pass


class KilledWhileCopying:
    """The mapping of a process that is killed when the first `bytes_written` bytes of a slot are there."""

    def __init__(self, mapping: Any, bytes_written: int) -> None:
        self._mapping, self._written = mapping, bytes_written

    def __setitem__(self, place: slice, value: NotificationRef) -> None:
        end = place.start + self._written
        self._mapping[place.start : end] = bytes(value)[: self._written]
        raise Killed


class KilledBeforeAStore:
    """The words of a process that is killed before it stores one."""

    def __init__(self, words: Any) -> None:
        self._words = words

    def __getitem__(self, at: int) -> int:
        return int(self._words[at])

    def __setitem__(self, at: int, value: int) -> None:
        raise Killed


@pytest.mark.parametrize("written", [*range(0, 64, 4), 63, 64])
@pytest.mark.parametrize("before", [0, 1, 3, 4, 9])
def test_a_producer_killed_while_it_copies_a_slot_has_sent_nothing(path: Path, written: int, before: int) -> None:
    with NotificationConsumer(path) as consumer:
        with NotificationProducer(path) as producer:
            for n in range(1, before + 1):
                producer.send(ref(n))
                assert sequences(consumer) == [n]
            mapping, producer._map = producer._map, KilledWhileCopying(producer._map, written)
            with pytest.raises(Killed):
                producer.send(ref(before + 1))
            producer._map = mapping
            assert consumer.take() is None
        with NotificationProducer(path) as again:
            assert (again.last and again.last.values()) == (ref(before).values() if before else None)
            assert again.send(ref(before + 1))
        assert sequences(consumer) == [before + 1]


def test_a_producer_killed_before_it_says_so_has_sent_nothing_and_after_it_has(path: Path) -> None:
    with NotificationConsumer(path) as consumer:
        with NotificationProducer(path) as producer:
            producer.send(ref(1))
            words, producer._words = producer._words, KilledBeforeAStore(producer._words)
            with pytest.raises(Killed):
                producer.send(ref(2))
            producer._words = words
        with NotificationProducer(path) as producer:
            assert producer.last is not None
            assert producer.last.sequence == 1
            producer.send(ref(2))  # and is killed when it has
        with NotificationProducer(path) as producer:
            assert producer.last is not None
            assert producer.last.sequence == 2
        assert sequences(consumer) == [1, 2]


def test_a_consumer_killed_before_it_commits_takes_again(path: Path) -> None:
    with NotificationProducer(path) as producer:
        for n in range(1, 4):
            producer.send(ref(n))
        with NotificationConsumer(path) as consumer:
            consumer.take()
            consumer.commit()
            consumer.take()
        with NotificationConsumer(path) as consumer:
            assert sequences(consumer) == [2, 3]


@pytest.mark.parametrize("words", range(7))  # of the 7 after the number
@pytest.mark.parametrize("first", [True, False])
def test_a_slot_whose_number_is_seen_before_the_rest_is_not_taken(
    path: Path, words: int, first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ARM may show: the number, and of the rest the first or the last words, the others being those of the lap before."""
    monkeypatch.setattr(notifications, "_TRIES", 3)
    with NotificationProducer(path) as producer, NotificationConsumer(path) as consumer:
        for n in range(1, 5):
            producer.send(ref(n))
            assert sequences(consumer) == [n]
        place = producer._places[0]
        old = producer._map[place]
        producer.send(ref(5))
        new = producer._map[place]
        cut = 8 + words * 8 if first else 64 - words * 8
        producer._map[place] = new[:8] + (new[8:cut] + old[cut:] if first else old[8:cut] + new[cut:])
        with pytest.raises(InvalidRequest, match="slot 5 is damaged"):
            consumer.take()
        producer._map[place] = new
        assert sequences(consumer) == [5]


# Many at once.


@pytest.fixture(params=["numpy", "zlib"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With NumPy, which takes more than a few at once, and without it."""
    if request.param == "zlib":
        monkeypatch.setattr(notifications, "numpy", None)
        monkeypatch.setattr(notification_checks, "numpy", None)
    monkeypatch.setattr(notification_checks, "_FEW", 1)
    monkeypatch.setattr(notifications, "_FEW", 1)
    return str(request.param)


def refs(first: int, count: int) -> Any:
    """So many notifications, each as `ref` has it."""
    return (NotificationRef * count)(*(ref(number) for number in range(first, first + count)))


def taken(found: Any) -> list[int]:
    assert [each.values() for each in found] == [ref(each.sequence).values() for each in found]
    return [each.sequence for each in found]


@pytest.mark.parametrize("first", [1, 254, 2**16 - 3, 2**32 - 3, 2**40])
def test_the_checks_of_many_are_those_of_each(way: str, first: int) -> None:
    rng = random.Random(first)
    for count in (1, 2, 7, 300):
        records = bytearray(rng.randbytes(64) * count)  # columns of equal bytes, and then some of other ones
        for _ in range(rng.choice([0, 1, 50])):
            records[rng.randrange(len(records))] = rng.randrange(256)
        expected = [crc32(records[at : at + 64], (first + n) & (2**32 - 1)) for n, at in enumerate(range(0, len(records), 64))]
        assert [int(check) for check in notification_checks.checks(memoryview(records), first)] == expected


def test_any_history_of_many_at_once_is_that_of_a_queue(way: str, tmp_path: Path) -> None:
    rng = random.Random(3)
    for number, capacity in enumerate((2, 3, 8, 50)):
        path = tmp_path / f"ring{number}"
        notifications.create(path, capacity)
        sent = read = committed = 0
        with contextlib.ExitStack() as stack:
            producer = stack.enter_context(NotificationProducer(path))
            consumer = stack.enter_context(NotificationConsumer(path))
            for _ in range(300):
                many = rng.choice([0, 1, 2, 5, capacity, 2 * capacity])
                match rng.choice(["send", "send one", "take", "take one", "commit", "producer", "consumer"]):
                    case "send":
                        room = min(many, capacity - (sent - committed))
                        assert producer.send_many(refs(sent + 1, many)) == room
                        sent += room
                    case "send one":
                        sent += producer.send(ref(sent + 1))
                    case "take":
                        count = min(many or 1, sent - read)
                        assert taken(consumer.take_many(many or 1)) == list(range(read + 1, read + 1 + count))
                        read += count
                    case "take one":
                        found = consumer.take()
                        assert (found is None) == (read == sent)
                        read += found is not None
                    case "commit":
                        consumer.commit()
                        committed = read
                    case "producer":
                        producer.close()
                        producer = stack.enter_context(NotificationProducer(path))
                        assert (producer.last.sequence if producer.last else 0) == sent
                    case "consumer":
                        consumer.close()
                        consumer = stack.enter_context(NotificationConsumer(path))
                        read = committed


class KilledAfterStores:
    """The words of a process that is killed when it has stored so many."""

    def __init__(self, words: Any, stores: int) -> None:
        self._words, self.left = words, stores

    def __getitem__(self, at: int) -> int:
        return int(self._words[at])

    def __setitem__(self, at: int, value: int) -> None:
        if not self.left:
            raise Killed
        self.left -= 1
        self._words[at] = value


@pytest.mark.parametrize("stored", range(4))
def test_a_producer_killed_while_it_sends_many_has_sent_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: int
) -> None:
    monkeypatch.setattr(notifications, "numpy", None)  # whose stores are in the same order, one by one
    notifications.create(tmp_path / "ring", 4)
    with NotificationConsumer(tmp_path / "ring") as consumer:
        with NotificationProducer(tmp_path / "ring") as producer:
            assert producer.send_many(refs(1, 2)) == 2
            assert taken(consumer.take_many()) == [1, 2]
            consumer.commit()
            words, producer._words = producer._words, KilledAfterStores(producer._words, stored)
            with pytest.raises(Killed):
                producer.send_many(refs(3, 4))
            producer._words = words
        with NotificationProducer(tmp_path / "ring") as again:
            assert again.last is not None or not stored
            assert (again.last.sequence if again.last else 2) == 2 + stored
            assert again.send_many(refs(3 + stored, 4)) == 4 - stored
        assert taken(consumer.take_many()) == [3, 4, 5, 6]


def test_of_many_those_before_a_damaged_one_are_taken(path: Path, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifications, "_TRIES", 3)
    with NotificationProducer(path) as producer, NotificationConsumer(path) as consumer:
        assert producer.send_many(refs(1, 4)) == 4
        whole = producer._map[producer._places[2]]
        producer._map[producer._places[2]] = whole[:20] + bytes(44)
        assert taken(consumer.take_many()) == [1, 2]
        with pytest.raises(InvalidRequest, match="slot 3 is damaged"):
            consumer.take_many()
        producer._map[producer._places[2]] = whole  # as where its stores were on their way
        assert taken(consumer.take_many()) == [3, 4]


def test_an_array_of_numpys_is_sent_and_taken(path: Path) -> None:
    import numpy as np

    sent = np.zeros(3, notifications.DTYPE)
    sent["sequence"], sent["timestamp"], sent["batch_offset"] = [7, 8, 2**63], [-1, 0, 1], np.arange(3)
    sent["source_id"], sent["row_count"], sent["event_type"] = 4, 5, 2
    with NotificationProducer(path) as producer, NotificationConsumer(path) as consumer:
        before = sent.copy()
        assert producer.send_many(sent) == 3
        assert (sent == before).all()
        found = consumer.take_many()
        assert [each.values() for each in found] == [(7, 4, 2, 5, -1, 0), (8, 4, 2, 5, 0, 1), (2**63, 4, 2, 5, 1, 2)]
        assert (np.frombuffer(found, notifications.DTYPE) == sent).all()
    fields = {name: getattr(NotificationRef, name).offset for name in notifications.DTYPE["names"]}
    assert fields == dict(zip(notifications.DTYPE["names"], notifications.DTYPE["offsets"], strict=True))


def test_what_is_no_array_of_notifications_is_refused(path: Path) -> None:
    with NotificationProducer(path) as producer, NotificationConsumer(path) as consumer:
        for wrong, message in ((b"x" * 65, "65 bytes"), ([ref(1)], "'list'"), (memoryview(bytes(256))[::2], "'memoryview'")):
            with pytest.raises(InvalidRequest, match=f"notifications = .*{message}"):
                producer.send_many(wrong)
        assert producer.send_many(b"") == 0
        for most in (0, -1, True, 1.5):
            with pytest.raises(InvalidRequest, match="most"):
                consumer.take_many(most)  # type: ignore[arg-type]


# Refused.


def test_each_side_is_one_process_s(path: Path) -> None:
    with NotificationProducer(path) as producer, NotificationConsumer(path):
        for side in (NotificationProducer, NotificationConsumer):
            with pytest.raises(Unavailable, match=r"another run .* works on the (producer|consumer).s side"):
                side(path)
        assert producer.send(ref(1))
    producer.close()  # closed already
    with NotificationProducer(path) as producer:
        assert producer.last is not None


def broken(path: Path, change: Callable[[bytearray], object]) -> Path:
    content = bytearray(path.read_bytes())
    change(content)
    path.write_bytes(content)
    return path


FOREIGN: dict[str, Callable[[bytearray], object]] = {
    "empty": lambda content: content.clear(),
    "another program's": lambda content: content.__setitem__(slice(0, 8), b"PARQUET1"),
    "of another version": lambda content: content.__setitem__(8, 9),
    "truncated": lambda content: content.__delitem__(slice(-1, None)),
    "cut in its head": lambda content: content.__delitem__(slice(20, None)),
    "too long": lambda content: content.extend(b"\0"),
}


@pytest.mark.parametrize("fault", FOREIGN)
@pytest.mark.parametrize("side", [NotificationProducer, NotificationConsumer])
def test_a_file_that_is_no_ring_is_refused(path: Path, fault: str, side: Any) -> None:
    with pytest.raises(InvalidRequest, match="no ring of this version"):
        side(broken(path, FOREIGN[fault]))


def test_where_no_ring_can_be_is_said(path: Path) -> None:
    for wrong in (path, path.parent / "no" / "folder"):
        with pytest.raises(InvalidRequest, match="path"):
            notifications.create(wrong)
    with pytest.raises(InvalidRequest, match="create it first"):
        NotificationProducer(path.parent / "nothing")
    for capacity in (1, 0, -1, True, 2**20 + 1, 2.0):
        with pytest.raises(InvalidRequest, match="capacity"):
            notifications.create(path.parent / "other", capacity)  # type: ignore[arg-type]
    assert sorted(found.name for found in path.parent.iterdir()) == ["ring"]
    notifications.remove(path)
    assert not list(path.parent.iterdir())


# Allocations.


@pytest.mark.parametrize("times", [20_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_a_hand_over_allocates_nothing_that_stays(path: Path, times: int) -> None:
    """By tracemalloc: no block more after than before, and never more than a few numbers at once, however many hand-overs."""
    notification = ref(LARGE)
    with NotificationProducer(path) as producer, NotificationConsumer(path) as consumer:

        def hand_over(rounds: int) -> None:
            for n in range(LARGE, LARGE + rounds):
                notification.sequence = n
                producer.send(notification)
                consumer.take()
                consumer.commit()

        ours = [tracemalloc.Filter(True, notifications.__file__)]
        tracemalloc.start()
        try:
            hand_over(1_000)
            before = tracemalloc.take_snapshot().filter_traces(ours)
            tracemalloc.reset_peak()
            held, _ = tracemalloc.get_traced_memory()
            hand_over(times)
            _, peak = tracemalloc.get_traced_memory()
            after = tracemalloc.take_snapshot().filter_traces(ours)
        finally:
            tracemalloc.stop()
    grown = [each for each in after.compare_to(before, "lineno") if each.count_diff > 0]
    assert not grown
    assert peak - held < 1024


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sequence": -1}, "sequence = -1: pass a whole number from 0 to 18446744073709551615"),
        ({"sequence": 2**64}, "sequence = 18446744073709551616: "),
        ({"source_id": -1}, "source_id = -1: "),
        ({"row_count": 2**32}, "row_count = 4294967296: "),
        ({"event_type": 256}, "event_type = 256: pass a whole number from 0 to 255"),
        ({"timestamp": 2**63}, "timestamp = "),
        ({"sequence": 1.5}, "sequence = 1.5: "),
        ({"event_type": "UPDATE"}, "event_type = 'UPDATE': "),
        ({"slot": 1}, "notification = 'slot': it has the fields sequence, "),
    ],
)
def test_a_value_that_does_not_fit_is_told(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^{re.escape(message)}"):
        NotificationRef(**values)


def test_who_waits_and_then_drains_gets_each(path: Path) -> None:
    """What wait took was not committed: it is there for the loop."""
    with NotificationProducer(path) as producer, NotificationConsumer(path) as consumer:
        found = []
        for n in range(1, 10):
            producer.send(ref(n))
            assert consumer.wait(1) is not None
            found += [notification.sequence for notification in consumer.drain()]
        assert found == list(range(1, 10))
        assert [notification.sequence for notification in consumer.drain()] == []


def test_a_loop_waits_for_the_next_and_ends_when_none_comes(path: Path) -> None:
    with NotificationProducer(path) as producer, NotificationConsumer(path) as consumer:
        sender = threading.Timer(0.05, lambda: producer.send(ref(2)))
        producer.send(ref(1))
        sender.start()
        assert [notification.sequence for notification in consumer.drain(seconds=1.0)] == [1, 2]
        sender.join()


# Two processes, killed.

Target = Callable[..., None]


def produce(path: Path, end: int) -> None:
    with NotificationProducer(path) as producer:
        at = producer.last.sequence if producer.last else 0
        while at < end:
            if producer.send(ref(at + 1)):
                at += 1
            else:
                time.sleep(0)


def consume(path: Path, log: Path, end: int) -> None:
    """Notes each sequence, then commits every third: up to three are repeated after a kill."""
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, b"start\n")
    with NotificationConsumer(path) as consumer:
        while True:
            notification = consumer.wait(0.01)
            if notification is None:
                continue
            torn = notification.values() != ref(notification.sequence).values()
            os.write(descriptor, b"torn " if torn else b"%d\n" % notification.sequence)
            if notification.sequence % 3 == 0 or notification.sequence == end:
                consumer.commit()
            if notification.sequence == end:
                return


def kept_running(target: Target, *arguments: object) -> Iterator[Any]:
    """Processes that run the same again; each is given out while it runs."""
    fork = multiprocessing.get_context("fork")
    while True:
        process = fork.Process(target=target, args=arguments, daemon=True)
        process.start()
        yield process
        if process.exitcode == 0:
            return


def kill_them(ring: Path, log: Path, end: int, told: Connection) -> None:
    """Kills now the one, now the other, until the consumer has read the last. Tells how often each was killed.

    Each lives a little longer than the one before: on a busy machine the first ones die before they have done anything.
    """
    os.setsid()  # a group of its own, with the two
    rng = random.Random(6)
    sides = [kept_running(produce, ring, end), kept_running(consume, ring, log, end)]
    running = [next(processes) for processes in sides]
    killed = [0, 0]
    while running[1].exitcode != 0:
        time.sleep(rng.uniform(0.002, 0.03) * 1.01 ** sum(killed))
        side = rng.randrange(2)
        if running[side].exitcode is None:
            os.kill(running[side].pid, signal.SIGKILL)
            killed[side] += 1
            running[side].join()
            running[side] = next(sides[side], running[side])
    running[0].join()
    told.send(killed)


@pytest.mark.parametrize("end", [150_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_two_processes_that_are_killed_lose_nothing(tmp_path: Path, end: int) -> None:
    ring, log = tmp_path / "ring", tmp_path / "log"
    notifications.create(ring, 64)
    # The two are forked by a process of one thread: a fork of this one, in which other tests' threads run, may wait for ever.
    spawn = multiprocessing.get_context("spawn")
    heard, told = spawn.Pipe(duplex=False)
    killing = spawn.Process(target=kill_them, args=(ring, log, end, told))
    killing.start()
    told.close()
    try:
        killed = heard.recv()
        killing.join()
    finally:
        killing.kill()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(killing.pid or 0, signal.SIGKILL)
    runs = [[int(line) for line in run.split()] for run in log.read_text().split("start\n")]
    repeated = highest = 0
    for run in filter(None, runs):
        assert run == list(range(run[0], run[-1] + 1))  # in order, once
        assert highest - 3 < run[0] <= highest + 1  # goes on after the last commit
        repeated += highest + 1 - run[0]
        highest = max(highest, run[-1])
    assert highest == end
    assert min(killed) >= 3, f"{killed} kills are too few to tell"
    assert repeated > 0, "no kill was between a notification and its commit"
