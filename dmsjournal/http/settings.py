"""Settings of the service: values alone, checked once. The command `serve` makes them of its options and the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dmsjournal.errors import InvalidRequest
from dmsjournal.http.security import Token
from dmsjournal.loopback import is_loopback as is_loopback


@dataclass(frozen=True, slots=True)
class Settings:
    """How the service runs.

    Units: seconds, bytes, rows, requests. `url` is of a role with a reader's rights, `admin_url` of one with a pruner's: without it
    there is no retention. Without `tokens` it listens on loopback alone, and nobody may do what needs the scope admin. Beyond
    loopback it also needs TLS, unless `behind_proxy` says that a proxy has it: then it needs tokens wherever it listens.
    `rate` is requests a second for a token (or an address without one), 0 for no limit, `burst` how many may come at once.
    `resources` is what ResourceNames takes. `origins` are those that CORS lets in. `instance` names the server in CDC events.
    Raises InvalidRequest.
    """

    url: str = field(repr=False)
    admin_url: str | None = field(default=None, repr=False)
    instance: str = "dmsjournal"
    host: str = "127.0.0.1"
    port: int = 8000
    tokens: tuple[Token, ...] = field(default=(), repr=False)
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    behind_proxy: bool = False
    connections: int = 8
    queued: int = 1_000
    waiting: int = 2_000
    sockets: int = 4_000
    statement_seconds: float = 30.0
    poll_seconds: float = 0.05
    largest_page: int = 1_000
    page_bytes: int = 1 << 20
    body_bytes: int = 1 << 16
    header_seconds: float = 10.0
    send_seconds: float = 30.0
    prune_seconds: float = 10.0
    grace_seconds: float = 10.0
    rate: float = 200.0
    burst: int = 400
    largest_offset: int = 100_000
    origins: tuple[str, ...] = ()
    resources: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in ("connections", "queued", "waiting", "sockets", "largest_page", "page_bytes", "body_bytes", "burst"):
            if getattr(self, name) < 1:
                raise InvalidRequest(name, getattr(self, name), "it is 1 or more")
        for name in ("poll_seconds", "statement_seconds", "header_seconds", "send_seconds", "prune_seconds", "grace_seconds"):
            if not getattr(self, name) > 0:
                raise InvalidRequest(name, getattr(self, name), "it is more than 0")
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise InvalidRequest("tls_key", self.tls_key, "give a certificate and its key, or none of them")
        if self.behind_proxy and not self.tokens:
            raise InvalidRequest("behind_proxy", True, "whoever reaches the proxy could read: give tokens")
        if not self.is_local:
            self._refuse_open_doors()

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
