"""Who asks: bearer tokens, of which only hashes are kept, and what each may do.

A token is 256 random bits, so its SHA-256 tells nothing of it and needs no salt.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from dmsjournal.errors import InvalidRequest

if TYPE_CHECKING:
    from dmsjournal.http.names import ResourceNames
    from dmsjournal.resources import ResourceKey

PREFIX = "dmsj_"  # by which scanners find one where it should not be


class Scope(StrEnum):
    """What a token is for."""

    READ = "read"
    ADMIN = "admin"


class Token(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A token as it is kept: its hash, and what it may do.

    `resources`: the only ones that it may read, by path or by name, None for all. `streams`: how many waiting requests it may have
    at once. `expires` has a time zone.
    """

    name: str
    sha256: str
    scopes: frozenset[Scope] = frozenset({Scope.READ})
    resources: frozenset[str] | None = None
    streams: int | None = None
    expires: datetime | None = None

    def may_read(self, resource: ResourceKey, names: ResourceNames) -> bool:
        """Whether it may read a resource."""
        return names.is_among(resource, self.resources)


ANONYMOUS = Token(name="anonymous", sha256="")  # where no tokens are: on loopback


def digest(text: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def new_token(name: str, **rights: object) -> tuple[str, Token]:
    """A new token's text, which is kept nowhere, and what is kept of it."""
    text = PREFIX + secrets.token_urlsafe(32)
    return text, checked(msgspec.convert({"name": name, "sha256": digest(text), **rights}, Token))


def read_tokens(text: str | bytes, source: str = "tokens") -> tuple[Token, ...]:
    """The tokens of a JSON array. Raises InvalidRequest, which shows none of it."""
    try:
        found = msgspec.json.decode(text, type=list[Token])
    except msgspec.MsgspecError as error:
        raise InvalidRequest(source, "***", f"it is no JSON array of tokens ({error})") from error
    if not found:
        raise InvalidRequest(
            source, "[]", "it names no token, and without any no token is asked for: leave it out if that is meant"
        )
    names = [checked(token, source).name for token in found]
    if len(set(names)) < len(names):
        raise InvalidRequest(source, sorted(names), "two tokens have one name")
    return tuple(found)


def read_token_file(path: Path) -> tuple[Token, ...]:
    """The tokens of a file. Raises InvalidRequest."""
    try:
        return read_tokens(path.read_bytes(), str(path))
    except OSError as error:
        raise InvalidRequest("tokens", str(path), f"it cannot be read ({error.strerror})") from error


def checked(token: Token, source: str = "tokens") -> Token:
    """The token, if it can be kept. Raises InvalidRequest."""
    if len(token.sha256) != 64 or set(token.sha256) - set("0123456789abcdef"):
        raise InvalidRequest(source, token.name, "sha256 is 64 hexadecimal digits: `dmsjournal token` prints them")
    if token.expires is not None and token.expires.utcoffset() is None:
        raise InvalidRequest(source, token.name, "expires has no time zone")
    if not token.name or not token.name.isprintable():
        raise InvalidRequest(source, token.name, "a name is printable characters")
    return token


def found_token(tokens: tuple[Token, ...], text: str) -> Token | None:
    """The token of a text, None where it is none or has expired. Takes as long whichever it is."""
    presented, found = digest(text), None
    for token in tokens:
        if hmac.compare_digest(presented, token.sha256):
            found = token
    return found if found is not None and (found.expires is None or datetime.now(UTC) < found.expires) else None
