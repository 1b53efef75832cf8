"""Tables of changes on S3 and HDFS, of processes that are killed at any moment of their run, and of two processes at once."""

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

import psutil
import pytest

import dmsjournal as dj
from dmsjournal.spark.iceberg_log import HDFS
from tests.helpers import SCHOOL, STUDENT, document, newest, write
from tests.spark import test_lake
from tests.spark.changing import change, rows_of_database
from tests.spark.cluster import Cluster, cluster, end
from tests.spark.s3 import BUCKET, KEY, S3, SECRET
from tests.spark.test_cluster import SEED, TOUCH, run
from tests.spark.test_iceberg import NAME, Lake

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.long, pytest.mark.timeout(3600)]

KILLS, RACES, EXECUTORS = 30, 20, 10


@dataclass(frozen=True)
class Target:
    """A table in a store: the words of the command that name it, and how a reader sees it."""

    words: list[str]
    windows: Callable[[], list[tuple[int, int]]]
    rows: Callable[[int, int], dict[str, list[tuple[Any, ...]]]]

    def start(self, url: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "dmsjournal", "extract", *self.words, "--master", "local[2]"]
        env = os.environ | {"DMSJOURNAL_URL": url}
        return subprocess.Popen(
            command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
        )


def target_called(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    """A new table: FORMAT on STORE."""
    format, _, store = name.partition(" on ")
    if store == "s3":
        s3: S3 = request.getfixturevalue("s3")
        url, warehouse, conf = s3.url(tmp_path.name), f"s3://{BUCKET}/{tmp_path.name}", s3.conf
        way = {"s3.endpoint": s3.endpoint, "s3.access-key-id": KEY, "s3.secret-access-key": SECRET, "s3.region": "us-east-1"}
    else:
        url = warehouse = request.getfixturevalue("hdfs").url(tmp_path.name)
        conf, way = {}, {"py-io-impl": HDFS}
    if format == "delta":
        at = (url, conf)
        words = [url, "--format", "delta", *_words("--conf", conf)]
        return Target(words, lambda: test_lake.windows_of(at), lambda first, last: test_lake.rows_of(at, first, last))
    catalog = {"uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": warehouse}
    lake = Lake(catalog | way, conf)  # a reader is told the way to the files; an extract finds it by `conf` or the warehouse
    words = [NAME, "--format", "iceberg", *_words("--catalog", catalog), *_words("--conf", conf)]
    return Target(words, lake.windows, lake.rows)


def _words(option: str, pairs: dict[str, str]) -> list[str]:
    return [word for name, value in pairs.items() for word in (option, f"{name}={value}")]


@pytest.fixture(params=["delta on s3", "iceberg on s3", "delta on hdfs", "iceberg on hdfs"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    return target_called(request.param, request, tmp_path)


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


# --- executors, on a cluster of two workers ---


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@dataclass(frozen=True)
class Ran:
    """A job that has ended: its exit code and output, for how long it had executors, and whether one was killed meanwhile."""

    code: int
    told: str
    seconds: float
    hit: bool = False


def run_on(workers: Cluster, words: list[str], url: str, kill: tuple[float, random.Random] | None = None) -> Ran:
    """An extract on a cluster. `kill`: after how many seconds with executors one of them is killed, and what chooses it."""
    job = workers.submit("extract_changes.py", *words, "--events-per-part", "50", DMSJOURNAL_URL=url)
    hit = False
    try:
        while job.poll() is None and not workers.executors():
            time.sleep(0.05)
        began = time.monotonic()
        if kill is not None:
            with suppress(subprocess.TimeoutExpired):
                job.wait(kill[0])
            running = workers.executors()
            if job.poll() is None and running:
                with suppress(psutil.NoSuchProcess):
                    kill[1].choice(running).kill()
                    hit = True
        told, _ = job.communicate(timeout=600)
        return Ran(job.returncode, told, time.monotonic() - began, hit)
    finally:
        end(job)


@pytest.mark.acceptance("100")
@pytest.mark.parametrize(
    ("name", "layout"),
    [("delta on s3", "--partition"), ("iceberg on s3", "--no-partition"), ("delta on hdfs", "--no-partition")],
)
def test_each_window_is_there_once_whenever_an_executor_is_killed(
    workers: Cluster, url: str, journal: dj.Journal, request: pytest.FixtureRequest, tmp_path: Path, name: str, layout: str
) -> None:
    """Its tasks are done again. No worker sees another's folder. The moments are spread over the time that a run has executors."""
    run(url, SEED.format(4000))
    target, chance = target_called(name, request, tmp_path), random.Random(1)
    words = [*target.words, layout]
    windows, seen, length = list[tuple[int, int]](), Counter[str](), 0.0
    for number in range(-2, EXECUTORS):  # the first one reads all documents, the second tells how long the others take
        if windows:
            run(url, TOUCH.format(number % 4))
            change(url, random.Random(number), 20)
        due = (windows[-1][1] + 1 if windows else 0, newest(journal))
        moment = length * (number + 0.5) / EXECUTORS
        ran = run_on(workers, words, url, (moment, chance) if number >= 0 else None)
        assert ran.code in (0, 75), ran.told
        length = ran.seconds if number < 0 else length
        found = target.windows()
        assert found == [*windows, due] if ran.code == 0 else found in (windows, [*windows, due])
        if ran.code:
            assert run_on(workers, words, url).code == (99 if found[-1:] == [due] else 0)
        windows.append(due)
        assert target.windows() == windows
        expected = rows_of_database(url, *due)
        assert target.rows(*due) == (expected if due[0] else expected | {"delete": [], "key_change": []})
        if number >= 0:
            what = f"{'killed' if ran.hit else 'over before'}, exit code {ran.code}"
            seen[what] += 1
            print(f"after {moment:.1f} of {length:.1f} s: {what} after {ran.seconds:.1f} s")
    print(f"of {EXECUTORS} runs: {dict(seen)}")
    assert sum(runs for what, runs in seen.items() if what.startswith("killed")) >= EXECUTORS * 3 // 4
