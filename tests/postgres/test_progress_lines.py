"""Progress of long commands where standard error is no terminal: a line each 30 seconds, by a clock of these tests."""

from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.cli import output
from dmsjournal.schema import migrate
from tests.helpers import populate

STEP = 12.0  # seconds that pass between two looks at the clock: the third line is 36 s after the first


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Goes on by `step` whenever a progress line looks at it; no other clock does."""
    now = SimpleNamespace(step=STEP, value=0.0)

    def monotonic() -> float:
        now.value += now.step
        return float(now.value)

    monkeypatch.setattr(output, "time", SimpleNamespace(monotonic=monotonic))
    return now


def said(url: str, *arguments: str) -> tuple[str, list[str]]:
    """Both outputs of a command that succeeded."""
    result = CliRunner().invoke(cli.app, [*arguments, "--url", url])
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr.splitlines()


def test_fill_tells_a_log_how_far_it_is(journal: dj.Journal, url: str, clock: SimpleNamespace) -> None:
    populate(url)
    with journal.write() as tx:
        for number in range(7):
            tx.upsert(dj.Document(dj.ResourceKey("Ed-Fi", "Room", "5.2.0"), {"roomId": number}, {}))
    migrate.upgrade(url, options=["max_dep_identity_version"])
    stdout, lines = said(url, "fill", "max_dep_identity_version", "--batch-size", "1")
    assert stdout == "filled=max_dep_identity_version documents=10\n"
    assert lines == ["3 documents looked at", "6 documents looked at", "9 documents looked at"]
    migrate.downgrade(url, without=["max_dep_identity_version"])
    migrate.upgrade(url, options=["max_dep_identity_version"])
    clock.step = 0.0
    assert said(url, "fill", "max_dep_identity_version", "--batch-size", "1") == (stdout, [])


@pytest.mark.parametrize("options", [[], ["--repair"], ["--json"]])
def test_verify_tells_a_log_how_far_it_is(journal: dj.Journal, url: str, clock: SimpleNamespace, options: list[str]) -> None:
    populate(url)
    clock.step = 31.0
    stdout, lines = said(url, "verify", *options)
    walks = [line.partition(":")[0] for line in lines]
    assert set(walks) >= {"documents", "edges", "events", "tombstones"}
    assert {"documents: 3 rows", "edges: 1 rows"} <= set(lines)
    clock.step = 0.0
    assert said(url, "verify", *options) == (stdout, [])
