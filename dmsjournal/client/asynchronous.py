"""AsyncClient: the service for programs that run in an event loop. Client is its twin, and says what each method does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from types import TracebackType
from typing import Any, Generic, TypeVar
from uuid import UUID

from dmsjournal.client import calls
from dmsjournal.client.answers import Later, value_of
from dmsjournal.client.base import Base, is_missing, new_http, reach
from dmsjournal.client.calls import Call, ListPage
from dmsjournal.client.items import ListedDelete, ListedDocument, ListedKeyChange
from dmsjournal.errors import ServiceRefused, Unavailable
from dmsjournal.feed.pages import FeedPage
from dmsjournal.feed.partitions import FeedPartition
from dmsjournal.feed.requests import FeedRequest
from dmsjournal.resources import ResourceKey
from dmsjournal.windows import ChangeVersions, Window

_T = TypeVar("_T")


class AsyncWalk(AsyncIterator[_T], Generic[_T]):
    """A Walk for event loops: `async for item in await client.changes(…)`; `through` and `cut` are a Walk's."""

    def __init__(self, items: AsyncIterator[_T], through: int, cut: bool) -> None:
        self._items = items
        self.through, self.cut = through, cut

    async def __anext__(self) -> _T:
        return await anext(self._items)


class AsyncClient(Base):
    """A service by its URL: `async with AsyncClient(url, token) as db`. A source for AsyncFeedIterator. See Client, its twin."""

    def __init__(self, url: str, token: str | None = None, **options: Any) -> None:
        super().__init__(url, token, **options)
        self._http = new_http("AsyncClient", self._options)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes its connections."""
        await self._http.aclose()

    async def versions(self) -> ChangeVersions:
        """The oldest and the newest version."""
        return await self._get(calls.versions())

    async def changes(self, resource: ResourceKey, window: Window | None = None, page_size: int = 500) -> AsyncWalk[ListedDocument]:
        """The documents whose version lies in the window, as they are now."""
        return await self._windowed(self._documents, resource, window, page_size)

    async def deletes(self, resource: ResourceKey, window: Window | None = None, page_size: int = 500) -> AsyncWalk[ListedDelete]:
        """What was deleted in the window."""
        return await self._windowed(self._deletes, resource, window, page_size)

    async def key_changes(
        self, resource: ResourceKey, window: Window | None = None, page_size: int = 500
    ) -> AsyncWalk[ListedKeyChange]:
        """Whose key differs between the two ends of the window."""
        return await self._windowed(self._key_changes, resource, window, page_size)

    async def snapshot(self, resource: ResourceKey, page_size: int = 500) -> AsyncWalk[ListedDocument]:
        """All live documents of a resource."""
        first = self._documents(resource, None, page_size)
        newest = (await self.versions()).newest  # before the first page, so that nothing is missed between
        return AsyncWalk(self._items(await self._get(first)), newest, cut=False)

    async def document(self, resource: ResourceKey, document_uuid: UUID) -> ListedDocument | None:
        """A document as it is now, None where there is none."""
        try:
            return await self._get(calls.document(self._path(resource), document_uuid))
        except ServiceRefused as error:
            if is_missing(error):
                return None
            raise

    async def read_changes(self, request: FeedRequest) -> FeedPage:
        """One page of the feed."""
        return await self._get(self._page(request))

    async def list_physical_partitions(self) -> Sequence[FeedPartition]:
        """The partitions of the feed that still have versions to read, oldest first."""
        return await self._get(calls.partitions())

    async def _windowed(
        self,
        call: Callable[[ResourceKey, Window, int], Call[ListPage[_T]]],
        resource: ResourceKey,
        window: Window | None,
        page_size: int,
    ) -> AsyncWalk[_T]:
        checked, through, is_cut = reach(window, (await self.versions()).newest)
        return AsyncWalk(self._items(await self._get(call(resource, checked, page_size))), through, is_cut)

    async def _items(self, page: ListPage[_T]) -> AsyncIterator[_T]:
        for item in page.items:
            yield item
        while page.next is not None:
            page = await self._get(page.next)
            for item in page.items:
                yield item

    async def _get(self, call: Call[_T]) -> _T:
        """What a call gives, asked for again while the service is not there or asks for time."""
        began, pace = time.monotonic(), self._waits()
        while True:
            try:
                return await self._once(call)
            except Later as later:
                seconds = max(pace.wait(), later.seconds)
                if time.monotonic() - began + seconds > self._patience:
                    raise later.error from later.__cause__
            await asyncio.sleep(seconds)

    async def _once(self, call: Call[_T]) -> _T:
        import httpx

        try:
            answer = await self._http.get(call.path, params=dict(call.params), timeout=self._seconds(call))
        except httpx.RequestError as error:
            raise Later(Unavailable(f"{self._url} does not answer ({error or type(error).__name__})")) from error
        return value_of(call, answer.status_code, answer.headers, answer.content)
