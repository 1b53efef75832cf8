"""What tests of adoption share, on both engines."""

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.schema import adopt as adoptions

ROOT = Path(__file__).parents[1]


def adopt(url: str, **options: Any) -> adoptions.Adoption:
    return adoptions.adopt(url, **{"batch_size": 7, "lock_timeout": "1s"} | options)


class Stopped(Exception):
    pass


def run_until(url: str, name: str, **options: Any) -> None:
    """Runs an adoption up to the step, which does not begin."""

    def stop(step: adoptions.AdoptionStep, rows: int) -> None:
        if step.name == name:
            raise Stopped

    with pytest.raises(Stopped):
        adopt(url, progress=stop, **options)


KILLED = """
import os, signal, sys
from dmsjournal.schema import adopt
left = int(sys.argv[2])
def count(step, rows):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
adopt.adopt(sys.argv[1], batch_size=9, lock_timeout="1s", progress=count)
"""


def start(url: str, steps: int) -> "subprocess.Popen[bytes]":
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", KILLED, url, str(steps)], env=environment, stderr=subprocess.PIPE)


class Copy:
    """What a consumer has of each resource: a snapshot, and what came after."""

    def __init__(self, journal: dj.Journal) -> None:
        self.journal, self.documents, self.through = journal, {}, {}
        for of in journal.resources():
            walk = journal.snapshot(of)
            self.documents[of] = {change.document_id: change.change_version for change in walk}
            self.through[of] = walk.through

    def follow(self) -> None:
        for of, held in self.documents.items():
            newest = self.journal.versions().newest
            if newest <= self.through[of]:
                continue
            window = dj.Window(self.through[of] + 1, newest)
            for change in self.journal.changes(of, window, page_size=50):
                held[change.document_id] = change.change_version
            for delete in self.journal.deletes(of, window):
                if held.get(delete.document_id, 0) < delete.change_version:
                    held.pop(delete.document_id, None)
            self.through[of] = newest


def interrupting(monkeypatch: pytest.MonkeyPatch, query: str, act: Callable[[], None]) -> None:
    """Has something happen in the middle of a batch, just before it runs the query, once."""
    execute, done = adoptions.Session.execute, []

    def first_act(session: Any, name: str, /, **binds: object) -> Any:
        if name == query and not done:
            done.append(True)
            act()
        return execute(session, name, **binds)

    monkeypatch.setattr(adoptions.Session, "execute", first_act)


@contextmanager
def writing(
    url: str, statement_of: Callable[[random.Random], str], is_fault: Callable[[Exception], bool], count: int
) -> Iterator[list[int]]:
    """While it lasts, sessions write, some of it rolled back; gives how many transactions of each were committed."""
    stop, failed, committed = threading.Event(), list[Exception](), [0] * count

    def write(number: int) -> None:
        chance = random.Random(number)
        with sa.create_engine(url, poolclass=sa.NullPool).connect() as connection:
            while not stop.is_set():
                try:
                    for _ in range(chance.randint(1, 3)):
                        connection.exec_driver_sql(statement_of(chance))
                        time.sleep(chance.random() * 0.01)
                    if chance.random() < 0.85:
                        connection.commit()
                        committed[number] += 1
                    else:
                        connection.rollback()
                except Exception as error:
                    if is_fault(error):
                        failed.append(error)
                        return
                    connection.rollback()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield committed
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failed, failed
