"""Limits of a status: what a monitoring system is to be told of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dmsjournal.operate.status import Status
from dmsjournal.util.printable import printable


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that is well, inclusive; None is no limit.

    `lag_seconds` and `lag_versions` are for the horizon and for each consumer, `hold_seconds` for the age of each transaction
    that holds a floor. With `triggers`, each has to be there and enabled, also those of tracked tables. `partition_days` is the
    least: with option partitions the parts of the journals have to last for so long and be there, and their default parts have to
    be empty.
    """

    lag_seconds: float | None = None
    lag_versions: int | None = None
    hold_seconds: float | None = None
    triggers: bool = False
    partition_days: float | None = None

    def exceeded(self, status: Status) -> list[str]:
        """What is beyond a limit, a sentence each. What cannot be seen is not taken for well."""
        partitions = (
            [] if self.partition_days is None or status.partitions is None else status.partitions.warnings(self.partition_days)
        )
        return [*self._lags(status), *self._holds(status), *self._triggers(status), *partitions]

    def _lags(self, status: Status) -> Iterator[str]:
        lags = [("the horizon", status.lag_versions, status.lag_seconds)]
        lags += [(f"consumer {consumer.name!a}", consumer.lag_versions, consumer.lag_seconds) for consumer in status.consumers]
        for who, versions, seconds in lags:
            if self.lag_seconds is not None and seconds > self.lag_seconds:
                yield f"{who} is {seconds:.1f} s behind, more than {self.lag_seconds:g}"
            if self.lag_versions is not None and versions is None:
                yield f"how far {who} is behind cannot be seen: {_remedies(status)}"
            elif self.lag_versions is not None and versions is not None and versions > self.lag_versions:
                yield f"{who} is {versions} versions behind, more than {self.lag_versions}"

    def _holds(self, status: Status) -> Iterator[str]:
        if self.hold_seconds is None:
            return
        if any(missing.part == "holders" for missing in status.hidden):
            yield f"who holds the horizon cannot be seen: {_remedies(status)}"
        for holder in status.holders:
            who = f"session {holder.pid}" if holder.prepared is None else f"prepared transaction {holder.prepared!a}"
            if holder.transaction_seconds is None:
                yield f"how long {who} has been open cannot be seen: {_remedies(status)}"
            elif holder.transaction_seconds > self.hold_seconds:
                yield f"{who} has been open for {holder.transaction_seconds:.1f} s, more than {self.hold_seconds:g}"

    def _triggers(self, status: Status) -> Iterator[str]:
        if self.triggers:
            yield from (
                f"trigger {trigger.name} on dms.{trigger.table} is {trigger.state}"
                for trigger in status.triggers
                if trigger.state != "enabled"
            )
            yield from (
                f"tracked table {printable(one.table)}: {printable('; '.join(one.problems))}"
                for one in status.tracked or ()
                if not one.is_whole
            )


def _remedies(status: Status) -> str:
    return "; ".join(missing.remedy for missing in status.hidden) or "it ended meanwhile"
