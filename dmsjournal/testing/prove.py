"""Whether the journal holds on a server of yours: `python -m dmsjournal.testing.prove URL`.

Makes a database of its own, named dmsjournal_prove_…, on the server of the URL, whose user may create databases; looks there at
what holds, prints one line for each, and drops the database again. It takes the seconds of the race and about a minute more.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from uuid import uuid4

import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.database.connect import engine_for
from dmsjournal.schema import migrate

ITEM = dj.ResourceKey("Prove", "Item", "1")
_WRITERS, _ITEMS = 4, 25


class DoesNotHold(Exception):
    """What was promised and is not so."""


def prove(url: str | sa.URL, seconds: float = 60, say: Callable[[str], object] = print) -> bool:
    """Whether all of it holds. `seconds`: how long writers race, 1 or more. Raises JournalError where the server cannot be used."""
    with _database(url) as own:
        return _all(own, seconds, say)


def _all(own: str, seconds: float, say: Callable[[str], object]) -> bool:
    migrate.upgrade(own)
    say(f"holds: install, revision {migrate.current(own)}")
    held = True
    with dj.connect(own) as journal:
        steps = (
            ("stamps", _stamps),
            (f"races, {seconds:g} s", lambda journal: _races(journal, seconds)),
            ("a writer's session that is killed", _kill),
            ("prune", _prune),
            ("verify", _verify),
        )
        for name, step in steps:
            try:
                found = step(journal)
                say(f"holds: {name}{f', {found}' if found else ''}")
            except (DoesNotHold, dj.JournalError) as error:
                held = False
                say(f"DOES NOT HOLD: {name}: {error}")
        with journal.write() as tx:
            for number in range(_ITEMS):
                tx.delete(ITEM, {"number": number})
    migrate.downgrade(own, "base")
    left = migrate.current(own)
    say("holds: uninstall" if left is None else f"DOES NOT HOLD: uninstall: revision {left} is left")
    return held and left is None


def _stamps(journal: dj.Journal) -> str:
    before = journal.versions().newest
    for number in (0, 0, 1):
        with journal.write() as tx:
            tx.upsert(dj.Document(ITEM, {"number": number}, {"n": random.random()}))
    with journal.write() as tx:
        tx.delete(ITEM, {"number": 1})
    changed = list(journal.changes(ITEM, dj.Window(min=before + 1)))
    deleted = list(journal.deletes(ITEM, dj.Window(min=before + 1)))
    _expect(len(changed) == 1 and len(deleted) == 1, f"{len(changed)} changes and {len(deleted)} deletes, not 1 and 1")
    _expect(before < changed[0].change_version < deleted[0].change_version <= journal.versions().newest, "stamps do not rise")
    return f"newest is {journal.versions().newest}"


def _races(journal: dj.Journal, seconds: float) -> str:
    """A reader goes from horizon to horizon beside writers: at the end it holds what the database does."""
    ended = threading.Event()

    def write(number: int) -> int:
        choose, done = random.Random(number), 0
        while not ended.is_set():
            with suppress(dj.Unavailable), journal.write() as tx:  # a deadlock: the next one
                for _ in range(choose.randint(1, 3)):
                    key = {"number": choose.randrange(_ITEMS)}
                    if choose.random() < 0.2:
                        tx.delete(ITEM, key)
                    else:
                        tx.upsert(dj.Document(ITEM, key, {"n": choose.random()}))
                    time.sleep(choose.uniform(0, 0.01))
            done += 1
        return done

    seen: dict[int, int] = {}
    deadline, passed, looks = time.monotonic() + seconds, 0, 0
    with ThreadPoolExecutor(_WRITERS) as threads:
        working = [threads.submit(write, number) for number in range(_WRITERS)]
        while time.monotonic() < deadline:
            passed, looks = _read_on(journal, seen, passed), looks + 1
            time.sleep(0.01)
        ended.set()
        transactions = sum(work.result() for work in working)
    _read_on(journal, seen, passed)
    expected = {change.document_id: change.change_version for change in journal.changes(ITEM)}
    missed = {key for key in seen.keys() | expected.keys() if seen.get(key) != expected.get(key)}
    _expect(not missed, f"the reader passed over changes of {len(missed)} documents")
    return f"{transactions} transactions, {looks} looks at the horizon"


def _read_on(journal: dj.Journal, seen: dict[int, int], passed: int) -> int:
    newest = journal.versions().newest
    _expect(newest >= passed, f"the horizon fell from {passed} to {newest}")
    if newest > passed:
        window = dj.Window(min=passed + 1, max=newest)
        found = [(change.change_version, change.document_id, True) for change in journal.changes(ITEM, window)]
        found += [(delete.change_version, delete.document_id, False) for delete in journal.deletes(ITEM, window)]
        for version, document_id, is_alive in sorted(found):
            seen[document_id] = version
            if not is_alive:
                del seen[document_id]
    return newest


def _kill(journal: dj.Journal) -> str:
    """A writer's session that ends without a commit lets go of the horizon, and leaves nothing."""
    before, entered, ended = journal.versions().newest, threading.Event(), threading.Event()

    def write() -> None:
        with suppress(dj.JournalError, sa.exc.SQLAlchemyError), journal.write() as tx:
            tx.upsert(dj.Document(ITEM, {"number": 2}, {"n": random.random()}))
            entered.set()
            ended.wait()
            tx._session.conn.invalidate()  # its connection is closed without a word

    with ThreadPoolExecutor(1) as threads:
        working = threads.submit(write)
        try:
            _expect(entered.wait(60), "the writer did not come to write within 60 s")
            with journal.write() as tx:
                tx.upsert(dj.Document(ITEM, {"number": 3}, {"n": random.random()}))
            _expect(journal.versions().newest <= before, "the horizon passed a writer that had not ended")
        finally:
            ended.set()
        working.result()
    patience = time.monotonic() + 30
    while journal.versions().newest <= before and time.monotonic() < patience:
        time.sleep(0.1)
    _expect(journal.versions().newest > before, "the horizon is still held 30 s after the session ended")
    return ""


def _prune(journal: dj.Journal) -> str:
    newest = journal.versions().newest
    journal.prune(newest)
    try:
        list(journal.changes(ITEM, dj.Window(min=newest)))
    except dj.CheckpointExpired:
        return f"through {newest}"
    raise DoesNotHold(f"a window from {newest} is read although it was pruned")


def _verify(journal: dj.Journal) -> str:
    findings = journal.verify().findings
    _expect(not findings, ", ".join(finding.code for finding in findings))
    return ""


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise DoesNotHold(otherwise)


@contextmanager
def _database(url: str | sa.URL) -> Iterator[str]:
    """The URL of a new database on the server, which is dropped in the end."""
    engine = engine_for(url)
    name = f"dmsjournal_prove_{uuid4().hex[:8]}"
    try:
        _run(engine, f"CREATE DATABASE {name}")
        try:
            if engine.dialect.name == "mssql":
                with suppress(sa.exc.DBAPIError):  # a compatible server has no such option, and reads so anyway
                    _run(engine, f"ALTER DATABASE {name} SET READ_COMMITTED_SNAPSHOT ON")
            yield engine.url.set(database=name).render_as_string(hide_password=False)
        finally:
            _drop(engine, name)
    finally:
        engine.dispose()


def _drop(engine: sa.Engine, name: str) -> None:
    if engine.dialect.name == "mssql":
        with suppress(sa.exc.DBAPIError):
            _run(engine, f"ALTER DATABASE {name} SET SINGLE_USER WITH ROLLBACK IMMEDIATE")
    for patience in range(100, -1, -1):  # sessions take their time to end
        try:
            return _run(engine, f"DROP DATABASE {name}")
        except sa.exc.DBAPIError:
            if not patience:
                raise
            time.sleep(0.1)


def _run(engine: sa.Engine, statement: str) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        conn.exec_driver_sql(statement)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command: 0 where all of it holds, 1 where not."""
    parser = argparse.ArgumentParser(prog="python -m dmsjournal.testing.prove", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("url", help="of the server, as the user that may create databases; such as mssql+pyodbc://sa:…@host/master")
    parser.add_argument("--seconds", type=float, default=60, help="how long writers race (60)")
    given = parser.parse_args(arguments)
    try:
        return 0 if prove(given.url, max(given.seconds, 1)) else 1
    except (dj.JournalError, sa.exc.SQLAlchemyError) as error:
        sys.stderr.write(f"could not be proved: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
