"""FeedIterator and its async twin: at least once, from a checkpoint on; only read_changes is ever called."""

import asyncio
import json
import threading
import time
from concurrent.futures import Future
from pathlib import Path

import pytest

import dmsjournal as dj
from dmsjournal.util.backoff import Backoff
from dmsjournal.util.concurrency import Ahead
from tests.feeds import told, walk
from tests.helpers import STUDENT, change_content, document, newest, write

ALL = dj.FeedRequest()


class Source:
    """A journal's read_changes and nothing else, with what was asked, and what to raise first."""

    def __init__(self, journal: dj.Journal, *errors: Exception) -> None:
        self.journal, self.errors = journal, list(errors)
        self.asked: list[dj.FeedRequest] = []

    def read_changes(self, request: dj.FeedRequest) -> dj.FeedPage:
        self.asked.append(request)
        if self.errors:
            raise self.errors.pop(0)
        return self.journal.read_changes(request)


class Kept:
    """A checkpoint in memory, with all that was saved."""

    def __init__(self, token: str | None = None) -> None:
        self.saved: list[str] = [] if token is None else [token]

    def load(self) -> str | None:
        return self.saved[-1] if self.saved else None

    def save(self, token: str) -> None:
        self.saved.append(token)


class Twin:
    """The async iterator as a plain one, so that both are tested in the same words."""

    def __init__(self, *arguments, **options) -> None:
        self.loop = asyncio.new_event_loop()
        self.iterator = dj.AsyncFeedIterator(*arguments, **options)

    def __getattr__(self, name: str):
        return getattr(self.iterator, name)

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return self.loop.run_until_complete(self.iterator.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

    def __enter__(self):
        return self

    def __exit__(self, *error) -> None:
        self.loop.run_until_complete(self.iterator.__aexit__(*error))
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()


@pytest.fixture(params=[dj.FeedIterator, Twin], ids=["iterator", "async twin"])
def kind(request: pytest.FixtureRequest):
    return request.param


@pytest.fixture
def written(journal: dj.Journal) -> dj.Journal:
    """Versions 1 to 10."""
    write(journal, *(document(STUDENT, n) for n in range(10)))
    return journal


def test_all_events_come_once_and_the_end_is_kept(written: dj.Journal, kind) -> None:
    kept, source = Kept(), Source(written)
    with kind(source, dj.FeedRequest(max_page_size=3), checkpoint=kept, follow=False) as events:
        assert told(events) == told(walk(written, ALL)[0])
    assert [request.start for request in source.asked] == [dj.Beginning(), *(dj.FromToken(token) for token in kept.saved)][
        : len(source.asked)
    ]
    with kind(source, ALL, checkpoint=kept, follow=False) as events:
        assert list(events) == []


@pytest.mark.parametrize("taken", range(11))
def test_who_stops_anywhere_sees_the_rest_and_what_was_not_done(written: dj.Journal, kind, taken: int) -> None:
    """The page is saved when the event after it is asked for: one that was taken and not finished comes again."""
    kept, request = Kept(), dj.FeedRequest(max_page_size=3)
    with kind(Source(written), request, checkpoint=kept, follow=False) as events:
        first = [next(events) for _ in range(taken)]
    with kind(Source(written), request, checkpoint=kept, follow=False) as events:
        second = list(events)
    done = max(0, taken - 1) // 3 * 3
    everything = walk(written, ALL)[0]
    assert first == everything[:taken]
    assert second == everything[done:]


@pytest.mark.parametrize("taken", [1, 2, 3, 4, 9])
def test_a_deduplicator_leaves_out_what_was_done_before(written: dj.Journal, kind, taken: int) -> None:
    """A page that was begun comes again from the checkpoint; what was done of it does not. The event that was not done comes."""
    seen, kept = dj.Deduplicator(), Kept()
    request = dj.FeedRequest(max_page_size=4)
    with kind(written, request, checkpoint=kept, deduplicator=seen, follow=False) as events:
        first = [next(events) for _ in range(taken)]
    with kind(written, request, checkpoint=kept, deduplicator=dj.Deduplicator.of_state(seen.state()), follow=False) as events:
        rest = list(events)
    everything = told(walk(written, ALL)[0])
    assert told(first[:-1] + rest) == everything
    with kind(written, request, deduplicator=seen, follow=False) as events:
        assert told(list(events)) == everything[taken - 1 :]


def test_a_deduplicator_forgets_what_lies_far_back(written: dj.Journal, kind) -> None:
    seen, everything = dj.Deduplicator(capacity=2), told(walk(written, ALL)[0])
    for expected in (everything, everything[:-2]):
        with kind(written, ALL, deduplicator=seen, follow=False) as events:
            assert told(list(events)) == expected
        assert len(seen) == 2


def test_pages_have_no_repetitions_either(written: dj.Journal) -> None:
    seen, request = dj.Deduplicator(), dj.FeedRequest(max_page_size=4)
    with dj.FeedIterator(written, request, deduplicator=seen, follow=False) as events:
        pages = events.pages()
        first = next(pages)
        assert len(seen) == 0  # it is not done
        next(pages)
        assert len(seen) == 4
    with dj.FeedIterator(written, request, deduplicator=seen, follow=False) as events:
        sizes = [len(page.events) for page in events.pages()]
    assert sizes[0] == 0
    assert sum(sizes) == len(walk(written, ALL)[0]) - len(first.events)


def test_an_error_of_the_consumer_saves_nothing(written: dj.Journal, kind) -> None:
    kept = Kept()
    with pytest.raises(ZeroDivisionError), kind(Source(written), checkpoint=kept) as events:
        next(events).change_version / 0
    assert kept.saved == []


def test_it_waits_and_goes_on(written: dj.Journal, connections, kind) -> None:
    with kind(Source(written), dj.FeedRequest(start=dj.Now()), shortest_wait=0.01, longest_wait=0.05) as events:
        threading.Timer(0.3, lambda: change_content(connections[0], 3)).start()
        assert told([next(events)]) == [(11, 3, "UPDATE")]


@pytest.mark.parametrize("waits", [(0.01, 0.05), (60, 60)], ids=["asking", "waiting"])
def test_another_thread_stops_it(written: dj.Journal, kind, waits) -> None:
    with kind(Source(written), ALL, shortest_wait=waits[0], longest_wait=waits[1]) as events:
        assert len([next(events) for _ in range(10)]) == 10
        stopper = threading.Timer(0.5, events.stop)
        stopper.start()
        assert list(events) == []
    stopper.join()


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_stop_around_the_asking_ends_it_as_any_other(written: dj.Journal, monkeypatch, moment: str) -> None:
    """Another thread's stop() that comes between the look and the call that reads the page, or before the wait for its page."""

    class Stopping(Ahead):
        def begin(self, *call) -> None:
            if moment == "before":
                events.stop()
            super().begin(*call)
            events.stop()

    monkeypatch.setattr("dmsjournal.feed.iterators.Ahead", Stopping)
    with dj.FeedIterator(Source(written), ALL) as events:
        assert list(events) == []


class Late(Future):
    """A page that comes in the moment in which who waits for it gives up."""

    def result(self, timeout=None):
        try:
            return super().result(timeout)
        except TimeoutError:
            super().result()
            raise


def test_a_page_that_comes_as_the_wait_for_it_ends_is_a_page(written: dj.Journal, monkeypatch) -> None:
    class Slow(Source):
        def read_changes(self, request: dj.FeedRequest) -> dj.FeedPage:
            time.sleep(0.2)  # longer than one look
            return super().read_changes(request)

    monkeypatch.setattr("dmsjournal.util.concurrency.Future", Late)
    with dj.FeedIterator(Slow(written), ALL, follow=False) as events:
        assert len(list(events)) == 10


def test_a_time_out_of_the_sources_own_is_raised(written: dj.Journal, kind) -> None:
    with kind(Source(written, TimeoutError("the source's")), ALL) as events, pytest.raises(TimeoutError, match="the source's"):
        next(events)


def test_a_stop_before_the_first_page_ends_it_where_nothing_answers(written: dj.Journal, kind) -> None:
    source = Source(written, *(dj.Unavailable("down", "wait") for _ in range(100)))
    with kind(source, ALL, shortest_wait=8, longest_wait=8) as events:
        events.stop()
        pages = events.pages()
        began = time.monotonic()
        if kind is Twin:

            async def ended() -> bool:
                return await anext(pages, None) is None

            assert events.loop.run_until_complete(asyncio.wait_for(ended(), 10))
        else:
            assert next(pages, None) is None
        assert time.monotonic() - began < 5


def test_the_next_page_is_read_meanwhile(written: dj.Journal, kind) -> None:
    source = Source(written)
    with kind(source, dj.FeedRequest(max_page_size=3)) as events:
        next(events)
        if kind is Twin:
            events.loop.run_until_complete(asyncio.sleep(0.5))
        else:
            time.sleep(0.5)
        assert len(source.asked) == 2  # one ahead, not more


def test_unavailable_is_asked_again(written: dj.Journal, kind) -> None:
    source = Source(written, dj.Unavailable("gone"), dj.Unavailable("gone"))
    with kind(source, ALL, follow=False, shortest_wait=0.01) as events:
        assert len(list(events)) == 10
    source = Source(written, *[dj.Unavailable("gone")] * 1000)
    with kind(source, ALL, shortest_wait=0.01, patience=0.1) as events, pytest.raises(dj.Unavailable):
        next(events)


def test_other_errors_are_raised_after_what_came_before(written: dj.Journal, kind) -> None:
    kept, page = Kept(), written.read_changes(dj.FeedRequest(max_page_size=3))
    kept.save(page.token)
    written.prune(5)
    with kind(Source(written), ALL, checkpoint=kept) as events, pytest.raises(dj.CheckpointExpired):
        next(events)
    assert kept.saved == [page.token]


def test_it_ends_with_its_partition(written: dj.Journal, kind) -> None:
    written.change_bucket_count(8)
    with kind(Source(written), dj.FeedRequest(dj.PhysicalPartition("1-3"))) as events:
        found = list(events)
    assert found == walk(written, dj.FeedRequest(dj.PhysicalPartition("1-3")))[0]
    assert [child.scope.id for child in events.children] == ["2-6", "2-7"]


def test_waits_double_with_jitter_up_to_the_longest() -> None:
    backoff = Backoff(0.1, 1.0, lambda low, high: high)
    assert [round(backoff.next(), 3) for _ in range(6)] == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    backoff.reset()
    assert backoff.next() == 0.1
    waits = {round(Backoff(1.0, 1.0).next(), 6) for _ in range(100)}
    assert len(waits) > 50
    assert all(0.5 <= wait <= 1.0 for wait in waits)
    with pytest.raises(dj.InvalidRequest):
        Backoff(0, 1)


def test_coroutines_will_do_for_the_async_twin(written: dj.Journal) -> None:
    class Coroutines(Kept):
        async def load(self):  # type: ignore[override]
            return super().load()

        async def save(self, token):  # type: ignore[override]
            super().save(token)

        async def read_changes(self, request):
            return written.read_changes(request)

    async def read() -> int:
        kept = Coroutines()
        async with dj.AsyncFeedIterator(kept, dj.FeedRequest(max_page_size=4), checkpoint=kept, follow=False) as events:
            count = len([event async for event in events])
        assert kept.saved
        return count

    assert asyncio.run(read()) == 10


# Checkpoints.


def test_a_file_keeps_the_token(written: dj.Journal, tmp_path: Path, kind) -> None:
    path = tmp_path / "feed.token"
    for expected in (10, 0):
        with kind(written, dj.FeedRequest(max_page_size=4), checkpoint=dj.FileCheckpoint(path), follow=False) as events:
            assert len(list(events)) == expected
    assert [file.name for file in tmp_path.iterdir()] == ["feed.token"]
    assert written.read_changes(dj.FeedRequest(start=dj.FromToken(path.read_text().strip()))).idle


@pytest.mark.parametrize("content", [b"", b" \n", b"nothing", b"\xff\xfe", b"e30="])
def test_a_file_that_holds_no_token_is_told(written: dj.Journal, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "feed.token").write_bytes(content)
    with (
        pytest.raises(dj.InvalidRequest),
        dj.FeedIterator(written, checkpoint=dj.FileCheckpoint(tmp_path / "feed.token")) as events,
    ):
        next(events)


@pytest.mark.parametrize(
    ("path", "remedy"),
    [
        ("", "name a file"),
        ("a\0b", "name a file"),
        (None, "name a file"),
        (7, "name a file"),
        ("{folder}", "it is no file"),
        ("/dev/full", "it is no file"),
        ("{folder}/missing/feed.token", "its folder is not there"),
    ],
)
def test_a_place_where_no_token_can_be_kept_is_told_before_a_page_is_read(
    written: dj.Journal, tmp_path: Path, path: object, remedy: str
) -> None:
    place = path.format(folder=tmp_path) if isinstance(path, str) else path
    with (
        pytest.raises(dj.InvalidRequest, match=f"^checkpoint = .*: {remedy}"),
        dj.FeedIterator(written, checkpoint=dj.FileCheckpoint(place)) as events,
    ):
        next(events)


def test_a_folder_that_may_not_be_written_is_told(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)  # root may
    with pytest.raises(dj.InvalidRequest, match="its folder may not be written"):
        dj.FileCheckpoint(tmp_path / "feed.token").load()


def test_what_is_no_checkpoint_and_what_has_no_feed_is_told(written: dj.Journal, kind) -> None:
    with pytest.raises(dj.InvalidRequest, match=r"^checkpoint = 'feed\.token': pass an object with load and save"):
        kind(written, checkpoint="feed.token")
    with pytest.raises(dj.InvalidRequest, match=r"^source = None: pass what has a feed"):
        kind(None)


def test_a_token_of_another_place_is_said_of_the_checkpoint_that_holds_it(written: dj.Journal, tmp_path: Path, kind) -> None:
    file, of_database = dj.FileCheckpoint(tmp_path / "feed.token"), dj.DatabaseCheckpoint(written, "index")
    token = written.read_changes(dj.FeedRequest(dj.LogicalPartition(STUDENT))).token
    for checkpoint, name in ((file, "feed.token"), (of_database, "consumer index")):
        checkpoint.save(token)
        with (
            pytest.raises(dj.InvalidRequest, match=f"^checkpoint = .*{name}': the token in it is refused: it is of another scope"),
            kind(written, checkpoint=checkpoint) as events,
        ):
            next(events)
    request = dj.FeedRequest(start=dj.FromToken(token))
    with pytest.raises(dj.InvalidRequest, match=r"^token = "), kind(written, request) as events:
        next(events)


def test_a_file_that_cannot_be_replaced_keeps_the_token_before(tmp_path: Path, monkeypatch) -> None:
    checkpoint = dj.FileCheckpoint(tmp_path / "feed.token")
    checkpoint.save("one")

    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(dj.Unavailable, match=r"feed\.token cannot be written \(no space left\)"):
        checkpoint.save("two")
    assert (tmp_path / "feed.token").read_text() == "one\n"
    assert [file.name for file in tmp_path.iterdir()] == ["feed.token"]


def test_the_database_keeps_the_token_and_holds_prunes(written: dj.Journal, connections, kind) -> None:
    kept = dj.DatabaseCheckpoint(written, "warehouse")
    assert kept.load() is None
    with kind(written, dj.FeedRequest(max_page_size=4), checkpoint=kept) as events:
        for _ in range(6):
            next(events)
    consumer = written.consumers.get("warehouse")
    assert (consumer.through, consumer.lag) == (4, 6)
    assert written.prune(10).through == 4
    with kind(written, ALL, checkpoint=kept, follow=False) as events:
        assert [event.change_version for event in events] == [5, 6, 7, 8, 9, 10]
    assert written.consumers.get("warehouse").through == 10
    assert written.prune(10).held_by is None


def test_two_programs_of_one_name_are_told(written: dj.Journal) -> None:
    kept = dj.DatabaseCheckpoint(written, "warehouse")
    early = written.read_changes(dj.FeedRequest(max_page_size=2)).token
    late = written.read_changes(dj.FeedRequest(max_page_size=5)).token
    kept.save(late)
    kept.save(late)
    with pytest.raises(dj.InvalidRequest, match="another program uses the same name"):
        kept.save(early)
    assert kept.load() == late


def test_a_consumer_that_was_moved_by_hand_has_no_token(written: dj.Journal) -> None:
    kept = dj.DatabaseCheckpoint(written, "warehouse")
    kept.save(written.read_changes(dj.FeedRequest(max_page_size=2)).token)
    written.consumers.advance("warehouse", 5)
    with pytest.raises(dj.InvalidRequest, match="by hand"):
        kept.load()
    written.consumers.drop("warehouse")
    assert kept.load() is None


def test_a_checkpoint_of_another_scope_is_told(written: dj.Journal) -> None:
    kept = dj.DatabaseCheckpoint(written, "warehouse")
    with dj.FeedIterator(written, checkpoint=kept, follow=False) as events:
        list(events)
    with (
        pytest.raises(dj.InvalidRequest, match="another scope"),
        dj.FeedIterator(written, dj.FeedRequest(dj.LogicalPartition(STUDENT)), checkpoint=kept) as events,
    ):
        next(events)


def test_a_token_that_is_pruned_or_none_is_not_kept(written: dj.Journal) -> None:
    early = written.read_changes(dj.FeedRequest(max_page_size=2)).token
    written.prune(newest(written))
    kept = dj.DatabaseCheckpoint(written, "warehouse")
    with pytest.raises(dj.CheckpointExpired):
        kept.save(early)
    for none in ("", "e30=", json.dumps({"v": 1})):
        with pytest.raises(dj.InvalidRequest):
            kept.save(none)
    assert kept.load() is None
