"""Commands that extract changes with Spark, and apply them to a table."""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import typer

import dmsjournal as dj
from dmsjournal.cli.base import Json, Url, app
from dmsjournal.cli.interrupts import sigterm_ends_it
from dmsjournal.cli.output import print_items, say
from dmsjournal.cli.plan import print_chart, summary
from dmsjournal.cli.read import Max, Min, resource_of, window_of
from dmsjournal.cli.repeats import repeated
from dmsjournal.read.plan import EVENTS_PER_PART
from dmsjournal.util import durations, exit_codes, sizes
from dmsjournal.util.printable import cell

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dmsjournal.spark.compare import Comparison, Sum
    from dmsjournal.spark.extract import ExtractRequest
    from dmsjournal.spark.jobs import Progress

FOLDER = "parquet"  # the format that is a folder of runs
DIFFERS = 3  # the exit code where a comparison finds a difference

Output = Annotated[str, typer.Argument(metavar="OUTPUT", help="Folder of the runs; made by the first one.")]
Master = Annotated[str, typer.Option(metavar="URL", help="Spark's master, such as local[4] or spark://host:7077.")]
Jar = Annotated[
    list[str] | None,
    typer.Option(metavar="FILE", help="The database's JDBC driver; may be given again.", show_default="fetched once"),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE", help="A setting of Spark's, as spark-submit takes it; may be given again.", show_default="none"
    ),
]
Catalog = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help="A property of an Iceberg table's catalog, such as uri=… or warehouse=…; may be given again.",
        show_default="pyiceberg's configuration",
    ),
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Log the plan, each part and the end on standard error.")]


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
    body: Annotated[
        str | None,
        typer.Option(metavar="FORM", help="Bodies as json, as variant, or as struct: columns in a lake.", show_default="json"),
    ] = None,
    no_body: Annotated[bool, typer.Option("--no-body", help="Without the documents' bodies.")] = False,
    body_schema: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Types of columns, for --body struct.", show_default="found in the documents"),
    ] = None,
    etag: Annotated[bool | None, typer.Option("--etag/--no-etag", help="With derived etags.", show_default="without")] = None,
    format_: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="parquet: a folder of runs; delta, iceberg: a table in a lake.")
    ] = FOLDER,
    partition: Annotated[
        bool | None,
        typer.Option("--partition/--no-partition", help="Files of one resource each, or of all.", show_default="of one each"),
    ] = None,
    file_size: Annotated[str, typer.Option(metavar="SIZE", help="About so large files of a table, such as 128MB.")] = "128MB",
    events_per_part: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Events that one task reads.", show_default=f"{EVENTS_PER_PART}; fewer, of about 64 MB, with bodies"
        ),
    ] = None,
    master: Master = "local[*]",
    jar: Jar = None,
    conf: Conf = None,
    catalog: Catalog = None,
    every: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Do it again at this interval, such as 15min, with one Spark.", show_default="once"),
    ] = None,
    until_caught_up: Annotated[bool, typer.Option("--until-caught-up", help="Do it again until nothing is new.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan, a line a part, and the rows to expect; write nothing.")
    ] = False,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Write what changed since the last run: upserts, deletes and key changes. The first run has all documents.

    OUTPUT is a folder of Parquet runs, or with --format delta a table: a folder, s3a://, gs://, abfss:// or hdfs://; with
    --format iceberg a table's name in a catalog. A run shows whole or not at all. Whatever was interrupted, the same command does
    it again.

    Example: dmsjournal extract /data/changes
    """
    from dmsjournal.spark.extract import ExtractRequest

    interval = None if every is None else durations.parsed("every", every)
    repeats = "--every" if interval is not None else "--until-caught-up" if until_caught_up else None
    if repeats is not None and (full or dry_run or min_ is not None or max_ is not None):
        raise typer.BadParameter("it goes on from the last run: leave the window and --dry-run out", param_hint=repeats)
    if no_body and (body is not None or body_schema is not None):
        raise typer.BadParameter("it goes neither with --body nor with --body-schema", param_hint="--no-body")
    window = window_of(min_, max_)
    asked = ExtractRequest(full, from_checkpoint, window.min, window.max)
    settings = conf_of(conf)
    size, lake = sizes.parsed("file_size", file_size), _lake(format_, settings, catalog, body_schema)
    chosen = None
    if resource:
        with dj.connect(url) as db:
            chosen = [resource_of(db, name) for name in resource]
    if dry_run:
        _dry_run(url, output, asked, chosen, False if no_body else body, events_per_part, lake, json)
        return
    start = cache(_session("dmsjournal extract", url, master, jar, settings))

    def once() -> bool:
        began = time.monotonic()
        with _bar() as progress:
            made = _extracted(
                lake,
                url,
                output,
                start,
                asked,
                resources=chosen,
                body=False if no_body else body,
                etag=etag,
                partition=partition,
                events_per_part=events_per_part,
                file_size=size,
                progress=progress,
            )
        _print_made(_told(made, time.monotonic() - began), json)
        if made.held is not None:
            say(str(made.held), err=True)
        if not made.is_new and _what(made) != "-":
            say("it was there already", err=True)
        return bool(made.is_new)

    with logged(verbose), sigterm_ends_it():
        repeated(once, interval, until_caught_up)


def _lake(format_: str, conf: dict[str, str], catalog: list[str] | None, body_schema: str | None) -> dict[str, Any] | None:
    """What names a table in a lake besides its target; None for a folder of runs. Raises InvalidRequest."""
    from dmsjournal.spark.lake_tables import checked_format

    properties = _properties(catalog)
    if checked_format(format_, FOLDER) == FOLDER:
        if properties:
            raise dj.InvalidRequest("catalog", sorted(properties), "a folder of runs has none: add `format` iceberg")
        if body_schema is not None:
            raise dj.InvalidRequest("body_schema", body_schema, "a folder of runs has no columns of bodies: add `format` delta")
        return None
    return {"format": format_, "conf": conf, "catalog": properties, "body_schema": body_schema}


def _properties(catalog: list[str] | None) -> dict[str, str]:
    """The properties of a catalog, as --catalog gives them. Raises InvalidRequest."""
    return _pairs("catalog", catalog, "write a property as pyiceberg takes it: uri=…, warehouse=…")


def _extracted(
    lake: dict[str, Any] | None,
    url: str,
    output: str,
    session: "Callable[[], SparkSession]",
    asked: "ExtractRequest",
    **options: Any,
) -> Any:
    if lake is not None:
        from dmsjournal.spark.lake import extract_to_lake

        return extract_to_lake(url, output, session, asked, **lake, **options)
    from dmsjournal.spark.extract import extract as run

    return run(url, output, session, asked, **options)


def _what(made: Any) -> str:
    """The run or the window, as the last line has it."""
    if hasattr(made, "run"):
        return "-" if made.run is None else str(made.run.folder.name).removeprefix("run=")
    return "-" if made.first is None else f"{made.first}-{made.version}"


def _told(made: Any, seconds: float) -> dict[str, Any]:
    """What a run has done, as one record."""
    told = {"version": made.version, "run": _what(made)}
    if getattr(made, "commit", None) is not None:
        told["commit"] = made.commit
    rows = made.rows
    told |= {"upserts": rows.upsert, "deletes": rows.delete, "key_changes": rows.key_change}
    return told | {"files": made.files, "bytes": made.bytes, "seconds": round(seconds, 3)}


def _print_made(told: dict[str, Any], json: bool) -> None:
    if json:
        print_items([told], True, False)
    else:
        typer.echo(" ".join(f"{name}={value}" for name, value in told.items()))


def _dry_run(
    url: str,
    output: str,
    asked: "ExtractRequest",
    chosen: list[dj.ResourceKey] | None,
    body: bool | str | None,
    events_per_part: int | None,
    lake: dict[str, Any] | None,
    json: bool,
) -> None:
    if lake is not None:
        from dmsjournal.spark.lake import preview_of_lake

        plan = preview_of_lake(url, output, asked, **lake, resources=chosen, body=body, events_per_part=events_per_part)
    else:
        from dmsjournal.spark.extract import preview

        plan = preview(url, output, asked, resources=chosen, body=body, events_per_part=events_per_part)
    if plan is None:
        typer.echo("nothing to do", err=True)
        raise typer.Exit(exit_codes.NOTHING_NEW)
    from dmsjournal.spark.extract import expected

    rows = expected(url, plan)
    _print_plan(plan, json)
    told = {"upserts": rows.upsert, "deletes": rows.delete, "key_changes": rows.key_change}
    if json:
        print_items([{"first": plan.first, "last": plan.last, "parts": len(plan.parts)} | told], True, False)
    else:
        say("rows to expect: " + " ".join(f"{name}={value}" for name, value in told.items()), err=True)


@app.command()
def apply(
    output: Annotated[str, typer.Argument(metavar="OUTPUT", help="Folder of the runs, or a lake's table of changes.")],
    table: Annotated[str, typer.Argument(metavar="TABLE", help="Where the table is; made by the first run.")],
    format_: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="parquet: a folder; delta: in any store; iceberg: in a catalog.")
    ] = "parquet",
    by_resource: Annotated[bool, typer.Option("--by-resource", help="With delta: a table for each resource, below TABLE.")] = False,
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
    conf: Conf = None,
    catalog: Catalog = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the runs that would be folded in; write nothing.")] = False,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Fold extracted runs into a table of the current state. The table changes in one step.

    OUTPUT is what extract has written: a folder of runs, or a Delta table of changes. TABLE is a folder, or with --format delta
    also s3a://, gs://, abfss:// or hdfs://. With --format iceberg both are tables' names in a catalog. Runs that TABLE has already
    are passed over; one that is missing is named.

    Example: dmsjournal apply /data/changes /data/documents --verify
    """
    if verify and (url is None or dry_run):
        raise typer.BadParameter("it needs --url, and a table that is written", param_hint="--verify")
    from dmsjournal.spark.apply import apply as run
    from dmsjournal.spark.apply import checked_format

    began = time.monotonic()
    kind, settings = checked_format(format_), conf_of(conf)
    place: dict[str, Any] = {"format": kind, "by_resource": by_resource, "conf": settings, "catalog": _properties(catalog)}
    session = _session("dmsjournal apply", url, master, jar, settings)
    with logged(verbose), sigterm_ends_it(), _bar() as progress:
        applied = run(
            output,
            table,
            session,
            **place,
            through=through,
            replace=replace,
            dry_run=dry_run,
            url=url if verify else None,
            progress=progress,
        )
    if dry_run:
        print_items(({"run": each.name} for each in applied.runs), json, False)
        return
    told = {"version": applied.version, "runs": len(applied.runs)}
    _print_made(told | ({"seconds": round(time.monotonic() - began, 3)} if json else {}), json)
    if verify and url is not None:
        from dmsjournal.spark.compare import compare

        with logged(verbose), sigterm_ends_it(), _bar() as progress:
            found = compare(url, output, table, session, **place, progress=progress)
        _print(found, json)
        if found.differences:
            raise typer.Exit(DIFFERS)
    if not applied.runs and not verify:
        raise typer.Exit(exit_codes.NOTHING_NEW)


def _print_plan(plan: dj.Plan | dj.SnapshotPlan, json: bool) -> None:
    if sys.stdout.isatty() and not json:
        print_chart(plan)
    else:
        print_items(plan.parts, json, False)
    typer.echo(summary(plan), err=True)


def _print(found: "Comparison", json: bool) -> None:
    if json:
        print_items([found], True, False)
        return

    def shown(kept: "Sum") -> str:
        return f"documents={kept.documents} checksum={kept.checksum}"

    for each in found.differences:
        say(cell(str(each.resource)), f"table: {shown(each.table)}", f"database: {shown(each.database)}")
    typer.echo(f"version={found.version} {shown(found.compared)} differences={len(found.differences)}")


def conf_of(words: list[str] | None) -> dict[str, str]:
    """Spark's settings: those that spark-submit was given, and those of --conf. Raises InvalidRequest."""
    from dmsjournal.spark.session import submitted_conf

    return submitted_conf() | _pairs("conf", words, "write it as spark-submit takes it: spark.name=value", prefix="spark.")


def _pairs(option: str, words: list[str] | None, remedy: str, prefix: str = "") -> dict[str, str]:
    """The values of an option that is given as KEY=VALUE, again and again. Raises InvalidRequest."""
    given: dict[str, str] = {}
    for word in words or ():
        name, separator, value = word.partition("=")
        if not separator or not name or not name.startswith(prefix):
            raise dj.InvalidRequest(option, name, remedy)
        given[name] = value
    return given


@contextmanager
def logged(verbose: bool) -> "Iterator[None]":
    """Within it, with --verbose, the program's log goes to standard error: the plan, each part, the end."""
    if verbose:
        logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
        logging.getLogger("dmsjournal").setLevel(logging.INFO)
    yield


def _session(name: str, url: str | None, master: str, jars: list[str] | None, conf: dict[str, str]) -> "Callable[[], SparkSession]":
    def start() -> "SparkSession":
        from dmsjournal.spark.session import job_session

        return job_session(name, url, master=master, jars=jars or (), conf=conf)

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
