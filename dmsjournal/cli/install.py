"""Commands that install and remove the journal."""

from enum import StrEnum
from typing import Annotated, Any

import typer

import dmsjournal as dj
from dmsjournal.cli.base import LockTimeout, Pause, Trust, Url, app, warn_trusted
from dmsjournal.cli.output import ProgressLines, say
from dmsjournal.cli.track import Bodies, Columns, Exclude, Keys, Project, Schema, Shows, asked, named
from dmsjournal.database.engines import DEFAULT, ENGINES, engine_named
from dmsjournal.operate import tracking

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
    trust: Trust = None,
) -> None:
    """Install the journal, or bring it up to date, with its options. One transaction: it succeeds as a whole or changes nothing.

    Example: dmsjournal upgrade --with partitions --lock-timeout 10s
    """
    from dmsjournal.schema import migrate

    before = migrate.upgrade(url, revision, options=with_ or (), lock_timeout=lock_timeout, trust=trust or ())
    warn_trusted(trust)
    say(_revision_line(url, f"before={before.revision}", *before.options))


@app.command(context_settings={"ignore_unknown_options": True})  # -1 is a revision to Alembic: the one before
def downgrade(
    url: Url,
    revision: Annotated[
        str | None, typer.Argument(metavar="REVISION", help="Such as 0003, -1 for the one before, base for no journal.")
    ] = None,
    without: Without = None,
    lock_timeout: LockTimeout = "5s",
    trust: Trust = None,
) -> None:
    """Go back to an older revision, or remove options; base removes the journal and all options. Documents stay.

    Options that need more than the revision go as well, with what they kept. It is one transaction.

    Example: dmsjournal downgrade base
    """
    from dmsjournal.schema import migrate

    before = migrate.downgrade(url, revision, without=without or (), lock_timeout=lock_timeout, trust=trust or ())
    warn_trusted(trust)
    say(_revision_line(url, f"before={before.revision}", *before.options))
    asked = {*(without or ()), str(revision).removesuffix("@base")}
    if unasked := [name for name in before.options if name not in {*migrate.installed(url).options, *asked}]:
        say(f"removed as well, with what they kept: {', '.join(unasked)}", err=True)


@app.command()
def current(url: Url) -> None:
    """Print the database's revision, the newest one, and its options. The first is None where the database has no journal.

    Example: dmsjournal current
    """
    from dmsjournal.schema import migrate

    say(_revision_line(url, f"newest={migrate.newest()}"))


def _revision_line(url: str, rest: str, *before: str) -> str:
    """The database's revision, and its options where it has any, or had."""
    from dmsjournal.schema import migrate

    now = migrate.installed(url)
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
    pause: Pause = "0",
) -> None:
    """Fill what an option keeps for the documents that were there before it. Writers go on; after an interruption, run it again.

    Example: dmsjournal fill max_dep_identity_version --batch-size 5000
    """
    from rich.console import Console

    from dmsjournal.schema import fill as filler
    from dmsjournal.util import durations

    console, rest, told = Console(stderr=True), durations.parsed("pause", pause), ProgressLines()
    with console.status("filling") as status:

        def show(looked_at: int) -> None:
            text = f"{looked_at:,} documents looked at"
            status.update(text) if console.is_terminal else told.say(text)

        filled = filler.fill(url, option, batch_size=batch_size, pause=rest.total_seconds(), progress=show)
    typer.echo(f"filled={option} documents={filled}")


EngineName = StrEnum("EngineName", [engine.NAME for engine in ENGINES])  # type: ignore[misc]  # mypy wants them written out


@app.command()
def sql(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[track TABLE… | untrack TABLE]", help="Print the script that tracks or untracks tables.", show_default="none"
        ),
    ] = None,
    revision: Annotated[
        str | None, typer.Option(help="Revision to go to, or from:to.", show_default="head, head:base with --down")
    ] = None,
    down: Annotated[bool, typer.Option("--down", help="Print the script of a downgrade.")] = False,
    with_: Annotated[str | None, typer.Option("--with", metavar="OPTION", help="Print the script that adds an option.")] = None,
    without: Annotated[str | None, typer.Option("--without", metavar="OPTION", help="Print the script that removes it.")] = None,
    lock_timeout: LockTimeout = "5s",
    trust: Trust = None,
    engine: Annotated[
        EngineName | None, typer.Option(case_sensitive=False, help="Whose SQL.", show_default="that of the URL, else postgres")
    ] = None,
    url: Annotated[
        str | None, typer.Option(envvar="DMSJOURNAL_URL", metavar="URL", help="Whose SQL, where --engine does not say.")
    ] = None,
    schema: Schema = None,
    exclude: Exclude = None,
    project: Project = None,
    shows: Shows = None,
    columns: Columns = None,
    keys: Keys = None,
    bodies: Bodies = False,
) -> None:
    """Print the SQL of an upgrade or downgrade. It is for reading, and runs with psql or sqlcmd. It needs no
    database, but for --schema.

    Example: dmsjournal sql --with max_dep_identity_version > option.sql
    """
    from dmsjournal.database import connect
    from dmsjournal.schema import migrate

    name = engine or (connect.engine_of_url(url).NAME if url else DEFAULT)
    if words == ["track"] and schema is not None:
        if url is None or name != connect.engine_of_url(url).NAME:
            raise dj.InvalidRequest("schema", schema, "its tables are read from the database: give --url, or name the tables")
        with dj.connect(url) as db:
            words = ["track", *named(db, None, schema, exclude)]
    elif schema is not None or exclude:
        raise typer.BadParameter("--schema and --exclude are for `sql track --schema NAME`, without names of tables")
    if words:
        typer.echo(_tracking_script(str(name), words, lock_timeout, (project, shows, columns, keys, bodies, trust)), nl=False)
        return
    if (with_ and without) or ((with_ or without) and down):
        raise typer.BadParameter("give one of --with, --without and --down")
    if revision is None and down:
        revision = "head:base"
    down, option = down or without is not None, with_ or without
    script = migrate.script(name, revision, down=down, option=option, lock_timeout=lock_timeout, trust=trust or ())
    typer.echo(script, nl=False)
    warn_trusted(trust)


def _tracking_script(engine: str, words: list[str], lock_timeout: str, given: tuple[Any, ...]) -> str:
    """The script of `track TABLE…` or `untrack TABLE`."""
    verb, *names = words
    if verb == "untrack" and len(names) == 1:
        return tracking.untracking_script(engine_named(engine), names[0], lock_timeout, keep_documents=False)
    if verb != "track" or not names:
        raise typer.BadParameter("write `track TABLE…` or `untrack TABLE`, or leave the words out for an upgrade")
    return tracking.script(engine_named(engine), asked(names, *given), lock_timeout)
