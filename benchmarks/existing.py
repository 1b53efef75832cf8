"""Six tables with rows are tracked while four writers go on; the run is killed in the middle and goes on.

Writers update, insert and delete rows, each statement in a transaction of its own. `before` is the same without tracking.
"""

import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random

import sqlalchemy as sa

import dmsjournal as dj
from benchmarks import database
from benchmarks.facts import Facts, facts
from benchmarks.report import Table
from dmsjournal.schema import migrate

WRITERS = 4
STATEMENTS = ("rename", "note", "add", "remove")
ALONE = 15  # seconds of writers before tracking begins


@dataclass(frozen=True)
class Options:
    """Units: rows of the six tables."""

    existing: int
    command: str


@dataclass
class Waits:
    """What the writers' transactions took, in seconds, and their errors by SQLSTATE."""

    taken: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)


def measure(url: str, options: Options) -> tuple[list[Table], Facts]:
    """The tables of what writers waited, and of the fill. Raises AssertionError if rows and documents do not agree at the end."""
    migrate.upgrade(url, options=["tracking"])
    with database.connect(url, **{"benchmark.rows": str(options.existing)}) as conn:
        database.script(conn, "existing/schema")
        waits = Table("a transaction of one of 4 writers", ("before", "meanwhile"), (("meanwhile", "before"),))
        before, meanwhile = Waits(), Waits()
        with _writing(url, options, before):
            time.sleep(ALONE)
        with _writing(url, options, meanwhile):
            began = time.perf_counter()
            _killed(url, conn, options.existing // 2)
            killed_at = conn.execute(database.query("existing/progress")).scalar_one()
            _run(url, "--schema", "existing", check=False)  # the tables that were not tracked yet, if there are any
            _run(url, "--renew")
            seconds = time.perf_counter() - began
        for name, of in (("median", 2), ("1 of 100", 100), ("1 of 1,000", 1_000), ("longest", 0)):
            row = waits.row(name, options.command)
            for variant, found in (("before", before), ("meanwhile", meanwhile)):
                ordered = sorted(found.taken)
                row.add(variant, ordered[-1] if of == 0 else ordered[-1 - len(ordered) // of])
        print(f"{len(meanwhile.taken):,} transactions meanwhile, errors {dict(meanwhile.errors)}; before {dict(before.errors)}")
        rows = conn.execute(database.query("existing/rows")).scalar_one()
        print(f"{rows:,} rows in {seconds:.0f} s: {rows / seconds:,.0f} a second; killed at document {killed_at:,}")
        fill = Table("fill", ("seconds",), ())
        fill.row(f"{rows:,} rows, killed once", options.command).add("seconds", seconds)
        with dj.connect(url) as journal:
            found = journal.verify()
            assert found.is_clean, found.findings
            assert found.documents == rows, (found.documents, rows)
        return [waits, fill], facts(conn)


def _run(url: str, *arguments: str, check: bool = True) -> None:
    command = [sys.executable, "-m", "dmsjournal", "track", *arguments, "--lock-timeout", "30s", "--url", url]
    subprocess.run(command, check=check, stdout=subprocess.DEVNULL, stderr=None if check else subprocess.DEVNULL)


def _killed(url: str, conn: sa.Connection, documents: int) -> None:
    """Runs `track` until so many documents are made, and kills it."""
    command = [sys.executable, "-m", "dmsjournal", "track", "--schema", "existing", "--shows", "existing.customer=name"]
    with subprocess.Popen([*command, "--lock-timeout", "30s", "--url", url]) as process:
        while conn.execute(database.query("existing/progress")).scalar_one() < documents and process.poll() is None:
            time.sleep(0.2)
        process.kill()


class _writing:
    """Writers, for as long as the block lasts."""

    def __init__(self, url: str, options: Options, waits: Waits) -> None:
        self._url, self._options, self._waits = url, options, waits
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(WRITERS)]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _write(self, number: int) -> None:
        random = Random(number)
        highest = self._options.existing // 4
        with database.connect(self._url) as conn:
            while not self._ended.is_set():
                name = random.choice(STATEMENTS)
                key = random.randint(1, highest // 5 * 2 if name == "rename" else highest)
                began = time.perf_counter()
                try:
                    conn.execute(database.query(f"existing/{name}"), {"id": key})
                except sa.exc.DBAPIError as error:
                    self._waits.errors[str(getattr(error.orig, "sqlstate", None))] += 1
                self._waits.taken.append(time.perf_counter() - began)
                time.sleep(0.002)
