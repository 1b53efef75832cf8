"""What the suite needs to know of a provider: how to get an empty source, and how to change something in it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from dmsjournal.errors import UnsupportedCapability
from dmsjournal.feed import FeedProvider


class NotHere(Exception):
    """The provider cannot be had on this machine: its text says why, and what would change that."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a change must be told as: its type, and the number that its item is known by."""

    type: str
    number: int


class FeedSource(Protocol):
    """One empty collection of items. An item is known by a number, which is one of its key values."""

    provider: FeedProvider

    def another(self) -> AbstractContextManager[FeedProvider]:
        """Another provider of the same source, as of another program."""

    def create(self, number: int, body: Mapping[str, object]) -> None:
        """Adds an item, in a transaction of its own. `body` has texts and whole numbers."""

    def update(self, number: int, body: Mapping[str, object]) -> None:
        """Changes the item's body."""

    def delete(self, number: int) -> None:
        """Deletes the item."""

    def number_of(self, key_values: Mapping[str, object]) -> int:
        """The number that an event's key values know the item by."""

    def update_as(self, number: int, body: Mapping[str, object], user: str) -> None:
        """Changes the item's body, and says that a user caused it. Raises UnsupportedCapability where nothing can be said."""

    def rename_with_referrer(self, number: int, referrer: int) -> None:
        """Has one item refer to another by its key, then gives the other one another key. Raises UnsupportedCapability likewise."""

    def expire(self) -> None:
        """Makes all events that there are too old to be kept. Raises UnsupportedCapability where that cannot be brought about."""

    def restore_earlier(self) -> None:
        """Puts the source back to what it was before its last event. Raises UnsupportedCapability likewise."""

    def change_partitions(self, count: int) -> None:
        """Cuts the items into another number of physical partitions. Raises UnsupportedCapability likewise."""


class Harness(Protocol):
    """Makes sources for the suite. `name` shows in the report. Used as a context manager around all cases."""

    name: str

    def __enter__(self) -> Harness:
        """Starts what is needed. Raises NotHere."""

    def __exit__(self, *error: object) -> None:
        """Ends it."""

    def source(self) -> AbstractContextManager[FeedSource]:
        """An empty source of one case's own."""


def unable(what: str) -> UnsupportedCapability:
    """For a harness: this cannot be brought about here."""
    return UnsupportedCapability(what, "the harness cannot bring it about")
