"""The command that verifies and repairs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

import dmsjournal as dj
from dmsjournal.cli.base import Json, Trust, Url, app
from dmsjournal.cli.output import ProgressLines, print_items, say
from dmsjournal.util.printable import cell

if TYPE_CHECKING:
    from dmsjournal.operate.verify import Progress

FOUND = 3  # the exit code where something is left that should not be
_NAMED = 10  # objects of a finding in a line; --json has 100


@app.command()
def verify(
    url: Url,
    repair: Annotated[
        bool, typer.Option("--repair", help="Heal what can be healed, then verify again. The installing role's.")
    ] = False,
    sample: Annotated[
        float | None, typer.Option(metavar="PART", help="Part of the rows to look at, such as 0.01.", show_default="all")
    ] = None,
    trust: Trust = None,
    json: Json = False,
) -> None:
    """Verify that triggers, journals and floors are whole. The exit code is 3 if something is left that should not be.

    Example: dmsjournal verify --sample 0.05 || dmsjournal verify
    """
    if repair and sample is not None:
        raise typer.BadParameter("a repair looks at everything", param_hint="--sample")
    with dj.connect(url) as db, _shown() as progress:
        result = db.repair(progress, trust=trust or ()) if repair else db.verify(sample, progress, trust=trust or ())
    found, left = (result.found, result.left) if isinstance(result, dj.Repair) else (result, result)
    if json:
        print_items([result], json, False)
    else:
        for finding in found.findings:
            say(*_columns(finding))
        looked = f"documents={left.documents} edges={left.edges} events={left.events} tombstones={left.tombstones}"
        typer.echo(f"findings={len(found.findings)} left={len(left.findings)} {looked}{_ended(result)}")
    if not left.is_clean:
        raise typer.Exit(FOUND)


def _ended(result: dj.Verification | dj.Repair) -> str:
    """What a repair says besides: the journals that consumers have to read in full, and what is left."""
    if isinstance(result, dj.Verification):
        return ""
    named = {"expired": result.expired, "not_repaired": [finding.code for finding in result.left.findings]}
    return "".join(f" {name}={','.join(values)}" for name, values in named.items() if values)


def _columns(finding: dj.Finding) -> tuple[str, ...]:
    """Code, count, objects, and what it means."""
    named = ", ".join(cell(str(each)) for each in finding.objects[:_NAMED]) + (", …" if finding.count > _NAMED else "")
    return finding.code, str(finding.count), named, f"{finding.meaning} Remedy: {finding.remedy}."


@contextmanager
def _shown() -> "Iterator[Progress]":
    """To be called with the walk and its rows; shown on stderr, as a line now and then where that is no terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        told = ProgressLines()
        yield lambda walk, rows: told.say(f"{walk}: {rows:,} rows")
        return
    with console.status("objects") as status:
        yield lambda walk, rows: status.update(f"{walk}: {rows:,} rows")
