"""Commands that are done again and again: when they stop, and with which exit code. No database and no Spark."""

import os
import signal
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
import typer

import dmsjournal as dj
from dmsjournal.cli.interrupts import sigterm_ends_it
from dmsjournal.cli.repeats import repeated

NOW = timedelta()


def answers(*told: bool | Exception) -> Callable[[], bool]:
    """A command that does this, call after call, and at the end gets SIGTERM."""
    left: Iterator[bool | Exception] = iter(told)

    def once() -> bool:
        for each in left:
            if isinstance(each, Exception):
                raise each
            return each
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("SIGTERM did not end it")

    return once


def code(once: Callable[[], bool], every: timedelta | None = None, until_caught_up: bool = False) -> int:
    try:
        with sigterm_ends_it():
            repeated(once, every, until_caught_up)
    except typer.Exit as ended:
        return ended.exit_code
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def test_once() -> None:
    assert [code(answers(True)), code(answers(False)), code(answers())] == [0, 99, 143]
    with pytest.raises(dj.Unavailable):
        code(answers(dj.Unavailable("gone")))


def test_until_it_has_caught_up() -> None:
    assert code(answers(True, True, False), until_caught_up=True) == 0
    assert code(answers(False), until_caught_up=True) == 99


def test_at_intervals_until_sigterm(capsys: pytest.CaptureFixture[str]) -> None:
    assert code(answers(True, False, dj.Unavailable("the database is away"), True), NOW) == 0
    assert capsys.readouterr().err == "the database is away: try again; tried again at the next interval\n"
    with pytest.raises(dj.HistoryDiverged):
        code(answers(True, dj.HistoryDiverged(9, 3)), NOW)


def test_java_that_has_ended_ends_it() -> None:
    gone = dj.Unavailable("Spark could not finish writing: its Java process has ended")
    gone.__cause__ = ConnectionRefusedError()
    with pytest.raises(dj.Unavailable):
        code(answers(gone), NOW)


def test_sigterm_ends_the_wait() -> None:
    def once() -> bool:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        return True

    before = signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    try:
        assert code(once, timedelta(hours=1)) == 0
    finally:
        signal.signal(signal.SIGALRM, before)
