"""nginx in front: streams and long polls come through at once, limits see the client's address, and each side may restart."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import msgspec
import pytest

import dmsjournal as dj
from dmsjournal.client import Client
from tests.helpers import STUDENT, document, write
from tests.http.conftest import READ, READ_TOKEN, Process, Running, bearer, settings_of, until
from tests.http.sse import Events
from tests.nginx import DEFAULTS, KEPT, Nginx, nginx

KINDS = pytest.mark.parametrize("kind", [DEFAULTS, KEPT], ids=["nginx's defaults", "connections kept"])


@contextmanager
def served(url: str, kind: tuple[str, str], **settings: object) -> Iterator[tuple[Running, Nginx]]:
    with Running(settings_of(url, behind_proxy=True, **settings)) as running, nginx(running.port, kind) as proxy:
        yield running, proxy


def client(proxy: Nginx, address: str = "127.0.0.2", token: str = READ) -> httpx.Client:
    """A client on another address than the proxy's own."""
    transport = httpx.HTTPTransport(local_address=address)
    return httpx.Client(base_url=proxy.url, headers=bearer(token), transport=transport, timeout=60)


@KINDS
def test_a_stream_comes_through_as_it_is_sent(url: str, db: dj.Journal, kind: tuple[str, str]) -> None:
    """Gathered by the proxy, the first event would come with the end of the stream; and who leaves the proxy leaves the service."""
    with served(url, kind) as (running, proxy), client(proxy) as asking:
        with asking.stream("GET", "/changefeed/stream", params={"max_seconds": 60}) as answer:
            events = Events(answer.iter_lines())
            for number in range(1, 4):
                write(db, document(STUDENT, number))
                assert next(events).data["sequence"] == number
                assert running.waiting == 1, "the stream has ended"
        until(lambda: running.waiting == 0, 30)


@KINDS
def test_a_long_poll_wakes_and_is_left(url: str, db: dj.Journal, kind: tuple[str, str]) -> None:
    found: list[httpx.Response] = []
    with served(url, kind) as (running, proxy), client(proxy) as asking:

        def poll() -> None:
            found.append(asking.get("/changefeed", params={"from_seq": 0, "long_poll_ms": 50_000}))

        thread = threading.Thread(target=poll)
        thread.start()
        until(lambda: running.waiting == 1, 30)
        write(db, document(STUDENT, 1))
        thread.join(60)
        assert found[0].json()["count"] == 1
        with pytest.raises(httpx.ReadTimeout):
            asking.get("/changefeed", params={"from_seq": 1, "long_poll_ms": 50_000}, timeout=1)
        until(lambda: running.waiting == 0, 30)


@KINDS
def test_limits_are_by_the_address_that_the_proxy_saw(url: str, db: dj.Journal, kind: tuple[str, str]) -> None:
    """Guesses of tokens: varied headers do not make a client another one, and no client uses up what others have."""
    with served(url, kind, rate=0.001, burst=5) as (_, proxy):
        with client(proxy, token="wrong") as guessing:
            told = [
                guessing.get("/feed", headers={"X-Forwarded-For": f"198.51.100.{n}, 203.0.113.{n}", "X-Real-IP": f"198.51.100.{n}"})
                for n in range(8)
            ]
        assert [answer.status_code for answer in told] == [401] * 5 + [429] * 3
        assert int(told[-1].headers["retry-after"]) > 0
        with client(proxy, "127.0.0.3", token="wrong") as another:
            assert another.get("/feed").status_code == 401


@KINDS
def test_the_log_has_the_address_of_the_client(url: str, kind: tuple[str, str], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "dmsjournal.http")
    with served(url, kind) as (_, proxy), client(proxy, "127.0.0.4") as asking:
        asking.get("/healthz", headers={"X-Forwarded-For": "198.51.100.7"})
        until(lambda: any(getattr(record, "action", "") == "request" for record in caplog.records))
    assert [record.client for record in caplog.records if getattr(record, "action", "") == "request"] == ["127.0.0.4"]


@KINDS
def test_pages_tokens_etags_and_large_bodies_come_through(url: str, db: dj.Journal, kind: tuple[str, str]) -> None:
    write(db, *(document(STUDENT, n, body={"text": f"{n} " + "x" * 20_000}) for n in range(30)))
    path = "/data/v3/ed-fi/students"
    with served(url, kind, page_bytes=100_000) as (running, proxy), client(proxy) as asking, running.client() as direct:
        for encoding in ("gzip", "identity"):
            headers = {"Accept-Encoding": encoding}
            found, there = (of.get(path, params={"limit": 30}, headers=headers) for of in (asking, direct))
            assert found.json() == there.json()
            again = asking.get(path, params={"limit": 30}, headers=headers | {"If-None-Match": found.headers["etag"]})
            assert again.status_code == 304
        first = asking.get(path, params={"limit": 10})
        following = asking.get(path, params={"limit": 10, "pageToken": first.headers["next-page-token"]})
        assert (following.status_code, asking.head(path).status_code) == (200, 200)
        assert asking.get("/nothing").headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("kind", [KEPT, pytest.param(DEFAULTS, marks=pytest.mark.long)])
def test_clients_miss_nothing_where_either_side_restarts(url: str, db: dj.Journal, kind: tuple[str, str], tmp_path: Path) -> None:
    """One follows the stream and one polls, through a service that is killed, an nginx that is ended, and one that is reloaded."""
    tokens = tmp_path / "tokens.json"
    tokens.touch(mode=0o600)
    tokens.write_bytes(msgspec.json.encode([READ_TOKEN]))
    process = Process(url, tokens)
    process.start()
    streamed: list[object] = []
    polled: list[int] = []
    written, is_last = [0], threading.Event()

    def change(count: int = 3) -> None:
        for _ in range(count):
            written[0] += 1
            write(db, document(STUDENT, written[0]))

    def is_done(seen: list[object] | list[int]) -> bool:
        return is_last.is_set() and len(seen) >= written[0]

    def stream() -> None:
        last = ""
        with client(proxy) as asking:
            while not is_done(streamed):
                try:
                    headers = {"Last-Event-ID": last}
                    with asking.stream("GET", "/changefeed/stream?max_seconds=2", headers=headers) as answer:
                        if answer.status_code != 200:  # 502: nginx is there, and the service is not
                            time.sleep(0.05)
                            continue
                        events = Events(answer.iter_lines(), last)
                        for event in events:
                            streamed.append(event.data["sequence"])
                            last = event.id
                        last = events.id
                except httpx.TransportError:
                    time.sleep(0.05)

    def poll() -> None:
        """As the Python client does it, which asks again by itself."""
        with Client(proxy.url, READ) as source, dj.FeedIterator(source, longest_wait=0.5, patience=120) as events:
            for event in events:
                polled.append(event.change_version)
                if is_done(polled):
                    return

    try:
        with nginx(process.port, kind) as proxy:
            threads = [threading.Thread(target=work) for work in (stream, poll)]
            for thread in threads:
                thread.start()
            change()
            until(lambda: min(len(streamed), len(polled)) == written[0], 60)
            process.end(signal.SIGKILL)
            change()
            process.start()
            until(lambda: min(len(streamed), len(polled)) == written[0], 60)
            proxy.stop()
            change()
            proxy.start()
            until(lambda: min(len(streamed), len(polled)) == written[0], 60)
            proxy.reload()
            change()
            until(lambda: min(len(streamed), len(polled)) == written[0], 60)
            assert process.end(signal.SIGTERM) == 0
            process.start()
            is_last.set()
            change()
            for thread in threads:
                thread.join(60)
    finally:
        is_last.set()
        process.end(signal.SIGKILL)
    assert streamed == list(range(1, written[0] + 1))
    assert polled == list(range(1, written[0] + 1))
