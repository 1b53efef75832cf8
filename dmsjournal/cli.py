"""The commands: each parses, makes one call, and prints. Results go to stdout, everything else to stderr."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TextIO

import msgspec
import typer
import typer.core

import dmsjournal as dj
from dmsjournal import statements
from dmsjournal.errors import near_matches

if TYPE_CHECKING:
    from dmsjournal.loading import LineFile, Rejected

# Alembic, Spark, rich's tables and bars are imported by the commands that use them: --help and the reading commands start fast.

_REASONS_SHOWN = 3
_VERSIONS_AND_IDS = ("change_version", "document_id", "oldest", "newest")


class _Commands(typer.core.TyperGroup):
    """Commands whose JournalErrors end as one line on stderr and exit code 1."""

    def invoke(self, ctx: Any) -> Any:
        if sys.stdout is None:  # closed by whoever started this
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # rather than a traceback on an old terminal
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # here, where a closed pipe can still be answered
        except dj.JournalError as error:
            _fail(_told(str(error), error), 1)
        except KeyboardInterrupt as interrupt:
            _fail(_told("interrupted", interrupt), 130)
        except BrokenPipeError:  # such as `| head`: nobody reads on, which is no error of ours to talk about
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for the flush at exit
            raise typer.Exit(141) from None  # as a shell reports a program that SIGPIPE ended
        except OSError as error:  # such as a full disk below stdout
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            _fail(f"the output cannot be written: {error.strerror or error}", 1)
        return result


# Locals in a traceback would show the URL's password. Plain help, as rich takes longer to import than to be read.
app = typer.Typer(cls=_Commands, no_args_is_help=True, pretty_exceptions_show_locals=False, rich_markup_mode=None)


def _told(message: str, error: BaseException) -> str:
    return " ".join("; ".join([message, *getattr(error, "__notes__", [])]).split())


def _fail(message: str, code: int) -> NoReturn:
    sys.stdout.flush()  # first what was found, then what was not
    typer.echo(message, err=True)
    raise typer.Exit(code)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"dmsjournal {dj.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """What changed since version X: a change journal inside PostgreSQL."""


Url = Annotated[
    str,
    typer.Option(envvar="DMSJOURNAL_URL", metavar="URL", help="Database, as postgresql+psycopg://user:password@host:port/database."),
]
LockTimeout = Annotated[str, typer.Option(help="How long to wait for any lock: 500ms, 5s, 1min; 0 waits for ever.")]


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


@app.command()
def load(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="JSON lines, plain or gzip; - is standard input.")],
    url: Url,
    keep_going: Annotated[bool, typer.Option("--keep-going", help="Load the good lines, write the bad ones to a file.")] = False,
    rejects: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File for them, with --keep-going.", show_default="FILE.rejects.jsonl")
    ] = None,
    commit_every: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Commit after each N lines.", show_default="all or nothing")
    ] = None,
) -> None:
    """Write the documents of a file. A line is one document, in UTF-8, and stands after those that it refers to.

    All lines are loaded or none, unless an option says otherwise.
    """
    from dmsjournal import loading

    if rejects is not None and not keep_going:
        raise typer.BadParameter("it goes with --keep-going", param_hint="--rejects")
    target = rejects or Path(f"{'stdin' if file == '-' else file}.rejects.jsonl")
    if rejects is not None and target.exists() and file != "-" and Path(file).exists() and target.samefile(file):
        raise typer.BadParameter("it is the file to load", param_hint="--rejects")
    with loading.opened(file) as source, dj.connect(url) as db, _bar(source) as progress, _Rejects(target) as bad:
        report = loading.load(
            db, source, keep_going=keep_going, commit_every=commit_every, progress=progress, on_rejected=bad.write
        )
    typer.echo(
        f"created={report.created} updated={report.updated} unchanged={report.unchanged} rejected={bad.count} "
        f"seconds={report.seconds:.1f} documents_per_second={report.documents / max(report.seconds, 1e-3):.0f}"
    )
    if bad.count:
        _fail("\n".join([*bad.first, f"{bad.count} lines were not loaded: they are in {target}, with the reasons"]), 1)


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")]
StringVersions = Annotated[
    bool, typer.Option("--string-versions", help="With --json: versions and ids as strings. JavaScript rounds numbers above 2^53.")
]


@app.command()
def versions(url: Url, json: Json = False, string_versions: StringVersions = False) -> None:
    """Print the oldest and the newest version. At or below the newest, every writer has finished."""
    with dj.connect(url) as db:
        found = db.versions()
    if json:
        _print([found], json, string_versions)
    else:
        typer.echo(f"oldest={found.oldest} newest={found.newest}")


Resource = Annotated[str, typer.Argument(metavar="RESOURCE", help="Such as Ed-Fi/Student/5.2.0; Student where it is the only one.")]
Min = Annotated[str | None, typer.Option("--min", metavar="VERSION", help="First version, inclusive.", show_default="version 0")]
Max = Annotated[str | None, typer.Option("--max", metavar="VERSION", help="Last version, inclusive.", show_default="the newest")]
PageSize = Annotated[int, typer.Option(min=1, max=1_000_000, metavar="N", help="Rows to read at once.")]
Limit = Annotated[int | None, typer.Option(min=1, max=2**31, metavar="N", help="Rows to print at most.", show_default="all")]


@app.command()
def changes(
    resource: Resource,
    url: Url,
    min_: Min = None,
    max_: Max = None,
    page_size: PageSize = 500,
    limit: Limit = None,
    json: Json = False,
    string_versions: StringVersions = False,
) -> None:
    """Print what changed in a window. A line is a document whose version lies in the window, the lowest version first."""
    window = _window(min_, max_)
    with dj.connect(url) as db:
        found = db.changes(_resource(db, resource), window, page_size)
        _print(islice(found, limit), json, string_versions)


@app.command()
def snapshot(
    resource: Resource,
    url: Url,
    page_size: PageSize = 500,
    limit: Limit = None,
    json: Json = False,
    string_versions: StringVersions = False,
) -> None:
    """Print all live documents of a resource. Begin with it, also after an expired window; stderr tells where to go on."""
    with dj.connect(url) as db:
        found = db.snapshot(_resource(db, resource), page_size)
        _print(islice(found, limit), json, string_versions)
    sys.stdout.flush()
    typer.echo(f"go on with --min {found.through + 1}", err=True)


@app.command()
def deletes(
    resource: Resource,
    url: Url,
    min_: Min = None,
    max_: Max = None,
    page_size: PageSize = 500,
    limit: Limit = None,
    json: Json = False,
    string_versions: StringVersions = False,
) -> None:
    """Print what was deleted in a window. A line is a deleted document of the resource, the lowest version first."""
    window = _window(min_, max_)
    with dj.connect(url) as db:
        found = db.deletes(_resource(db, resource), window, page_size)
        _print(islice(found, limit), json, string_versions)


@app.command()
def key_changes(
    resource: Resource,
    url: Url,
    min_: Min = None,
    max_: Max = None,
    page_size: PageSize = 500,
    limit: Limit = None,
    json: Json = False,
    string_versions: StringVersions = False,
) -> None:
    """Print whose key changed in a window. A line is a document with its key before and after, the lowest version first."""
    window = _window(min_, max_)
    with dj.connect(url) as db:
        found = db.key_changes(_resource(db, resource), window, page_size)
        _print(islice(found, limit), json, string_versions)


@app.command(context_settings={"ignore_unknown_options": True})  # -5 is an id, if one that no document has
def derive(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Document ids.")],
    url: Url,
    json: Json = False,
    string_versions: StringVersions = False,
) -> None:
    """Print documents' versions, etags and last-modified times. The exit code is 1 if one of them does not exist."""
    wanted = [_whole_number(text) for text in ids]
    with dj.connect(url) as db:
        found = db.derive(wanted)
    _print(({"document_id": i, **msgspec.to_builtins(found[i])} for i in wanted if i in found), json, string_versions)
    missing = [str(i) for i in wanted if i not in found]
    if missing:
        _fail(f"there is no document {', '.join(missing)}", 1)


@app.command()
def demo(
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Use this empty database.", show_default="a PostgreSQL of the demo's own")
    ] = None,
    no_spark: Annotated[bool, typer.Option("--no-spark", help="Leave the Spark job out.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the database: with --url for good, else until Ctrl-C.")] = False,
) -> None:
    """Show in a minute what the journal does. It loads and changes the documents of a school district."""
    from dmsjournal.demo import run

    if not run(url, spark=not no_spark, keep=keep):
        raise typer.Exit(1)


def _whole_number(text: str) -> Any:
    """The number that a text is, else the text: what takes it refuses it by name."""
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,100}", text) else text


def _window(first: str | None, last: str | None) -> dj.Window:
    return dj.Window(*(None if text is None else _whole_number(text) for text in (first, last)))


def _resource(db: dj.Journal, name: str) -> dj.ResourceKey:
    """The resource that a full name is, or the only one that a short name can mean. Raises InvalidRequest naming the candidates."""
    if "/" in name:
        return dj.ResourceKey.parse(name)
    known = sorted(db.resources())
    candidates = [resource for resource in known if resource.resource_name == name]
    if not candidates:
        looks_like = near_matches(name, [resource.resource_name for resource in known])
        raise dj.InvalidRequest("resource", name, f"the database knows no such resource; {looks_like}")
    if len(candidates) > 1:
        raise dj.InvalidRequest("resource", name, f"it may mean {' or '.join(map(str, candidates))}: write one of them in full")
    return candidates[0]


def _print(items: Iterable[object], json: bool, string_versions: bool) -> None:
    """The items, one a line, as they come: JSON, or aligned for a terminal, or separated by tabs for a program."""
    widths: list[int] | None = None
    for item in items:
        record: dict[str, Any] = msgspec.to_builtins(item, builtin_types=(Decimal,))
        if json:
            strings = {name: str(record[name]) for name in _VERSIONS_AND_IDS if string_versions and name in record}
            print(_encodable(statements.rows(record | strings)))
            continue
        values = [value if isinstance(value, str) else statements.rows(value) for value in record.values()]
        if not sys.stdout.isatty():
            print("\t".join(values))
            continue
        if widths is None:  # the first row's, so that nothing waits for the last: a later one may be longer
            widths = [max(map(len, pair)) for pair in zip(record, values, strict=True)]
            typer.secho(_aligned(record, widths), bold=True)
        print(_aligned(values, widths))


def _encodable(text: str) -> str:
    """JSON as the terminal can show it: where it cannot, characters are escaped as JSON escapes them."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        units = text.encode("utf-16-be")
        codes = (int.from_bytes(units[i : i + 2]) for i in range(0, len(units), 2))
        return "".join(chr(code) if code < 128 else f"\\u{code:04x}" for code in codes)
    return text


def _aligned(values: Iterable[str], widths: list[int]) -> str:
    return "  ".join(value.ljust(width) for value, width in zip(values, widths, strict=True)).rstrip()


@dataclass
class _Rejects:
    """The file of the lines that were not loaded, made at the first of them; counted, not kept."""

    path: Path
    count: int = 0
    first: list[str] = field(default_factory=list)
    _file: TextIO | None = None

    def __enter__(self) -> "_Rejects":
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, rejected: "Rejected") -> None:
        try:
            self._file = self._file or open(self.path, "w", encoding="utf-8")  # noqa: SIM115  # closed by __exit__
            self._file.write(msgspec.json.encode(rejected).decode() + "\n")
        except OSError as error:
            raise dj.InvalidRequest("rejects", str(self.path), f"it cannot be written ({error.strerror})") from error
        self.count += 1
        if len(self.first) < _REASONS_SHOWN:
            self.first.append(f"line {rejected.line_number}: {rejected.reason}")


@contextmanager
def _bar(source: "LineFile") -> Iterator[Callable[[int], None]]:
    """To be called with the number of lines done; it is shown on stderr where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = [BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("0 lines", total=source.size)
        yield lambda lines: progress.update(task, completed=source.position, description=f"{lines:,} lines")


if __name__ == "__main__":
    app()
