"""Change events as a Z-set: rows with weights, which add up. What counts 0 in the end is not there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from dmsjournal.errors import InvalidRequest
from dmsjournal.events.arrow.models import ChangeEvent, Update

WEIGHT = "weight"  # the name of the column


def weighted(event: ChangeEvent) -> Iterator[tuple[pa.RecordBatch, int]]:
    """An event's rows, each batch with what one of its rows counts: -1 what goes, 1 what comes. The batches are the event's own."""
    if isinstance(event, Update):
        yield event.old, -1
    if event.has_data:
        yield event.parts[-1], event.event_type.weight


def consolidated(events: Iterable[ChangeEvent], columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of all events, each different one once, with the sum of its weights in `weight`; those of sum 0 are left out.

    `columns` are those that make a row what it is, without it all: leave out what differs between a row's coming and going, such as
    change_version. They hold no nested types. Rows are in the order in which they first came. A snapshot adds to what is there:
    begin with it. Of no rows at all there is the column `weight` alone. Raises InvalidRequest for a column that a batch lacks.
    """
    tables = [
        pa.table(batch if columns is None else _selected(batch, columns)).append_column(
            WEIGHT, pa.repeat(pa.scalar(weight, pa.int64()), batch.num_rows)
        )
        for event in events
        for batch, weight in weighted(event)
    ]
    if not tables:
        return pa.table({WEIGHT: pa.array([], pa.int64())})
    every = pa.concat_tables(tables)
    names = [name for name in every.column_names if name != WEIGHT]
    summed = every.group_by(names, use_threads=False).aggregate([(WEIGHT, "sum")])
    summed = summed.select([*names, f"{WEIGHT}_sum"]).rename_columns([*names, WEIGHT])
    return summed.filter(pc.not_equal(summed[WEIGHT], 0))


def _selected(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    for name in columns:
        if name not in batch.schema.names:
            raise InvalidRequest("columns", name, f"a batch has {', '.join(batch.schema.names)}")
    return batch.select(list(columns))
