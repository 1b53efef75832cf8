"""Iceberg tables of the current state on S3, of applies that are killed at any moment, and of two processes at once."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import dmsjournal as dj
from tests.helpers import SCHOOL, STUDENT, document, write
from tests.spark.changing import change, state_of_database
from tests.spark.s3 import BUCKET, S3
from tests.spark.test_iceberg_apply import Chain, s3_words
from tests.spark.test_lake_kills import ended

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.long, pytest.mark.timeout(3600)]

KILLS, RACES = 20, 10


@pytest.fixture
def chain(spark: SparkSession, url: str, journal: dj.Journal, s3: S3, tmp_path: Path) -> Chain:
    write(journal, *[document(STUDENT, n, body={"n": n}) for n in range(30)], *[document(SCHOOL, n, body={}) for n in range(5)])
    catalog = {"uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"s3://{BUCKET}/{tmp_path.name}"} | s3_words(s3)
    return Chain(spark, url, catalog, s3.conf)


def start(chain: Chain) -> subprocess.Popen[str]:
    catalog = [word for name, value in chain.properties.items() for word in ("--catalog", f"{name}={value}")]
    command = [sys.executable, "-m", "dmsjournal", "apply", chain.changes, chain.name, "--format", "iceberg", *catalog]
    return subprocess.Popen(
        [*command, "--master", "local[2]"],
        env=os.environ | {"DMSJOURNAL_URL": chain.url},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.acceptance("100")
def test_the_table_is_the_database_whenever_an_apply_is_killed(chain: Chain) -> None:
    """The driver alone, whose Java goes on for a moment, or all of its processes. The moments are spread over a run's length."""
    ends, seen = [chain.extract()], Counter[str]()
    assert ended(start(chain)) == 0
    length = 0.0
    for number in range(-1, KILLS):  # the first one tells how long the others take
        change(chain.url, random.Random(number), 20)
        ends.append(chain.extract())
        began, process = time.monotonic(), start(chain)
        with suppress(subprocess.TimeoutExpired):
            process.wait(300 if number < 0 else length * (number + 0.5) / KILLS)
        length = length or time.monotonic() - began
        with suppress(ProcessLookupError):
            (os.kill if number % 2 else os.killpg)(process.pid, signal.SIGKILL)
        process.wait()
        done = chain.commits() == ends
        assert done or chain.commits() == ends[:-1]
        if number >= 0:
            seen["killed after the commit" if done and process.returncode else "done" if done else "killed before the commit"] += 1
        assert ended(start(chain)) == (99 if done else 0)
        ended(process)
        assert chain.commits() == ends
        assert chain.state() == state_of_database(chain.url)
    print(f"of {KILLS} applies, one takes {length:.1f} s: {dict(seen)}")
    assert seen["killed before the commit"] >= KILLS // 2


@pytest.mark.acceptance("100")
def test_of_two_processes_at_once_one_commits(chain: Chain) -> None:
    ends, seen = list[int](), Counter[tuple[int, ...]]()
    for number in range(RACES):
        change(chain.url, random.Random(number), 20)
        ends.append(chain.extract())
        both = [start(chain) for _ in range(2)]
        codes = tuple(sorted(ended(process) for process in both))
        assert codes in ((0, 75), (0, 99))  # refused, or so late that nothing was new
        seen[codes] += 1
        assert chain.commits() == ends
        assert chain.state() == state_of_database(chain.url)
    print(f"exit codes of {RACES} pairs: {dict(seen)}")
    assert seen[0, 75] > 0
