"""Tables of current state, as Delta Lake: each fold is one commit, of what it changes. Needs the package deltalake."""

from __future__ import annotations

import shutil
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import uuid4

import pyarrow.dataset
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dmsjournal.errors import InvalidRequest, Unavailable, UnsupportedCapability
from dmsjournal.spark import manifests, parquet
from dmsjournal.spark.fold import folded
from dmsjournal.spark.manifests import OutputState

try:
    import deltalake
    from deltalake.exceptions import DeltaError
except ImportError as error:
    raise UnsupportedCapability("a Delta table without the package deltalake", "pip install 'dmsjournal[delta]'") from error

_STATE = "dmsjournal"  # in a commit's metadata
_GONE = "_gone"
_BATCH = 8_192  # rows that are in memory at once while they are handed over


def _is_ours(name: str) -> bool:
    """Whether a name may stand in the folder of a table that was killed before it had its first commit."""
    return name in ("_lock", "_delta_log") or name.startswith((".making-", "part-"))


class DeltaTable:
    """A Delta table in a folder. Its commits tell how far it has come, so that nobody else may write to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def state(self) -> OutputState | None:
        """See tables.Table."""
        if not deltalake.DeltaTable.is_deltatable(str(self.folder)):
            if self.folder.exists() and any(not _is_ours(each.name) for each in self.folder.iterdir()):
                raise InvalidRequest("table", str(self.folder), "it is not a Delta table: name a new folder")
            return None
        for commit in self._opened().history():  # the newest first; others' are those that compact it, say
            if _STATE in commit:
                return manifests.decoded(str(commit[_STATE]).encode(), self.folder, OutputState)
        raise InvalidRequest("table", str(self.folder), "it was not made by dmsjournal apply: name a new folder")

    def read(self, spark: SparkSession) -> DataFrame:
        """See tables.Table. A commit's files are there until a vacuum, so it reads one moment."""
        state, files = self.state(), self._opened().file_uris()
        assert state is not None
        paths = [self.folder / PurePosixPath(file).name for file in files]  # it has no folders in it
        if not paths:
            return spark.createDataFrame([], parquet.schema(state.columns))
        return parquet.read(spark, state.columns, *paths)

    def fold(self, spark: SparkSession, rows: DataFrame, state: OutputState, afresh: bool) -> None:
        """See tables.Table. Spark works out what changes, into a hidden folder, and from there it goes into the table."""
        making = self.folder / f".making-{uuid4().hex}"
        try:
            parquet.write(making, self._changed(spark, rows, afresh), by_resource=False)
            self._commit(making, state, afresh)
        except DeltaError as error:
            raise Unavailable(f"the Delta table could not be written: {error}", "run it again, once the reason is gone") from error
        finally:
            shutil.rmtree(making, ignore_errors=True)

    def sweep(self) -> None:
        """See tables.Table."""
        for left in self.folder.glob(".making-*"):
            shutil.rmtree(left, ignore_errors=True)

    def _changed(self, spark: SparkSession, rows: DataFrame, afresh: bool) -> DataFrame:
        """The documents that the rows are about, as they are afterwards; those that are gone have `_gone`."""
        if afresh:
            return folded(None, rows).withColumn(_GONE, F.lit(False))
        ids = rows.select("document_id").distinct()
        before = self.read(spark).join(ids, "document_id", "left_semi")
        after = folded(before, rows)
        gone = before.join(after, "document_id", "left_anti").withColumn(_GONE, F.lit(True))
        return after.withColumn(_GONE, F.lit(False)).unionByName(gone)

    def _commit(self, making: Path, state: OutputState, afresh: bool) -> None:
        told = deltalake.CommitProperties(custom_metadata={_STATE: manifests.encoded(state).decode()})
        changed = pyarrow.dataset.dataset(making, format="parquet")
        if afresh:
            rows = changed.scanner(columns=[*state.columns], batch_size=_BATCH).to_reader()
            deltalake.write_deltalake(self.folder, rows, mode="overwrite", schema_mode="overwrite", commit_properties=told)
            return
        rows = changed.scanner(batch_size=_BATCH).to_reader()
        same = "current.document_id = changed.document_id"
        merge: Any = self._opened().merge(rows, same, source_alias="changed", target_alias="current", commit_properties=told)
        stays = f"NOT changed.{_GONE}"
        merge = merge.when_matched_delete(f"changed.{_GONE}")
        merge = merge.when_matched_update_all(stays, except_cols=[_GONE])
        merge.when_not_matched_insert_all(stays, except_cols=[_GONE]).execute()

    def _opened(self) -> deltalake.DeltaTable:
        return deltalake.DeltaTable(str(self.folder))
