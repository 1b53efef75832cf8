"""Events are delivered at least once; this leaves each out that was delivered before."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Generator, Iterable
from dataclasses import replace
from typing import Protocol, TypeVar
from uuid import UUID

from dmsjournal.errors import InvalidRequest
from dmsjournal.feed.pages import FeedPage
from dmsjournal.util.iteration import raises_again


class _Identified(Protocol):
    @property
    def event_id(self) -> UUID | str: ...


_Event = TypeVar("_Event", bound=_Identified)


class Deduplicator:
    """Remembers the ids of the last `capacity` different events, 16 bytes each and what Python adds: about 0.25 kB an id.

    A repetition is found while fewer than `capacity` other events came since the event was last seen. After a crash a reader
    repeats what its checkpoint does not cover: keep `state()` with what the events were written to, in the same transaction, and
    a capacity above a page's events. Not for several threads at once. Raises InvalidRequest for a capacity below 1.
    """

    def __init__(self, capacity: int = 100_000) -> None:
        if capacity < 1:
            raise InvalidRequest("capacity", capacity, "remember 1 event or more")
        self.capacity = capacity
        self._seen: OrderedDict[bytes, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._seen)

    def __contains__(self, event_id: UUID | str) -> bool:
        return _bytes(event_id) in self._seen

    def add(self, event_id: UUID | str) -> bool:
        """Remembers the event; whether it is new. Forgets the one that was not seen for longest where that is one too many."""
        key = _bytes(event_id)
        is_new = key not in self._seen
        self._seen[key] = None
        self._seen.move_to_end(key)
        if len(self._seen) > self.capacity:
            self._seen.popitem(last=False)
        return is_new

    @raises_again
    def unique(self, events: Iterable[_Event]) -> Generator[_Event]:
        """The events that are new. Each is remembered when the next is asked for: after an error in a loop it comes again."""
        for event in events:
            if event.event_id not in self:
                yield event
            self.add(event.event_id)

    def state(self) -> bytes:
        """What is remembered, 16 bytes an event, the one that was not seen for longest first."""
        return b"".join(self._seen)

    @classmethod
    def of_state(cls, state: bytes, capacity: int = 100_000) -> Deduplicator:
        """The inverse of `state()`; of more than `capacity` events, the last. Raises InvalidRequest."""
        if len(state) % 16:
            raise InvalidRequest("state", state, "pass what state() gave, whole")
        made = cls(capacity)
        keys = [state[at : at + 16] for at in range(0, len(state), 16)]
        made._seen.update(dict.fromkeys(keys[-capacity:]))
        return made


def without_repetitions(page: FeedPage, deduplicator: Deduplicator | None) -> FeedPage:
    """The page with the events that are not remembered yet. None of them is remembered by this."""
    return page if deduplicator is None else replace(page, events=[e for e in page.events if e.event_id not in deduplicator])


def remember(page: FeedPage, deduplicator: Deduplicator | None) -> None:
    """Remembers the events of a page that was taken."""
    if deduplicator is not None:
        for event in page.events:
            deduplicator.add(event.event_id)


def _bytes(event_id: UUID | str) -> bytes:
    if isinstance(event_id, UUID):
        return event_id.bytes
    try:
        return UUID(event_id.removeprefix("evt_")).bytes
    except (ValueError, AttributeError) as error:
        raise InvalidRequest("event_id", event_id, "an event's id is a uuid, in CDC events evt_ and a uuid") from error
