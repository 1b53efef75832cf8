"""Commands for the parts of the journals, with option partitions."""

from typing import Annotated

import typer

import dmsjournal as dj
from dmsjournal.cli.base import Commands, Json, Pause, Url, app
from dmsjournal.cli.output import print_items
from dmsjournal.operate.partitions import AHEAD, BATCH_SIZE, VERSIONS, PartitionStep
from dmsjournal.util import durations

partitions = Commands(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(partitions, name="partitions", help="List, add and split the parts of journals that have option partitions.")

Versions = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Versions of a part; its bounds are multiples of it. The database keeps what ensure is given.",
        show_default=f"as the last ensure, else {VERSIONS}",
    ),
]


@partitions.command(name="list")
def list_partitions(url: Url, json: Json = False) -> None:
    """Print the parts of each journal: low (inclusive), high (exclusive), whether it is the default one, rows (estimated), bytes.

    Example: dmsjournal partitions list --json
    """
    with dj.connect(url) as db:
        print_items(db.partitions.list(), json, False)


@partitions.command()
def ensure(
    url: Url,
    versions: Versions = None,
    ahead: Annotated[
        int | None,
        typer.Option(metavar="N", help="Parts to have above the last stamp.", show_default=f"as the last ensure, else {AHEAD}"),
    ] = None,
    json: Json = False,
) -> None:
    """Add the parts for the versions to come, and empty the default part. No line where nothing was to be done.

    A line is a step: the journal; what was done (added, closed, on SQL Server also removed); rows that it copied, always 0 here.

    Example: dmsjournal partitions ensure --versions 5000000
    """
    from rich.console import Console

    with dj.connect(url) as db, Console(stderr=True).status("looking") as status:
        print_items(db.partitions.ensure(versions, ahead, lambda step: status.update(_progress_text(step))), json, False)


@partitions.command()
def split(
    url: Url,
    versions: Versions = None,
    journal: Annotated[str | None, typer.Option(metavar="NAME", help="Of this journal only.", show_default="all four")] = None,
    batch_size: Annotated[int, typer.Option(metavar="N", help="Rows to copy in one transaction.")] = BATCH_SIZE,
    pause: Pause = "0",
    json: Json = False,
) -> None:
    """Split the parts that are wider, while readers and writers go on; after an interruption, run it again. PostgreSQL.

    Example: dmsjournal partitions split --versions 5000000 --pause 50ms
    """
    from rich.console import Console

    rest = durations.parsed("pause", pause)
    with dj.connect(url) as db, Console(stderr=True).status("looking") as status:
        done = db.partitions.split(
            versions,
            journal,
            batch_size=batch_size,
            pause=rest,
            progress=lambda step: status.update(_progress_text(step)),
        )
        print_items(done, json, False)


def _progress_text(step: PartitionStep) -> str:
    return f"{step.journal}: {step.step}" + (f", {step.rows:,} rows" if step.rows else "")
