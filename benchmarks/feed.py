"""The feed beside a logical slot of PostgreSQL's on the same writes: events and pages a second.

The writes are content updates of documents with bodies, some a transaction, and each says what caused it. `feed` reads them by
Journal.read_changes, contexts included; `with bodies` has bodies before and after besides; `to Arrow` makes record batches of those
pages; `journal to Arrow` reads the journal's rows straight into batches (no bodies, no keys); `slot` calls
pg_logical_slot_get_binary_changes for dms.Document alone, which gives the new row. Each way reads everything from the beginning, in
turn; the counts of events are compared.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import sqlalchemy as sa

import dmsjournal as dj
from benchmarks import database
from benchmarks.context import SAID
from benchmarks.facts import Facts, facts
from benchmarks.report import Table
from benchmarks.write import Ids, Writer
from dmsjournal.events import arrow
from dmsjournal.schema import migrate

SLOT = "dmsjournal_benchmark"
WAYS = ("feed", "with bodies", "to Arrow", "journal to Arrow", "slot")
INCLUDED = dj.NewItemStateMode.INCLUDE_IF_AVAILABLE


@dataclass(frozen=True)
class Options:
    """Units: events in all; events of a page, and of a call of the slot; documents of a transaction."""

    events: int
    page_sizes: tuple[int, ...]
    transaction: int
    repeat: int
    command: str


def measure(url: str, options: Options) -> tuple[list[Table], Facts]:
    """The tables of an event, and of pages a second. Raises AssertionError where a way does not give every event."""
    ratios = tuple((way, "slot") for way in WAYS[:-1])
    event = Table("reading, an event", WAYS, ratios)
    pages = Table("pages a second", WAYS, (), unit="pages/s")
    migrate.upgrade(url, options=["images", "context"])
    with database.connect(url) as connection, dj.connect(url) as journal:
        connection.exec_driver_sql("DROP PUBLICATION IF EXISTS dmsjournal_benchmark")
        database.script(connection, "feed/publish")
        connection.execute(database.query("feed/create_slot"), {"slot": SLOT})
        try:
            written = _write(url, options)
            for repetition in range(options.repeat + 1):  # the first warms the caches
                for size in options.page_sizes:
                    for way, read in _ways(url, connection, journal, size).items():
                        began = perf_counter()
                        found, calls = read()
                        seconds = perf_counter() - began
                        assert found == written, (way, found, written)
                        if repetition > 0:
                            event.row(f"{written:,} events, {size:,} a page", options.command).add(way, seconds / found)
                            pages.row(f"of {size:,} events", options.command).add(way, calls / seconds)
        finally:
            connection.execute(database.query("feed/drop_slot"), {"slot": SLOT})
        return [event, pages], facts(connection)


def _write(url: str, options: Options) -> int:
    """Documents, then changes of each in turn, until there are as many events; how many there are."""
    documents = max(options.transaction, options.events // 10)
    ids = Ids().take(documents)
    with database.connect(url, prepare=True, search_path="dms", **{"dmsjournal.context": SAID}) as connection:
        database.script(connection, "write/resource_keys")
        writer = Writer(connection, "dms")
        written = 0
        while written < options.events:
            operation = "insert_bodies" if written < documents else "update_bodies"
            first = ids[0] + written % documents
            last = min(first + options.transaction - 1, ids[1])
            writer.run(operation, (first, last))
            written += last - first + 1
        connection.exec_driver_sql("VACUUM ANALYZE")
    return written


Read = Callable[[], tuple[int, int]]  # events, and calls


def _ways(url: str, connection: sa.Connection, journal: dj.Journal, size: int) -> dict[str, Read]:
    return {
        "feed": lambda: _pages(journal, dj.FeedRequest(max_page_size=size)),
        "with bodies": lambda: _pages(journal, dj.FeedRequest(max_page_size=size, item_state=INCLUDED)),
        "to Arrow": lambda: _pages(journal, dj.FeedRequest(max_page_size=size, item_state=INCLUDED), _to_arrow),
        "journal to Arrow": lambda: _journal(url, size),
        "slot": lambda: _slot(connection, size),
    }


def _pages(
    journal: dj.Journal, request: dj.FeedRequest, take: Callable[[dj.FeedPage], int] = lambda page: len(page.events)
) -> tuple[int, int]:
    found, calls = 0, 0
    with dj.FeedIterator(journal, request, follow=False) as events:
        for page in events.pages():
            found, calls = found + take(page), calls + 1
    return found, calls


def _to_arrow(page: dj.FeedPage) -> int:
    return arrow.from_feed(page.events, "benchmark").total_rows


def _journal(url: str, size: int) -> tuple[int, int]:
    sizes = [batch.num_rows for batch in arrow.read_journal(url, batch_rows=size)]
    return sum(sizes), len(sizes)


def _slot(connection: sa.Connection, size: int) -> tuple[int, int]:
    """Reads a copy of the slot to its end."""
    copy = f"{SLOT}_copy"
    connection.execute(database.query("feed/copy_slot"), {"slot": SLOT, "copy": copy})
    found, calls = 0, 0
    try:
        while True:
            rows = connection.execute(database.query("feed/read_slot"), {"slot": copy, "changes": size}).all()
            calls += 1
            found += sum(bytes(row.data[:1]) in (b"I", b"U", b"D") for row in rows)
            if not rows:
                return found, calls
    finally:
        connection.execute(database.query("feed/drop_slot"), {"slot": copy})
