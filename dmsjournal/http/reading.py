"""Reading: pages of the change feed's events, as JSON that can be sent to many clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from dmsjournal.errors import UnsupportedCapability
from dmsjournal.events.encoding import encoder
from dmsjournal.feed.database import place_of_token
from dmsjournal.feed.events import FeedEvent, FeedEventType
from dmsjournal.feed.pages import FeedPage
from dmsjournal.feed.requests import MAX_PAGE_SIZE, FeedFilter, FeedRequest, NewItemStateMode
from dmsjournal.feed.scopes import EntireCollection, FeedScope, LogicalPartition
from dmsjournal.feed.starts import AfterVersion, Beginning, StartPosition
from dmsjournal.http.names import ResourceNames
from dmsjournal.journal import Journal
from dmsjournal.resources import ResourceKey
from dmsjournal.windows import HIGHEST_ID

_CHUNK = 32 * 1024  # bytes that are sent to a stream at once
_encode = encoder()


@dataclass(frozen=True, slots=True)
class Selection:
    """The events that are wanted: those whose keys begin with a prefix, of resources that the token may read (None for all)."""

    prefix: str = ""
    allowed: frozenset[str] | None = None

    @property
    def is_everything(self) -> bool:
        """Whether no event is left out."""
        return not self.prefix and self.allowed is None

    def resources(self, known: Mapping[ResourceKey, int], names: ResourceNames) -> frozenset[ResourceKey]:
        """Those resources that may have such events."""
        return frozenset(resource for resource in known if self._may_have(resource, names))

    def _may_have(self, resource: ResourceKey, names: ResourceNames) -> bool:
        start = f"{names.short_of(resource)}:"
        return names.is_among(resource, self.allowed) and (start.startswith(self.prefix) or self.prefix.startswith(start))


class Sent(NamedTuple):
    """An event on its way: its version, its JSON, and the frame that a stream sends of it."""

    sequence: int
    data: bytes
    frame: bytes

    @property
    def size(self) -> int:
        """The bytes that it takes."""
        return len(self.data) + len(self.frame)


@dataclass(frozen=True)
class EventPage:
    """Events, and how far was looked: everything up to `latest`, inclusive, of what lies up to `horizon`.

    What is sent of it is put together once for all who are sent the same page.
    """

    events: Sequence[Sent]
    latest: int
    horizon: int

    @property
    def is_at_end(self) -> bool:
        """Whether nothing was left below the horizon."""
        return self.latest >= self.horizon

    @cached_property
    def listed(self) -> bytes:
        """The events as a list has them, with commas between them."""
        return b",".join([event.data for event in self.events])

    @cached_property
    def chunks(self) -> Sequence[bytes]:
        """The events as a stream has them, in parts that are sent one by one."""
        frames = b"".join([event.frame for event in self.events])
        return [frames[begin : begin + _CHUNK] for begin in range(0, len(frames), _CHUNK)]


class EventReader:
    """Reads pages of events, in threads."""

    def __init__(self, journal: Journal, names: ResourceNames, page_bytes: int) -> None:
        self._journal, self._names, self._page_bytes = journal, names, page_bytes
        self._known: Mapping[ResourceKey, int] = {}

    def read(self, after: int | None, selection: Selection, limit: int, as_text: bool) -> EventPage:
        """At most `limit` events after a version, exclusive; from the oldest that is kept where it is None.

        `as_text` writes versions and ids as strings. Raises what Journal.read_changes raises.
        """
        start = Beginning() if after is None else AfterVersion(after)
        for size in (limit, MAX_PAGE_SIZE):
            page = self._page(start, selection, size)
            place = place_of_token(page.token)
            latest = place.change_version if place.document_id == HIGHEST_ID else place.change_version - 1
            if latest == place.change_version or latest > (after or 0):  # a version is given as a whole, or not at all
                break
        else:
            raise UnsupportedCapability(f"version {place.change_version} has more than {MAX_PAGE_SIZE} events", "read GET /feed")
        wanted = [event for event in page.events if event.change_version <= latest]
        return self._encoded(wanted, latest, page.diagnostics.horizon or latest, selection, as_text)

    def _page(self, start: StartPosition, selection: Selection, size: int) -> FeedPage:
        if selection.is_everything:
            return self._journal.read_changes(_request(start, size))
        chosen = selection.resources(self._known, self._names)
        while True:
            page = self._journal.read_changes(_request(start, size, chosen))
            self._known = self._journal.resources()  # after the page: a resource that is in it is known by now
            found = selection.resources(self._known, self._names)
            if found == chosen:
                return page
            chosen = found

    def _encoded(self, events: Sequence[FeedEvent], latest: int, horizon: int, selection: Selection, as_text: bool) -> EventPage:
        sent: list[Sent] = []
        size = 0
        for event in events:
            key = self._key(event)
            if not key.startswith(selection.prefix) or not selection.resources({event.resource: 0}, self._names):
                continue
            data = _encode(self._shown(event, key, as_text))
            size += len(data)
            if sent and size > self._page_bytes and event.change_version > sent[-1].sequence:
                return EventPage(sent, sent[-1].sequence, horizon)
            frame = b"id: %d\nevent: change\ndata: %b\n\n" % (event.change_version, data)
            sent.append(Sent(event.change_version, data, frame))
        return EventPage(sent, latest, horizon)

    def _key(self, event: FeedEvent) -> str:
        document = event.key.document_uuid or event.key.document_id
        return f"{self._names.short_of(event.resource)}:{document}"

    def _shown(self, event: FeedEvent, key: str, as_text: bool) -> dict[str, Any]:
        number = str if as_text else int
        return {
            "sequence": number(event.change_version),
            "type": "DELETE" if event.type is FeedEventType.DELETE else "PUT",
            "key": key,
            "value": None if event.item_state is None else event.item_state.after,
            "timestamp_ms": int(event.timestamp.timestamp() * 1000),
            "metadata": {
                "event_id": event.event_id,
                "operation": event.type,
                "resource": str(event.resource),
                "document_id": None if event.key.document_id is None else number(event.key.document_id),
                "key_values": event.key.key_values,
                "transaction_id": None if event.transaction_id is None else number(event.transaction_id),
            },
        }


def _request(start: StartPosition, size: int, resources: frozenset[ResourceKey] | None = None) -> FeedRequest:
    """The request for events of all resources (None), or of some. Where there are none yet, all are looked at and left out."""
    scope: FeedScope = EntireCollection()
    filters = FeedFilter()
    if resources is not None and len(resources) == 1:
        scope = LogicalPartition(next(iter(resources)))
    elif resources:
        filters = FeedFilter(resources=resources)
    state = NewItemStateMode.OMIT if resources == frozenset() else NewItemStateMode.INCLUDE_IF_AVAILABLE
    return FeedRequest(scope, start, state, size, filters, contexts=False)
