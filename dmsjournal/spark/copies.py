"""Rows that a task copies as Arrow, so that they come neither to Java nor to Python objects (docs/figures.md).

The texts are those of sql/postgres/queries/spark/sources. Source: docs/how-it-works.md, Spark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from dmsjournal.database import sql
from dmsjournal.database.engine import Engine
from dmsjournal.database.engines import engine_named
from dmsjournal.errors import DatabaseRefused, JournalError, Unavailable
from dmsjournal.spark.jobs import DatabaseFailed

_NUMBERS = {"resource_key_id": pa.int16(), "change_version": pa.int64(), "document_id": pa.int64()}
_TIME = pa.timestamp("us", tz="UTC")
_TYPES = _NUMBERS | {"committed_at": _TIME, "last_modified": _TIME}  # of columns of the sources; the others are text
_PLACE = re.compile(r"\{(\w+)\}")

# The first and the last time that Python can hold, and how the driver has infinity: it counts from 1970, and comes round.
_EPOCH = datetime(1970, 1, 1)
_FIRST, _LAST = ((time - _EPOCH) // timedelta(microseconds=1) for time in (datetime.min, datetime.max))
_INFINITY = -(2**63) + 946_684_800_000_000 - 1


@dataclass(frozen=True)
class Copy:
    """A query whose rows are of one kind. A plain value, which goes to Spark's tasks."""

    kind: str
    query: str


def copy_of(engine: Engine, kind: str, columns: Sequence[str], name: str, source: str, condition: sa.ColumnElement[bool]) -> Copy:
    """The rows of a source for which a condition holds."""
    told = {"columns": ", ".join(columns), "source": source, "name": name, "condition": engine.literal(condition)}
    text = str(sql.source(engine.NAME, "part").text)
    return Copy(kind, _PLACE.sub(lambda place: told[place[1]], text))  # in one go: a source may have braces


@dataclass(frozen=True)
class Connection:
    """What a task needs to read at a reading's moment. It goes to the executors, which have Python and this package.

    `begin`: what a transaction begins with, separated by semicolons.
    """

    engine: str
    url: sa.URL  # with its password, which repr leaves out
    begin: str

    def rows(self, copies: Sequence[Copy]) -> Iterator[tuple[str, pa.Table]]:
        """The rows of some queries and their kinds, some thousands at a time. Raises DatabaseFailed."""
        try:
            with engine_named(self.engine).copying(self.url, self.begin.split("; ")) as copied:
                for copy in copies:
                    for batch in copied(copy.query):
                        yield copy.kind, _typed(batch)
        except (DatabaseRefused, Unavailable) as error:
            raise DatabaseFailed(error.message if isinstance(error, DatabaseRefused) else error.reason) from error
        except JournalError as error:
            raise DatabaseFailed(str(error)) from error


def _typed(batch: pa.RecordBatch) -> pa.Table:
    """A time that Python cannot hold, which a restore or a superuser may have written, is the first or the last that it can."""
    schema = pa.schema([(name, _TYPES.get(name, pa.string())) for name in batch.schema.names])
    columns = [_held(column) if kind == _TIME else column for column, kind in zip(batch.columns, schema.types, strict=True)]
    return pa.table(columns, names=schema.names).cast(schema)


def _held(times: pa.Array) -> pa.Array:
    numbers = times.cast(pa.int64())
    bounds = pc.min_max(numbers).as_py()
    if bounds["min"] is None or (bounds["min"] >= _FIRST and bounds["max"] <= _LAST):
        return times
    numbers = pc.if_else(pc.equal(numbers, _INFINITY), _LAST, numbers)
    return pc.max_element_wise(pc.min_element_wise(numbers, _LAST, skip_nulls=False), _FIRST, skip_nulls=False).cast(_TIME)
