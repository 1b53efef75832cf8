"""A table of the current state, as Delta Lake: each fold is one commit of what it changes, and how far the table has come is in it.

Spark works out what changes; the package deltalake merges it, in the driver. Source: docs/how-it-works.md, Applying.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa
import pyarrow.dataset
from pyspark.sql import DataFrame, SparkSession

from dmsjournal.errors import InvalidRequest, UnsupportedCapability
from dmsjournal.spark import lake_files
from dmsjournal.spark.bodies import VARIANT_TYPE
from dmsjournal.spark.body_columns import ToVariants
from dmsjournal.spark.delta_changes import NOWHERE, adding_of
from dmsjournal.spark.delta_log import DeltaLog
from dmsjournal.spark.fingerprint_numbers import fingerprint_of, numbers_of
from dmsjournal.spark.fold import DELETE, GONE, OP, PUT, REKEY, folded, merged
from dmsjournal.spark.inputs import arrow_schema, grown
from dmsjournal.spark.lake_files import DataFile, StoredFile
from dmsjournal.spark.manifests import OutputState
from dmsjournal.spark.stores import Store
from dmsjournal.util.version import VERSION

try:
    import deltalake
    from deltalake.exceptions import DeltaError
    from deltalake.transaction import create_table_with_add_actions
except ImportError as error:
    raise UnsupportedCapability("a Delta table without the package deltalake", "pip install 'dmsjournal[delta]'") from error

FILE_SIZE = 128 * 2**20  # bytes of a file, about
MAKER = "dmsjournal apply"
MARK = "_applied"  # in the folder of tables of one resource each: DeltaByResource

_BATCH = 8_192  # rows that are in memory at once while they are handed over
# An id names one document, and a uuid tells its lifetimes apart: fold.merged.
_SAME = (
    "current.document_id = changed.document_id "
    f"AND (changed.{OP} IN ('{PUT}', '{GONE}') OR current.document_uuid = changed.document_uuid)"
)


class DeltaDocuments:
    """A Delta table in a store: of all resources, with a partition each, or of one. Others may compact it and vacuum it."""

    def __init__(self, store: Store, *, partition: bool = True) -> None:
        self.store = store
        self._log, self._by = DeltaLog(store, "table", MAKER), ["resource"] if partition else []
        self._had: OutputState | None = None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """See tables.Table: a commit after another run's is refused."""
        yield

    def state(self) -> OutputState | None:
        """See tables.Table."""
        if self._by and is_table(self.store.under(MARK)):
            raise InvalidRequest("table", str(self.store), "it has a table for each resource: add `by_resource`")
        found = self._log.load()
        if found is None:
            return None
        common, told = found
        self._had = OutputState(common["chain"], fingerprint_of(told), common["columns"])
        return self._had

    def files(self) -> list[StoredFile]:
        """The files of the state that was read last."""
        return self._log.files()

    def read(self, spark: SparkSession) -> DataFrame:
        """See tables.Table. A commit's files are there until a vacuum, so it reads one moment."""
        state = self.state()
        assert state is not None
        return lake_files.read(spark, self.store, arrow_schema(state.columns), self.files())

    def fold(self, spark: SparkSession, rows: DataFrame, state: OutputState, afresh: bool) -> None:
        """See tables.Table."""
        schema = arrow_schema(state.columns)
        if afresh or self._log.table is None:
            self._log.refuse_variants(schema)
            documents = folded(None, rows).hint("rebalance", "resource")
            convert = converting(schema)
            files = lake_files.write(documents, self.store, schema, by="resource", kind=None, size=FILE_SIZE, convert=convert)
            self.begin(files, state)
            return
        changed = merged(rows)
        convert = converting(schema)
        files = lake_files.write(changed, self.store, staged(schema), by=None, kind=None, size=FILE_SIZE, convert=convert)
        try:
            self.merge(files, state)
        finally:
            lake_files.remove(self.store, files)

    def _grow(self, state: OutputState) -> None:
        """Commits the columns that are new in a state, with nothing else.

        A merge that adds fields of bodies itself (deltalake's merge_schema) makes null of the bodies that it does not change. The
        commit moves the numbers to where they are: so it is refused after another run's.
        """
        before = self._had
        assert before is not None
        columns = grown(before.columns, state.columns)
        schema = self._log.schema(arrow_schema(columns), {"chain": state.chain, "columns": columns})

        def make(properties: deltalake.CommitProperties) -> None:
            # Only an overwrite takes another schema. It is of a partition that there is not, so it removes no file.
            self._log.table.create_write_transaction(
                [], "overwrite", schema, partition_by=self._by, partition_filters=NOWHERE, commit_properties=properties
            )

        self._log.load_commit(self._commit(make, before))

    def begin(self, files: Sequence[DataFile], state: OutputState) -> None:
        """Commits files that hold all documents, in place of whatever the table held."""
        schema = self._log.schema(arrow_schema(state.columns), {"chain": state.chain, "columns": state.columns})
        adding = adding_of(files, by=bool(self._by))

        def make(properties: deltalake.CommitProperties) -> None:
            if self._log.table is None:
                create_table_with_add_actions(
                    self.store.uri,
                    schema,
                    adding,
                    partition_by=self._by,
                    storage_options=self.store.options,
                    commit_properties=properties,
                )
            else:
                self._log.table.create_write_transaction(
                    adding, "overwrite", schema, partition_by=self._by or None, commit_properties=properties
                )

        self._commit(make, state)

    def merge(self, files: Sequence[DataFile], state: OutputState) -> None:
        """Commits what `staged` files say, after the state that was read last."""
        if self._had is not None and grown(self._had.columns, state.columns) != self._had.columns:
            self._grow(state)

        def make(properties: deltalake.CommitProperties) -> None:
            table = self._log.table
            before = table.version()
            if files:
                paths = [file.path for file in files]
                changed = pyarrow.dataset.dataset(paths, format="parquet", filesystem=self.store.files())
                self._merge(changed.scanner(batch_size=_BATCH).to_reader(), state.columns, properties)
            if table.version() == before:  # a merge that changes no row makes no commit
                table.create_write_transaction(
                    [], "append", table.schema(), partition_by=self._by or None, commit_properties=properties
                )

        self._commit(make, state)

    def _merge(self, changed: Any, columns: Mapping[str, str], properties: deltalake.CommitProperties) -> None:
        stays = f"changed.{OP} = '{PUT}'"
        merge = self._log.table.merge(
            changed,
            _SAME,
            source_alias="changed",
            target_alias="current",
            writer_properties=deltalake.WriterProperties(compression="ZSTD"),
            commit_properties=properties,
        )
        every = {name: f"changed.{name}" for name in columns}
        (
            merge.when_matched_delete(f"changed.{OP} IN ('{GONE}', '{DELETE}')")
            .when_matched_update({"key_values": "changed.key_values"}, f"changed.{OP} = '{REKEY}'")
            .when_matched_update(every, stays)
            .when_not_matched_insert(every, stays)
            .execute()
        )

    def _commit(self, make: Any, state: OutputState) -> int | None:
        told = {"tool": f"dmsjournal {VERSION}", "version": state.version}
        return self._log.commit(make, numbers_of(state.fingerprint), told)


def is_table(store: Store) -> bool:
    """Whether there is a Delta table; reading one that cannot be looked at raises the error."""
    with suppress(OSError, DeltaError):
        return bool(deltalake.DeltaTable.is_deltatable(store.uri, store.options))
    return False


def converting(schema: pa.Schema) -> dict[str, lake_files.Convert]:
    """What makes VARIANTs of their parts, as lake_files.write takes it."""
    return {"body": ToVariants()} if "body" in schema.names and schema.field("body").type == VARIANT_TYPE else {}


def staged(schema: pa.Schema) -> pa.Schema:
    """The columns of files that hold what is to be merged."""
    return schema.append(pa.field(OP, pa.string()))
