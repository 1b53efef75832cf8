"""Signatures of webhooks, by the symmetric scheme of Standard Webhooks: HMAC-SHA256 over id, time and body.

The library of the scheme, standardwebhooks, takes the body as text only, knows one secret at a time, accepts a short secret, and
raises several errors for a malformed header. So the tests use it as the other side, and the few lines of HMAC are here.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import itertools
import time
from collections.abc import Iterable, Mapping, Sequence

from dmsjournal.errors import InvalidRequest

PREFIX = "whsec_"
_BYTES = range(24, 65)  # of a secret: 192 to 512 bits


class Signer:
    """Signs with each of its secrets, so that a receiver may have the new one or still the old one. Shows none of them."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._keys = [_key(secret) for secret in secrets]
        if not self._keys:
            raise InvalidRequest("secret", "none", "give one, or while it is being changed the new one and the old one")

    @classmethod
    def of_text(cls, text: str) -> Signer:
        """Of secrets separated by blanks or line ends, the newest first. Raises InvalidRequest."""
        return cls(text.split())

    def headers(self, id_: str, timestamp: int, body: bytes) -> dict[str, str]:
        """The three headers of one attempt. `timestamp` is the attempt's, in seconds since 1970."""
        signatures = " ".join(f"v1,{_signature(key, id_, str(timestamp), body)}" for key in self._keys)
        return {"webhook-id": id_, "webhook-timestamp": str(timestamp), "webhook-signature": signatures}


def is_genuine(
    headers: Mapping[str, str], body: bytes, secrets: Sequence[str], *, tolerance: float = 300, now: float | None = None
) -> bool:
    """Whether a request was signed with one of the secrets, at most `tolerance` seconds ago or ahead: for receivers in Python.

    `headers` are found in any case, `body` is as it came, before it is parsed. Raises InvalidRequest for what is no secret.
    """
    keys = [_key(secret) for secret in secrets]
    given = {name.lower(): value for name, value in headers.items()}
    id_, timestamp, signatures = (given.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    try:
        age = abs((time.time() if now is None else now) - int(timestamp))
    except (ValueError, OverflowError):
        return False
    wanted = [f"v1,{_signature(key, id_, timestamp, body)}".encode() for key in keys]
    sent = [signature.encode("utf-8", "replace") for signature in signatures.split()]
    return bool(id_) and age <= tolerance and any([hmac.compare_digest(*pair) for pair in itertools.product(sent, wanted)])


def _signature(key: bytes, id_: str, timestamp: str, body: bytes) -> str:
    signed = b".".join([id_.encode(), timestamp.encode(), body])
    return base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def _key(secret: str) -> bytes:
    """The bytes of a secret. Raises InvalidRequest, which does not show it."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) not in _BYTES:
        raise InvalidRequest(
            "secret", "***", f"a secret is {PREFIX} and the Base64 of {_BYTES[0]} to {_BYTES[-1]} random bytes"
        ) from None
    return key
