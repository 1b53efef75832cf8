"""Parquet files of a lake's tables: tasks write rows under names that no other attempt has, and tell the driver of them; tasks read
the files that a commit names. Both reach the store through the package deltalake, so Spark needs no jar for it.

Nothing shows before the driver commits them. No commit names what a failed attempt has written: a vacuum of the table takes
it away. Source: docs/how-it-works.md, Lakes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from dmsjournal.errors import Unavailable
from dmsjournal.spark import body_types
from dmsjournal.spark.bodies import VARIANT_TYPE, variants
from dmsjournal.spark.parquet import UNIQUE
from dmsjournal.spark.stores import Store

Convert = Callable[[pa.ChunkedArray], pa.Array]

_GROUP = 32 * 2**20  # bytes in memory that become one row group
_HELD = 4 * _GROUP  # bytes in memory in all, of a task that writes several files
BATCHES = {"spark.sql.execution.arrow.maxRecordsPerBatch": "4096"}  # bodies may be long
_SETTINGS = BATCHES | {"spark.sql.adaptive.enabled": "true"}
_LEAST, _LOT = 8 * 2**20, 128 * 2**20  # bytes of files that one task reads, about
_ROWS = 8_192  # of a batch that is read
LATE = "body"  # the column that a file may lack, where no document had a field yet
_TOLD = pa.schema([("told", pa.string())])
_STATISTICS = (
    "_change_type",
    "_commit_version",
    "_commit_timestamp",
    "_window",
    "resource",
    "document_id",
    "change_version",
    "committed_at",
)


@dataclass(frozen=True)
class StoredFile:
    """A file that a table has now: its path in the table, the values of its columns of partitions, which it lacks, bytes, and the
    highest and lowest values of columns, as far as its statistics tell them."""

    path: str
    partition: dict[str, str]
    size: int
    highest: dict[str, Any]
    lowest: dict[str, Any] = field(default_factory=dict)

    def may_hold(self, column: str, low: int, high: int | None = None) -> bool:
        """Whether it may have a value from `low` to `high`, both inclusive, in a column."""
        highest, lowest = self.highest.get(column), self.lowest.get(column)
        return (highest is None or highest >= low) and (high is None or lowest is None or lowest <= high)


@dataclass(frozen=True)
class DataFile:
    """A file that a task has written: its path in the table, the value that all its rows have in the column of partitions (None:
    there is no such column), bytes, rows, rows by the value of a column, and Delta's statistics."""

    path: str
    partition: str | None
    size: int
    rows: int
    kinds: dict[str, dict[str, int]]
    statistics: dict[str, Any]


def write(
    frame: DataFrame,
    store: Store,
    schema: pa.Schema,
    *,
    by: str | None,
    kind: str | None,
    size: int,
    folders: Callable[[str], str] | None = None,
    convert: Mapping[str, Convert] | None = None,
) -> list[DataFile]:
    """Writes the rows of a frame, each file with rows of one value of the column `by`, or with any; of about `size` bytes.

    `kind`: the column by whose values the rows are counted. `folders`: into which folder of the store a value's files go; they keep
    the column then, which is none of partitions. `convert`: what makes a column of one that Spark has in another form. Raises
    Unavailable where this process does not find the files.
    """
    spark = frame.sparkSession
    # Where a frame asks Spark to balance its tasks, each gets about a file; its rows are larger there than in Parquet.
    settings = _SETTINGS | {"spark.sql.adaptive.advisoryPartitionSizeInBytes": str(2 * size)}
    store.make_folder()
    task = _WriteTask(store, schema, by, kind, size, folders, convert or {})
    with configured(spark, settings):
        told = [row.told for row in frame.select(*schema.names).mapInArrow(task, "told string").collect()]
    files = [DataFile(**json.loads(each)) for each in told]
    _refuse_unseen(store, files)
    return files


@contextmanager
def configured(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Within it a session has these settings."""
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, had in before.items():
            spark.conf.unset(name) if had is None else spark.conf.set(name, had)


def read(
    spark: SparkSession, store: Store, schema: pa.Schema, files: Sequence[StoredFile], above: tuple[str, int] | None = None
) -> DataFrame:
    """The rows of files that a commit names. `above`: only those with a higher value in a column."""
    lots = _lots(files, spark.sparkContext.defaultParallelism)
    if not lots:
        return spark.createDataFrame([], _ddl(schema))
    task = _ReadTask(store, schema, lots, above)
    return spark.range(0, len(lots), 1, len(lots)).mapInArrow(task, _ddl(schema))


def column(there: Any, file: StoredFile, name: str) -> list[Any]:
    """The values of a column of a small file."""
    with there.open_input_file(file.path) as opened, pq.ParquetFile(opened) as read_:
        values: list[Any] = read_.read(columns=[name])[name].to_pylist()
    return values


def write_rows(rows: pa.Table, store: Store) -> DataFile:
    """Writes a few rows from this process."""
    store.make_folder()
    file = _File(store.files(), "", None, rows.schema, None)
    file.add(rows)
    file.close()
    return DataFile(**file.told())


def _lots(files: Sequence[StoredFile], tasks: int) -> list[list[tuple[str, dict[str, str]]]]:
    """The files of each task: few large ones or many small ones, and as many tasks as can run at once, where there is enough."""
    enough = max(_LEAST, min(_LOT, sum(file.size for file in files) // tasks))
    lots: list[list[tuple[str, dict[str, str]]]] = []
    room = 0
    for file in sorted(files, key=lambda each: (-each.size, each.path)):
        if room <= 0:
            lots.append([])
            room = enough
        lots[-1].append((file.path, file.partition))
        room -= max(file.size, _LOT // 1000)  # an open costs something, too
    return lots


def _ddl(schema: pa.Schema) -> str:
    """A schema as Spark reads it. To a session of TIMESTAMP_NTZ the word timestamp is another type."""
    types = {"int16": "smallint", "timestamp[us, tz=UTC]": "timestamp_ltz"}
    return ", ".join(f"{field.name} {types.get(str(field.type)) or body_types.ddl(field.type, quoted=True)}" for field in schema)


def together(value: str) -> str:
    """One folder for the files of all values, in which each file has one value."""
    return "by-resource"


def remove(store: Store, files: Sequence[DataFile]) -> None:
    """Removes files that were not committed, as far as that can be done."""
    with suppress(Exception):
        there = store.files()
        for file in files:
            with suppress(OSError):
                there.delete_file(file.path)


def _refuse_unseen(store: Store, files: Sequence[DataFile]) -> None:
    """On a disk of its own a worker writes where nobody else looks."""
    if (folder := store.folder) is None:
        return
    for file in files:
        path = folder / file.path
        if not path.is_file() or path.stat().st_size != file.size:
            raise Unavailable(f"Spark has written {file.path}, and {folder} lacks it", "name a folder that all workers share")


class _ReadTask:
    """What a task does that reads its lot of files. It goes to the executors, which have Python and this package."""

    def __init__(
        self, store: Store, schema: pa.Schema, lots: list[list[tuple[str, dict[str, str]]]], above: tuple[str, int] | None
    ) -> None:
        self._store, self._schema, self._lots, self._above = store, schema, lots, above
        self._variants = [field.name for field in schema if field.type == VARIANT_TYPE]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        there = self._store.files()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for path, partition in self._lots[number]:
                    yield from self._read(there, path, partition)

    def _read(self, there: Any, path: str, partition: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        with there.open_input_file(path) as opened, pq.ParquetFile(opened) as file:
            names = [name for name in self._schema.names if name not in partition]
            if LATE not in file.schema_arrow.names:
                names = [name for name in names if name != LATE]
            for rows in file.iter_batches(batch_size=_ROWS, columns=names):
                table = pa.Table.from_batches([rows])
                if self._above is not None:
                    table = table.filter(pc.greater(table[self._above[0]], self._above[1]))
                for name, value in partition.items():
                    table = table.append_column(name, pa.array([value] * table.num_rows, pa.string()))
                if LATE in self._schema.names and LATE not in table.column_names:
                    table = table.append_column(LATE, pa.nulls(table.num_rows, self._schema.field(LATE).type))
                for name in self._variants:
                    place = table.schema.get_field_index(name)
                    table = table.set_column(place, name, variants(table[name].combine_chunks()))
                yield from table.select(self._schema.names).cast(self._schema).combine_chunks().to_batches()


class _WriteTask:
    """What a task does with its rows, as _ReadTask."""

    def __init__(
        self,
        store: Store,
        schema: pa.Schema,
        by: str | None,
        kind: str | None,
        size: int,
        folders: Callable[[str], str] | None,
        convert: Mapping[str, Convert],
    ) -> None:
        self._store, self._schema, self._by, self._kind, self._size, self._folders = store, schema, by, kind, size, folders
        self._convert = convert

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        open_files: dict[str | None, _File] = {}
        done: list[_File] = []
        there = self._store.files()
        try:
            for batch in batches:
                for value, rows in self._parts(batch):
                    if value not in open_files:
                        open_files[value] = _File(there, self._folder(value), value, self._written(), self._kind)
                    file = open_files[value]
                    file.add(rows)
                    if file.written >= self._size:
                        done.append(open_files.pop(value))
                        done[-1].close()
                while sum(file.held for file in open_files.values()) > _HELD:
                    max(open_files.values(), key=lambda file: file.held).flush()
            for value in [*open_files]:
                done.append(open_files.pop(value))
                done[-1].close()
        except BaseException:
            for file in [*done, *open_files.values()]:
                file.give_up()
            raise
        if done:
            yield pa.record_batch({"told": [json.dumps(file.told()) for file in done]}, schema=_TOLD)

    def _folder(self, value: str | None) -> str:
        return "" if self._folders is None else f"{self._folders(str(value))}/"

    def _written(self) -> pa.Schema:
        return pa.schema([field for field in self._schema if field.name != self._by or self._folders is not None])

    def _parts(self, batch: pa.RecordBatch) -> Iterator[tuple[str | None, pa.Table]]:
        """The rows of a batch by their value of the column of partitions."""
        rows = pa.Table.from_batches([batch]).select(self._schema.names)
        for name, convert in self._convert.items():
            rows = rows.set_column(rows.schema.get_field_index(name), name, convert(rows[name]))
        rows = rows.cast(self._schema)
        if self._by is None:
            yield None, rows
            return
        values = rows[self._by]
        rows = rows if self._folders is not None else rows.drop_columns([self._by])
        for value in pc.unique(values):
            yield value.as_py(), rows.filter(pc.equal(values, value))


class _File:
    """A file that a task writes, with what is still in memory of it."""

    def __init__(self, there: Any, folder: str, partition: str | None, schema: pa.Schema, kind: str | None) -> None:
        self._there, self._partition, self._kind = there, partition, kind
        self.path = f"{folder}part-{uuid4()}.zstd.parquet"
        self._stream = there.open_output_stream(self.path)
        repeated = [path for field in schema for path in _repeated(field)]
        self._writer = pq.ParquetWriter(self._stream, schema, compression="zstd", use_dictionary=repeated)
        self._lots: list[pa.Table] = []
        self.held, self.rows = 0, 0
        self._kinds: dict[str, Counter[str]] = {}

    @property
    def written(self) -> int:
        return int(self._stream.tell())

    def add(self, rows: pa.Table) -> None:
        if self._kind is not None and "resource" in rows.column_names:
            for group in rows.group_by(["resource", self._kind]).aggregate([([], "count_all")]).to_pylist():
                self._kinds.setdefault(group["resource"], Counter())[group[self._kind]] += group["count_all"]
        elif self._kind is not None:
            for group in pc.value_counts(rows[self._kind]).to_pylist():
                self._kinds.setdefault(str(self._partition), Counter())[group["values"]] += group["counts"]
        self._lots.append(rows)
        self.rows += rows.num_rows
        self.held += rows.nbytes
        if self.held >= _GROUP:
            self.flush()

    def flush(self) -> None:
        if self._lots:
            lots = pa.concat_tables(self._lots)
            self._writer.write_table(lots, row_group_size=max(1, lots.num_rows))
        self._lots, self.held = [], 0

    def close(self) -> None:
        self.flush()
        self._writer.close()
        self._stream.close()
        self._statistics = _statistics(pq.read_metadata(self._there.open_input_file(self.path)))
        self._size = int(self._there.get_file_info(self.path).size)

    def give_up(self) -> None:
        with suppress(Exception):
            self._writer.close()
        with suppress(Exception):
            self._stream.close()
        with suppress(Exception):
            self._there.delete_file(self.path)

    def told(self) -> dict[str, Any]:
        kinds = {resource: dict(counts) for resource, counts in self._kinds.items()}
        return {
            "path": self.path,
            "partition": self._partition,
            "size": self._size,
            "rows": self.rows,
            "kinds": kinds,
            "statistics": self._statistics,
        }


def _repeated(field: pa.Field) -> Iterator[str]:
    """The leaves of a column, by their paths in Parquet, whose values may repeat."""
    if field.name not in UNIQUE or (pa.types.is_struct(field.type) and field.type != VARIANT_TYPE):
        yield from body_types.leaves(field.name, field.type)


def _statistics(metadata: Any) -> dict[str, Any]:
    """Delta's statistics of a file, by which readers pass over it, of the columns that are short."""
    found: dict[str, Any] = {"numRecords": metadata.num_rows, "minValues": {}, "maxValues": {}, "nullCount": {}}
    names = [metadata.schema.column(number).path for number in range(metadata.num_columns)]  # a field of a struct has a dot
    for number, name in enumerate(names):
        groups = [metadata.row_group(group).column(number).statistics for group in range(metadata.num_row_groups)]
        if name not in _STATISTICS or not groups or any(each is None or not each.has_min_max for each in groups):
            continue
        found["minValues"][name] = _told(min(each.min for each in groups), up=False)
        found["maxValues"][name] = _told(max(each.max for each in groups), up=True)
        found["nullCount"][name] = sum(each.null_count or 0 for each in groups)
    return found


def _told(value: Any, up: bool) -> Any:
    """A value as Delta's statistics have it: a time in milliseconds, the highest rounded up."""
    if not isinstance(value, datetime):
        return value
    value = value.astimezone(UTC)
    below = value.replace(microsecond=value.microsecond // 1000 * 1000)
    if up and below < value:
        below += timedelta(milliseconds=1)
    return below.isoformat(timespec="milliseconds").replace("+00:00", "Z")
