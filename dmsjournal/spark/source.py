"""The data source "dmsjournal": `spark.read` and `spark.readStream` of what changed, without a JDBC driver.

    spark.dataSource.register(DmsJournal)
    spark.readStream.format("dmsjournal").option("url", "postgresql://…").option("resource", "Ed-Fi/Student/5.2.0").load()

It runs in Python workers, which have this package and the database's driver. Source: docs/how-it-works.md, Streams.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from dmsjournal.errors import InvalidRequest, JournalError, UnsupportedCapability
from dmsjournal.journal import Journal, connect
from dmsjournal.read.stream import LATEST, Offset, Part, SnapshotPart, Stream
from dmsjournal.spark import rows, sizes
from dmsjournal.spark.options import SNAPSHOT, STARTS, Asked, refused
from dmsjournal.util.iteration import raises_again

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

    ADMITS = True
except ImportError:  # before PySpark 4.2 a source is not told where a batch starts, nor how much is wanted of it
    ADMITS = False

_OF_BATCHES = ("min", "max")
_OF_STREAMS = (*STARTS, "maxEventsPerTrigger", "maxRowsPerTrigger")


class DmsJournal(DataSource):
    """What changed in a database's journal; the options are docs/spark/streaming.md's. Raises InvalidRequest."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._asked = Asked.of(options)

    @classmethod
    def name(cls) -> str:
        """The word for `format`."""
        return "dmsjournal"

    def schema(self) -> StructType:
        """The columns, of which `.schema(…)` may take some."""
        return rows.schema(body=self._asked.with_body)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Of a window."""
        refused(self.options, _OF_STREAMS, "it is of streams: a window has min and max, both inclusive")
        return BatchReader(self._asked, rows.checked_schema(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Of what comes after an offset."""
        refused(self.options, _OF_BATCHES, "it is of a window: a stream has startingVersion, inclusive, and no end")
        if ADMITS:
            return AdmittingStreamReader(self._asked, rows.checked_schema(schema))
        if self._asked.max_rows is not None:
            raise UnsupportedCapability(f"{self._asked.max_option} before PySpark 4.2", "leave it out, or use PySpark 4.2 or later")
        return WholeStreamReader(self._asked, rows.checked_schema(schema))


class _Reading:
    """What readers share. They are pickled and go to other processes, each of which has a connection of its own."""

    def __init__(self, asked: Asked, columns: StructType) -> None:
        self._asked, self._columns = asked, columns
        self._journal: Journal | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_journal": None}

    @property
    def journal(self) -> Journal:
        if self._journal is None:
            self._journal = connect(self._asked.url)
        return self._journal

    @property
    def stream(self) -> Stream:
        return self.journal.stream(self._asked.resources, self._asked.kinds)

    @property
    def _sizes(self) -> dict[str, int | None]:
        parts, events = self._asked.parts, self._asked.events_per_part
        if parts is None and events is None and "body" in self._columns.fieldNames():
            with self.journal.database.session() as session:
                events = sizes.events_per_part(sizes.ROW + sizes.body_bytes(session))
        return {"parts": parts, "events_per_part": events}

    @raises_again
    def read(self, partition: InputPartition) -> Generator[pa.RecordBatch]:
        """The rows of a partition, in a process of its own."""
        if isinstance(partition.value, Part | SnapshotPart):  # Spark makes up a partition where there is none
            with connect(self._asked.url) as journal:
                stream = journal.stream(self._asked.resources, self._asked.kinds)
                yield from rows.record_batches(stream, partition.value, self._columns)

    def stop(self) -> None:
        """Closes the connections."""
        if self._journal is not None:
            self._journal.close()


class BatchReader(_Reading, DataSourceReader):
    """The changes of a window, which Spark has planned once for each `load()`, at the first action.

    No pushFilters: Spark plans a Python source once for all queries of one `load()`, with the filters of the last of them; others
    would miss rows (seen with PySpark 4.3; tests/spark/test_source.py). Options say what to leave out.
    """

    def partitions(self) -> Sequence[InputPartition]:
        """One for each part of the window."""
        parts = self.stream.window(self._asked.window, **self._sizes)
        self.stop()
        return [InputPartition(part) for part in parts]


class _StreamReading(_Reading, DataSourceStreamReader):
    """The changes after an offset, which is a version and what the database's history is known by."""

    def initialOffset(self) -> dict[str, Any]:
        """Where a new query begins; one with a checkpoint goes on from there."""
        place = self._asked.starting
        try:
            if place == SNAPSHOT:
                return self.stream.snapshot().to_dict()
            return self.stream.at(max(place - 1, 0) if isinstance(place, int) else place).to_dict()
        except InvalidRequest as error:  # of the version before it
            if error.parameter == "kinds":
                raise InvalidRequest("include", error.value, error.remedy) from error
            raise InvalidRequest(self._asked.starting_option, place, str(error.remedy)) from error

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """One for each part of what lies between the offsets."""
        parts = self.stream.between(Offset.from_dict(start), Offset.from_dict(end), **self._sizes)
        return [InputPartition(part) for part in parts]


class WholeStreamReader(_StreamReading):
    """Before PySpark 4.2: each batch goes to the horizon."""

    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]
        """The horizon."""
        return self.stream.at(LATEST).to_dict()


if ADMITS:

    class AdmittingStreamReader(_StreamReading, SupportsTriggerAvailableNow):
        """From PySpark 4.2 on: a batch has about as many rows as are admitted, and AvailableNow as many batches as it takes."""

        def __init__(self, asked: Asked, columns: StructType) -> None:
            super().__init__(asked, columns)
            self._newest: Offset | None = None
            self._start: Offset | None = None  # of the batch that Spark asks for

        def getDefaultReadLimit(self) -> ReadLimit:
            """What the option maxEventsPerTrigger says."""
            return ReadAllAvailable() if self._asked.max_rows is None else ReadMaxRows(self._asked.max_rows)

        def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
            """How far the next batch goes; `start` where there is nothing new."""
            events = limit.max_rows if isinstance(limit, ReadMaxRows) else None
            self._start = Offset.from_dict(start)
            return self.stream.next(self._start, events, self._newest).to_dict()

        def reportLatestOffset(self) -> dict[str, Any]:
            """The horizon, for the progress that Spark reports, how far below it the batch began and what is held back above it."""
            told = self.stream.at(LATEST).to_dict()
            if self._start is not None:
                told["lag_versions"], told["lag_seconds"] = self.stream.lag(self._start)
            with suppress(JournalError):  # it only shows, and the role may not look
                if (held := self.journal.held_back()) is not None:
                    told["held_back"] = str(held)
            return told

        def prepareForTriggerAvailableNow(self) -> None:
            """What comes after now is not read."""
            self._newest = self.stream.at(LATEST)
