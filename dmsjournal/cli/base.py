"""The group of commands, what ends one, and the options that many of them take."""

import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, NoReturn, TypeVar

import typer
import typer.core

import dmsjournal as dj


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
            fail(_told(str(error), error), 1)
        except KeyboardInterrupt as interrupt:
            fail(_told("interrupted", interrupt), 130)
        except BrokenPipeError:  # such as `| head`: nobody reads on, which is no error of ours to talk about
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for the flush at exit
            raise typer.Exit(141) from None  # as a shell reports a program that SIGPIPE ended
        except OSError as error:  # such as a full disk below stdout
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            what = "the output cannot be written" if error.filename is None else str(error.filename)
            fail(f"{what}: {error.strerror or error}", 1)
        return result


class _Command(typer.core.TyperCommand):
    """A command whose refusals name its options, not the parameters that the library has for them."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except dj.InvalidRequest as error:
            from dmsjournal.cli.wording import worded

            raise worded(error, ctx) from error


_Function = TypeVar("_Function", bound=Callable[..., Any])


class Commands(typer.Typer):
    """A group of such commands."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[_Function], _Function]:
        return super().command(name, **{"cls": _Command} | settings)


# Locals in a traceback would show the URL's password. Plain help, as rich takes longer to import than to be read.
app = Commands(cls=_Commands, no_args_is_help=True, pretty_exceptions_show_locals=False, rich_markup_mode=None)


def _told(message: str, error: BaseException) -> str:
    return " ".join("; ".join([message, *getattr(error, "__notes__", [])]).split())


def fail(message: str, code: int) -> NoReturn:
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
    """What changed since version X: a change journal inside PostgreSQL or SQL Server."""


Url = Annotated[
    str,
    typer.Option(
        envvar="DMSJOURNAL_URL",
        metavar="URL",
        help="Database, as postgresql+psycopg://user:password@host:port/database or mssql+pyodbc://….",
    ),
]
LockTimeout = Annotated[str, typer.Option(help="How long to wait for any lock: 500ms, 5s, 1min; 0 waits for ever.")]
Pause = Annotated[str, typer.Option(metavar="TIME", help="Wait so long after each batch, such as 100ms, 2s or 0.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")]
StringVersions = Annotated[
    bool, typer.Option("--string-versions", help="With --json: versions and ids as strings. JavaScript rounds numbers above 2^53.")
]
