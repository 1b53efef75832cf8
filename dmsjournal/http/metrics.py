"""Metrics of the service itself, for Prometheus: requests by route, how long they took, what waits."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

_BOUNDS = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0)  # seconds


class Metrics:
    """Counts since the service began."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._buckets: Counter[tuple[str, float]] = Counter()
        self.events = 0  # sent, in pages and streams

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """Counts a request that has ended."""
        self._requests[route, method, status] += 1
        self._seconds[route] += seconds
        for bound in _BOUNDS:
            self._buckets[route, bound] += seconds <= bound

    def exposition(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """The text that Prometheus reads. `gauges`: name, help and value of what is counted elsewhere."""
        return "\n".join(self._lines(gauges)) + "\n"

    def _lines(self, gauges: Mapping[str, tuple[str, float]]) -> Iterator[str]:
        for name, (told, value) in gauges.items():
            yield from _head(name, told, "gauge")
            yield f"dmsjournal_http_{name} {value:g}"
        yield from _head("events_sent_total", "Events of the feed that were sent.", "counter")
        yield f"dmsjournal_http_events_sent_total {self.events}"
        yield from _head("requests_total", "Requests that have ended.", "counter")
        for (route, method, status), count in sorted(self._requests.items()):
            yield f'dmsjournal_http_requests_total{{route="{route}",method="{method}",status="{status}"}} {count}'
        yield from _head("request_seconds", "How long requests took, their waits included.", "histogram")
        for route in sorted(self._seconds):
            count = sum(n for (of, _, _), n in self._requests.items() if of == route)
            for bound in _BOUNDS:
                yield f'dmsjournal_http_request_seconds_bucket{{route="{route}",le="{bound:g}"}} {self._buckets[route, bound]}'
            yield f'dmsjournal_http_request_seconds_bucket{{route="{route}",le="+Inf"}} {count}'
            yield f'dmsjournal_http_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}'
            yield f'dmsjournal_http_request_seconds_count{{route="{route}"}} {count}'


def _head(name: str, told: str, kind: str) -> Iterator[str]:
    yield f"# HELP dmsjournal_http_{name} {told}"
    yield f"# TYPE dmsjournal_http_{name} {kind}"
