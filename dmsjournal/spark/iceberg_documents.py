"""A table of the current state, as Apache Iceberg: each fold is one snapshot, and how far the table has come is in the same commit.

Spark finds the files that hold a document that changes, and writes what becomes of them; the commit puts the new files in their
place. Source: docs/how-it-works.md, Applying.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dmsjournal.spark import lake_files
from dmsjournal.spark.fingerprint_numbers import fingerprint_of, numbers_of
from dmsjournal.spark.fold import folded
from dmsjournal.spark.iceberg_changes import DATA
from dmsjournal.spark.iceberg_log import Change, IcebergLog
from dmsjournal.spark.inputs import arrow_schema
from dmsjournal.spark.lake_files import StoredFile
from dmsjournal.spark.manifests import OutputState
from dmsjournal.util.version import VERSION

FILE_SIZE = 128 * 2**20  # bytes of a file, about
MAKER = "dmsjournal apply"

_FILE = "_file"  # the path of a row's file


def table_of(
    target: str | os.PathLike[str], conf: Mapping[str, str] | None = None, catalog: Mapping[str, str] | None = None
) -> IcebergDocuments:
    """The table of a name such as edfi.documents, in the catalog that its properties name.

    Raises InvalidRequest, StoreRefused, Unavailable.
    """
    return IcebergDocuments(IcebergLog(target, conf, catalog, parameter="table", maker=MAKER, example="edfi.documents"))


class IcebergDocuments:
    """A table in a catalog, with a partition for each resource. Others may compact it, and expire its snapshots."""

    def __init__(self, log: IcebergLog) -> None:
        self._log = log

    @contextmanager
    def alone(self) -> Iterator[None]:
        """See tables.Table: a commit after another run's is refused."""
        yield

    def state(self) -> OutputState | None:
        """See tables.Table."""
        kept = self._log.load()
        return None if kept is None else OutputState(kept["chain"], fingerprint_of(kept["fingerprint"]), kept["columns"])

    def read(self, spark: SparkSession) -> DataFrame:
        """See tables.Table. A snapshot's files are there until it expires, so it reads one moment."""
        state = self.state()
        assert state is not None
        return lake_files.read(spark, self._log.store(), arrow_schema(state.columns), self._log.files())

    def fold(self, spark: SparkSession, rows: DataFrame, state: OutputState, afresh: bool) -> None:
        """See tables.Table."""
        schema = arrow_schema(state.columns)
        files = [] if self._log.table is None else self._log.files()
        made = self._log.begin(schema, partition=True)
        if afresh:
            if self._log.table is not None:
                self._log.reshape(made, schema)
            self._write(made, folded(None, rows), schema, state, files)
            return
        if "body" in schema.names and self._log.fields("body") != schema.field("body").type:
            self._log.grow(made, schema.field("body"))
        rows = rows.persist()  # they are looked at twice
        try:
            replaced = self._holding(spark, files, rows)
            before = lake_files.read(spark, self._log.store(), schema, replaced)
            self._write(made, folded(before, rows), schema, state, replaced)
        finally:
            rows.unpersist()

    def _holding(self, spark: SparkSession, files: Sequence[StoredFile], rows: DataFrame) -> list[StoredFile]:
        """Those of the files that hold a document of which there are rows; tasks read its id alone."""
        [(low, high)] = rows.agg(F.min("document_id"), F.max("document_id")).collect()
        if low is None:
            return []
        named = [replace(each, partition={_FILE: each.path}) for each in files if each.may_hold("document_id", low, high)]
        ids = lake_files.read(spark, self._log.store(), pa.schema([("document_id", pa.int64()), (_FILE, pa.string())]), named)
        held = ids.join(rows.select("document_id"), "document_id", "left_semi").select(_FILE).distinct().collect()
        paths = {row[0] for row in held}
        return [each for each in files if each.path in paths]

    def _write(self, made: Change, rows: DataFrame, schema: pa.Schema, state: OutputState, replaced: Sequence[StoredFile]) -> None:
        """Commits files with these rows in place of others."""
        files = lake_files.write(
            rows.hint("rebalance", "resource"),
            self._log.store(made).under(DATA),
            schema,
            by="resource",
            kind=None,
            size=FILE_SIZE,
            folders=lake_files.together,
        )
        kept = {"chain": state.chain, "columns": state.columns, "fingerprint": numbers_of(state.fingerprint)}
        told = {"tool": f"dmsjournal {VERSION}", "version": state.version}
        self._log.commit(made, [f"{DATA}/{each.path}" for each in files], kept, told, [each.path for each in replaced])
