"""The database restarts, hangs, or is not there; the service restarts, or is killed: nobody misses anything."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import msgspec
import pytest

import dmsjournal as dj
from dmsjournal.schema.migrate import upgrade
from dmsjournal.testing.embedded import EmbeddedPostgres
from tests.acceptance.proxy import Proxy
from tests.helpers import STUDENT, document, write
from tests.http.conftest import READ, READ_TOKEN, Process, Running, bearer, settings_of, until
from tests.http.sse import Events


@pytest.fixture
def server() -> Iterator[EmbeddedPostgres]:
    """A server of its own, which may be stopped."""
    with EmbeddedPostgres(settings={"fsync": "off"}) as embedded:
        upgrade(embedded.url())
        yield embedded


def test_a_database_that_restarts_is_503_and_streams_go_on(server: EmbeddedPostgres) -> None:
    with dj.connect(server.url()) as db:
        write(db, document(STUDENT, 1))
    seen: list[object] = []
    comments: list[str] = []

    def follow() -> None:
        with running.client() as client, client.stream("GET", "/changefeed/stream", params={"max_seconds": 60}) as answer:
            events = Events(answer.iter_lines())
            while len(seen) < 2:
                seen.append(next(events).data["sequence"])
            comments.extend(events.comments)

    with Running(settings_of(server.url(), statement_seconds=3)) as running, running.client() as client:
        stream = threading.Thread(target=follow)
        stream.start()
        until(lambda: seen == [1])
        server.kill()
        answer = client.get("/changefeed")
        assert (answer.status_code, answer.json()["type"]) == (503, "urn:dmsjournal:problem:unavailable")
        assert answer.headers["retry-after"] == "1"
        assert "127.0.0.1" not in answer.text
        assert client.get("/healthz").status_code == 200
        until(lambda: client.get("/readyz").status_code == 503)
        assert client.get("/changefeed/stream").status_code == 503
        waited = client.get("/changefeed", params={"from_seq": 1, "long_poll_ms": 200})
        assert waited.status_code == 503
        server.start()
        until(lambda: client.get("/readyz").status_code == 200)
        with dj.connect(server.url()) as db:
            write(db, document(STUDENT, 2))
            newest = db.versions().newest
        stream.join(20)
        assert client.get("/changefeed", params={"from_seq": 1}).json()["latest_sequence"] == newest
    assert seen == [1, newest]


def test_a_long_poll_that_waits_outlasts_a_restart(server: EmbeddedPostgres) -> None:
    with dj.connect(server.url()) as db:
        write(db, document(STUDENT, 1))
    found: list[httpx.Response] = []

    def poll() -> None:
        with running.client() as client:
            found.append(client.get("/changefeed", params={"from_seq": 1, "long_poll_ms": 15_000}))

    with Running(settings_of(server.url())) as running:
        waiting = threading.Thread(target=poll)
        waiting.start()
        until(lambda: running.waiting == 1 and running.server.service.waker.newest == 1)
        server.stop()
        server.start()
        with dj.connect(server.url()) as db:
            write(db, document(STUDENT, 2))
        waiting.join(20)
    assert [event["type"] for event in found[0].json()["events"]] == ["PUT"]


def test_a_statement_that_hangs_is_ended_and_others_are_served(url: str, db: dj.Journal, connections: list[object]) -> None:
    write(db, document(STUDENT, 1))
    connections[0].exec_driver_sql("LOCK TABLE dms.ResourceKey IN ACCESS EXCLUSIVE MODE")  # type: ignore[attr-defined]
    with Running(settings_of(url, statement_seconds=1)) as running, running.client() as client:
        began = time.monotonic()
        assert client.get("/data/v3/ed-fi/students").status_code == 503
        assert time.monotonic() - began < 5
        assert client.get("/changeQueries/v1/availableChangeVersions").status_code == 200


def test_the_command_serves_and_ends_in_order(process: Process) -> None:
    assert httpx.get(process.url + "/readyz").status_code == 200
    assert httpx.get(process.url + "/changefeed").status_code == 401
    assert httpx.get(process.url + "/changefeed", headers=bearer(READ)).json()["count"] == 0
    assert process.end(signal.SIGTERM) == 0


@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=pytest.mark.long)])
def test_clients_of_a_service_that_is_killed_miss_nothing(process: Process, db: dj.Journal, kills: int) -> None:
    """One client resumes by Last-Event-ID, one by from_seq, while a writer goes on and the service is killed and comes back."""
    stopping, written = threading.Event(), [0]

    def change() -> None:
        while not stopping.is_set():
            write(db, document(STUDENT, written[0] % 5, body={"n": written[0]}))
            written[0] += 1
            time.sleep(0.02)

    streamed: list[object] = []
    polled: list[object] = []

    def is_done(seen: list[object]) -> bool:
        return stopping.is_set() and len(seen) >= db.versions().newest

    def stream() -> None:
        last = ""
        while not is_done(streamed):
            headers = bearer(READ) | ({"Last-Event-ID": last} if last else {})
            try:
                with client.stream("GET", process.url + "/changefeed/stream?max_seconds=1", headers=headers) as answer:
                    events = Events(answer.iter_lines(), last)
                    for event in events:
                        streamed.append(event.data["sequence"])
                        last = event.id
                    last = events.id
            except httpx.TransportError:
                time.sleep(0.05)

    def poll() -> None:
        after = 0
        while not is_done(polled):
            try:
                asked = {"from_seq": after, "long_poll_ms": 500, "limit": 7}
                found = client.get(process.url + "/changefeed", params=asked, headers=bearer(READ)).json()
            except httpx.TransportError:
                time.sleep(0.05)
                continue
            polled.extend(event["sequence"] for event in found["events"])
            after = found["next_sequence"]

    threads = [threading.Thread(target=work) for work in (change, stream, poll)]
    with httpx.Client(timeout=20) as client:
        for thread in threads:
            thread.start()
        for _ in range(kills):
            time.sleep(0.4)
            process.end(signal.SIGKILL)
            process.start()
        time.sleep(0.4)
        stopping.set()
        for thread in threads:
            thread.join(60)
    expected = list(range(1, db.versions().newest + 1))
    assert streamed == expected
    assert polled == expected


def test_a_service_ends_while_its_database_is_frozen(url: str, db: dj.Journal, tmp_path: Path) -> None:
    """The race: a request and the look at the horizon hold threads that do not come back. Each of two steps has a grace of 10 s."""
    tokens = tmp_path / "tokens.json"
    tokens.touch(mode=0o600)
    tokens.write_bytes(msgspec.json.encode([READ_TOKEN]))
    with Proxy(url) as proxy:
        process = Process(proxy.url, tokens)
        process.start()
        try:
            headers = {"authorization": f"Bearer {READ}"}
            assert httpx.get(f"{process.url}/changefeed", headers=headers).status_code == 200
            proxy.freeze()
            with suppress(httpx.ReadTimeout):
                httpx.get(f"{process.url}/changefeed", headers=headers, timeout=0.5)
            assert process.process is not None
            process.process.send_signal(signal.SIGTERM)
            assert process.process.wait(25) == 0
        finally:
            assert process.process is not None
            if process.process.poll() is None:
                process.process.kill()
