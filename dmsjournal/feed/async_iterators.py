"""AsyncFeedIterator: FeedIterator for programs that run in an event loop."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from types import TracebackType
from typing import Any, TypeVar

from dmsjournal.errors import InvalidRequest, Unavailable
from dmsjournal.feed.checkpoints import blamed, check_parts
from dmsjournal.feed.deduplicating import Deduplicator, remember, without_repetitions
from dmsjournal.feed.events import FeedEvent
from dmsjournal.feed.pacing import Pace, begun, following
from dmsjournal.feed.pages import ChildPartition, FeedPage
from dmsjournal.feed.requests import FeedRequest

logger = logging.getLogger("dmsjournal.feed")

_Self = TypeVar("_Self", bound="AsyncFeedIterator")


class AsyncFeedIterator:
    """The events of a request: `async for event in AsyncFeedIterator(db, request, checkpoint=…)`. See FeedIterator, its twin.

    `source.read_changes`, `checkpoint.load` and `checkpoint.save` may be coroutines; what is none runs in a thread, so that the
    loop goes on. stop() may be called from any thread.
    """

    def __init__(
        self,
        source: Any,
        request: FeedRequest | None = None,
        *,
        checkpoint: Any = None,
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
        self._is_stopped = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped: asyncio.Event | None = None
        self._coming: asyncio.Task[FeedPage] | None = None
        self._pages = self._read_pages()
        self._events = self._read_events()
        self.token: str | None = None
        self.children: Sequence[ChildPartition] = ()

    def __aiter__(self) -> AsyncIterator[FeedEvent]:
        return self

    async def __anext__(self) -> FeedEvent:
        if self._is_stopped:
            raise StopAsyncIteration
        return await anext(self._events)

    def pages(self) -> AsyncIterator[FeedPage]:
        """The pages in place of the events, empty ones too: a page's token is saved when the next page is asked for."""
        return self._pages

    def stop(self) -> None:
        """Ends the iteration, from any thread, at once where it waits. The page that was being taken is not saved."""
        self._is_stopped = True
        if self._loop is not None and self._stopped is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stopped.set)

    async def __aenter__(self: _Self) -> _Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        if self._coming is not None:  # a page that is on its way holds a connection
            await asyncio.gather(self._coming, return_exceptions=True)

    async def _read_events(self) -> AsyncIterator[FeedEvent]:
        async for page in self._pages:
            for event in page.events:
                yield event
                if self._deduplicator is not None:
                    self._deduplicator.add(event.event_id)

    async def _read_pages(self) -> AsyncIterator[FeedPage]:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        if self._is_stopped:  # before there was an event to set
            return
        self.token = await _called(self._checkpoint.load) if self._checkpoint is not None else None
        request = begun(self._request, self.token)
        self._coming = asyncio.create_task(self._read(request))
        while (page := await self._result()) is not None:
            request = following(request, page)
            if not page.idle and not page.partition_retired:  # while the consumer takes this one
                self._coming = asyncio.create_task(self._read(request))
            page = without_repetitions(page, self._deduplicator)
            yield page
            if self._is_stopped:
                return
            remember(page, self._deduplicator)
            await self._save(page.token)
            if page.partition_retired:
                self.children = page.child_partitions
                return
            if page.idle:
                if not self._follow or await self._wait(self._pace.wait()):
                    return
                self._coming = asyncio.create_task(self._read(request))
            else:
                self._pace.reset()

    async def _result(self) -> FeedPage | None:
        """The page once it is there, None where the iterator was stopped."""
        assert self._stopped is not None
        assert self._coming is not None
        stopped = asyncio.create_task(self._stopped.wait())
        try:
            await asyncio.wait({self._coming, stopped}, return_when=asyncio.FIRST_COMPLETED)
            return None if self._is_stopped else self._coming.result()
        finally:
            stopped.cancel()

    async def _wait(self, seconds: float) -> bool:
        """Whether it was stopped meanwhile."""
        assert self._stopped is not None
        try:
            await asyncio.wait_for(self._stopped.wait(), seconds)
        except TimeoutError:
            return self._is_stopped
        return True

    async def _read(self, request: FeedRequest) -> FeedPage:
        """One page, asked for again while the provider is unavailable."""
        began = time.monotonic()
        while True:
            try:
                page: FeedPage = await _called(self._source.read_changes, request)
            except InvalidRequest as error:
                raise blamed(error, self._checkpoint, self.token) from error.__cause__
            except Unavailable as error:
                if time.monotonic() - began > self._patience or await self._wait(wait := self._retries.wait()):
                    raise
                logger.warning("the feed is unavailable (%s), asked again in %.1f s", error, wait, extra={"action": "feed_retry"})
            else:
                self._retries.reset()
                return page

    async def _save(self, token: str) -> None:
        if token != self.token and self._checkpoint is not None:
            await _called(self._checkpoint.save, token)
        self.token = token


async def _called(function: Callable[..., Any], *arguments: object) -> Any:
    """The function's result: awaited where it is a coroutine, else from a thread."""
    if inspect.iscoroutinefunction(function):
        return await function(*arguments)
    result = await asyncio.to_thread(function, *arguments)
    return await result if inspect.isawaitable(result) else result
