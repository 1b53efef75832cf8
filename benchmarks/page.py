"""How long a page of changes takes, by its place in the window and the window's size; and a whole window, two ways.

Variants, all over the same history in one database: `published` (benchmarks/sql/published), `stored` (the physical
limit), `ours` (sql/postgres/queries/read/change_page.sql on the same connection as those two) and `API`, which is `ours`
through `change_page`: the same page plus the reading of the horizon.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

import sqlalchemy as sa

import dmsjournal as dj
from benchmarks import database
from benchmarks.facts import Facts, facts
from benchmarks.report import Table
from dmsjournal.database import sql
from dmsjournal.schema import migrate

RESOURCE = 20  # of the history: a quarter of the documents, refers to all other resources
RESOURCE_KEY = dj.ResourceKey("Benchmark", f"Resource{RESOURCE}", "1.0")
PUBLISHED, STORED = database.query("published/page"), database.query("stored/page")

Change = tuple[int, int]  # ChangeVersion, DocumentId
Read = Callable[[], Sequence[Change]]


@dataclass(frozen=True)
class Options:
    """Units: documents, edges and events are rows of the history; a window is a number of its newest events."""

    documents: int
    edges_per_document: int
    history: int  # events
    windows: tuple[int, ...]
    page_size: int
    repeat: int
    command: str  # without the windows


def measure(url: str, options: Options) -> tuple[list[Table], Facts]:
    """Both tables; raises AssertionError where two variants do not give the same changes."""
    pages = Table("page", ("published", "stored", "ours", "API"), (("published", "ours"), ("ours", "stored")))
    windows = Table(
        "whole window",
        ("published set", "our set", "stored set", "our pages", "API pages"),
        (("published set", "our set"), ("our pages", "our set")),
    )
    prepare(url, options)
    newest = options.documents + options.history
    with database.connect(url) as connection, dj.connect(url) as journal:
        for size in options.windows:
            window = Window(connection, journal, newest - size + 1, newest, options.page_size)
            window.measure_pages(pages, options, size)
            window.measure_whole(windows, options, size)
        return [pages, windows], facts(connection)


def prepare(url: str, options: Options) -> None:
    """Build the history and fill every schema from it, unless an earlier run kept just that."""
    numbers = {
        "documents": options.documents,
        "edges_per_document": options.edges_per_document,
        "events": options.history,
    }
    with database.connect(url) as connection:
        if sa.inspect(connection).has_schema("history"):
            if not connection.scalar(database.query("history/is_built"), numbers):
                raise SystemExit("the kept database holds another history: run once without --keep to remove it")
            return
        database.script(connection, "history/parameters")
        connection.execute(database.query("history/set_parameters"), numbers)
        database.script(connection, "history/build")
        migrate.upgrade(url)
        for schema in ("published", "stored"):
            database.create_baseline(url, schema)
        for schema in ("published", "stored", "dms"):
            database.script(connection, f"{schema}/load")
        connection.exec_driver_sql("VACUUM ANALYZE")  # as autovacuum leaves a database at rest
        connection.exec_driver_sql("CHECKPOINT")
        database.script(connection, "history/built")


class Window:
    """One window, read in every way there is."""

    def __init__(self, connection: sa.Connection, journal: dj.Journal, first: int, last: int, page_size: int) -> None:
        self.connection, self.journal, self.page_size = connection, journal, page_size
        self.first, self.last = first, last  # inclusive
        self.start = (first, 0)  # exclusive, below every document of the first version
        self.changes = self.stored(self.start, None)

    def measure_pages(self, table: Table, options: Options, size: int) -> None:
        places = {
            "first": self.start,
            "middle": self.before(len(self.changes) // 2),
            "last": self.before(-self.page_size),
        }
        for repetition in range(options.repeat + 1):
            for place, after in places.items():
                measure = f"{place} page of {self.page_size}, window of {size:,} events"
                row = table.row(measure, f"{options.command} --events {size}")
                expected = self.stored(after, self.page_size)
                for variant, read in self.pages(after).items():
                    seconds, found = timed(read)
                    if variant in ("ours", "API"):  # a page of theirs leaves out what was overtaken: it may be shorter
                        assert found == expected[: len(found)], (variant, place)
                    else:
                        assert found == expected, (variant, place)
                    if repetition > 0:  # the first warms the caches
                        row.add(variant, seconds)

    def before(self, position: int) -> Change:
        """The cursor whose page begins at a position in the window's changes, which counts from the end below 0."""
        at = position % len(self.changes) if -len(self.changes) < position else 0
        return self.changes[at - 1] if at > 0 else self.start

    def pages(self, after: Change) -> dict[str, Read]:
        return {
            "published": lambda: self.published(after, self.page_size),
            "stored": lambda: self.stored(after, self.page_size),
            "ours": lambda: self.ours(after)[0],
            "API": lambda: self.api(after)[0],
        }

    def measure_whole(self, table: Table, options: Options, size: int) -> None:
        reads: dict[str, Read] = {
            "published set": lambda: self.published(self.start, None),
            "our set": self.our_set,
            "stored set": lambda: self.stored(self.start, None),
            "our pages": lambda: list(walk(self.ours, self.start)),
            "API pages": lambda: list(walk(self.api, None)),
        }
        row = table.row(f"window of {size:,} events, {len(self.changes):,} changes", f"{options.command} --events {size}")
        for _ in range(options.repeat):
            for variant, read in reads.items():
                seconds, found = timed(read)
                assert found == self.changes, variant
                row.add(variant, seconds)

    def published(self, after: Change, limit: int | None) -> list[Change]:
        return self.read(PUBLISHED, after, page_size=limit, min_version=self.first)

    def stored(self, after: Change, limit: int | None) -> list[Change]:
        return self.read(STORED, after, page_size=limit)

    def read(self, statement: sa.TextClause, after: Change, **binds: int | None) -> list[Change]:
        both = {"resource_key_id": RESOURCE, "max_version": self.last}
        cursor = {"after_version": after[0], "after_id": after[1]}
        return [(row[0], row[1]) for row in self.connection.execute(statement, both | cursor | binds)]

    def our_set(self) -> list[Change]:
        binds = {"resource_key_id": RESOURCE, "min_version": self.first, "max_version": self.last}
        return [(row[0], row[1]) for row in self.connection.execute(database.query("dms/window"), binds)]

    def ours(self, after: Change | None) -> tuple[list[Change], Change | None]:
        version, document = after or self.start
        binds = {"resource_key_id": RESOURCE, "after_version": version, "after_id": document}
        binds |= {"max_version": self.last, "page_size": self.page_size}
        rows = self.connection.execute(sql.query("postgres", "read/change_page"), binds).all()
        changes = [(row.change_version, row.document_id) for row in rows if row.change_version is not None]
        return changes, None if rows[0].scanned_version is None else (rows[0].scanned_version, rows[0].scanned_id)

    def api(self, after: Change | None) -> tuple[list[Change], Change | None]:
        cursor = None if after is None else dj.Cursor(*after)
        page = self.journal.change_page(RESOURCE_KEY, dj.Window(self.first, self.last), after=cursor, limit=self.page_size)
        changes = [(change.change_version, change.document_id) for change in page.items]
        return changes, None if page.next is None else (page.next.change_version, page.next.document_id)


def walk(read: Callable[[Change | None], tuple[list[Change], Change | None]], after: Change | None) -> Iterator[Change]:
    """Every change of a window, page after page."""
    while True:
        changes, after = read(after)
        yield from changes
        if after is None:
            return


def timed(read: Read) -> tuple[float, list[Change]]:
    begin = perf_counter()
    found = read()
    return perf_counter() - begin, list(found)
