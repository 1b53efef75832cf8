"""How long readers take for a document that many refer to, after it was renamed many times.

Variants: `every event` is the page as it was (benchmarks/sql/hub/every_event.sql), which expanded each rename to all parents;
`latest only` is sql/postgres/queries/read/change_page.sql. Each page runs as the journal runs it, after begin_page.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from time import perf_counter
from typing import TypeVar

import sqlalchemy as sa

import dmsjournal as dj
from benchmarks import database
from benchmarks.facts import Facts, facts
from benchmarks.report import Table
from dmsjournal.database import sql
from dmsjournal.model.windows import LOWEST_ID
from dmsjournal.schema import migrate

PARENT = dj.ResourceKey("Benchmark", "Parent", "1.0")
BEGIN_PAGE = sql.query("postgres", "database/begin_page")
VARIANTS = {"every event": database.query("hub/every_event"), "latest only": sql.query("postgres", "read/change_page")}

_Read = TypeVar("_Read")
Position = tuple[int, int]  # ChangeVersion, DocumentId


@dataclass(frozen=True)
class Options:
    """Units: `parents` are documents that refer to the renamed one, `renames` transactions, `page_size` contributions."""

    parents: int
    renames: int
    page_size: int
    repeat: int
    command: str


def measure(url: str, options: Options) -> tuple[list[Table], Facts]:
    """The tables; raises AssertionError where two ways do not give the same changes. Prints what a rename takes its writer."""
    migrate.upgrade(url)
    pages = Table("hub", tuple(VARIANTS), (("every event", "latest only"),))
    wholes = Table("hub, read in full", ("page by page", "set query", "plan"), (("page by page", "set query"),))
    engine = sa.create_engine(url, poolclass=sa.NullPool, connect_args={"prepare_threshold": None})
    with database.connect(url) as connection:
        connection.execute(database.query("hub/hub"), {"parents": options.parents})
        connection.exec_driver_sql("VACUUM ANALYZE")
        first = connection.exec_driver_sql("SELECT last_value + 1 FROM dms.ChangeVersionSequence").scalar_one()
        renamed = 0
        for renames in (1, options.renames):
            took = [_rename(connection) for _ in range(renames - renamed)]
            renamed = renames
            print(f"{len(took)} renames in {sum(took):.3f} s")
            _measure(engine, Window(first, first + renames - 1), options, renames, pages)
        _measure_whole(url, engine, Window(first, first + renamed - 1), options, wholes)
        return [pages, wholes], facts(connection)


@dataclass(frozen=True)
class Window:
    """Versions, both inclusive: those of the renames."""

    first: int
    last: int


def _rename(connection: sa.Connection) -> float:
    return timed(lambda: connection.execute(database.query("option/rename"), {"child_id": 1}).all())[0]


def _measure(engine: sa.Engine, window: Window, options: Options, renames: int, table: Table) -> None:
    """The pages up to the first change, and all of them, both ways."""
    first = table.row(f"pages of {options.page_size} up to the first change, after {renames} renames", options.command)
    walk = table.row(f"all pages of {options.page_size}, after {renames} renames", options.command)
    for repetition in range(options.repeat + 1):
        found = {}
        for variant, query in VARIANTS.items():
            began = perf_counter()
            pages = _pages(engine, query, window, options.page_size)
            changes = next(page for page in pages if page)
            seconds = perf_counter() - began
            found[variant] = [*changes, *(change for page in pages for change in page)]
            took = perf_counter() - began
            if repetition > 0:  # the first warms the caches
                first.add(variant, seconds)
                walk.add(variant, took)
        assert found["every event"] == found["latest only"]
        assert len(found["latest only"]) == options.parents


def _measure_whole(url: str, engine: sa.Engine, window: Window, options: Options, table: Table) -> None:
    row = table.row(f"{options.parents:,} parents, {options.renames} renames", options.command)
    with dj.connect(url) as journal:
        for repetition in range(options.repeat + 1):
            paged, found = timed(lambda: list(chain(*_pages(engine, VARIANTS["latest only"], window, options.page_size))))
            took, rows = timed(lambda: _set(engine, window))
            planned, _ = timed(lambda: journal.plan(PARENT, dj.Window(window.first, window.last), parts=8))
            assert sorted(found) == sorted(rows)
            if repetition > 0:
                row.add("page by page", paged)
                row.add("set query", took)
                row.add("plan", planned)


def _pages(engine: sa.Engine, query: sa.TextClause, window: Window, size: int) -> Iterator[list[Position]]:
    """The changes of each page of the window."""
    after: Position | None = (window.first, LOWEST_ID)
    while after is not None:
        with engine.begin() as connection:
            connection.execute(BEGIN_PAGE)
            binds = {"resource_key_id": 2, "after_version": after[0], "after_id": after[1], "max_version": window.last}
            rows = connection.execute(query, binds | {"page_size": size}).all()
        after = None if rows[0].scanned_version is None else (rows[0].scanned_version, rows[0].scanned_id)
        yield [(row.change_version, row.document_id) for row in rows if row.document_id is not None]


def _set(engine: sa.Engine, window: Window) -> list[Position]:
    with engine.begin() as connection:
        connection.execute(sql.query("postgres", "read/begin_part"))
        binds = {"resource_key_id": 2, "min_version": window.first, "max_version": window.last}
        rows = connection.execute(database.query("dms/window"), binds)
        return [(row[0], row[1]) for row in rows]


def timed(read: Callable[[], _Read]) -> tuple[float, _Read]:
    began = perf_counter()
    found = read()
    return perf_counter() - began, found
