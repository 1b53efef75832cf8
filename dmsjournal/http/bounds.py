"""What a request must keep to before a route sees it: its host's name, its body's size and time. And the last resort for errors."""

from __future__ import annotations

import asyncio
import logging
import re

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dmsjournal.http.access import is_whole
from dmsjournal.http.problems import FORBIDDEN, INVALID, TIMEOUT, TOO_LARGE, Refused, response_of
from dmsjournal.http.settings import Settings, is_loopback

logger = logging.getLogger("dmsjournal.http")

HEAD_BYTES = 32 * 1024


class Bounds:
    """ASGI middleware, inside of CORS: a page of another origin can read the answer to a request that is refused, too."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_begun = False

        async def noted(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            _check_head(scope)
            self._check_host(scope)
            self._check_length(scope)
            await self._app(scope, await self._bounded(scope, receive), noted)
        except Exception as error:
            if not isinstance(error, Refused):
                logger.exception("a request failed", extra={"action": "request_failed"})
            if not has_begun:
                await response_of(error, Request(scope))(scope, receive, send)

    def _check_host(self, scope: Scope) -> None:
        """Refuses names that are not this machine's where no token is needed: a page in a browser could point its own name here."""
        host = Headers(scope=scope).get("host", "")
        if not self._settings.tokens and not is_loopback(re.sub(r":\d+$", "", host)):
            raise Refused(FORBIDDEN, "without tokens the service answers to localhost, 127.0.0.1 and [::1] alone")

    def _check_length(self, scope: Scope) -> None:
        """Refuses too large a body before it is read, and one of two lengths: a proxy may take a part of it for another request."""
        headers = Headers(scope=scope)
        length = headers.get("content-length")
        if length is not None and "transfer-encoding" in headers:
            raise Refused(INVALID, "Content-Length does not go with Transfer-Encoding", {"Connection": "close"})
        if length is not None and is_whole(length) and int(length[:20]) > self._settings.body_bytes:
            raise self._too_large()

    async def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        """The request's body, read to its end. Raises Refused where it is too large or comes too slowly."""
        if scope["method"] in ("GET", "OPTIONS"):
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
                        raise self._too_large()
        except TimeoutError:
            raise Refused(TIMEOUT, "the body did not come in time", {"Connection": "close"}) from None
        pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replayed() -> Message:
            return pending.pop() if pending else await receive()

        return replayed

    def _too_large(self) -> Refused:
        return Refused(TOO_LARGE, f"more than {self._settings.body_bytes} bytes", {"Connection": "close"})


def _check_head(scope: Scope) -> None:
    """Refuses a head that came all at once, so that the protocol's own limit did not stop it."""
    fields = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
    if fields + len(scope.get("raw_path") or b"") + len(scope["query_string"]) > HEAD_BYTES:
        raise Refused(INVALID, f"the request's head has more than {HEAD_BYTES} bytes", {"Connection": "close"})
