"""Tables of current state, as Parquet: replaced in one step, together with the word of how far they have come.

    TABLE/current -> _generations/VERSION-…          a symbolic link: its change is the step
    TABLE/_generations/VERSION-…/_table.json
    TABLE/_generations/VERSION-…/resource=…/part-….parquet

The generation before the current one stays, for who is still reading it. Source: docs/how-it-works.md, Applying.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dmsjournal.errors import InvalidRequest
from dmsjournal.spark import manifests, parquet
from dmsjournal.spark.fold import folded
from dmsjournal.spark.manifests import OutputState
from dmsjournal.util.files import locked, publish, sync


class Table(Protocol):
    """Where the current state is kept."""

    def alone(self) -> AbstractContextManager[None]:
        """Within it, no other run changes the table, or no other run's change goes unseen; what killed runs left is gone.

        Raises Unavailable.
        """

    def state(self) -> OutputState | None:
        """How far it has come; None where there is no table yet. Raises InvalidRequest where it is not ours."""

    def read(self, spark: SparkSession) -> DataFrame:
        """Its rows; only where there is a state."""

    def fold(self, spark: SparkSession, rows: DataFrame, state: OutputState, afresh: bool) -> None:
        """Folds rows of an extract into it, or into nothing where it begins `afresh`, and puts the state there in the same step.

        Raises Unavailable where another run has changed it since its state was read: then nothing of this one is in it.
        """


def _is_ours(name: str) -> bool:
    """Whether a name may stand in the folder of a table that was killed before it was there."""
    return name in ("_lock", "_generations") or name.startswith(".current-")


class ParquetTable:
    """A table of Parquet files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def alone(self) -> Iterator[None]:
        """See Table."""
        self.state()  # refuses what is not ours, before a lock is put into it
        with locked(self.folder):
            for left in self.folder.glob("_generations/.making-*"):
                shutil.rmtree(left, ignore_errors=True)
            yield

    def state(self) -> OutputState | None:
        """See Table."""
        generations = self.folder / "_generations"
        if generations.is_symlink():  # apply removes old generations, and would remove what is in the link's target
            raise InvalidRequest("table", str(self.folder), "its _generations is a link: name a folder that only you can write to")
        current = self.folder / "current"
        if current.is_symlink():
            return manifests.read(current / "_table.json", OutputState)
        if (self.folder / "_delta_log").is_dir():
            raise InvalidRequest("table", str(self.folder), "it is a Delta table: add `format` delta")
        if self.folder.exists() and any(not _is_ours(name) for name in os.listdir(self.folder)):
            raise InvalidRequest("table", str(self.folder), "it was not made by dmsjournal apply: name a new folder")
        return None

    def read(self, spark: SparkSession) -> DataFrame:
        """See Table. The generation's own path, as the link may move while it is read."""
        return self._read(spark)

    def _read(self, spark: SparkSession, columns: Mapping[str, str] | None = None) -> DataFrame:
        """Its rows, with these columns in place of its own: fields of bodies may be new."""
        generation = Path(os.path.realpath(self.folder / "current"))
        state = manifests.read(generation / "_table.json", OutputState)
        return parquet.read(spark, columns or state.columns, generation)  # a table without rows has no file that tells it

    def fold(self, spark: SparkSession, rows: DataFrame, state: OutputState, afresh: bool) -> None:
        """See Table."""
        before = None if afresh else self._read(spark, state.columns)
        after = folded(before, rows)
        generations = self.folder / "_generations"
        making = generations / f".making-{uuid4().hex}"
        try:
            # one task a resource, and more where it is large, so that it does not become many small files
            parquet.write(making, after.hint("rebalance", F.col("resource")))
            manifests.write(making / "_table.json", state)
            name = f"{state.version:019}-{uuid4().hex[:8]}"
            publish(making, generations / name)
        finally:
            shutil.rmtree(making, ignore_errors=True)  # a disk may be full
        self._point_to(f"_generations/{name}")

    def _point_to(self, generation: str) -> None:
        current = self.folder / "current"
        before = os.readlink(current) if current.is_symlink() else None
        link = self.folder / f".current-{uuid4().hex}"
        link.symlink_to(generation)
        os.replace(link, current)
        sync(self.folder)
        for other in (self.folder / "_generations").iterdir():
            if f"_generations/{other.name}" not in (before, generation):
                shutil.rmtree(other, ignore_errors=True)
        for left in self.folder.glob(".current-*"):
            left.unlink(missing_ok=True)
