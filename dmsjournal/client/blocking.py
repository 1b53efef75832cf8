"""Client: the service for programs that wait for its answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, TypeVar
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
from dmsjournal.walks import Walk
from dmsjournal.windows import ChangeVersions, Window

_T = TypeVar("_T")


class Client(Base):
    """A service by its URL: `with Client(url, token) as db`. Threads may share it. See Base for its arguments.

    It reads as a Journal does, and is a source for FeedIterator. Every method may raise Unavailable, ServiceRefused, NotInstalled
    and DatabaseRefused besides what it names.
    """

    def __init__(self, url: str, token: str | None = None, **options: Any) -> None:
        super().__init__(url, token, **options)
        self._closed = threading.Event()
        self._http = new_http("Client", self._options)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes its connections, and ends the waits between tries."""
        self._closed.set()
        self._http.close()

    def versions(self) -> ChangeVersions:
        """The oldest and the newest version; see Journal.versions."""
        return self._get(calls.versions())

    def changes(self, resource: ResourceKey, window: Window | None = None, page_size: int = 500) -> Walk[ListedDocument]:
        """The documents whose version lies in the window (inclusive, cut to newest), as they are now, the lowest version first.

        Bounds: `page_size` is 1 to 10,000. Raises InvalidRequest, CheckpointExpired, at once or during the walk.
        """
        return self._windowed(self._documents, resource, window, page_size)

    def deletes(self, resource: ResourceKey, window: Window | None = None, page_size: int = 500) -> Walk[ListedDelete]:
        """What was deleted in the window, the lowest version first. Raises what changes raises."""
        return self._windowed(self._deletes, resource, window, page_size)

    def key_changes(self, resource: ResourceKey, window: Window | None = None, page_size: int = 500) -> Walk[ListedKeyChange]:
        """Whose key differs between the two ends of the window, the lowest version first. Raises what changes raises."""
        return self._windowed(self._key_changes, resource, window, page_size)

    def snapshot(self, resource: ResourceKey, page_size: int = 500) -> Walk[ListedDocument]:
        """All live documents of a resource. Go on with windows from `through` + 1; see Journal.snapshot. Raises InvalidRequest."""
        first = self._documents(resource, None, page_size)
        newest = self.versions().newest  # before the first page, so that nothing is missed between
        return Walk(self._items(self._get(first)), newest, cut=False)

    def document(self, resource: ResourceKey, document_uuid: UUID) -> ListedDocument | None:
        """A document as it is now, None where there is none. Raises InvalidRequest."""
        try:
            return self._get(calls.document(self._path(resource), document_uuid))
        except ServiceRefused as error:
            if is_missing(error):
                return None
            raise

    def read_changes(self, request: FeedRequest) -> FeedPage:
        """One page of the feed; see Journal.read_changes. Where nothing is there the service waits, for `long_poll` seconds."""
        return self._get(self._page(request))

    def list_physical_partitions(self) -> Sequence[FeedPartition]:
        """The partitions of the feed that still have versions to read, oldest first; see Journal.list_physical_partitions."""
        return self._get(calls.partitions())

    def _windowed(
        self,
        call: Callable[[ResourceKey, Window, int], Call[ListPage[_T]]],
        resource: ResourceKey,
        window: Window | None,
        page_size: int,
    ) -> Walk[_T]:
        checked, through, is_cut = reach(window, self.versions().newest)
        return Walk(self._items(self._get(call(resource, checked, page_size))), through, is_cut)

    def _items(self, page: ListPage[_T]) -> Iterator[_T]:
        yield from page.items
        while page.next is not None:
            page = self._get(page.next)
            yield from page.items

    def _get(self, call: Call[_T]) -> _T:
        """What a call gives, asked for again while the service is not there or asks for time."""
        began, pace = time.monotonic(), self._waits()
        while True:
            try:
                return self._once(call)
            except Later as later:
                seconds = max(pace.wait(), later.seconds)
                if time.monotonic() - began + seconds > self._patience or self._closed.wait(seconds):
                    raise later.error from later.__cause__

    def _once(self, call: Call[_T]) -> _T:
        import httpx

        try:
            answer = self._http.get(call.path, params=dict(call.params), timeout=self._seconds(call))
        except httpx.RequestError as error:
            raise Later(Unavailable(f"{self._url} does not answer ({error or type(error).__name__})")) from error
        return value_of(call, answer.status_code, answer.headers, answer.content)
