"""What tracking costs a writer: a table as it is, tracked, and with a usual audit trigger (a row each: jsonb of old and new).

Each with 0, 2 and 5 foreign keys. Variants take turns inside every repetition, so that whatever else the machine does meets all.
"""

from dataclasses import dataclass
from statistics import median
from time import perf_counter

import sqlalchemy as sa

from benchmarks import database
from benchmarks.facts import Facts, facts
from benchmarks.report import Table
from dmsjournal.schema import migrate

VARIANTS = ("untracked", "tracked", "audit")
KEYS = (0, 2, 5)
REFERRED = 1_000  # rows of each table that is referred to


@dataclass(frozen=True)
class Options:
    """Units: rows of a bulk statement, single-row transactions a repetition."""

    rows: int
    singles: int
    repeat: int
    command: str


def measure(url: str, options: Options) -> tuple[list[Table], Facts]:
    """The tables of bulk statements (a row) and of single-row transactions."""
    migrate.upgrade(url, options=["tracking"])
    ratios = (("tracked", "untracked"), ("audit", "untracked"))
    bulk = Table(f"a row of a statement of {options.rows:,}", VARIANTS, ratios)
    single = Table("one row, one transaction", VARIANTS, ratios)
    with database.connect(url) as conn:
        for variant in VARIANTS:
            _make(conn, variant)
        for repetition in range(options.repeat + 1):  # the first warms the caches
            first = 1 + repetition * (options.rows + options.singles)
            for keys in KEYS:
                for operation in ("insert", "update", "delete"):
                    for offset in range(len(VARIANTS)):
                        variant = VARIANTS[(repetition + offset) % len(VARIANTS)]
                        table = f"{variant}.t{keys}"
                        seconds = _timed(conn, _statement(table, keys, operation, first, first + options.rows - 1))
                        alone = [
                            _timed(conn, _statement(table, keys, operation, number, number))
                            for number in range(first + options.rows, first + options.rows + options.singles)
                        ]
                        if repetition:
                            name = f"{operation}, {keys} foreign keys"
                            bulk.row(name, options.command).add(variant, seconds / options.rows)
                            single.row(name, options.command).add(variant, median(alone))
            conn.exec_driver_sql("VACUUM ANALYZE")
        return [bulk, single], facts(conn)


def _timed(conn: sa.Connection, statement: str) -> float:
    start = perf_counter()
    conn.exec_driver_sql(statement)
    return perf_counter() - start


def _statement(table: str, keys: int, operation: str, first: int, last: int) -> str:
    if operation == "update":
        return f"UPDATE {table} SET note = 'new' WHERE id BETWEEN {first} AND {last}"
    if operation == "delete":
        return f"DELETE FROM {table} WHERE id BETWEEN {first} AND {last}"
    referred = "".join(f", 1 + (n + {key}) %% {REFERRED}" for key in range(keys))
    return f"INSERT INTO {table} SELECT n, 'old'{referred} FROM generate_series({first}, {last}) AS n"


def _make(conn: sa.Connection, variant: str) -> None:
    """The tables of a variant."""
    database.script(conn, "track_audit") if variant == "audit" else conn.exec_driver_sql(f"CREATE SCHEMA {variant}")
    for number in range(max(KEYS)):
        conn.exec_driver_sql(f"CREATE TABLE {variant}.r{number} (id int PRIMARY KEY, name text)")
        conn.exec_driver_sql(f"INSERT INTO {variant}.r{number} SELECT n, 'x' FROM generate_series(1, {REFERRED}) AS n")
    for keys in KEYS:
        referred = "".join(f", f{key} int REFERENCES {variant}.r{key}" for key in range(keys))
        conn.exec_driver_sql(f"CREATE TABLE {variant}.t{keys} (id int PRIMARY KEY, note text{referred})")
        if variant == "audit":
            conn.exec_driver_sql(
                f"CREATE TRIGGER a AFTER INSERT OR UPDATE OR DELETE ON audit.t{keys} FOR EACH ROW EXECUTE FUNCTION audit.note()"
            )
    if variant == "tracked":
        for name in (*(f"r{number}" for number in range(max(KEYS))), *(f"t{keys}" for keys in KEYS)):
            conn.exec_driver_sql(f"SELECT dms.track('tracked.{name}')")
            conn.exec_driver_sql(f"SELECT dms.fill_table('tracked.{name}')")
