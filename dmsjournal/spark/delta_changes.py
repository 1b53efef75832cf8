"""A table of changes, as Delta Lake: one window is one commit, and how far the table has come is in the commit itself.

A commit has application transactions (Delta's action `txn`), which outlive the table's history: the window's versions, and by what
the database's history is known. Of two commits that both move them, Delta refuses the second. Source: docs/how-it-works.md, Lakes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dmsjournal.database.fingerprints import Fingerprint
from dmsjournal.errors import InvalidRequest, Unavailable, UnsupportedCapability
from dmsjournal.spark.lake_files import DataFile
from dmsjournal.spark.stores import Store
from dmsjournal.util.times import microseconds, time_of

try:
    import deltalake
    from deltalake.exceptions import DeltaError
    from deltalake.transaction import AddAction, create_table_with_add_actions
except ImportError as error:
    raise UnsupportedCapability("a Delta table without the package deltalake", "pip install 'dmsjournal[delta]'") from error

_APP = "dmsjournal."  # of application transactions, and of the metadata of commits
_SETTINGS = "dmsjournal"  # in the metadata of the column `resource`
_NONE = -1  # in place of the version of an event that there is not
_LOOKED_AT = 1000  # commits of others after the last one of ours


@dataclass(frozen=True, slots=True)
class LakeSettings:
    """What all windows of a table have in common. `resources`: by name, None for all."""

    resources: tuple[str, ...] | None
    body: bool
    etag: bool
    partition: bool


@dataclass(frozen=True, slots=True)
class LakeState:
    """How far a table has come: its last window, from `first` to the fingerprint's version, both inclusive."""

    settings: LakeSettings
    first: int
    fingerprint: Fingerprint

    @property
    def version(self) -> int:
        """The last version that was read, inclusive."""
        return self.fingerprint.version


class DeltaChanges:
    """A table of changes in a store. Its commits tell how far it has come; others may compact it and vacuum it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._table: Any = None

    def state(self) -> LakeState | None:
        """How far it has come; None where there is no table. Raises InvalidRequest where it is not ours, Unavailable."""
        try:
            if not deltalake.DeltaTable.is_deltatable(self.store.uri, self.store.options):
                self._refuse_others()
                return None
            self._table = table = deltalake.DeltaTable(self.store.uri, storage_options=self.store.options)
            found = {
                name: table.transaction_version(_APP + name)
                for name in ("first", "version", "event", "document", "transaction", "at")
            }
            self._refuse_restored(table)
        except (DeltaError, OSError) as error:
            raise _unavailable(self.store, error) from error
        kept = next((field.metadata.get(_SETTINGS) for field in table.schema().fields if field.name == "resource"), None)
        told = {name: value for name, value in found.items() if value is not None}
        if len(told) < len(found) or kept is None:
            raise InvalidRequest(
                "output", str(self.store), "it is a Delta table that dmsjournal extract did not make: name a new one"
            )
        names = {field.name for field in table.schema().fields}
        resources = json.loads(str(kept))["resources"]
        settings = LakeSettings(
            None if resources is None else tuple(resources),
            "body" in names,
            "etag" in names,
            bool(table.metadata().partition_columns),
        )
        if told["event"] == _NONE:
            return LakeState(settings, told["first"], Fingerprint(told["version"]))
        event = (told["event"], told["document"], told["transaction"], time_of(told["at"]))
        return LakeState(settings, told["first"], Fingerprint(told["version"], *event))

    def commit(
        self,
        files: Sequence[DataFile],
        schema: pa.Schema,
        state: LakeState,
        told: dict[str, Any],
    ) -> int | None:
        """Commits a window after the state that was read last; gives the commit's number, None where it cannot be read any more.

        `told`: for who reads the history. Raises Unavailable where another run has committed since: then nothing of it is in the
        table. Where the store did not answer, it may be there, whole: the next run sees that.
        """
        settings, by = state.settings, ["resource"] if state.settings.partition else []
        adding = [
            AddAction(
                file.path,
                file.size,
                {"resource": file.partition} if settings.partition else {},
                time.time_ns() // 1_000_000,
                True,
                json.dumps(file.statistics),
            )
            for file in files
        ]
        properties = deltalake.CommitProperties(
            custom_metadata={"dmsjournal": json.dumps(told)}, app_transactions=_transactions(state)
        )
        try:
            if self._table is None:
                create_table_with_add_actions(
                    self.store.uri,
                    _delta_schema(schema, settings),
                    adding,
                    partition_by=by,
                    storage_options=self.store.options,
                    commit_properties=properties,
                )
            else:
                self._table.create_write_transaction(
                    adding, "append", self._table.schema(), partition_by=by or None, commit_properties=properties
                )
        except (DeltaError, OSError) as error:
            found = self._commit_of(told)  # the answer may have been lost alone
            if found is None:
                raise _unavailable(self.store, error) from error
            return found
        return self._commit_of(told)

    def _commit_of(self, told: dict[str, Any]) -> int | None:
        """The number of the commit that tells this, among the last ones."""
        try:
            table = deltalake.DeltaTable(self.store.uri, storage_options=self.store.options)
            for commit in table.history(20):
                if commit.get("dmsjournal") == json.dumps(told):
                    return int(commit["version"])
        except (DeltaError, OSError):
            return None
        return None

    def _refuse_restored(self, table: Any) -> None:
        """A table that was restored to an older commit keeps the word of how far it had come, and has lost the rows."""
        for commit in table.history(_LOOKED_AT):
            if "dmsjournal" in commit:
                return
            if commit.get("operation") == "RESTORE":
                remedy = "it was restored to an older commit, and lacks windows that its log says it has: begin a new one"
                raise InvalidRequest("output", str(self.store), remedy)

    def _refuse_others(self) -> None:
        """A folder that holds something else is refused before a table is put among it."""
        if (folder := self.store.folder) is None or not folder.exists():
            return
        if not folder.is_dir():
            raise InvalidRequest("output", str(self.store), "there is a file of that name: name a folder")
        strange = [name for name in sorted(each.name for each in folder.iterdir()) if not _is_ours(name)]
        if strange:
            raise InvalidRequest("output", str(self.store), f"it holds {strange[0]} and is no Delta table: name a new folder")


def _is_ours(name: str) -> bool:
    """Whether a name may stand in the folder of a table whose first run was killed."""
    return name == "_delta_log" or (name.startswith("part-") and name.endswith(".parquet"))


def _unavailable(store: Store, error: Exception) -> Unavailable:
    reason = " ".join(part.strip(" \u21b3") for part in str(error).splitlines())
    if "oncurrent transaction" in reason or "already exists" in reason or "Failed to commit transaction" in reason:
        return Unavailable(f"another run has committed to {store} meanwhile", "nothing of this one is in it: run it again")
    return Unavailable(f"{store} could not be reached or written: {reason[:500]}", "run it again, once the reason is gone")


def _transactions(state: LakeState) -> list[deltalake.Transaction]:
    at = state.fingerprint
    values = {"first": state.first, "version": at.version, "event": _NONE, "document": 0, "transaction": 0, "at": 0}
    if at.event_version is not None:
        assert at.document_id is not None
        assert at.transaction_id is not None
        assert at.created_at is not None
        values |= {"event": at.event_version, "document": at.document_id, "transaction": at.transaction_id}
        values["at"] = microseconds(at.created_at)
    return [deltalake.Transaction(_APP + name, value) for name, value in values.items()]


def _delta_schema(schema: pa.Schema, settings: LakeSettings) -> deltalake.Schema:
    kept = {_SETTINGS: json.dumps({"resources": settings.resources}), "comment": "project, resource and version"}
    fields = deltalake.Schema.from_arrow(schema).fields
    return deltalake.Schema(
        [deltalake.Field(each.name, each.type, metadata=kept) if each.name == "resource" else each for each in fields]
    )
