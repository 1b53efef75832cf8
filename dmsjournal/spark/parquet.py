"""Rows as Parquet files that every reader understands alike."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame

from dmsjournal.spark.folders import in_spark

_TIMES = "spark.sql.parquet.outputTimestampType"


def write(rows: DataFrame, folder: Path, *, by_resource: bool = True) -> None:
    """Writes rows into a folder that is not there yet, in one of their resource each.

    Times are microseconds in UTC. Spark's own choice, INT96, is deprecated, and other readers take it for a time without a zone.
    """
    spark = rows.sparkSession
    before = spark.conf.get(_TIMES) or "INT96"
    spark.conf.set(_TIMES, "TIMESTAMP_MICROS")  # there is no option of a writer's for it
    try:
        (rows.write.partitionBy("resource") if by_resource else rows.write).parquet(in_spark(folder))
    finally:
        spark.conf.set(_TIMES, before)
