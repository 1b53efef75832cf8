"""Standard output that is closed or full is an error, in one line, and no checkpoint moves past what was not printed.

Each command: tests/postgres/test_unwritten_output.py.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import dmsjournal as dj
from tests import commands
from tests.commands import Commands, Done
from tests.conftest import Connections
from tests.helpers import STUDENT, document, newest, write

Run = Callable[..., Done]

CLOSED = "the output cannot be written: standard output is closed: redirect it to a file or to /dev/null\n"
FULL = "the output cannot be written: No space left on device\n"
REDIRECTED = {"closed": (commands.CLOSED, CLOSED), "full": ("/dev/full", FULL)}

pytestmark = [
    pytest.mark.acceptance("86"),
    pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux's"),
]


@pytest.fixture(params=REDIRECTED)
def how(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def run(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command with its standard output redirected so; its exit code and what it printed elsewhere."""

    def with_output(how: str, *arguments: str, url: str | None = None) -> Done:
        if url is None:
            monkeypatch.delenv("DMSJOURNAL_URL", raising=False)
        else:
            monkeypatch.setenv("DMSJOURNAL_URL", url)
        return commands.run(list(arguments), output=REDIRECTED[how][0] if how else "")

    return with_output


def in_a_new_process(redirected: str, *arguments: str, url: str) -> "subprocess.CompletedProcess[str]":
    shell = ["sh", "-c", f'exec "$@" {redirected}', "sh", sys.executable, "-m", "dmsjournal", *arguments]
    environment = os.environ | {"DMSJOURNAL_URL": url, "PYTHONUNBUFFERED": ""}
    return subprocess.run(shell, capture_output=True, text=True, env=environment, timeout=120)


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["changes", "--help"], ["sql"]], ids=" ".join)
def test_what_needs_no_database(run: Run, how: str, arguments: list[str]) -> None:
    done = run(how, *arguments)
    assert (done.code, done.printed) == (1, REDIRECTED[how][1])


@pytest.fixture
def written(journal: dj.Journal, connections: Connections) -> dj.Journal:
    """Students with all that can have happened to them."""
    write(journal, *(document(STUDENT, n) for n in range(5)))
    with journal.write() as tx:
        tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 100})
        tx.delete(STUDENT, {"studentId": 2})
    return journal


@pytest.mark.parametrize("options", [[], ["--format", "cdc"], ["--page-size", "2"]], ids=" ".join)
def test_no_checkpoint_moves_past_what_was_not_printed(
    run: Run, written: dj.Journal, url: str, how: str, options: list[str], tmp_path: Path
) -> None:
    kept = tmp_path / "feed.token"
    for _ in range(2):
        done = run(how, "feed", "--checkpoint", str(kept), *options, url=url)
        assert (done.code, done.printed) == (1, REDIRECTED[how][1])
        assert list(tmp_path.iterdir()) == []
    done = run("", "feed", "--checkpoint", str(kept), "--page-size", "2", url=url)
    assert [json.loads(line)["change_version"] for line in done.printed.splitlines()] == list(range(1, newest(written) + 1))
    token = kept.read_text()
    write(written, document(STUDENT, 77))
    assert run(how, "feed", "--checkpoint", str(kept), *options, url=url).code == 1
    assert kept.read_text() == token


def test_a_checkpoint_does_not_take_the_number_of_a_closed_stream(written: dj.Journal, url: str, tmp_path: Path) -> None:
    """All three closed: the database's connection would be 0, 1 or 2, and what is printed would go there."""
    command = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-m", "dmsjournal", "feed", "--checkpoint"]
    done = subprocess.run([*command, str(tmp_path / "token")], env=os.environ | {"DMSJOURNAL_URL": url}, timeout=120)
    assert done.returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_an_error_is_told_beside_the_output_that_is_lost(run: Run, written: dj.Journal, url: str) -> None:
    done = run("full", "changes", "Studnet", "--min", "1", url=url)
    assert done.code == 1
    assert done.printed.startswith("resource = 'Studnet'")


@pytest.mark.parametrize(("redirected", "message"), [(">&-", CLOSED), (">/dev/full", FULL)], ids=REDIRECTED)
def test_a_new_process_says_the_same(written: dj.Journal, url: str, redirected: str, message: str, tmp_path: Path) -> None:
    """As its interpreter finds standard output at its start, and leaves it at its end."""
    done = in_a_new_process(redirected, "feed", "--checkpoint", str(tmp_path / "token"), url=url)
    assert (done.returncode, done.stderr) == (1, message)
    assert list(tmp_path.iterdir()) == []
