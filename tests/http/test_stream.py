"""The stream of server-sent events: exact, resumable, bounded."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
import sqlalchemy as sa

import dmsjournal as dj
from tests.helpers import SCHOOL, STUDENT, change_content, document, write
from tests.http.conftest import READ, Running, settings_of, until
from tests.http.sse import Event, Events

Connections = list[sa.Connection]


@contextmanager
def streaming(running: Running, last_id: str = "", **asked: object) -> Iterator[Events]:
    headers = {"Last-Event-ID": last_id} if last_id else {}
    with running.client() as client, client.stream("GET", "/changefeed/stream", params=asked, headers=headers) as answer:
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        yield Events(answer.iter_lines(), last_id)


def sequences(events: Iterator[Event]) -> list[object]:
    return [event.data["sequence"] for event in events]


def test_a_stream_without_keep_alive_gives_what_is_there_and_ends(running: Running, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1, body={"a": "b\nc"}), document(SCHOOL, 1))
    with streaming(running, keep_alive=False) as events:
        first, second = events
    assert (first.type, first.id, first.data["sequence"], first.data["value"]) == ("message", "1", 1, '{"a":"b\\nc"}')
    assert (second.id, second.data["key"].split(":")[0]) == ("2", "schools")


def test_what_is_written_comes_as_it_becomes_safe(running: Running, db: dj.Journal, connections: Connections) -> None:
    held, other = connections
    write(db, document(STUDENT, 1), document(STUDENT, 2))
    held.exec_driver_sql("UPDATE dms.Document SET ContentVersion = ContentVersion + 1 WHERE DocumentId = 1")
    change_content(other, 2)
    with streaming(running, from_seq=2, heartbeat_ms=100, max_seconds=20) as events:
        threading.Timer(0.5, held.commit).start()
        assert sequences(next(events) for _ in range(2)) == [3, 4]
        assert "heartbeat" in events.comments  # nothing came before the commit


def test_last_event_id_resumes_and_overrides_from_seq(running: Running, db: dj.Journal) -> None:
    write(db, *(document(STUDENT, n) for n in range(4)))
    with streaming(running, last_id="2", from_seq=0, keep_alive=False) as events:
        assert sequences(events) == [3, 4]
    with streaming(running, last_id="4", from_seq=0, keep_alive=False) as events:
        assert sequences(events) == []
    with running.client() as client:
        for wrong in ("x", "-1", "1.0", "9223372036854775808", "\uff11"):
            answer = client.get("/changefeed/stream", headers={"Last-Event-ID": wrong.encode()})
            assert (answer.status_code, answer.json()["parameter"]) == (400, "Last-Event-ID")


def test_an_id_without_data_tells_what_a_prefix_left_out(running: Running, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1), document(SCHOOL, 1), document(SCHOOL, 2))
    with streaming(running, key_prefix="students:", keep_alive=False) as events:
        assert sequences(events) == [1]
        assert events.id == "3"
    with streaming(running, key_prefix="students:", heartbeat_ms=100, max_seconds=1) as events:
        assert sequences([next(events)]) == [1]
        assert list(events) == []
        assert (events.id, "heartbeat" in events.comments) == ("3", True)


def test_a_stream_ends_after_its_seconds(running: Running, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1))
    began = time.monotonic()
    with streaming(running, max_seconds=1) as events:
        assert sequences(events) == [1]
    assert 0.9 < time.monotonic() - began < 3
    until(lambda: running.waiting == 0)


def test_expired_is_an_event(running: Running, db: dj.Journal) -> None:
    write(db, *(document(STUDENT, n) for n in range(4)))
    db.prune(through=2)
    with streaming(running, from_seq=1) as events:
        [expired] = events
    assert (expired.type, expired.data["oldest"], expired.data["status"]) == ("expired", 3, 410)
    assert expired.data["type"] == "urn:dmsjournal:problem:checkpoint-expired"
    with streaming(running, last_id="9", versions="string") as events:
        [diverged] = events
    assert (diverged.type, diverged.data["checkpoint"]) == ("diverged", "9")


def test_expired_is_an_event_also_in_the_middle(url: str, db: dj.Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Retention passes a stream whose client is slow: it is told, and has no gap."""
    write(db, *(document(STUDENT, n, body={"text": "x" * 2000}) for n in range(40)))
    with Running(settings_of(url, largest_page=10)) as running:
        reader, read = running.server.service.reader, running.server.service.reader.read

        def pruned_after_the_second(after: int | None, *asked: object) -> object:
            if after == 20:
                db.prune(through=30)
            return read(after, *asked)

        monkeypatch.setattr(reader, "read", pruned_after_the_second)
        with streaming(running, from_seq=0) as events:
            *changes, last = events
    assert sequences(changes) == list(range(1, 21))
    assert (last.type, last.data["oldest"]) == ("expired", 31)


def test_streams_end_at_once_when_the_service_ends_and_resume_exactly(url: str, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1))
    with Running(settings_of(url)) as running, streaming(running, max_seconds=60) as events:
        assert sequences([next(events)]) == [1]
        write(db, document(SCHOOL, 1))
        assert sequences([next(events)]) == [2]
        began = time.monotonic()
        running.stop()
        assert list(events) == []
        assert time.monotonic() - began < 1.5
    write(db, document(SCHOOL, 2))
    with Running(settings_of(url)) as again, streaming(again, last_id=events.id, keep_alive=False) as events:
        assert sequences(events) == [3]


def test_a_long_poll_ends_at_once_and_a_page_finishes_when_the_service_ends(
    url: str, db: dj.Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(db, document(STUDENT, 1))
    answers: dict[str, httpx.Response] = {}
    with Running(settings_of(url)) as running:
        read, is_read = running.server.service.reader.read, threading.Event()

        def slowly(after: int | None, *asked: object) -> object:
            if after == 0:
                is_read.set()
                time.sleep(1)
            return read(after, *asked)

        monkeypatch.setattr(running.server.service.reader, "read", slowly)

        def get(name: str, **asked: object) -> None:
            with running.client() as client:
                answers[name] = client.get("/changefeed", params=asked)

        poll = threading.Thread(target=get, args=("poll",), kwargs={"from_seq": 1, "long_poll_ms": 60_000})
        page = threading.Thread(target=get, args=("page",), kwargs={"from_seq": 0})
        poll.start()
        until(lambda: running.waiting == 1 and running.server.service.database.pending == 0)
        page.start()
        assert is_read.wait(10)
        running.stop()
        poll.join(10)
        page.join(10)
    assert answers["poll"].json() == {"events": [], "count": 0, "latest_sequence": 1, "next_sequence": 1, "oldest_sequence": 1}
    assert answers["page"].json()["count"] == 1


def test_a_client_that_never_reads_is_cut_off_and_others_are_unharmed(url: str, db: dj.Journal) -> None:
    for _ in range(10):
        write(db, *(document(STUDENT, n, body={"text": "x" * 10_000, "n": time.monotonic()}) for n in range(100)))
    newest = db.versions().newest
    with Running(settings_of(url, send_seconds=1)) as running, socket.create_connection(("127.0.0.1", running.port)) as silent:
        silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        silent.sendall(
            f"GET /changefeed/stream?max_seconds=60 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {READ}\r\n\r\n".encode()
        )
        until(lambda: running.waiting == 1)
        with streaming(running, keep_alive=False) as events:
            assert sequences(events) == list(range(1, newest + 1))
        until(lambda: running.waiting == 0)
        until(lambda: not running.server.server_state.connections)


def test_a_client_that_leaves_in_the_middle_gives_its_place_back(running: Running, db: dj.Journal) -> None:
    write(db, *(document(STUDENT, n, body={"text": "x" * 10_000}) for n in range(100)))
    with streaming(running, max_seconds=60) as events:
        next(events)
    until(lambda: running.waiting == 0)


def test_who_waits_at_one_place_is_served_by_one_read(running: Running, db: dj.Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    write(db, document(STUDENT, 1))
    reads: list[object] = []
    reader, read = running.server.service.reader, running.server.service.reader.read
    monkeypatch.setattr(reader, "read", lambda *asked: (reads.append(asked), read(*asked))[1])
    found: list[list[object]] = []

    def follow() -> None:
        with streaming(running, from_seq=1, max_seconds=30) as events:
            found.append(sequences([next(events)]))

    threads = [threading.Thread(target=follow) for _ in range(10)]
    for thread in threads:
        thread.start()
    until(lambda: running.waiting == 10 and running.server.service.database.pending == 0)
    time.sleep(0.2)
    before = len(reads)
    write(db, document(STUDENT, 2))
    for thread in threads:
        thread.join(10)
    assert found == [[2]] * 10
    assert len(reads) - before <= 2
