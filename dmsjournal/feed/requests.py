"""Requests: which events of a feed to read, from where, and how many at once."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum
from typing import get_args

import msgspec

from dmsjournal.errors import InvalidRequest
from dmsjournal.feed.events import FeedEventType
from dmsjournal.feed.scopes import EntireCollection, FeedScope, named, resource_of, scope_of
from dmsjournal.feed.starts import Beginning, StartPosition
from dmsjournal.feed.tokens import scope_and_filters_of
from dmsjournal.model.resources import ResourceKey

MAX_PAGE_SIZE = 10_000


class NewItemStateMode(StrEnum):
    """Whether an event carries the document's body before and after it.

    INCLUDE_IF_AVAILABLE gives what the provider keeps: a journal with option images both, of each event that is younger than the
    option; else the current body, where the event is the document's latest. REQUIRE never leaves one out: an event whose state was
    not kept raises UnsupportedCapability. Portability: so does REQUIRE itself where the provider does not keep each event's
    (`item_state_required`).
    """

    OMIT = "OMIT"
    INCLUDE_IF_AVAILABLE = "INCLUDE_IF_AVAILABLE"
    REQUIRE = "REQUIRE"


@dataclass(frozen=True, slots=True)
class FeedFilter:
    """Which events of the scope are wanted; None for all. Events that are filtered away are read past. Raises InvalidRequest."""

    types: Collection[FeedEventType] | None = None
    resources: Collection[ResourceKey] | None = None

    def __post_init__(self) -> None:
        self._freeze("types", FeedEventType)
        self._freeze("resources", ResourceKey)

    def _freeze(self, name: str, kind: type) -> None:
        values = getattr(self, name)
        if values is None:
            return
        if isinstance(values, str) or not isinstance(values, Collection) or not values:
            raise InvalidRequest(f"filters.{name}", values, f"pass one {kind.__name__} or more, or None for all")
        for value in values:
            if not isinstance(value, kind):
                choices = f": {', '.join(f'{kind.__name__}.{choice}' for choice in kind)}" if issubclass(kind, StrEnum) else ""
                raise InvalidRequest(f"filters.{name}", value, f"pass a {kind.__name__}{choices}")
        object.__setattr__(self, name, frozenset(values))

    def described(self) -> str:
        """A text that is one filter's alone: what tokens are compared by."""
        given: dict[str, list[str]] = {}
        if self.types is not None:
            given["types"] = sorted(map(str, self.types))
        if self.resources is not None:
            given["resources"] = sorted(map(named, self.resources))
        return json.dumps(given)

    @classmethod
    def of(cls, text: str) -> FeedFilter:
        """The inverse of described. Raises ValueError, InvalidRequest."""
        given = msgspec.json.decode(text, type=dict[str, list[str]])
        types, resources = given.get("types"), given.get("resources")
        return cls(
            None if types is None else [FeedEventType(each) for each in types],
            None if resources is None else [resource_of(each) for each in resources],
        )


def carried(token: str) -> tuple[FeedScope, FeedFilter]:
    """The scope and the filters that a token was made with, as far as it carries them. Raises InvalidRequest."""
    scope, filters = scope_and_filters_of(token)
    try:
        return scope_of(scope), FeedFilter.of(filters)
    except (ValueError, msgspec.MsgspecError, InvalidRequest) as error:
        raise InvalidRequest(
            "token", token, "its scope or its filters make no sense: pass the token of a page, unchanged"
        ) from error


@dataclass(frozen=True, slots=True)
class FeedRequest:
    """Which events to read: a scope, where to start, and what of each.

    Bounds: a page holds `max_page_size` events at most, 0 for as many as the provider gives; more than 10,000 are lowered to that.
    It may hold fewer before the end, or none. A token goes on with the scope and the filters that it was made with; the rest may
    change. `contexts`: whether events carry what caused them, where the provider keeps that; it needs the right to read it.
    `effects`: whether events carry what else changed because of them, 100 documents of each at most, where the provider knows that.
    `indirect`: whether each document has an event, too, whose representation changed because the identity of what it refers to did.
    Raises InvalidRequest. Portability: not every provider has these (`indirect`).
    """

    scope: FeedScope = field(default_factory=EntireCollection)
    start: StartPosition = field(default_factory=Beginning)
    item_state: NewItemStateMode = NewItemStateMode.INCLUDE_IF_AVAILABLE
    max_page_size: int = 500
    filters: FeedFilter = field(default_factory=FeedFilter)
    contexts: bool = True
    effects: bool = False
    indirect: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.scope, get_args(FeedScope)):
            raise InvalidRequest("scope", self.scope, "pass EntireCollection(), a PhysicalPartition or a LogicalPartition")
        if not isinstance(self.start, get_args(StartPosition)):
            raise InvalidRequest("start", self.start, "pass Beginning(), Now(), AtTime(…), AfterVersion(…) or FromToken(…)")
        if not isinstance(self.item_state, NewItemStateMode):
            raise InvalidRequest("item_state", self.item_state, f"pass one of {', '.join(NewItemStateMode)}")
        if not isinstance(self.filters, FeedFilter):
            raise InvalidRequest("filters", self.filters, "pass a FeedFilter")
        for name in ("contexts", "effects", "indirect"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidRequest(name, getattr(self, name), "it is true or false")
        size = self.max_page_size
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise InvalidRequest("max_page_size", size, "ask for a number of events, 0 for as many as the provider gives")
        object.__setattr__(self, "max_page_size", min(size or MAX_PAGE_SIZE, MAX_PAGE_SIZE))
