"""The rows of the data source "dmsjournal": its columns, and the parts of a stream as Arrow record batches of them."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql.types import DataType, LongType, StringType, StructField, StructType, TimestampType

from dmsjournal.errors import InvalidRequest
from dmsjournal.read.stream import Part, SnapshotPart, Stream
from dmsjournal.util.iteration import raises_again


class _Column(NamedTuple):
    """`source`: its place in the rows of Stream.read; None: the kind."""

    spark: DataType
    arrow: pa.DataType
    source: int | None


_TEXT, _WHOLE, _TIME = (StringType(), pa.string()), (LongType(), pa.int64()), (TimestampType(), pa.timestamp("us", tz="UTC"))

COLUMNS = {
    "resource": _Column(*_TEXT, 0),
    "_change_type": _Column(*_TEXT, None),
    "_commit_version": _Column(*_WHOLE, 1),
    "_commit_timestamp": _Column(*_TIME, 2),
    "document_id": _Column(*_WHOLE, 3),
    "document_uuid": _Column(*_TEXT, 4),
    "key_values": _Column(*_TEXT, 5),
    "old_key_values": _Column(*_TEXT, 6),
    "body": _Column(*_TEXT, 7),
}


def schema(*, body: bool) -> StructType:
    """All columns; the body only where it is asked for."""
    return StructType([StructField(name, column.spark) for name, column in COLUMNS.items() if body or name != "body"])


def checked_schema(asked: StructType) -> StructType:
    """The schema, if it has columns of ours, any of them in any order. Raises InvalidRequest."""
    for field in asked.fields:
        if field.name not in COLUMNS or field.dataType != COLUMNS[field.name].spark:
            known = ", ".join(f"{name} {column.spark.simpleString()}" for name, column in COLUMNS.items())
            raise InvalidRequest("schema", f"{field.name} {field.dataType.simpleString()}", f"the columns are {known}")
    return asked


@raises_again
def record_batches(stream: Stream, part: Part | SnapshotPart, columns: StructType) -> Generator[pa.RecordBatch]:
    """The rows of a part, in batches of at most 10,000; only the columns that are asked for are read."""
    names = set(columns.fieldNames())
    arrow = pa.schema([pa.field(field.name, COLUMNS[field.name].arrow, field.nullable) for field in columns.fields])
    wanted = [COLUMNS[field.name] for field in columns.fields]
    for kind, rows in stream.read(part, keys=bool(names & {"key_values", "old_key_values"}), bodies="body" in names):
        values = list(zip(*rows, strict=True))
        arrays = [
            pa.array([kind] * len(rows) if column.source is None else values[column.source], column.arrow) for column in wanted
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=arrow)
