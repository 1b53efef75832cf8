"""A command that is done again and again in one process, which keeps what takes long to start."""

import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta

import typer

import dmsjournal as dj
from dmsjournal.cli.output import say
from dmsjournal.util import exit_codes


def repeated(once: Callable[[], bool], every: timedelta | None, until_caught_up: bool) -> None:
    """Calls `once`, which says whether it has done something: once, or until it has not, or at each interval for ever.

    Ends with exit code NOTHING_NEW where nothing was done. At intervals, an error that a later try may mend is printed, and the
    next interval tries again; SIGTERM ends that with exit code 0, once the run in progress is put away. An interval that a call has
    outlasted begins at once.
    """
    has_done = False
    while True:
        began = time.monotonic()
        try:
            is_new = once()
            while is_new and until_caught_up:
                has_done, is_new = True, once()
        except dj.Unavailable as error:
            if every is None or _is_java_gone(error):  # a process whose Java has ended starts no other one
                raise
            say(f"{error}; tried again at the next interval", err=True)
            is_new = False
        except SystemExit as ended:
            if every is None or ended.code != exit_codes.TERMINATED:
                raise
            raise typer.Exit from None
        has_done = has_done or is_new
        sys.stdout.flush()
        if every is None:
            break
        try:
            threading.Event().wait(max(0.0, every.total_seconds() - (time.monotonic() - began)))
        except SystemExit:
            raise typer.Exit from None
    if not has_done:
        raise typer.Exit(exit_codes.NOTHING_NEW)


def _is_java_gone(error: dj.Unavailable) -> bool:
    from dmsjournal.spark.jobs import is_java_gone

    return error.__cause__ is not None and is_java_gone(error.__cause__)
