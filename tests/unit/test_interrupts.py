"""What Ctrl-C does to a command whose driver does not let the KeyboardInterrupt through, or logs it."""

import logging
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli


def of_a_library(*_: object) -> None:
    """As Spark's, which stays in a process that has had a session."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("handler", [signal.default_int_handler, of_a_library], ids=["default", "library"])
@pytest.mark.parametrize(("is_interrupted", "code", "said"), [(True, 130, "interrupted\n"), (False, 75, "the link failed")])
def test_an_error_after_ctrl_c_is_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, is_interrupted: bool, code: int, said: str, handler: Callable[..., None]
) -> None:
    """pyodbc: the wait is broken off, the exception is raised while it reads its error and dropped, and the rollback fails."""

    def lost(*_: object, **__: object) -> None:
        if is_interrupted:
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        raise dj.Unavailable("the link failed", "try again when it is up")

    monkeypatch.setattr(dj.Journal, "versions", lost)
    before = signal.signal(signal.SIGINT, handler)
    try:
        ended = CliRunner().invoke(cli.app, ["versions", "--url", "postgresql://reader@127.0.0.1:1/none"])
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert (ended.exit_code, ended.stderr.startswith(said)) == (code, True)


WAITS_AT_EXIT = """
import atexit, sys, time
from dmsjournal.cli import app
from dmsjournal.util.concurrency import in_thread

atexit.register(time.sleep, 60)  # as mssql-python's, which closes connections that a statement is on
call = in_thread(time.sleep, float(sys.argv.pop()))
time.sleep(0.2)
app()
"""


def test_a_program_ends_though_a_database_holds_a_thread() -> None:
    program = [sys.executable, "-c", WAITS_AT_EXIT, "--version", "60"]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=30)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"dmsjournal {dj.__version__}\n", "")


def test_a_program_that_holds_no_thread_ends_as_any_other() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run([sys.executable, "-c", WAITS_AT_EXIT, "--version", "0"], capture_output=True, timeout=3)


def test_a_ctrl_c_that_py4j_logs_is_not_shown(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """It logs it as here, by the root logger. What else is logged there is shown."""

    def waits_for_java(*_: object, **__: object) -> None:
        logging.error("another error")
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            logging.exception("KeyboardInterrupt while sending command.")
            raise

    monkeypatch.setattr(dj.Journal, "versions", waits_for_java)
    ended = CliRunner().invoke(cli.app, ["versions", "--url", "postgresql://reader@127.0.0.1:1/none"])
    assert (ended.exit_code, ended.stderr) == (130, "interrupted\n")
    assert [record.message for record in caplog.records] == ["another error"]
    logging.getLogger().error("after the command", exc_info=KeyboardInterrupt())
    assert caplog.records[-1].message == "after the command"
