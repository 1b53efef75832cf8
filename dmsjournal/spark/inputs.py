"""What apply folds into a table: the runs of an extract's folder, or the windows of a table of changes in a lake."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dmsjournal.database.fingerprints import Fingerprint
from dmsjournal.errors import InvalidRequest
from dmsjournal.model.resources import ResourceKey
from dmsjournal.spark import bodies, body_types, lake_files, parquet
from dmsjournal.spark.bodies import VARIANT_TYPE
from dmsjournal.spark.fold import ORDER
from dmsjournal.spark.folders import folder_of
from dmsjournal.spark.lake_tables import ChangeTable, LakeState, LakeWindow, change_table, windows_of
from dmsjournal.spark.manifests import Manifest, OutputSettings
from dmsjournal.spark.runs import Output, Run
from dmsjournal.util.files import URL

VARIANT = "variant"  # among a table's columns, for what lake_files reads as VARIANT_TYPE


class Step(Protocol):
    """A run or a window: the versions that it covers, both inclusive, and its name."""

    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...
    @property
    def name(self) -> str: ...


class Input(Protocol):
    """Where the changes come from. `chain` tells its steps from another input's; `form`: of bodies, one of bodies.FORMS,
    None for none; `columns`: of a table, with Spark's types."""

    @property
    def name(self) -> str: ...
    @property
    def chain(self) -> str: ...
    @property
    def chosen(self) -> list[ResourceKey] | None: ...
    @property
    def form(self) -> str | None: ...
    @property
    def etag(self) -> bool: ...
    @property
    def columns(self) -> dict[str, str]: ...

    def after(self, version: int | None, through: int | None) -> Sequence[Step]:
        """The steps that a table at a version lacks, the earliest first; None: all. Raises InvalidRequest where one is missing."""

    def rows(self, spark: SparkSession, steps: Sequence[Step]) -> DataFrame:
        """The rows of some steps that follow one another, with their step's place as ORDER, which is above the versions before."""

    def fingerprint(self, step: Step) -> Fingerprint:
        """What the end of a step remembers of the database's history."""


def input_of(
    output: str | os.PathLike[str],
    conf: Mapping[str, str] | None = None,
    *,
    format: str = "delta",
    catalog: Mapping[str, str] | None = None,
) -> Input:
    """The input that a path or a URL names: a Delta table of changes, else a folder of runs. `format` iceberg: a table's name.

    `catalog`: properties of that table's catalog. Raises InvalidRequest where it is none of these, UnsupportedCapability,
    Unavailable.
    """
    if format == "iceberg":
        return WindowsInput(change_table(format, output, conf, catalog), format)
    is_url = URL.match(os.fspath(output)) is not None and not os.fspath(output).startswith("file:")
    if is_url or (folder_of("output", output) / "_delta_log").is_dir():
        return WindowsInput(change_table("delta", output, conf, None), "delta")
    return RunsInput(folder_of("output", output))


class RunsInput:
    """The runs in a folder."""

    def __init__(self, folder: Path) -> None:
        self._output = Output(folder)
        settings = self._output.settings()
        if settings is None:
            raise InvalidRequest("output", str(folder), "nothing was extracted into it: run dmsjournal extract first")
        if settings.body and settings.form != bodies.JSON:
            raise refused_form(str(folder), settings.form)
        self._settings = settings
        self.name, self.chain = str(folder), settings.chain
        self.form = bodies.JSON if settings.body else None
        self.chosen, self.etag = settings.chosen, settings.etag
        self.columns = columns_of("string" if settings.body else None, settings.etag, "resource_key_id")

    def after(self, version: int | None, through: int | None) -> Sequence[Run]:
        """See Input."""
        runs = runs_after(self._output, version, through)
        if runs and version is None:
            _refuse_without_beginning(self.name, runs[0].manifest())
        return runs

    def rows(self, spark: SparkSession, steps: Sequence[Step]) -> DataFrame:
        """See Input."""
        folders = [run.folder for run in self._output.runs() if any(run.first == step.first for step in steps)]
        return run_rows(spark, self._output.folder, self._settings, folders)

    def fingerprint(self, step: Step) -> Fingerprint:
        """See Input."""
        return next(run for run in self._output.runs() if run.first == step.first).manifest().fingerprint


class WindowsInput:
    """The windows of a table of changes in a lake."""

    def __init__(self, table: ChangeTable, format: str) -> None:
        self._table, self._format, self.name = table, format, str(table)
        self._state = self._read()
        settings = self._state.settings
        self.chain, self.form, self.etag = table.chain, settings.body, settings.etag
        self.chosen = None if settings.resources is None else [ResourceKey.parse(name) for name in settings.resources]

    def _read(self) -> LakeState:
        state = self._table.state()
        if state is None:
            remedy = f"it is no table of changes: run dmsjournal extract --format {self._format} first"
            raise InvalidRequest("output", self.name, remedy)
        return state

    @property
    def columns(self) -> dict[str, str]:
        """See Input. Fields of bodies may be new in the state that was read last."""
        settings = self._state.settings
        kinds = {bodies.JSON: "string", bodies.VARIANT: VARIANT}
        if settings.fields is not None:
            kinds[bodies.STRUCT] = body_types.ddl(settings.fields, quoted=True)
        return columns_of(kinds.get(settings.body or ""), settings.etag, "project")

    def after(self, version: int | None, through: int | None) -> Sequence[Step]:
        """See Input."""
        self._state = self._read()  # windows, files and fields are of one moment, which is later than the table's
        if version is not None and version > self._state.version:
            remedy = f"{self.name} has come to {self._state.version} only, as an older copy would: use `replace` to begin anew"
            raise InvalidRequest("table", version, remedy)
        if version is None and self._state.begins > 1:
            remedy = f"it begins with version {self._state.begins}: a table needs all that was before, so extract in full"
            raise InvalidRequest("output", self.name, remedy)
        found = windows_of(self._state, self._table.told(), -1 if version is None else version)
        if found and version is not None and found[0].first != version + 1:
            remedy = f"{self.name} has no window that ends there: use `replace` to begin the table anew"
            raise InvalidRequest("version", version, remedy)
        return [window for window in found if through is None or window.last <= through]

    def rows(self, spark: SparkSession, steps: Sequence[Step]) -> DataFrame:
        """See Input."""
        from dmsjournal.spark.lake import schema_of

        schema = schema_of(self._state.settings)
        above, through = (steps[0].first - 1 if steps[0].first else None), steps[-1].last
        files = self._table.files()
        if above is not None:
            files = [file for file in files if file.may_hold("_window", above + 1)]
        found = lake_files.read(spark, self._table.store, schema, files, None if above is None else ("_window", above))
        kept = found.where(F.col("_window") <= through)
        kind = F.when(F.col("_change_type") == "delete", "delete").when(F.col("_change_type") == "update_preimage", "key_change")
        rekeyed = F.col("_change_type") == "update_preimage"
        return kept.select(
            kind.otherwise("upsert").alias("_change_type"),
            F.when(rekeyed, F.col("new_key_values")).otherwise(F.col("key_values")).alias("key_values"),
            F.when(rekeyed, F.col("key_values")).alias("old_key_values"),
            *(name for name in schema.names if name not in ("_change_type", "key_values", "new_key_values", "_window")),
            F.col("_window").alias(ORDER),
        )

    def fingerprint(self, step: Step) -> Fingerprint:
        """See Input."""
        assert isinstance(step, LakeWindow)
        return step.fingerprint


def refused_form(name: str, form: str) -> InvalidRequest:
    """The error for an input whose bodies cannot be folded."""
    remedy = "extract with --format delta, or with --body json into another folder"
    return InvalidRequest("output", name, f"its bodies are {form}, which apply folds from a Delta table only: {remedy}")


def runs_after(kept: Output, version: int | None, through: int | None) -> Sequence[Run]:
    """The runs that a table at a version lacks, the earliest first. Raises InvalidRequest, naming a window that is missing."""
    runs = [run for run in kept.runs() if version is None or run.last > version]
    checkpoint = kept.checkpoint()
    expected = version + 1 if version is not None else runs[0].first if runs else 0
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


def _refuse_without_beginning(name: str, first: Manifest) -> None:
    if first.kind != "full" and first.first > 1:
        raise InvalidRequest("output", name, f"it begins with the {first}: a table needs all that was before, so extract in full")


def columns_of(body: str | None, etag: bool, more: str) -> dict[str, str]:
    """The columns of a table, and Spark's names for their types. `body`: the type of bodies, None where there is no column of
    them; `more`: the number of a row's resource, or its project.
    """
    columns = {
        "change_version": "bigint",
        "committed_at": "timestamp",
        more: "smallint" if more == "resource_key_id" else "string",
        "document_id": "bigint",
        "document_uuid": "string",
        "key_values": "string",
    }
    asked = {} if body is None else {"body": body}
    derived = {"etag": "string", "last_modified": "timestamp"} if etag else {}
    return columns | asked | derived | {"resource": "string"}


def arrow_schema(columns: Mapping[str, str]) -> pa.Schema:
    """The columns of a table, as Arrow has them."""
    types = {"bigint": pa.int64(), "smallint": pa.int16(), "string": pa.string(), "timestamp": pa.timestamp("us", tz="UTC")}
    types[VARIANT] = VARIANT_TYPE
    return pa.schema([(name, types.get(kind) or body_types.parsed(kind)) for name, kind in columns.items()])


def grown(had: Mapping[str, str], columns: Mapping[str, str]) -> dict[str, str]:
    """The columns of a table that had some, with those that are new: the column of bodies, or fields in it."""
    if "body" not in had or had["body"] == columns.get("body"):
        return {**columns}
    fields = body_types.united(body_types.parsed(had["body"]), body_types.parsed(columns["body"]) if "body" in columns else None)
    return {**columns, "body": had["body"] if fields is None else body_types.ddl(fields, quoted=True)}


def run_rows(spark: SparkSession, base: Path, settings: OutputSettings, folders: Sequence[Path]) -> DataFrame:
    """The rows of some runs, with their run's place in the chain as ORDER."""
    state = columns_of("string" if settings.body else None, settings.etag, "resource_key_id")
    state["_commit_version"], state["_commit_timestamp"] = state.pop("change_version"), state.pop("committed_at")
    columns = {"_change_type": "string", "old_key_values": "string"} | state | {"run": "string"}
    rows = parquet.read(spark, columns, *folders, base=base)
    return rows.withColumn(ORDER, F.substring("run", 1, 19).cast("bigint")).drop("run")
