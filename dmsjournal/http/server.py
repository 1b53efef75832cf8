"""The server: uvicorn, with guards against clients that connect and say nothing, and an end that lets pages finish."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
import socket
import ssl
from collections import OrderedDict
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol

from dmsjournal.errors import InvalidRequest
from dmsjournal.http.app import create_app
from dmsjournal.http.bounds import HEAD_BYTES
from dmsjournal.http.service import Service
from dmsjournal.http.settings import Settings
from dmsjournal.util.files import warn_if_readable
from dmsjournal.util.version import VERSION

logger = logging.getLogger("dmsjournal.http")

_SPARE_FILES = 200  # that are no clients' connections: the database's, logs, libraries
_BACKLOG = 1024
_TICKS = 10  # of uvicorn's in a second


class Server(uvicorn.Server):
    """uvicorn, which tells who waits for changes that it ends, before it waits for them."""

    def __init__(self, config: Config, service: Service, guard: _Guard) -> None:
        super().__init__(config)
        self.service, self._guard = service, guard
        self._files = _Files(config, service)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begins to listen. With TLS the guard is told of connections before their handshakes."""
        for door in sockets or ():
            if self.config.is_ssl and isinstance(door, _Door):
                door.guard = self._guard
        await super().startup(sockets)
        with suppress(ValueError, RuntimeError):  # in another thread than the first there are no signals
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._files.read)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Ends the server; at once at the second signal. The signal is not raised again: this is an end in order, with code 0."""
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True

    async def on_tick(self, counter: int) -> bool:
        """Once a second: whether to end. It takes tokens and certificates from files that have changed."""
        if counter % _TICKS == 0:
            self._files.read_changed()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends streams and long polls now, and lets the others finish."""
        self.service.waker.stop()
        await super().shutdown(sockets)


def server_of(settings: Settings) -> Server:
    """A server of the service, to be run. Raises InvalidRequest."""
    app = create_app(settings)
    service: Service = app.state.service
    _allow_files(settings.sockets + _SPARE_FILES)
    _check_certificate(settings)
    protocol = _guarded(settings)
    config = Config(
        app,
        host=settings.host,
        port=settings.port,
        loop="asyncio",  # another one accepts connections past the guard
        http=protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=settings.behind_proxy,
        forwarded_allow_ips=list(settings.trusted_proxies),
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key,
        timeout_keep_alive=max(1, round(settings.keep_alive_seconds)),
        timeout_graceful_shutdown=max(1, round(settings.grace_seconds)),
        h11_max_incomplete_event_size=HEAD_BYTES,
        backlog=_BACKLOG,
    )
    return Server(config, service, protocol.guard)


def listening(settings: Settings) -> socket.socket:
    """The socket that the service listens on. Raises InvalidRequest where it is not to be had."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # By its protocol asyncio knows that a connection may send at once: else a body waits 40 ms for its head to be acknowledged.
    found = _Door(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # inherited: who does not read for so long is cut off, whatever is still to be sent
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(settings.send_seconds * 1000))
    try:
        found.bind((settings.host.strip("[]"), settings.port))
        found.listen(_BACKLOG)  # now: who hears that it listens may connect at once
    except OSError as error:
        found.close()
        raise InvalidRequest("port", settings.port, f"{settings.host} cannot be listened on there ({error.strerror})") from error
    return found


def serve(settings: Settings) -> None:
    """Runs the service until it is told to stop (SIGTERM, SIGINT). Raises InvalidRequest."""
    server = server_of(settings)
    with listening(settings) as found:
        scheme = "https" if settings.has_tls else "http"
        where = f"{scheme}://{settings.host}:{found.getsockname()[1]}"
        logger.info("dmsjournal %s listens on %s", VERSION, where, extra={"action": "listening", "url": where})
        server.run(sockets=[found])
    logger.info("stopped", extra={"action": "stopped"})


class _Files:
    """The files of tokens and of the certificate. What they say is in force for new requests and new connections."""

    def __init__(self, config: Config, service: Service) -> None:
        self._config, self._service = config, service
        settings = service.settings
        self._paths = [path for path in (settings.token_file, settings.tls_certificate, settings.tls_key) if path is not None]
        self._seen = self._state()

    def read_changed(self) -> None:
        """Reads them again if one has changed."""
        if (state := self._state()) != self._seen:
            self._seen = state
            self.read()

    def read(self) -> None:
        """Reads them again. A file that makes no sense changes nothing, and is named in the log."""
        self._service.tokens.reread()
        settings = self._service.settings
        if self._config.ssl is not None and settings.tls_certificate is not None:
            try:
                _check_certificate(settings)
                self._config.ssl.load_cert_chain(settings.tls_certificate, settings.tls_key)
            except (InvalidRequest, OSError) as error:
                logger.error("the certificate stays as it was: %s", error, extra={"action": "certificate_refused"})

    def _state(self) -> list[tuple[int, int, int] | None]:
        return [_state_of(path) for path in self._paths]


def _state_of(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class _Door(socket.socket):
    """The socket that is listened on. It tells the guard of each connection; a protocol hears of one after its TLS handshake."""

    guard: _Guard | None = None

    def accept(self) -> tuple[socket.socket, Any]:
        """A connection, and whose it is."""
        found, address = super().accept()
        if self.guard is not None:
            self.guard.arrived(found)
        return found, address


class _Guard:
    """The connections that no request is on, the one that has been so for longest first; with TLS, handshakes before them."""

    def __init__(self, most: int, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._arriving: OrderedDict[int, socket.socket] = OrderedDict()  # by their numbers, until their handshakes are done
        self._made: Collection[object] = ()
        self._idle: OrderedDict[_Guarded, None] = OrderedDict()

    def arrived(self, connection: socket.socket) -> None:
        """A connection is there that has to do its handshake, in as much time as a request's head has to come."""
        number = connection.fileno()
        self._arriving[number] = connection
        self._arriving.move_to_end(number)
        asyncio.get_running_loop().call_later(self._seconds, self._too_late, number, connection)
        self._make_room()

    def admit(self, connection: _Guarded) -> None:
        """A new connection is there, after its handshake if it has one."""
        self._arriving.pop(connection.transport.get_extra_info("socket").fileno(), None)
        self._idle[connection] = None
        self._made = connection.connections
        self._make_room()

    def _make_room(self) -> None:
        """Where they are too many, the oldest idle one goes, which may be the new one; or a handshake, where these are the most."""
        while len(self._arriving) + len(self._made) > self._most:
            if self._idle and len(self._arriving) <= self._most // 2:
                oldest, _ = self._idle.popitem(last=False)
                oldest.cut_off()
                return  # it counts until it is lost, in a moment
            if not self._arriving:
                return
            _end(self._arriving.popitem(last=False)[1])

    def _too_late(self, number: int, connection: socket.socket) -> None:
        if self._arriving.get(number) is connection:
            del self._arriving[number]
            _end(connection)

    def is_idle(self, connection: _Guarded, idle: bool) -> None:
        """Notes whether a connection is idle."""
        if idle:
            self._idle[connection] = None
        else:
            self._idle.pop(connection, None)


class _Guarded(H11Protocol):
    """uvicorn's protocol; a request's head has to come in time, and idle connections give way to new ones.

    uvicorn has no setting for either: `timeout_keep_alive` begins after a response, and `limit_concurrency` counts connections.
    With limit_concurrency=100, 100 connections that sent nothing made it answer 503 to everybody, as long as they were open (101 s
    in the test). With this class such a connection lasts `header_seconds` at most: tests/http/test_security.py.
    """

    guard: _Guard
    header_seconds: float

    def __init__(self, config: Config, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state | {"abort": self.cut_off}, _loop)
        self._head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head = self.loop.call_later(self.header_seconds, self.cut_off)
        self.guard.admit(self)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._note()
        if self._is_busy():
            self._head_is_there()
        elif self._head is None:  # the next request on this connection has begun
            self._head = self.loop.call_later(self.header_seconds, self.cut_off)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._note()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_there()
        self.guard.is_idle(self, False)
        super().connection_lost(exc)

    def cut_off(self) -> None:
        """Ends the connection at once, whatever is still to be sent."""
        if self.transport is not None:
            self.transport.abort()

    def _note(self) -> None:
        self.guard.is_idle(self, not self._is_busy() and not self.transport.is_closing())

    def _is_busy(self) -> bool:
        """Whether a request is being answered; one that came together with the one before begins when that is answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def _head_is_there(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None


def _end(connection: socket.socket) -> None:
    """Ends a connection that belongs to the loop, which closes it then; it may have ended by itself."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _guarded(settings: Settings) -> type[_Guarded]:
    """The protocol of one server: its connections have one guard."""

    class Guarded(_Guarded):
        guard = _Guard(settings.sockets, settings.header_seconds)
        header_seconds = settings.header_seconds

    return Guarded


def _check_certificate(settings: Settings) -> None:
    """Raises InvalidRequest for files that TLS cannot be had with, before anything says that it listens."""
    if settings.tls_certificate is not None:
        if settings.tls_key is not None:
            warn_if_readable(settings.tls_key, "the TLS key")
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(settings.tls_certificate, settings.tls_key)
        except OSError as error:  # ssl.SSLError is one
            files = f"{settings.tls_certificate}, {settings.tls_key}"
            raise InvalidRequest("tls_cert", files, f"they are no certificate and its key ({error.strerror or error})") from error


def _allow_files(wanted: int) -> None:
    """Raises the process's limit of open files, where it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        if most < wanted:
            raise InvalidRequest(
                "sockets", wanted - _SPARE_FILES, f"the system allows {most} open files: raise its limit (ulimit -n)"
            )
