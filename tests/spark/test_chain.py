"""The Ed-Fi sample, changed at random in rounds: the table equals the database after each; and after writers that never stop."""

import json
import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import dmsjournal as dj
from dmsjournal.demo import story
from dmsjournal.spark.apply import apply
from dmsjournal.spark.compare import compare
from dmsjournal.spark.extract import extract
from dmsjournal.write import load as loader
from tests.helpers import SCHOOL, SECTION, STUDENT, document, write
from tests.spark.changing import change, state_of_database
from tests.spark.outputs import table_of

pytestmark = pytest.mark.xdist_group("spark")

SAMPLE = next((path for folder in Path(__file__).resolve().parents if (path := folder / story.SAMPLE).exists()), None)
SEED = os.environ.get("DMSJOURNAL_TEST_SEED", "1")


def load(journal: dj.Journal, documents: int | None) -> None:
    """The first documents of the sample, all without a number; as many others where it is not beside the checkout."""
    if SAMPLE is not None:
        with loader.opened(SAMPLE) as lines:
            loader.load(journal, islice(lines, documents))
        return
    number = documents or 20_000
    students = [document(STUDENT, n, body={"name": f"Zoë {n}"}) for n in range(number // 2)]
    schools = [document(SCHOOL, n, body={"city": f"学校 {n}"}) for n in range(number // 10)]
    sections = [document(SECTION, n, students[n], schools[n % len(schools)]) for n in range(number - len(students) - len(schools))]
    write(journal, *students, *schools, *sections)


def rounds(spark: SparkSession, url: str, folder: Path, number: int, changes: int) -> None:
    """Changes, an extract and an apply, so many times; the table is the database after each."""
    out, table, chance = folder / "out", folder / "table", random.Random(SEED)
    for turn in range(number + 1):
        if turn:
            change(url, chance, changes, together=20)
        extract(url, out, lambda: spark)
        apply(out, table, lambda: spark)
        expected = state_of_database(url)
        assert table_of(table) == expected, f"round {turn}"
        assert len(expected) > 500
    assert compare(url, out, table, lambda: spark).differences == []
    assert json.loads((out / "_checkpoint.json").read_text())["fingerprint"]["version"] > changes


def test_a_part_of_the_sample(spark: SparkSession, url: str, journal: dj.Journal, tmp_path: Path) -> None:
    load(journal, 1_500)
    rounds(spark, url, tmp_path, 2, 100)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_the_whole_sample_in_ten_rounds(spark: SparkSession, url: str, journal: dj.Journal, tmp_path: Path) -> None:
    load(journal, None)
    rounds(spark, url, tmp_path, 10, 200)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.acceptance("63")
def test_windows_back_to_back_while_writers_never_stop(spark: SparkSession, url: str, journal: dj.Journal, tmp_path: Path) -> None:
    seconds, out, table = float(os.environ.get("DMSJOURNAL_TEST_SECONDS", "120")), tmp_path / "out", tmp_path / "table"
    load(journal, 3_000)
    enough = threading.Event()

    def writing(number: int) -> int:
        chance, done = random.Random(f"{SEED} {number}"), 0
        while not enough.is_set():
            change(url, chance, 10)
            done += 10
        return done

    windows, verified, until = 0, 0, time.monotonic() + seconds
    with ThreadPoolExecutor(4) as threads:
        writers = [threads.submit(writing, number) for number in range(4)]
        try:
            while time.monotonic() < until:
                windows += extract(url, out, lambda: spark).is_new
                apply(out, table, lambda: spark)
                if windows % 4 == 1:
                    assert compare(url, out, table, lambda: spark).differences == []  # beside the writers
                    verified += 1
        finally:
            enough.set()
        changes = sum(writer.result() for writer in writers)
    extract(url, out, lambda: spark)
    apply(out, table, lambda: spark)
    assert table_of(table) == state_of_database(url)
    print(f"{changes} changes, {windows} windows, {verified} comparisons beside the writers")
    assert windows > 1
    assert changes > 100
