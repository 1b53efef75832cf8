"""Adoption beside a writer, in the orders that its rules are there for (docs/how-it-works.md, Adoption; acceptance 54).

The tables are those of a journal that was removed: documents stay, and nothing journals them until an adoption brings triggers.
tests/migrations/test_adoption.py has shapes of other programs, and writers at random.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import dmsjournal as dj
from dmsjournal.schema import adopt as adoptions
from dmsjournal.schema import migrate
from tests.adoptions import interrupting

from .races import PARENT, PATIENCE, Race, Writer


def removed(race: Race, documents: int = 3) -> list[int]:
    """Documents that no journal sees; their ids."""
    ids = [document_id for document_id, _ in race.committed(*[lambda w: w.create()] * documents)]
    migrate.downgrade(race.url, "base")
    return ids


def adopt(race: Race, at: str = "nowhere", act: Callable[[], object] = lambda: None) -> None:
    """An adoption that must succeed, with something done just before the step that begins so."""

    def begins(step: adoptions.AdoptionStep, rows: int) -> None:
        if rows == 0 and step.name.startswith(at):
            act()

    try:
        adoptions.adopt(race.url, batch_size=50, lock_timeout="2s", progress=begins)
    except dj.JournalError as error:
        pytest.fail(str(error))


@contextmanager
def commits_when_waited_for(race: Race, writer: Writer) -> Iterator[Callable[[], None]]:
    """Gives a function from whose call on the writer commits as soon as somebody waits for a lock; at the end in any case."""
    ended = threading.Event()

    def commit() -> None:
        deadline = time.monotonic() + PATIENCE
        while not ended.is_set() and not race._waiting() and time.monotonic() < deadline:
            time.sleep(0.005)
        writer.commit()

    committing = threading.Thread(target=commit)
    try:
        yield committing.start
    finally:
        ended.set()
        committing.join()


@pytest.mark.acceptance("54")
def test_a_writer_that_is_open_when_readers_are_let_in_is_waited_for(race: Race) -> None:
    """Else its stamp is below the floors, and whoever reads in full meanwhile is told to do it again."""
    document, *_ = removed(race)
    with commits_when_waited_for(race, race.first) as begin, dj.connect(race.url) as journal:
        adopt(race, "let readers in", lambda: (race.first.touch(document), begin()))
        walk = journal.snapshot(PARENT)
        read = {change.document_id: change.change_version for change in walk}
    with dj.connect(race.url) as journal:
        newest = journal.versions().newest
        if newest > walk.through:
            try:
                read |= {c.document_id: c.change_version for c in journal.changes(PARENT, dj.Window(walk.through + 1, newest))}
            except dj.CheckpointExpired as expired:
                pytest.fail(str(expired))
        assert read == {i: derived.change_version for i, derived in journal.derive(list(read)).items()}


@pytest.mark.acceptance("54")
def test_a_writer_that_is_open_when_the_triggers_come_is_waited_for(race: Race) -> None:
    """It brings a version above all others: the sequence goes on above that as well."""
    document, *_ = removed(race)
    highest = f"UPDATE dms.Document SET ContentVersion = 1000000 WHERE DocumentId = {document}"
    with commits_when_waited_for(race, race.first) as begin:
        adopt(race, "bring the triggers", lambda: (race.first.sql(highest), begin()))
    assert race.sequence() > 1_000_000
    assert race.journal.verify().is_clean


@pytest.mark.acceptance("54")
def test_a_document_that_a_writer_has_stamped_is_not_stamped_again(race: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    """The batch has seen it without a stamp, and waits for its row."""
    document, *_ = removed(race)
    race.look("UPDATE dms.Document SET ContentVersion = 0, IdentityVersion = 0")
    signal = "UPDATE dms.Document SET ContentVersion = NULL, IdentityVersion = NULL WHERE DocumentId = :id RETURNING ContentVersion"
    with commits_when_waited_for(race, race.first) as begin:
        stamped: list[int] = []
        interrupting(monkeypatch, "schema/adopt_stamps", lambda: (stamped.append(race.first.value(signal, id=document)), begin()))
        adopt(race)
    assert race.look("SELECT ContentVersion FROM dms.Document WHERE DocumentId = :id", id=document).scalar_one() == stamped[0]


@pytest.mark.acceptance("54")
def test_a_document_that_a_writer_has_journaled_has_one_event_of_its_version(race: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    document, *_ = removed(race)
    interrupting(monkeypatch, "schema/adopt_document_events", lambda: race.committed(lambda w: w.touch(document)))
    adopt(race)
    assert race.journal.verify().is_clean
