"""A notification from one to another: through the ring, and through a pipe with pickle, as multiprocessing's queues do it.

What it costs to make a reference: one at a time, and many at once. What a hand-over costs: in one process, and between two (what
passes in a second), one at a time and many at once. Beside them what Python alone costs: the call of a function that does nothing.
Counts what the ring allocates.
"""

import multiprocessing
import struct
import tempfile
import tracemalloc
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy

from benchmarks.facts import Facts, machine
from benchmarks.report import Table
from dmsjournal.events import notifications
from dmsjournal.events.notifications import SIZE, NotificationConsumer, NotificationProducer, NotificationRef

CAPACITY = 4096
BATCH = 1024  # references that are made, sent and taken at once
FIRST = 2**62  # numbers as large as versions may be


@dataclass(frozen=True)
class Options:
    """Units: hand-overs of a run."""

    hand_overs: int
    repeat: int
    command: str


def measure(options: Options) -> tuple[list[Table], Facts]:
    """The table, seconds a hand-over. Prints nanoseconds and allocations."""
    table = Table("hand-over", ("pipe", "ring", "many"), (("pipe", "ring"), ("ring", "many")))
    made = Table("a reference", ("an empty call", "one", "again", "struct", "NumPy"), (("one", "NumPy"),))
    for _ in range(options.repeat):
        each = made.row(f"of {BATCH} at once", options.command)
        for variant, makes in MAKERS.items():
            each.add(variant, makes(options.hand_overs))
        alone = table.row("in one process", options.command)
        alone.add("pipe", _pipe_alone(options.hand_overs))
        alone.add("ring", _ring_alone(options.hand_overs))
        alone.add("many", _many_alone(options.hand_overs))
        between = table.row("between two processes", options.command)
        between.add("pipe", _between(_pipe_sends, options.hand_overs))
        between.add("ring", _between(_ring_sends, options.hand_overs))
        between.add("many", _between(_many_sends, options.hand_overs))
    kept, most = _allocations(options.hand_overs)
    print(
        f"ring: {table.rows[0].median('ring') * 1e9:.0f} ns a hand-over in one process, "
        f"{table.rows[1].median('ring') * 1e9:.0f} ns between two; "
        f"{options.hand_overs:,} hand-overs allocated {kept} blocks that stayed, {most} bytes at most at once (tracemalloc)"
    )
    return [made, table], machine()


def _calls(times: int) -> float:
    def nothing() -> None:
        pass

    began = perf_counter()
    for _ in range(times):
        nothing()
    return (perf_counter() - began) / times


def _made_one(times: int) -> float:
    began = perf_counter()
    for number in range(FIRST, FIRST + times):
        NotificationRef(sequence=number, source_id=1, event_type=2, row_count=1, timestamp=number, batch_offset=number)
    return (perf_counter() - began) / times


def _made_again(times: int) -> float:
    """One reference that is made once, whose three fields that differ are set."""
    notification = NotificationRef(source_id=1, event_type=2, row_count=1)
    began = perf_counter()
    for number in range(FIRST, FIRST + times):
        notification.sequence = notification.timestamp = notification.batch_offset = number
    return (perf_counter() - began) / times


def _made_by_struct(times: int) -> float:
    record = struct.Struct("=QQqQIIB15xQ")
    buffer = bytearray(BATCH * SIZE)
    began = perf_counter()
    for first in range(FIRST, FIRST + times, BATCH):
        for at, number in zip(range(0, BATCH * SIZE, SIZE), range(first, first + BATCH), strict=True):
            record.pack_into(buffer, at, 0, number, number, number, 1, 1, 2, 0)
    return (perf_counter() - began) / _rounded(times)


def _made_by_numpy(times: int) -> float:
    began = perf_counter()
    for first in range(FIRST, FIRST + times, BATCH):
        _array(first)
    return (perf_counter() - began) / _rounded(times)


MAKERS = {
    "an empty call": _calls,
    "one": _made_one,
    "again": _made_again,
    "struct": _made_by_struct,
    "NumPy": _made_by_numpy,
}


def _array(first: int) -> Any:
    made = numpy.zeros(BATCH, notifications.DTYPE)
    made["sequence"] = made["timestamp"] = made["batch_offset"] = numpy.arange(first, first + BATCH)
    made["source_id"], made["event_type"], made["row_count"] = 1, 2, 1
    return made


def _rounded(times: int) -> int:
    """What whole batches hold."""
    return -(-times // BATCH) * BATCH


def _many_alone(times: int) -> float:
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        path = Path(folder) / "ring"
        notifications.create(path, CAPACITY)
        with NotificationProducer(path) as producer, NotificationConsumer(path) as consumer:
            batches = [_array(first) for first in range(FIRST, FIRST + times, BATCH)]
            began = perf_counter()
            for batch in batches:
                producer.send_many(batch)
                consumer.take_many(BATCH)
                consumer.commit()
            return (perf_counter() - began) / _rounded(times)


def _pipe_alone(times: int) -> float:
    queue = multiprocessing.SimpleQueue()  # type: ignore[var-annotated]
    began = perf_counter()
    for number in range(FIRST, FIRST + times):
        queue.put((number, 1, 2, 1, number, 0))
        queue.get()
    return (perf_counter() - began) / times


def _ring_alone(times: int) -> float:
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        path = Path(folder) / "ring"
        notifications.create(path, CAPACITY)
        with NotificationProducer(path) as producer, NotificationConsumer(path) as consumer:
            began = perf_counter()
            _hand_over(producer, consumer, times)
            return (perf_counter() - began) / times


def _hand_over(producer: NotificationProducer, consumer: NotificationConsumer, times: int) -> None:
    notification = NotificationRef(source_id=1, event_type=2, row_count=1)
    for number in range(FIRST, FIRST + times):
        notification.sequence = notification.timestamp = number
        producer.send(notification)
        consumer.take()
        consumer.commit()


def _allocations(times: int) -> tuple[int, int]:
    """Blocks that stayed, and bytes at most at once beyond what was there, of so many hand-overs."""
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        path = Path(folder) / "ring"
        notifications.create(path, CAPACITY)
        with NotificationProducer(path) as producer, NotificationConsumer(path) as consumer:
            ours = [tracemalloc.Filter(True, notifications.__file__)]
            tracemalloc.start()
            _hand_over(producer, consumer, 2 * CAPACITY)  # every number that is kept is a large one by then
            before = tracemalloc.take_snapshot().filter_traces(ours)
            tracemalloc.reset_peak()
            held, _ = tracemalloc.get_traced_memory()
            _hand_over(producer, consumer, times)
            _, peak = tracemalloc.get_traced_memory()
            after = tracemalloc.take_snapshot().filter_traces(ours)
            tracemalloc.stop()
    return sum(each.count_diff for each in after.compare_to(before, "lineno")), peak - held


def _between(sends, times: int) -> float:  # type: ignore[no-untyped-def]
    """Seconds a hand-over, from the first that is received to the last."""
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        path = Path(folder) / "ring"
        notifications.create(path, CAPACITY)
        fork = multiprocessing.get_context("fork")
        queue = fork.SimpleQueue()
        process = fork.Process(target=sends, args=(path, queue, times))
        process.start()
        receives = {_ring_sends: _received, _many_sends: _received_many}.get(sends)
        seconds = _got(queue, times) if receives is None else receives(path, times)
        process.join()
    return seconds / times


def _ring_sends(path: Path, queue: object, times: int) -> None:
    notification = NotificationRef(source_id=1, event_type=2, row_count=1)
    with NotificationProducer(path) as producer:
        for number in range(FIRST, FIRST + times):
            notification.sequence = notification.timestamp = number
            while not producer.send(notification):
                sleep(0)


def _received(path: Path, times: int) -> float:
    began, left = 0.0, times
    with NotificationConsumer(path) as consumer:
        while left:
            if consumer.take() is None:
                sleep(0)
                continue
            began = began or perf_counter()
            consumer.commit()
            left -= 1
    return perf_counter() - began


def _many_sends(path: Path, queue: object, times: int) -> None:
    left = memoryview(b"")
    with NotificationProducer(path) as producer:
        for first in range(FIRST, FIRST + times, BATCH):
            left = memoryview(_array(first)).cast("B")
            while len(left):
                left = left[producer.send_many(left) * SIZE :]
                if len(left):
                    sleep(0)


def _received_many(path: Path, times: int) -> float:
    began, left = 0.0, _rounded(times)
    with NotificationConsumer(path) as consumer:
        while left:
            if not (found := consumer.take_many(BATCH)):
                sleep(0)
                continue
            began = began or perf_counter()
            consumer.commit()
            left -= len(found)
    return perf_counter() - began


def _pipe_sends(path: Path, queue, times: int) -> None:  # type: ignore[no-untyped-def]
    for number in range(FIRST, FIRST + times):
        queue.put((number, 1, 2, 1, number, 0))


def _got(queue, times: int) -> float:  # type: ignore[no-untyped-def]
    queue.get()
    began = perf_counter()
    for _ in range(times - 1):
        queue.get()
    return perf_counter() - began


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
