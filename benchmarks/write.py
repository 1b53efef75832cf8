"""What capture costs a writer: without any (`none`), the published row-level trigger, and ours.

The statements are one file each, run in each variant's schema. Variants take turns inside every repetition, so that
whatever else the machine does meets all of them. The embedded server does not wait for the disk (fsync off): that wait is
the same for every variant, and on most disks hides what is compared. An edge that comes or goes stamps its parent in ours alone
(docs/how-it-works.md, invariant 3); the others answer wrongly after it.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from random import Random
from statistics import fmean, median, quantiles
from time import perf_counter

import sqlalchemy as sa
from sqlalchemy.sql.compiler import SQLCompiler

from benchmarks import database
from benchmarks.facts import Facts, facts
from benchmarks.report import Table
from dmsjournal.schema import migrate

SCHEMAS = {"none": "bare", "published": "published", "ours": "dms"}
BULK = ("insert_documents", "update_content", "update_identity", "insert_edges", "delete_edges")
MIXED = ("insert_documents", "update_content", "delete_documents", "insert_edges", "delete_edges")  # of case 15b
NEEDS: dict[str, tuple[str, ...]] = {
    "insert_documents": (),
    "delete_edges": ("insert_documents", "insert_edges"),
}  # what must be done before
CHILDREN = 1000  # the documents that edges point to

Range = tuple[int, int]  # DocumentIds, inclusive


@dataclass(frozen=True)
class Options:
    """Units: rows of a bulk statement, single-row transactions a repetition, rows of case 15b's large statement."""

    rows: int
    singles: int
    mixed_rows: int
    repeat: int
    command: str


class Ids:
    """DocumentIds that nobody has used: every variant gets the same ones in the same order."""

    def __init__(self) -> None:
        self.next = CHILDREN + 1

    def take(self, rows: int) -> Range:
        first, self.next = self.next, self.next + rows
        return first, self.next - 1


class Writer:
    """A session that writes to one variant, through the bare driver; some files are for dms alone (`.dms.sql`)."""

    def __init__(self, connection: sa.Connection, schema: str) -> None:
        self.connection, self.schema = connection, schema
        self.compiled: dict[str, SQLCompiler] = {}

    def run(self, operation: str, ids: Range, *, resource: int = 2) -> float:
        """Seconds of one statement, commit included."""
        compiled = self.compiled.get(operation) or self.compile(operation)
        binds = compiled.construct_params({"first": ids[0], "last": ids[1], "resource_key_id": resource})
        cursor = self.connection.connection.cursor()
        begin = perf_counter()
        cursor.execute(compiled.string, binds)
        return perf_counter() - begin

    def compile(self, operation: str) -> SQLCompiler:
        own = f"write/{operation}.{self.schema}"
        statement = database.query(own if database.exists(own) else f"write/{operation}")
        compiled = statement.compile(dialect=self.connection.dialect)
        assert isinstance(compiled, SQLCompiler)
        self.compiled[operation] = compiled
        return compiled


@contextmanager
def writer(url: str, schema: str) -> Iterator[Writer]:
    with database.connect(url, prepare=True, search_path=schema) as connection:
        yield Writer(connection, schema)


def measure(url: str, options: Options) -> tuple[list[Table], Facts]:
    """The tables of bulk statements (a row), of single-row transactions, and of case 15b."""
    against_none = (("published", "none"), ("ours", "none"), ("published", "ours"))
    bulk = Table(f"a row of a statement of {options.rows:,}", tuple(SCHEMAS), against_none)
    single = Table("one row, one transaction", tuple(SCHEMAS), against_none)
    mixed = Table("one session, ours", ("fresh session", "same session"), (("same session", "fresh session"),))
    for schema in ("bare", "published"):
        database.create_baseline(url, schema)
    migrate.upgrade(url)
    ids = Ids()
    with ExitStack() as stack:
        writers = {variant: stack.enter_context(writer(url, schema)) for variant, schema in SCHEMAS.items()}
        for each in writers.values():
            database.script(each.connection, "write/resource_keys")
            each.run("insert_documents", (1, CHILDREN), resource=1)
        for repetition in range(options.repeat):
            order = in_turn(repetition)
            measure_bulk({variant: writers[variant] for variant in order}, bulk, options, ids.take(options.rows))
            measure_single({variant: writers[variant] for variant in order}, single, options, ids.next - 1)
            writers["none"].connection.exec_driver_sql("VACUUM ANALYZE")
        for _ in range(options.repeat):
            measure_mixed(url, mixed, options, ids)
        return [bulk, single, mixed], facts(writers["none"].connection)


def measure_bulk(writers: dict[str, Writer], table: Table, options: Options, ids: Range) -> None:
    for operation in BULK:
        row = table.row(operation.replace("_", " "), options.command)
        for variant, each in writers.items():
            row.add(variant, each.run(operation, ids) / options.rows)


def measure_single(writers: dict[str, Writer], table: Table, options: Options, newest: int) -> None:
    """Content updates of random documents; throughput is the mean's reciprocal."""
    latencies: dict[str, list[float]] = {variant: [] for variant in writers}
    random = Random(newest)
    for _ in range(options.singles):
        document = random.randint(CHILDREN + 1, newest)
        for variant, each in writers.items():
            latencies[variant].append(each.run("update_content", (document, document)))
    for variant, seconds in latencies.items():
        figures = {"median": median(seconds), "mean": fmean(seconds), "95 %": quantiles(seconds, n=20)[-1]}
        for name, value in figures.items():
            table.row(f"update content, {name} of {options.singles:,}", options.command).add(variant, value)


def measure_mixed(url: str, table: Table, options: Options, ids: Ids) -> None:
    """Case 15b: what a session did first must not spoil what it does next (it keeps its plans)."""
    schema, large = SCHEMAS["ours"], options.mixed_rows
    for operation in MIXED:
        for sizes in ((1, large, 1), (large, 1, large)):
            same, fresh = ([ids.take(size) for size in sizes] for _ in range(2))
            with writer(url, schema) as other:
                for needed in NEEDS.get(operation, ("insert_documents",)):
                    for each in (*same, *fresh):
                        other.run(needed, each)
            with writer(url, schema) as session:
                seconds = [session.run(operation, each) for each in same]
            for place in (1, 2):
                before = " and ".join(f"{size:,}" for size in sizes[:place])
                row = table.row(f"{operation.replace('_', ' ')}: {sizes[place]:,} after {before}", options.command)
                row.add("same session", seconds[place])
                with writer(url, schema) as session:
                    row.add("fresh session", session.run(operation, fresh[place]))


def in_turn(repetition: int) -> list[str]:
    """The variants, each time another one first."""
    names = list(SCHEMAS)
    first = repetition % len(names)
    return names[first:] + names[:first]
