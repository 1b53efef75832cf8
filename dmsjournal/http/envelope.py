"""What is around every request: its id, log line and metrics, and the headers that every response has."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dmsjournal.http import logs
from dmsjournal.http.access import address_of
from dmsjournal.http.metrics import Metrics
from dmsjournal.http.settings import Settings

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
        inner = dict(scope)
        if scope["method"] == "HEAD":  # a GET without its body, which the server itself leaves out
            inner["method"], receive = "GET", _gone_after(receive)
        try:
            await self._app(inner, receive, response.send)
        finally:
            self._record(inner | {"method": scope["method"]}, response, time.monotonic() - began)

    def _headers(self, id_: str) -> dict[str, str]:
        headers = {**_HEADERS, "X-Request-ID": id_}
        if self._settings.has_tls or self._settings.behind_proxy:
            headers["Strict-Transport-Security"] = "max-age=31536000"
        return headers

    def _record(self, scope: Scope, response: _Response, seconds: float) -> None:
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
                "client": address_of(scope),
                "token": scope.get("state", {}).get("token"),
            },
        )


def _gone_after(receive: Receive) -> Receive:
    """A client that leaves once it has sent its request: a stream has no end of its own."""
    is_read = False

    async def received() -> Message:
        nonlocal is_read
        if is_read:
            return {"type": "http.disconnect"}
        is_read = True
        return await receive()

    return received


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
