"""How many files small windows make, and what an aggregate over them takes: a folder of runs beside Delta tables, in one run.

A generated school district is extracted in full, then six small windows, in each of the forms: `folder` has Parquet in a folder a
run and resource, `partitioned` is a Delta table as it is made without options, `together` one with --no-partition. `parts` are
small for one more extract in full: as many as a large history has. The aggregate counts rows by resource and type, through Arrow's
reader of Parquet files, which is the same for all. Spark is warm.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import pyarrow.dataset as ds
from deltalake import DeltaTable
from pyspark.sql import SparkSession

import dmsjournal as dj
from benchmarks import database
from benchmarks.facts import Facts, facts
from benchmarks.report import Table
from dmsjournal.demo.district import generate
from dmsjournal.schema import migrate
from dmsjournal.spark.extract import extract
from dmsjournal.spark.lake import extract_to_lake
from dmsjournal.spark.session import local_session
from dmsjournal.write.load import load

WINDOWS = 6
FORMS = ("folder", "partitioned", "together")
COMPACTED = {form: f"{form}, compacted" for form in FORMS[1:]}


@dataclass(frozen=True)
class Options:
    """Units: students of the district; `part`: documents of a part, where they are to be small."""

    students: int
    part: int
    repeat: int
    command: str


def measure(url: str, options: Options) -> tuple[list[Table], Facts]:
    """The tables of files and of seconds."""
    files = Table("what is extracted", FORMS, (("folder", "partitioned"), ("folder", "together")), unit="files")
    seconds = Table(
        f"an aggregate over {WINDOWS + 1} runs",
        (*FORMS, *COMPACTED.values()),
        (*((form, compacted) for form, compacted in COMPACTED.items()), ("partitioned", "together")),
    )
    migrate.upgrade(url)
    with dj.connect(url) as db:
        load(db, (json.dumps(document).encode() for document in generate(options.students)))
    spark, parent = local_session("dmsjournal benchmark"), Path(tempfile.mkdtemp(prefix="dmsjournal-benchmark-"))
    try:
        for form in FORMS:
            rows = _extract(spark, url, parent / form, form)
            resources = len({*_dataset(parent / form, form).to_table(["resource"])["resource"].to_pylist()})
            files.row(f"in full, {rows:,} rows of {resources} resources", options.command).add(form, _files(parent / form, form))
        for form in FORMS:
            small = parent / f"small {form}"
            rows = _extract(spark, url, small, form, options.part)
            files.row(f"the same, in parts of {options.part:,}", options.command).add(form, _files(small, form))
        changed = 0
        for number in range(WINDOWS):
            with database.connect(url, search_path="dms") as connection:
                connection.execute(database.query("lake/change"), {"number": number})
            for form in FORMS:
                rows = _extract(spark, url, parent / form, form)
            changed += rows
        for form in FORMS:
            full = files.rows[0].runs[form][0]
            files.row(f"{changed:,} rows in {WINDOWS} windows", options.command).add(form, _files(parent / form, form) - full)
    finally:
        spark.stop()
    try:
        for form, compacted in COMPACTED.items():
            shutil.copytree(parent / form, parent / compacted)
            DeltaTable(parent / compacted).optimize.compact()
        for repetition in range(options.repeat + 1):  # the first warms the caches
            for form in sorted(seconds.variants, reverse=repetition % 2 == 1):
                counted, took = _aggregated(parent / form, form)
                if repetition > 0:
                    seconds.row(f"{counted:,} rows by resource and change type", options.command).add(form, took)
        for form in COMPACTED:
            files.row("all, compacted", options.command).add(form, _files(parent / COMPACTED[form], form))
        files.row("all, compacted", options.command).add("folder", _files(parent / "folder", "folder"))  # nothing compacts it
    finally:
        shutil.rmtree(parent)
    with database.connect(url) as connection:
        return [files, seconds], facts(connection)


def _extract(spark: SparkSession, url: str, target: Path, form: str, part: int | None = None) -> int:
    """Extracts the next run or window; its rows. `part`: documents of a part."""
    if form == "folder":
        rows = extract(url, target, lambda: spark, events_per_part=part).rows
    else:
        rows = extract_to_lake(url, target, lambda: spark, partition=form == "partitioned", events_per_part=part).rows
    return rows.upsert + rows.delete + rows.key_change


def _dataset(target: Path, form: str) -> ds.Dataset:
    if form == "folder":
        return ds.dataset(target, partitioning="hive")
    return DeltaTable(target).to_pyarrow_dataset()


def _files(target: Path, form: str) -> int:
    return len(_dataset(target, form).files)


def _aggregated(target: Path, form: str) -> tuple[int, float]:
    """Rows, and seconds to open the table and to count its rows by resource and type."""
    began = perf_counter()
    table = _dataset(target, form).to_table(["resource", "_change_type"])
    table.group_by(["resource", "_change_type"]).aggregate([([], "count_all")])
    return table.num_rows, perf_counter() - began
