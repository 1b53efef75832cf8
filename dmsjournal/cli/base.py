"""The group of commands, what ends one, and the options that many of them take."""

import errno
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any, NoReturn, TypeVar

import typer
import typer.core

import dmsjournal as dj
from dmsjournal.cli.interrupts import ends_past_threads, interrupts_end_it, was_interrupted
from dmsjournal.util import exit_codes
from dmsjournal.util.printable import printable


class _Commands(typer.core.TyperGroup):
    """Commands whose JournalErrors, and output that cannot be written, end as one line on stderr; the exit code is their kind's."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        is_closed = sys.stdout is None
        _keep_numbers_of_closed_streams()
        if is_closed:
            sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115  # what is written there fails, as it should
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # rather than a traceback on an old terminal
        try:
            with interrupts_end_it():
                return super().main(*args, **kwargs)
        except OSError as error:  # such as a full disk below stdout, also that of --help and --version
            _discard_output()
            reason = str(error.strerror or error)
            if is_closed and error.errno == errno.EBADF:
                reason = "standard output is closed: redirect it to a file or to /dev/null"
            with suppress(OSError):  # stderr may be on the same disk
                what = "the output cannot be written" if error.filename is None else str(error.filename)
                typer.echo(printable(f"{what}: {reason}"), err=True)
            sys.exit(1)

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # here, where a closed pipe can still be answered
        except dj.JournalError as error:
            if was_interrupted():
                fail(_one_line("interrupted", error), 130)
            fail(_one_line(str(error), error), exit_codes.code_of(error))
        except KeyboardInterrupt as interrupt:
            fail(_one_line("interrupted", interrupt), 130)
        except BrokenPipeError:  # such as `| head`: nobody reads on, which is no error of ours to talk about
            _discard_output()
            raise typer.Exit(141) from None  # as a shell reports a program that SIGPIPE ended
        return result


def _keep_numbers_of_closed_streams() -> None:
    """Opens what was closed among stdin, stdout and stderr, so that no connection and no file of ours gets its number.

    For reading only, so that writing to it is an error.
    """
    while (number := os.open(os.devnull, os.O_RDONLY)) <= 2:
        pass
    os.close(number)


def _discard_output() -> None:
    """What stdout still holds goes nowhere: the flush at exit must not fail once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


class _Command(typer.core.TyperCommand):
    """A command whose refusals name its options, not the parameters that the library has for them."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except dj.InvalidRequest as error:
            from dmsjournal.cli.refusals import worded

            raise worded(error, ctx) from error


_Function = TypeVar("_Function", bound=Callable[..., Any])


class Commands(typer.Typer):
    """A group of such commands."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[_Function], _Function]:
        return super().command(name, **{"cls": _Command} | settings)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the command that the arguments name, as a program, which ends though a database holds one of its threads."""
        with ends_past_threads():
            return super().__call__(*args, **kwargs)


# Locals in a traceback would show the URL's password. Plain help, as rich takes longer to import than to be read.
app = Commands(cls=_Commands, no_args_is_help=True, pretty_exceptions_show_locals=False, rich_markup_mode=None)


def _one_line(message: str, error: BaseException) -> str:
    return " ".join("; ".join([message, *getattr(error, "__notes__", [])]).split())


def warn_trusted(trust: list[str] | None) -> None:
    """Says on stderr what a command took over although another role owns it."""
    if trust:
        typer.echo(printable(f"trusted, although another role owns it: {', '.join(trust)}"), err=True)


def fail(message: str | Sequence[str], code: int) -> NoReturn:
    """Ends the command with an exit code, and with a message of a line, or of several."""
    try:
        sys.stdout.flush()  # first what was found, then what was not
    finally:  # also where that cannot be written
        for line in [message] if isinstance(message, str) else message:
            typer.echo(printable(line), err=True)
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
Trust = Annotated[
    list[str] | None,
    typer.Option(
        "--trust",
        metavar="OBJECT",
        help="Take over what another role owns, named as the refusal names it, such as 'schema dms'. Repeat it for each object.",
    ),
]
Pause = Annotated[str, typer.Option(metavar="TIME", help="Wait so long after each batch, such as 100ms, 2s or 0.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")]
StringVersions = Annotated[
    bool, typer.Option("--string-versions", help="With --json: versions and ids as strings. JavaScript rounds numbers above 2^53.")
]
