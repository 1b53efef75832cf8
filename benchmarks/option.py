"""Option max_dep_identity_version: a page beside the stored column's, and what a rename of a child with many parents takes.

The history and the stored column are those of benchmarks/page.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import sqlalchemy as sa

import dmsjournal as dj
from benchmarks import database, page
from benchmarks.facts import Facts, facts
from benchmarks.report import Table
from dmsjournal.database import sql
from dmsjournal.schema import fill, migrate

OPTION = "max_dep_identity_version"


@dataclass(frozen=True)
class Options:
    """Units: as in benchmarks/page.py; `parents` are documents that refer to the one that is renamed."""

    pages: page.Options
    parents: int
    command: str


def measure(url: str, options: Options) -> tuple[list[Table], Facts]:
    """The tables; raises AssertionError where two variants do not give the same changes. Prints the rename's footprint."""
    page.prepare(url, options.pages)
    pages = Table("page with the option", ("stored", "option"), (("option", "stored"),))
    renames = Table("rename", ("without", "with the option"), (("with the option", "without"),))
    newest = options.pages.documents + options.pages.history
    with database.connect(url) as connection:
        child = options.pages.documents + 1
        connection.execute(database.query("option/parents"), {"child_id": child, "parents": options.parents})
        row = renames.row(f"identity change of a child with {options.parents:,} parents", options.command)
        row.add("without", _rename(url, child, with_option=False))
        migrate.upgrade(url, options=[OPTION])
        fill.fill(url, OPTION, batch_size=10_000)
        connection.exec_driver_sql("VACUUM ANALYZE dms.Document")
        row.add("with the option", _rename(url, child, with_option=True))
        with dj.connect(url) as journal:
            for size in options.pages.windows:
                window = page.Window(connection, journal, newest - size + 1, newest, options.pages.page_size)
                _measure_pages(window, pages, options, size)
        return [pages, renames], facts(connection)


def _measure_pages(window: page.Window, table: Table, options: Options, size: int) -> None:
    places = {"first": window.start, "middle": window.before(len(window.changes) // 2), "last": window.before(-window.page_size)}
    for repetition in range(options.pages.repeat + 1):
        for place, after in places.items():
            row = table.row(f"{place} page of {window.page_size}, window of {size:,} events", f"{options.command} --events {size}")
            reads: dict[str, Callable[[], list[page.Change]]] = {
                "stored": lambda after=after: window.stored(after, window.page_size),
                "option": lambda after=after: _stored_versions(window, after),
            }
            found = {}
            for variant, read in reads.items():
                seconds, found[variant] = page.timed(read)
                if repetition > 0:  # the first warms the caches
                    row.add(variant, seconds)
            assert found["option"] == found["stored"], (place, size)


def _stored_versions(window: page.Window, after: page.Change) -> list[page.Change]:
    binds = {"resource_key_id": page.RESOURCE, "after_version": after[0], "after_id": after[1]}
    binds |= {"max_version": window.last, "page_size": window.page_size}
    rows = window.connection.execute(sql.query("postgres", "read/change_page_stored"), binds).all()
    assert rows[0].is_exact
    return [(row.change_version, row.document_id) for row in rows if row.change_version is not None]


def _rename(url: str, child: int, *, with_option: bool) -> float:
    """Seconds of the whole transaction. With the option it prints what the transaction holds before it commits."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        before = connection.exec_driver_sql("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").scalar_one()
        began = perf_counter()
        stamp = connection.execute(database.query("option/rename"), {"child_id": child}).scalar_one()
        stamped = perf_counter()
        connection.exec_driver_sql("SET CONSTRAINTS ALL IMMEDIATE")  # what a commit does first
        raised = perf_counter()
        if with_option:
            held = connection.execute(database.query("option/footprint"), {"stamp": stamp}).one()
            print(
                f"stamped in {stamped - began:.4f} s, parents raised in {raised - stamped:.3f} s: "
                f"{held.rows_raised:,} rows locked, {held.lock_entries} entries in the lock table, "
                f"{(held.wal_bytes - before) / 2**20:.1f} MiB of WAL"
            )
        committing = perf_counter()
        connection.commit()
        return raised - began + perf_counter() - committing
