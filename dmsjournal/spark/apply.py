"""Applying: the runs of an extract, folded in their order into a table of the current state.

A table knows up to which version it has come, so a run that was applied changes nothing a second time, and one that is missing is
named. Source: docs/how-it-works.md, Applying.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dmsjournal.errors import InvalidRequest
from dmsjournal.model.windows import checked_version
from dmsjournal.spark import parquet
from dmsjournal.spark.fold import ORDER
from dmsjournal.spark.folders import folder_of
from dmsjournal.spark.jobs import Progress, watched
from dmsjournal.spark.manifests import Manifest, OutputSettings, OutputState
from dmsjournal.spark.runs import Output, Run
from dmsjournal.spark.tables import ParquetTable, Table
from dmsjournal.util.files import locked

Format = Literal["parquet", "delta"]


@dataclass(frozen=True, slots=True)
class Applied:
    """How far a table has come, and the runs that were folded into it just now, the earliest first."""

    version: int
    runs: Sequence[Run]


def apply(
    output: str | os.PathLike[str],
    table: str | os.PathLike[str],
    session: Callable[[], SparkSession],
    *,
    format: Format = "parquet",
    through: int | None = None,
    replace: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Applied:
    """Folds the runs of an output that a table does not have yet into it, in one step, and says which they are.

    `through`: only runs that end at or below this version. `replace`: the table may be of another output; it begins anew. `dry_run`
    folds nothing. `session` is called where there is something to fold. Raises InvalidRequest, also for a run that is missing,
    and Unavailable: another run works on the table, or Spark went away; safe to run again. Source: docs/how-it-works.md, Applying.
    """
    if through is not None:
        checked_version("through", through)
    kept, folder = Output(folder_of("output", output)), folder_of("table", table)
    settings = kept.settings()
    if settings is None:
        raise InvalidRequest("output", str(kept.folder), "nothing was extracted into it: run dmsjournal extract first")
    target = table_in(folder, format)
    state = target.state()
    with locked(folder):
        target.sweep()
        state = target.state()
        if state is not None and state.chain != settings.chain:
            if not replace:
                raise InvalidRequest("table", str(folder), f"it is not of {kept.folder}: use `replace` to begin it anew from there")
            state = None
        runs = runs_after(kept, state, through)
        if not runs or dry_run:
            return Applied(state.version if state else 0, runs)
        manifests = [run.manifest() for run in runs]
        if state is None:
            _refuse_without_beginning(kept, manifests[0])
        afresh = state is None
        spark = session()
        reached = OutputState(settings.chain, runs[-1].last, columns_of(settings))
        with watched(spark, "folding", progress):
            target.fold(spark, rows_of(spark, kept, settings, runs), reached, afresh)
        return Applied(reached.version, runs)


def checked_format(format: str) -> Format:
    """The format of a table: parquet or delta. Raises InvalidRequest."""
    if format == "parquet":
        return "parquet"
    if format == "delta":
        return "delta"
    raise InvalidRequest("format", format, "it is parquet or delta")


def table_in(folder: Path, format: Format) -> Table:
    """The table in a folder. Raises UnsupportedCapability where the package for its format is missing."""
    if checked_format(format) == "parquet":
        return ParquetTable(folder)
    from dmsjournal.spark.delta import DeltaTable

    return DeltaTable(folder)


def runs_after(kept: Output, state: OutputState | None, through: int | None) -> Sequence[Run]:
    """The runs that a table lacks, the earliest first. Raises InvalidRequest, naming a window that is missing among them."""
    runs = [run for run in kept.runs() if state is None or run.last > state.version]
    checkpoint = kept.checkpoint()
    expected = state.version + 1 if state is not None else runs[0].first if runs else 0
    for run in runs:
        if run.first != expected:
            raise _missing(kept, expected, run.first - 1)
        expected = run.last + 1
    if checkpoint is not None and expected <= checkpoint.version and (through is None or through >= checkpoint.version):
        raise _missing(kept, expected, checkpoint.version)
    return [run for run in runs if through is None or run.last <= through]


def _missing(kept: Output, first: int, last: int) -> InvalidRequest:
    return InvalidRequest(
        "window", f"{first}-{last}", f"it is missing in {kept.folder}: bring its run back, or extract in full anew"
    )


def _refuse_without_beginning(kept: Output, first: Manifest) -> None:
    if first.kind != "full" and first.first > 1:
        raise InvalidRequest(
            "output", str(kept.folder), f"it begins with the {first}: a table needs all that was before, so extract in full"
        )


def columns_of(settings: OutputSettings) -> dict[str, str]:
    """The columns of a table, and Spark's names for their types."""
    columns = {
        "change_version": "bigint",
        "committed_at": "timestamp",
        "resource_key_id": "smallint",
        "document_id": "bigint",
        "document_uuid": "string",
        "key_values": "string",
    }
    asked = {"body": "string"} if settings.body else {}
    derived = {"etag": "string", "last_modified": "timestamp"} if settings.etag else {}
    return columns | asked | derived | {"resource": "string"}


def rows_of(spark: SparkSession, kept: Output, settings: OutputSettings, runs: Sequence[Run]) -> DataFrame:
    """The rows of some runs, with their run's place in the chain as ORDER."""
    state = columns_of(settings)
    state["_commit_version"], state["_commit_timestamp"] = state.pop("change_version"), state.pop("committed_at")
    columns = {"_change_type": "string", "old_key_values": "string"} | state | {"run": "string"}
    rows = parquet.read(spark, columns, *(run.folder for run in runs), base=kept.folder)
    return rows.withColumn(ORDER, F.substring("run", 1, 19).cast("bigint"))
