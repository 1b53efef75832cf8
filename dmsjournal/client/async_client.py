"""AsyncClient: the service that shares a journal over HTTP, read as the journal itself is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Any, TypeVar
from uuid import UUID

from dmsjournal.client import calls
from dmsjournal.client.answers import LARGEST_ANSWER, Later, too_large, undecodable, value_of
from dmsjournal.client.base import Base, is_missing, new_http, reach
from dmsjournal.client.calls import Call, ListPage
from dmsjournal.client.items import ListedDelete, ListedDocument, ListedKeyChange
from dmsjournal.errors import ServiceRefused, Unavailable
from dmsjournal.feed.pages import FeedPage
from dmsjournal.feed.partitions import FeedPartition
from dmsjournal.feed.requests import FeedRequest
from dmsjournal.model.resources import ResourceKey
from dmsjournal.model.windows import ChangeVersions, Window, checked_flag
from dmsjournal.read.async_walk import AsyncWalk
from dmsjournal.util.concurrency import AsyncEvent

_T = TypeVar("_T")


class AsyncClient(Base):
    """A service by its URL: `async with AsyncClient(url, token) as db`. See Base for its arguments.

    It reads as a Journal does, and is a source for AsyncFeedIterator. Every method may raise Unavailable, ServiceRefused,
    NotInstalled and DatabaseRefused besides what it names.
    """

    def __init__(self, url: str, token: str | None = None, **options: Any) -> None:
        super().__init__(url, token, **options)
        self._closed = AsyncEvent()
        self._http = new_http("AsyncClient", self._options)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes its connections, and ends the waits between tries."""
        self._closed.set()
        await self._http.aclose()

    async def versions(self) -> ChangeVersions:
        """The oldest and the newest version; see Journal.versions."""
        return await self._get(calls.versions())

    async def changes(self, resource: ResourceKey, window: Window | None = None, page_size: int = 500) -> AsyncWalk[ListedDocument]:
        """The documents whose version lies in the window (inclusive, cut to newest), as they are now, the lowest version first.

        Bounds: `page_size` is 1 to 10,000. Raises InvalidRequest, CheckpointExpired, at once or during the walk.
        """
        return await self._windowed(self._documents, resource, window, page_size)

    async def deletes(
        self, resource: ResourceKey, window: Window | None = None, page_size: int = 500, *, reused_keys: bool = True
    ) -> AsyncWalk[ListedDelete]:
        """What was deleted in the window, the lowest version first; see Journal.deletes. Raises what changes raises."""
        checked_flag("reused_keys", reused_keys)
        return await self._windowed(partial(self._deletes, reused_keys=reused_keys), resource, window, page_size)

    async def key_changes(
        self, resource: ResourceKey, window: Window | None = None, page_size: int = 500
    ) -> AsyncWalk[ListedKeyChange]:
        """Whose key differs between the two ends of the window, the lowest version first. Raises what changes raises."""
        return await self._windowed(self._key_changes, resource, window, page_size)

    async def snapshot(self, resource: ResourceKey, page_size: int = 500) -> AsyncWalk[ListedDocument]:
        """All live documents of a resource. Go on with windows from `through` + 1; see Journal.snapshot. Raises InvalidRequest."""
        first = self._documents(resource, None, page_size)
        versions = await self.versions()  # before the first page, so that nothing is missed between
        page = await self._get(first)
        return AsyncWalk(page, self._get, versions.newest, cut=False)

    async def document(self, resource: ResourceKey, document_uuid: UUID) -> ListedDocument | None:
        """A document as it is now, None where there is none. Raises InvalidRequest."""
        try:
            return await self._get(calls.document(self._path(resource), document_uuid))
        except ServiceRefused as error:
            if is_missing(error):
                return None
            raise

    async def read_changes(self, request: FeedRequest) -> FeedPage:
        """One page of the feed; see Journal.read_changes. Where nothing is there the service waits, for `long_poll` seconds."""
        return await self._get(self._page(request))

    async def list_physical_partitions(self) -> Sequence[FeedPartition]:
        """The partitions of the feed that still have versions to read, oldest first; see Journal.list_physical_partitions."""
        return await self._get(calls.partitions())

    async def _windowed(
        self,
        call: Callable[[ResourceKey, Window, int], Call[ListPage[_T]]],
        resource: ResourceKey,
        window: Window | None,
        page_size: int,
    ) -> AsyncWalk[_T]:
        versions = await self.versions()
        checked, through, is_cut = reach(window, versions.newest)
        page = await self._get(call(resource, checked, page_size))
        return AsyncWalk(page, self._get, through, is_cut)

    async def _get(self, call: Call[_T]) -> _T:
        """What a call gives, asked for again while the service is not there or asks for time."""
        began, backoff = time.monotonic(), self._waits()
        while True:
            try:
                return await self._once(call)
            except Later as later:
                seconds = max(backoff.next(), later.seconds)
                if time.monotonic() - began + seconds > self._patience or await self._closed.wait(seconds):
                    raise later.error from later.__cause__

    async def _once(self, call: Call[_T]) -> _T:
        import httpx

        content = bytearray()
        try:
            async with self._http.stream("GET", call.path, params=dict(call.params), timeout=self._seconds(call)) as answer:
                async for part in answer.aiter_bytes():
                    content += part
                    if len(content) > LARGEST_ANSWER:
                        raise too_large(answer.status_code)
        except httpx.DecodingError as error:
            raise undecodable(answer.status_code, error) from error
        except httpx.RequestError as error:
            raise Later(Unavailable(f"{self._url} does not answer ({error or type(error).__name__})")) from error
        return value_of(call, answer.status_code, answer.headers, bytes(content))
