"""Commands that install and remove the journal."""

from enum import StrEnum
from typing import Annotated

import typer

from dmsjournal.cli.base import LockTimeout, Pause, Url, app

With = Annotated[
    list[str] | None, typer.Option("--with", metavar="OPTION", help="Add an option, such as max_dep_identity_version.")
]
Without = Annotated[list[str] | None, typer.Option("--without", metavar="OPTION", help="Remove an option; the journal stays.")]


@app.command()
def upgrade(
    url: Url,
    revision: Annotated[str, typer.Option(help="Revision to go to.")] = "head",
    with_: With = None,
    lock_timeout: LockTimeout = "5s",
) -> None:
    """Install the journal, or bring it up to date, with its options. One transaction: it succeeds as a whole or changes nothing.

    Example: dmsjournal upgrade --with partitions --lock-timeout 10s
    """
    from dmsjournal import migrating

    before = migrating.installed(url)
    migrating.upgrade(url, revision, options=with_ or (), lock_timeout=lock_timeout)
    typer.echo(_told(url, f"before={before.revision}", *before.options))


@app.command(context_settings={"ignore_unknown_options": True})  # -1 is a revision to Alembic: the one before
def downgrade(
    url: Url,
    revision: Annotated[
        str | None, typer.Argument(metavar="REVISION", help="Such as 0003, -1 for the one before, base for no journal.")
    ] = None,
    without: Without = None,
    lock_timeout: LockTimeout = "5s",
) -> None:
    """Go back to an older revision, or remove options; base removes the journal and all options. Documents stay.

    Options that need more than the revision go as well, with what they kept. It is one transaction.

    Example: dmsjournal downgrade base
    """
    from dmsjournal import migrating

    before = migrating.installed(url)
    migrating.downgrade(url, revision, without=without or (), lock_timeout=lock_timeout)
    typer.echo(_told(url, f"before={before.revision}", *before.options))
    asked = {*(without or ()), str(revision).removesuffix("@base")}
    if unasked := [name for name in before.options if name not in {*migrating.installed(url).options, *asked}]:
        typer.echo(f"removed as well, with what they kept: {', '.join(unasked)}", err=True)


@app.command()
def current(url: Url) -> None:
    """Print the database's revision, the newest one, and its options. The first is None where the database has no journal.

    Example: dmsjournal current
    """
    from dmsjournal import migrating

    typer.echo(_told(url, f"newest={migrating.newest()}"))


def _told(url: str, rest: str, *before: str) -> str:
    """The database's revision, and its options where it has any, or had."""
    from dmsjournal import migrating

    now = migrating.installed(url)
    if now.is_adopting:
        typer.echo("an adoption of dms.Document is on its way: run dmsjournal adopt to its end", err=True)
    options = f" options={','.join(now.options) or None}" if now.options or before else ""
    return f"revision={now.revision} {rest}{options}"


@app.command()
def fill(
    option: Annotated[str, typer.Argument(metavar="OPTION", help="Such as max_dep_identity_version.")],
    url: Url,
    batch_size: Annotated[
        int, typer.Option("--batch-size", min=1, max=1_000_000, metavar="N", help="Documents a transaction.")
    ] = 1_000,
    batch: Annotated[int | None, typer.Option("--batch", min=1, max=1_000_000, hidden=True)] = None,  # its name at first
    pause: Pause = "0",
) -> None:
    """Fill what an option keeps for the documents that were there before it. Writers go on; after an interruption, run it again.

    Example: dmsjournal fill max_dep_identity_version --batch-size 5000
    """
    from rich.console import Console

    from dmsjournal import durations, filling

    console, rest = Console(stderr=True), durations.parsed("pause", pause)
    with console.status("filling") as status:
        filled = filling.fill(
            url,
            option,
            batch_size=batch or batch_size,
            pause=rest.total_seconds(),
            progress=lambda n: status.update(f"{n:,} documents looked at"),
        )
    typer.echo(f"filled={option} documents={filled}")


class Engine(StrEnum):
    postgres = "postgres"
    sqlserver = "sqlserver"


@app.command()
def sql(
    revision: Annotated[
        str | None, typer.Option(help="Revision to go to, or from:to.", show_default="head, head:base with --down")
    ] = None,
    down: Annotated[bool, typer.Option("--down", help="Print the script of a downgrade.")] = False,
    with_: Annotated[str | None, typer.Option("--with", metavar="OPTION", help="Print the script that adds an option.")] = None,
    without: Annotated[str | None, typer.Option("--without", metavar="OPTION", help="Print the script that removes it.")] = None,
    lock_timeout: LockTimeout = "5s",
    engine: Annotated[
        Engine | None, typer.Option(case_sensitive=False, help="Whose SQL.", show_default="that of the URL, else postgres")
    ] = None,
    url: Annotated[
        str | None, typer.Option(envvar="DMSJOURNAL_URL", metavar="URL", help="Whose SQL, where --engine does not say.")
    ] = None,
) -> None:
    """Print the SQL of an upgrade or downgrade. It is for reading, and runs with psql or sqlcmd. No database is needed.

    Example: dmsjournal sql --with max_dep_identity_version > option.sql
    """
    from dmsjournal import connecting, migrating

    if (with_ and without) or ((with_ or without) and down):
        raise typer.BadParameter("give one of --with, --without and --down")
    if revision is None and down:
        revision = "head:base"
    down, option = down or without is not None, with_ or without
    name = engine or (connecting.engine_name_of(url) if url else "postgres")
    typer.echo(migrating.script(name, revision, down=down, option=option, lock_timeout=lock_timeout), nl=False)
