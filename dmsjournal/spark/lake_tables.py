"""Tables of changes in a lake, whatever their format: what a table tells, what a run does with it, and the formats that there are.

A format NAME is the module NAME_changes of this package with its function `table_of`; nothing else names the formats.
"""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import pyarrow as pa

import dmsjournal.spark
from dmsjournal.database.fingerprints import Fingerprint
from dmsjournal.errors import InvalidRequest
from dmsjournal.spark.fingerprint_numbers import fingerprint_of
from dmsjournal.spark.lake_files import DataFile, StoredFile
from dmsjournal.spark.stores import Store

_MODULES = "_changes"


@dataclass(frozen=True, slots=True)
class LakeSettings:
    """What all windows of a table have in common. `resources`: by name, None for all. `body`: one of bodies.FORMS, None for none.

    `fields`: what the columns of a body of the form `struct` are so far; later windows add to them.
    """

    resources: tuple[str, ...] | None
    body: str | None
    etag: bool
    partition: bool
    fields: pa.StructType | None = None


@dataclass(frozen=True, slots=True)
class LakeState:
    """How far a table has come: its last window, from `first` to the fingerprint's version, both inclusive.

    `begins`: the first version of its first window, 0 where that has all documents.
    """

    settings: LakeSettings
    first: int
    fingerprint: Fingerprint
    begins: int

    @property
    def version(self) -> int:
        """The last version that was read, inclusive."""
        return self.fingerprint.version


@dataclass(frozen=True, slots=True)
class LakeWindow:
    """A window of a table, both ends inclusive; `fingerprint` has no event where the table's history does not tell it any more."""

    first: int
    last: int
    fingerprint: Fingerprint

    @property
    def name(self) -> str:
        """As extract prints it."""
        return f"{self.first}-{self.last}"


@dataclass(frozen=True, slots=True)
class Destination:
    """Where the files of a window go. `folders`: as lake_files.write takes it."""

    store: Store
    folders: Callable[[str], str] | None = None


class ChangeTable(Protocol):
    """A table of changes. As text: its name, for messages."""

    def state(self) -> LakeState | None:
        """How far it has come; None where there is no table.

        Raises InvalidRequest where it is not ours, StoreRefused, Unavailable.
        """

    def refuse_form(self, form: str) -> None:
        """Raises UnsupportedCapability where the format cannot hold bodies in this form."""

    def place(self, schema: pa.Schema, settings: LakeSettings) -> Destination:
        """Where files go that the next commit names; after `state`."""

    @property
    def chain(self) -> str:
        """What tells this table from another one that takes its place; where there is a state."""

    @property
    def store(self) -> Store:
        """Where its files are; where there is a state."""

    def files(self) -> list[StoredFile]:
        """The files of the state that was read last, by their paths in `store`. Raises UnsupportedCapability where they are not
        what they seem to be."""

    def told(self) -> Iterator[dict[str, Any]]:
        """What the commits tell that led to the state that was read last, the newest first, as far as the history is kept."""

    def commit(self, files: Sequence[DataFile], schema: pa.Schema, state: LakeState, told: dict[str, Any]) -> int | None:
        """Makes one commit after the state that was read last; gives its number, None where it cannot be read any more.

        The same commit adds what `schema` has and the table lacks: the column of bodies, and fields of it.
        Raises Unavailable where another commit was faster: then nothing of this one is in the table.
        """


def windows_of(state: LakeState, told: Iterable[Mapping[str, Any]], after: int) -> list[LakeWindow]:
    """The windows after a version that one of them ended at, the earliest first. `told`: by the table's commits, the newest first.

    Where the history was cleaned, the first window covers all that it does not tell any more.
    """
    found: list[LakeWindow] = []
    if state.version <= after:
        return found
    upper = state.version
    for each in told:
        if each["last"] <= after:
            break
        at = fingerprint_of(each["fingerprint"]) if "fingerprint" in each else Fingerprint(each["last"])
        found.append(LakeWindow(each["first"], each["last"], at))
        upper = each["first"] - 1
    lowest = state.begins if after < 0 else after + 1
    if upper >= lowest:
        at = Fingerprint(upper) if found else state.fingerprint
        found.append(LakeWindow(lowest, upper, at))
    return found[::-1]


def formats() -> list[str]:
    """The formats that there are."""
    names = (module.name for module in pkgutil.iter_modules(dmsjournal.spark.__path__))
    return sorted(name.removesuffix(_MODULES) for name in names if name.endswith(_MODULES))


def checked_format(format: str, *others: str) -> str:
    """A format, or one of the `others`. Raises InvalidRequest."""
    known = [*others, *formats()]
    if format not in known:
        raise InvalidRequest("format", format, f"it is {', '.join(known[:-1])} or {known[-1]}")
    return format


def change_table(
    format: str, target: str | os.PathLike[str], conf: Mapping[str, str] | None, catalog: Mapping[str, str] | None
) -> ChangeTable:
    """The table that a target names. Raises InvalidRequest, and UnsupportedCapability where a package is missing."""
    module = import_module(f"dmsjournal.spark.{checked_format(format)}{_MODULES}")
    table: ChangeTable = module.table_of(target, conf, catalog)
    return table
