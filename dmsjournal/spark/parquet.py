"""Rows as Parquet files that every reader understands alike."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from dmsjournal.errors import Unavailable
from dmsjournal.spark.folders import in_spark

# Of a session, as a writer has no options for them. Spark's own choice of times, INT96, is deprecated, and other readers take it
# for a time without a zone. Rows of up to so many resources are written as they come, in as many files at once; those of more
# are sorted by their resource first, which takes a fifth of an extract's time.
SETTINGS = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS", "spark.sql.maxConcurrentOutputFileWriters": "16"}

# What hardly repeats: a dictionary of it is built in vain. By the bounds of bodies, as long as bodies are, no reader skips a file.
UNIQUE = ("_commit_version", "body", "document_id", "document_uuid", "etag", "key_values", "new_key_values", "old_key_values")
_PLAIN = {f"parquet.enable.dictionary#{name}": "false" for name in UNIQUE} | {"parquet.column.statistics.enabled#body": "false"}

_PATIENCE = 60.0  # seconds for Spark to tell what it has counted


def write(folder: Path, rows: DataFrame, *, by_resource: bool = True, size: int | None = None) -> None:
    """Writes rows into a folder that is not there yet, in one of their resource each, or straight into it.

    `size`: bytes of a file, about, where the rows ask Spark to balance its tasks. Times are microseconds in UTC. Raises Unavailable
    where this process does not find all rows there afterwards: Spark says that all is well also where a worker has written into a
    folder of its own.
    """
    # As the rows come to a task they are larger than in a file.
    settings = SETTINGS | ({} if size is None else {"spark.sql.adaptive.advisoryPartitionSizeInBytes": str(2 * size)})
    with _set(rows.sparkSession, settings):
        counted = Observation()
        writer = rows.observe(counted, F.count(F.lit(1)).alias("rows")).write.mode("append").options(**_PLAIN)
        (writer.partitionBy("resource") if by_resource else writer).parquet(in_spark(folder))
        written = _rows_of(counted)
    files = folder.glob("resource=*/*.parquet" if by_resource else "*.parquet")
    if (found := sum(pq.read_metadata(file).num_rows for file in files)) != written:
        raise Unavailable(
            f"Spark has written {written} rows, and {folder} holds {found}", "name a folder that the driver and all workers share"
        )


def _rows_of(counted: Observation) -> int:
    """The rows that Spark has counted. Raises Unavailable where it does not tell: it drops what its queue has no room for."""
    heard: Queue[int] = Queue()
    threading.Thread(target=lambda: heard.put(counted.get["rows"]), daemon=True).start()
    try:
        return heard.get(timeout=_PATIENCE)
    except Empty:
        raise Unavailable(
            f"Spark has not told within {_PATIENCE:g} s how many rows it has written",
            "run it again, with a higher spark.scheduler.listenerbus.eventqueue.capacity",
        ) from None


def read(spark: SparkSession, columns: Mapping[str, str], *paths: Path, base: Path | None = None) -> DataFrame:
    """The rows of files and folders, of which `base` is where folders' names begin to be columns; Spark's types by column.

    What the session is told does not count: a timestamp is an instant, and a file that is damaged or gone is an error.
    """
    reader = spark.read.schema(schema(columns)).options(ignoreCorruptFiles=False, ignoreMissingFiles=False)
    if base is not None:
        reader = reader.option("basePath", in_spark(base))
    return reader.parquet(*map(in_spark, paths))


def schema(columns: Mapping[str, str]) -> str:
    """Columns as Spark reads a schema. To a session of TIMESTAMP_NTZ the word timestamp is another type."""
    return ", ".join(f"{name} {'timestamp_ltz' if kind == 'timestamp' else kind}" for name, kind in columns.items())


_lock = threading.Lock()
_before: dict[SparkSession, dict[str, str | None]] = {}  # what sessions had before the first who writes now
_writing: Counter[SparkSession] = Counter()


@contextmanager
def _set(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """The session's settings are ours until the last who writes in it at once, in other threads, is done."""
    with _lock:
        if not _writing[spark]:
            _before[spark] = {}
        for name in settings.keys() - _before[spark].keys():
            _before[spark][name] = spark.conf.get(name, None)
        for name, value in settings.items():
            spark.conf.set(name, value)
        _writing[spark] += 1
    try:
        yield
    finally:
        with _lock:
            _writing[spark] -= 1
            if not _writing[spark]:
                del _writing[spark]
                for name, had in _before.pop(spark).items():
                    spark.conf.unset(name) if had is None else spark.conf.set(name, had)
