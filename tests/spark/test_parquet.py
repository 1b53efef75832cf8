"""How rows are written: by several at once in one session, and of more resources than there are files open at once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pyarrow.dataset as ds
import pytest
from pyspark.sql import DataFrame, DataFrameWriter, Observation, SparkSession
from pyspark.sql import functions as F

from dmsjournal.errors import Unavailable
from dmsjournal.spark import parquet
from dmsjournal.spark.counts import counted
from dmsjournal.spark.jobs import watched

pytestmark = pytest.mark.xdist_group("spark")


def test_two_that_write_at_once_in_one_session_leave_its_settings_as_they_were(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {name: spark.conf.get(name, None) for name in parquet.SETTINGS}
    first_is_in, second_is_in, first_is_done = Event(), Event(), Event()
    real = DataFrameWriter.parquet
    seen = []

    def in_turn(self: DataFrameWriter, path: str) -> None:
        if path.endswith("first"):
            first_is_in.set()
            assert second_is_in.wait(60)
        else:
            second_is_in.set()
            assert first_is_done.wait(60)
        seen.append({name: spark.conf.get(name) for name in parquet.SETTINGS})
        real(self, path)

    monkeypatch.setattr(DataFrameWriter, "parquet", in_turn)
    rows = spark.range(3).withColumn("resource", F.lit("a"))
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(parquet.write, tmp_path / "first", rows)
        assert first_is_in.wait(60)
        second = threads.submit(parquet.write, tmp_path / "second", rows)
        first.result()
        first_is_done.set()
        second.result()
    assert seen == [parquet.SETTINGS] * 2
    assert {name: spark.conf.get(name, None) for name in parquet.SETTINGS} == before


def test_a_count_that_spark_does_not_tell_is_not_waited_for_for_ever(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its listener bus drops what there is no room for; Spark's own `get` waits until the session ends."""
    never = Event()
    monkeypatch.setattr(Observation, "get", property(lambda self: never.wait() and {"rows": 3}))
    monkeypatch.setattr(parquet, "_PATIENCE", 0.1)
    with pytest.raises(Unavailable, match=r"how many rows.*eventqueue\.capacity"):
        parquet.write(tmp_path / "some", spark.range(3).withColumn("resource", F.lit("a")))
    never.set()


def test_a_group_of_jobs_is_the_users_again(spark: SparkSession) -> None:
    context = spark.sparkContext

    def group() -> list[str | None]:
        return [context.getLocalProperty(f"spark.{name}") for name in ("jobGroup.id", "job.description", "job.interruptOnCancel")]

    before = group()
    with watched(spark, "nothing"):
        assert group() != before
    assert group() == before
    context.setJobGroup("mine", "what I do")
    with watched(spark, "nothing"):
        assert group()[:2] != ["mine", "what I do"]
    assert group() == ["mine", "what I do", "false"]
    for name in ("jobGroup.id", "job.description", "job.interruptOnCancel"):
        context.setLocalProperty(f"spark.{name}", None)  # type: ignore[arg-type]


NAMES = ["a/b/1.0", "q'u\"o", "100%", "%2F", "a=b", "x\\y", "#?*", "{a}[b]", "école", "👩‍🏫", " blank ", "tab\there", "..", "+ +"]
NAMES += [f"more/{n}" for n in range(10)]


def test_names_of_any_kind_and_more_than_are_open_at_once(spark: SparkSession, tmp_path: Path) -> None:
    def frame(first: int) -> DataFrame:
        listed = F.array(*map(F.lit, NAMES))
        numbers = spark.range(first, first + 960, 1, 2)
        return numbers.select(
            "id", F.lit("upsert").alias("_change_type"), listed[(F.col("id") * 7 % len(NAMES)).cast("int")].alias("resource")
        )

    folder = tmp_path / "a %41 folder=1#"
    parquet.write(folder, frame(0).unionAll(frame(960)).unionAll(frame(1920)))
    found = counted(folder)[1]
    assert {name: counts.upsert for name, counts in found.items()} == dict.fromkeys(NAMES, 2880 // len(NAMES))
    read = parquet.read(spark, {"id": "bigint", "resource": "string"}, folder)
    assert read.select("id").distinct().count() == read.count() == 2880
    assert {row[0] for row in read.select("resource").distinct().collect()} == set(NAMES)
    assert len(ds.dataset(folder, format="parquet", partitioning="hive").to_table()) == 2880
