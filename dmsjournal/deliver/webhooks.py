"""One attempt to deliver a webhook: a signed POST, and what its answer means. Never a redirect, a cookie or a log line of its own.

The URL may hold secrets wherever it likes, as those of many services do, so its origin alone is ever shown.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import unquote

from dmsjournal.deliver.signatures import Signer
from dmsjournal.errors import InvalidRequest, UnsupportedCapability
from dmsjournal.util.loopback import is_loopback
from dmsjournal.util.printable import printable
from dmsjournal.util.retry_after import seconds_of
from dmsjournal.util.version import VERSION

if TYPE_CHECKING:
    import httpx

_READ = 2_000  # bytes of an answer
_PORTS = range(1, 65_536)
_KEPT = 300  # characters of it
_REST = 0.1  # seconds for the rest of a good answer: all that it is read for is to keep the connection


class Verdict(Enum):
    """What an answer means for the events of the request."""

    DELIVERED = auto()  # 2xx
    LATER = auto()  # the receiver is not there, or asks for time: no fault of the events
    FAILED = auto()  # it may be an event's fault, and may go better next time
    REFUSED = auto()  # this body will never do
    GONE = auto()  # this URL will never do


_LATER = {429, 503}
_REFUSED = {400, 413, 415, 422}


@dataclass(frozen=True, slots=True)
class Answer:
    """The end of an attempt. `reason` has no secret of ours in it. `delay` is what the receiver asks for, in seconds."""

    verdict: Verdict
    reason: str
    delay: float = 0.0


class _StaleConnection(Exception):
    """A connection that was kept from the request before ended before a byte of an answer came."""


class Webhook:
    """A receiver's URL, to which one request after another is sent. An attempt has `timeout` seconds up to the answer's head.

    http:// is taken for this machine only, unless `allow_http`. Certificates are verified, against `ca_file` too. `proxy` is
    an HTTP proxy's URL. Enter it, and use it from one thread. Raises InvalidRequest, UnsupportedCapability.
    """

    def __init__(
        self,
        url: str,
        signer: Signer,
        *,
        timeout: float = 15.0,
        ca_file: Path | None = None,
        proxy: str | None = None,
        allow_http: bool = False,
    ) -> None:
        parsed = _parsed(url)
        if parsed.scheme != "https" and not (allow_http or is_loopback(parsed.host)):
            raise InvalidRequest("to", _origin(parsed), "http:// would show the events to every machine on the way: use https://")
        self.name = _origin(parsed)
        self._signer, self._timeout = signer, timeout
        self._url = parsed.copy_with(username=None, password=None)
        self._transport = _transport(parsed.scheme == "https", ca_file, proxy)
        self._headers = {"user-agent": f"dmsjournal/{VERSION}", "accept-encoding": "identity"}
        self._secrets = [text for text in (unquote(parsed.password or ""), parsed.query.decode(), parsed.path) if len(text) > 1]
        if parsed.username or parsed.password:
            basic = base64.b64encode(f"{parsed.username}:{parsed.password}".encode()).decode()
            self._headers["authorization"] = f"Basic {basic}"
            self._secrets.append(basic)

    def __enter__(self) -> Webhook:
        self._runner = asyncio.Runner()  # for one deadline over all of an attempt, however slowly the receiver drips
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with suppress(Exception):
            self._runner.run(self._transport.aclose())
        self._runner.close()

    def post(self, id_: str, content_type: str, body: bytes) -> Answer:
        """One attempt."""
        return self._runner.run(self._post(id_, content_type, body))

    async def _post(self, id_: str, content_type: str, body: bytes) -> Answer:
        import httpx

        try:
            async with asyncio.timeout(self._timeout):
                try:
                    response = await self._sent(id_, content_type, body)
                except _StaleConnection:  # no fault of the event, and no try: a new connection is made at once
                    response = await self._sent(id_, content_type, body)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            return Answer(Verdict.LATER, self._hidden(f"no connection ({error or type(error).__name__})"))
        except TimeoutError:
            return Answer(Verdict.FAILED, f"no answer within {self._timeout:g} s")
        except httpx.HTTPError as error:
            return Answer(Verdict.FAILED, self._hidden(f"the connection broke ({error or type(error).__name__})"))
        is_taken = 200 <= response.status_code < 300
        text = await self._text(response, _REST if is_taken else self._timeout)
        return _answer(response, self._hidden(text))

    async def _sent(self, id_: str, content_type: str, body: bytes) -> httpx.Response:
        """The response, its head alone. Raises _StaleConnection where the receiver had closed a connection that was kept."""
        import httpx

        is_new = has_answered = False

        async def trace(event: str, _: object) -> None:
            nonlocal is_new, has_answered
            is_new |= event.startswith("connection.connect_")
            has_answered |= event == "http11.receive_response_headers.complete"

        signed = self._signer.headers(id_, int(time.time()), body)
        headers = {**self._headers, **signed, "content-type": content_type}
        # A shorter time to connect tells a receiver that is not there from a slow one.
        extensions = {"timeout": {"connect": self._timeout / 3}, "trace": trace}
        request = httpx.Request("POST", self._url, headers=headers, content=body, extensions=extensions)
        try:
            return await self._transport.handle_async_request(request)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError) as error:
            if is_new or has_answered:
                raise
            raise _StaleConnection from error

    async def _text(self, response: httpx.Response, seconds: float) -> str:
        """The beginning of an answer. Whether it can be read changes nothing: its status has come."""
        read = b""
        with suppress(Exception):
            try:
                async with asyncio.timeout(seconds):
                    async for part in response.aiter_raw():
                        read += part[:_READ]
                        if len(read) > _READ:
                            break
            finally:
                await response.aclose()  # the connection is kept, if all was read
        return printable(" ".join(read[:_READ].decode("utf-8", "replace").split()))

    def _hidden(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text[:_KEPT]


def _answer(response: httpx.Response, text: str) -> Answer:
    status = response.status_code
    reason = f"answered {status}" + (f": {text}" if text else "")
    if 200 <= status < 300:
        return Answer(Verdict.DELIVERED, f"answered {status}")
    if status == 410 or 300 <= status < 400:
        return Answer(Verdict.GONE, reason)
    if status in _REFUSED:
        return Answer(Verdict.REFUSED, reason)
    return Answer(Verdict.LATER if status in _LATER else Verdict.FAILED, reason, seconds_of(response.headers.get("retry-after")))


def _parsed(url: str) -> httpx.URL:
    """Raises InvalidRequest, which shows nothing of the URL."""
    try:
        import httpx
    except ModuleNotFoundError as error:
        raise UnsupportedCapability("webhooks need httpx", "pip install 'dmsjournal[deliver]'") from error
    written = InvalidRequest("to", "***", "write it as https://host/path")
    try:
        parsed = httpx.URL(url)
        host = parsed.host
        parsed.raw_host.decode("ascii").encode("idna")  # as the connection will look it up
    except (httpx.InvalidURL, TypeError, ValueError):  # an error of IDNA is a ValueError
        raise written from None
    if parsed.scheme not in ("http", "https") or not host or _port(parsed) not in _PORTS:
        raise written
    return parsed


def _port(url: httpx.URL) -> int:
    return 443 if url.port is None else url.port


def _origin(url: httpx.URL) -> str:
    return str(url.copy_with(username=None, password=None, path="/", query=None, fragment=None)).rstrip("/")


def _transport(is_tls: bool, ca_file: Path | None, proxy: str | None) -> httpx.AsyncHTTPTransport:
    """Without a client above it nothing is followed, kept between requests, taken from a .netrc or logged."""
    import httpx

    # Without TLS one that trusts nobody, as reading all of the authorities takes its time.
    context = httpx.create_ssl_context() if is_tls or proxy is not None else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if ca_file is not None:
        try:
            context.load_verify_locations(cafile=ca_file)
        except OSError as error:  # ssl.SSLError is one
            raise InvalidRequest("ca_file", str(ca_file), f"it is no file of certificates ({error.strerror or error})") from error
    try:
        if proxy is not None and _port(httpx.URL(proxy)) not in _PORTS:
            raise ValueError
        return httpx.AsyncHTTPTransport(verify=context, proxy=proxy, limits=httpx.Limits(max_connections=1))
    except (ImportError, ValueError, httpx.InvalidURL):
        raise InvalidRequest("proxy", "***", "write it as http://host:port; a SOCKS proxy is not supported") from None
