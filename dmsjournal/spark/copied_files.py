"""Files of a window whose tasks read by COPY and write Parquet themselves: a row never comes to Java.

Nothing of Spark's but its tasks is used, so neither Arrow's way to them nor pandas is needed. Source: docs/how-it-works.md, Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pyspark.sql import SparkSession

from dmsjournal.spark.copies import Connection, Copy
from dmsjournal.spark.dataframes import Reading
from dmsjournal.spark.lake_files import DataFile, FileWriter, refuse_unseen
from dmsjournal.spark.layout import Layout


def write(spark: SparkSession, reading: Reading, layout: Layout, writer: FileWriter) -> list[DataFile]:
    """Writes all rows of a reading that has a `connection`, each task those of its statements. `writer`: of the layout's schema.

    Raises CheckpointExpired, and Unavailable where this process does not find the files.
    """
    assert reading.connection is not None
    tasks = reading.copies(body=layout.body, derived=layout.etag)
    if not tasks:
        return []
    writer.store.make_folder()
    task = _Task(reading.connection, layout, writer)
    files: list[DataFile] = spark.sparkContext.parallelize(tasks, len(tasks)).mapPartitions(task).collect()
    refuse_unseen(writer.store, files)
    return files


@dataclass(frozen=True)
class _Task:
    """What a task does with its statements. It goes to the executors, which have Python and this package."""

    connection: Connection
    layout: Layout
    writer: FileWriter

    def __call__(self, tasks: Iterable[list[Copy]]) -> Iterator[DataFile]:
        for copies in tasks:
            rows = (self.layout.table(kind, read) for kind, read in self.connection.rows(copies))
            yield from self.writer.written(rows)
