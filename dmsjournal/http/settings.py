"""Settings of the service: values alone, checked once. The command `serve` makes them of its options and the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path

from dmsjournal.errors import InvalidRequest
from dmsjournal.events.formats import EventOptions
from dmsjournal.http.security import Token
from dmsjournal.util.loopback import is_loopback as is_loopback

LOOPBACK = ("127.0.0.1", "::1")
_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")

_PUBLIC_URL = re.compile(_ORIGIN.pattern + r"(?P<path>(?:/[A-Za-z0-9._~-]+)*)")


@dataclass(frozen=True, slots=True)
class Settings:
    """How the service runs.

    Units: seconds, bytes, rows, requests. `url` is of a role with a reader's rights, `admin_url` of one with a pruner's: without it
    there is no retention. Without `tokens` it listens on loopback alone, and nobody may do what needs the scope admin. Beyond
    loopback it also needs TLS, unless `behind_proxy` says that a proxy has it: then it needs tokens wherever it listens.
    `rate` is requests a second for a token (or an address without one), 0 for no limit, `burst` how many may come at once.
    `spooled_bytes`: what larger pages may take in temporary files, all together.
    `answer_seconds`: how long the database has for the least of questions, before it is said to hang.
    `pass_unreadable`: events whose key or body cannot be read are left out, and the log names each.
    `resources` is what ResourceNames takes. `origins` are those that CORS lets in. `events` is what CDC events say of the server;
    `contexts`, whether events say who caused a change, where option context keeps that.
    Behind a proxy a client's address is the last one in X-Forwarded-For that is none of `trusted_proxies`, addresses or networks.
    `ticket_secret` signs tickets; without one a random one does, so that they end with the service.
    `public_url` is how clients write the service's root, with the path that a proxy adds; without it, as each of them writes it.
    `token_file` is read again when it changes, as the certificate's files are. Raises InvalidRequest.
    """

    url: str = field(repr=False)
    admin_url: str | None = field(default=None, repr=False)
    events: EventOptions = field(default_factory=EventOptions)
    contexts: bool = True
    host: str = "127.0.0.1"
    port: int = 8000
    tokens: tuple[Token, ...] = field(default=(), repr=False)
    token_file: Path | None = None
    ticket_secret: bytes | None = field(default=None, repr=False)
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    behind_proxy: bool = False
    trusted_proxies: tuple[str, ...] = LOOPBACK
    connections: int = 8
    queued: int = 1_000
    waiting: int = 2_000
    sockets: int = 4_000
    statement_seconds: float = 30.0
    answer_seconds: float = 5.0
    poll_seconds: float = 0.05
    largest_page: int = 1_000
    page_bytes: int = 1 << 20
    spooled_bytes: int = 4 << 30
    body_bytes: int = 1 << 16
    header_seconds: float = 10.0
    send_seconds: float = 30.0
    keep_alive_seconds: float = 75.0
    prune_seconds: float = 10.0
    grace_seconds: float = 10.0
    rate: float = 200.0
    burst: int = 400
    largest_offset: int = 100_000
    origins: tuple[str, ...] = ()
    pass_unreadable: bool = False
    resources: Mapping[str, str] = field(default_factory=dict, hash=False)
    public_url: str | None = None

    def __post_init__(self) -> None:
        for name in (
            "connections",
            "queued",
            "waiting",
            "sockets",
            "largest_page",
            "page_bytes",
            "spooled_bytes",
            "body_bytes",
            "burst",
        ):
            if getattr(self, name) < 1:
                raise InvalidRequest(name, getattr(self, name), "it is 1 or more")
        for name in (
            "poll_seconds",
            "statement_seconds",
            "answer_seconds",
            "header_seconds",
            "send_seconds",
            "keep_alive_seconds",
            "prune_seconds",
            "grace_seconds",
        ):
            if not getattr(self, name) > 0:
                raise InvalidRequest(name, getattr(self, name), "it is more than 0")
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise InvalidRequest("tls_key", self.tls_key, "give a certificate and its key, or none of them")
        if self.behind_proxy and not self.tokens:
            raise InvalidRequest("behind_proxy", True, "every client of the proxy could read: give tokens")
        for origin in self.origins:
            if not _ORIGIN.fullmatch(origin):
                raise InvalidRequest(
                    "origin",
                    origin,
                    "write it as a browser sends it, such as https://app.example or http://localhost:3000: no path, no slash",
                )
        if self.public_url is not None and not _PUBLIC_URL.fullmatch(self.public_url):
            raise InvalidRequest(
                "public_url",
                self.public_url,
                "write it as clients do, such as https://data.example/journal: no query, no slash at the end",
            )
        for proxy in self.trusted_proxies:
            try:
                ip_network(proxy)
            except ValueError:
                raise InvalidRequest("trusted_proxy", proxy, "name a proxy's address or its network, such as 10.0.0.0/24") from None
        if not self.is_local:
            self._refuse_open_doors()

    @property
    def prefix(self) -> str:
        """The path of the public URL, with a slash in front; empty where it has none."""
        found = _PUBLIC_URL.fullmatch(self.public_url or "")
        return "" if found is None else found["path"]

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(self.host)

    @property
    def has_tls(self) -> bool:
        """Whether it speaks TLS itself."""
        return self.tls_certificate is not None

    def _refuse_open_doors(self) -> None:
        if not self.tokens:
            raise InvalidRequest("host", self.host, "beyond loopback everybody could read: give tokens, or listen on 127.0.0.1")
        if not self.has_tls and not self.behind_proxy:
            raise InvalidRequest(
                "host",
                self.host,
                "beyond loopback tokens would go in the clear: give a TLS certificate and its key, or say that a proxy has them",
            )
