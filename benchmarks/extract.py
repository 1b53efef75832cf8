"""What an extract costs: the package's, beside one task of Spark's that reads the same columns, and beside COPY, in one run.

The history is one event a document, with a body of --body-bytes or without. A planned read is plan, read and Parquet of the same
columns as the plain one's; the extract's time is all of it: plan, read, Parquet by resource, count, flush to the disk, checkpoint.
Delta is the same as the first commit of a Delta table. COPY writes one file. Memory is the driver's after each extract, at a tenth
of the documents and at all.
"""

from __future__ import annotations

import gc
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

import psutil
import psycopg
import sqlalchemy as sa
from pyspark.sql import SparkSession

from benchmarks import database
from benchmarks.facts import Facts, facts
from benchmarks.prune import build
from benchmarks.report import Table
from dmsjournal.model.windows import Window
from dmsjournal.schema import migrate
from dmsjournal.spark.dataframes import read
from dmsjournal.spark.extract import ExtractRequest, extract
from dmsjournal.spark.jdbc import jdbc_options
from dmsjournal.spark.lake import extract_to_lake
from dmsjournal.spark.session import local_session


@dataclass(frozen=True)
class Options:
    """Units: documents of the history; `body_bytes`: of each one's body, 0: there are none, and none is read."""

    documents: int
    body_bytes: int
    repeat: int
    command: str


def measure(url: str, options: Options) -> tuple[list[Table], Facts]:
    """The table of seconds a row."""
    rows = Table(
        f"a row of {options.documents:,}{f' with {options.body_bytes:,} B of body' if options.body_bytes else ''}, to Parquet",
        ("planned", "extract", "delta", "plain", "COPY"),
        (("planned", "COPY"), ("extract", "plain"), ("extract", "COPY"), ("delta", "COPY")),
    )
    migrate.upgrade(url)
    build(url, options.documents)
    text, body = _text("plain_with_bodies" if options.body_bytes else "plain"), options.body_bytes > 0
    if body:
        with database.connect(url) as connection:
            connection.execute(sa.text(_text("bodies")), {"bytes": options.body_bytes})
            connection.exec_driver_sql("VACUUM ANALYZE")
    spark = local_session("dmsjournal benchmark")
    tenth, whole = ExtractRequest(min=0, max=options.documents // 10), ExtractRequest(min=0, max=options.documents)
    try:
        _timed(partial(_extract, spark, url, tenth, body))  # what the first job costs alone
        few = _memory(spark)
        for repetition in range(options.repeat):
            for name, request in (("a window", whole), ("in full", ExtractRequest(full=True))):
                variants: dict[str, Callable[[Path], None]] = {
                    "planned": partial(_planned, spark, url, request, body),
                    "extract": partial(_extract, spark, url, request, body),
                    "delta": partial(_delta, spark, url, request, body),
                    "plain": partial(_plain, spark, url, text),
                    "COPY": partial(_copy, url, text),
                }
                for variant in sorted(variants, reverse=repetition % 2 == 1):
                    rows.row(name, options.command).add(variant, _timed(variants[variant]) / options.documents)
        many = _memory(spark)
    finally:
        spark.stop()
    with database.connect(url) as connection:
        found = facts(connection)
    return [rows], found | {
        "driver's memory, Python": f"{few[0]} MB after a tenth, {many[0]} MB after all",
        "driver's memory, Java heap in use": f"{few[1]} MB after a tenth, {many[1]} MB after all",
    }


def _timed(work: Callable[[Path], None]) -> float:
    """Seconds of the work, which is given a folder that is not there yet."""
    parent = Path(tempfile.mkdtemp(prefix="dmsjournal-benchmark-"))
    try:
        began = perf_counter()
        work(parent / "output")
        return perf_counter() - began
    finally:
        shutil.rmtree(parent)


def _text(name: str) -> str:
    lines = (database.SQL / "extract" / f"{name}.sql").read_text().splitlines()
    return "\n".join(line for line in lines if not line.startswith("--"))


def _extract(spark: SparkSession, url: str, request: ExtractRequest, body: bool, folder: Path) -> None:
    extract(url, folder, lambda: spark, request, body=body)


def _delta(spark: SparkSession, url: str, request: ExtractRequest, body: bool, folder: Path) -> None:
    extract_to_lake(url, folder, lambda: spark, request, body=body)


def _planned(spark: SparkSession, url: str, request: ExtractRequest, body: bool, folder: Path) -> None:
    window = None if request.full else Window(request.min, request.max)
    with read(spark, url, window=window, full=request.full, body=body) as reading:
        reading.changes(body=body).write.parquet(f"file://{folder}")


def _plain(spark: SparkSession, url: str, text: str, folder: Path) -> None:
    options = jdbc_options(url)
    spark.read.jdbc(options.pop("url"), f"({text}) AS plain", properties=options).write.parquet(f"file://{folder}")


def _copy(url: str, text: str, folder: Path) -> None:
    with (
        psycopg.connect(sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)) as connection,
        connection.cursor() as cursor,
        folder.open("wb") as file,
        cursor.copy(f"COPY (\n{text}\n) TO STDOUT".encode()) as rows,
    ):
        for data in rows:
            file.write(data)


def _memory(spark: SparkSession) -> tuple[int, int]:
    """MB that this process has, and that Java's heap holds after a collection."""
    gc.collect()
    java = spark._jvm  # type: ignore[attr-defined]
    java.System.gc()
    runtime = java.java.lang.Runtime.getRuntime()
    return psutil.Process().memory_info().rss >> 20, (runtime.totalMemory() - runtime.freeMemory()) >> 20
