"""The log of a Delta table of ours: what its commits keep, the files that it names, and one commit after the state that was read.

Each commit moves application transactions (Delta's action `txn`), which outlive the table's history. Of two commits that move the
same ones from one state, Delta refuses the second. Source: docs/how-it-works.md, Lakes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import pyarrow as pa

from dmsjournal.errors import InvalidRequest, JournalError, Unavailable, UnsupportedCapability
from dmsjournal.spark import stores
from dmsjournal.spark.bodies import VARIANT_TYPE
from dmsjournal.spark.lake_files import StoredFile
from dmsjournal.spark.stores import Store, reason_of

try:
    import deltalake
    from deltalake.exceptions import DeltaError
except ImportError as error:
    raise UnsupportedCapability("a Delta table without the package deltalake", "pip install 'dmsjournal[delta]'") from error

_APP = "dmsjournal."  # of application transactions
TOLD = "dmsjournal"  # in the metadata of commits, and of the column KEEPER
KEEPER = "resource"  # the column whose metadata has what all commits of a table have in common
_FINGERPRINT = ("version", "event", "document", "transaction", "at")
_LOOKED_AT = 1000  # commits of others after the last one of ours
_READ = {
    None,
    "timestampNtz",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "variantType",
}  # features of a table whose files are read as they are


class DeltaLog:
    """A table in a store, at the commit that `load` has found.

    `parameter` names the table in errors, `maker` the command that makes such tables, `numbers` what its transactions are called.
    """

    def __init__(self, store: Store, parameter: str, maker: str, numbers: Sequence[str] = ()) -> None:
        self.store, self._parameter, self._maker = store, parameter, maker
        self._numbers = (*numbers, *_FINGERPRINT)
        self.table: Any = None

    def load(self) -> tuple[dict[str, Any], dict[str, int]] | None:
        """What all commits have in common, and the numbers that the last one has moved; None where there is no table.

        Raises InvalidRequest where it is not one of `maker`, UnsupportedCapability, StoreRefused, Unavailable.
        """
        self.table = None
        try:
            if not deltalake.DeltaTable.is_deltatable(self.store.uri, self.store.options):
                self._refuse_others()
                return None
            table = deltalake.DeltaTable(self.store.uri, storage_options=self.store.options)
            found = {name: table.transaction_version(_APP + name) for name in self._numbers}
            self._refuse_restored(table)
        except (DeltaError, OSError) as error:
            raise self._failure(error) from error
        told = {name: value for name, value in found.items() if value is not None}
        kept = next((field.metadata.get(TOLD) for field in table.schema().fields if field.name == KEEPER), None)
        common = json.loads(str(kept)) if kept is not None else {}
        if len(told) < len(found) or common.get("made_by") != self._maker:
            raise InvalidRequest(
                self._parameter, str(self.store), f"it is a Delta table that {self._maker} did not make: name a new one"
            )
        self.table = table
        return common, told

    def schema(self, schema: pa.Schema, common: Mapping[str, Any]) -> deltalake.Schema:
        """A schema of ours as Delta has it, with what all commits have in common."""
        kept = {TOLD: json.dumps({"made_by": self._maker, **common}), "comment": "project, resource and version"}
        fields = []
        for each in deltalake.Schema.from_arrow(schema).fields:
            if schema.field(each.name).type == VARIANT_TYPE:
                each = deltalake.Field(each.name, variant())
            fields.append(deltalake.Field(each.name, each.type, metadata=kept) if each.name == KEEPER else each)
        return deltalake.Schema(fields)

    def refuse_variants(self, schema: pa.Schema) -> None:
        """Raises InvalidRequest for VARIANTs in a table that was made without them: its library can add no such feature."""
        if self.table is None or VARIANT_TYPE not in schema.types:
            return
        if "variantType" not in (self.table.protocol().reader_features or ()):
            raise InvalidRequest(
                self._parameter,
                str(self.store),
                "it was made without the feature variantType, which bodies as variant need: name a new one",
            )

    def files(self) -> list[StoredFile]:
        """The files of the commit that was loaded. Raises UnsupportedCapability where they are not what they seem to be."""
        features = set(self.table.protocol().reader_features or ())
        mode = self.table.metadata().configuration.get("delta.columnMapping.mode", "none")
        if strange := sorted(features - _READ) or ([f"columnMapping {mode}"] if mode != "none" else []):
            raise UnsupportedCapability(
                f"{self.store}, a Delta table with {', '.join(strange)}", "take the feature out of the table, or begin a new one"
            )
        found = []
        for action in pa.table(self.table.get_add_actions(flatten=True)).to_pylist():
            named = {name.partition("."): value for name, value in action.items()}
            of = {kind: {key[2]: value for key, value in named.items() if key[0] == kind} for kind in ("partition", "max")}
            # the log has a path as a URI
            found.append(StoredFile(unquote(action["path"]), of["partition"], action["size_bytes"], of["max"]))
        return found

    def commit(
        self, make: Callable[[deltalake.CommitProperties], None], numbers: Mapping[str, int], told: Mapping[str, Any]
    ) -> int | None:
        """Makes a commit after the one that was loaded; gives its number, None where it cannot be read any more.

        `told`: for who reads the history. Raises Unavailable where another run has committed since: then nothing of it is in the
        table. Where the store did not answer, it may be there, whole: the next run sees that.
        """
        text = json.dumps({"attempt": uuid4().hex, **told})
        properties = deltalake.CommitProperties(
            custom_metadata={TOLD: text},
            app_transactions=[deltalake.Transaction(_APP + name, value) for name, value in numbers.items()],
        )
        try:
            make(properties)
        except (DeltaError, OSError) as error:
            found = self._commit_of(text)  # the answer may have been lost alone
            if found is None:
                raise self._failure(error) from error
            return found
        return self._commit_of(text)

    def load_commit(self, number: int | None) -> None:
        """Goes on from a commit of ours, whatever came after it. Raises Unavailable where it cannot be read any more."""
        if number is None:
            raise Unavailable(f"{self.store} cannot be read as it was a moment ago", "run it again")
        try:
            self.table = deltalake.DeltaTable(self.store.uri, version=number, storage_options=self.store.options)
        except (DeltaError, OSError) as error:
            raise self._failure(error) from error

    def told(self) -> Iterator[dict[str, Any]]:
        """What our commits tell, the newest first, as far as the table keeps its history."""
        for commit in _commits(self.table):
            if TOLD in commit:
                yield json.loads(commit[TOLD])

    def _commit_of(self, text: str) -> int | None:
        """The number of the commit that tells this, among the last ones."""
        try:
            table = deltalake.DeltaTable(self.store.uri, storage_options=self.store.options)
            for commit in table.history(20):
                if commit.get(TOLD) == text:
                    return int(commit["version"])
        except (DeltaError, OSError):
            return None
        return None

    def _refuse_restored(self, table: Any) -> None:
        """A table that was restored to an older commit keeps the word of how far it had come, and has lost the rows."""
        for commit in islice(_commits(table), _LOOKED_AT):
            if TOLD in commit:
                return
            if commit.get("operation") == "RESTORE":
                remedy = "it was restored to an older commit, and lacks windows that its log says it has: begin a new one"
                raise InvalidRequest(self._parameter, str(self.store), remedy)

    def _refuse_others(self) -> None:
        """A folder that holds something else is refused before a table is put among it."""
        if (folder := self.store.folder) is None or not folder.exists():
            return
        if not folder.is_dir():
            raise InvalidRequest(self._parameter, str(self.store), "there is a file of that name: name a folder")
        strange = [name for name in sorted(each.name for each in folder.iterdir()) if not _is_ours(name)]
        if strange:
            remedy = f"it holds {strange[0]} and is no Delta table: name a new folder"
            raise InvalidRequest(self._parameter, str(self.store), remedy)

    def _failure(self, error: Exception) -> JournalError:
        return failure(self.store, error)


def variant() -> Any:
    """Delta's type for a VARIANT. Raises UnsupportedCapability."""
    try:
        from deltalake.schema import VariantType
    except ImportError as error:
        told = f"a VARIANT in a Delta table with deltalake {deltalake.__version__}"
        raise UnsupportedCapability(told, "pip install --upgrade deltalake, or take --body json") from error
    return VariantType()


def _commits(table: Any) -> Iterator[dict[str, Any]]:
    """The commits, the newest first, a few at a time: each one is a file to read."""
    limit, seen = 5, 0
    while True:
        commits = table.history(limit)
        yield from commits[seen:]
        if len(commits) < limit:
            return
        limit, seen = limit * 5, len(commits)


def failure(store: Store, error: Exception) -> JournalError:
    """An error of the store, or of another run that was faster, as ours."""
    reason = reason_of(error)
    others = ("oncurrent transaction", "already exists", "Failed to commit transaction")
    if any(words in reason for words in others):
        return Unavailable(f"another run has committed to {store} meanwhile", "nothing of this one is in it: run it again")
    return stores.failure(f"{store} could not be reached or written", reason)


def _is_ours(name: str) -> bool:
    """Whether a name may stand in the folder of a table whose first run was killed."""
    return name == "_delta_log" or (name.startswith("part-") and name.endswith(".parquet"))
