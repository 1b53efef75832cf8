"""What Ctrl-C does to a command whose driver does not let the KeyboardInterrupt through."""

import signal
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
