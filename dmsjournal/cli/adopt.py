"""The command that installs the journal on document tables of another program."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

import dmsjournal as dj
from dmsjournal.cli.base import Json, LockTimeout, Pause, Trust, Url, app, fail, warn_trusted
from dmsjournal.cli.output import ProgressLines, print_items, say
from dmsjournal.util import exit_codes

if TYPE_CHECKING:
    from dmsjournal.errors import Obstacle
    from dmsjournal.schema.adopt import AdoptionStep


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
    abandon: Annotated[bool, typer.Option("--abandon", help="Take back an adoption that has not come to its end.")] = False,
    trust: Trust = None,
    json: Json = False,
) -> None:
    """Install the journal on a dms.Document that exists already, with data, while its writers go on.

    Stopped or killed, it goes on when it is run again, or back with --abandon.
    Example: dmsjournal adopt --dry-run, then dmsjournal adopt --pause 100ms
    """
    from dmsjournal.schema import adopt as adoptions
    from dmsjournal.util import durations

    if abandon and (dry_run or new_stamps or content_column):
        raise typer.BadParameter(
            "it takes no other choice: leave --dry-run, --new-stamps and --content-column out", param_hint="--abandon"
        )
    rest = durations.parsed("pause", pause).total_seconds()
    with _shown(dry_run) as progress:
        try:
            if abandon:
                _tell(adoptions.abandon(url, lock_timeout=lock_timeout, tries=tries, trust=trust or ()), trust)
                typer.echo("abandoned: the database has no journal")
                return
            adoption = adoptions.adopt(
                url,
                dry_run=dry_run,
                batch_size=batch_size,
                pause=rest,
                lock_timeout=lock_timeout,
                tries=tries,
                new_stamps=new_stamps,
                content_columns=content_column or [],
                trust=trust or (),
                progress=progress,
            )
        except dj.AdoptionRefused as refused:
            fail([*map(str, refused.obstacles), f"{len(refused.obstacles)} in the way of the adoption"], exit_codes.PERSON_NEEDED)
    _tell(adoption.notes, trust)
    if dry_run:
        print_items(adoption.steps, json, False)
    else:
        typer.echo(f"revision={adoption.revision} steps={len(adoption.steps)}")


def _tell(notes: "list[Obstacle]", trust: list[str] | None) -> None:
    warn_trusted(trust)
    for note in notes:
        say(f"note: {note}", err=True)


@contextmanager
def _shown(dry_run: bool) -> Iterator[Callable[["AdoptionStep", int], None] | None]:
    """To be called with a step and its rows that are done; shown on stderr, as lines where that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if dry_run:
        yield None
        return
    if not console.is_terminal:
        told = ProgressLines()

        def tell(step: "AdoptionStep", rows: int) -> None:
            told.say(f"{step.name}: {rows:,} of about {step.rows:,} rows" if rows else step.name, new=not rows)

        yield tell
        return
    columns = [SpinnerColumn(), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn()]
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("checking", total=None)

        def show(step: "AdoptionStep", rows: int) -> None:
            progress.update(
                task, description=f"{step.name}: {rows:,} rows" if rows else step.name, completed=rows, total=step.rows or None
            )

        yield show
