"""What the options context and images cost a writer, beside a journal that never had them.

Variants: `core`; `off`, where both were added and removed again; `unset`, which has option context, and nobody says anything;
`said`, the same with a context in each transaction; `images`, which has option images. Each is a database of its own on one server,
and they take turns inside every repetition.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from random import Random
from statistics import fmean, median

from benchmarks import database
from benchmarks.facts import Facts, facts
from benchmarks.report import Table
from benchmarks.write import Ids, Range, Writer
from dmsjournal.schema import migrate

VARIANTS: dict[str, tuple[str, ...]] = {"core": (), "off": (), "unset": ("context",), "said": ("context",), "images": ("images",)}
BULK = ("insert_bodies", "update_content", "update_bodies", "delete_documents")
SINGLE = ("update_content", "update_bodies")
SAID = '{"user":"ada","tenant":"255901","trigger":"api_update","metadata":{"request_id":"r-17"}}'


@dataclass(frozen=True)
class Options:
    """Units: rows of a bulk statement, single-row transactions a repetition."""

    rows: int
    singles: int
    repeat: int
    command: str


def measure(url: str, options: Options) -> tuple[list[Table], Facts]:
    """The tables of bulk statements (a row), of single-row transactions, and of what an image takes on disk."""
    names = tuple(VARIANTS)
    against_core = tuple((variant, "core") for variant in names[1:])
    bulk = Table(f"a row of a statement of {options.rows:,}", names, against_core)
    single = Table("one row, one transaction", names, against_core)
    size = Table("on disk", ("images",), (), unit="bytes")
    ids = Ids()
    with ExitStack() as stack:
        writers = {variant: stack.enter_context(_writer(url, variant)) for variant in names}
        for repetition in range(options.repeat + 1):  # the first warms the caches
            turn = _in_turn(writers, repetition)
            taken = ids.take(options.rows)
            for operation in BULK[:-1]:
                _add(bulk, operation, repetition, {name: each.run(operation, taken) / options.rows for name, each in turn}, options)
            _measure_single(turn, single, options, taken, repetition)
            if repetition == options.repeat:
                rows, bytes_ = _images(writers["images"])
                size.row(f"an image of a body, mean of {rows:,}", options.command).add("images", bytes_ / rows)
            operation = BULK[-1]
            _add(bulk, operation, repetition, {name: each.run(operation, taken) / options.rows for name, each in turn}, options)
            for each in writers.values():
                each.connection.exec_driver_sql("VACUUM ANALYZE")
        return [bulk, single, size], facts(writers["core"].connection)


@contextmanager
def _writer(url: str, variant: str) -> Iterator[Writer]:
    with database.scratch(url, f"dmsjournal_benchmark_context_{variant}", keep=False) as own:
        migrate.upgrade(own, options=VARIANTS["unset"] + VARIANTS["images"] if variant == "off" else VARIANTS[variant])
        if variant == "off":
            migrate.downgrade(own, without=VARIANTS["unset"] + VARIANTS["images"])
        settings = {"dmsjournal.context": SAID} if variant == "said" else {}
        with database.connect(own, prepare=True, search_path="dms", **settings) as connection:
            database.script(connection, "write/resource_keys")
            yield Writer(connection, "dms")


def _measure_single(turn: list[tuple[str, Writer]], table: Table, options: Options, ids: Range, repetition: int) -> None:
    """Updates of random documents, a variant after the other for each."""
    random = Random(ids[0])
    for operation in SINGLE:
        seconds: dict[str, list[float]] = {name: [] for name, _ in turn}
        for _ in range(options.singles):
            document = random.randint(*ids)
            for name, each in turn:
                seconds[name].append(each.run(operation, (document, document)))
        for figure, of in (("median", median), ("mean", fmean)):
            measured = f"{operation}, {figure} of {options.singles:,}"
            _add(table, measured, repetition, {name: of(values) for name, values in seconds.items()}, options)


def _add(table: Table, measured: str, repetition: int, seconds: dict[str, float], options: Options) -> None:
    if repetition > 0:
        row = table.row(measured.replace("_", " "), options.command)
        for name, value in seconds.items():
            row.add(name, value)


def _images(writer: Writer) -> tuple[int, float]:
    """How many images there are, and the bytes that they take with their indexes."""
    found = writer.connection.execute(database.query("context/images")).one()
    return found.images, found.bytes


def _in_turn(writers: dict[str, Writer], repetition: int) -> list[tuple[str, Writer]]:
    """The variants, each time another one first."""
    every = list(writers.items())
    first = repetition % len(every)
    return every[first:] + every[:first]
