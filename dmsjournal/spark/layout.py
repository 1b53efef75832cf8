"""The columns of what an extract writes, and where each comes from: as a frame of Spark's, or as Arrow of what a task has read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from dmsjournal.model.resources import ResourceKey
from dmsjournal.read.derived import etag
from dmsjournal.read.plan import Plan
from dmsjournal.read.stream import DELETE, KEY_CHANGE, UPSERT
from dmsjournal.spark.dataframes import Reading

RESOURCE, PROJECT = "resource", "project"  # by the number of a row's resource
_SPARK = {pa.int16(): "smallint", pa.int64(): "bigint", pa.string(): "string", pa.timestamp("us", tz="UTC"): "timestamp"}


@dataclass(frozen=True)
class Constant:
    """A value that all rows of a kind have."""

    value: str | int


READ_AS: dict[str, str | Constant] = {"_commit_version": "change_version", "_commit_timestamp": "committed_at"}  # of all kinds


@dataclass(frozen=True)
class Layout:
    """`schema`: the columns. `sources`: by kind and column, the column that it is read as, or a Constant; what is not named there
    has its own name, or is null. `resources`: by number. `body`, `etag`: whether there are bodies, and derived etags and dates. A
    plain value, which goes to Spark's tasks.
    """

    schema: pa.Schema
    sources: Mapping[str, Mapping[str, str | Constant]]
    resources: Mapping[int, ResourceKey]
    body: bool
    etag: bool

    @property
    def ddl(self) -> dict[str, str]:
        """Spark's types, by column."""
        return {column.name: _SPARK[column.type] for column in self.schema}

    def rows(self, reading: Reading) -> DataFrame:
        """All rows of a reading in one frame: they are written in one go."""
        frames = [self._frame(reading, UPSERT, reading.changes(body=self.body, derived=self.etag))]
        if isinstance(reading.plan, Plan):  # what is read in full has neither deletes nor key changes
            frames.append(self._frame(reading, DELETE, reading.deletes()))
            frames.append(self._frame(reading, KEY_CHANGE, reading.key_changes()))
        return reduce(DataFrame.unionByName, frames)

    def _frame(self, reading: Reading, kind: str, frame: DataFrame) -> DataFrame:
        def of(column: pa.Field) -> Column:
            if column.name in (RESOURCE, PROJECT):
                return reading.resource() if column.name == RESOURCE else reading.project()
            source = self.sources[kind].get(column.name, column.name)
            if isinstance(source, Constant):
                return F.lit(source.value).cast(_SPARK[column.type])
            return F.col(source) if source in frame.columns else F.lit(None).cast(_SPARK[column.type])

        return frame.select(*(of(column).alias(column.name) for column in self.schema))

    def table(self, kind: str, rows: pa.Table) -> pa.Table:
        """Rows of one kind, as a task has read them. Raises ValueError for a resource that is not in the plan."""
        return pa.table([self._column(kind, column, rows) for column in self.schema], schema=self.schema)

    def _column(self, kind: str, column: pa.Field, rows: pa.Table) -> pa.Array | pa.ChunkedArray:
        if column.name == RESOURCE:
            return self._looked_up(rows, str)
        if column.name == PROJECT:
            return self._looked_up(rows, lambda resource: resource.project_name)
        if column.name == "etag" and "stamps" in rows.column_names:
            return pa.array(map(_etag, rows["stamps"].to_pylist()), pa.string())
        source = self.sources[kind].get(column.name, column.name)
        if isinstance(source, Constant):
            return pa.repeat(pa.scalar(source.value, column.type), rows.num_rows)
        return rows[source] if source in rows.column_names else pa.nulls(rows.num_rows, column.type)

    def _looked_up(self, rows: pa.Table, word: Callable[[ResourceKey], str]) -> pa.Array | pa.ChunkedArray:
        numbers = pa.array(self.resources, pa.int16())
        places = pc.index_in(rows["resource_key_id"], value_set=numbers)
        if places.null_count:
            strange = set(rows["resource_key_id"].to_pylist()) - set(self.resources)
            raise ValueError(f"rows came of resources that are not in the plan: {sorted(strange)}")
        return pa.array(map(word, self.resources.values()), pa.string()).take(places)


def _etag(stamps: str | None) -> str | None:
    """As dataframes._etag."""
    if stamps is None:
        return None
    content, identity, *children = map(int, stamps.split(","))
    return etag(content, identity, zip(children[::2], children[1::2], strict=True))
