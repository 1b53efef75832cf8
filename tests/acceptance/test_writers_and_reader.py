"""Writers at work, and a consumer that goes from horizon to horizon (acceptance 35): at the end it holds what the database does."""

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

import dmsjournal as dj
from tests.helpers import PLAN, STUDENT, document, expected_changes, unjournaled, write

WRITERS, TRANSACTIONS, STUDENTS = 4, 12, 5


def writer(journal: dj.Journal, number: int) -> None:
    """Short transactions on plans of its own, which refer to students of all: pauses while stamps are held, and rollbacks."""
    choose = random.Random(number)
    names = [f"{number}-{n}" for n in range(6)]

    def step(tx: dj.WriteTransaction) -> None:
        name, student = choose.choice(names), document(STUDENT, choose.randrange(STUDENTS))
        what = choose.choices(["upsert", "delete", "rename"], [6, 2, 1])[0]
        if what == "upsert":
            tx.upsert(document(PLAN, name, student, body={"n": choose.random()}))
        elif what == "delete":
            tx.delete(PLAN, document(PLAN, name).key_values)
        else:
            tx.upsert(document(STUDENT, f"of {number}", body={"n": choose.random()}))
        time.sleep(choose.uniform(0, 0.02))

    for _ in range(TRANSACTIONS):
        is_lost = choose.random() < 0.15
        with suppress(dj.Unavailable, dj.UnknownReference, _Lost), journal.write() as tx:  # a deadlock, a student with another name
            for _ in range(choose.randint(1, 3)):
                step(tx)
            if is_lost:
                raise _Lost


def renamer(journal: dj.Journal) -> None:
    """Renames students there and back, which moves every plan that refers to them."""
    for n in range(TRANSACTIONS):
        key, other = {"studentId": n % STUDENTS}, {"studentId": f"renamed {n % STUDENTS}"}
        for old, new in ((key, other), (other, key)):
            _until_it_is_done(lambda old=old, new=new: _rekey(journal, old, new))


def _rekey(journal: dj.Journal, old: dict[str, object], new: dict[str, object]) -> None:
    with journal.write() as tx:
        tx.rekey(STUDENT, old, new)


def _until_it_is_done(work: Callable[[], None]) -> None:
    while True:
        with suppress(dj.Unavailable):
            return work()


class _Lost(Exception):
    """What ends a transaction without a commit."""


class Consumer:
    """The plans as someone knows them who reads one window after the other."""

    def __init__(self, journal: dj.Journal) -> None:
        self.journal = journal
        self.passed = 0
        self.plans: dict[int, int] = {}
        self.windows = 0

    def step(self) -> None:
        newest = self.journal.versions().newest
        if newest <= self.passed:
            return
        window = dj.Window(self.passed + 1, newest)
        changes = list(self.journal.changes(PLAN, window, page_size=3))
        assert len({change.document_id for change in changes}) == len(changes)
        assert all(self.passed < change.change_version <= newest for change in changes)
        self.plans |= {change.document_id: change.change_version for change in changes}
        for tombstone in self.journal.deletes(PLAN, window):
            self.plans.pop(tombstone.document_id, None)
        self.passed = newest
        self.windows += 1


@pytest.mark.acceptance("35")
def test_a_consumer_ends_with_what_the_database_holds(journal: dj.Journal, connections) -> None:
    write(journal, *(document(STUDENT, number) for number in range(STUDENTS)), document(PLAN, "first"))
    consumer = Consumer(journal)
    with ThreadPoolExecutor(WRITERS + 1) as threads:
        working = [threads.submit(writer, journal, number) for number in range(WRITERS)]
        working.append(threads.submit(renamer, journal))
        while not all(work.done() for work in working):
            consumer.step()
            time.sleep(0.01)
        for work in working:
            work.result()
    consumer.step()
    expected = expected_changes(connections[0], journal.resources()[PLAN])
    assert consumer.plans == {change.document_id: change.change_version for change in expected}
    assert consumer.windows > 1  # more where the server is quick
    assert unjournaled(connections[0]) == []
    assert consumer.passed == journal.versions().newest
