"""Manifests and checkpoints: what a run says of itself, what an output's runs have in common, and how far they have come.

All are JSON, read strictly: a file that is cut short or of a later version is refused by name, never guessed at.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from dmsjournal.database.fingerprints import Fingerprint
from dmsjournal.errors import InvalidRequest
from dmsjournal.model.resources import ResourceKey
from dmsjournal.util.files import write_whole

FORMAT = 1
CHANGE_TYPES = ("upsert", "delete", "key_change")  # what _change_type says


class Counts(msgspec.Struct, frozen=True):
    """Rows of one resource in a run, by type."""

    upsert: int = 0
    delete: int = 0
    key_change: int = 0


class File(msgspec.Struct, frozen=True):
    """A Parquet file of a run; `path` is relative to the run's folder."""

    path: str
    rows: int
    bytes: int


class Manifest(msgspec.Struct, frozen=True):
    """A run, whole: what it covers, both ends inclusive, and what it holds. `first` is 0 where `kind` is full.

    `resources`: by name, those that have rows. `schema`: the columns and Spark's names for their types. `fingerprint`: the
    database's last event at or below `last`.
    """

    tool: str
    chain: str
    kind: Literal["full", "window"]
    first: int
    last: int
    horizon: int
    resources: dict[str, Counts]
    schema: dict[str, str]
    fingerprint: Fingerprint
    files: list[File]
    began_at: datetime
    finished_at: datetime
    format: int = FORMAT

    @property
    def rows(self) -> Counts:
        """Rows of all resources, by type."""
        counts = self.resources.values()
        return Counts(*(sum(getattr(each, name) for each in counts) for name in CHANGE_TYPES))

    def __str__(self) -> str:
        return f"full extract at {self.last}" if self.kind == "full" else f"window {self.first}-{self.last}"


class OutputSettings(msgspec.Struct, frozen=True):
    """What all runs of one output have in common. `chain` is made up once, and tells one output's runs from another's.

    `resources`: by name, None for all that the database knows at the time of each run. `form`: of the bodies, where there are any.
    """

    chain: str
    resources: list[str] | None
    body: bool
    etag: bool
    partition: bool = True
    form: Literal["json", "variant"] = "json"
    format: int = FORMAT

    @property
    def chosen(self) -> list[ResourceKey] | None:
        """The resources; None for all."""
        return None if self.resources is None else [ResourceKey.parse(name) for name in self.resources]


class ExtractCheckpoint(msgspec.Struct, frozen=True):
    """How far an output has come: everything up to the fingerprint's version, inclusive, is in its runs."""

    chain: str
    fingerprint: Fingerprint
    format: int = FORMAT

    @property
    def version(self) -> int:
        """The last version that was read, inclusive: go on with the next one."""
        return self.fingerprint.version


class OutputState(msgspec.Struct, frozen=True):
    """How far a table of current state has come in the runs of a chain: everything up to the fingerprint's version, inclusive.

    `columns`: Spark's types by name.
    """

    chain: str
    fingerprint: Fingerprint
    columns: dict[str, str]
    format: int = FORMAT

    @property
    def version(self) -> int:
        """The last version that is in the table, inclusive."""
        return self.fingerprint.version


Stored = TypeVar("Stored", bound=msgspec.Struct)


def read(path: Path, kind: type[Stored]) -> Stored:
    """What a file of ours holds. Raises InvalidRequest where it is not one."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidRequest("file", str(path), f"it cannot be read: {error.strerror}") from error
    return decoded(content, path, kind)


def decoded(content: bytes, path: Path, kind: type[Stored]) -> Stored:
    """What a text of ours says; `path` is where it was found. Raises InvalidRequest."""
    try:
        version = msgspec.json.decode(content, type=_Versioned).format
        if version == FORMAT:
            return msgspec.json.decode(content, type=kind)
    except msgspec.DecodeError as error:  # a ValidationError is one
        raise InvalidRequest("file", str(path), f"it is not a {kind.__name__.lower()} of dmsjournal's: {error}") from error
    raise InvalidRequest("file", str(path), f"its format is {version}, this version of dmsjournal reads {FORMAT}")


def encoded(stored: msgspec.Struct) -> bytes:
    """The text of what `decoded` reads."""
    return msgspec.json.format(msgspec.json.encode(stored), indent=2)


def write(path: Path, stored: msgspec.Struct) -> None:
    """Writes a file whole, so that a reader never sees a part of it."""
    write_whole(path, encoded(stored) + b"\n")


class _Versioned(msgspec.Struct, frozen=True):
    format: int
