"""The command that installs the journal on document tables of another program."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

import dmsjournal as dj
from dmsjournal.cli.base import Json, LockTimeout, Pause, Url, app, fail
from dmsjournal.cli.printing import print_items

if TYPE_CHECKING:
    from dmsjournal.adopting import Step


@app.command()
def adopt(
    url: Url,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check, print the plan, change nothing.")] = False,
    batch_size: Annotated[int, typer.Option(min=1, metavar="N", help="Rows of a batch, which is a transaction.")] = 2000,
    pause: Pause = "0",
    lock_timeout: LockTimeout = "2s",
    tries: Annotated[int, typer.Option(min=1, metavar="N", help="How often to try for a lock.")] = 30,
    new_stamps: Annotated[
        bool, typer.Option("--new-stamps", help="Give every document a new stamp, whatever versions it has.")
    ] = False,
    content_column: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A column of dms.Document whose change is changed content; may be repeated."),
    ] = None,
    json: Json = False,
) -> None:
    """Install the journal on a dms.Document that exists already, with data, while its writers go on.

    Stopped or killed, it goes on when it is run again. Example: dmsjournal adopt --dry-run, then dmsjournal adopt --pause 100ms
    """
    from dmsjournal import adopting, durations

    rest = durations.parsed("pause", pause).total_seconds()
    with _shown(dry_run) as progress:
        try:
            adoption = adopting.adopt(
                url,
                dry_run=dry_run,
                batch_size=batch_size,
                pause=rest,
                lock_timeout=lock_timeout,
                tries=tries,
                new_stamps=new_stamps,
                content_columns=content_column or [],
                progress=progress,
            )
        except dj.AdoptionRefused as refused:
            fail("\n".join([*map(str, refused.obstacles), f"{len(refused.obstacles)} in the way of the adoption"]), 1)
    for note in adoption.notes:
        typer.echo(f"note: {note}", err=True)
    if dry_run:
        print_items(adoption.steps, json, False)
    else:
        typer.echo(f"revision={adoption.revision} steps={len(adoption.steps)}")


@contextmanager
def _shown(dry_run: bool) -> Iterator[Callable[["Step", int], None] | None]:
    """To be called with a step and its rows that are done; shown on stderr where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if dry_run or not console.is_terminal:
        yield None
        return
    columns = [SpinnerColumn(), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn()]
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("checking", total=None)

        def show(step: "Step", rows: int) -> None:
            progress.update(
                task, description=f"{step.name}: {rows:,} rows" if rows else step.name, completed=rows, total=step.rows or None
            )

        yield show
