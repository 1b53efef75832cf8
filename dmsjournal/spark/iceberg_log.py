"""What an Iceberg table of ours tells of itself, the files that it names, and one commit after the state that was read.

The snapshot's summary tells what a commit has done. The table's properties keep how far the table has come, as they outlive the
expiry of snapshots. A commit names the snapshot that was read, so the catalog refuses the second of two. Source:
docs/how-it-works.md, Lakes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count
from typing import Any
from uuid import uuid4

import pyarrow as pa
import sqlalchemy as sa

from dmsjournal.errors import InvalidRequest, JournalError, StoreRefused, Unavailable, UnsupportedCapability
from dmsjournal.spark import body_types, stores
from dmsjournal.spark.lake_files import StoredFile
from dmsjournal.spark.stores import HADOOP, HDFS_SETTINGS, Store, hadoop_of, options_of, reason_of, store_of

try:
    import deltalake  # noqa: F401  # the way to the stores: lake_files
    from pyiceberg.catalog import Catalog, load_catalog
    from pyiceberg.conversions import from_bytes
    from pyiceberg.exceptions import (
        CommitFailedException,
        ForbiddenError,
        NoSuchPropertyException,
        NoSuchTableError,
        NotInstalledError,
        OAuthError,
        RESTError,
        TableAlreadyExistsError,
        UnauthorizedError,
    )
    from pyiceberg.io.pyarrow import parquet_files_to_data_files
    from pyiceberg.manifest import DataFile, FileFormat, ManifestFile
    from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table, Transaction
    from pyiceberg.table.refs import MAIN_BRANCH
    from pyiceberg.table.snapshots import Operation
    from pyiceberg.table.update import AssertCreate, AssertCurrentSchemaId, AssertRefSnapshotId, AssertTableUUID
    from pyiceberg.table.update.snapshot import _OverwriteFiles
    from pyiceberg.transforms import IdentityTransform
    from pyiceberg.types import (
        BooleanType,
        DecimalType,
        IcebergType,
        ListType,
        LongType,
        NestedField,
        StringType,
        StructType,
        TimestamptzType,
    )
except ImportError as error:
    raise UnsupportedCapability("an Iceberg table without the package pyiceberg", "pip install 'dmsjournal[iceberg]'") from error

Change = Transaction  # of a table, which `commit` makes

TOLD = "dmsjournal"  # in the summaries of snapshots, and in the table's properties
PARTITIONED = "resource"  # the column of partitions, where there are some
HDFS = "dmsjournal.spark.iceberg_hdfs.HdfsFileIO"  # pyiceberg's own way to HDFS asks for libhdfs, which is part of Hadoop

_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+")
_FASTER = (CommitFailedException, TableAlreadyExistsError, sa.exc.IntegrityError)
_REFUSALS = (ForbiddenError, OAuthError, UnauthorizedError)
_FAILURES = (*_FASTER, RESTError, NotInstalledError, sa.exc.SQLAlchemyError, OSError, ValueError)

# Properties of pyiceberg's, the words of the library that tasks write with, and Spark's settings.
_S3 = {
    "s3.access-key-id": ("aws_access_key_id", "spark.hadoop.fs.s3a.access.key"),
    "s3.secret-access-key": ("aws_secret_access_key", "spark.hadoop.fs.s3a.secret.key"),
    "s3.session-token": ("aws_session_token", "spark.hadoop.fs.s3a.session.token"),
    "s3.endpoint": ("aws_endpoint_url", "spark.hadoop.fs.s3a.endpoint"),
    "s3.region": ("aws_region", "spark.hadoop.fs.s3a.endpoint.region"),
}


class IcebergLog:
    """A table in a catalog, at the snapshot that `load` has found. Others may compact it, and expire its snapshots.

    `parameter` names the table in errors, `maker` the command that makes such tables, `example` is a name of one.
    """

    def __init__(
        self,
        target: str | os.PathLike[str],
        conf: Mapping[str, str] | None,
        catalog: Mapping[str, str] | None,
        *,
        parameter: str,
        maker: str,
        example: str,
    ) -> None:
        """Loads the catalog that its properties name. Raises InvalidRequest, StoreRefused, Unavailable."""
        self.name = os.fspath(target)
        if not _NAME.fullmatch(self.name):
            remedy = f"name the table in its catalog, such as {example}: letters, digits, _ and -"
            raise InvalidRequest(parameter, self.name, remedy)
        self._catalog = _loaded(conf or {}, catalog or {})
        self._conf, self._parameter, self._maker = dict(conf or {}), parameter, maker
        self.table: Table | None = None

    def load(self) -> dict[str, Any] | None:
        """What the properties keep; None where there is no table.

        Raises InvalidRequest where it is not one of `maker`, or was rolled back; StoreRefused, Unavailable.
        """
        self.table = self._load()
        if self.table is None:
            return None
        kept: dict[str, Any] = json.loads(self.table.properties.get(TOLD, "{}"))
        if kept.get("made_by") != self._maker:
            raise InvalidRequest(
                self._parameter, self.name, f"it is an Iceberg table that {self._maker} did not make: name a new one"
            )
        if not self._holds(kept["attempt"], kept["sequence"]):
            remedy = "it was restored to an older snapshot, and lacks windows that its properties say it has: begin a new one"
            raise InvalidRequest(self._parameter, self.name, remedy)
        return kept

    @property
    def uuid(self) -> str:
        """What tells this table from another one that takes its name."""
        assert self.table is not None
        return str(self.table.metadata.table_uuid)

    def begin(self, schema: pa.Schema, *, partition: bool) -> Change:
        """A change of the table, or one that makes it: then the catalog says where it will be. Raises Unavailable."""
        try:
            return self._staged(schema, partition) if self.table is None else self.table.transaction()
        except _FAILURES as error:
            raise self._failure(error) from error

    def grow(self, made: Change, field: pa.Field) -> None:
        """Adds a column, or the fields in it that the table lacks, in the same commit. Raises Unavailable."""
        try:
            with made.update_schema() as update:
                update.union_by_name(pa.schema([field]))
        except _FAILURES as error:
            raise self._failure(error) from error

    def reshape(self, made: Change, schema: pa.Schema) -> None:
        """Gives the table these columns, in the same commit, for rows that replace all that it has. Raises Unavailable."""
        had = {name: self.fields(name) for name in self._columns()}
        gone = [name for name in had if name not in schema.names or had[name] != schema.field(name).type]
        new = [field for field in schema if field.name in gone or field.name not in had]
        if not gone and not new:
            return
        numbers = count(1)
        try:
            with made.update_schema() as update:
                for name in gone:
                    update.delete_column(name)
                for field in new:
                    update.add_column(field.name, _type(field.type, numbers))
        except _FAILURES as error:
            raise self._failure(error) from error

    def _columns(self) -> list[str]:
        assert self.table is not None
        return [field.name for field in self.table.schema().fields]

    def fields(self, name: str) -> pa.DataType | None:
        """The type of a column; None where the table has no such column."""
        assert self.table is not None
        found = self.table.schema().as_arrow()
        return body_types.plain(found.field(name).type) if name in found.names else None

    def store(self, made: Change | None = None) -> Store:
        """Where the files of the table are, or will be. `made`: what begins it."""
        table = self.table if made is None else made._table
        assert table is not None
        of_io = table.io.properties
        conf = self._conf | {setting: str(of_io[word]) for word, (_, setting) in _S3.items() if of_io.get(word)}
        conf |= {f"{HADOOP}{name}": str(value) for name, value in of_io.items() if name.startswith(HDFS_SETTINGS)}
        return store_of("warehouse", table.location().rstrip("/"), conf)

    def files(self) -> list[StoredFile]:
        """The files of the snapshot that was loaded, by their paths in `store`. Raises UnsupportedCapability, Unavailable."""
        assert self.table is not None
        root = f"{self.table.location().rstrip('/')}/"
        found = []
        for file in self._planned():
            if not file.file_path.startswith(root):
                told = f"{self.name}, an Iceberg table with a file outside of {root}"
                raise UnsupportedCapability(told, "take write.data.path out of its properties and compact it, or begin a new one")
            low, high = self._bounds(file.lower_bounds), self._bounds(file.upper_bounds)
            found.append(StoredFile(file.file_path.removeprefix(root), {}, file.file_size_in_bytes, high, low))
        return found

    def told(self) -> Iterator[dict[str, Any]]:
        """What our commits tell, the newest first, as far as the table keeps its snapshots."""
        assert self.table is not None
        for snapshot in self._ancestors():
            if (told := _told_by(snapshot)) is not None:
                yield told

    def commit(
        self,
        made: Change,
        paths: Sequence[str],
        kept: Mapping[str, Any],
        told: Mapping[str, Any],
        removed: Collection[str] = (),
    ) -> int | None:
        """Makes one commit after the state that was loaded; gives the snapshot's id, None where it cannot be read any more.

        `paths`: of new files, `removed`: of files that it takes away, both in `store`. It is tried once: pyiceberg's own retry
        would put the files behind what another run has committed. Raises Unavailable where another commit was faster: then nothing
        of this one is in the table.
        """
        attempt = uuid4().hex
        own = {"made_by": self._maker, "attempt": attempt, "sequence": made.table_metadata.next_sequence_number()}
        summary = {TOLD: json.dumps({"attempt": attempt, **told})}
        root = made.table_metadata.location.rstrip("/")
        added = [f"{root}/{path}" for path in paths]
        try:
            made.set_properties({TOLD: json.dumps(own | dict(kept))})
            if removed:
                gone = {f"{root}/{path}" for path in removed}
                with _Replacing(Operation.OVERWRITE, made, made._table.io, snapshot_properties=summary) as change:
                    for file in self._planned():
                        if file.file_path in gone:
                            change.delete_data_file(file)
                    for file in parquet_files_to_data_files(made._table.io, made.table_metadata, iter(added)):
                        change.append_data_file(file)
            else:
                made.add_files(added, snapshot_properties=summary, check_duplicate_files=False)  # their names are new
            self._catalog.commit_table(made._table, self._requirements(made), made._updates)
        except _FAILURES as error:
            found = self._commit_of(attempt)  # the answer may have been lost alone
            if found is None:
                raise self._failure(error) from error
            return found
        return self._commit_of(attempt)

    def _requirements(self, made: Change) -> tuple[Any, ...]:
        if self.table is None:
            return (AssertCreate(),)
        read = self.table.metadata
        same = AssertRefSnapshotId.model_validate({"ref": MAIN_BRANCH, "snapshot-id": read.current_snapshot_id})
        fields = [each for each in made._requirements if isinstance(each, AssertCurrentSchemaId)]  # where it changes them
        return (AssertTableUUID(uuid=read.table_uuid), same, *fields)

    def _planned(self) -> list[DataFile]:
        """The data files of the snapshot that was loaded."""
        assert self.table is not None
        try:
            tasks = list(self.table.scan().plan_files())
        except _FAILURES as error:
            raise self._failure(error) from error
        for strange, words in (
            (any(task.delete_files for task in tasks), "delete files, which merge on read leaves"),
            (any(task.file.file_format != FileFormat.PARQUET for task in tasks), "files that are no Parquet"),
        ):
            if strange:
                remedy = "rewrite its data files as Parquet, without delete files (rewrite_data_files), or begin a new one"
                raise UnsupportedCapability(f"{self.name}, an Iceberg table with {words}", remedy)
        return [task.file for task in tasks]

    def _bounds(self, told: Mapping[int, bytes] | None) -> dict[str, int]:
        """Bounds of a file, of the columns of whole numbers."""
        assert self.table is not None
        columns = [field for field in self.table.schema().fields if isinstance(field.field_type, LongType)]
        bounds = told or {}
        return {each.name: int(from_bytes(LongType(), bounds[each.field_id])) for each in columns if each.field_id in bounds}

    def _load(self) -> Table | None:
        try:
            return self._catalog.load_table(self.name)
        except NoSuchTableError:
            return None
        except _FAILURES as error:
            raise self._failure(error) from error

    def _staged(self, schema: pa.Schema, partition: bool) -> Change:
        self._catalog.create_namespace_if_not_exists(self.name.rpartition(".")[0])
        numbers = count(1)
        columns = [_field(field, numbers) for field in schema]
        spec = UNPARTITIONED_PARTITION_SPEC
        if partition:
            source = next(column.field_id for column in columns if column.name == PARTITIONED)
            spec = PartitionSpec(PartitionField(source, 1000, IdentityTransform(), PARTITIONED))
        return self._catalog.create_table_transaction(self.name, Schema(*columns), partition_spec=spec)

    def _commit_of(self, attempt: str) -> int | None:
        """The snapshot of an attempt."""
        try:
            table = self._load()
        except JournalError:
            return None
        if table is None:
            return None
        for snapshot in table.snapshots():
            if (told := _told_by(snapshot)) is not None and told["attempt"] == attempt:
                return int(snapshot.snapshot_id)
        return None

    def _ancestors(self) -> Iterator[Any]:
        """The snapshots that led to the current one, which is the first, as far as they are kept."""
        assert self.table is not None
        snapshot = self.table.current_snapshot()
        while snapshot is not None:
            yield snapshot
            parent = snapshot.parent_snapshot_id
            snapshot = None if parent is None else self.table.snapshot_by_id(parent)

    def _holds(self, attempt: str, sequence: int) -> bool:
        """Whether an attempt is the last one of ours that led to the current snapshot; `sequence` is the number of its snapshot.

        Where it has expired, the snapshots that led from it to the current one have higher numbers.
        """
        is_after = False
        for snapshot in self._ancestors():
            if (told := _told_by(snapshot)) is not None:
                return bool(told["attempt"] == attempt)
            is_after = (snapshot.sequence_number or 0) > sequence
        return is_after

    def _failure(self, error: Exception) -> JournalError:
        return _failure(self.name, error)


class _Replacing(_OverwriteFiles):
    """A snapshot with new files in place of others. pyiceberg's own keeps each earlier one's list of removed files for ever."""

    def _process_manifests(self, manifests: list[ManifestFile]) -> list[ManifestFile]:
        return [each for each in manifests if each.added_snapshot_id == self.snapshot_id or _has_files(each)]


def _has_files(manifest: ManifestFile) -> bool:
    return manifest.has_added_files() or manifest.has_existing_files()


def _loaded(conf: Mapping[str, str], properties: Mapping[str, str]) -> Catalog:
    """The catalog that properties name. Raises InvalidRequest, StoreRefused, Unavailable."""
    options = options_of(conf)
    given = {word: options[known] for word, (known, _) in _S3.items() if known in options} | dict(properties)
    named = given.pop("name", "default")
    try:
        found = load_catalog(named, **given)
    except (ValueError, NoSuchPropertyException, NotInstalledError, sa.exc.ArgumentError, sa.exc.NoSuchModuleError) as error:
        remedy = "name it: uri=… and warehouse=…, or PYICEBERG_CATALOG__DEFAULT__URI and …__WAREHOUSE"
        raise InvalidRequest("catalog", sorted(properties), f"{remedy} ({_first_line(error)})") from error
    except _FAILURES as error:
        raise _failure(f"the catalog {named}", error) from error
    if str(found.properties.get("warehouse", "")).startswith("hdfs:"):
        for setting, value in ({"py-io-impl": HDFS} | hadoop_of(conf)).items():
            found.properties.setdefault(setting, value)
    return found


def _field(field: pa.Field, numbers: Iterator[int]) -> NestedField:
    """A column, and the fields in it, with numbers."""
    return NestedField(next(numbers), field.name, _type(field.type, numbers), required=False)


def _type(kind: pa.DataType, numbers: Iterator[int]) -> IcebergType:
    if pa.types.is_struct(kind):
        return StructType(*(_field(field, numbers) for field in kind))
    if pa.types.is_list(kind):
        return ListType(next(numbers), _type(kind.value_type, numbers), element_required=False)
    if pa.types.is_decimal(kind):
        return DecimalType(kind.precision, kind.scale)
    types: dict[str, IcebergType] = {"int64": LongType(), "string": StringType(), "bool": BooleanType()}
    return types.get(str(kind), TimestamptzType())


def _told_by(snapshot: Any) -> dict[str, Any] | None:
    text = snapshot.summary.additional_properties.get(TOLD) if snapshot.summary else None
    return None if text is None else dict(json.loads(text))


def _failure(name: str, error: Exception) -> JournalError:
    if isinstance(error, _FASTER):
        return Unavailable(f"another run has committed to {name} meanwhile", "nothing of this one is in it: run it again")
    reason = _first_line(error)
    if isinstance(error, _REFUSALS):
        return StoreRefused(f"{name}: {reason}", "mend what logs in to the catalog: credential=…, token=…")
    return stores.failure(f"{name} could not be reached or written", reason)


def _first_line(error: Exception) -> str:
    if "\u21b3" in str(error):  # of the library that writes, whose first line tells the kind of store alone
        return reason_of(error)[:500]
    lines = str(error).strip().splitlines()
    return lines[0][:500] if lines else type(error).__name__
