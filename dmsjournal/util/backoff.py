"""Back-off: how long to wait before the next try."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from dmsjournal.errors import InvalidRequest


@dataclass(slots=True)
class Backoff:
    """Waits that double from `shortest` to `longest` seconds, each cut by up to half at random, so that many programs spread out.

    `tries` counts the waits since the last reset. The caller does the waiting: on a clock, on an event loop, or on an event that
    ends the wait. tenacity would own the loop around a call, with no room for that, nor for a server's Retry-After.
    """

    shortest: float
    longest: float
    random: Callable[[float, float], float] = random.uniform
    tries: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.shortest <= self.longest:
            raise InvalidRequest("wait", (self.shortest, self.longest), "give two times in seconds above 0, the shorter one first")

    def next(self) -> float:
        """Seconds to wait now."""
        most = min(self.longest, self.shortest * 2 ** min(self.tries, 32))
        self.tries += 1
        return self.random(most / 2, most)

    def reset(self) -> None:
        """A try succeeded: the next wait is a short one."""
        self.tries = 0
