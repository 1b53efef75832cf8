"""Tables of the current state, one for each resource: TABLE/Ed-Fi/Student/5.2.0, each a Delta table of its own.

Each table's commits tell how far it has come. A table without a change gets no commit. So the Delta table TABLE/_applied, whose
rows name the others, tells how far all of them have come; its commit follows theirs. Source: docs/how-it-works.md, Applying.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from urllib.parse import quote, unquote

import deltalake
import pyarrow as pa
import pyarrow.fs
from deltalake.transaction import create_table_with_add_actions
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from dmsjournal.errors import InvalidRequest
from dmsjournal.spark import lake_files
from dmsjournal.spark.delta_changes import adding_of
from dmsjournal.spark.delta_documents import FILE_SIZE, MAKER, MARK, DeltaDocuments, converting, is_table, staged
from dmsjournal.spark.delta_log import DeltaLog
from dmsjournal.spark.fingerprint_numbers import fingerprint_of, numbers_of
from dmsjournal.spark.fold import ORDER, folded, merged
from dmsjournal.spark.inputs import arrow_schema
from dmsjournal.spark.lake_files import DataFile
from dmsjournal.spark.manifests import OutputState
from dmsjournal.spark.stores import Store
from dmsjournal.util.version import VERSION

_MARKED = pa.schema([("resource", pa.string())])


class DeltaByResource:
    """The tables below a path of a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._mark = _Mark(store.under(MARK))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """See tables.Table: a commit after another run's is refused."""
        yield

    def state(self) -> OutputState | None:
        """See tables.Table: how far all tables have come."""
        if is_table(self.store):
            raise InvalidRequest("table", str(self.store), "it is one table for all resources: leave `by_resource` out")
        return self._mark.state()

    def read(self, spark: SparkSession) -> DataFrame:
        """See tables.Table."""
        state = self.state()
        assert state is not None
        files = []
        for resource in self._mark.resources():
            table, _ = self._marked(resource, state.chain)
            files += [replace(file, path=f"{path_of(resource)}/{file.path}") for file in table.files()]
        return lake_files.read(spark, self.store, arrow_schema(state.columns), files)

    def fold(self, spark: SparkSession, rows: DataFrame, state: OutputState, afresh: bool) -> None:
        """See tables.Table. A run that is killed between two tables' commits leaves some ahead: the next one passes those over."""
        marked = [] if afresh else self._mark.resources()
        there = {resource: self._marked(resource, state.chain) for resource in marked}
        tables = {resource: table for resource, (table, _) in there.items()}
        had = {resource: at.version for resource, (_, at) in there.items()}
        for resource in self.resources():  # those that a killed run has begun, and those that are to begin anew
            if resource not in tables:
                tables[resource] = self.table(resource)
                found = tables[resource].state()
                if found is not None and found.chain == state.chain and found.columns == state.columns:
                    had[resource] = found.version
        if had:
            rows = rows.persist()  # they are looked at twice
        try:
            new = self._written(folded(None, rows.where(~_among([*had])), apart=True), state, staging=False)
            for resource in sorted({*new, *(tables.keys() - had.keys())}):
                table = tables.setdefault(resource, self.table(resource))
                table.begin(_below(resource, new.get(resource, [])), state)
            if had:
                self._merge(rows, tables, had, state)
        finally:
            rows.unpersist()
        self._mark.move(state, sorted(tables.keys() - set(marked)), afresh)

    def resources(self) -> list[str]:
        """The resources that have a table."""
        if self.store.folder is not None and not self.store.folder.is_dir():
            return []
        there = self.store.files()
        paths = [""]
        for _ in range(3):
            selectors = [pyarrow.fs.FileSelector(path, allow_not_found=True) for path in paths]
            found = [each for selector in selectors for each in there.get_file_info(selector)]
            paths = [
                each.path for each in found if each.type == pyarrow.fs.FileType.Directory and not each.base_name.startswith("_")
            ]
        return sorted(resource_at(path) for path in paths if is_table(self.store.under(path)))

    def table(self, resource: str) -> DeltaDocuments:
        """The table of a resource."""
        return DeltaDocuments(self.store.under(path_of(resource)), partition=False)

    def _marked(self, resource: str, chain: str) -> tuple[DeltaDocuments, OutputState]:
        """The table of a resource that must have one, of a chain, with its state."""
        table = self.table(resource)
        state = table.state()
        if state is None:
            raise InvalidRequest("table", str(table.store), "it is gone: bring it back, or use `replace` to begin all tables anew")
        if state.chain != chain:
            remedy = "a run with `replace` that was cut short has begun it anew: do that run again"
            raise InvalidRequest("table", str(table.store), remedy)
        return table, state

    def _merge(self, rows: DataFrame, tables: dict[str, DeltaDocuments], had: dict[str, int], state: OutputState) -> None:
        # a table that is ahead has the rows already
        later = [(F.col("resource") == resource) & (F.col(ORDER) > version) for resource, version in had.items()]
        changed = merged(rows.where(reduce(Column.__or__, later)), apart=True)
        files = self._written(changed, state, staging=True)
        try:
            for resource in sorted(files):
                tables[resource].merge(_below(resource, files[resource]), state)
        finally:
            lake_files.remove(self.store, [file for written in files.values() for file in written])

    def _written(self, rows: DataFrame, state: OutputState, *, staging: bool) -> dict[str, list[DataFile]]:
        """Rows as files in the folders of their tables."""
        schema = arrow_schema(state.columns)
        files: dict[str, list[DataFile]] = {}
        for file in lake_files.write(
            rows if staging else rows.hint("rebalance", "resource"),
            self.store,
            staged(schema) if staging else schema,
            by="resource",
            kind=None,
            size=FILE_SIZE,
            folders=path_of,
            convert=converting(schema),
        ):
            files.setdefault(str(file.partition), []).append(file)
        return files


class _Mark:
    """The table that tells which tables there are, and how far all of them have come."""

    def __init__(self, store: Store) -> None:
        self._store, self._log = store, DeltaLog(store, "table", MAKER)

    def state(self) -> OutputState | None:
        found = self._log.load()
        if found is None:
            return None
        common, told = found
        return OutputState(common["chain"], fingerprint_of(told), common["columns"])

    def resources(self) -> list[str]:
        """Those that have a table, of the state that was read last."""
        if self._log.table is None:
            return []
        there = self._store.files()
        return sorted({name for file in self._log.files() for name in lake_files.column(there, file, "resource")})

    def move(self, state: OutputState, new: Sequence[str], afresh: bool) -> None:
        """Commits, after the state that was read last, how far all tables have come, and which are `new`."""
        rows = pa.table({"resource": new}, schema=_MARKED)
        adding = adding_of([lake_files.write_rows(rows, self._store)] if new else [], by=False)
        schema = self._log.schema(_MARKED, {"chain": state.chain, "columns": state.columns})

        def make(properties: deltalake.CommitProperties) -> None:
            table = self._log.table
            if table is None:
                create_table_with_add_actions(
                    self._store.uri, schema, adding, storage_options=self._store.options, commit_properties=properties
                )
            else:
                table.create_write_transaction(
                    adding, "overwrite" if afresh else "append", schema if afresh else table.schema(), commit_properties=properties
                )

        self._log.commit(make, numbers_of(state.fingerprint), {"tool": f"dmsjournal {VERSION}", "version": state.version})


def path_of(resource: str) -> str:
    """Where the table of a resource is: its project, its name and its version, without what a path has a meaning for."""
    project, _, rest = resource.partition("/")
    name, _, version = rest.rpartition("/")  # a name may have a slash that another program wrote
    return f"{_named(project)}/{_named(name)}/{_named(version)}"


def _named(part: str) -> str:
    name = quote(part, safe="+").replace("%", "=") or "="
    return f"={ord(name[0]):02X}{name[1:]}" if name[0] in "_." else name  # what begins so is hidden, or is the folder above


def resource_at(path: str) -> str:
    """The inverse of path_of."""
    return "/".join("" if part == "=" else unquote(part.replace("=", "%")) for part in path.split("/"))


def _below(resource: str, files: Sequence[DataFile]) -> list[DataFile]:
    """Files as the table of their resource names them."""
    return [replace(file, path=file.path.removeprefix(f"{path_of(resource)}/"), partition=None) for file in files]


def _among(resources: Sequence[str]) -> Column:
    return F.col("resource").isin(*resources) if resources else F.lit(False)
