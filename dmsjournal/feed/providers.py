"""Providers: whatever has a feed, and how one is opened by its URL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any, Protocol, TypeAlias, runtime_checkable

from dmsjournal.errors import InvalidRequest
from dmsjournal.feed.capabilities import FeedCapabilities
from dmsjournal.feed.events import Effects, FeedEvent
from dmsjournal.feed.pages import FeedPage
from dmsjournal.feed.partitions import FeedPartition
from dmsjournal.feed.requests import FeedRequest
from dmsjournal.feed.scopes import EntireCollection, LogicalPartition, PhysicalPartition
from dmsjournal.feed.starts import AfterVersion, AtTime, FromToken
from dmsjournal.feed.tokens import cursor_of

GROUP = "dmsjournal.feed_providers"  # entry points, ours and other packages': a scheme, and a callable that takes the URL


@runtime_checkable
class FeedProvider(Protocol):
    """Something with a feed. A Journal is one."""

    @property
    def feed_capabilities(self) -> FeedCapabilities:
        """What it can do."""

    def read_changes(self, request: FeedRequest) -> FeedPage:
        """One page of events; see Journal.read_changes."""

    def list_physical_partitions(self) -> Sequence[FeedPartition]:
        """The parts that it cuts its documents into; see Journal.list_physical_partitions."""

    def effects(self, events: Iterable[FeedEvent], limit: int = 100) -> Mapping[tuple[int, int], Effects]:
        """What else changed because of events; see Journal.effects.

        Portability: raises UnsupportedCapability where the provider does not know (`effects`).
        """

    def close(self) -> None:
        """Gives back what it holds."""


AsyncFeedProvider: TypeAlias = Any  # whatever has read_changes, which may be a coroutine


def open_feed(url: str) -> FeedProvider:
    """The provider that a URL's scheme names: a database's, dynamodb://, or one that another package brings. Raises InvalidRequest.

    Another package names a callable, which takes the URL, in its entry points of the group `dmsjournal.feed_providers`, under the
    scheme.
    """
    scheme = url.partition(":")[0].partition("+")[0] if isinstance(url, str) else ""
    known = sorted(entry_points(group=GROUP), key=lambda point: not point.value.startswith("dmsjournal."))  # ours come first
    for point in known:
        if point.name == scheme:
            found: Callable[[str], FeedProvider] = point.load()
            return found(url)
    names = ", ".join(sorted({point.name for point in known}))
    raise InvalidRequest("url", scheme, f"no feed is known under this scheme; known are {names}")


def check_supported(request: object, capabilities: FeedCapabilities) -> FeedRequest:
    """The request, if the provider can do what it asks for. Raises InvalidRequest, UnsupportedCapability."""
    if not isinstance(request, FeedRequest):
        raise InvalidRequest("request", request, "pass a FeedRequest(scope=…, start=…)")
    asked = {
        "entire_collection": isinstance(request.scope, EntireCollection),
        "physical_partitions": isinstance(request.scope, PhysicalPartition),
        "logical_partitions": isinstance(request.scope, LogicalPartition),
        "at_time": isinstance(request.start, AtTime),
        "after_version": isinstance(request.start, AfterVersion),
        "filters": request.filters.types is not None or request.filters.resources is not None,
        "item_state_included": request.item_state == "INCLUDE_IF_AVAILABLE",
        "item_state_required": request.item_state == "REQUIRE",
        "indirect": request.indirect,
    }
    for capability, is_asked in asked.items():
        if is_asked:
            capabilities.need(capability)
    if isinstance(request.start, FromToken):
        cursor_of(request.start.token)  # what is no token at all is told before anything is asked
    return request
