"""What a prune costs, and what it costs writers: single-row updates alone, and beside a prune, in turn in one run.

The history is one event a document. Each repetition measures the writers alone for as long as the prune before it took (a second at
least), then prunes its share of the history while they go on. The longest lock is the longest transaction of the prune: what it
locks, it locks until then. With --partitions, parts of growing sizes are dropped as well, whose locks should take the same time
each: they are from within a statement to its commit, and PostgreSQL removes the files afterwards, as fast as the file system can.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from time import perf_counter, sleep

import sqlalchemy as sa

import dmsjournal as dj
from benchmarks import database
from benchmarks.facts import Facts, facts
from benchmarks.report import Table
from benchmarks.write import writer
from dmsjournal.schema import migrate

CHUNK = 100_000  # documents of a statement


@dataclass(frozen=True)
class Options:
    """Units: events of the history; rows of a batch; milliseconds between two batches; sessions that write."""

    pruned: int
    batch_size: int
    pause: int
    writers: int
    repeat: int
    command: str


def measure(url: str, options: Options) -> tuple[list[Table], Facts]:
    """The tables of the prune itself (an event; the longest batch), and of the writers' updates."""
    cost = Table(f"prune of {options.pruned:,} events", ("seconds",), ())
    updates = Table(f"a content update, {options.writers} sessions", ("alone", "beside a prune"), (("alone", "beside a prune"),))
    migrate.upgrade(url)
    build(url, options.pruned)
    seconds = 1.0
    with dj.connect(url) as journal, writing(url, options) as count, timing(journal) as longest:
        for repetition in range(1, options.repeat + 1):
            before, began = count(), perf_counter()
            sleep(max(seconds, 1.0))
            updates.row("one update", options.command).add("alone", (perf_counter() - began) / max(1, count() - before))
            before, began = count(), perf_counter()
            pruned = journal.prune(
                options.pruned * repetition // options.repeat,
                batch_size=options.batch_size,
                pause=timedelta(milliseconds=options.pause),
            )
            seconds = perf_counter() - began
            updates.row("one update", options.command).add("beside a prune", seconds / max(1, count() - before))
            cost.row("one event", options.command).add("seconds", seconds / pruned.deleted)
            cost.row("longest transaction, so longest lock", options.command).add("seconds", longest())
    with database.connect(url) as connection:
        return [cost, updates], facts(connection)


def measure_dropped(url: str, options: Options, cost: Table, events: int) -> None:
    """A row of `cost`: the prune of a journal whose events are all in one part, in a database of its own; its longest statement."""
    migrate.upgrade(url)
    build(url, events)
    migrate.upgrade(url, options=["partitions"])
    with dj.connect(url) as journal:
        journal.partitions.ensure(versions=events, ahead=1)
        newest = journal.versions().newest
        with timing(journal, "before_cursor_execute", "after_cursor_execute") as longest:
            began = perf_counter()
            pruned = journal.prune(newest)
            seconds = perf_counter() - began
            row = cost.row(f"a part of {events:,} events", options.command)
            row.add("longest statement", longest())
            row.add("with the files", seconds)
    assert {each.dropped for each in pruned.journals if each.journal == "DocumentChangeEvent"} == {1}


def build(url: str, events: int) -> None:
    with writer(url, "dms") as each:
        database.script(each.connection, "write/resource_keys")
        for first in range(1, events + 1, CHUNK):
            each.run("insert_documents", (first, min(first + CHUNK - 1, events)), resource=1)
        each.connection.exec_driver_sql("VACUUM ANALYZE")


@contextmanager
def writing(url: str, options: Options) -> Iterator[Callable[[], int]]:
    """While it lasts, sessions update random documents; gives the number of updates so far."""
    enough, done = threading.Event(), [0] * options.writers

    def write(number: int) -> None:
        random = Random(number)
        with writer(url, "dms") as each:
            while not enough.is_set():
                document = random.randint(1, options.pruned)
                each.run("update_content", (document, document))
                done[number] += 1

    with ThreadPoolExecutor(options.writers) as threads:
        sessions = [threads.submit(write, number) for number in range(options.writers)]
        try:
            yield lambda: sum(done)
        finally:
            enough.set()
            for session in sessions:
                session.result()


@contextmanager
def timing(journal: dj.Journal, first: str = "begin", last: str = "commit") -> Iterator[Callable[[], float]]:
    """Gives the longest transaction of the journal's connections since it was asked last, in seconds, or what is between two other
    events."""
    began, longest = 0.0, 0.0

    def begin(*_: object) -> None:
        nonlocal began
        began = perf_counter()

    def end(*_: object) -> None:
        nonlocal longest
        longest = max(longest, perf_counter() - began)

    def taken() -> float:
        nonlocal longest
        found, longest = longest, 0.0
        return found

    for name, listener in ((first, begin), (last, end)):
        sa.event.listen(journal.database.pool, name, listener)
    yield taken
