"""Measure pages, writes, prunes, plans, hubs, extracts, lakes, feeds, events, both sides in one run: `python -m benchmarks`."""

import argparse
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import arrow, context, database, existing, feed, hub, option, page, plan, prune, report, ring, track, write
from benchmarks.facts import Facts
from benchmarks.report import Table


def main() -> None:
    """Ours against the published design, a stored column and no capture, in databases of the benchmark's own."""
    asked = parser().parse_args()
    if max(asked.events) > asked.history:
        parser().error(f"--events is at most the history's {asked.history}")
    if asked.what in ("ring", "all"):
        rings = ring.Options(asked.hand_overs, asked.repeat, own_command(asked, "ring", "hand_overs"))
        tables, found = ring.measure(rings)
        print(report.write(asked.output / "ring.json", found, asdict(rings), tables))
    if asked.what in ("feed", "all"):
        command = own_command(asked, "feed", "fed", "transaction")
        feeds = feed.Options(asked.fed, tuple(asked.feed_pages), asked.transaction, asked.repeat, command)
        with database.server(asked.url, database.LOGICAL) as url:
            measured(url, asked, "feed", feeds, feed.measure)
    if asked.what in ("ring", "feed"):
        return
    with database.server(asked.url) as url:
        if asked.what in ("page", "option", "all"):
            command = own_command(asked, "page", "history", "documents", "edges_per_document", "page_size")
            pages = page.Options(
                asked.documents,
                asked.edges_per_document,
                asked.history,
                tuple(asked.events),
                asked.page_size,
                asked.repeat,
                command,
            )
        if asked.what in ("page", "all"):
            measured(url, asked, "page", pages, page.measure, keep=asked.keep)
        if asked.what in ("option", "all"):
            command = own_command(asked, "option", "history", "documents", "edges_per_document", "page_size", "parents")
            measured(url, asked, "option", option.Options(pages, asked.parents, command), option.measure)
        if asked.what in ("write", "all"):
            command = own_command(asked, "write", "rows", "singles", "mixed_rows")
            writes = write.Options(asked.rows, asked.singles, asked.mixed_rows, asked.repeat, command)
            measured(url, asked, "write", writes, write.measure)
        if asked.what in ("context", "all"):
            costs = context.Options(asked.rows, asked.singles, asked.repeat, own_command(asked, "context", "rows", "singles"))
            measured(url, asked, "context", costs, context.measure)
        if asked.what == "track" and asked.existing:
            rows = existing.Options(asked.existing, own_command(asked, "track", "existing"))
            measured(url, asked, "existing", rows, existing.measure)
        elif asked.what in ("track", "all"):
            tracks = track.Options(asked.rows, asked.singles, asked.repeat, own_command(asked, "track", "rows", "singles"))
            # A server that was given may log as it does, and is no other's equal.
            with nullcontext() if asked.url else database.server(None, database.LOGICAL) as logical:
                measured(url, asked, "track", tracks, partial(track.measure, logical=logical))
        if asked.what in ("prune", "all"):
            command = own_command(asked, "prune", "pruned", "batch_size", "pause", "writers", "partitions")
            prunes = prune.Options(asked.pruned, asked.batch_size, asked.pause, asked.writers, asked.repeat, command)

            def both(own: str, options: prune.Options) -> tuple[list[Table], Facts]:
                tables, found = prune.measure(own, options)
                return [*tables, *([by_parts(url, options)] if asked.partitions else [])], found

            measured(url, asked, "prune", prunes, both)
        if asked.what in ("arrow", "all"):
            arrows = arrow.Options(asked.arrow_events, asked.repeat, own_command(asked, "arrow", "arrow_events"))
            measured(url, asked, "arrow", arrows, arrow.measure)
        if asked.what in ("plan", "all"):
            command = own_command(asked, "plan", "planned", "crowd", "parts")
            measured(url, asked, "plan", plan.Options(asked.planned, asked.crowd, asked.parts, asked.repeat, command), plan.measure)
        if asked.what in ("hub", "all"):
            command = own_command(asked, "hub", "write/referrers", "renames", "page_size")
            hubs = hub.Options(asked.referrers, asked.renames, asked.page_size, asked.repeat, command)
            measured(url, asked, "hub", hubs, hub.measure)
        if asked.what in ("extract", "all"):
            from benchmarks import extract  # needs Spark, which the others do without

            extracts = extract.Options(
                asked.extracted, asked.body_bytes, asked.repeat, own_command(asked, "extract", "extracted", "body_bytes")
            )
            measured(url, asked, "extract_bodies" if asked.body_bytes else "extract", extracts, extract.measure)
        if asked.what in ("lake", "all"):
            from benchmarks import lake  # needs Spark and the package deltalake

            lakes = lake.Options(asked.students, asked.part, asked.repeat, own_command(asked, "lake", "students", "part"))
            measured(url, asked, "lake", lakes, lake.measure)


def measured(
    url: str,
    asked: argparse.Namespace,
    name: str,
    options: Any,
    measure: Callable[[str, Any], tuple[list[Table], Facts]],
    *,
    keep: bool = False,
) -> None:
    """Measures in a database of its own, and prints and keeps what was found."""
    with database.scratch(url, f"dmsjournal_benchmark_{name}", keep=keep) as own:
        tables, found = measure(own, options)
    print(report.write(asked.output / f"{name}.json", found, asdict(options), tables))


def by_parts(url: str, options: prune.Options) -> Table:
    """Prunes by dropped partitions, each of more events than the one before."""
    table = Table("prune by dropped partitions", ("longest statement", "with the files"), ())
    for events in (options.pruned // 100, options.pruned // 10, options.pruned):
        with database.scratch(url, "dmsjournal_benchmark_parts", keep=False) as own:
            prune.measure_dropped(own, options, table, events)
    return table


def own_command(asked: argparse.Namespace, what: str, *names: str) -> str:
    """The command that prints a row: what was asked for, as far as the default is another."""
    words = ["python -m benchmarks", what]
    for name in names:
        if getattr(asked, name) != parser().get_default(name):
            flag, value = f"--{name.replace('_', '-')}", getattr(asked, name)
            words.append(flag if value is True else f"{flag} {value}")
    return " ".join(words)


def parser() -> argparse.ArgumentParser:
    """The defaults are the sizes that README's figures were taken at."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=main.__doc__)
    measures = (
        "page",
        "option",
        "write",
        "context",
        "prune",
        "plan",
        "hub",
        "extract",
        "lake",
        "feed",
        "arrow",
        "ring",
        "track",
        "all",
    )
    parser.add_argument("what", choices=measures, nargs="?", default="all")
    parser.add_argument("--url", help="SQLAlchemy URL of a PostgreSQL that may create databases (default: embedded)")
    parser.add_argument("--repeat", type=positive, default=5, help="runs of each measure; the median is reported")
    results = Path(__file__).parent / "results"
    parser.add_argument("--output", type=Path, default=results, help="folder of the JSON files and Markdown tables")
    pages = parser.add_argument_group("page")
    pages.add_argument("--documents", type=positive, default=1_500_000, help="documents of the history")
    pages.add_argument("--history", type=positive, default=1_000_000, help="events of the history")
    pages.add_argument("--edges-per-document", type=positive, default=3, help="references of a document, at most")
    pages.add_argument(
        "--events", type=positive, nargs="+", default=[10_000, 100_000, 600_000, 1_000_000],
        help="windows, each as a number of newest events",
    )  # fmt: skip
    pages.add_argument("--page-size", type=positive, default=500, help="changes of a page")
    pages.add_argument("--keep", action="store_true", help="keep the database, and use it again if it was kept (--url)")
    renames = parser.add_argument_group("option")
    renames.add_argument("--parents", type=positive, default=100_000, help="documents that refer to the renamed one")
    writes = parser.add_argument_group("write, context and track")
    writes.add_argument("--rows", type=positive, default=100_000, help="rows of a bulk statement")
    writes.add_argument("--singles", type=positive, default=1_000, help="single-row transactions of a run, 2 or more")
    writes.add_argument("--mixed-rows", type=positive, default=20_000, help="rows of case 15b's large statement")
    tracks = parser.add_argument_group("track")
    tracks.add_argument("--existing", type=positive, help="instead, track six tables of so many rows while four writers go on")
    prunes = parser.add_argument_group("prune")
    prunes.add_argument("--pruned", type=positive, default=5_000_000, help="events to prune")
    prunes.add_argument("--batch-size", type=positive, default=2_000, help="rows of a transaction of the prune")
    prunes.add_argument("--pause", type=int, default=5, help="milliseconds between two of its transactions")
    prunes.add_argument("--writers", type=positive, default=1, help="sessions that update documents meanwhile")
    prunes.add_argument("--partitions", action="store_true", help="drop parts of journals as well (option partitions)")
    events = parser.add_argument_group("arrow and ring")
    events.add_argument("--arrow-events", type=positive, default=200_000, help="events of the journal, and as many in memory")
    events.add_argument("--hand-overs", type=positive, default=1_000_000, help="notifications of a run")
    feeds = parser.add_argument_group("feed", "a server that --url names has wal_level logical")
    feeds.add_argument("--fed", type=positive, default=50_000, help="events to read")
    feeds.add_argument("--feed-pages", type=positive, nargs="+", default=[500, 10_000], help="events of a page")
    feeds.add_argument("--transaction", type=positive, default=20, help="events of a transaction")
    plans = parser.add_argument_group("plan")
    plans.add_argument("--planned", type=positive, default=10_000_000, help="events of the skewed journal")
    plans.add_argument("--crowd", type=positive, default=1_000_000, help="documents that refer to the renamed one")
    plans.add_argument("--parts", type=positive, default=32, help="parts to cut it in")
    hubs = parser.add_argument_group("hub")
    hubs.add_argument("--referrers", type=positive, default=20_000, help="documents that refer to the renamed one")
    hubs.add_argument("--renames", type=positive, default=60, help="transactions that rename it")
    extracts = parser.add_argument_group("extract")
    extracts.add_argument("--extracted", type=positive, default=1_000_000, help="documents to extract")
    extracts.add_argument("--body-bytes", type=positive, default=0, help="extract bodies, of about so many bytes each")
    lakes = parser.add_argument_group("lake")
    lakes.add_argument("--students", type=positive, default=960, help="students of the district")
    lakes.add_argument("--part", type=positive, default=250, help="documents of a part, where parts are small")
    return parser


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


if __name__ == "__main__":
    main()
