"""The forms of a status that is known: for people, for Prometheus, as a plot; and its limits. No database is asked."""

import struct
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.operate import chart
from dmsjournal.operate.alerts import Limits
from dmsjournal.operate.prometheus import exposition
from dmsjournal.operate.status import ConsumerStatus, Hidden, Holder, JournalStatus, Sample, Status, TriggerStatus

NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
URL = "postgresql+psycopg://reader@127.0.0.1:1/edfi"  # nothing listens on port 1

STATUS = Status(
    at=NOW,
    server="PostgreSQL 18.6",
    database="edfi",
    database_bytes=3 * 1024**3 // 2,
    revisions=("0006",),
    oldest=101,
    newest=1_100,
    last_stamp=1_234,
    lag_versions=134,
    lag_seconds=90.5,
    holders=(
        Holder(1_100, 9734, None, "etl", "nightly-import", "10.0.0.7", "idle in transaction", 7_300.0),
        Holder(1_105, None, "import-7", "etl", None, None, None, 60.0),
        Holder(1_110, 9801, None, "other", "app", None, None, None),
    ),
    journals=(
        JournalStatus("DocumentChangeEvent", 1_000, 2_500_000, 10, 240, 100, NOW - timedelta(days=1)),
        JournalStatus("KeyChangeEvent", 0, 32_768, 0, 0, 0, None),
    ),
    consumers=(
        ConsumerStatus("warehouse", 1_000, 100, 3_700.0, False, NOW - timedelta(hours=2)),
        ConsumerStatus("old\x1b[2J", 50, 1_050, 86_400.0, True, NOW - timedelta(days=9)),
    ),
    triggers=(
        TriggerStatus("Document", "TR_Document_Delete", "disabled"),
        TriggerStatus("Document", "TR_Document_Insert", "enabled"),
    ),
    history=tuple(Sample(101 + 100 * n, NOW - timedelta(hours=10 - n)) for n in range(10)),
    hidden=(Hidden("sessions", "age of other roles' transactions", "GRANT pg_read_all_stats"),),
)
EMPTY = replace(
    STATUS, holders=(), consumers=(), history=(), hidden=(), newest=0, oldest=0, last_stamp=0, lag_versions=0, lag_seconds=0.0
)

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `dmsjournal status` on a status."""

    def run(status: Status, *arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(dj.Journal, "status", lambda self: status)
        result = CliRunner().invoke(cli.app, ["status", "--url", URL, *arguments])
        return result.exit_code, result.stdout, result.stderr

    return run


def test_people_get_aligned_columns(run: Run) -> None:
    assert run(STATUS) == (
        0,
        """\
database  edfi: 1.5 GiB, PostgreSQL 18.6, revision 0006
versions  oldest 101, newest 1,100, last stamp 1,234
horizon   134 versions behind, 90 s
triggers  1 of 2 enabled
          disabled: TR_Document_Delete on dms.Document

journal              ~rows      size  ~last hour  ~last day  floor  pruned at
DocumentChangeEvent  1,000   2.4 MiB          10        240    100  2026-11-27 12:00:00Z
KeyChangeEvent           0  32.0 KiB           0          0      0  -

holds the horizon  floor  user   application     client    state                open for
session 9734       1,100  etl    nightly-import  10.0.0.7  idle in transaction     2.0 h
prepared import-7  1,105  etl    -               -         -                        60 s
session 9801       1,110  other  app             -         -                           -

consumer    version  behind       for  last moved
warehouse     1,000     100  61.7 min  2026-11-28 10:00:00Z
old\\x1b[2J       50   1,050    24.0 h  2026-11-19 12:00:00Z  expired

not seen  age of other roles' transactions: GRANT pg_read_all_stats
""",
        "",
    )


def test_what_is_not_there_has_no_table(run: Run) -> None:
    _, output, _ = run(EMPTY)
    assert "holds" not in output
    assert "consumer" not in output
    assert "not seen" not in output


def test_many_holders_are_not_all_listed(run: Run) -> None:
    _, output, _ = run(replace(STATUS, holders=STATUS.holders[:1] * 25))
    assert output.count("session 9734") == 10
    assert "\nand 15 more\n" in output


@pytest.mark.parametrize("arguments", [["--json", "--prometheus"], ["--json", "--plot", "-"], ["--max-lag-versions", "-1"]])
def test_options_that_make_no_sense_end_with_2(run: Run, arguments: list[str]) -> None:
    assert run(STATUS, *arguments)[0] == 2


def test_limits_are_inclusive() -> None:
    assert Limits(lag_seconds=86_400, lag_versions=1_050).exceeded(STATUS) == []
    assert Limits().exceeded(STATUS) == []
    assert Limits(lag_versions=1_049).exceeded(STATUS) == ["consumer 'old\\x1b[2J' is 1050 versions behind, more than 1049"]
    assert Limits(lag_seconds=90).exceeded(replace(STATUS, consumers=())) == ["the horizon is 90.5 s behind, more than 90"]
    assert Limits(hold_seconds=100).exceeded(STATUS) == [
        "session 9734 has been open for 7300.0 s, more than 100",
        "how long session 9801 has been open cannot be seen: GRANT pg_read_all_stats",
    ]
    assert Limits(hold_seconds=0).exceeded(EMPTY) == []
    assert Limits(triggers=True).exceeded(STATUS) == ["trigger TR_Document_Delete on dms.Document is disabled"]


def test_limits_do_not_take_what_is_hidden_for_well() -> None:
    hidden = replace(EMPTY, last_stamp=None, lag_versions=None, hidden=(Hidden("holders", "who holds the horizon", "GRANT it"),))
    assert Limits(lag_versions=5).exceeded(replace(hidden, consumers=())) == [
        "how far the horizon is behind cannot be seen: GRANT it"
    ]
    assert Limits(hold_seconds=5).exceeded(hidden) == ["who holds the horizon cannot be seen: GRANT it"]


def samples(status: Status) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(exposition(status))
        for sample in family.samples
    }


def test_metrics_have_no_sample_for_what_is_hidden() -> None:
    hidden = replace(EMPTY, last_stamp=None, lag_versions=None, hidden=(Hidden("holders", "", ""), Hidden("last_stamp", "", "")))
    names = {key[0] for key in samples(hidden)}
    assert not names & {"dmsjournal_last_stamp", "dmsjournal_horizon_lag_versions", "dmsjournal_horizon_holders"}
    assert "dmsjournal_horizon_hold_seconds" not in names
    assert samples(EMPTY)["dmsjournal_horizon_hold_seconds", ("database", "edfi")] == 0
    assert samples(STATUS)["dmsjournal_horizon_hold_seconds", ("database", "edfi")] == 7_300


def test_metrics_keep_large_versions_and_times() -> None:
    status = replace(STATUS, newest=2**53 - 1)  # the largest that a float, which Prometheus keeps, holds exactly
    output, found = exposition(status), samples(status)
    assert found["dmsjournal_newest_version", ("database", "edfi")] == 2**53 - 1
    pruned = found["dmsjournal_journal_pruned_timestamp_seconds", ("database", "edfi"), ("journal", "DocumentChangeEvent")]
    assert pruned == (NOW - timedelta(days=1)).timestamp()
    assert (
        output.count("# TYPE ")
        == output.count("# HELP ")
        == len({line.split()[2] for line in output.splitlines() if "TYPE" in line})
    )


def test_labels_are_escaped() -> None:
    odd = replace(STATUS, database='a"b\\c\nd')
    assert {dict(key[1:])["database"] for key in samples(odd)} == {'a"b\\c\nd'}


def test_growth_adds_up_whatever_the_bins() -> None:
    for bins in (1, 7, 20, 60):
        grown = chart.growth(STATUS, bins)
        assert len(grown) == bins
        assert sum(count for _, count in grown) == 901  # from 101 to 1,001, both of them
        assert grown[0][0] == STATUS.history[0].at
    assert chart.growth(EMPTY, 5) == []
    assert [count for _, count in chart.growth(STATUS, 10)] == [101, *[100] * 8, 0]


def test_bars_of_text(run: Run) -> None:
    _, output, _ = run(STATUS, "--plot", "-")
    bars = output[output.index("growth of the journal") :].splitlines()
    assert bars[1] == f"  2026-11-28 02:00:00  51  {'█' * 40}"
    assert bars[-2:] == [f"  warehouse     100  {'█' * 4}", f"  old\\x1b[2J  1,050  {'█' * 40}"]
    assert chart.as_text(STATUS, "ascii").isascii()
    assert chart.as_text(EMPTY).splitlines()[1] == "  no event is kept"


@pytest.mark.parametrize("status", [STATUS, EMPTY, replace(STATUS, database="$x$ é\n")])
def test_a_png_of_its_size(run: Run, tmp_path: Path, status: Status) -> None:
    pytest.importorskip("matplotlib")
    assert run(status, "--plot", str(tmp_path / "status.png"))[0] == 0
    content = (tmp_path / "status.png").read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", content[16:24]) == (chart.WIDTH, chart.HEIGHT)
    assert len(content) > 5_000


def test_other_pictures_and_what_is_none(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert run(STATUS, "--plot", str(tmp_path / "status.svg"))[0] == 0
    assert "<svg" in (tmp_path / "status.svg").read_text(encoding="utf-8")
    code, output, errors = run(STATUS, "--plot", str(tmp_path / "status.txt"))
    assert (code, output) == (1, "")
    assert ".png or .svg or .pdf" in errors
    code, _, errors = run(STATUS, "--plot", str(tmp_path / "nowhere" / "status.png"))
    assert (code, f"there is no folder {tmp_path / 'nowhere'}" in errors) == (1, True)


def test_without_matplotlib_it_says_what_to_install(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, output, errors = run(STATUS, "--plot", str(tmp_path / "status.png"))
    assert (code, output) == (5, "")
    assert "pip install 'dmsjournal[plot]'" in errors


def test_watching_ends_at_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    states = iter([EMPTY, EMPTY, STATUS])
    waited: list[float] = []
    monkeypatch.setattr("dmsjournal.cli.status.time", SimpleNamespace(sleep=waited.append))  # threads of others sleep too
    monkeypatch.setattr(dj.Journal, "status", lambda self: next(states))
    result = CliRunner().invoke(cli.app, ["status", "--url", URL, "--watch", "5", "--max-lag-versions", "50"])
    assert (result.exit_code, waited, result.stdout.count("versions  oldest")) == (3, [5, 5], 3)
