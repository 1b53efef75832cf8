"""Metrics of the service itself, for Prometheus: requests by route, how long they took, what waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_BOUNDS = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0)  # seconds


class Metrics:
    """Counts since the service began. `gauges`: help and value, by name, of what is counted elsewhere."""

    def __init__(self, gauges: Mapping[str, tuple[str, Callable[[], float]]]) -> None:
        self._registry = CollectorRegistry()
        for name, (meaning, value) in gauges.items():
            Gauge(f"dmsjournal_http_{name}", meaning, registry=self._registry).set_function(value)
        self.events = Counter("dmsjournal_http_events_sent", "Events of the feed that were sent.", registry=self._registry)
        self.database_up = Gauge(
            "dmsjournal_http_database_up", "Whether the journal's metrics could be read just now.", registry=self._registry
        )
        self._requests = Counter(
            "dmsjournal_http_requests", "Requests that have ended.", ["route", "method", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "dmsjournal_http_request_seconds",
            "How long requests took, their waits included.",
            ["route"],
            buckets=_BOUNDS,
            registry=self._registry,
        )

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """Counts a request that has ended."""
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def exposition(self) -> str:
        """The text that Prometheus reads."""
        return generate_latest(self._registry).decode()
