"""Which tasks write the rows of a reading, so that files are few and large: those that read them, or others."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dmsjournal.read.plan import Plan
from dmsjournal.spark.dataframes import Reading


def is_shuffled(reading: Reading, by: str | None, size: int) -> bool:
    """Whether rows are sent to other tasks first: where there are several parts, too small for files of a sixteenth of `size`, in
    bytes. To send them costs a third of an extract's time.
    """
    parts = len(reading.plan.parts)
    files = parts * (len(reading.plan.resources) if by else 1)
    events = reading.plan.events if isinstance(reading.plan, Plan) else reading.plan.documents
    return parts > 1 and events * reading.row_bytes < files * size // 16


def compact(reading: Reading, rows: DataFrame, by: str | None, size: int) -> DataFrame:
    """The rows in as few tasks as write them in few files: one where they are few, else about one for each file."""
    if is_shuffled(reading, by, size):
        return rows.hint("rebalance", F.col(by)) if by else rows.hint("rebalance")
    return rows.coalesce(1) if len(reading.plan.parts) <= 1 else rows
