"""A status as Prometheus reads it: text exposition format 0.0.4. The names of metrics and labels are a contract."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.registry import Collector

from dmsjournal.operate.status import Status
from dmsjournal.util.printable import printable
from dmsjournal.util.version import VERSION

_Labels = Mapping[str, str]
_Value = float | datetime | None

# Name, meaning, and the attribute that has the value.
_OF_JOURNALS = [
    ("rows", "Rows of a journal, estimated.", "rows"),
    ("bytes", "Size of a journal with its indexes.", "bytes"),
    ("rows_last_hour", "Rows written in the last hour, estimated.", "rows_last_hour"),
    ("rows_last_day", "Rows written in the last 24 hours, estimated.", "rows_last_day"),
    ("floor_version", "The version up to which a journal has been pruned.", "floor"),
    ("pruned_timestamp_seconds", "When a journal was last pruned.", "pruned_at"),
]
_OF_CONSUMERS = [
    ("version", "The version up to which a consumer has read.", "change_version"),
    ("lag_versions", "How far a consumer is below the horizon.", "lag_versions"),
    ("lag_seconds", "Age of the first event that it has not read; 0 where there is none.", "lag_seconds"),
    ("expired", "1 where events that a consumer has not read are pruned.", "is_expired"),
    ("updated_timestamp_seconds", "When a consumer last moved.", "updated_at"),
]


def exposition(status: Status) -> str:
    """The status as metrics, each with the label `database`; a value that the role may not see has no sample."""
    registry = CollectorRegistry()
    registry.register(_Gauges(status))
    return generate_latest(registry).decode()


class _Gauges(Collector):
    """The gauges of one status."""

    def __init__(self, status: Status) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        """Metrics that have a sample."""
        yield from _gauges(self._status)


def _gauges(status: Status) -> list[Metric]:
    found: list[Metric] = []

    def gauge(name: str, meaning: str, samples: Iterable[tuple[_Labels, _Value]]) -> None:
        metric = Metric(f"dmsjournal_{name}", meaning, "gauge")
        for labels, value in samples:
            if value is not None:
                shown = {of: printable(label, keep="\n") for of, label in {"database": status.database, **labels}.items()}
                metric.add_sample(metric.name, shown, value.timestamp() if isinstance(value, datetime) else value)
        if metric.samples:
            found.append(metric)

    def one(name: str, meaning: str, value: _Value) -> None:
        gauge(name, meaning, [({}, value)])

    info = {"version": VERSION, "server": status.server, "revision": " ".join(status.revisions)}
    gauge("info", "Version of the program, server and revision of the journal; always 1.", [(info, 1)])
    one("status_timestamp_seconds", "When the status was read, by the database's clock.", status.at)
    one("database_bytes", "Size of the database.", status.database_bytes)
    one("oldest_version", "Oldest version that can be asked for; 0 while nothing was pruned.", status.oldest)
    one("newest_version", "The horizon: the newest version at or below which every writer has finished.", status.newest)
    one("last_stamp", "The last stamp that was given, committed or not.", status.last_stamp)
    one("horizon_lag_versions", "How far the horizon is below the last stamp.", status.lag_versions)
    one(
        "horizon_lag_seconds",
        "Age of the first event above the horizon that can be seen; 0 where there is none.",
        status.lag_seconds,
    )
    one("horizon_holders", "Transactions that hold a floor.", _holders(status))
    one(
        "horizon_hold_seconds", "Age of the oldest of them, as far as it can be seen; 0 where there is none.", _hold_seconds(status)
    )

    for name, meaning, attribute in _OF_JOURNALS:
        gauge(f"journal_{name}", meaning, (({"journal": of.name}, getattr(of, attribute)) for of in status.journals))
    for name, meaning, attribute in _OF_CONSUMERS:
        gauge(f"consumer_{name}", meaning, (({"consumer": of.name}, getattr(of, attribute)) for of in status.consumers))
    gauge(
        "trigger_enabled",
        "1 where a trigger that the journal needs is there and enabled.",
        (
            ({"table": trigger.table, "trigger": trigger.name}, trigger.state == "enabled")
            for trigger in status.triggers
            if trigger.state != "hidden"
        ),
    )
    if (parts := status.partitions) is not None:
        one("partition_last_version", "The last version that has a part with bounds in each journal.", parts.through)
        one("partition_days_left", "Days until it is reached, at the pace of the last 24 hours.", parts.days_left)
        one("partition_ensured_timestamp_seconds", "When partitions ensure ran last.", parts.ensured_at)
        gauge(
            "partition_overflow",
            "1 where the default part of a journal holds events.",
            (({"journal": journal.name}, journal.name in parts.overflowing) for journal in status.journals),
        )
        one("partitions_missing", "Parts of journals that were detached or dropped by hand.", len(parts.missing))
    if status.tracked is not None:
        gauge(
            "tracked_table_problems",
            "How many things of a tracked table are not as they should be.",
            (({"table": of.table}, len(of.problems)) for of in status.tracked),
        )
    one("hidden", "Parts of the status that the role may not see.", len(status.hidden))
    return found


def _holders(status: Status) -> int | None:
    return None if any(missing.part == "holders" for missing in status.hidden) else len(status.holders)


def _hold_seconds(status: Status) -> float | None:
    ages = [holder.transaction_seconds for holder in status.holders if holder.transaction_seconds is not None]
    if ages:
        return max(ages)
    return 0 if _holders(status) == 0 else None
