"""Change events that hold their rows as Arrow record batches, by reference: a copy is the same event, whatever its size.

Times are microseconds since 1970 in UTC.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise
from typing import ClassVar, Protocol, Self

import pyarrow as pa

from dmsjournal.errors import InvalidRequest


class EventType(IntEnum):
    """What an event does to the rows of a result. The numbers are those of a NotificationRef's `event_type`."""

    INSERT = 0
    DELETE = 1
    UPDATE = 2
    WATERMARK = 3
    SNAPSHOT = 4

    @classmethod
    def from_cdc(cls, operation: str) -> EventType:
        """The type of a CDC operation: CREATE, UPDATE, DELETE. Raises InvalidRequest."""
        try:
            return _OPERATIONS[operation]
        except KeyError as error:
            raise InvalidRequest("operation", operation, f"it is one of {', '.join(_OPERATIONS)}") from error

    @property
    def weight(self) -> int:
        """What a row counts in a Z-set; of an update, a new row (the old one counts -1)."""
        return _WEIGHTS[self]

    @property
    def has_data(self) -> bool:
        """Whether such an event has rows."""
        return self is not EventType.WATERMARK


_OPERATIONS = {"CREATE": EventType.INSERT, "UPDATE": EventType.UPDATE, "DELETE": EventType.DELETE}
_WEIGHTS = {EventType.INSERT: 1, EventType.DELETE: -1, EventType.UPDATE: 1, EventType.WATERMARK: 0, EventType.SNAPSHOT: 1}


class _Operation(Protocol):
    @property
    def value(self) -> str: ...


class ChangelogRecordLike(Protocol):
    """A record of a change log; see ChangelogRecord."""

    @property
    def operation(self) -> _Operation: ...
    @property
    def data(self) -> pa.RecordBatch: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def sequence(self) -> int: ...


class ChangeEvent:
    """One of Insert, Delete, Update, Watermark, Snapshot. It never changes, so a copy is itself.

    `sequence` is the place of its last row in its source, None where it has no place there. The classes can be made by their own
    names, or by `ChangeEvent.insert(…)` and its like.
    """

    event_type: ClassVar[EventType]
    timestamp: int
    sequence: int | None

    @staticmethod
    def insert(data: pa.RecordBatch, timestamp: int, sequence: int) -> Insert:
        """Rows that came."""
        return Insert(data, timestamp, sequence)

    @staticmethod
    def delete(data: pa.RecordBatch, timestamp: int, sequence: int) -> Delete:
        """Rows that went, as they were."""
        return Delete(data, timestamp, sequence)

    @staticmethod
    def update(old: pa.RecordBatch, new: pa.RecordBatch, timestamp: int, sequence: int) -> Update:
        """Rows before and after. Raises InvalidRequest."""
        return Update(old, new, timestamp, sequence)

    @staticmethod
    def watermark(timestamp: int) -> Watermark:
        """No event that comes later is from before `timestamp`."""
        return Watermark(timestamp)

    @staticmethod
    def snapshot(data: pa.RecordBatch, timestamp: int) -> Snapshot:
        """All rows as of `timestamp`."""
        return Snapshot(data, timestamp)

    @staticmethod
    def from_changelog_record(record: ChangelogRecordLike) -> Insert | Delete:
        """One record of a change log: what was is a delete, what is an insert. `from_changelog` makes updates of pairs."""
        goes = record.operation.value in ("-D", "-U")
        return (Delete if goes else Insert)(record.data, record.timestamp, record.sequence)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    @property
    def parts(self) -> tuple[pa.RecordBatch, ...]:
        """Its rows: none, one batch, or the old and the new one."""
        return ()

    @property
    def row_count(self) -> int:
        """How many rows it is about; of an update, the new ones."""
        return int(self.parts[-1].num_rows) if self.parts else 0

    @property
    def has_data(self) -> bool:
        """Whether it has rows."""
        return self.event_type.has_data


@dataclass(frozen=True)
class _OneBatch(ChangeEvent):
    """An event about the rows of one batch."""

    data: pa.RecordBatch
    timestamp: int

    @property
    def parts(self) -> tuple[pa.RecordBatch, ...]:
        return (self.data,)


@dataclass(frozen=True)
class Insert(_OneBatch):
    """Rows that came."""

    event_type: ClassVar = EventType.INSERT
    sequence: int


@dataclass(frozen=True)
class Delete(_OneBatch):
    """Rows that went, as they were."""

    event_type: ClassVar = EventType.DELETE
    sequence: int


@dataclass(frozen=True)
class Update(ChangeEvent):
    """Rows before and after: as many, of one schema, each at the same place in both. Raises InvalidRequest."""

    event_type: ClassVar = EventType.UPDATE
    old: pa.RecordBatch
    new: pa.RecordBatch
    timestamp: int
    sequence: int

    def __post_init__(self) -> None:
        if self.old.schema != self.new.schema or self.old.num_rows != self.new.num_rows:
            raise InvalidRequest("new", self.new.num_rows, "an update's old and new rows are as many, and of one schema")

    @property
    def parts(self) -> tuple[pa.RecordBatch, ...]:
        return (self.old, self.new)


@dataclass(frozen=True)
class Watermark(ChangeEvent):
    """No event that comes later is from before `timestamp`."""

    event_type: ClassVar = EventType.WATERMARK
    timestamp: int
    sequence: None = field(default=None, init=False)


@dataclass(frozen=True)
class Snapshot(_OneBatch):
    """All rows as of `timestamp`, where a subscription begins."""

    event_type: ClassVar = EventType.SNAPSHOT
    sequence: None = field(default=None, init=False)


@dataclass(frozen=True)
class ChangeEventBatch:
    """Events of one source and one schema, in their order, that cover its sequence from `start` (inclusive) to `end` (exclusive).

    Raises InvalidRequest: an event outside of them, or before the one that it follows, or of another schema.
    """

    source: str
    events: tuple[ChangeEvent, ...]
    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise InvalidRequest("end", self.end, f"a batch does not end before it starts ({self.start})")
        places = [event.sequence for event in self.events if event.sequence is not None]
        if any(later < earlier for earlier, later in pairwise(places)):
            raise InvalidRequest("events", places, "give them in the order of their sequence")
        if places and not (self.start <= places[0] and places[-1] < self.end):
            raise InvalidRequest("events", places, f"they lie from {self.start} (inclusive) to {self.end} (exclusive)")
        schema = self.schema
        if any(part.schema != schema for part in self._parts()):
            raise InvalidRequest("events", self.source, "all rows of a batch have one schema")

    @classmethod
    def of(cls, source: str, events: Iterable[ChangeEvent]) -> ChangeEventBatch:
        """A batch that covers from its first event's sequence to its last one's; 0 to 0 where none has any."""
        events = tuple(events)
        places = [event.sequence for event in events if event.sequence is not None]
        return cls(source, events, places[0], places[-1] + 1) if places else cls(source, events, 0, 0)

    def __len__(self) -> int:
        return len(self.events)

    @property
    def start_sequence(self) -> int:
        """`start`: the first sequence that it covers."""
        return self.start

    @property
    def end_sequence(self) -> int:
        """`end`: the sequence behind the last one that it covers."""
        return self.end

    @property
    def is_empty(self) -> bool:
        """Whether it has no event."""
        return not self.events

    def __iter__(self) -> Iterator[ChangeEvent]:
        return iter(self.events)

    @property
    def schema(self) -> pa.Schema | None:
        """The rows' schema; None where no event has rows."""
        return next((part.schema for part in self._parts()), None)

    @property
    def total_rows(self) -> int:
        """The rows of all events; of an update, the new ones."""
        return sum(self.totals.values())

    @property
    def totals(self) -> Mapping[EventType, int]:
        """The rows by type of event."""
        counted: Counter[EventType] = Counter()
        for event in self.events:
            counted[event.event_type] += event.row_count
        return counted

    def _parts(self) -> Iterator[pa.RecordBatch]:
        return (part for event in self.events for part in event.parts)
