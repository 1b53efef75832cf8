"""Commands that keep the journals small, and say who still reads them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

import dmsjournal as dj
from dmsjournal.cli.base import Commands, Json, Pause, Url, app
from dmsjournal.cli.output import encodable, print_items, say
from dmsjournal.operate.prune import BATCH_SIZE
from dmsjournal.util import durations
from dmsjournal.util.json import rows as json_rows

if TYPE_CHECKING:
    from dmsjournal.operate.prune import Progress


@app.command()
def prune(
    url: Url,
    through: Annotated[int | None, typer.Option(metavar="VERSION", help="Last version to delete, inclusive.")] = None,
    older_than: Annotated[str | None, typer.Option(metavar="AGE", help="Delete what is older, such as 90d or 12h.")] = None,
    keep_at_least: Annotated[
        int | None, typer.Option(metavar="N", help="The newest N document events stay, whatever their age.")
    ] = None,
    journal: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Prune this journal only, or DocumentImage: images, whose events stay. May be given again.",
            show_default="all four journals",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Go past registered consumers that have not read that far.")] = False,
    batch_size: Annotated[int, typer.Option(metavar="N", help="Rows to delete in one transaction.")] = BATCH_SIZE,
    pause: Pause = "5ms",
    max_runtime: Annotated[
        str | None, typer.Option(metavar="TIME", help="Stop after so long, such as 2h; the next run goes on.", show_default="none")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Delete nothing; print the rows and about the bytes that would go.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Delete old events, in batches. Documents stay. A line is a journal: its floor, what was deleted, and whether it is finished.

    It stops at the slowest registered consumer and names it on stderr, unless --force is given.

    Example: dmsjournal prune --older-than 90d --keep-at-least 100000 --max-runtime 2h
    """
    age = None if older_than is None else durations.parsed("older_than", older_than)
    most = None if max_runtime is None else durations.parsed("max_runtime", max_runtime)
    rest = durations.parsed("pause", pause)
    with dj.connect(url) as db, _bar() as progress:
        pruned = db.prune(
            through,
            older_than=age,
            keep_at_least=keep_at_least,
            journals=journal or None,
            force=force,
            batch_size=batch_size,
            pause=rest,
            max_runtime=most,
            dry_run=dry_run,
            progress=progress,
        )
    if json:
        derived = {"deleted": pruned.deleted, "finished": pruned.finished, "dry_run": dry_run}
        print(encodable(json_rows(msgspec.to_builtins(pruned) | derived)))
    elif dry_run:
        print_items(
            ({"journal": j.journal, "floor": j.floor, "rows": j.deleted, "bytes": j.bytes} for j in pruned.journals), False, False
        )
    else:
        columns = ("journal", "floor", "deleted", "finished")
        print_items(({name: getattr(j, name) for name in columns} for j in pruned.journals), False, False)
    if pruned.held_by is not None:
        state = "" if pruned.held_by.state == "current" else f", and is {pruned.held_by.state}"
        say(f"stopped at version {pruned.through}: {pruned.held_by}{state}; advance it, drop it, or use --force", err=True)
    if not pruned.finished:
        left = [journal.journal for journal in pruned.journals if not journal.finished]
        what = ", ".join(left) or "what options images and context keep"
        say(f"stopped by --max-runtime {max_runtime}: {what} not finished; the next run goes on, or give it more time", err=True)


@contextmanager
def _bar() -> "Iterator[Progress | None]":
    """To be called with how far a prune is; it is shown on stderr where that is a terminal."""

    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = [BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("0 events", total=None)
        start: list[int] = []

        def show(pruned: dj.Pruned) -> None:
            floor = min(journal.floor for journal in pruned.journals)
            start[:] = start or [floor]
            bar.update(
                task,
                total=max(1, pruned.through - start[0]),
                completed=floor - start[0],
                description=f"{pruned.deleted:,} events, floor {floor:,} of {pruned.through:,}",
            )

        yield show


consumers = Commands(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(consumers, name="consumers", help="List, register, advance and drop the consumers that a prune stops at.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The consumer's name.")]
DocumentId = Annotated[
    int | None,
    typer.Option(metavar="ID", help="The version is read up to this document only, inclusive.", show_default="all of it"),
]


@consumers.command(name="list")
def list_consumers(url: Url, json: Json = False) -> None:
    """Print the consumers: how far each has read, how many versions it is behind newest, and its state.

    The state is current, expired (what it has not read is pruned) or diverged (the database was restored to an earlier state).

    Example: dmsjournal consumers list
    """
    with dj.connect(url) as db:
        print_items(db.consumers.list(), json, False)


@consumers.command()
def register(
    name: Name,
    url: Url,
    at: Annotated[
        int | None, typer.Option(metavar="VERSION", help="Last version that it has read.", show_default="the newest")
    ] = None,
    document_id: DocumentId = None,
    json: Json = False,
) -> None:
    """Register a consumer. From then on no prune goes past what it has read, unless it is forced.

    Example: dmsjournal consumers register warehouse --at 12000
    """
    if document_id is not None and at is None:
        raise typer.BadParameter("it goes with --at", param_hint="--document-id")
    with dj.connect(url) as db:
        print_items([db.consumers.register(name, None if at is None else _place(at, document_id))], json, False)


@consumers.command()
def advance(
    name: Name,
    version: Annotated[int, typer.Argument(metavar="VERSION", help="Last version that it has read.")],
    url: Url,
    document_id: DocumentId = None,
    backwards: Annotated[
        bool, typer.Option("--backwards", help="It may go back, and the database's history may be another.")
    ] = False,
    json: Json = False,
) -> None:
    """Tell how far a consumer has read.

    Example: dmsjournal consumers advance warehouse 15000
    """
    with dj.connect(url) as db:
        print_items([db.consumers.advance(name, _place(version, document_id), backwards=backwards)], json, False)


@consumers.command()
def drop(name: Name, url: Url) -> None:
    """Forget a consumer. Prunes no longer heed it.

    Example: dmsjournal consumers drop warehouse
    """
    with dj.connect(url) as db:
        db.consumers.drop(name)
    say(f"dropped={name}")


def _place(version: int, document_id: int | None) -> int | dj.Cursor:
    return version if document_id is None else dj.Cursor(version, document_id)
