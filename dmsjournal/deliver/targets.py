"""What a delivery hands events to."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from dmsjournal.feed.events import FeedEvent


class Stopped(Exception):
    """The delivery was stopped while a target waited: what it was given is not delivered."""


class Target(AbstractContextManager["Target"], Protocol):
    """Takes the events of a page. It is entered once, in the thread that delivers, before the first page."""

    @property
    def name(self) -> str:
        """What it is, without secrets."""

    @property
    def memory(self) -> Path:
        """The file that keeps how far into which history events were taken, and knows a restored database by that."""

    def take(self, events: Sequence[FeedEvent]) -> None:
        """Returns when all of them are where they belong, on a disk or at a receiver. Raises Stopped, JournalError.

        It is called for empty pages too.
        """

    def counts(self) -> dict[str, int]:
        """What was done so far, by name."""

    def stop(self) -> None:
        """Ends waiting, from any thread: take then raises Stopped, unless it is done with what it was given."""
