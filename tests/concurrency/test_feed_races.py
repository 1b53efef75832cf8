"""The feed beside writers that commit late, prunes, restores, and changes of its partitions (invariants 5, 8, 9)."""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import dmsjournal as dj
from dmsjournal.database.session import Session
from dmsjournal.feed import bucket_of, database, readable
from tests.feeds import Told, after, journaled, told, walk

from .races import Race

ALL = dj.FeedRequest()


class Following:
    """A consumer of the feed that goes on from its token."""

    def __init__(self, journal: dj.Journal, request: dj.FeedRequest = ALL) -> None:
        self.journal, self.request = journal, request
        self.events: list[dj.FeedEvent] = []

    def step(self) -> list[dj.FeedEvent]:
        found, pages = walk(self.journal, self.request)
        self.request = after(self.request, pages[-1])
        self.events += found
        return found


def test_an_event_that_is_committed_late_is_told_in_its_place(race: Race) -> None:
    (a, _), (b, _) = race.committed(lambda w: w.create(), lambda w: w.create())
    reader = Following(race.journal)
    reader.step()
    lower, higher = race.first.touch(a), race.second.touch(b)
    race.second.commit()
    assert reader.step() == []  # the higher one waits with the lower one
    race.first.commit()
    assert told(reader.step()) == [(lower, a, "UPDATE"), (higher, b, "UPDATE")]


def test_an_event_that_is_rolled_back_is_never_told(race: Race) -> None:
    [(a, _)] = race.committed(lambda w: w.create())
    reader = Following(race.journal)
    reader.step()
    race.first.touch(a)
    tombstone = race.second.create()[0]
    race.second.commit()
    race.first.rollback()
    assert [event.key.document_id for event in reader.step()] == [tombstone]


def test_a_deletion_that_is_committed_late_does_not_take_a_documents_uuid_away(race: Race) -> None:
    """Above the horizon a document may be gone already: its events below it are told with its uuid and key all the same."""
    [(a, _)] = race.committed(lambda w: w.create(key="before"))
    [(b, _)] = race.committed(lambda w: w.create())
    race.first.touch(b)  # holds the horizon
    race.second.rename(a, "after")
    race.second.delete(a)
    race.second.commit()
    [event, _] = walk(race.journal, ALL)[0]
    assert (event.key.document_id, event.key.key_values) == (a, {"key": "before"})
    assert event.key.document_uuid is not None


def test_the_page_is_read_after_the_horizon(race: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's snapshot is younger than the horizon: what is committed between the two is told, never passed over."""
    [(a, _)] = race.committed(lambda w: w.create())
    reader = Following(race.journal)
    reader.step()
    lower = race.first.touch(a)
    read = database._State.read

    def committed_in_between(session: Session) -> database._State:
        race.first.commit()
        race.second.touch(a)
        race.second.commit()
        return read(session)

    monkeypatch.setattr(database._State, "read", committed_in_between)
    page = race.journal.read_changes(reader.request)
    monkeypatch.undo()
    assert page.events == []  # the horizon was below
    reader.request = after(reader.request, page)
    assert [event.change_version for event in reader.step()] == [lower, lower + 1]


def test_a_prune_between_the_beginning_and_its_page_is_no_error(race: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    race.committed(*[lambda w: w.create()] * 4)
    scanned = database._Page._scanned

    def pruned_in_between(page: database._Page, start: dj.Cursor) -> object:
        monkeypatch.undo()
        race.journal.prune(2)
        return scanned(page, start)

    monkeypatch.setattr(database._Page, "_scanned", pruned_in_between)
    assert [event.change_version for event in race.journal.read_changes(ALL).events] == [3, 4]


def test_a_prune_between_a_token_and_its_page_is_expiry(race: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    race.committed(*[lambda w: w.create()] * 4)
    request = dj.FeedRequest(max_page_size=1)
    request = after(request, race.journal.read_changes(request))
    scanned = database._Page._scanned

    def pruned_in_between(page: database._Page, start: dj.Cursor) -> object:
        race.journal.prune(2)
        return scanned(page, start)

    monkeypatch.setattr(database._Page, "_scanned", pruned_in_between)
    with pytest.raises(dj.CheckpointExpired):
        race.journal.read_changes(request)


def test_partitions_change_above_whatever_was_read(race: Race) -> None:
    """A writer holds the horizon while the buckets change: the old ones are read to their end, which is above its stamp."""
    (a, _), *_ = race.committed(*[lambda w: w.create()] * 8)
    readers = {p.id: Following(race.journal, dj.FeedRequest(p.scope)) for p in race.journal.list_physical_partitions()}
    late = race.first.touch(a)
    partitions = race.journal.change_bucket_count(2)
    assert {p.ends_at for p in partitions if p.id.startswith("1-")} == {late + 1}
    race.committed(lambda w: w.create())  # of another session: first commits its late stamp with it
    for reader in readers.values():
        reader.step()
    old = [event for reader in readers.values() for event in reader.events]
    assert late in {event.change_version for event in old}
    assert max(event.change_version for event in old) <= late
    for reader in readers.values():
        page = race.journal.read_changes(reader.request)
        assert page.partition_retired


def test_partitions_that_are_changed_and_not_committed_hold_the_horizon(race: Race) -> None:
    """Else a reader would pass the version at which the buckets change before it can see that, and a child tell it again."""
    [(a, _)] = race.committed(lambda w: w.create())
    readers = [Following(race.journal, dj.FeedRequest(p.scope)) for p in race.journal.list_physical_partitions()]
    with race.journal.database.session() as session:
        database.change_bucket_count(session, 1)
        race.second.touch(a)
        race.second.commit()
        readers[bucket_of(a, 4)].step()
    children = set()
    for reader in readers:
        reader.step()
        children |= {(c.scope, c.token) for c in race.journal.read_changes(reader.request).child_partitions}
    [(scope, token)] = children  # it goes on after the same version for all four
    events = [event for reader in readers for event in reader.events]
    events += walk(race.journal, dj.FeedRequest(scope, dj.FromToken(token)))[0]
    assert sorted(told(events)) == held(race)


def held(race: Race) -> list[Told]:
    """What the journal holds in the end."""
    with race.engine.connect() as connection:
        return journaled(connection)


class Group:
    """Consumers that share partitions: what a worker has read of one is kept with its token, as in one transaction."""

    def __init__(self, journal: dj.Journal) -> None:
        self.journal = journal
        self.lock = threading.Lock()
        self.tokens: dict[str, str] = {}
        self.finished: set[str] = set()
        self.taken: set[str] = set()
        self.events: list[dj.FeedEvent] = []

    def take(self) -> dj.PhysicalPartition | None:
        with self.lock:
            ready = [p for p in readable(self.journal.list_physical_partitions(), self.finished) if p.id not in self.taken]
            if not ready:
                return None
            partition = random.choice(ready)
            self.taken.add(partition.id)
            return partition.scope

    def read(self, scope: dj.PhysicalPartition, size: int) -> bool:
        """One page; whether there was anything."""
        start = dj.FromToken(self.tokens[scope.id]) if scope.id in self.tokens else dj.Beginning()
        page = self.journal.read_changes(dj.FeedRequest(scope, start, max_page_size=size))
        with self.lock:
            self.events += page.events
            self.tokens[scope.id] = page.token
            if page.partition_retired:
                self.finished.add(scope.id)
                for child in page.child_partitions:
                    assert self.tokens.setdefault(child.scope.id, child.token) == child.token
            self.taken.discard(scope.id)
        return not page.idle or page.partition_retired


@pytest.mark.parametrize("seconds", [4, pytest.param(60, marks=pytest.mark.long)])
def test_partitions_change_while_consumers_and_writers_run(race: Race, seconds: int) -> None:
    documents = [i for i, _ in race.committed(*[lambda w: w.create()] * 40)]
    group, enough = Group(race.journal), threading.Event()

    def write(own: list[int], rng: random.Random) -> None:
        writer = race.writer()
        while not enough.is_set():
            for _ in range(rng.randrange(1, 4)):
                writer.touch(rng.choice(own))
                time.sleep(rng.random() / 200)
            writer.rollback() if rng.random() < 0.2 else writer.commit()

    def consume() -> None:
        while not (enough.is_set() and is_done.is_set()):
            scope = group.take()
            if scope is None or not group.read(scope, random.choice([1, 3, 50])):
                time.sleep(0.005)

    is_done = threading.Event()
    with ThreadPoolExecutor(8) as threads:
        running = [threads.submit(write, documents[n::3], random.Random(n)) for n in range(3)]
        consuming = [threads.submit(consume) for _ in range(4)]
        for count in (8, 3, 5):
            time.sleep(seconds / 4)
            race.journal.change_bucket_count(count)
        time.sleep(seconds / 4)
        enough.set()
        for writing in running:
            writing.result()
        expected = held(race)
        deadline = time.monotonic() + 120
        while len(group.events) < len(expected) and time.monotonic() < deadline and not any(c.done() for c in consuming):
            time.sleep(0.05)
        is_done.set()
        for consumer in consuming:
            consumer.result()
    assert sorted(told(group.events)) == expected  # none is missing, none is there twice
    for i in documents:
        versions = [event.change_version for event in group.events if event.key.document_id == i]
        assert versions == sorted(versions)


@pytest.mark.parametrize("seconds", [4, pytest.param(60, marks=pytest.mark.long)])
def test_followers_beside_writers_get_what_the_journal_holds(race: Race, seconds: int) -> None:
    documents = [i for i, _ in race.committed(*[lambda w: w.create()] * 20)]
    enough = threading.Event()

    def write(own: list[int], rng: random.Random) -> None:
        writer = race.writer()
        while not enough.is_set():
            document, created = rng.choice(own), None
            if rng.random() < 0.2:
                writer.delete(document)
                created, _ = writer.create(key=rng.random())
            else:
                writer.touch(document)
            time.sleep(rng.random() / 100)
            if rng.random() < 0.1:
                writer.rollback()
                continue
            writer.commit()
            if created is not None:
                own[own.index(document)] = created

    def follow(size: int) -> Following:
        reader = Following(dj.connect(race.url), dj.FeedRequest(max_page_size=size))
        while not enough.is_set():
            reader.step()
        return reader

    with ThreadPoolExecutor(8) as threads:
        writing = [threads.submit(write, documents[n::4], random.Random(n)) for n in range(4)]
        following = [threads.submit(follow, size) for size in (1, 7, 500)]
        time.sleep(seconds)
        enough.set()
        for writer in writing:
            writer.result()
        readers = [future.result() for future in following]
    expected = held(race)
    for reader in readers:
        reader.step()
        assert told(reader.events) == expected
        assert None not in {event.key.document_uuid for event in reader.events}
        reader.journal.close()
