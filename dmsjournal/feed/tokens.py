"""Tokens: a place in a feed as opaque text, that can be stored anywhere and tells where it does not belong.

URL-safe Base64 of JSON without blanks, in this order: {"v": version of the envelope, "p": provider, "r": what it belongs to, "c":
cursor, "o": scope and filters}. `r` is three prefixes of SHA-256 in hexadecimal, joined by dots: of the database, the scope and the
filters. `c` is the provider's cursor and, as its last element, a check of all the rest. `o` is for a reader who keeps nothing but
the token; it is left out where all is wanted, or where the token would be too long. The check finds damage; it is no
signature: a reader who may read the feed may read it from anywhere, by a token of his own making.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from dmsjournal.errors import InvalidRequest

VERSION = 1
LONGEST = 16 * 1024
_LONGEST_CARRIER = 4096  # of a token that carries its scope and filters: what a registered consumer's column holds
ALL = ("all", "{}")  # the scope and the filters of a token that carries none

Cursor: TypeAlias = list[int | str | None]


@dataclass(frozen=True, slots=True)
class Belonging:
    """What tokens belong to: a provider, a database, a scope and filters."""

    provider: str
    database: str
    scope: str
    filters: str

    @property
    def _fingerprint(self) -> str:
        return ".".join(_digest(text) for text in (self.database, self.scope, self.filters))

    def token(self, cursor: Cursor) -> str:
        """The token of a place. Raises InvalidRequest where it becomes longer than 16 KiB."""
        bare = _Envelope(VERSION, self.provider, self._fingerprint, cursor)
        own = (self.scope, self.filters)
        token = _encoded(bare if own == ALL else msgspec.structs.replace(bare, o=own))
        if len(token) > _LONGEST_CARRIER:
            token = _encoded(bare)
        if len(token) > LONGEST:
            raise InvalidRequest("scope", self.scope, "it has too many partitions for a token: read them one by one")
        return token

    def cursor(self, token: object) -> Cursor:
        """The place of a token. Raises InvalidRequest for one that belongs elsewhere, which says where it differs, or is none."""
        envelope = _decoded(token)
        if envelope.p != self.provider:
            differs = f"it is of another provider, {envelope.p}; this one is {self.provider}"
            raise InvalidRequest("token", token, f"{differs}: use it where it was made, or start anew")
        mine, theirs = self._fingerprint.split("."), envelope.r.split(".")
        for name, here, there in zip(("database", "scope", "filter"), mine, theirs, strict=True):
            if here != there:
                raise InvalidRequest("token", token, f"it is of another {name}: use it where it was made, or start anew")
        return envelope.c


def scope_and_filters_of(token: object) -> tuple[str, str]:
    """The texts of the scope and the filters that a token carries; ALL where it carries none. Raises InvalidRequest."""
    return _decoded(token).o or ALL


def cursor_of(token: object) -> Cursor:
    """The place of a token, wherever it belongs. Raises InvalidRequest for one that is none."""
    return _decoded(token).c


class _Envelope(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    v: int
    p: str
    r: str
    c: list[int | str | None]
    o: tuple[str, str] | None = None


class _Version(msgspec.Struct):
    v: int


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _encoded(envelope: _Envelope) -> str:
    check = _digest(msgspec.json.encode(envelope).decode("utf-8"))
    checked = msgspec.structs.replace(envelope, c=[*envelope.c, check])
    return base64.urlsafe_b64encode(msgspec.json.encode(checked)).decode("ascii")


def _decoded(token: object) -> _Envelope:
    """The envelope, without its check. Raises InvalidRequest for whatever is not exactly as a token is written."""
    damaged = InvalidRequest("token", token, "it is damaged, or no token: pass the token of a page, unchanged")
    if not isinstance(token, str) or not token.isascii() or not 1 <= len(token) <= LONGEST:
        raise damaged
    try:
        text = base64.b64decode(token, altchars=b"-_", validate=True)
        version = msgspec.json.decode(text, type=_Version).v
        if version != VERSION:
            raise InvalidRequest("token", token, f"its version is {version}, this program knows {VERSION}: upgrade, or start anew")
        envelope = msgspec.json.decode(text, type=_Envelope)
    except (binascii.Error, ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise damaged from error
    if not envelope.c or envelope.r.count(".") != 2:
        raise damaged
    bare = msgspec.structs.replace(envelope, c=envelope.c[:-1])
    if _encoded(bare) != token:
        raise damaged
    return bare
