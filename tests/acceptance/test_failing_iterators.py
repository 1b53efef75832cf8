"""An iterator that failed, or was cancelled, goes on where it was or raises the same error again. It never claims a normal end.

A loop that goes on after an error would take that end for the end of what there is, and move its checkpoint past what it never saw.
Each iterator, and each way to fail: an error of the source, of the checkpoint, of a callback, an interrupt, a cancelled step. Those
of the HTTP client are in tests/http/test_client.py, those without a database in tests/unit/test_iteration.py.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import dmsjournal as dj
from dmsjournal.deliver.runner import Delivery
from dmsjournal.model.journals import JOURNALS
from dmsjournal.read.walk import Walk
from tests.acceptance.test_feed_iterator import Kept, Source, Twin
from tests.feeds import told, walk
from tests.helpers import STUDENT, document, write

ALL = dj.FeedRequest()
THREE = dj.FeedRequest(max_page_size=3)


class Failing(Kept):
    """A checkpoint whose calls fail as they are told to, the first ones."""

    def __init__(self, *, loads: tuple[BaseException, ...] = (), saves: tuple[BaseException, ...] = ()) -> None:
        super().__init__()
        self.loads, self.saves = list(loads), list(saves)

    def load(self) -> str | None:
        if self.loads:
            raise self.loads.pop(0)
        return super().load()

    def save(self, token: str) -> None:
        if self.saves:
            raise self.saves.pop(0)
        super().save(token)


@pytest.fixture(params=[dj.FeedIterator, Twin], ids=["iterator", "async twin"])
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def written(journal: dj.Journal) -> dj.Journal:
    """Versions 1 to 10."""
    write(journal, *(document(STUDENT, n) for n in range(10)))
    return journal


def persistent(step: Callable[[], Any]) -> tuple[list[Any], list[BaseException]]:
    """What steps give until StopIteration, by a loop that goes on after errors, and the errors: 20 at most."""
    came: list[Any] = []
    errors: list[BaseException] = []
    while len(errors) < 20:
        try:
            came.append(step())
        except StopIteration:
            break
        except (Exception, KeyboardInterrupt) as error:
            errors.append(error)
    return came, errors


def stepper(events: Any, by_pages: bool) -> Callable[[], Any]:
    """What takes the next event, or the next page."""
    if not by_pages:
        return lambda: next(events)
    pages = events.pages()
    if not isinstance(events, Twin):
        return lambda: next(pages)

    def step() -> dj.FeedPage:
        try:
            return events.loop.run_until_complete(pages.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

    return step


WAYS: dict[str, tuple[list[Exception], dict[str, Any]]] = {
    "unavailable beyond patience": ([dj.Unavailable("gone"), dj.Unavailable("gone")], {}),
    "an error of a callback, such as unreadable": ([ZeroDivisionError("the callback's")], {}),
    "a timeout of the source's": ([TimeoutError("the source's")], {}),
    "the checkpoint cannot be loaded": ([], {"loads": (dj.Unavailable("full"), ZeroDivisionError("the checkpoint's"))}),
    "the checkpoint cannot be saved": ([], {"saves": (dj.Unavailable("full"), ZeroDivisionError("the checkpoint's"))}),
    "interrupted while it saves": ([], {"saves": (KeyboardInterrupt(),)}),
}


@pytest.mark.parametrize("by_pages", [False, True], ids=["events", "pages"])
@pytest.mark.parametrize("way", WAYS)
def test_a_feed_goes_on_after_an_error(written: dj.Journal, kind: Any, way: str, by_pages: bool) -> None:
    if kind is Twin and "interrupted" in way:
        pytest.skip("an interrupt ends the event loop")
    errors, fails = WAYS[way]
    kept, source = Failing(**fails), Source(written, *errors)
    with kind(source, THREE, checkpoint=kept, follow=False, patience=0.0, shortest_wait=0.001) as feed:
        came, raised = persistent(stepper(feed, by_pages))
    assert [str(error) for error in raised] == [str(error) for error in (*errors, *fails.get("loads", ()), *fails.get("saves", ()))]
    events = [event for page in came for event in page.events] if by_pages else came
    everything, pages = walk(written, THREE)
    assert told(events) == told(everything)
    assert kept.saved == list(dict.fromkeys(page.token for page in pages)), "each page is saved once, and none is passed over"


@pytest.mark.parametrize("by_pages", [False, True], ids=["events", "pages"])
def test_a_feed_that_has_expired_says_so_at_each_step(written: dj.Journal, kind: Any, by_pages: bool) -> None:
    """The first page was read, the next one was pruned: it is no end, whoever asks again."""
    with kind(Pruning(written), dj.FeedRequest(max_page_size=3), follow=False) as feed:
        came, raised = persistent(stepper(feed, by_pages))
    assert len(came) == (1 if by_pages else 3)
    assert [type(error) for error in raised] == [dj.CheckpointExpired] * 20


class Pruning(Source):
    """After the first page, all is pruned."""

    def read_changes(self, request: dj.FeedRequest) -> dj.FeedPage:
        if len(self.asked) == 1:
            self.journal.prune(8)
        return super().read_changes(request)


def test_a_deduplicator_that_refuses_an_id_loses_no_page(written: dj.Journal, kind: Any) -> None:
    class Refusing(dj.Deduplicator):
        refused = 0

        def __contains__(self, event_id: object) -> bool:
            self.refused += 1
            if self.refused == 5:
                raise ZeroDivisionError
            return super().__contains__(event_id)  # type: ignore[arg-type]

    with kind(Source(written), THREE, deduplicator=Refusing(), follow=False) as feed:
        came, raised = persistent(lambda: next(feed))
    assert len(raised) == 1
    assert told(came) == told(walk(written, ALL)[0])


# Cancelled steps of the feed.


class Gate:
    """A call that waits to be let through, and says that it waits."""

    def __init__(self) -> None:
        self.is_there, self.opens = threading.Event(), threading.Event()
        self.passed = 0

    def pass_through(self) -> None:
        self.is_there.set()
        assert self.opens.wait(20)
        self.passed += 1


class Gated(Source):
    def __init__(self, journal: dj.Journal, gate: Gate, page: int) -> None:
        super().__init__(journal)
        self.gate, self.page = gate, page

    def read_changes(self, request: dj.FeedRequest) -> dj.FeedPage:
        if len(self.asked) == self.page:
            self.gate.pass_through()
        return super().read_changes(request)


class GatedCheckpoint(Kept):
    def __init__(self, gate: Gate, call: str) -> None:
        super().__init__()
        self.gate, self.gated = gate, call

    def load(self) -> str | None:
        if self.gated == "load":
            self.gate.pass_through()
        return super().load()

    def save(self, token: str) -> None:
        if self.gated == "save":
            self.gate.pass_through()
        super().save(token)


@pytest.mark.parametrize("where", ["load", "save", "first page", "second page"])
@pytest.mark.parametrize("by_pages", [False, True], ids=["events", "pages"])
def test_a_cancelled_step_can_be_taken_again(written: dj.Journal, where: str, by_pages: bool) -> None:
    """The race: wait_for's timeout cancels the step while its call is in a thread, where it goes on and ends later."""
    gate = Gate()
    source = Gated(written, gate, {"first page": 0, "second page": 1}.get(where, -1))
    kept = GatedCheckpoint(gate, where)

    async def read() -> list[Any]:
        came: list[Any] = []
        async with dj.AsyncFeedIterator(source, THREE, checkpoint=kept, follow=False) as events:
            steps = events.pages() if by_pages else events
            timeouts = 0
            while True:
                try:
                    came.append(await asyncio.wait_for(anext(steps), 60 if gate.opens.is_set() else 0.2))
                except TimeoutError:
                    timeouts += gate.is_there.is_set()  # one before the gate is a slow machine's
                    if timeouts == 3:
                        gate.opens.set()
                except StopAsyncIteration:
                    assert timeouts >= 3
                    return came

    came = asyncio.run(read())
    events = [event for page in came for event in page.events] if by_pages else came
    everything, pages = walk(written, THREE)
    assert told(events) == told(everything)
    assert kept.saved == list(dict.fromkeys(page.token for page in pages))
    assert gate.passed == (len(kept.saved) if where == "save" else 1), "a cancelled call is not made twice"


def test_steps_that_are_all_cancelled_still_ask_again(written: dj.Journal) -> None:
    """Where nothing was there it waits before it asks again: from the idle page on, and not anew from each step on."""

    async def read() -> list[dj.FeedEvent]:
        start = written.read_changes(dj.FeedRequest(start=dj.Now())).token
        request = dj.FeedRequest(start=dj.FromToken(start))
        async with dj.AsyncFeedIterator(Source(written), request, shortest_wait=1.0, longest_wait=1.0) as events:
            for attempt in range(100):
                try:
                    return [await asyncio.wait_for(anext(events), 0.1)]
                except TimeoutError:
                    if attempt == 0:
                        write(written, document(STUDENT, 99))
        return []

    assert told(asyncio.run(read())) == [(11, 11, "CREATE")]


def test_an_interrupt_while_a_feed_waits_for_a_page(written: dj.Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in an interactive session, where the loop is then run again."""
    from dmsjournal.util import concurrency

    waits, interrupted = concurrency.wait, []

    def wait(*arguments: Any) -> Any:
        if not interrupted:
            interrupted.append(True)
            raise KeyboardInterrupt
        return waits(*arguments)

    monkeypatch.setattr(concurrency, "wait", wait)
    with dj.FeedIterator(Source(written), THREE, follow=False) as events:
        came, raised = persistent(lambda: next(events))
    assert [type(error) for error in raised] == [KeyboardInterrupt]
    assert told(came) == told(walk(written, ALL)[0])


# Walks.


def walks(journal: dj.Journal) -> dict[str, Callable[[], Walk[Any]]]:
    return {
        "changes": lambda: journal.changes(STUDENT, page_size=2),
        "snapshot": lambda: journal.snapshot(STUDENT, page_size=2),
        "deletes": lambda: journal.deletes(STUDENT, page_size=2),
        "key_changes": lambda: journal.key_changes(STUDENT, page_size=2),
    }


@pytest.fixture
def history(written: dj.Journal) -> dj.Journal:
    """Documents that are there, that have another key, and that are gone: five each, at least."""
    write(written, *(document(STUDENT, n) for n in range(100, 105)))
    with written.write() as tx:
        for n in range(5):
            tx.rekey(STUDENT, {"studentId": n}, {"studentId": 50 + n})
            tx.delete(STUDENT, {"studentId": 100 + n})
    return written


@pytest.mark.parametrize("name", ["changes", "snapshot", "deletes", "key_changes"])
@pytest.mark.parametrize(
    "error", [dj.Unavailable("gone"), ZeroDivisionError(), KeyboardInterrupt()], ids=lambda e: type(e).__name__
)
def test_a_walk_goes_on_after_an_error(
    history: dj.Journal, name: str, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database is gone for a moment, a callback fails, or the program is interrupted, in each page but the first."""
    whole = list(walks(history)[name]())
    assert len(whole) >= 5
    begun = walks(history)[name]()
    reading, calls = history.database.reading, []

    @contextmanager
    def failing(resource: dj.ResourceKey) -> Iterator[Any]:
        calls.append(resource)
        if len(calls) % 2:
            raise error
        with reading(resource) as found:
            yield found

    monkeypatch.setattr(history.database, "reading", failing)
    came, raised = persistent(lambda: next(begun))
    assert came == whole
    assert raised == [error] * (len(calls) // 2)
    assert raised


@pytest.mark.parametrize("name", ["changes", "deletes", "key_changes"])
def test_a_walk_that_has_expired_says_so_at_each_step(history: dj.Journal, name: str) -> None:
    whole = list(walks(history)[name]())
    begun = walks(history)[name]()
    history.prune(history.versions().newest)
    came, raised = persistent(lambda: next(begun))
    assert len(came) <= 2 < len(whole)
    assert [type(error) for error in raised] == [dj.CheckpointExpired] * 20


# Iterators that cannot go on: the same error again.


def test_a_part_of_a_stream_that_has_expired_says_so_at_each_step(history: dj.Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told behind the last row, where the rows before it are short."""
    stream = history.stream(STUDENT)
    [part] = stream.window(dj.Window(), parts=1)
    floors = {journal: 10**6 for journal in JOURNALS}
    monkeypatch.setattr("dmsjournal.read.stream.read_floors", lambda _: floors)  # as of a server without one snapshot for all
    lots = stream.read(part, rows=2)
    came, raised = persistent(lambda: next(lots))
    assert came
    assert len(raised) == 20
    assert {type(error) for error in raised} == {dj.CheckpointExpired}


# Deliveries.


class Receiving:
    """A target that takes events, and fails at some of its calls."""

    name = "a target"

    def __init__(self, memory: Path, *fails: int) -> None:
        self.memory, self.fails, self.calls = memory, set(fails), 0
        self.took: list[dj.FeedEvent] = []

    def __enter__(self) -> "Receiving":
        return self

    def __exit__(self, *error: object) -> None: ...

    def take(self, events: list[dj.FeedEvent]) -> None:
        self.calls += 1
        if self.calls in self.fails:
            raise ZeroDivisionError
        self.took += events

    def counts(self) -> dict[str, int]:
        return {}

    def stop(self) -> None: ...


def test_a_delivery_that_failed_delivers_the_rest_when_it_runs_again(written: dj.Journal, tmp_path: Path) -> None:
    """The same object. It saves after each event, so none comes twice: what a run handed over is no part of the next one's page."""
    target = Receiving(tmp_path / "history", 2, 4, 9)
    delivery = Delivery(written, "crm", target, THREE, follow=False, at_once=1, save_every=0.0)  # type: ignore[arg-type]
    failed = 0
    while True:
        try:
            delivery.run()
        except ZeroDivisionError:
            failed += 1
        else:
            break
    assert failed == 3
    assert told(target.took) == told(walk(written, ALL)[0])
    assert written.consumers.get("crm").through == 10


def test_a_file_checkpoint_that_is_full_for_a_moment(written: dj.Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a program meets it: the disk is full while a page is saved, then there is room. Nothing is passed over."""
    from dmsjournal.feed import checkpoints

    replaces, full = checkpoints.write_whole, [True]

    def replace(path: Path, content: bytes) -> None:
        if full:
            full.pop()
            raise OSError(28, "No space left on device")
        replaces(path, content)

    monkeypatch.setattr(checkpoints, "write_whole", replace)
    kept = dj.FileCheckpoint(tmp_path / "feed.token")
    with dj.FeedIterator(written, THREE, checkpoint=kept, follow=False) as events:
        came, raised = persistent(lambda: next(events))
    assert [type(error) for error in raised] == [dj.Unavailable]
    assert told(came) == told(walk(written, ALL)[0])
    with dj.FeedIterator(written, THREE, checkpoint=kept, follow=False) as events:
        assert list(events) == []
