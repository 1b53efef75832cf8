"""How often and how long a delivery is tried again."""

from __future__ import annotations

from dataclasses import dataclass

from dmsjournal.errors import InvalidRequest
from dmsjournal.util.backoff import Backoff


@dataclass(frozen=True, slots=True)
class Retries:
    """The bounds of tries.

    `tries` is how often a request is sent whose failure may be an event's fault. The waits between tries double from `shortest` to
    `longest` seconds, each cut by up to half at random, and are never shorter than what the receiver asks for. `patience` is for
    how long, in seconds, a receiver is waited for that is not there. Raises InvalidRequest.
    """

    tries: int = 10
    shortest: float = 1.0
    longest: float = 300.0
    patience: float = 3600.0

    def __post_init__(self) -> None:
        self.backoff()
        if self.tries < 1:
            raise InvalidRequest("tries", self.tries, "try once or more")
        if self.patience < 0:
            raise InvalidRequest("patience", self.patience, "give a time in seconds, 0 or more")

    def backoff(self) -> Backoff:
        """The waits of one request."""
        return Backoff(self.shortest, self.longest)
