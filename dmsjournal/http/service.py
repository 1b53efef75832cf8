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
from dmsjournal.http.sharing import Fresh
from dmsjournal.http.tails import Tails
from dmsjournal.http.waking import Waker
from dmsjournal.pruning import Pruned


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
    pages: Fresh[EventPage]
    tails: Tails

    @classmethod
    def of(cls, settings: Settings) -> Service:
        """The parts as the settings say. Nothing is connected yet. Raises InvalidRequest."""
        database, names = Database(settings), ResourceNames(settings.resources)
        reader = EventReader(database.journal, names, settings.page_bytes)

        def read(after: int, selection: Selection, limit: int, as_text: bool) -> Awaitable[EventPage]:
            return database.call(reader.read, after, selection, limit, as_text)

        tails = Tails(read)
        return cls(
            settings,
            database,
            Waker(database.newest, settings.poll_seconds, tails.clear),
            names,
            RateLimit(settings.rate, settings.burst),
            Waiting(settings.waiting),
            Metrics(),
            reader,
            Fresh(),
            tails,
        )

    async def read_events(
        self, after: int | None, selection: Selection, limit: int, as_text: bool, at: int | None = None
    ) -> EventPage:
        """A page of events; see EventReader.read. `at` is the horizon that has woken who asks, None where nobody was woken.

        Where the newest events are in memory they are taken from there, up to a horizon that was read after the question came: a
        client may ask for what it has just written.
        """
        if after is not None and at is None and self.tails.has(after, selection, as_text):
            at = await self.waker.now()
        if after is None or at is None:
            asked = (after, selection, limit, as_text)
            return await self.pages.get(asked, lambda: self.database.call(self.reader.read, *asked))
        return await self.tails.page(after, selection, limit, as_text, at)

    async def prune(self, through: int) -> Pruned:
        """Deletes events up to a version, inclusive, for so long as the settings allow. Raises what Journal.prune raises."""
        longest = timedelta(seconds=self.settings.prune_seconds)
        return await self.database.call(self.database.pruner.prune, through, max_runtime=longest)


def service_of(request: Request) -> Service:
    """The parts of the service that a request came to."""
    found: Service = request.app.state.service
    return found
