"""The client of the service: what it reads is what the journal reads, its errors are the journal's, and it waits for a service."""

import asyncio
import gzip
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

import dmsjournal as dj
from dmsjournal.client import AsyncClient, Client, ListedDocument
from dmsjournal.client.base import Base
from dmsjournal.feed import readable
from tests.acceptance.test_feed_iterator import Twin
from tests.conftest import Connections
from tests.feeds import told, walk
from tests.helpers import PLAN, SCHOOL, STUDENT, change_content, document, newest, resource, write
from tests.http.conftest import READ, STUDENTS, Process, Running, settings_of

AGENCY = resource("LocalEducationAgency")


class Awaited:
    """The client for event loops, in the words of the other one, so that both are tested by the same tests."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.loop = asyncio.new_event_loop()
        self.client = self.loop.run_until_complete(self._made(*arguments, **options))

    async def _made(self, *arguments: Any, **options: Any) -> AsyncClient:
        return AsyncClient(*arguments, **options)

    def __enter__(self) -> "Awaited":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
        self.loop.close()

    def __getattr__(self, name: str) -> Any:
        def called(*arguments: Any, **options: Any) -> Any:
            found = self.loop.run_until_complete(getattr(self.client, name)(*arguments, **options))
            return Walked(self.loop, found) if hasattr(found, "__anext__") else found

        return called


class Walked:
    def __init__(self, loop: asyncio.AbstractEventLoop, walk: Any) -> None:
        self.loop, self.walk = loop, walk
        self.through, self.cut = walk.through, walk.cut

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            return self.loop.run_until_complete(anext(self.walk))
        except StopAsyncIteration:
            raise StopIteration from None


Kind = Callable[..., Any]


@pytest.fixture(params=[Client, Awaited], ids=["client", "async client"])
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture
def written(journal: dj.Journal, connections: Connections) -> dj.Journal:
    """Students and plans, one renamed and one deleted."""
    body = {"weight": Decimal("7.20"), "big": 2**60, "id": "own"}
    students = [document(STUDENT, n, body={"name": f"Ä{n}", **body}) for n in range(6)]
    write(journal, *students, document(PLAN, 1, students[0]), document(AGENCY, 1))
    change_content(connections[0], 2, 3)
    with journal.write() as tx:
        tx.rekey(STUDENT, {"studentId": 0}, {"studentId": 100})
        tx.delete(STUDENT, {"studentId": 5})
    return journal


def listed(journal: dj.Journal, ids: list[int]) -> list[ListedDocument]:
    """Documents by id, as the client should list them: `id` is the service's own word."""
    derived, stored = journal.derive(ids), journal.documents(ids)
    return [
        ListedDocument(
            stored[i].document_uuid,
            derived[i].etag,
            derived[i].last_modified,
            {name: value for name, value in (stored[i].body or {}).items() if name != "id"},
        )
        for i in ids
    ]


def fields(found: Iterable[Any]) -> list[list[Any]]:
    names = ("document_uuid", "change_version", "key_values", "old_key_values", "new_key_values")
    return [[getattr(one, name, None) for name in names] for one in found]


@pytest.mark.parametrize("size", [2, 500])
def test_it_lists_what_the_journal_does(running: Running, written: dj.Journal, kind: Kind, size: int) -> None:
    last = newest(written)
    with kind(running.url, READ) as client:
        assert client.versions() == written.versions()
        for window in (None, dj.Window(3, 9), dj.Window(last + 1, last + 5)):
            for of in (STUDENT, PLAN, AGENCY):
                ours, theirs = client.changes(of, window, size), written.changes(of, window)
                assert (ours.through, ours.cut) == (theirs.through, theirs.cut)
                assert list(ours) == listed(written, [change.document_id for change in theirs])
            assert fields(client.deletes(STUDENT, window, size)) == fields(written.deletes(STUDENT, window))
            assert fields(client.key_changes(STUDENT, window, size)) == fields(written.key_changes(STUDENT, window))
        snapshot = client.snapshot(STUDENT, size)
        assert snapshot.through == last
        assert list(snapshot) == listed(written, [change.document_id for change in written.snapshot(STUDENT)])
        some = list(client.snapshot(STUDENT))[1]
        assert client.document(STUDENT, some.document_uuid) == some
        assert client.document(STUDENT, uuid4()) is None


def test_a_copy_that_follows_by_the_client_is_the_source(
    running: Running, journal: dj.Journal, connections: Connections, kind: Kind
) -> None:
    """A snapshot, then windows: deletes after changes; what is there at the end is what the journal has."""
    write(journal, *(document(STUDENT, n) for n in range(10)))
    with kind(running.url, READ) as client:
        snapshot = client.snapshot(STUDENT, 3)
        copy, through = {d.document_uuid: d.etag for d in snapshot}, snapshot.through
        for n in range(5):
            change_content(connections[0], n + 2, n + 4)
            with journal.write() as tx:
                tx.delete(STUDENT, {"studentId": n})
                tx.upsert(document(STUDENT, 20 + n))
            changes = client.changes(STUDENT, dj.Window(through + 1, newest(journal)), 2)
            copy |= {d.document_uuid: d.etag for d in changes}
            for gone in client.deletes(STUDENT, dj.Window(through + 1, changes.through)):
                del copy[gone.document_uuid]
            through = changes.through
    derived = {change.document_uuid: journal.derive([change.document_id]) for change in journal.snapshot(STUDENT)}
    assert copy == {uuid: one.etag for uuid, found in derived.items() for one in found.values()}


REQUESTS = [
    dj.FeedRequest(max_page_size=3),
    dj.FeedRequest(item_state=dj.NewItemStateMode.INCLUDE_IF_AVAILABLE),
    dj.FeedRequest(dj.LogicalPartition(STUDENT), max_page_size=2),
    dj.FeedRequest(dj.LogicalPartition(document_id=2)),
    dj.FeedRequest(dj.PhysicalPartition("1-2")),
    dj.FeedRequest(filters=dj.FeedFilter(types=[dj.FeedEventType.DELETE, dj.FeedEventType.CREATE], resources=[STUDENT, PLAN])),
    dj.FeedRequest(start=dj.Now()),
    dj.FeedRequest(start=dj.AfterVersion(4)),
    dj.FeedRequest(start=dj.AtTime(datetime(2020, 1, 1, tzinfo=UTC))),
    dj.FeedRequest(start=dj.AtTime(datetime.now(UTC).astimezone() + timedelta(hours=1))),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=[str(n) for n in range(len(REQUESTS))])
def test_its_pages_are_the_journals(running: Running, written: dj.Journal, kind: Kind, request_: dj.FeedRequest) -> None:
    """Tokens are the same too, so either may go on where the other one ended."""
    with kind(running.url, READ) as client:
        ours, pages = walk(client, request_)
        theirs, others = walk(written, request_)
        assert ours == theirs
        assert [(page.token, page.idle) for page in pages] == [(page.token, page.idle) for page in others]
        assert client.list_physical_partitions() == written.list_physical_partitions()


LISTS = ["changes", "snapshot", "deletes", "key_changes"]


def paged(asked: list[str], failing: Callable[[], httpx.Response | None]) -> Callable[[httpx.Request], httpx.Response]:
    """A service with three pages of one item; before each page but the first it answers what `failing` gives."""

    def answer(request: httpx.Request) -> httpx.Response:
        if "available" in request.url.path:
            return httpx.Response(200, json={"oldestChangeVersion": 0, "newestChangeVersion": 9})
        token = request.url.params.get("pageToken", "0")
        if token != "0" and (failed := failing()) is not None:
            return failed
        asked.append(token)
        item = {
            "id": str(UUID(int=int(token))),
            "changeVersion": int(token),
            "_etag": "x",
            "_lastModifiedDate": "2026-01-01T00:00:00Z",
        }
        keys = {"keyValues": {}, "oldKeyValues": {}, "newKeyValues": {}}
        headers = {} if token == "2" else {"next-page-token": str(int(token) + 1)}
        return httpx.Response(200, json=[item | keys], headers=headers)

    return answer


@pytest.mark.parametrize("name", LISTS)
def test_a_walk_goes_on_after_an_error(kind: Kind, name: str) -> None:
    """The service asks for time beyond the client's patience before each page: no step claims an end, none is left out."""
    asked: list[str] = []
    answers = iter([httpx.Response(503), None] * 5)
    came, errors = [], 0
    with answering(kind, paged(asked, lambda: next(answers)), patience=0) as client:
        walk = iter(getattr(client, name)(STUDENT, page_size=1))
        while True:
            try:
                came.append(next(walk).document_uuid.int)
            except StopIteration:
                break
            except dj.Unavailable:
                errors += 1
    assert (came, asked, errors) == ([0, 1, 2], ["0", "1", "2"], 2)


@pytest.mark.parametrize("name", LISTS)
def test_a_walk_that_has_expired_says_so_at_each_step(kind: Kind, name: str) -> None:
    problem = {"type": "urn:dmsjournal:problem:checkpoint-expired", "requested": 1, "oldest": 5}
    with answering(kind, paged([], lambda: httpx.Response(410, json=problem))) as client:
        walk = iter(getattr(client, name)(STUDENT, page_size=1))
        next(walk)
        for _ in range(3):
            with pytest.raises(dj.CheckpointExpired):
                next(walk)


@pytest.mark.parametrize("name", LISTS)
def test_a_cancelled_step_of_a_walk_can_be_taken_again(name: str) -> None:
    """The race: wait_for's timeout cancels the request of a page while the service holds it."""
    asked: list[str] = []
    answer = paged(asked, lambda: None)

    async def read() -> tuple[list[int], int]:
        held = 0

        async def hold(request: httpx.Request) -> httpx.Response:
            nonlocal held
            if "pageToken" in request.url.params and held < 3:
                held += 1
                await asyncio.Event().wait()
            return answer(request)

        came: list[int] = []
        transport = httpx.MockTransport(hold)
        async with AsyncClient("https://journal.example", transport=transport) as client:
            walk = await getattr(client, name)(STUDENT, page_size=1)
            while True:
                try:
                    came.append((await asyncio.wait_for(anext(walk), 0.1 if held < 3 else 10)).document_uuid.int)
                except TimeoutError:
                    continue
                except StopAsyncIteration:
                    return came, held

    assert asyncio.run(read()) == ([0, 1, 2], 3)
    assert asked == ["0", "1", "2"]


def test_a_feed_of_it_goes_on_after_an_error(running: Running, written: dj.Journal, kind: Kind) -> None:
    """Each second request finds the service away for longer than the patience of client and iterator."""
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        if len(asked) % 2:
            return httpx.Response(503)
        found = httpx.get(f"{running.url}/feed", params=request.url.params, headers={"authorization": f"Bearer {READ}"})
        return httpx.Response(found.status_code, content=found.content)

    options = {"checkpoint": None, "follow": False, "patience": 0.0, "shortest_wait": 0.001}
    request = dj.FeedRequest(max_page_size=3)
    with answering(kind, answer, patience=0) as client:
        if kind is Awaited:
            twin = Twin(client.client, request, **options)
            client.loop.close()
            client.loop = twin.loop
            events: Any = twin
        else:
            events = dj.FeedIterator(client, request, **options)
        came, errors = [], 0
        while True:
            try:
                came.append(next(events))
            except StopIteration:
                break
            except dj.Unavailable:
                errors += 1
    assert errors == len(asked) // 2
    assert told(came) == told(walk(written, request)[0])


@pytest.mark.parametrize("request_", REQUESTS[:2])
def test_the_iterator_takes_it_as_a_source(running: Running, written: dj.Journal, request_: dj.FeedRequest, tmp_path: Path) -> None:
    events = walk(written, request_)[0]
    checkpoint = dj.FileCheckpoint(tmp_path / "token")
    with Client(running.url, READ) as client:
        with dj.FeedIterator(client, request_, checkpoint=checkpoint, follow=False) as iterator:
            assert list(iterator) == events
        with dj.FeedIterator(client, request_, checkpoint=checkpoint, follow=False) as iterator:
            assert list(iterator) == []

    async def followed() -> list[dj.FeedEvent]:
        async with AsyncClient(running.url, READ) as client, dj.AsyncFeedIterator(client, request_, follow=False) as iterator:
            return [event async for event in iterator]

    assert asyncio.run(followed()) == events


def test_partitions_that_split_are_read_over_http(running: Running, written: dj.Journal) -> None:
    with Client(running.url, READ) as client:
        assert len(client.list_physical_partitions()) == 4
        written.change_bucket_count(2)
        finished: set[str] = set()
        tokens: dict[str, str] = {}
        came: list[dj.FeedEvent] = []
        while ready := readable(client.list_physical_partitions(), finished):
            for partition in ready:
                start = dj.FromToken(tokens[partition.id]) if partition.id in tokens else dj.Beginning()
                with dj.FeedIterator(client, dj.FeedRequest(partition.scope, start), follow=False) as events:
                    came += list(events)
                tokens |= {child.scope.id: child.token for child in events.children}
                finished.add(partition.id)
    assert sorted(told(came)) == told(walk(written, dj.FeedRequest())[0])


def test_with_a_long_poll_an_event_comes_at_once(running: Running, written: dj.Journal) -> None:
    with Client(running.url, READ, long_poll=20) as client:
        start = written.read_changes(dj.FeedRequest(start=dj.Now()))
        request = dj.FeedRequest(start=dj.FromToken(start.token))
        timer = threading.Timer(0.5, lambda: write(written, document(SCHOOL, 77)))
        timer.start()
        began = time.monotonic()
        page = client.read_changes(request)
        timer.join()
    assert [event.resource for event in page.events] == [SCHOOL]
    assert 0.3 < time.monotonic() - began < 15


def raised(kind: Kind, url: str, call: Callable[[Any], Any], token: str = READ, **options: Any) -> Exception:
    with kind(url, token, **options) as client, pytest.raises(dj.JournalError) as caught:
        call(client)
    return caught.value


def same(ours: Exception, call: Callable[[], object]) -> None:
    """The error is the one that the journal raises."""
    with pytest.raises(type(ours)) as caught:
        call()
    assert (ours.args, str(ours)) == (caught.value.args, str(caught.value))


def test_its_errors_are_the_journals(running: Running, written: dj.Journal, kind: Kind) -> None:
    page = written.read_changes(dj.FeedRequest(max_page_size=2))
    elsewhere = dj.FeedRequest(dj.LogicalPartition(STUDENT), dj.FromToken(page.token))
    error = raised(kind, running.url, lambda client: client.read_changes(elsewhere))
    assert isinstance(error, dj.InvalidRequest)
    assert (error.parameter, error.remedy) == ("token", "it is of another scope: use it where it was made, or start anew")
    ahead = dj.FeedRequest(start=dj.AfterVersion(10**9))
    same(raised(kind, running.url, lambda client: client.read_changes(ahead)), lambda: written.read_changes(ahead))
    required = dj.FeedRequest(item_state=dj.NewItemStateMode.REQUIRE)
    same(raised(kind, running.url, lambda client: client.read_changes(required)), lambda: written.read_changes(required))
    unknown = dj.FeedRequest(dj.PhysicalPartition("1-9"))
    refused = raised(kind, running.url, lambda client: client.read_changes(unknown))
    assert isinstance(refused, dj.InvalidRequest)
    assert refused.args[:2] == ("scope", "partition:1-9"), "named as it was sent"

    written.prune(through=5)
    late = dj.FeedRequest(start=dj.FromToken(page.token))
    same(raised(kind, running.url, lambda client: client.read_changes(late)), lambda: written.read_changes(late))
    window = dj.Window(2, 8)
    error = raised(kind, running.url, lambda client: client.changes(STUDENT, window))
    assert isinstance(error, dj.CheckpointExpired)
    same(error, lambda: written.changes(STUDENT, window))
    for wrong in ("Student", None, 7):
        same(raised(kind, running.url, lambda client: client.changes(STUDENT, wrong)), lambda: written.changes(STUDENT, wrong))  # noqa: B023
    assert isinstance(raised(kind, running.url, lambda client: client.changes(STUDENT, page_size=0)), dj.InvalidRequest)


def test_what_the_service_refuses(running: Running, written: dj.Journal, kind: Kind) -> None:
    error = raised(kind, running.url, lambda client: client.changes(resource("Studnet")))
    assert isinstance(error, dj.ServiceRefused)
    assert (error.status, error.problem) == (404, "not-found")
    assert "ed-fi/students" in str(error)
    assert raised(kind, running.url, lambda client: client.document(resource("Studnet"), uuid4())).args == error.args
    error = raised(kind, running.url, lambda client: client.versions(), token="dmsj_wrong")
    assert (error.status, error.problem) == (401, "unauthorized")
    assert "dmsj_wrong" not in str(error)
    error = raised(kind, running.url, lambda client: client.changes(PLAN), token=STUDENTS)
    assert (error.status, error.problem) == (403, "forbidden")
    with kind(running.url, STUDENTS) as client:
        assert len(list(client.changes(STUDENT))) == 5
    assert raised(kind, f"{running.url}/elsewhere", lambda client: client.versions()).status == 404


def test_a_resource_by_the_services_map(url: str, written: dj.Journal, kind: Kind) -> None:
    with Running(settings_of(url, resources={"ed-fi/pupils": str(STUDENT)})) as running:
        with kind(running.url, READ, resources={STUDENT: "ed-fi/pupils"}) as client:
            assert len(list(client.changes(STUDENT))) == 5
        assert isinstance(raised(kind, running.url, lambda client: client.changes(STUDENT)), dj.ServiceRefused)


def test_it_waits_for_a_service_that_restarts(process: Process, written: dj.Journal) -> None:
    with Client(process.url, READ, patience=60) as client:
        assert client.versions() == written.versions()
        process.end(9)
        restart = threading.Timer(0.7, process.start)
        restart.start()
        assert client.versions() == written.versions()
        restart.join()


def test_nobody_there(kind: Kind) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        error = raised(kind, url, lambda client: client.versions(), patience=0.5)
    assert isinstance(error, dj.Unavailable)
    assert f"{url} does not answer" in str(error)


def answering(kind: Kind, answer: Callable[[httpx.Request], httpx.Response], **options: Any) -> Any:
    """A client of a service that answers so."""
    return kind("https://journal.example/base", "dmsj_token", transport=httpx.MockTransport(answer), **options)


def test_what_is_sent(kind: Kind) -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json={"oldestChangeVersion": 0, "newestChangeVersion": 2**62})

    with answering(kind, answer) as client:
        assert client.versions() == dj.ChangeVersions(0, 2**62)
    assert str(asked[0].url) == "https://journal.example/base/changeQueries/v1/availableChangeVersions"
    assert asked[0].headers["authorization"] == "Bearer dmsj_token"


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_it_heeds_retry_after(kind: Kind, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """And gives up where that is more than its patience."""
    asked: list[float] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(time.monotonic())
        if len(asked) == 1:
            return httpx.Response(status, headers={"retry-after": "1"}, text="<html>not now</html>")
        return httpx.Response(200, json={"oldestChangeVersion": 0, "newestChangeVersion": 1})

    with answering(kind, answer) as client:
        client.versions()
    assert asked[1] - asked[0] >= 1
    asked.clear()
    with answering(kind, answer, patience=0.5) as client, pytest.raises(dj.Unavailable, match=str(status)):
        client.versions()
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"<html>"),
        (200, b"[]"),
        (200, b'{"oldestChangeVersion": 1}'),
        (200, b'{"oldestChangeVersion": "a", "newestChangeVersion": null}'),
        pytest.param(200, b"[" * 100_000 + b"]" * 100_000, id="nested"),
        pytest.param(500, b"[" * 100_000 + b"]" * 100_000, id="nested problem"),
        (409, b'{"type": "urn:dmsjournal:problem:history-diverged"}'),
        (410, b'{"type": "urn:dmsjournal:problem:checkpoint-expired", "oldest": "5"}'),
        (200, b"\xff"),
        (204, b""),
        (302, b""),
        (400, b"no HTTP"),
        (401, b"{}"),
        (404, b'{"type": "about:blank", "detail": "no"}'),
        (410, b'{"type": "urn:dmsjournal:problem:something-new", "status": 410}'),
        (500, b'{"type": "urn:dmsjournal:problem:internal-error", "detail": "see the log"}'),
    ],
)
def test_answers_that_are_none(kind: Kind, status: int, body: bytes) -> None:
    """Of a proxy, of another service, of a service that is newer: one error, never a traceback; no redirect is followed."""
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(status, content=body, headers={"location": "https://elsewhere.example/"})

    with answering(kind, answer) as client, pytest.raises(dj.ServiceRefused) as caught:
        client.versions()
    assert caught.value.status == status
    assert len(asked) == 1


@pytest.mark.parametrize("tokens", [["a", "a"], ["a", "b", "a"]], ids=" ".join)
def test_page_tokens_that_come_again_end_a_walk(kind: Kind, tokens: list[str]) -> None:
    """A cache or a service that answers each page alike would have it read for ever."""
    asked: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if "available" in request.url.path:
            return httpx.Response(200, json={"oldestChangeVersion": 0, "newestChangeVersion": 5})
        asked.append(request.url.params.get("pageToken"))
        return httpx.Response(200, json=[], headers={"next-page-token": tokens[(len(asked) - 1) % len(tokens)]})

    with answering(kind, answer) as client, pytest.raises(dj.ServiceRefused, match="none of the service's"):
        list(client.deletes(STUDENT))
    assert asked == [None, *tokens[:-1]]


def test_a_feed_token_that_does_not_move_is_no_answer(running: Running, written: dj.Journal, kind: Kind) -> None:
    with running.client() as plain:
        page = plain.get("/feed", params={"limit": 1}).json()
    assert (len(page["events"]), page["idle"]) == (1, False)
    asked = dj.FeedRequest(start=dj.FromToken(page["token"]))
    client = answering(kind, lambda request: httpx.Response(200, json=page))
    with client, pytest.raises(dj.ServiceRefused, match="none of the service's"):
        client.read_changes(asked)


def test_an_answer_that_swells_is_cut_off(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """64 MB of blanks are 64 kB on the way. What a client holds of them is bounded, and so is the time."""
    monkeypatch.setattr("dmsjournal.client.client.LARGEST_ANSWER", 1_000_000)
    monkeypatch.setattr("dmsjournal.client.async_client.LARGEST_ANSWER", 1_000_000)
    bomb = gzip.compress(b" " * 64_000_000)

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=bomb, headers={"content-encoding": "gzip"})

    with answering(kind, answer) as client, pytest.raises(dj.ServiceRefused, match="more than"):
        client.versions()


def test_an_answer_that_cannot_be_decompressed(kind: Kind) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, stream=httpx.ByteStream(b"no gzip"), headers={"content-encoding": "gzip"})

    with answering(kind, answer) as client, pytest.raises(dj.ServiceRefused, match="cannot be decompressed"):
        client.versions()


@pytest.mark.parametrize("body", [b'{"a": 1}', b'"abc"', b"[1]", b"[null]", b'[{"id": "x"}]', b"[[]]", b"5"])
def test_lists_that_are_none(kind: Kind, body: bytes) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        newest = b'{"oldestChangeVersion": 0, "newestChangeVersion": 5}'
        return httpx.Response(200, content=newest if "available" in request.url.path else body)

    for list_of in ("changes", "deletes", "key_changes", "snapshot"):
        with answering(kind, answer) as client, pytest.raises(dj.ServiceRefused, match="none of the service's"):
            list(getattr(client, list_of)(STUDENT))


@pytest.mark.parametrize(
    ("name", "members", "expected"),
    [
        ("not-installed", {"found": "0005", "needed": "0007"}, dj.NotInstalled("0005", "0007")),
        ("not-installed", {"found": "0005", "needed": "0007", "command": "adopt"}, dj.NotInstalled("0005", "0007", "adopt")),
        ("invalid-request", {"parameter": "min", "detail": "min = 5: above max"}, dj.InvalidRequest("min", 5, "above max")),
        ("invalid-request", {"parameter": "a", "detail": "a = 'x: \\'y': b: c"}, dj.InvalidRequest("a", "x: 'y", "b: c")),
        ("invalid-request", {"parameter": "a", "detail": "a = <too long>: no"}, dj.InvalidRequest("a", "<too long>", "no")),
        ("invalid-request", {"parameter": "a", "detail": "a = 'cut...: no"}, dj.InvalidRequest("a", "cut...", "no")),
        ("invalid-request", {"parameter": "a", "detail": "something"}, dj.InvalidRequest("a", None, "something")),
        ("invalid-request", {"detail": "something"}, dj.InvalidRequest("request", None, "something")),
        ("database-refused", {"detail": "log"}, dj.DatabaseRefused(None, "the service's database refused", "log")),
        ("busy", {"detail": "full"}, dj.Unavailable("full", "try again")),
    ],
)
def test_problems(name: str, members: dict[str, object], expected: dj.JournalError) -> None:
    made = {**members, "type": f"urn:dmsjournal:problem:{name}"}
    client = answering(Client, lambda request: httpx.Response(503, content=json.dumps(made)), patience=0)
    with client, pytest.raises(type(expected)) as caught:
        client.versions()
    assert caught.value.args == expected.args


@pytest.mark.parametrize(
    "url",
    [
        "", "journal", "ftp://journal/", "https://", "https://me:secret-word@journal.example", "https://journal/?a=b", None,
        "http://[::1", "https://journal:port", "http://journal.example", "http://10.0.0.1:8000",
    ],
)  # fmt: skip
def test_urls_that_are_refused(url: str) -> None:
    with pytest.raises(dj.InvalidRequest, match="url = ") as caught:
        Base(url, "dmsj_token")
    assert "secret-word" not in str(caught.value)


def test_no_token_is_shown() -> None:
    with pytest.raises(dj.InvalidRequest) as caught:
        Base("https://journal.example", "secret word")
    assert "secret word" not in str(caught.value)
    assert "dmsj_secret" not in repr(Client("https://journal.example", "dmsj_secret"))
    with pytest.raises(dj.InvalidRequest, match="long_poll"):
        Base("https://journal.example", long_poll=61)


def test_a_close_ends_its_waits() -> None:
    client = answering(Client, lambda request: httpx.Response(503, headers={"retry-after": "20"}), patience=1000)
    closing = threading.Timer(0.3, client.close)
    closing.start()
    began = time.monotonic()
    with pytest.raises(dj.Unavailable):
        client.versions()
    assert time.monotonic() - began < 10
    closing.join()
