"""AsyncFeedIterator: the events of a feed, one after another, from a checkpoint on."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from types import TracebackType
from typing import TypeVar

from dmsjournal.errors import InvalidRequest, Unavailable
from dmsjournal.feed.checkpoints import AsyncCheckpoint, blamed, check_parts
from dmsjournal.feed.continuation import begun, following
from dmsjournal.feed.deduplication import Deduplicator, remember, without_repetitions
from dmsjournal.feed.events import FeedEvent
from dmsjournal.feed.pages import ChildPartition, FeedPage
from dmsjournal.feed.providers import AsyncFeedProvider
from dmsjournal.feed.requests import FeedRequest
from dmsjournal.util.backoff import Backoff
from dmsjournal.util.concurrency import AsyncAhead, AsyncCalls, AsyncEvent, async_call

logger = logging.getLogger("dmsjournal.feed")

_Self = TypeVar("_Self", bound="AsyncFeedIterator")


class AsyncFeedIterator(AsyncIterator[FeedEvent]):
    """The events of a request, at least once each: `async for event in AsyncFeedIterator(db, request, checkpoint=…)`.

    It goes on from the checkpoint's token; where that has none, from `request.start`. A page's token is saved when the event
    after the page's last one is asked for, so once the consumer is done with the page; who ends before sees the page again. The
    next page is read meanwhile. Where nothing is there it asks again after `shortest_wait`, and less and less often, up to
    `longest_wait` (seconds, jittered); with `follow` false it ends there. It ends as well where the scope, a physical partition,
    retires: then `children` go on. Unavailable is asked again for `patience` seconds, and then raised; all that read_changes and
    the checkpoint raise else is raised at once. A step that failed, or was cancelled, can be taken again: the iterator is where it
    was, and never claims that it has ended. Events that `deduplicator` remembers are left out; one is remembered when the next one,
    or the next page, is asked for. Use it as a context manager, or call stop(), which any thread may.

    The blocking iterator reads ahead in a thread of its own, and asks the checkpoint in the caller's. The asynchronous one awaits
    `source.read_changes`, `checkpoint.load` and `checkpoint.save` if they are coroutines; if not, it calls them in threads of its
    own, so that the loop goes on. Who leaves it waits less than a second for a page that is on its way.
    """

    def __init__(
        self,
        source: AsyncFeedProvider,
        request: FeedRequest | None = None,
        *,
        checkpoint: AsyncCheckpoint | None = None,
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
        self._idle_wait, self._retry_wait = Backoff(shortest_wait, longest_wait), Backoff(shortest_wait, longest_wait)
        self._stopped = AsyncEvent()
        self._ahead: AsyncAhead[FeedPage] = AsyncAhead(self._stopped)
        self._kept = AsyncCalls()  # of the checkpoint
        self._next: FeedRequest | None = None  # of the page that comes; None before the checkpoint was asked
        self._page: FeedPage | None = None  # that the consumer has, and is not done with
        self._left: Iterator[FeedEvent] = iter(())  # of that page
        self._given: FeedEvent | None = None
        self._rests_until = 0.0
        self._is_over = False
        self.token: str | None = None
        self.children: Sequence[ChildPartition] = ()

    async def __anext__(self) -> FeedEvent:
        while not self._stopped.is_set():
            if self._given is not None and self._deduplicator is not None:
                self._deduplicator.add(self._given.event_id)
            self._given = next(self._left, None)
            if self._given is not None:
                return self._given
            page = await self._next_page()
            if page is None:
                break
            self._left = iter(page.events)
        raise StopAsyncIteration

    def pages(self) -> AsyncIterator[FeedPage]:
        """The pages in place of the events, empty ones too: a page's token is saved when the next page is asked for."""
        return AsyncFeedPages(self)

    def stop(self) -> None:
        """Ends the iteration, from any thread, at once where it waits. The page that was being taken is not saved."""
        self._stopped.set()

    async def __aenter__(self: _Self) -> _Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        await self._ahead.leave()
        await self._kept.leave()

    async def _next_page(self) -> FeedPage | None:
        """The next page, None at the end. Each step notes that it was done: after an error the next call begins with that step."""
        if self._stopped.is_set():
            return None
        if self._next is None:
            self.token = await self._kept.call(self._checkpoint.load) if self._checkpoint is not None else None
            self._next = begun(self._request, self.token)
        if self._page is not None:
            await self._finish(self._page)
            self._page = None
        rest = self._rests_until - time.monotonic()
        if self._is_over or (rest > 0 and await self._stopped.wait(rest)):
            return None
        self._ahead.begin(self._read, self._next)
        page = await self._ahead.result()
        if page is None:
            return None
        wanted = without_repetitions(page, self._deduplicator)
        self._ahead.take()
        self._next = following(self._next, page)
        if not page.idle and not page.partition_retired:  # while the consumer takes this one
            self._ahead.begin(self._read, self._next)
        self._page = wanted
        return wanted

    async def _finish(self, page: FeedPage) -> None:
        """The consumer is done with a page."""
        remember(page, self._deduplicator)
        if page.token != self.token and self._checkpoint is not None:
            await self._kept.call(self._checkpoint.save, page.token)
        self.token = page.token
        if page.partition_retired:
            self.children = page.child_partitions
        self._is_over = page.partition_retired or (page.idle and not self._follow)
        if page.idle:
            self._rests_until = time.monotonic() + self._idle_wait.next()  # and not from the next step on, which may be cancelled
        else:
            self._idle_wait.reset()

    async def _read(self, request: FeedRequest) -> FeedPage:
        """One page, asked for again while the provider is unavailable."""
        began = time.monotonic()
        while True:
            try:
                page: FeedPage = await async_call(self._source.read_changes, request)
            except InvalidRequest as error:
                raise blamed(error, self._checkpoint, self.token) from error.__cause__
            except Unavailable as error:
                seconds = self._retry_wait.next()
                if time.monotonic() - began > self._patience or await self._stopped.wait(seconds):
                    raise
                logger.warning(
                    "the feed is unavailable (%s), asked again in %.1f s", error, seconds, extra={"action": "feed_retry"}
                )
            else:
                self._retry_wait.reset()
                return page


class AsyncFeedPages(AsyncIterator[FeedPage]):
    """The pages of an AsyncFeedIterator."""

    def __init__(self, events: AsyncFeedIterator) -> None:
        self._events = events

    async def __anext__(self) -> FeedPage:
        page = await self._events._next_page()
        if page is None:
            raise StopAsyncIteration
        return page
