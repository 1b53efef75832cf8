"""The service's parts, and how a route gets at them."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from dmsjournal.http.database import Database
from dmsjournal.http.limits import RateLimit, Waiting
from dmsjournal.http.metrics import Metrics
from dmsjournal.http.names import ResourceNames
from dmsjournal.http.settings import Settings
from dmsjournal.http.waking import Waker


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

    @classmethod
    def of(cls, settings: Settings) -> Service:
        """The parts as the settings say. Nothing is connected yet. Raises InvalidRequest."""
        database = Database(settings)
        return cls(
            settings,
            database,
            Waker(database.newest, settings.poll_seconds),
            ResourceNames(settings.resources),
            RateLimit(settings.rate, settings.burst),
            Waiting(settings.waiting),
            Metrics(),
        )


def service_of(request: Request) -> Service:
    """The parts of the service that a request came to."""
    found: Service = request.app.state.service
    return found
