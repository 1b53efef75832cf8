"""How equal the planner's parts are on a skewed journal, beside equal strides of versions, and what the plan itself costs.

Nine tenths of the events lie in a hundredth of the versions. The events of each part are counted, the planner's and those that
Spark's partitionColumn would cut. Then one version is given to a million documents at once, by a rename, and is planned alone.
"""

from dataclasses import dataclass
from time import perf_counter

import dmsjournal as dj
from benchmarks import database
from benchmarks.facts import Facts, facts
from benchmarks.report import Table
from dmsjournal.schema import migrate


@dataclass(frozen=True)
class Options:
    """Units: events of the journal; documents that refer to the renamed one; parts."""

    planned: int
    crowd: int
    parts: int
    repeat: int
    command: str


def measure(url: str, options: Options) -> tuple[list[Table], Facts]:
    """The tables of the balance (times the mean) and of the cost."""
    balance = Table(
        f"largest part, {options.planned:,} skewed events", ("strides", "plan"), (("strides", "plan"),), unit="times the mean"
    )
    cost = Table("the plan itself", ("seconds",), ())
    migrate.upgrade(url)
    with database.connect(url, session_replication_role="replica") as connection, dj.connect(url) as journal:
        database.script(connection, "plan/resources")
        connection.execute(database.query("plan/events"), {"events": options.planned})
        last = options.planned * 100
        connection.execute(database.query("plan/crowd"), {"documents": options.crowd, "version": last})
        connection.exec_driver_sql("VACUUM ANALYZE")
        skewed, crowded = dj.Window(0, last - 1), dj.Window(last, last)
        resources = sorted(journal.resources())
        for _ in range(options.repeat):
            for what, some, window in (
                (f"{options.planned:,} events, all resources", None, skewed),
                (f"{options.planned:,} events, 3 of 20 resources", resources[:3], skewed),
                (f"{options.planned:,} events, 19 of 20 resources", resources[:19], skewed),
                (f"one version of {options.crowd:,} documents", None, crowded),
            ):
                began = perf_counter()
                journal.plan(some, window, parts=options.parts)
                cost.row(what, options.command).add("seconds", perf_counter() - began)
        plan = journal.plan(window=skewed, parts=options.parts)
        counts = [
            connection.execute(database.query("plan/part"), {"first": part.first, "last": part.last}).scalar_one()
            for part in plan.parts
        ]
        ends = {"first": skewed.first, "last": last - 1, "parts": options.parts}
        strides = connection.execute(database.query("plan/strides"), ends).one()
        assert sum(counts) == strides.events
        row = balance.row(f"of {options.parts}", options.command)
        row.add("strides", float(strides.largest * options.parts / strides.events))
        row.add("plan", max(counts) * len(counts) / sum(counts))
        return [balance, cost], facts(connection)
