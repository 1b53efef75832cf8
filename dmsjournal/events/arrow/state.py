"""A subscription's state in a file of Arrow IPC, which any Arrow reader opens: where it is, and the events that wait."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from dmsjournal.errors import InvalidRequest, Unavailable
from dmsjournal.events.arrow.models import ChangeEvent, ChangeEventBatch, Delete, EventType, Insert, Snapshot, Update, Watermark
from dmsjournal.util.files import replacing

_FORMAT = "dmsjournal subscription 1"
_KEY = b"dmsjournal"  # of the schema's metadata, and of each batch's
_NO_ROWS = pa.schema([])


@dataclass(frozen=True)
class SubscriptionState:
    """A subscription: its name, the feed's token that it goes on from, and the events before that which were not delivered yet."""

    name: str
    token: str
    pending: ChangeEventBatch


def save(state: SubscriptionState, path: str | os.PathLike[str]) -> None:
    """Writes the state, all of it or none: a file that was there is replaced once the new one is on disk.

    Raises InvalidRequest where no file can be, Unavailable where the disk takes no more.
    """
    target = Path(path)
    if target.is_dir():
        raise InvalidRequest("path", str(path), "no state can be saved there: it is a folder, name a file in it")
    try:
        with replacing(target) as file:
            _write(state, file)
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        raise InvalidRequest("path", str(path), f"no state can be saved there ({error.strerror})") from error
    except OSError as error:
        raise Unavailable(f"the state cannot be saved in {path} ({error.strerror})", "what was there is kept") from error


def load(path: str | os.PathLike[str]) -> SubscriptionState:
    """The state that was saved. Raises InvalidRequest for a file that is not there, not one of these, or not all of one."""
    try:
        content = pa.py_buffer(Path(path).read_bytes())
    except OSError as error:
        raise InvalidRequest("path", str(path), f"no state was saved there ({error.strerror})") from error
    try:
        with pa.ipc.open_file(content) as reader:
            return _read(reader)
    except (pa.ArrowException, ValueError, KeyError, TypeError, OSError, InvalidRequest) as error:
        raise InvalidRequest("path", str(path), f"it is no state of a subscription, or not all of one ({error})") from error


def _write(state: SubscriptionState, file: Any) -> None:
    pending = state.pending
    head = {
        "format": _FORMAT,
        "name": state.name,
        "token": state.token,
        "source": pending.source,
        "start": pending.start,
        "end": pending.end,
        "events": [[event.event_type.name, event.timestamp, event.sequence] for event in pending],
        "schema": _metadata(pending.schema),
    }
    schema = (pending.schema or _NO_ROWS).with_metadata({_KEY: json.dumps(head).encode()})
    with pa.ipc.new_file(file, schema) as writer:
        for event in pending:
            for part in event.parts:
                writer.write_batch(part.replace_schema_metadata(schema.metadata))


def _read(reader: Any) -> SubscriptionState:
    head = json.loads((reader.schema.metadata or {})[_KEY])
    if head["format"] != _FORMAT:
        raise ValueError(f"its format is {head['format']}")
    metadata = {name.encode("latin-1"): value.encode("latin-1") for name, value in head["schema"].items()} or None
    parts = _parts(reader, metadata)
    events = tuple(_event(EventType[name], timestamp, sequence, parts) for name, timestamp, sequence in head["events"])
    if next(parts, None) is not None:
        raise ValueError("it has more rows than events")
    return SubscriptionState(head["name"], head["token"], ChangeEventBatch(head["source"], events, head["start"], head["end"]))


def _parts(reader: Any, metadata: dict[bytes, bytes] | None) -> Iterator[pa.RecordBatch]:
    for at in range(reader.num_record_batches):
        batch = reader.get_batch(at)
        batch.validate(full=True)
        yield batch.replace_schema_metadata(metadata)


def _event(event_type: EventType, timestamp: int, sequence: int | None, parts: Iterator[pa.RecordBatch]) -> ChangeEvent:
    if event_type is EventType.WATERMARK:
        return Watermark(timestamp)
    rows = next(parts, None)
    if rows is None:
        raise ValueError("it has fewer rows than events")
    if event_type is EventType.SNAPSHOT:
        return Snapshot(rows, timestamp)
    if sequence is None:
        raise ValueError("an event has no sequence")
    if event_type is EventType.UPDATE:
        new = next(parts, None)
        if new is None:
            raise ValueError("it has fewer rows than events")
        return Update(rows, new, timestamp, sequence)
    return (Insert if event_type is EventType.INSERT else Delete)(rows, timestamp, sequence)


def _metadata(schema: pa.Schema | None) -> dict[str, str]:
    """The schema's own metadata, any bytes as text."""
    metadata = (schema.metadata if schema is not None else None) or {}
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in metadata.items()}
