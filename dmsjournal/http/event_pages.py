"""Reading: pages of the change feed's events, as JSON that can be sent to many clients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from dmsjournal.errors import UnsupportedCapability
from dmsjournal.events.cdc import CdcConverter, EventFilter
from dmsjournal.events.cdc.conversion import key_text
from dmsjournal.events.encoding import encoder
from dmsjournal.feed.database import place_of_token
from dmsjournal.feed.events import FeedEvent, FeedEventType
from dmsjournal.feed.pages import FeedPage
from dmsjournal.feed.requests import MAX_PAGE_SIZE, FeedFilter, FeedRequest, NewItemStateMode
from dmsjournal.feed.scopes import EntireCollection, FeedScope, LogicalPartition
from dmsjournal.feed.starts import AfterVersion, Beginning, StartPosition
from dmsjournal.http.names import ResourceNames
from dmsjournal.journal import Journal
from dmsjournal.model.resources import ResourceKey

_CHUNK = 32 * 1024  # bytes that are sent to a stream at once
_encode = encoder()


@dataclass(frozen=True, slots=True)
class Selection:
    """The events that are wanted, and how they are shown.

    Wanted are those whose keys begin with a prefix, of resources that the token may read (None for all), which the filter wants. A
    prefix with a slash, such as `ed-fi/students:`, is compared to the resource's whole path and the key. `by_uuid`: keys have the
    document's uuid in place of its own key. `as_text`: versions and ids are strings. `as_json`: values are objects, not JSON text.
    """

    prefix: str = ""
    allowed: frozenset[str] | None = None
    wants: EventFilter | None = None
    by_uuid: bool = False
    as_text: bool = False
    as_json: bool = False

    @property
    def is_everything(self) -> bool:
        """Whether no resource is left out."""
        return not self.prefix and self.allowed is None

    def table_of(self, resource: ResourceKey, names: ResourceNames) -> str:
        """The resource as the prefix names it."""
        return names.path_of(resource) if "/" in self.prefix.partition(":")[0] else names.short_of(resource)

    def resources(self, known: Mapping[ResourceKey, int], names: ResourceNames) -> frozenset[ResourceKey]:
        """Those resources that may have such events."""
        return frozenset(resource for resource in known if self._may_have(resource, names))

    def _may_have(self, resource: ResourceKey, names: ResourceNames) -> bool:
        start = f"{self.table_of(resource, names)}:"
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
    oldest: int = 1

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

    def __init__(self, journal: Journal, names: ResourceNames, page_bytes: int, convert: CdcConverter) -> None:
        self._journal, self._names, self._page_bytes, self._convert = journal, names, page_bytes, convert.convert
        self._known: Mapping[ResourceKey, int] = {}

    def read(self, after: int | None, selection: Selection, limit: int) -> EventPage:
        """The events of at most `limit` changes after a version, exclusive; from the oldest that is kept where it is None or 0.

        Raises what Journal.read_changes raises.
        """
        start = AfterVersion(after) if after else Beginning()
        for size, max_bytes in ((limit, self._page_bytes), (MAX_PAGE_SIZE, None)):
            page = self._page(start, selection, size, max_bytes)
            place = place_of_token(page.token)
            latest = place.through
            if latest == place.change_version or latest > (after or 0):  # a version is given as a whole, or not at all
                break
        else:
            raise UnsupportedCapability(f"version {place.change_version} has more than {MAX_PAGE_SIZE} events", "read GET /feed")
        wanted = [event for event in page.events if event.change_version <= latest]
        return self._encoded(wanted, latest, page, selection)

    def _page(self, start: StartPosition, selection: Selection, size: int, max_bytes: int | None) -> FeedPage:
        if selection.is_everything:
            return self._journal.read_changes(_request(start, size, None, selection), max_bytes=max_bytes)
        chosen = selection.resources(self._known, self._names)
        while True:
            page = self._journal.read_changes(_request(start, size, chosen, selection), max_bytes=max_bytes)
            self._known = self._journal.resources()  # after the page: a resource that is in it is known by now
            found = selection.resources(self._known, self._names)
            if found == chosen:
                return page
            chosen = found

    def _encoded(self, events: Sequence[FeedEvent], latest: int, page: FeedPage, selection: Selection) -> EventPage:
        sent: list[Sent] = []
        size = 0
        horizon, oldest = page.diagnostics.horizon or latest, page.diagnostics.oldest or 1
        for event in events:
            if not selection.resources({event.resource: 0}, self._names):
                continue
            if selection.wants is not None and not selection.wants(self._convert(event)):
                continue
            shown = [_encode(each) for each in self._shown(event, selection)]
            size += sum(map(len, shown))
            if sent and size > self._page_bytes and event.change_version > sent[-1].sequence:
                return EventPage(sent, sent[-1].sequence, horizon, oldest)
            for number, data in enumerate(shown, 1):
                last = (
                    b"id: %d\n" % event.change_version if number == len(shown) else b""
                )  # a client resumes after both of a rename
                sent.append(Sent(event.change_version, data, b"%bdata: %b\n\n" % (last, data)))
        return EventPage(sent, latest, horizon, oldest)

    def _shown(self, event: FeedEvent, selection: Selection) -> Iterator[dict[str, Any]]:
        """The changes that an event is shown as: with the document's own keys, a key change also deletes the old key."""
        table = self._names.short_of(event.resource)
        prefix = selection.table_of(event.resource, self._names)
        state = event.item_state
        body = None if state is None or event.type is FeedEventType.DELETE else state.after
        value: object = body if body is None or selection.as_json else _encode(body).decode()
        kind = "DELETE" if event.type is FeedEventType.DELETE else "PUT"
        told = [(kind, self._pk(event, selection.by_uuid), value)]
        if event.key.old_key_values is not None and not selection.by_uuid:
            told.insert(0, ("DELETE", _pk_of(event.key.old_key_values) or told[0][1], None))
        number = str if selection.as_text else int
        for type_, pk, of in told:
            if f"{prefix}:{pk}".startswith(selection.prefix):
                yield {
                    "sequence": number(event.change_version),
                    "type": type_,
                    "key": f"{table}:{pk}",
                    "value": of,
                    "timestamp_ms": int(event.timestamp.timestamp() * 1000),
                    "metadata": {
                        "table": table,
                        "pk": pk,
                        "event_id": event.event_id,
                        "operation": event.type,
                        "resource": str(event.resource),
                        "document_id": None if event.key.document_id is None else number(event.key.document_id),
                        "document_uuid": event.key.document_uuid,
                        "key_values": event.key.key_values,
                        "old_key_values": event.key.old_key_values,
                        "transaction_id": None if event.transaction_id is None else number(event.transaction_id),
                    },
                }

    def _pk(self, event: FeedEvent, by_uuid: bool) -> str:
        """The document's key as text; its uuid where that is asked for, or where it has no key."""
        own = None if by_uuid else _pk_of(event.key.key_values)
        return own or str(event.key.document_uuid or event.key.document_id)


def _pk_of(values: object) -> str | None:
    return key_text(dict(values) if isinstance(values, Mapping) else values)


def _request(start: StartPosition, size: int, resources: frozenset[ResourceKey] | None, selection: Selection) -> FeedRequest:
    """The request for events of all resources (None), or of some. Where there are none yet, all are looked at and left out."""
    scope: FeedScope = EntireCollection()
    filters = FeedFilter()
    if resources is not None and len(resources) == 1:
        scope = LogicalPartition(next(iter(resources)))
    elif resources:
        filters = FeedFilter(resources=resources)
    state = NewItemStateMode.OMIT if resources == frozenset() else NewItemStateMode.INCLUDE_IF_AVAILABLE
    return FeedRequest(scope, start, state, size, filters, contexts=selection.wants is not None)
