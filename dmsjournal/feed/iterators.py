"""FeedIterator: the events of a feed, one after another, from a checkpoint on."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import TypeVar

from dmsjournal.errors import InvalidRequest, Unavailable
from dmsjournal.feed.checkpoints import Checkpoint, blamed, check_parts
from dmsjournal.feed.deduplicating import Deduplicator, remember, without_repetitions
from dmsjournal.feed.events import FeedEvent
from dmsjournal.feed.pacing import Pace, begun, following
from dmsjournal.feed.pages import ChildPartition, FeedPage
from dmsjournal.feed.providers import FeedProvider
from dmsjournal.feed.requests import FeedRequest

logger = logging.getLogger("dmsjournal.feed")

_LOOK = 0.1  # seconds between two looks whether it was stopped
_Self = TypeVar("_Self", bound="FeedIterator")


class FeedIterator:
    """The events of a request, at least once each: `for event in FeedIterator(db, request, checkpoint=…)`.

    It goes on from the checkpoint's token; where that has none, from `request.start`. A page's token is saved when the event
    after the page's last one is asked for, so once the consumer is done with the page; who ends before sees the page again. The
    next page is read meanwhile, in a thread of its own. Where nothing is there it asks again after `shortest_wait`, and less and
    less often, up to `longest_wait` (seconds, jittered); with `follow` false it ends there. It ends as well where the scope, a
    physical partition, retires: then `children` go on. Unavailable is asked again for `patience` seconds, and then raised; all
    that read_changes and the checkpoint raise else is raised at once. Events that `deduplicator` remembers are left out; one is
    remembered when the next one, or the next page, is asked for. Use it as a context manager, or call stop(), to end the thread.
    """

    def __init__(
        self,
        source: FeedProvider,
        request: FeedRequest | None = None,
        *,
        checkpoint: Checkpoint | None = None,
        deduplicator: Deduplicator | None = None,
        follow: bool = True,
        shortest_wait: float = 0.1,
        longest_wait: float = 10.0,
        patience: float = 60.0,
    ) -> None:
        check_parts(source, checkpoint)
        self._source, self._request, self._checkpoint = source, request or FeedRequest(), checkpoint
        self._deduplicator = deduplicator
        self._follow, self._patience = follow, patience
        self._pace, self._retries = Pace(shortest_wait, longest_wait), Pace(shortest_wait, longest_wait)
        self._stopped = threading.Event()
        self._thread = ThreadPoolExecutor(1, "dmsjournal-feed")
        self._pages = self._read_pages()
        self._events = self._read_events()
        self.token: str | None = None
        self.children: Sequence[ChildPartition] = ()

    def __iter__(self) -> Iterator[FeedEvent]:
        return self

    def __next__(self) -> FeedEvent:
        if self._stopped.is_set():
            raise StopIteration
        return next(self._events)

    def pages(self) -> Iterator[FeedPage]:
        """The pages in place of the events, empty ones too: a page's token is saved when the next page is asked for."""
        return self._pages

    def stop(self) -> None:
        """Ends the iteration, from any thread, at once where it waits. The page that was being taken is not saved."""
        self._stopped.set()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        self._thread.shutdown(wait=True)  # a page that is on its way holds a connection

    def _read_events(self) -> Iterator[FeedEvent]:
        for page in self._pages:
            for event in page.events:
                yield event
                if self._deduplicator is not None:
                    self._deduplicator.add(event.event_id)

    def _read_pages(self) -> Iterator[FeedPage]:
        try:
            self.token = self._checkpoint.load() if self._checkpoint is not None else None
            request = begun(self._request, self.token)
            coming = self._ask(request)
            while (page := self._result(coming)) is not None:
                request = following(request, page)
                if not page.idle and not page.partition_retired:  # while the consumer takes this one
                    coming = self._ask(request)
                page = without_repetitions(page, self._deduplicator)
                yield page
                if self._stopped.is_set():
                    return
                remember(page, self._deduplicator)
                self._save(page.token)
                if page.partition_retired:
                    self.children = page.child_partitions
                    return
                if page.idle:
                    if not self._follow:
                        return
                    self._stopped.wait(self._pace.wait())
                    coming = self._ask(request)
                else:
                    self._pace.reset()
        finally:
            self.stop()

    def _ask(self, request: FeedRequest) -> Future[FeedPage] | None:
        if self._stopped.is_set():
            return None
        try:
            return self._thread.submit(self._read, request)
        except RuntimeError:  # stopped between the look and the call: the pool takes no more
            if self._stopped.is_set():
                return None
            raise

    def _result(self, coming: Future[FeedPage] | None) -> FeedPage | None:
        """The page once it is there, None where the iterator was stopped."""
        while coming is not None and not self._stopped.is_set():
            if not wait([coming], _LOOK).done:  # and not result(_LOOK), whose TimeoutError may be the page's own, or too late
                continue
            try:
                return coming.result()
            except CancelledError:  # stopped before the thread took it up
                return None
        return None

    def _read(self, request: FeedRequest) -> FeedPage:
        """One page, asked for again while the provider is unavailable."""
        began = time.monotonic()
        while True:
            try:
                page = self._source.read_changes(request)
            except InvalidRequest as error:
                raise blamed(error, self._checkpoint, self.token) from error.__cause__
            except Unavailable as error:
                if time.monotonic() - began > self._patience or self._stopped.wait(pause := self._retries.wait()):
                    raise
                logger.warning("the feed is unavailable (%s), asked again in %.1f s", error, pause, extra={"action": "feed_retry"})
            else:
                self._retries.reset()
                return page

    def _save(self, token: str) -> None:
        if token != self.token and self._checkpoint is not None:
            self._checkpoint.save(token)
        self.token = token
