"""What tracking costs a writer: a table as it is, tracked, and with a usual audit trigger (a row each: jsonb of old and new).

`logical` is the table as it is on a second server that logs what logical decoding needs: whole old rows (REPLICA IDENTITY FULL),
which a reader takes from a slot meanwhile.

Each with 0, 2 and 5 foreign keys. Variants take turns inside every repetition, so that whatever else the machine does meets all.
`mixed` is what a single row costs in the session that ran the bulk statements, and keeps their plans; `fresh`, in one of its own.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import median
from threading import Event
from time import perf_counter

import sqlalchemy as sa

import dmsjournal as dj
from benchmarks import database
from benchmarks.facts import Facts, facts
from benchmarks.report import Table
from dmsjournal.operate import tracking
from dmsjournal.schema import migrate
from dmsjournal.util.concurrency import in_thread

VARIANTS = ("untracked", "tracked", "audit")
LOGICAL = "logical"
KEYS = (0, 2, 5)
OPERATIONS = ("insert", "update", "delete")


@dataclass(frozen=True)
class Options:
    """Units: rows of a bulk statement, single-row transactions a repetition."""

    rows: int
    singles: int
    repeat: int
    command: str


def measure(url: str, options: Options, logical: str | None = None) -> tuple[list[Table], Facts]:
    """The tables of bulk statements (a row), of single-row transactions, and of sessions that mix both.

    `logical` is the URL of a database of a server whose wal_level is logical; without it there is no such variant.
    """
    variants = (*VARIANTS, LOGICAL) if logical else VARIANTS
    ratios = tuple((variant, "untracked") for variant in variants[1:])
    bulk = Table(f"a row of a statement of {options.rows:,}", variants, ratios)
    single = Table("one row, one transaction", variants, ratios)
    mixed = Table("one row of a tracked table, by session", ("fresh", "mixed"), (("mixed", "fresh"),))
    prepare(url)
    with ExitStack() as stack:
        writers = {name: stack.enter_context(database.connect(url, search_path=name)) for name in VARIANTS}
        if logical:
            stack.enter_context(_decoded(logical))
            writers[LOGICAL] = stack.enter_context(database.connect(logical, search_path=LOGICAL))
        for repetition in range(options.repeat + 1):  # the first warms the caches
            first = 1 + repetition * (options.rows + 2 * options.singles)
            alone = range(first + options.rows, first + options.rows + options.singles)
            for keys in KEYS:
                for operation in OPERATIONS:
                    name = f"{operation}, {keys} foreign keys"
                    for offset in range(len(variants)):
                        variant = variants[(repetition + offset) % len(variants)]
                        conn = writers[variant]
                        seconds = timed(conn, f"{operation}_{keys}", first, first + options.rows - 1)
                        one = median(timed(conn, f"{operation}_{keys}", number, number) for number in alone)
                        if repetition:
                            bulk.row(name, options.command).add(variant, seconds / options.rows)
                            single.row(name, options.command).add(variant, one)
                            if variant == "tracked":
                                mixed.row(name, options.command).add("mixed", one)
            if repetition:
                _fresh(url, mixed, range(alone.stop, alone.stop + options.singles), options)
            for variant in ("untracked", *variants[len(VARIANTS) :]):  # one in each server
                writers[variant].exec_driver_sql("VACUUM ANALYZE")
        return [bulk, single, mixed], facts(writers["untracked"])


def prepare(url: str) -> None:
    """A schema a variant, each with the same tables."""
    migrate.upgrade(url, options=["tracking"])
    with database.connect(url) as conn:
        database.script(conn, "track/schemas")
    for variant in VARIANTS:
        with database.connect(url, search_path=variant) as conn:
            database.script(conn, "track/schema")
            if variant == "audit":
                database.script(conn, "track/audit")
    with dj.connect(url) as journal:
        journal.track(*map(dj.TrackedTable, tracking.tables_of(journal.database, "tracked")))
    with database.connect(url) as conn:
        conn.exec_driver_sql("VACUUM ANALYZE")


@contextmanager
def _decoded(url: str) -> Iterator[None]:
    """The tables where a reader takes all changes from a slot, for as long as the block lasts."""
    with database.connect(url, search_path=LOGICAL) as conn:
        conn.exec_driver_sql(f"CREATE SCHEMA {LOGICAL}")
        database.script(conn, "track/schema")
        database.script(conn, "track/decoded")
        conn.exec_driver_sql("VACUUM ANALYZE")
        conn.execute(database.query("feed/create_slot"), {"slot": LOGICAL})
    is_over = Event()

    def read() -> None:
        with database.connect(url) as conn:
            while not is_over.is_set():
                conn.execute(database.query("track/read_slot"), {"slot": LOGICAL})
                is_over.wait(0.01)
            conn.execute(database.query("feed/drop_slot"), {"slot": LOGICAL})

    reading = in_thread(read)
    try:
        yield
    finally:
        is_over.set()
        reading.result()


def timed(conn: sa.Connection, name: str, first: int, last: int) -> float:
    """Seconds of a statement on rows first to last."""
    statement = database.query(f"track/{name}")
    start = perf_counter()
    conn.execute(statement, {"first": first, "last": last})
    return perf_counter() - start


def _fresh(url: str, table: Table, rows: range, options: Options) -> None:
    """Single rows in a session that has run nothing else."""
    for keys in KEYS:
        with database.connect(url, search_path="tracked") as conn:
            for operation in OPERATIONS:
                one = median(timed(conn, f"{operation}_{keys}", number, number) for number in rows)
                table.row(f"{operation}, {keys} foreign keys", options.command).add("fresh", one)
