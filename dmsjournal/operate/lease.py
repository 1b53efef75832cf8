"""Leases: one program at a time prunes, or reads as a consumer.

A lease is a row of dms.Lease with a holder and an end, by the database's clock. No session has to stay open for it, so it works
behind a pooler, which gives one session to many programs (invariant 12). Source: docs/how-it-works.md, Leases.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

from dmsjournal.database.database import Database
from dmsjournal.database.session import Session
from dmsjournal.errors import JournalError, Unavailable

logger = logging.getLogger("dmsjournal.lease")

SECONDS = 30  # that a lease lasts after its last renewal: so long the next program waits for one that was killed
RENEWED_EVERY = 3.0  # seconds
_LOOKS_EVERY = 0.25  # seconds, for the end of another program's lease
_SAID_AFTER = 1.0  # seconds that it waits without a word


class HeldByAnother(Unavailable):
    """Another program holds the lease."""


class Lease:
    """The right to work alone under a name. A thread renews it until it is released.

    Its holder may still lose it: if the program stands still, or does not reach the database, for SECONDS, another program may take
    it. So each transaction that writes calls `keep` first. `refusal` is what a program is told where another one holds the lease.
    """

    def __init__(self, database: Database, name: str, refusal: str, remedy: str) -> None:
        self._database, self._name = database, name
        self._refusal, self._remedy = refusal, remedy
        self._token = uuid4()
        self._ended = threading.Event()
        self._certain_until = 0.0  # by time.monotonic()

    def take(self, deadline: float | None = None) -> None:
        """Takes the lease. Waits for the end of one that is not renewed, at most SECONDS, and logs until when.

        `deadline`, by time.monotonic(): it waits no longer. Raises HeldByAnother, which names the holder, as soon as the holder
        renews it; Unavailable.
        """
        began, expires_at, is_said = time.monotonic(), None, False
        while not (found := self._ask(taking=True, deadline=deadline)).is_ours:
            if found.is_busy or (expires_at is not None and found.expires_at not in (None, expires_at)):
                raise self._lost(found)
            expires_at = found.expires_at
            if deadline is not None and time.monotonic() >= deadline:
                raise self._lost(found)
            if expires_at is not None and not is_said and time.monotonic() - began >= _SAID_AFTER:
                is_said = True
                logger.warning(
                    "%s: %s; waiting for it until %s UTC, when its lease ends unless it is renewed",
                    *(self._refusal, found.holder, f"{expires_at:%H:%M:%S}"),
                    extra={"action": "lease"},
                )
            time.sleep(_LOOKS_EVERY if expires_at is None else min(_LOOKS_EVERY, found.ends_in + 0.01))
        threading.Thread(target=self._renew, name=f"lease of {self._name}", args=(self._ended,), daemon=True).start()

    def keep(self, session: Session) -> None:
        """Renews the lease in a transaction that writes. No other program takes it before that ends. Raises HeldByAnother."""
        if not (found := self._asked(session)).is_ours:
            raise self._lost(found)

    @property
    def is_certain(self) -> bool:
        """Whether no other program can have taken the lease yet. Sends no statement; if it is false, call `is_held`."""
        return time.monotonic() < self._certain_until

    def is_held(self) -> bool:
        """Whether the lease is this program's; renews it. If not, it can be taken again. Raises Unavailable."""
        if self._ask().is_ours:
            return True
        self._stop_renewing()
        return False

    def release(self) -> None:
        """Gives the lease back; where the database is not there, it ends by itself."""
        self._stop_renewing()
        with suppress(JournalError):
            self._ask(seconds=0)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A session in a transaction of its own that keeps the lease. Raises HeldByAnother."""
        with self._database.session() as session:
            self.keep(session)
            yield session

    def _ask(self, *, seconds: int | None = None, taking: bool = False, deadline: float | None = None) -> Any:
        with self._database.session() as session:
            if deadline is not None:
                session.wait_until(deadline)
            return self._asked(session, seconds=seconds, taking=taking)

    def _asked(self, session: Session, *, seconds: int | None = None, taking: bool = False) -> Any:
        began = time.monotonic()
        binds = {
            "name": self._name,
            "token": str(self._token),
            "process": _process(),
            "seconds": SECONDS if seconds is None else seconds,
            "taking": taking,
        }
        found = session.execute("operate/hold_lease", **binds).one()
        if found.is_ours:
            self._certain_until = began + SECONDS
        return found

    def _renew(self, ended: threading.Event) -> None:
        while not ended.wait(RENEWED_EVERY):
            with suppress(JournalError):  # the next try is soon
                if not self._ask().is_ours:
                    self._certain_until = 0.0
                    return

    def _stop_renewing(self) -> None:
        self._ended.set()
        self._ended = threading.Event()
        self._certain_until = 0.0

    def _lost(self, found: Any) -> HeldByAnother:
        who = f": {found.holder}" if found.expires_at is not None else ": its lease ended before it was renewed"
        return HeldByAnother(f"{self._refusal}{who}", self._remedy)


def lease_of_prune(database: Database) -> Lease:
    """The lease of what takes parts of a journal away or in two: one at a time."""
    return Lease(database, "prune", "another prune is running", "wait for it to end")


def lease_of_consumer(database: Database, name: str) -> Lease:
    """The lease of who reads as a consumer."""
    refusal = f"another program reads as consumer {name}"
    return Lease(database, f"consumer {name}", refusal, "end it first, or use another name")


@contextmanager
def holding(lease: Lease, deadline: float | None = None) -> Iterator[Lease]:
    """Within it the lease is held; see Lease.take. Raises HeldByAnother, Unavailable."""
    lease.take(deadline)
    try:
        yield lease
    finally:
        lease.release()


def _process() -> str:
    """The name of this process in messages to other programs."""
    return f"process {os.getpid()} on {socket.gethostname().encode('ascii', 'replace').decode() or '?'}"
