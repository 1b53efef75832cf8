"""Commands that install and remove the journal."""

from enum import StrEnum
from typing import Annotated

import typer

from dmsjournal.cli.base import LockTimeout, Url, app


@app.command()
def upgrade(
    url: Url,
    revision: Annotated[str, typer.Option(help="Revision to go to.")] = "head",
    lock_timeout: LockTimeout = "5s",
) -> None:
    """Install the journal, or bring it up to date. It is one transaction: it succeeds as a whole or changes nothing."""
    from dmsjournal import migrating

    before = migrating.current(url)
    migrating.upgrade(url, revision, lock_timeout=lock_timeout)
    typer.echo(f"revision={migrating.current(url)} before={before}")


@app.command(context_settings={"ignore_unknown_options": True})  # -1 is a revision to Alembic: the one before
def downgrade(
    revision: Annotated[str, typer.Argument(metavar="REVISION", help="Such as 0003, -1 for the one before, base for no journal.")],
    url: Url,
    lock_timeout: LockTimeout = "5s",
) -> None:
    """Go back to an older revision; base removes the journal. Documents stay. It is one transaction."""
    from dmsjournal import migrating

    before = migrating.current(url)
    migrating.downgrade(url, revision, lock_timeout=lock_timeout)
    typer.echo(f"revision={migrating.current(url)} before={before}")


@app.command()
def current(url: Url) -> None:
    """Print the database's revision and the newest one. The first is None where the database has no journal."""
    from dmsjournal import migrating

    typer.echo(f"revision={migrating.current(url)} newest={migrating.newest()}")


class Engine(StrEnum):
    postgres = "postgres"
    sqlserver = "sqlserver"


@app.command()
def sql(
    revision: Annotated[
        str | None, typer.Option(help="Revision to go to, or from:to.", show_default="head, head:base with --down")
    ] = None,
    down: Annotated[bool, typer.Option("--down", help="Print the script of a downgrade.")] = False,
    lock_timeout: LockTimeout = "5s",
    engine: Annotated[Engine, typer.Option(help="Whose SQL.")] = Engine.postgres,
) -> None:
    """Print the SQL of an upgrade or downgrade. It is for reading, and runs with psql or sqlcmd. No database is needed."""
    from dmsjournal import migrating

    revision = revision or ("head:base" if down else "head")
    typer.echo(migrating.script(engine, revision, down=down, lock_timeout=lock_timeout), nl=False)
