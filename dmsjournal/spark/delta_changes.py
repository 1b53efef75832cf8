"""A table of changes, as Delta Lake: one window is one commit, and how far the table has come is in the commit itself.

A commit's transactions are the window's versions, and by what the database's history is known. Source: docs/how-it-works.md, Lakes.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from dmsjournal.errors import InvalidRequest, UnsupportedCapability
from dmsjournal.spark import bodies, body_types
from dmsjournal.spark.delta_log import DeltaLog, variant
from dmsjournal.spark.fingerprint_numbers import fingerprint_of, numbers_of
from dmsjournal.spark.lake_files import DataFile, StoredFile
from dmsjournal.spark.lake_tables import Destination, LakeSettings, LakeState
from dmsjournal.spark.stores import Store, store_of

try:
    import deltalake
    from deltalake.transaction import AddAction, create_table_with_add_actions
except ImportError as error:
    raise UnsupportedCapability("a Delta table without the package deltalake", "pip install 'dmsjournal[delta]'") from error

MAKER = "dmsjournal extract"
NOWHERE = [("resource", "=", "-")]  # a resource's name has slashes


def table_of(
    target: str | os.PathLike[str], conf: Mapping[str, str] | None = None, catalog: Mapping[str, str] | None = None
) -> DeltaChanges:
    """The table at a path or a URL. Raises InvalidRequest, UnsupportedCapability."""
    if catalog:
        raise InvalidRequest("catalog", sorted(catalog), "a Delta table is found by its path: leave it out")
    return DeltaChanges(store_of("output", target, conf))


class DeltaChanges:
    """A table of changes in a store. Its commits tell how far it has come; others may compact it and vacuum it."""

    def __init__(self, store: Store, parameter: str = "output") -> None:
        self.store = store
        self._log = DeltaLog(store, parameter, MAKER, ("first",))

    def __str__(self) -> str:
        return str(self.store)

    def refuse_form(self, form: str) -> None:
        """See ChangeTable."""
        if form == bodies.VARIANT:
            variant()

    def place(self, schema: pa.Schema, settings: LakeSettings) -> Destination:
        """See ChangeTable."""
        return Destination(self.store)

    def state(self) -> LakeState | None:
        """How far it has come; None where there is no table.

        Raises InvalidRequest where it is not ours, StoreRefused, Unavailable.
        """
        found = self._log.load()
        if found is None:
            return None
        common, told = found
        names = {field.name for field in self._log.table.schema().fields}
        resources = common["resources"]
        form = common.get("body", bodies.JSON if "body" in names else None)
        settings = LakeSettings(
            None if resources is None else tuple(resources),
            form,
            "etag" in names,
            bool(self._log.table.metadata().partition_columns),
            self._fields() if form == bodies.STRUCT else None,
        )
        return LakeState(settings, told["first"], fingerprint_of(told), common["begins"])

    def _fields(self) -> pa.StructType | None:
        """The columns of bodies; None where there is none yet."""
        for field in self._log.table.schema().fields:
            if field.name == "body":
                return body_types.plain(pa.schema(deltalake.Schema([field]).to_arrow()).field("body").type)
        return None

    @property
    def chain(self) -> str:
        """See ChangeTable."""
        return str(self._log.table.metadata().id)

    def files(self) -> list[StoredFile]:
        """See ChangeTable."""
        return self._log.files()

    def told(self) -> Iterator[dict[str, Any]]:
        """See ChangeTable."""
        return self._log.told()

    def commit(self, files: Sequence[DataFile], schema: pa.Schema, state: LakeState, told: dict[str, Any]) -> int | None:
        """Commits a window after the state that was read last: DeltaLog.commit."""
        settings, by, log = state.settings, ["resource"] if state.settings.partition else [], self._log
        adding = adding_of(files, by=bool(by))

        def make(properties: deltalake.CommitProperties) -> None:
            if log.table is None:
                create_table_with_add_actions(
                    self.store.uri,
                    log.schema(schema, {"resources": settings.resources, "begins": state.begins, "body": settings.body}),
                    adding,
                    partition_by=by,
                    storage_options=self.store.options,
                    commit_properties=properties,
                )
            elif settings.body == bodies.STRUCT and settings.fields != self._fields():
                # Only an overwrite takes another schema. It is of a partition that there is not, so it removes no file.
                grown = _with_body(log.table.schema(), schema)
                log.table.create_write_transaction(
                    adding, "overwrite", grown, partition_by=by, partition_filters=NOWHERE, commit_properties=properties
                )
            else:
                log.table.create_write_transaction(
                    adding, "append", log.table.schema(), partition_by=by or None, commit_properties=properties
                )

        numbers = numbers_of(state.fingerprint)
        return log.commit(make, {"first": state.first} | numbers, told | {"fingerprint": numbers})


def _with_body(had: deltalake.Schema, schema: pa.Schema) -> deltalake.Schema:
    """The schema of a table, with the column of bodies of another one."""
    [body] = deltalake.Schema.from_arrow(pa.schema([schema.field("body")])).fields
    if "body" not in {field.name for field in had.fields}:
        return deltalake.Schema([*had.fields, body])
    fields = [deltalake.Field(each.name, body.type, metadata=each.metadata) if each.name == "body" else each for each in had.fields]
    return deltalake.Schema(fields)


def adding_of(files: Sequence[DataFile], *, by: bool) -> list[AddAction]:
    """Files that were written, as a commit adds them; `by`: the table has the column of partitions."""
    now = time.time_ns() // 1_000_000
    return [
        AddAction(file.path, file.size, {"resource": file.partition} if by else {}, now, True, json.dumps(file.statistics))
        for file in files
    ]
