"""The service, in process for its routes, and on a socket of loopback's where that matters."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import msgspec
import pytest
from starlette.testclient import TestClient

import dmsjournal as dj
from dmsjournal.http.app import create_app
from dmsjournal.http.security import Token, new_token
from dmsjournal.http.server import Server, listening, server_of
from dmsjournal.http.settings import Settings

if TYPE_CHECKING:
    from tests.conftest import PostgresServer

READ, READ_TOKEN = new_token("reader")
ADMIN, ADMIN_TOKEN = new_token("admin", scopes=["read", "admin"])
STUDENTS, STUDENTS_TOKEN = new_token("students only", resources=["ed-fi/students"])
EXPIRED, _MADE = new_token("expired")
EXPIRED_TOKEN = msgspec.structs.replace(_MADE, expires=datetime(2026, 1, 1, tzinfo=UTC))
TOKENS: tuple[Token, ...] = (READ_TOKEN, ADMIN_TOKEN, STUDENTS_TOKEN, EXPIRED_TOKEN)

NOWHERE = "postgresql+psycopg://nobody:nothing@127.0.0.1:1/nowhere"  # for what needs no database


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def settings_of(url: str, **changed: Any) -> Settings:
    """What a test's service runs with: tokens, no rate."""
    return replace(Settings(url, admin_url=url, tokens=TOKENS, rate=0, port=0, connections=4), **changed)


@contextmanager
def in_process(settings: Settings) -> Iterator[TestClient]:
    """A client of the service in this process, which reads with a token."""
    headers = bearer(READ) if settings.tokens else {}
    with TestClient(create_app(settings), base_url="http://127.0.0.1", headers=headers) as client:
        yield client


class Running:
    """A server on loopback, in a thread."""

    def __init__(self, settings: Settings) -> None:
        self.server: Server = server_of(settings)
        self._socket = listening(settings)
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self._socket]})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def waiting(self) -> int:
        """How many long polls and streams are open."""
        return self.server.service.waiting.count

    def __enter__(self) -> Running:
        self._thread.start()
        while not self.server.started:
            assert self._thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._thread.join(20)
        assert not self._thread.is_alive(), "the server did not stop"

    def stop(self) -> None:
        """Tells it to end, as SIGTERM does."""
        self.server.should_exit = True

    def connect(self) -> socket.socket:
        """A connection that nothing was said on yet."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def client(self, token: str = READ, **more: Any) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers=bearer(token), timeout=20, **more)


class Process:
    """`dmsjournal serve`, as a process that may be killed."""

    def __init__(self, url: str, tokens: Path, port: int = 0) -> None:
        self.url = ""
        self._command = [sys.executable, "-m", "dmsjournal", "serve", "--tokens", str(tokens), "--rate", "0"]
        self._environment = {**os.environ, "DMSJOURNAL_URL": url}
        self.port = port
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        command = [*self._command, "--port", str(self.port)]
        self.process = subprocess.Popen(command, env=self._environment, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        for line in self.process.stderr:
            told = msgspec.json.decode(line)
            if told.get("action") == "listening":
                self.url, self.port = told["url"], int(told["url"].rpartition(":")[2])
                break
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def end(self, how: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(how)
        return self.process.wait(20)


@pytest.fixture
def client(url: str) -> Iterator[TestClient]:
    with in_process(settings_of(url)) as client:
        yield client


@pytest.fixture(scope="module")
def quiet(postgres_server: PostgresServer) -> Iterator[TestClient]:
    """A client of a service whose database no test of the module writes to."""
    with postgres_server.copy_of_template() as url, in_process(settings_of(url)) as client:
        yield client


@pytest.fixture
def running(url: str) -> Iterator[Running]:
    with Running(settings_of(url)) as running:
        yield running


@pytest.fixture
def process(url: str, tmp_path: Path) -> Iterator[Process]:
    tokens = tmp_path / "tokens.json"
    tokens.touch(mode=0o600)  # what others can read draws a warning, which is no line of JSON
    tokens.write_bytes(msgspec.json.encode([READ_TOKEN]))
    process = Process(url, tokens)
    process.start()
    yield process
    if process.process is not None and process.process.poll() is None:
        process.end(signal.SIGKILL)


@pytest.fixture
def db(journal: dj.Journal) -> dj.Journal:
    """The journal of the service's database, for a test to write with."""
    return journal


def until(condition: Callable[[], object], seconds: float = 10) -> None:
    """Waits for a condition; fails where it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.01)
