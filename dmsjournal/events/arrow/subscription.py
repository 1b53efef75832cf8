"""A subscription: all documents of a journal as of one version, then each change after it, with a watermark at each horizon.

How the snapshot is one of one version, although writers go on and each page is a transaction of its own:

1. The horizon is read as H.
2. All documents are read, page by page, into a file without a name.
3. The database's clock is read as T, then the newest stamp as V. Whatever step 2 has seen has a stamp at or below V.
4. The horizon reaches V.
5. The feed tells which documents changed above H, up to V. Their rows in the file are passed over, and the last event of each takes
   their place. A document without such an event did not change between H and V, so its row is right at V.

A watermark is a T whose V has been read: the triggers draw a stamp before they read the clock for its event, so an event above V is
not from before T. That goes by the database's clock, which must not step back.
"""

from __future__ import annotations

import tempfile
import time
from collections import deque
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

from dmsjournal.errors import Unavailable
from dmsjournal.events.arrow.conversion import SCHEMA, documents_of, from_feed
from dmsjournal.events.arrow.models import ChangeEvent, ChangeEventBatch, Snapshot, Watermark
from dmsjournal.events.jsonl import FeedRecord, Key, StateRecord
from dmsjournal.feed.checkpoints import Checkpoint, check_parts
from dmsjournal.feed.database import event_id, place_of_token
from dmsjournal.feed.events import FeedEvent, FeedEventType
from dmsjournal.feed.iterators import FeedIterator
from dmsjournal.feed.requests import FeedFilter, FeedRequest, NewItemStateMode
from dmsjournal.feed.starts import AfterVersion, FromToken
from dmsjournal.journal import Journal
from dmsjournal.model.resources import ResourceKey
from dmsjournal.model.windows import LOWEST_ID, checked_size
from dmsjournal.read import images
from dmsjournal.read.documents import tracked_bodies
from dmsjournal.util.backoff import Backoff
from dmsjournal.util.concurrency import Event
from dmsjournal.util.times import microseconds

_MARKS = 1_000  # that wait for the horizon, while a writer holds it


@dataclass(frozen=True, slots=True)
class SubscriptionPage:
    """Events, and the token to go on from after them; None while the snapshot is not all there: then begin anew."""

    batch: ChangeEventBatch
    token: str | None


@dataclass(frozen=True, slots=True)
class _Moment:
    """A time of the database's clock, in microseconds, and a version above which each event is at or after it."""

    at: int
    version: int


class Subscription(Iterator[SubscriptionPage]):
    """All documents of a journal, then each change of them: `for page in Subscription(db, "students")`.

    Without a token it begins with Snapshot events: the documents of the resources (None for all) as of one version. The page after
    these has a Watermark and the first token. Then come pages of Insert, Update and Delete events, of SCHEMA, each journaled change
    once, and a Watermark where a page has reached a horizon.

    To have each event exactly once, keep a page's token with its rows, in one transaction, and pass it as `token` after a restart.
    A `checkpoint` is saved when the page after it is asked for, so each event comes at least once; its token goes before `token`.
    With `follow` false it ends at the horizon. Bounds: `page_rows` is 1 to 10,000 rows. `patience` is how many seconds it waits for
    a database that is not there, and for a writer that holds the horizon below the snapshot. The snapshot's rows wait in a file
    in `folder`, without it in the system's folder for temporary files.

    Raises what Journal.read_changes raises; CheckpointExpired also where a prune takes events that the snapshot needs; Unavailable.
    Use it as a context manager, or call stop(), which any thread may.
    """

    def __init__(
        self,
        journal: Journal,
        source: str,
        *,
        resources: Collection[ResourceKey] | None = None,
        token: str | None = None,
        checkpoint: Checkpoint | None = None,
        follow: bool = True,
        page_rows: int = 5_000,
        patience: float = 60.0,
        shortest_wait: float = 0.1,
        longest_wait: float = 10.0,
        folder: str | None = None,
    ) -> None:
        check_parts(journal, checkpoint)
        checked_size("page_rows", page_rows, 10_000)
        self._journal, self._source, self._checkpoint = journal, source, checkpoint
        self._token, self._follow, self._patience, self._folder = token, follow, patience, folder
        self._waits = (shortest_wait, longest_wait)
        self._request = FeedRequest(
            max_page_size=page_rows,
            filters=FeedFilter(resources=None if resources is None else frozenset(resources)),
            contexts=False,
        )
        self._stopped = Event()
        self._reader: FeedIterator | None = None
        self._moments: deque[_Moment] = deque(maxlen=_MARKS)
        self._told = 0  # the latest watermark
        self._given: SubscriptionPage | None = None
        self._failed: BaseException | None = None
        self._pages = self._read()

    def __next__(self) -> SubscriptionPage:
        if self._failed is not None:
            raise self._failed  # and no end, which a loop would take for the whole
        if self._stopped.is_set():
            raise StopIteration
        try:
            if self._given is not None and self._given.token is not None and self._checkpoint is not None:
                self._checkpoint.save(self._given.token)
            self._given = None
            self._given = next(self._pages)
        except StopIteration:
            raise
        except BaseException as error:
            self._failed = error
            raise
        return self._given

    def stop(self) -> None:
        """Ends the iteration, from any thread, at once where it waits. The page that was being taken is not saved."""
        self._stopped.set()
        if self._reader is not None:
            self._reader.stop()

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        self._pages.close()

    def _read(self) -> Generator[SubscriptionPage]:
        kept = None if self._checkpoint is None else self._checkpoint.load()
        token = kept if kept is not None else self._token
        if token is None:
            for page in self._snapshot():
                yield page
                token = page.token
        if token is not None:  # else it was stopped
            yield from self._changes(token)

    # The snapshot.

    def _snapshot(self) -> Generator[SubscriptionPage]:
        before = self._journal.versions().newest
        try:
            with tempfile.TemporaryFile(prefix="dmsjournal-", dir=self._folder) as file:
                self._spool(file, before)
                moment = self._moment()
                if not self._has_reached(moment.version):
                    return
                yield from self._consistent(file, before, moment)
        except OSError as error:
            raise Unavailable(
                f"the snapshot's rows cannot be kept in {self._folder or tempfile.gettempdir()} ({error.strerror or error})",
                "give `folder`, one that has room for all documents",
            ) from error
        token = self._journal.feed_start(replace(self._request, start=AfterVersion(moment.version)))
        self._told = moment.at
        yield self._page([Watermark(moment.at)], 0, moment.version, token)

    def _spool(self, file: IO[bytes], before: int) -> None:
        """Writes the rows of all documents into a file, whatever changes meanwhile."""
        with pa.ipc.new_stream(file, SCHEMA) as writer:
            for resource in self._journal.resources():
                if self._request.filters.resources is not None and resource not in self._request.filters.resources:
                    continue
                after = LOWEST_ID
                while not self._stopped.is_set() and (records := self._documents(resource, after, before)):
                    writer.write_batch(documents_of(records))
                    after = records[-1].key.document_id or after

    def _documents(self, resource: ResourceKey, after: int, before: int) -> Sequence[FeedRecord]:
        """The next documents of a resource, each as if an event had made it. With option images a body is the last event's.

        If a body was written without its document, the document's next event has it: the row here has the body before that.
        """
        with self._journal.database.reading(resource) as (session, resource_key_id, _):
            binds = {"resource_key_id": resource_key_id, "after_id": after, "page_size": self._request.max_page_size}
            rows = session.execute("events/document_rows", **binds).all()
            bodies: dict[int, Any] = {row.document_id: row.body for row in rows}
            bodies |= tracked_bodies(session, [row.document_id for row in rows if row.body is None])
            if images.OPTION in session.options:
                events = [(row.change_version, row.document_id) for row in rows if row.change_version <= before]
                kept = images.read_images(session, events)
                bodies |= {document_id: image.after for (_, document_id), image in kept.items()}
        return [_record(resource, row, bodies[row.document_id]) for row in rows]

    def _consistent(self, file: IO[bytes], before: int, moment: _Moment) -> Iterator[SubscriptionPage]:
        """The rows in the file without those that changed since, and what the last events made of these."""
        last = {
            event.key.document_id: event.change_version for event in self._events(before, moment.version, NewItemStateMode.OMIT)
        }
        changed = pa.array(sorted(document_id for document_id in last if document_id is not None), pa.int64())
        file.seek(0)
        with pa.ipc.open_stream(file) as reader:
            for rows in reader:
                kept = rows.filter(pc.invert(pc.is_in(rows["document_id"], value_set=changed))) if len(changed) else rows
                if kept.num_rows:
                    yield self._page([Snapshot(kept, moment.at)], 0, moment.version, None)
        if not last:
            return
        made: list[FeedEvent] = []
        for event in self._events(before, moment.version, NewItemStateMode.INCLUDE_IF_AVAILABLE):
            if event.type is not FeedEventType.DELETE and last[event.key.document_id] == event.change_version:
                made.append(event)
            if len(made) == self._request.max_page_size:
                yield self._page([Snapshot(documents_of(made), moment.at)], 0, moment.version, None)
                made = []
        if made:
            yield self._page([Snapshot(documents_of(made), moment.at)], 0, moment.version, None)

    def _events(self, after: int, through: int, item_state: NewItemStateMode) -> Iterator[FeedEvent]:
        """The events of a window that lies below the horizon. Raises CheckpointExpired where some of it is pruned."""
        request = replace(self._request, start=AfterVersion(after), item_state=item_state)
        while after < through:
            page = self._journal.read_changes(request)
            for event in page.events:
                if event.change_version > through:
                    return
                yield event
            after = place_of_token(page.token).through
            request = replace(request, start=FromToken(page.token))

    def _moment(self) -> _Moment:
        with self._journal.database.session() as session:
            row = session.execute("events/moment").one()
        return _Moment(microseconds(row.now), row.drawn)

    def _has_reached(self, version: int) -> bool:
        """Waits until the horizon has reached a version; false where it was stopped. Raises Unavailable."""
        waits, began = Backoff(*self._waits), time.monotonic()
        while (newest := self._journal.versions().newest) < version:
            if time.monotonic() - began > self._patience:
                raise Unavailable(
                    f"a writer holds the horizon at {newest}, the snapshot needs {version}",
                    "`dmsjournal status` names the writer: wait for its commit, or give more `patience`",
                )
            if self._stopped.wait(waits.next()):
                return False
        return not self._stopped.is_set()

    # The changes.

    def _changes(self, token: str) -> Generator[SubscriptionPage]:
        shortest, longest = self._waits
        request = replace(self._request, start=FromToken(token))
        self._reader = FeedIterator(
            self._journal, request, follow=self._follow, patience=self._patience, shortest_wait=shortest, longest_wait=longest
        )
        if self._stopped.is_set():
            return
        reached = place_of_token(token).through
        with self._reader as reader:
            self._mark()
            for page in reader.pages():
                events: list[ChangeEvent] = list(from_feed(page.events, self._source))
                through = place_of_token(page.token).through
                if (at := self._watermark(through)) is not None:
                    events.append(Watermark(at))
                if events or page.token != token:
                    end = max([through, *(event.change_version for event in page.events[-1:])])
                    yield self._page(events, reached + 1, end, page.token)
                token, reached = page.token, through
                self._mark()

    def _mark(self) -> None:
        """Notes a moment: its time is a watermark once its version was read."""
        with suppress(Unavailable):  # the reader asks again, for as long as its patience
            moment = self._moment()
            if self._moments and self._moments[-1].version == moment.version:
                self._moments.pop()
            self._moments.append(moment)

    def _watermark(self, through: int) -> int | None:
        """The newest time from before which nothing comes once a version was read; None where it is that of the last watermark."""
        before = self._told
        while self._moments and self._moments[0].version <= through:
            self._told = max(self._told, self._moments.popleft().at)  # a clock that stepped back takes no watermark back
        return self._told if self._told > before else None

    def _page(self, events: Sequence[ChangeEvent], start: int, through: int, token: str | None) -> SubscriptionPage:
        return SubscriptionPage(ChangeEventBatch(self._source, tuple(events), min(start, through + 1), through + 1), token)


def _record(resource: ResourceKey, row: Any, body: Mapping[str, object] | None) -> FeedRecord:
    return FeedRecord(
        event_id=event_id(row.change_version, row.document_id, 0, 0, "s"),
        key=Key(row.document_uuid, row.key_values, row.document_id),
        resource=resource,
        type="CREATE",
        timestamp=row.changed_at,
        change_version=row.change_version,
        item_state=StateRecord(None, body),
    )
