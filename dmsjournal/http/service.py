"""The service's parts, and how a route gets at them."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import timedelta

from starlette.requests import Request

from dmsjournal.http.database import Database
from dmsjournal.http.limits import RateLimit, Waiting
from dmsjournal.http.metrics import Metrics
from dmsjournal.http.names import ResourceNames
from dmsjournal.http.reading import EventPage, EventReader, Selection
from dmsjournal.http.settings import Settings
from dmsjournal.http.sharing import Shared
from dmsjournal.http.waking import Waker
from dmsjournal.pruning import Pruned

_SHARED_PAGES = 16  # that are kept for who comes a little later


@dataclass(frozen=True, slots=True)
class Service:
    """Everything that outlives a request."""

    settings: Settings
    database: Database
    waker: Waker
    names: ResourceNames
    rates: RateLimit
    waiting: Waiting
    metrics: Metrics
    reader: EventReader
    pages: Shared[EventPage]

    @classmethod
    def of(cls, settings: Settings) -> Service:
        """The parts as the settings say. Nothing is connected yet. Raises InvalidRequest."""
        database, names = Database(settings), ResourceNames(settings.resources)
        return cls(
            settings,
            database,
            Waker(database.newest, settings.poll_seconds),
            names,
            RateLimit(settings.rate, settings.burst),
            Waiting(settings.waiting),
            Metrics(),
            EventReader(database.journal, names, settings.page_bytes),
            Shared(_SHARED_PAGES),
        )

    async def read_events(
        self, after: int | None, selection: Selection, limit: int, as_text: bool, at: int | None = None
    ) -> EventPage:
        """A page of events; see EventReader.read.

        `at` is the horizon that has woken who asks: whoever else it has woken at the same place gets the same page. Without it the
        page is read now, since a client may ask for what it has just written.
        """

        def read() -> Awaitable[EventPage]:
            return self.database.call(self.reader.read, after, selection, limit, as_text)

        return await (read() if at is None else self.pages.get((after, selection, limit, as_text, at), read))

    async def prune(self, through: int) -> Pruned:
        """Deletes events up to a version, inclusive, for so long as the settings allow. Raises what Journal.prune raises."""
        longest = timedelta(seconds=self.settings.prune_seconds)
        return await self.database.call(self.database.pruner.prune, through, max_runtime=longest)


def service_of(request: Request) -> Service:
    """The parts of the service that a request came to."""
    found: Service = request.app.state.service
    return found
