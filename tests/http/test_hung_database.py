"""A database whose processes are stopped: connections stay, and nothing answers. Clients hear of it within seconds."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import pytest

import dmsjournal as dj
from dmsjournal.schema.migrate import upgrade
from dmsjournal.testing.embedded import EmbeddedPostgres
from tests.helpers import STUDENT, document, write
from tests.http.conftest import READ, Running, bearer, settings_of, until
from tests.http.sse import Events

pytestmark = pytest.mark.skipif(os.name != "posix", reason="SIGSTOP")

UNAVAILABLE = (503, "urn:dmsjournal:problem:unavailable")
ASKED = [
    "/readyz",
    "/changeQueries/v1/availableChangeVersions",
    "/changefeed",
    "/changefeed?from_seq=1&long_poll_ms=60000",
    "/changefeed/stream?keep_alive=false",
    "/feed",
    "/feed?start=after:1&long_poll_ms=60000",
    "/data/v3/ed-fi/students",
    "/data/v3/ed-fi/students/deletes?minChangeVersion=1",
    "/status",
]
PATIENCE = 45  # seconds that a client waits: a statement's own time, 60 s here, is more


class Hanging:
    """A server of a test's own, whose processes may be stopped and go on."""

    def __init__(self, embedded: EmbeddedPostgres) -> None:
        self.url = embedded.url()
        self._folder = embedded.data_dir
        with dj.connect(self.url) as db:
            write(db, document(STUDENT, 1))

    def _processes(self) -> list[psutil.Process]:
        pid = int(Path(self._folder, "postmaster.pid").read_text().splitlines()[0])
        postmaster = psutil.Process(pid)
        return [postmaster, *postmaster.children(recursive=True)]

    @contextmanager
    def hung(self) -> Iterator[None]:
        stopped = self._processes()
        for process in stopped:
            process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for process in stopped:
                process.send_signal(signal.SIGCONT)


@pytest.fixture(scope="module")
def server() -> Iterator[Hanging]:
    with EmbeddedPostgres(settings={"fsync": "off"}) as embedded:
        upgrade(embedded.url())
        yield Hanging(embedded)


@contextmanager
def serving(server: Hanging) -> Iterator[Running]:
    """A service that tells a database that hangs within a second and a half, not nine."""
    with Running(settings_of(server.url, statement_seconds=60, answer_seconds=1)) as running:
        until(lambda: httpx.get(running.url + "/readyz").status_code == 200)
        yield running


def told(running: Running, path: str) -> tuple[int, str]:
    answer = httpx.get(running.url + path, headers=bearer(READ), timeout=PATIENCE)
    while path in ("/readyz", "/status") and answer.status_code == 200:  # at most a second old
        answer = httpx.get(running.url + path, headers=bearer(READ), timeout=PATIENCE)
    assert answer.headers["retry-after"] == "1"
    return answer.status_code, answer.json()["type"]


FIRST = ("/readyz", "/changefeed?from_seq=1&long_poll_ms=60000")


@pytest.mark.parametrize("path", [path if path in FIRST else pytest.param(path, marks=pytest.mark.long) for path in ASKED])
def test_the_first_to_ask_is_told(server: Hanging, path: str) -> None:
    with serving(server) as running:
        with server.hung():
            assert told(running, path) == UNAVAILABLE
            assert httpx.get(running.url + "/healthz").status_code == 200
        until(lambda: httpx.get(running.url + path.replace("60000", "0"), headers=bearer(READ)).status_code == 200, 30)


def test_all_who_ask_at_once_are_told_and_the_metrics_of_the_service_are_there(server: Hanging) -> None:
    """More of them than threads, and some wait for one another: each wait must not follow another one."""
    found: list[tuple[int, str]] = []

    def ask(path: str) -> None:
        found.append(told(running, path))

    with serving(server) as running:
        with server.hung():
            threads = [threading.Thread(target=ask, args=[path]) for path in ASKED * 4]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(PATIENCE)
            assert found == [UNAVAILABLE] * len(threads)
            text = httpx.get(running.url + "/metrics", headers=bearer(READ), timeout=PATIENCE).text
        assert "\ndmsjournal_http_database_up 0.0\n" in text
        assert 'status="503"' in text
        assert "dmsjournal_horizon_lag_seconds" not in text

        def metrics() -> str:
            return httpx.get(running.url + "/metrics", headers=bearer(READ), timeout=PATIENCE).text

        until(lambda: "\ndmsjournal_http_database_up 1.0\n" in metrics(), 30)
        assert "dmsjournal_horizon_lag_seconds" in metrics()


def test_who_waits_already_goes_on_when_the_database_does(server: Hanging) -> None:
    seen: list[object] = []
    polled: list[httpx.Response] = []

    def follow() -> None:
        with running.client() as client, client.stream("GET", "/changefeed/stream", params={"max_seconds": 60}) as answer:
            events = Events(answer.iter_lines())
            for event in events:
                seen.append(event.data["sequence"])
                if len(seen) == 2 + before:
                    return

    def poll() -> None:
        with running.client() as client:
            asked = {"from_seq": newest, "long_poll_ms": 60_000}
            while not polled or polled[-1].status_code == 503:  # as a busy machine may answer, without a fault
                polled.append(client.get("/changefeed", params=asked, timeout=90))

    with dj.connect(server.url) as db:
        newest = db.versions().newest
        before = len(db.read_changes(dj.FeedRequest()).events)
    with serving(server) as running:
        threads = [threading.Thread(target=work) for work in (follow, poll)]
        for thread in threads:
            thread.start()
        until(lambda: len(seen) == before and running.waiting == 2 and running.server.service.waker.newest == newest, 30)
        with server.hung():
            until(lambda: httpx.get(running.url + "/readyz", timeout=PATIENCE).status_code == 503, PATIENCE)
        until(lambda: httpx.get(running.url + "/readyz", timeout=PATIENCE).status_code == 200, PATIENCE)
        with dj.connect(server.url) as db:
            write(db, document(STUDENT, newest + 1), document(STUDENT, newest + 2))
        for thread in threads:
            thread.join(PATIENCE)
    assert seen[-2:] == [newest + 1, newest + 2]
    assert polled[-1].json()["events"]
