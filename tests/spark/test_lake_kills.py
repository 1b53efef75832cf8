"""Tables of changes on S3, of processes that are killed at any moment of their run, and of two processes at once."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import dmsjournal as dj
from tests.helpers import SCHOOL, STUDENT, document, newest, write
from tests.spark import test_lake
from tests.spark.changing import change, rows_of_database
from tests.spark.s3 import BUCKET, KEY, S3, SECRET, s3_server
from tests.spark.test_iceberg import NAME, Lake

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.long, pytest.mark.timeout(3600)]

KILLS, RACES = 30, 20


@dataclass(frozen=True)
class Target:
    """A table on S3: the words of the command that name it, and how a reader sees it."""

    words: list[str]
    windows: Callable[[], list[tuple[int, int]]]
    rows: Callable[[int, int], dict[str, list[tuple[Any, ...]]]]

    def start(self, url: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "dmsjournal", "extract", *self.words, "--master", "local[2]"]
        env = os.environ | {"DMSJOURNAL_URL": url}
        return subprocess.Popen(
            command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
        )


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    with s3_server() as server:
        yield server


@pytest.fixture(params=["delta", "iceberg"])
def target(request: pytest.FixtureRequest, s3: S3, tmp_path: Path) -> Target:
    conf = [word for name, value in s3.conf.items() for word in ("--conf", f"{name}={value}")]
    if request.param == "delta":
        at = (s3.url(tmp_path.name), s3.conf)
        words = [at[0], "--format", "delta", *conf]
        return Target(words, lambda: test_lake.windows_of(at), lambda first, last: test_lake.rows_of(at, first, last))
    named = {"uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"s3://{BUCKET}/{tmp_path.name}"}
    way = {"s3.endpoint": s3.endpoint, "s3.access-key-id": KEY, "s3.secret-access-key": SECRET, "s3.region": "us-east-1"}
    catalog = [word for name, value in named.items() for word in ("--catalog", f"{name}={value}")]
    lake = Lake(named | way, s3.conf)
    return Target([NAME, "--format", "iceberg", *catalog, *conf], lake.windows, lake.rows)


@pytest.fixture
def history(url: str, journal: dj.Journal) -> str:
    write(journal, *[document(STUDENT, n, body={"n": n}) for n in range(30)], *[document(SCHOOL, n, body={}) for n in range(5)])
    return url


def ended(process: subprocess.Popen[str]) -> int:
    """The exit code of a process; nothing of its group is left."""
    try:
        _, told = process.communicate(timeout=300)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode in (0, 75, 99, -signal.SIGKILL), told
    return process.returncode


@pytest.mark.acceptance("100")
def test_each_window_is_there_once_whenever_a_run_is_killed(target: Target, history: str, journal: dj.Journal) -> None:
    """The driver alone, whose Java goes on for a moment, or all of its processes. The moments are spread over a run's length."""
    began = time.monotonic()
    assert ended(target.start(history)) == 0
    length = time.monotonic() - began
    windows, seen = [(0, newest(journal))], Counter[str]()
    for number in range(KILLS):
        change(history, random.Random(number), 20)
        due = (windows[-1][1] + 1, newest(journal))
        process = target.start(history)
        with suppress(subprocess.TimeoutExpired):
            process.wait(length * (number + 0.5) / KILLS)
        with suppress(ProcessLookupError):
            (os.kill if number % 2 else os.killpg)(process.pid, signal.SIGKILL)
        process.wait()
        found = target.windows()
        assert found in (windows, [*windows, due])
        seen["killed after the commit" if found[-1] == due else "killed before the commit" if process.returncode else "done"] += 1
        assert ended(target.start(history)) == (99 if found[-1] == due else 0)
        ended(process)
        windows.append(due)
        assert target.windows() == windows
        assert target.rows(*due) == rows_of_database(history, *due)
    print(f"of {KILLS} runs, one takes {length:.1f} s: {dict(seen)}")
    assert seen["killed before the commit"] >= KILLS // 2


@pytest.mark.acceptance("100")
def test_of_two_processes_at_once_one_commits_each_window(target: Target, history: str, journal: dj.Journal) -> None:
    windows, seen = list[tuple[int, int]](), Counter[tuple[int, ...]]()
    for number in range(RACES):
        change(history, random.Random(number), 20)
        due = (windows[-1][1] + 1 if windows else 0, newest(journal))
        both = [target.start(history) for _ in range(2)]
        codes = tuple(sorted(ended(process) for process in both))
        assert codes in ((0, 75), (0, 99))  # refused, or so late that nothing was new
        seen[codes] += 1
        windows.append(due)
        assert target.windows() == windows
        assert target.rows(*due)["upsert"] == rows_of_database(history, *due)["upsert"]
    print(f"exit codes of {RACES} pairs: {dict(seen)}")
    assert seen[0, 75] > 0
