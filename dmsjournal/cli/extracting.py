"""Commands that extract changes with Spark, and apply them to a table."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

import dmsjournal as dj
from dmsjournal.cli.base import Url, app
from dmsjournal.cli.planning import print_chart, summary
from dmsjournal.cli.printing import print_items
from dmsjournal.cli.reading import Max, Min, resource_of, window_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dmsjournal.spark.comparing import Comparison, Sum
    from dmsjournal.spark.watching import Progress

DIFFERS = 3  # the exit code where a comparison finds a difference

Output = Annotated[str, typer.Argument(metavar="OUTPUT", help="Folder of the runs; made by the first one.")]
Master = Annotated[str, typer.Option(metavar="URL", help="Spark's master, such as local[4] or spark://host:7077.")]
Jar = Annotated[
    list[str] | None,
    typer.Option(metavar="FILE", help="The database's JDBC driver; may be given again.", show_default="fetched once"),
]


@app.command()
def extract(
    output: Output,
    url: Url,
    full: Annotated[bool, typer.Option("--full", help="All live documents, as the first run.")] = False,
    from_checkpoint: Annotated[bool, typer.Option("--from-checkpoint", help="What came after the last run.")] = False,
    min_: Min = None,
    max_: Max = None,
    resource: Annotated[
        list[str] | None, typer.Option(metavar="RESOURCE", help="This resource only; may be given again.", show_default="all")
    ] = None,
    body: Annotated[bool | None, typer.Option("--body/--no-body", help="With the documents' bodies.", show_default="with")] = None,
    etag: Annotated[bool | None, typer.Option("--etag/--no-etag", help="With derived etags.", show_default="without")] = None,
    events_per_part: Annotated[
        int | None, typer.Option(metavar="N", help="Events that one task reads.", show_default="250000")
    ] = None,
    master: Master = "local[*]",
    jar: Jar = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan, a line a part; write nothing.")] = False,
) -> None:
    """Write what changed since the last run as Parquet: upserts, deletes and key changes. The first run has all documents.

    A run shows whole or not at all. Whatever was interrupted, the same command does it again.

    Example: dmsjournal extract /data/changes
    """
    from dmsjournal.spark.extracting import Request, preview
    from dmsjournal.spark.extracting import extract as run

    window = window_of(min_, max_)
    asked = Request(full, from_checkpoint, window.min, window.max)
    chosen = None
    if resource:
        with dj.connect(url) as db:
            chosen = [resource_of(db, name) for name in resource]
    if dry_run:
        plan = preview(url, output, asked, resources=chosen, events_per_part=events_per_part)
        _print_plan(plan)
        return
    with _bar() as progress:
        made = run(
            url,
            output,
            _session("dmsjournal extract", url, master, jar),
            asked,
            resources=chosen,
            body=body,
            etag=etag,
            events_per_part=events_per_part,
            progress=progress,
        )
    if made.run is None:
        typer.echo(f"version={made.version} run=- upserts=0 deletes=0 key_changes=0")
        return
    rows = made.rows
    typer.echo(
        f"version={made.version} {made.run.folder.name} upserts={rows.upsert} deletes={rows.delete} key_changes={rows.key_change}"
    )
    if not made.is_new:
        typer.echo("it was there already", err=True)


@app.command()
def apply(
    output: Annotated[str, typer.Argument(metavar="OUTPUT", help="Folder of the runs.")],
    table: Annotated[str, typer.Argument(metavar="TABLE", help="Folder of the table; made by the first run.")],
    format_: Annotated[str, typer.Option("--format", metavar="FORMAT", help="parquet or delta.")] = "parquet",
    through: Annotated[
        int | None, typer.Option(metavar="VERSION", help="Only runs that end at or below it.", show_default="all runs")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="The table may be of another output; it begins anew.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Then compare it with the database; exit code 3 if it differs.")] = False,
    url: Annotated[
        str | None, typer.Option(envvar="DMSJOURNAL_URL", metavar="URL", help="The database, for --verify.", show_default=False)
    ] = None,
    master: Master = "local[*]",
    jar: Jar = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the runs that would be folded in; write nothing.")] = False,
) -> None:
    """Fold extracted runs into a table of the current state. The table changes in one step.

    Runs that it has already are passed over; one that is missing is named.

    Example: dmsjournal apply /data/changes /data/documents --verify
    """
    if verify and (url is None or dry_run):
        raise typer.BadParameter("it needs --url, and a table that is written", param_hint="--verify")
    from dmsjournal.spark.applying import apply as run
    from dmsjournal.spark.applying import checked_format

    kind = checked_format(format_)
    session = _session("dmsjournal apply", url, master, jar)
    with _bar() as progress:
        applied = run(output, table, session, format=kind, through=through, replace=replace, dry_run=dry_run, progress=progress)
    if dry_run:
        print_items(({"run": each.folder.name} for each in applied.runs), False, False)
        return
    typer.echo(f"version={applied.version} runs={len(applied.runs)}")
    if not verify or url is None:
        return
    from dmsjournal.spark.comparing import compare

    with _bar() as progress:
        found = compare(url, output, table, session, format=kind, progress=progress)
    _print(found)
    if found.differences:
        raise typer.Exit(DIFFERS)


def _print_plan(plan: dj.Plan | dj.SnapshotPlan | None) -> None:
    if plan is None:
        typer.echo("nothing to do", err=True)
        return
    if sys.stdout.isatty():
        print_chart(plan)
    else:
        print_items(plan.parts, False, False)
    typer.echo(summary(plan), err=True)


def _print(found: "Comparison") -> None:
    def shown(kept: "Sum") -> str:
        return f"documents={kept.documents} checksum={kept.checksum}"

    for each in found.differences:
        typer.echo(f"{each.resource}\ttable: {shown(each.table)}\tdatabase: {shown(each.database)}")
    typer.echo(f"version={found.version} {shown(found.compared)} differences={len(found.differences)}")


def _session(name: str, url: str | None, master: str, jars: list[str] | None) -> "Callable[[], SparkSession]":
    def start() -> "SparkSession":
        from dmsjournal.spark.session import job_session

        return job_session(name, url, master=master, jars=jars or ())

    return start


@contextmanager
def _bar() -> "Iterator[Progress | None]":
    """To be called with what is done and its tasks; shown on stderr where that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda doing, done, total: bar.update(task, description=doing, completed=done, total=total or None)
