"""Tickets: what a browser's EventSource, which can send no header, puts into a URL in place of a token.

A ticket names the token that asked for it, is good for streams alone, ends within the hour, and never has the token itself in it.
It is a signed text, kept nowhere: it ends at once when the token is taken out of the file of tokens or expires.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Iterable

import msgspec

from dmsjournal.http.security import Scope, Token

LONGEST_SECONDS = 3600
_FORM = "t1"


class _Said(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    token: str
    expires: int
    resources: list[str] | None


class Tickets:
    """Makes tickets, and reads them again."""

    def __init__(self, secret: bytes | None = None, clock: Callable[[], float] = time.time) -> None:
        self._secret, self._clock = secret or secrets.token_bytes(32), clock

    def issue(self, token: Token, seconds: int, resources: Iterable[str] | None = None) -> tuple[str, int]:
        """A ticket of a token, and when it ends, in seconds since 1970. `resources` are the only ones that it may read."""
        expires = int(self._clock()) + seconds
        said = base64.urlsafe_b64encode(
            msgspec.json.encode(_Said(token.name, expires, None if resources is None else sorted(resources)))
        ).decode()
        return f"{_FORM}.{said}.{self._signature(said)}", expires

    def token_of(self, ticket: str, tokens: Iterable[Token], anonymous: Token | None = None) -> Token | None:
        """What the ticket may do: its token, with the scope read and its resources alone. None where it is none, or has ended."""
        form, _, rest = ticket.partition(".")
        said, _, signature = rest.partition(".")
        if form != _FORM or not hmac.compare_digest(signature.encode(), self._signature(said).encode()):
            return None
        try:
            found = msgspec.json.decode(base64.b64decode(said, altchars=b"-_", validate=True), type=_Said)
        except (binascii.Error, ValueError, msgspec.MsgspecError):
            return None
        known = [*tokens, *([] if anonymous is None else [anonymous])]
        token = next((each for each in known if each.name == found.token), None)
        now = self._clock()
        if token is None or now >= found.expires or Scope.READ not in token.scopes:
            return None
        if token.expires is not None and now >= token.expires.timestamp():
            return None
        narrowed = token.resources
        if found.resources is not None:
            asked = frozenset(found.resources)
            narrowed = asked if narrowed is None else asked & narrowed
        return msgspec.structs.replace(token, scopes=frozenset({Scope.READ}), resources=narrowed)

    def _signature(self, said: str) -> str:
        return hmac.new(self._secret, f"{_FORM}.{said}".encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
