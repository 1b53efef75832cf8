"""Rows that a task reads by COPY, as Arrow: half the processor time of rows that come to Java by JDBC (docs/figures.md).

The texts are those of sql/postgres/queries/spark/sources. Source: docs/how-it-works.md, Spark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.csv
import sqlalchemy as sa
from sqlalchemy import exc

from dmsjournal.database import sql
from dmsjournal.database.connect import message_of
from dmsjournal.database.engine import Engine
from dmsjournal.database.engines import engine_named
from dmsjournal.spark.jobs import DatabaseFailed

_DELIMITER, _QUOTE = "\x02", "\x01"  # as copy.sql has them
_NUMBERS = {"resource_key_id": pa.int16(), "change_version": pa.int64(), "document_id": pa.int64()}
_TIME = pa.timestamp("us", tz="UTC")
_TYPES = _NUMBERS | {"committed_at": _TIME, "last_modified": _TIME}  # of columns of the sources; the others are text
_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Copy:
    """A statement whose rows are of one kind, and its columns, in order. A plain value, which goes to Spark's tasks."""

    kind: str
    columns: tuple[str, ...]
    statement: str


def copy_of(engine: Engine, kind: str, columns: Sequence[str], name: str, source: str, condition: sa.ColumnElement[bool]) -> Copy:
    """The rows of a source for which a condition holds."""
    told = {"columns": ", ".join(columns), "source": source, "name": name, "condition": engine.literal(condition)}
    text = str(sql.source(engine.NAME, "copy").text)
    return Copy(kind, tuple(columns), _PLACE.sub(lambda place: told[place[1]], text))  # in one go: a source may have braces


@dataclass(frozen=True)
class Connection:
    """What a task needs to read at a reading's moment. It goes to the executors, which have Python and this package."""

    engine: str
    url: sa.URL  # with its password, which repr leaves out
    begin: str

    def rows(self, copies: Sequence[Copy]) -> Iterator[tuple[str, pa.Table]]:
        """The rows of some statements and their kinds, some thousands at a time. Raises DatabaseFailed."""
        try:
            with engine_named(self.engine).copying(self.url, self.begin) as copied:
                for copy in copies:
                    for text in copied(copy.statement):
                        yield copy.kind, _parsed(text, copy.columns)
        except exc.DBAPIError as error:
            raise DatabaseFailed(message_of(error)) from error


def _parsed(text: bytes, columns: Sequence[str]) -> pa.Table:
    types = {name: _TYPES.get(name, pa.string()) for name in columns}
    try:
        return _table(text, types)
    except pa.ArrowInvalid:  # a time that a restore or a superuser may have written, such as infinity
        rows = _table(text, {name: pa.string() if kind == _TIME else kind for name, kind in types.items()})
    for place, name in enumerate(columns):
        if types[name] == _TIME:
            rows = rows.set_column(place, name, pa.array(map(_time, rows[name].to_pylist()), _TIME))
    return rows


def _table(text: bytes, types: dict[str, pa.DataType]) -> pa.Table:
    return pyarrow.csv.read_csv(
        pa.BufferReader(text),
        read_options=pyarrow.csv.ReadOptions(column_names=[*types], use_threads=False, block_size=len(text) + 1),
        parse_options=pyarrow.csv.ParseOptions(delimiter=_DELIMITER, quote_char=_QUOTE, newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=types, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    )


def _time(text: str | None) -> datetime | None:
    """One that Python cannot hold as the first or the last that it can, as pages have it."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return (datetime.min if text.startswith("-") or text.endswith("BC") else datetime.max).replace(tzinfo=UTC)
