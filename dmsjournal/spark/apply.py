"""Applying: what extracts have read, folded in their order into a table of the current state.

A table knows up to which version it has come, so a run that was applied changes nothing a second time, and one that is missing is
named. Source: docs/how-it-works.md, Applying.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa
from pyspark.sql import SparkSession

from dmsjournal.errors import CheckpointExpired, InvalidRequest, UnsupportedCapability
from dmsjournal.journal import connect
from dmsjournal.model.windows import checked_version
from dmsjournal.spark import bodies
from dmsjournal.spark.folders import folder_of
from dmsjournal.spark.inputs import Input, Step, input_of
from dmsjournal.spark.jobs import Progress, watched
from dmsjournal.spark.manifests import OutputState
from dmsjournal.spark.stores import store_of
from dmsjournal.spark.tables import ParquetTable, Table

Format = Literal["parquet", "delta", "iceberg"]


@dataclass(frozen=True, slots=True)
class Applied:
    """How far a table has come, and the runs or windows that were folded into it just now, the earliest first."""

    version: int
    runs: Sequence[Step]


def apply(
    output: str | os.PathLike[str],
    table: str | os.PathLike[str],
    session: Callable[[], SparkSession],
    *,
    format: Format = "parquet",
    by_resource: bool = False,
    conf: Mapping[str, str] | None = None,
    catalog: Mapping[str, str] | None = None,
    through: int | None = None,
    replace: bool = False,
    dry_run: bool = False,
    url: str | sa.URL | None = None,
    progress: Progress | None = None,
) -> Applied:
    """Folds the runs of a folder, or the windows of a lake's table of changes, that a table does not have yet into it, in one step.

    `format` delta: the table is in any store, and `by_resource` a table for each resource. `format` iceberg: `output` and `table`
    are names in a catalog, which has the properties `catalog`. `conf`: Spark's settings; those of stores apply.
    `through`: only what ends at or below this version. `replace`: the table may be of another output; it begins anew. `dry_run`
    folds nothing. `url`: the database, whose history must lead to the output and to the table. `session` is called where there is
    something to fold. Raises InvalidRequest, also for a run that is missing; HistoryDiverged, with `url`; UnsupportedCapability;
    StoreRefused, and Unavailable: another run has changed the table, or the store, the database or Spark went away.
    Then it is safe to run it again. Source: docs/how-it-works.md, Applying.
    """
    if through is not None:
        checked_version("through", through)
    target = table_in(table, format, by_resource=by_resource, conf=conf, catalog=catalog)
    kept = input_of(output, conf, format=format, catalog=catalog)
    _refuse_form(kept, format, by_resource)
    with target.alone():
        state = target.state()
        if state is not None and state.chain != kept.chain:
            if not replace:
                raise InvalidRequest(
                    "table", os.fspath(table), f"it is not of {kept.name}: use `replace` to begin it anew from there"
                )
            state = None
        runs = kept.after(None if state is None else state.version, through)
        if url is not None:
            _refuse_another_history(url, kept, runs, state)
        if not runs or dry_run:
            return Applied(state.version if state else 0, runs)
        spark = session()
        reached = OutputState(kept.chain, kept.fingerprint(runs[-1]), kept.columns)
        with watched(spark, "folding", progress):
            target.fold(spark, kept.rows(spark, runs), reached, state is None)
        return Applied(reached.version, runs)


def _refuse_form(kept: Input, format: Format, by_resource: bool) -> None:
    """Raises InvalidRequest where a table cannot hold bodies in the form that the input has."""
    if kept.form == bodies.VARIANT and format == "parquet":
        raise InvalidRequest("output", kept.name, "its bodies are variant, which a Parquet table does not hold: add `format` delta")
    if kept.form == bodies.STRUCT and by_resource:
        remedy = "its bodies are struct, so it is of one resource, and its table is: leave `by_resource` out"
        raise InvalidRequest("output", kept.name, remedy)


def checked_format(format: str) -> Format:
    """The format of a table: parquet, delta or iceberg. Raises InvalidRequest."""
    if format == "parquet":
        return "parquet"
    if format == "delta":
        return "delta"
    if format == "iceberg":
        return "iceberg"
    raise InvalidRequest("format", format, "it is parquet, delta or iceberg")


def table_in(
    table: str | os.PathLike[str],
    format: Format,
    *,
    by_resource: bool = False,
    conf: Mapping[str, str] | None = None,
    catalog: Mapping[str, str] | None = None,
) -> Table:
    """The table that a path, a URL or a name in a catalog names.

    Raises InvalidRequest; UnsupportedCapability where the package for it is missing; StoreRefused, Unavailable.
    """
    if checked_format(format) == "iceberg":
        if by_resource:
            raise InvalidRequest(
                "by_resource", True, "an Iceberg table has a partition for each resource: leave it out, or add `format` delta"
            )
        from dmsjournal.spark import iceberg_documents

        return iceberg_documents.table_of(table, conf, catalog)
    if catalog:
        raise InvalidRequest("catalog", sorted(catalog), f"a {format.title()} table is found by its path: add `format` iceberg")
    if format == "parquet":
        if by_resource:
            raise InvalidRequest(
                "by_resource", True, "a Parquet table has a folder for each resource: add `format` delta", others=["format"]
            )
        try:
            return ParquetTable(folder_of("table", table))
        except UnsupportedCapability as error:
            raise UnsupportedCapability(f"a Parquet table at {os.fspath(table)}", "add --format delta, or name a folder") from error
    store = store_of("table", table, conf)
    from dmsjournal.spark.delta_by_resource import DeltaByResource
    from dmsjournal.spark.delta_documents import DeltaDocuments

    return DeltaByResource(store) if by_resource else DeltaDocuments(store)


def _refuse_another_history(url: str | sa.URL, kept: Input, runs: Sequence[Step], state: OutputState | None) -> None:
    """Raises HistoryDiverged where what is in the table, or is to be folded into it, is not of the database's history."""
    with connect(url) as db:
        for at in [*([state.fingerprint] if state else []), *([kept.fingerprint(runs[-1])] if runs else [])]:
            with suppress(CheckpointExpired):  # it is not read from there
                db.check_history(at)
