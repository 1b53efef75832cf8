"""The service's parts, and how a route gets at them."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from starlette.requests import Request

from dmsjournal.errors import InvalidRequest
from dmsjournal.events import formats
from dmsjournal.events.cdc import CdcConverter, EventFilter
from dmsjournal.http.bodies import Bodies
from dmsjournal.http.database import JournalThreads
from dmsjournal.http.event_pages import EventPage, EventReader, Selection
from dmsjournal.http.horizon_watch import Waker
from dmsjournal.http.limits import RateLimit, Waiting
from dmsjournal.http.metrics import Metrics
from dmsjournal.http.names import ResourceNames
from dmsjournal.http.security import Tokens
from dmsjournal.http.settings import Settings
from dmsjournal.http.single_flight import Fresh, Recent
from dmsjournal.http.tails import Tails
from dmsjournal.http.tickets import Tickets
from dmsjournal.operate.held_back import HeldBack, held_back_if_allowed
from dmsjournal.operate.prune import Pruned


@dataclass(frozen=True, slots=True)
class Service:
    """Everything that outlives a request."""

    settings: Settings
    tokens: Tokens
    database: JournalThreads
    waker: Waker
    names: ResourceNames
    rates: RateLimit
    waiting: Waiting
    metrics: Metrics
    reader: EventReader
    pages: Fresh[EventPage]
    tails: Tails
    converter: CdcConverter
    tickets: Tickets
    bodies: Bodies
    held_back: Recent[HeldBack | None]  # at most a second old: idle clients ask often

    @classmethod
    def of(cls, settings: Settings) -> Service:
        """The parts as the settings say. Nothing is connected yet. Raises InvalidRequest."""
        database, names = JournalThreads(settings), ResourceNames(settings.resources)
        converter = formats.converter(settings.url, settings.events)
        reader = EventReader(database.journal, names, settings.page_bytes, converter)

        def read(after: int, selection: Selection, limit: int) -> Awaitable[EventPage]:
            return database.call(reader.read, after, selection, limit)

        tails, waiting = Tails(read), Waiting(settings.waiting)
        return cls(
            settings,
            Tokens(settings.tokens, settings.token_file),
            database,
            Waker(database.newest, settings.poll_seconds, tails.clear),
            names,
            RateLimit(settings.rate, settings.burst),
            waiting,
            Metrics(
                {
                    "waiting_requests": ("Long polls and streams that are open.", lambda: waiting.count),
                    "database_calls": ("Calls of the database that are queued or running.", lambda: database.pending),
                }
            ),
            reader,
            Fresh(),
            tails,
            converter,
            Tickets(settings.ticket_secret),
            Bodies(settings.page_bytes, settings.spooled_bytes),
            Recent(lambda: database.call(held_back_if_allowed, database.journal.held_back)),
        )

    def writer(self, format_: str, filters: Mapping[str, tuple[str, ...]]) -> formats.Writer:
        """Writes events in a format, those that a filter wants. Raises InvalidRequest."""
        return formats.Writer(formats.load(format_), self.converter, EventFilter(**filters) if filters else None)

    def page_size(self, limit: int | None, default: int, parameter: str = "limit") -> int:
        """The rows of a page. Raises InvalidRequest for more than the largest: cut in silence, a page would look like the last."""
        largest = self.settings.largest_page
        if limit is not None and limit > largest:
            raise InvalidRequest(parameter, limit, f"the service gives {largest} at most: ask for so many, page by page")
        return min(default, largest) if limit is None else limit

    async def read_events(self, after: int | None, selection: Selection, limit: int, at: int | None = None) -> EventPage:
        """A page of events; see EventReader.read. `at` is the horizon that has woken who asks, None where nobody was woken.

        Where the newest events are in memory they are taken from there, up to a horizon that was read after the question came: a
        client may ask for what it has just written.
        """
        if after is not None and at is None and self.tails.has(after, selection):
            at = await self.waker.now()
        if not after or at is None:
            asked = (after, selection, limit)
            return await self.pages.get(asked, lambda: self.database.call(self.reader.read, *asked))
        return await self.tails.page(after, selection, limit, at)

    async def prune(self, through: int) -> Pruned:
        """Deletes events up to a version, inclusive, for so long as the settings allow. Raises what Journal.prune raises."""
        longest = timedelta(seconds=self.settings.prune_seconds)
        return await self.database.call(self.database.pruner.prune, through, max_runtime=longest)


def service_of(request: Request) -> Service:
    """The parts of the service that a request came to."""
    found: Service = request.app.state.service
    return found
