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
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol
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

ZSTD = "zstd"

_GROUP = 32 * 2**20  # bytes in memory that become one row group
_HELD = 4 * _GROUP  # bytes in memory in all, of a task that writes several files
_MOST_OPEN = 200  # files at once, of a task: an operating system allows a process some hundreds
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


class FilePlace(Protocol):
    """Where files go: a Store, or another place that goes to Spark's tasks. As Store has them."""

    @property
    def folder(self) -> Path | None: ...
    def make_folder(self) -> None: ...
    def files(self) -> Any: ...


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
    task = _WriteTask(FileWriter(store, schema, by, kind, size, folders, convert or {}, folders is not None))
    with configured(spark, settings):
        told = [row.told for row in frame.select(*schema.names).mapInArrow(task, "told string").collect()]
    files = [DataFile(**json.loads(each)) for each in told]
    refuse_unseen(store, files)
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
    return file.closed()


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


def remove(store: FilePlace, files: Sequence[DataFile]) -> None:
    """Removes files that were not committed, as far as that can be done."""
    with suppress(Exception):
        there = store.files()
        for file in files:
            with suppress(OSError):
                there.delete_file(file.path)


def refuse_unseen(store: FilePlace, files: Sequence[DataFile]) -> None:
    """On a disk of its own a worker writes where nobody else looks. Raises Unavailable."""
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


@dataclass(frozen=True)
class FileWriter:
    """What a task does with its rows, as _ReadTask; see `write`. `keeps`: whether files have the column `by`, too. `codec`:
    Parquet's, which is in the files' names. `unbounded`: columns without statistics."""

    store: FilePlace
    schema: pa.Schema
    by: str | None
    kind: str | None
    size: int
    folders: Callable[[str], str] | None = None
    convert: Mapping[str, Convert] = field(default_factory=dict)
    keeps: bool = False
    codec: str = ZSTD
    unbounded: tuple[str, ...] = ()

    def written(self, tables: Iterator[pa.Table]) -> list[DataFile]:
        """The files of some rows. Where an error comes, none stays."""
        open_files: dict[str | None, _File] = {}
        done: list[DataFile] = []
        there = self.store.files()
        try:
            for table in tables:
                for value, rows in self._parts(table):
                    if value not in open_files:
                        place = (there, self._folder(value), value)
                        open_files[value] = _File(*place, self._written(), self.kind, self.codec, self.unbounded)
                    file = open_files[value]
                    file.add(rows)
                    if file.written >= self.size:
                        done.append(file.closed())
                        del open_files[value]
                while sum(file.held for file in open_files.values()) > _HELD:
                    max(open_files.values(), key=lambda file: file.held).flush()
                if sum(file.is_open for file in open_files.values()) > _MOST_OPEN:
                    largest = max(open_files, key=lambda value: open_files[value].written)
                    done.append(open_files[largest].closed())
                    del open_files[largest]
            for value in [*open_files]:
                done.append(open_files[value].closed())
                del open_files[value]
        except BaseException:
            for file in open_files.values():
                file.give_up()
            remove(self.store, done)
            raise
        return done

    def _folder(self, value: str | None) -> str:
        return "" if self.folders is None else self.folders(str(value))

    def _written(self) -> pa.Schema:
        return pa.schema([field for field in self.schema if field.name != self.by or self.keeps])

    def _parts(self, rows: pa.Table) -> Iterator[tuple[str | None, pa.Table]]:
        """Rows by their value of the column `by`."""
        rows = rows.select(self.schema.names)
        for name, convert in self.convert.items():
            rows = rows.set_column(rows.schema.get_field_index(name), name, convert(rows[name]))
        rows = rows.cast(self.schema)
        if self.by is None:
            yield None, rows
            return
        values = rows[self.by]
        rows = rows if self.keeps else rows.drop_columns([self.by])
        for value in pc.unique(values):
            yield value.as_py(), rows.filter(pc.equal(values, value))


class _WriteTask:
    """A FileWriter as Spark runs it on the rows of a frame."""

    def __init__(self, writer: FileWriter) -> None:
        self._writer = writer

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        files = self._writer.written(pa.Table.from_batches([batch]) for batch in batches)
        if files:
            yield pa.record_batch({"told": [json.dumps(asdict(file)) for file in files]}, schema=_TOLD)


class _File:
    """A file that a task writes, with what is still in memory of it. It is made once something is written into it."""

    def __init__(
        self,
        there: Any,
        folder: str,
        partition: str | None,
        schema: pa.Schema,
        kind: str | None,
        codec: str = ZSTD,
        unbounded: tuple[str, ...] = (),
    ) -> None:
        self._there, self._folder, self._partition, self._kind, self._codec = there, folder, partition, kind, codec
        self._unbounded = unbounded
        self._schema = schema
        self._writer: Any = None
        self.path = f"{folder}/" * bool(folder) + f"part-{uuid4()}.{codec}.parquet"
        self._lots: list[pa.Table] = []
        self.held, self.rows = 0, 0
        self._kinds: dict[str, Counter[str]] = {}

    @property
    def is_open(self) -> bool:
        return self._writer is not None

    @property
    def written(self) -> int:
        return int(self._stream.tell()) if self.is_open else 0

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
        if self._writer is None:
            self._open()
        if self._lots:
            lots = pa.concat_tables(self._lots)
            self._writer.write_table(lots, row_group_size=max(1, lots.num_rows))
        self._lots, self.held = [], 0

    def _open(self) -> None:
        if self._folder:
            self._there.create_dir(self._folder, recursive=True)
        self._stream = self._there.open_output_stream(self.path)
        repeated = [path for field in self._schema for path in _repeated(field)]
        bounded = [path for field in self._schema for path in body_types.leaves(field.name, field.type)]
        bounded = [path for path in bounded if path not in self._unbounded]
        self._writer = pq.ParquetWriter(
            self._stream, self._schema, compression=self._codec, use_dictionary=repeated, write_statistics=bounded
        )

    def closed(self) -> DataFile:
        """What was written, whole."""
        self.flush()
        self._writer.close()
        self._stream.close()
        statistics = _statistics(pq.read_metadata(self._there.open_input_file(self.path)))
        size = int(self._there.get_file_info(self.path).size)
        kinds = {resource: dict(counts) for resource, counts in self._kinds.items()}
        return DataFile(self.path, self._partition, size, self.rows, kinds, statistics)

    def give_up(self) -> None:
        if not self.is_open:
            return
        with suppress(Exception):
            self._writer.close()
        with suppress(Exception):
            self._stream.close()
        with suppress(Exception):
            self._there.delete_file(self.path)


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
        try:
            lowest = _told(min(each.min for each in groups), up=False)
            highest = _told(max(each.max for each in groups), up=True)
        except (OverflowError, ValueError):  # Python cannot hold the time: without a bound, readers do not skip the file
            continue
        found["minValues"][name], found["maxValues"][name] = lowest, highest
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
