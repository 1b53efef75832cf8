"""Who asks: bearer tokens, of which only hashes are kept, and what each may do.

A token is 256 random bits, so its SHA-256 tells nothing of it and needs no salt.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from dmsjournal.errors import InvalidRequest
from dmsjournal.util.files import warn_if_readable

if TYPE_CHECKING:
    from dmsjournal.http.names import ResourceNames
    from dmsjournal.model.resources import ResourceKey

logger = logging.getLogger("dmsjournal.http")

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
    """A new token's text, which is kept nowhere, and what is kept of it. Raises InvalidRequest, also for a time that has passed."""
    text = PREFIX + secrets.token_urlsafe(32)
    token = checked(msgspec.convert({"name": name, "sha256": digest(text), **rights}, Token))
    if token.expires is not None and token.expires <= datetime.now(UTC):
        raise InvalidRequest("expires", token.expires.isoformat(), "that time has passed: give a later one")
    return text, token


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
    if len({token.sha256 for token in found}) < len(found):
        raise InvalidRequest(source, sorted(names), "two entries have one hash, so one token: remove one of them")
    return tuple(found)


def read_token_file(path: Path) -> tuple[Token, ...]:
    """The tokens of a file. Raises InvalidRequest."""
    warn_if_readable(path, "the file of tokens")
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
    if Scope.ADMIN in token.scopes and token.resources is not None:
        raise InvalidRequest(
            source, token.name, "retention deletes events of all resources: give the scope admin to a token without resources"
        )
    if not token.name or not token.name.isprintable():
        raise InvalidRequest(source, token.name, "a name is printable characters")
    return token


class Tokens:
    """The tokens that are in force. A file of tokens is read again when it changes; one that makes no sense changes nothing."""

    def __init__(self, given: tuple[Token, ...], path: Path | None = None) -> None:
        self.current, self._path = given, path

    def reread(self) -> None:
        """Takes what the file says now."""
        if self._path is None:
            return
        try:
            self.current = read_token_file(self._path)
        except InvalidRequest as error:
            logger.error("the tokens stay as they were: %s", error, extra={"action": "tokens_refused"})
        else:
            logger.info("read %d tokens", len(self.current), extra={"action": "tokens_read"})


def found_token(tokens: tuple[Token, ...], text: str) -> Token | None:
    """The token of a text, None where it is none or has expired. Takes as long whichever it is."""
    presented, found = digest(text), None
    for token in tokens:
        if hmac.compare_digest(presented, token.sha256):
            found = token
    return found if found is not None and (found.expires is None or datetime.now(UTC) < found.expires) else None
