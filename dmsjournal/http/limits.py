"""Limits: how many requests a second one client may make, and how many it may have waiting."""

from __future__ import annotations

import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dmsjournal.http.problems import BUSY, TOO_MANY, Refused

_CLIENTS = 10_000  # that are remembered: the one that has been silent for longest is forgotten


class RateLimit:
    """A bucket of `burst` tokens a client, filled at `rate` a second; 0 is no limit."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens left, and when that was

    def take(self, client: str) -> None:
        """Takes one. Raises Refused where none is left, which tells when there will be."""
        if self._rate <= 0:
            return
        now = self._clock()
        left, at = self._buckets.pop(client, (float(self._burst), now))
        left = min(float(self._burst), left + (now - at) * self._rate)
        allowed = left >= 1
        self._buckets[client] = (left - 1 if allowed else left, now)
        if len(self._buckets) > _CLIENTS:
            self._buckets.popitem(last=False)
        if not allowed:
            wait = math.ceil((1 - left) / self._rate)
            raise Refused(TOO_MANY, f"more than {self._rate:g} requests a second", {"Retry-After": str(wait)})


class Waiting:
    """How many requests wait for changes: all together, and each client's."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._of: Counter[str] = Counter()

    @property
    def count(self) -> int:
        """How many wait now."""
        return self._of.total()

    @contextmanager
    def one(self, client: str, most: int | None) -> Iterator[None]:
        """One more, as long as the block lasts. Raises Refused."""
        if self.count >= self._most:
            raise Refused(BUSY, f"{self._most} requests are waiting already: try again")
        if most is not None and self._of[client] >= most:
            raise Refused(TOO_MANY, f"the token has {most} waiting requests already", {"Retry-After": "1"})
        self._of[client] += 1
        try:
            yield
        finally:
            self._of[client] -= 1
            if not self._of[client]:
                del self._of[client]
