"""A status as Prometheus reads it: text exposition format 0.0.4. The names of metrics and labels are a contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import dmsjournal
from dmsjournal.status import Status

_Labels = Mapping[str, str]
_Value = float | datetime | None


def exposition(status: Status) -> str:
    """The status as metrics, each with the label `database`; a value that the role may not see has no sample."""
    lines: list[str] = []

    def gauge(name: str, meaning: str, samples: Iterable[tuple[_Labels, _Value]]) -> None:
        known = [(labels, value) for labels, value in samples if value is not None]
        if known:
            lines.append(f"# HELP dmsjournal_{name} {meaning}")
            lines.append(f"# TYPE dmsjournal_{name} gauge")
            lines.extend(
                f"dmsjournal_{name}{_labels({'database': status.database, **labels})} {_number(value)}" for labels, value in known
            )

    def one(name: str, meaning: str, value: _Value) -> None:
        gauge(name, meaning, [({}, value)])

    info = {"version": dmsjournal.__version__, "server": status.server, "revision": " ".join(status.revisions)}
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

    journals = [({"journal": journal.name}, journal) for journal in status.journals]
    gauge("journal_rows", "Rows of a journal, estimated.", ((labels, of.rows) for labels, of in journals))
    gauge("journal_bytes", "Size of a journal with its indexes.", ((labels, of.bytes) for labels, of in journals))
    gauge(
        "journal_rows_last_hour",
        "Rows written in the last hour, estimated.",
        ((labels, of.rows_last_hour) for labels, of in journals),
    )
    gauge(
        "journal_rows_last_day",
        "Rows written in the last 24 hours, estimated.",
        ((labels, of.rows_last_day) for labels, of in journals),
    )
    gauge(
        "journal_floor_version",
        "The version up to which a journal has been pruned.",
        ((labels, of.floor) for labels, of in journals),
    )
    gauge(
        "journal_pruned_timestamp_seconds", "When a journal was last pruned.", ((labels, of.pruned_at) for labels, of in journals)
    )

    consumers = [({"consumer": consumer.name}, consumer) for consumer in status.consumers]
    gauge(
        "consumer_version",
        "The version up to which a consumer has read.",
        ((labels, of.change_version) for labels, of in consumers),
    )
    gauge(
        "consumer_lag_versions", "How far a consumer is below the horizon.", ((labels, of.lag_versions) for labels, of in consumers)
    )
    gauge(
        "consumer_lag_seconds",
        "Age of the first event that it has not read; 0 where there is none.",
        ((labels, of.lag_seconds) for labels, of in consumers),
    )
    gauge(
        "consumer_expired",
        "1 where events that a consumer has not read are pruned.",
        ((labels, of.is_expired) for labels, of in consumers),
    )
    gauge(
        "consumer_updated_timestamp_seconds", "When a consumer last moved.", ((labels, of.updated_at) for labels, of in consumers)
    )

    gauge(
        "trigger_enabled",
        "1 where a trigger that the journal needs is there and enabled.",
        (
            ({"table": trigger.table, "trigger": trigger.name}, trigger.state == "enabled")
            for trigger in status.triggers
            if trigger.state != "hidden"
        ),
    )
    one("hidden", "Parts of the status that the role may not see.", len(status.hidden))
    return "\n".join(lines) + "\n"


def _holders(status: Status) -> int | None:
    return None if any(missing.part == "holders" for missing in status.hidden) else len(status.holders)


def _hold_seconds(status: Status) -> float | None:
    ages = [holder.transaction_seconds for holder in status.holders if holder.transaction_seconds is not None]
    if ages:
        return max(ages)
    return 0 if _holders(status) == 0 else None


def _labels(labels: _Labels) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float | datetime) -> str:
    """A number as it is: whole ones without an exponent, times as seconds since 1970."""
    if isinstance(value, datetime):
        return f"{value.timestamp():.3f}"
    return str(int(value)) if value == int(value) else repr(value)
