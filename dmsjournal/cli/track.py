"""Commands that track tables of others."""

import sys
from typing import Annotated

import typer

import dmsjournal as dj
from dmsjournal.cli.base import Json, LockTimeout, Pause, Url, app
from dmsjournal.cli.output import ProgressLines, print_items, say
from dmsjournal.operate import tracking
from dmsjournal.util import durations
from dmsjournal.util.printable import printable

Shows = Annotated[
    list[str] | None,
    typer.Option(metavar="TABLE=COLUMN,…", help="Columns that referring rows show besides the key. Repeat it for each table."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(metavar="TABLE=COLUMN,…", help="Watch these columns only. Repeat it for each table.", show_default="all"),
]
Keys = Annotated[
    list[str] | None,
    typer.Option("--key", metavar="TABLE=NAME", help="A unique constraint to use in place of the primary key. May be repeated."),
]
Schema = Annotated[str | None, typer.Option(metavar="NAME", help="Track all tables of a schema, in foreign-key order.")]
Exclude = Annotated[list[str] | None, typer.Option(metavar="TABLE", help="With --schema: a table to leave out. May be repeated.")]
Project = Annotated[str | None, typer.Option(metavar="NAME", help="Project of the resources.", show_default="the schema's name")]
Bodies = Annotated[bool, typer.Option("--bodies", help="Keep each row as JSON, for option images and for readers.")]
TrustTable = Annotated[
    list[str] | None,
    typer.Option(
        "--trust", metavar="'table NAME'", help="Track it though code of another role can run with our rights. May be repeated."
    ),
]


@app.command()
def track(
    url: Url,
    tables: Annotated[list[str] | None, typer.Argument(metavar="TABLE…", help="Such as app.student; quoted as in SQL.")] = None,
    schema: Schema = None,
    exclude: Exclude = None,
    project: Project = None,
    shows: Shows = None,
    columns: Columns = None,
    keys: Keys = None,
    bodies: Bodies = False,
    trust: TrustTable = None,
    renew: Annotated[bool, typer.Option("--renew", help="Take in what changed about tables, or go on with a fill.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be tracked, and the SQL; change nothing.")] = False,
    blocks: Annotated[int, typer.Option(metavar="N", help="Blocks of 8 kB whose rows one transaction fills in.")] = tracking.BLOCKS,
    pause: Pause = "0",
    lock_timeout: LockTimeout = tracking.LOCK_TIMEOUT,
    json: Json = False,
) -> None:
    """Track tables: each row is a document from now on, each foreign key between tracked tables a reference.

    Writers go on while it fills in the rows that are there. After an interruption, run it with --renew,
    then again for tables that are not tracked yet.

    Example: dmsjournal track app.school app.student --project App --shows app.student=name
    """
    from rich.console import Console
    from rich.markup import escape

    rest = durations.parsed("pause", pause)
    if renew and (schema or exclude or shows or columns or keys or bodies or dry_run):
        raise typer.BadParameter("--renew takes tables alone: untrack a table to track it in another way")
    console, told = Console(stderr=True), ProgressLines()
    with dj.connect(url) as db, console.status("looking") as status:

        def show(table: str, walk: str, done: int, total: int, made: int) -> None:
            part = f"{done:,} of {total:,} blocks" if walk == "rows" else "looking at documents"
            text = f"{table}: {part}, {made:,} documents made"
            status.update(escape(printable(text))) if console.is_terminal else told.say(text)

        if renew:
            trusted = [name.removeprefix("table ") for name in trust or ()]
            listed = db.renew_tracking(
                *(tables or ()), trust=trusted, lock_timeout=lock_timeout, blocks=blocks, pause=rest, progress=show
            )
            print_items(listed, json, False)
            return
        names = named(db, tables, schema, exclude)
        if not names:
            raise typer.BadParameter("name tables, or a schema with --schema")
        wanted = asked(names, project, shows, columns, keys, bodies, trust)
        try:
            if not dry_run:
                print_items(db.track(*wanted, lock_timeout=lock_timeout, blocks=blocks, pause=rest, progress=show), json, False)
                return
            plans = db.tracking_plan(*wanted)
        except dj.UnsupportedCapability as error:
            if schema is not None:
                error.add_note("--exclude TABLE leaves a table of the schema out")
            raise
        for plan in plans:
            print_items([plan.tracked], json, False)
            say(f"-- {db.database.engine.TRACK_NOTE.format(table=plan.tracked.table)}", err=True)
            if not json:
                sys.stdout.write("".join(f"{printable(statement, keep=chr(10))};\n" for statement in plan.statements))


@app.command()
def untrack(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="Such as app.student.")],
    url: Url,
    keep_documents: Annotated[bool, typer.Option("--keep-documents", help="Leave its documents as they are.")] = False,
    lock_timeout: LockTimeout = tracking.LOCK_TIMEOUT,
) -> None:
    """Track a table no more: its triggers go, and its documents, whose tombstones say so.

    Example: dmsjournal untrack app.student
    """
    with dj.connect(url) as db:
        db.untrack(table, keep_documents=keep_documents, lock_timeout=lock_timeout)
    say(f"untracked={table}")


@app.command()
def tracked(url: Url, json: Json = False) -> None:
    """Print the tracked tables: resource, key, shown and watched columns, what they refer to, rows (estimated), what is wrong.

    Example: dmsjournal tracked --json
    """
    with dj.connect(url) as db:
        found = db.tracked()
        print_items(found, json, False)
        if not found:
            lacking = "the database has no option tracking: dmsjournal upgrade --with tracking"
            say("no table is tracked" if tracking.OPTION in db.database.options else lacking, err=True)


def named(db: dj.Journal, tables: list[str] | None, schema: str | None, exclude: list[str] | None) -> list[str]:
    """The tables that a command line names, and those of a schema but for some. Raises InvalidRequest."""
    found = [] if schema is None else tracking.tables_of(db.database, schema)
    left_out = []
    for given in exclude or ():
        name = one_of(found, given)
        if name is None:
            raise dj.InvalidRequest("exclude", given, f"name one of the tables of --schema: {', '.join(found) or 'none'}")
        left_out.append(name)
    return [*(tables or ()), *(name for name in found if name not in left_out)]


def asked(
    names: list[str],
    project: str | None,
    shows: list[str] | None,
    columns: list[str] | None,
    keys: list[str] | None,
    bodies: bool,
    trust: list[str] | None,
) -> list[dj.TrackedTable]:
    """The tables that a command line asks for."""
    shown, watched = by_table("shows", shows, names), by_table("columns", columns, names)
    named = {name: ",".join(parts) for name, parts in by_table("key", keys, names).items()}
    trusted = []
    for given in trust or ():
        name = one_of(names, given.removeprefix("table "))
        if name is None:
            raise dj.InvalidRequest("trust", given, f"write it as 'table NAME', with one of the tables {', '.join(names)}")
        trusted.append(name)
    return [
        dj.TrackedTable(
            name,
            None if project is None else dj.ResourceKey(project, bare(name), "1"),
            shown.get(name),
            watched.get(name),
            named.get(name),
            bodies,
            name in trusted,
        )
        for name in names
    ]


def by_table(parameter: str, given: list[str] | None, names: list[str]) -> dict[str, list[str]]:
    """Values of the form TABLE=NAME,NAME by table: a table that is named again gets more of them. Raises InvalidRequest."""
    found: dict[str, list[str]] = {}
    for text in given or ():
        table, is_given, columns = text.partition("=")
        name = one_of(names, table)
        if not is_given or name is None:
            raise dj.InvalidRequest(parameter, text, f"write it as TABLE=NAME, with one of the tables {', '.join(names)}")
        found.setdefault(name, []).extend(
            bare(column.strip()) if '"' in column else column.strip() for column in columns.split(",")
        )
    return found


def one_of(names: list[str], given: str) -> str | None:
    """Which of the names a name means, with quotation marks or without: shop."order" and shop.order are one table."""
    alike = [name for name in names if name == given] or [name for name in names if parts_of(name) == parts_of(given)]
    return alike[0] if alike else None


def bare(table: str) -> str:
    """A table's name without its schema and its quotation marks or brackets."""
    return parts_of(table)[-1]


def parts_of(name: str) -> list[str]:
    """The parts of a name in SQL, without their quotation marks or brackets."""
    parts, closing = [""], ""
    for character in name:
        if closing:
            closing = "" if character == closing else closing
            parts[-1] += character if closing else ""
        elif character in '"[':
            closing = '"' if character == '"' else "]"
        elif character == ".":
            parts.append("")
        else:
            parts[-1] += character
    return parts
