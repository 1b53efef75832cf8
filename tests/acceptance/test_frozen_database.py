"""A database that does not answer and says nothing, such as a stopped machine: a wait for it can be ended within a second."""

import asyncio
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.database import postgres
from tests.acceptance.proxy import Proxy
from tests.helpers import STUDENT, document, write

SOON = 2.5  # seconds: one, and what a busy machine adds


@pytest.fixture
def proxy(url: str, journal: dj.Journal) -> Iterator[Proxy]:
    write(journal, *(document(STUDENT, n) for n in range(3)))
    with Proxy(url) as proxy:
        yield proxy


@pytest.mark.parametrize("has_checkpoint", [False, True], ids=["a page", "a checkpoint"])
def test_an_async_consumer_is_cancelled(proxy: Proxy, has_checkpoint: bool) -> None:
    """The race: the call is in a thread that does not come back; neither the iterator nor the loop's end waits for it."""
    ended: list[float] = []

    async def consume(db: dj.Journal) -> None:
        kept = dj.DatabaseCheckpoint(db, "crm") if has_checkpoint else None
        try:
            async with dj.AsyncFeedIterator(db, checkpoint=kept) as events:
                proxy.freeze()
                await anext(events)
        finally:
            ended.append(time.monotonic())

    async def main(db: dj.Journal) -> float:
        consumer = asyncio.create_task(consume(db))
        while not proxy.is_frozen.is_set():
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
        assert not consumer.done()
        began = time.monotonic()
        consumer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await consumer
        return began

    with dj.connect(proxy.url) as db:
        db.versions()
        began = asyncio.run(main(db))
    assert ended[0] - began < SOON
    assert time.monotonic() - began < SOON, "the loop's end, and the journal's, do not wait either"


def test_a_blocking_consumer_is_stopped(proxy: Proxy) -> None:
    with dj.connect(proxy.url) as db:
        db.versions()
        proxy.freeze()
        stopping = threading.Timer(0.3, lambda: events.stop())
        with dj.FeedIterator(db) as events:
            stopping.start()
            assert list(events) == []
            stopped = time.monotonic()
        assert time.monotonic() - stopped < SOON
    stopping.join()


def test_feeds_leave_the_programs_own_threads_alone(proxy: Proxy) -> None:
    """More feeds wait for the database than the event loop's default executor has threads."""

    async def main(db: dj.Journal) -> float:
        feeds = [dj.AsyncFeedIterator(db) for _ in range(40)]
        steps = [asyncio.ensure_future(anext(feed)) for feed in feeds]
        await asyncio.sleep(0.5)
        began = time.monotonic()
        assert await asyncio.to_thread(lambda: 7) == 7
        took = time.monotonic() - began
        for step in steps:
            step.cancel()
        await asyncio.gather(*steps, return_exceptions=True)
        await asyncio.gather(*(feed.__aexit__(None, None, None) for feed in feeds))
        return took

    with dj.connect(proxy.url) as db:
        db.versions()
        proxy.freeze()
        assert asyncio.run(main(db)) < 1


def begun(url: str, *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "dmsjournal", *arguments, "--url", url]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it, and what they start
    )


def interrupted(process: "subprocess.Popen[str]") -> tuple[float, int, str]:
    """How long a process goes on after Ctrl-C, its exit code, and what it says."""
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    return time.monotonic() - began, process.returncode, errors


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C of another process")
@pytest.mark.parametrize(
    "arguments",
    [
        ["versions"],
        ["changes", "Student"],
        ["feed"],
        ["feed", "--checkpoint", "{folder}/token"],
        ["prune", "--through", "1"],
        ["verify"],
    ],
    ids=" ".join,
)
def test_ctrl_c_ends_a_command(proxy: Proxy, arguments: list[str], tmp_path: Path) -> None:
    proxy.freezes_at = "horizon"
    process = begun(proxy.url, *(each.format(folder=tmp_path) for each in arguments))
    assert proxy.is_frozen.wait(30)
    time.sleep(0.3)
    took, code, errors = interrupted(process)
    assert (code, errors) == (130, "interrupted\n")
    assert took < SOON
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C of another process")
def test_a_second_ctrl_c_ends_a_delivery(proxy: Proxy, tmp_path: Path) -> None:
    """The first one lets it save its place, for which it waits for the database."""
    process = begun(proxy.url, "deliver", "--consumer", "crm", "--files", str(tmp_path / "files"), "--from-beginning")
    while not list(tmp_path.glob("files/*")):
        time.sleep(0.05)
        assert process.poll() is None
    proxy.freeze()
    process.send_signal(signal.SIGINT)
    time.sleep(1)
    assert process.poll() is None
    took, code, _ = interrupted(process)
    assert code == 130
    assert took < SOON


@pytest.fixture
def mute_server() -> Iterator[socket.socket]:
    """It takes connections and says nothing. It can be read once the first one is there."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.fixture
def mute(url: str, mute_server: socket.socket) -> str:
    """The URL of the server that says nothing."""
    made = sa.make_url(url).set(host="127.0.0.1", port=mute_server.getsockname()[1])
    return made.render_as_string(hide_password=False)


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C of another process")
def test_ctrl_c_ends_a_login(mute: str, mute_server: socket.socket) -> None:
    process = begun(mute, "versions")
    assert select.select([mute_server], [], [], 30)[0]
    time.sleep(0.3)
    took, code, errors = interrupted(process)
    assert (code, errors) == (130, "interrupted\n")
    assert took < SOON


def test_a_login_ends_by_itself(mute: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten seconds, without a word of the user's: two here, to be quick."""
    monkeypatch.delenv("PGCONNECT_TIMEOUT", raising=False)
    monkeypatch.setattr(postgres, "LOGIN_SECONDS", 2)
    monkeypatch.setattr("dmsjournal.database.sqlserver._LOGIN_SECONDS", 2)
    began = time.monotonic()
    with dj.connect(mute) as db, pytest.raises(dj.Unavailable, match="try again when it is up"):
        db.versions()
    assert time.monotonic() - began < 15
