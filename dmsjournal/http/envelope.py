"""What is around every request: its id, log line and metrics, every response's headers, limits, and the last resort for errors."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dmsjournal.http import logs
from dmsjournal.http.metrics import Metrics
from dmsjournal.http.problems import FORBIDDEN, INVALID, TIMEOUT, TOO_LARGE, Refused, response_of
from dmsjournal.http.settings import Settings, is_loopback

logger = logging.getLogger("dmsjournal.http")

_ID = re.compile(r"[\w.-]{1,64}")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})  # others are one to metrics
_HEADERS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


class Envelope:
    """ASGI middleware; pure, since those of Starlette's that are functions hold streams back."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self._app, self._settings, self._metrics = app, settings, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        asked = Headers(scope=scope).get("x-request-id", "")
        id_ = asked if _ID.fullmatch(asked) else secrets.token_hex(8)
        logs.request_id.set(id_)
        response = _Response(send, self._headers(id_))
        began = time.monotonic()
        try:
            self._check_host(scope)
            _check_length(scope)
            await self._app(scope, await self._bounded(scope, receive), response.send)
        except Refused as error:
            await self._answer(error, scope, receive, response)
        except Exception as error:
            logger.exception("a request failed", extra={"action": "request_failed"})
            await self._answer(error, scope, receive, response)
        finally:
            self._tell(scope, response, time.monotonic() - began)

    def _headers(self, id_: str) -> dict[str, str]:
        headers = {**_HEADERS, "X-Request-ID": id_}
        if self._settings.has_tls or self._settings.behind_proxy:
            headers["Strict-Transport-Security"] = "max-age=31536000"
        return headers

    async def _answer(self, error: Exception, scope: Scope, receive: Receive, response: _Response) -> None:
        if response.status is None:
            await response_of(error, Request(scope))(scope, receive, response.send)

    def _check_host(self, scope: Scope) -> None:
        """Refuses names that are not this machine's where no token is needed: a page in a browser could point its own name here."""
        host = Headers(scope=scope).get("host", "")
        if not self._settings.tokens and not is_loopback(re.sub(r":\d+$", "", host)):
            raise Refused(FORBIDDEN, "without tokens the service answers to localhost, 127.0.0.1 and [::1] alone")

    async def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        """The request's body, read to its end. Raises Refused where it is too large or comes too slowly."""
        if scope["method"] in ("GET", "HEAD", "OPTIONS"):
            return receive
        body, more = b"", True
        try:
            async with asyncio.timeout(self._settings.header_seconds):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        break
                    body, more = body + message.get("body", b""), message.get("more_body", False)
                    if len(body) > self._settings.body_bytes:
                        raise Refused(TOO_LARGE, f"more than {self._settings.body_bytes} bytes", {"Connection": "close"})
        except TimeoutError:
            raise Refused(TIMEOUT, "the body did not come in time", {"Connection": "close"}) from None
        pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replayed() -> Message:
            return pending.pop() if pending else await receive()

        return replayed

    def _tell(self, scope: Scope, response: _Response, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        status = response.status or 499  # the client left before there was one
        self._metrics.observe(route, method, status, seconds)
        logger.info(
            "%s %s %d",
            method,
            route,
            status,
            extra={
                "action": "request",
                "method": method,
                "route": route,
                "path": scope["path"][:500],  # the query may name people: it stays out
                "status": status,
                "seconds": round(seconds, 4),
                "bytes": response.bytes,
                "client": scope["client"][0] if scope.get("client") else None,
                "token": scope.get("state", {}).get("token"),
            },
        )


def _check_length(scope: Scope) -> None:
    """Refuses a body of two lengths: a proxy may take a part of it for another client's request."""
    if {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}:
        raise Refused(INVALID, "Content-Length does not go with Transfer-Encoding", {"Connection": "close"})


class _Response:
    """The response on its way out."""

    def __init__(self, send: Send, headers: Mapping[str, str]) -> None:
        self._send, self._headers = send, headers
        self.status: int | None = None
        self.bytes = 0

    async def send(self, message: Message) -> None:
        """Sends a message, with the headers that each response has."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in self._headers.items():
                headers.setdefault(name, value)
        elif message["type"] == "http.response.body":
            self.bytes += len(message.get("body", b""))
        await self._send(message)
