"""The command that prints how a window would be cut for many readers."""

import sys
from typing import Annotated

import typer

import dmsjournal as dj
from dmsjournal.cli.base import Json, StringVersions, Url, app
from dmsjournal.cli.output import print_items
from dmsjournal.cli.read import Max, Min, resource_of, window_of
from dmsjournal.read.plan import EVENTS_PER_PART

Resources = Annotated[list[str] | None, typer.Argument(metavar="[RESOURCE...]", help="Such as Student.", show_default="all")]


@app.command()
def plan(
    url: Url,
    resources: Resources = None,
    min_: Min = None,
    max_: Max = None,
    parts: Annotated[int | None, typer.Option(metavar="N", help="About so many parts.")] = None,
    events_per_part: Annotated[
        int | None, typer.Option(metavar="N", help="About so many events in each.", show_default=str(EVENTS_PER_PART))
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="All live documents, cut by their ids, instead of a window.")] = False,
    json: Json = False,
    string_versions: StringVersions = False,
) -> None:
    """Print a window in parts with equal numbers of events, as many readers would share it; Spark's tasks do.

    A line is a part: the versions that it begins and ends with, and the ids of documents that bound it within them. On a terminal
    with a chart. Nothing of the documents is read.

    Example: dmsjournal plan Student School --min 1000 --parts 8
    """
    window = window_of(min_, max_)
    with dj.connect(url) as db:
        wanted = [resource_of(db, name) for name in resources] if resources else None
        found: dj.Plan | dj.SnapshotPlan
        if full:
            if min_ is not None or max_ is not None:
                raise typer.BadParameter("with --full there is no window", param_hint="--max" if min_ is None else "--min")
            found = db.plan_snapshot(wanted, documents_per_part=events_per_part, parts=parts)
        else:
            found = db.plan(wanted, window, events_per_part=events_per_part, parts=parts)
    if json or not sys.stdout.isatty():
        print_items(found.parts, json, string_versions)
    else:
        print_chart(found)
    sys.stdout.flush()
    typer.echo(summary(found), err=True)


def summary(plan: dj.Plan | dj.SnapshotPlan) -> str:
    """A plan in a line."""
    if isinstance(plan, dj.SnapshotPlan):
        what = f"{plan.documents} documents"
    else:
        what = f"{'about ' if plan.is_sampled else ''}{plan.events} events from {plan.first} to {plan.last}"
    return f"{what} in {len(plan.parts)} parts, the largest is {plan.imbalance:.2f} times the mean; newest={plan.horizon}"


def print_chart(plan: dj.Plan | dj.SnapshotPlan) -> None:
    """The parts with a bar each, as long as it has events."""
    from rich.bar import Bar
    from rich.console import Console
    from rich.table import Table

    sizes = [part.documents if isinstance(part, dj.DocumentRange) else part.events for part in plan.parts]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("part", "from", "to", "documents" if isinstance(plan, dj.SnapshotPlan) else "events"):
        table.add_column(title, justify="right")
    table.add_column("", ratio=1)
    ends = [_ends(part) for part in plan.parts]
    for number, (between, size) in enumerate(zip(ends, sizes, strict=True), 1):
        table.add_row(str(number), *between, f"{size:,}", Bar(max(sizes) or 1, 0, size, color="cyan"))
    Console(highlight=False).print(table)


def _ends(part: dj.SubWindow | dj.DocumentRange) -> list[str]:
    """Where a part begins and ends: a version, and behind a stroke the id that bounds its documents; or an id."""
    if isinstance(part, dj.DocumentRange):
        return ["" if end is None else str(end) for end in (part.after_id, part.through_id)]
    ends = [(part.first, part.after_id), (part.last, part.through_id)]
    return [str(version) if end is None else f"{version} / {end}" for version, end in ends]
