"""A table of changes, as Apache Iceberg: one window is one snapshot, and how far the table has come is in the same commit.

Source: docs/how-it-works.md, Lakes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from dmsjournal.errors import UnsupportedCapability
from dmsjournal.spark import bodies, lake_files
from dmsjournal.spark.fingerprint_numbers import fingerprint_of, numbers_of
from dmsjournal.spark.iceberg_log import Change, IcebergLog
from dmsjournal.spark.lake_files import DataFile, StoredFile
from dmsjournal.spark.lake_tables import Destination, LakeSettings, LakeState
from dmsjournal.spark.stores import Store

MAKER = "dmsjournal extract"
DATA = "data"  # the folder of a table's files, as Iceberg has it


def table_of(
    target: str | os.PathLike[str], conf: Mapping[str, str] | None = None, catalog: Mapping[str, str] | None = None
) -> IcebergChanges:
    """The table of a name such as edfi.changes, in the catalog that its properties name.

    Raises InvalidRequest, StoreRefused, Unavailable.
    """
    return IcebergChanges(IcebergLog(target, conf, catalog, parameter="output", maker=MAKER, example="edfi.changes"))


class IcebergChanges:
    """A table in a catalog. Others may compact it, and expire its snapshots."""

    def __init__(self, log: IcebergLog) -> None:
        self._log = log
        self._made: Change | None = None

    def __str__(self) -> str:
        return self._log.name

    def state(self) -> LakeState | None:
        """See ChangeTable."""
        self._made = None
        told = self._log.load()
        if told is None:
            return None
        assert self._log.table is not None
        names, resources = set(self._log.table.schema().column_names), told["resources"]
        form = told.get("body", bodies.JSON if "body" in names else None)
        settings = LakeSettings(
            None if resources is None else tuple(resources),
            form,
            "etag" in names,
            not self._log.table.spec().is_unpartitioned(),
            self._log.fields("body") if form == bodies.STRUCT else None,
        )
        return LakeState(settings, told["first"], fingerprint_of(told["fingerprint"]), told["begins"])

    def refuse_form(self, form: str) -> None:
        """See ChangeTable."""
        if form == bodies.VARIANT:
            told = "a VARIANT in an Iceberg table, whose type pyiceberg does not have"
            raise UnsupportedCapability(told, "take --body struct or json, or --format delta")

    @property
    def chain(self) -> str:
        """See ChangeTable."""
        return self._log.uuid

    @property
    def store(self) -> Store:
        """See ChangeTable."""
        return self._log.store()

    def files(self) -> list[StoredFile]:
        """See ChangeTable."""
        return self._log.files()

    def told(self) -> Iterator[dict[str, Any]]:
        """See ChangeTable."""
        return self._log.told()

    def place(self, schema: pa.Schema, settings: LakeSettings) -> Destination:
        """See ChangeTable. A new table is staged: the catalog says where it will be."""
        self._made = self._log.begin(schema, partition=settings.partition)
        if self._log.table is not None and settings.body == bodies.STRUCT and settings.fields != self._log.fields("body"):
            self._log.grow(self._made, schema.field("body"))
        # add_files finds a file's partition by the column in it, so the column stays in the files
        return Destination(self._log.store(self._made).under(DATA), lake_files.together if settings.partition else None)

    def commit(self, files: Sequence[DataFile], schema: pa.Schema, state: LakeState, told: dict[str, Any]) -> int | None:
        """See ChangeTable."""
        assert self._made is not None
        numbers = numbers_of(state.fingerprint)
        kept = {
            "resources": state.settings.resources,
            "body": state.settings.body,
            "begins": state.begins,
            "first": state.first,
            "fingerprint": numbers,
        }
        return self._log.commit(self._made, [f"{DATA}/{file.path}" for file in files], kept, told | {"fingerprint": numbers})
