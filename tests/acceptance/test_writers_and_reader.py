"""Writers at work, and a consumer that goes from horizon to horizon (acceptance 35): at the end it holds what the database does."""

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

import dmsjournal as dj
from tests.concurrency.races import Reader
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


@pytest.mark.acceptance("35")
def test_a_consumer_ends_with_what_the_database_holds(journal: dj.Journal, connections) -> None:
    write(journal, *(document(STUDENT, number) for number in range(STUDENTS)), document(PLAN, "first"))
    reader, passed = Reader(journal, PLAN, page_size=3), set()
    with ThreadPoolExecutor(WRITERS + 1) as threads:
        working = [threads.submit(writer, journal, number) for number in range(WRITERS)]
        working.append(threads.submit(renamer, journal))
        while not all(work.done() for work in working):
            reader.step()
            passed.add(reader.passed)
            time.sleep(0.01)
        for work in working:
            work.result()
    reader.step()
    expected = expected_changes(connections[0], journal.resources()[PLAN])
    held = {document_id: version for document_id, version in reader.seen.items() if document_id not in reader.deleted}
    assert held == {change.document_id: change.change_version for change in expected}
    assert len(passed | {reader.passed}) > 1  # windows: more where the server is quick
    assert unjournaled(connections[0]) == []
    assert reader.passed == journal.versions().newest
