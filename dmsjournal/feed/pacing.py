"""Pacing: how long an iterator waits before it asks again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from dmsjournal.errors import InvalidRequest
from dmsjournal.feed.pages import FeedPage
from dmsjournal.feed.requests import FeedRequest
from dmsjournal.feed.starts import FromToken


@dataclass(slots=True)
class Pace:
    """Waits that double from `shortest` to `longest` seconds, each cut by up to half at random, so that many readers spread out."""

    shortest: float
    longest: float
    random: Callable[[float, float], float] = random.uniform
    _times: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.shortest <= self.longest:
            raise InvalidRequest("wait", (self.shortest, self.longest), "give two times in seconds above 0, the shorter one first")

    def wait(self) -> float:
        """Seconds to wait now."""
        most = min(self.longest, self.shortest * 2 ** min(self._times, 32))
        self._times += 1
        return self.random(most / 2, most)

    def reset(self) -> None:
        """There was something: the next wait is a short one."""
        self._times = 0


def begun(request: FeedRequest, saved: str | None) -> FeedRequest:
    """The first request: from the saved token where there is one, else as it is."""
    return request if saved is None else replace(request, start=FromToken(saved))


def following(request: FeedRequest, page: FeedPage) -> FeedRequest:
    """The request of the page after this one."""
    return replace(request, start=FromToken(page.token))
