"""Notifications of a journal's changes: journal to ring. Source: docs/events/arrow.md, Notify of a journal.

A notification is of the changes of one type, of one resource, at one version: nearly always one change, since a stamp is one
document's. They are sent in the order of (version, resource, type), and a version's only once all of it was read. So the last
notification in the ring says where to go on, however a page is cut, and the ring is the only checkpoint.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import NamedTuple

from dmsjournal.errors import CheckpointExpired, HistoryDiverged
from dmsjournal.events.notifications import SIZE, NotificationProducer, NotificationRef
from dmsjournal.feed.database import place_of_token
from dmsjournal.feed.events import FeedEvent, FeedEventType
from dmsjournal.feed.iterators import FeedIterator
from dmsjournal.feed.pages import FeedPage
from dmsjournal.feed.requests import FeedRequest, NewItemStateMode
from dmsjournal.feed.starts import AfterVersion, FromToken
from dmsjournal.journal import Journal
from dmsjournal.model.resources import ResourceKey
from dmsjournal.util.backoff import Backoff
from dmsjournal.util.concurrency import Event
from dmsjournal.util.times import microseconds

EVENT_TYPES = {FeedEventType.CREATE: 0, FeedEventType.DELETE: 1, FeedEventType.UPDATE: 2}  # as EventType of dmsjournal.events.arrow


_MORE = 0  # which reserved byte is 1 where the next notification is of the same version


class _Place(NamedTuple):
    """Where a notification is among all others."""

    version: int
    source_id: int
    event_type: int


@dataclass(slots=True)
class _Group:
    """The changes that one notification is of."""

    rows: int = 0
    timestamp: int = 0

    def add(self, event: FeedEvent) -> None:
        """Adds the next change of it."""
        self.rows += 1
        self.timestamp = microseconds(event.timestamp)


class Notifier:
    """Sends a notification for each change of a journal into a ring, in order, each once: `Notifier(db, "changes.ring").run()`.

    Of a notification `sequence` is the change version, `source_id` the resource's id in `Journal.resources()`, `event_type` 0 for
    an insert, 1 for a delete, 2 for an update, `row_count` how many documents, `timestamp` the last one's time. The changes are
    what the feed has from AfterVersion(`batch_offset`) on, up to `sequence`.

    It goes on after the last notification in the ring, whichever process sent it; `request.start` is for a new ring. The scope and
    the filters of the request must stay the same for one ring. With `follow` false it ends at the horizon. If the ring is full, it
    waits for the consumer. `patience` is how many seconds it waits for a database that is not there.
    """

    def __init__(
        self,
        journal: Journal,
        ring: str | os.PathLike[str],
        request: FeedRequest | None = None,
        *,
        follow: bool = True,
        patience: float = 60.0,
        shortest_wait: float = 0.1,
        longest_wait: float = 10.0,
    ) -> None:
        self._journal, self._ring = journal, ring
        self._request = replace(request or FeedRequest(), item_state=NewItemStateMode.OMIT, contexts=False, effects=False)
        self._follow, self._patience, self._waits = follow, patience, (shortest_wait, longest_wait)
        self._stopped = Event()
        self._reader: FeedIterator | None = None
        self._sources: dict[ResourceKey, int] = {}
        self._sent_through: _Place | None = None
        self._open: dict[_Place, _Group] = {}  # of the version that was not read to its end
        self.sent = 0

    def stop(self) -> None:
        """Ends `run`, from any thread, at once where it waits. What was not sent is sent by the next run."""
        self._stopped.set()
        if self._reader is not None:
            self._reader.stop()

    def run(self) -> int:
        """Sends until it is stopped, or the horizon is reached; how many notifications it has sent.

        Raises what NotificationProducer and Journal.read_changes raise; HistoryDiverged where the database lacks the changes that
        the last notification in the ring is of, and no prune has taken them.
        """
        with ExitStack() as opened:
            producer = opened.enter_context(NotificationProducer(self._ring))
            request, shortest, longest = self._request, *self._waits
            if (last := producer.last) is not None:
                self._sent_through = _Place(last.sequence, last.source_id, last.event_type)
                self._refuse_diverged(last)
                request = replace(request, start=AfterVersion(last.sequence - last.reserved[_MORE]))
            self._reader = opened.enter_context(
                FeedIterator(
                    self._journal,
                    request,
                    follow=self._follow,
                    patience=self._patience,
                    shortest_wait=shortest,
                    longest_wait=longest,
                )
            )
            for page in self._reader.pages():
                if self._stopped.is_set() or not self._send(producer, list(self._notifications(page))):
                    break
        return self.sent

    def _refuse_diverged(self, last: NotificationRef) -> None:
        """Raises HistoryDiverged where the database was restored to before the last notification (invariant 9)."""
        found, request = _Group(), replace(self._request, start=AfterVersion(last.batch_offset))
        try:
            while True:
                page = self._journal.read_changes(request)
                for event in page.events:
                    if self._place_of(event) == self._sent_through:
                        found.add(event)
                if page.idle or place_of_token(page.token).through >= last.sequence:
                    break
                request = replace(request, start=FromToken(page.token))
        except CheckpointExpired:  # they are pruned: no event is left to compare
            return
        if (found.rows, found.timestamp) != (last.row_count, last.timestamp):
            raise HistoryDiverged(last.sequence, self._journal.versions().newest)

    def _notifications(self, page: FeedPage) -> Iterator[NotificationRef]:
        """The notifications of the versions that a page has read to their ends."""
        for event in page.events:
            self._open.setdefault(self._place_of(event), _Group()).add(event)
        through = place_of_token(page.token).through
        places = sorted(place for place in self._open if place.version <= through)
        for place, following in zip_longest(places, places[1:]):
            group = self._open.pop(place)
            if self._sent_through is None or place > self._sent_through:
                made = NotificationRef(
                    sequence=place.version,
                    source_id=place.source_id,
                    event_type=place.event_type,
                    row_count=group.rows,
                    timestamp=group.timestamp,
                    batch_offset=place.version - 1,
                )
                made.reserved[_MORE] = following is not None and following.version == place.version
                yield made

    def _place_of(self, event: FeedEvent) -> _Place:
        if event.resource not in self._sources:
            self._sources = dict(self._journal.resources())
        return _Place(event.change_version, self._sources[event.resource], EVENT_TYPES[event.type])

    def _send(self, producer: NotificationProducer, notifications: Sequence[NotificationRef]) -> bool:
        """Sends all, however often the ring is full; false where it was stopped before."""
        waits = Backoff(0.001, 0.1)
        array = (NotificationRef * len(notifications))(*notifications)
        view = memoryview(array).cast("B")
        while len(view):
            count = producer.send_many(view)
            self.sent += count
            view = view[count * SIZE :]
            if count:
                waits.reset()
            if len(view) and self._stopped.wait(waits.next()):
                return False
        return True
