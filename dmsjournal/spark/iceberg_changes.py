"""A table of changes, as Apache Iceberg: one window is one snapshot, and how far the table has come is in the same commit.

The snapshot's summary tells the window. The table's properties keep it, too, as they outlive the expiry of snapshots. A commit
names the snapshot that was read, so the catalog refuses the second of two. Source: docs/how-it-works.md, Lakes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any
from uuid import uuid4

import pyarrow as pa
import sqlalchemy as sa

from dmsjournal.errors import InvalidRequest, JournalError, Unavailable, UnsupportedCapability
from dmsjournal.spark import bodies, body_types, lake_files
from dmsjournal.spark.fingerprint_numbers import fingerprint_of, numbers_of
from dmsjournal.spark.lake_files import DataFile
from dmsjournal.spark.lake_tables import Destination, LakeSettings, LakeState
from dmsjournal.spark.stores import HADOOP, HDFS_SETTINGS, hadoop_of, options_of, reason_of, store_of

try:
    import deltalake  # noqa: F401  # the way to the stores: lake_files
    from pyiceberg.catalog import Catalog, load_catalog
    from pyiceberg.exceptions import (
        CommitFailedException,
        NoSuchPropertyException,
        NoSuchTableError,
        NotInstalledError,
        RESTError,
        TableAlreadyExistsError,
    )
    from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.table import CreateTableTransaction, Table, Transaction
    from pyiceberg.table.refs import MAIN_BRANCH
    from pyiceberg.table.update import AssertCreate, AssertCurrentSchemaId, AssertRefSnapshotId, AssertTableUUID
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

MAKER = "dmsjournal extract"
TOLD = "dmsjournal"  # in the summaries of snapshots, and in the table's properties

HDFS = "dmsjournal.spark.iceberg_hdfs.HdfsFileIO"  # pyiceberg's own way to HDFS asks for libhdfs, which is part of Hadoop

_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+")
_FASTER = (CommitFailedException, TableAlreadyExistsError, sa.exc.IntegrityError)
_FAILURES = (*_FASTER, RESTError, NotInstalledError, sa.exc.SQLAlchemyError, OSError, ValueError)

# Properties of pyiceberg's, the words of the library that tasks write with, and Spark's settings.
_S3 = {
    "s3.access-key-id": ("aws_access_key_id", "spark.hadoop.fs.s3a.access.key"),
    "s3.secret-access-key": ("aws_secret_access_key", "spark.hadoop.fs.s3a.secret.key"),
    "s3.session-token": ("aws_session_token", "spark.hadoop.fs.s3a.session.token"),
    "s3.endpoint": ("aws_endpoint_url", "spark.hadoop.fs.s3a.endpoint"),
    "s3.region": ("aws_region", "spark.hadoop.fs.s3a.endpoint.region"),
}


def table_of(
    target: str | os.PathLike[str], conf: Mapping[str, str] | None = None, catalog: Mapping[str, str] | None = None
) -> IcebergChanges:
    """The table of a name such as edfi.changes, in the catalog that its properties name. Raises InvalidRequest, Unavailable."""
    name = os.fspath(target)
    if not _NAME.fullmatch(name):
        raise InvalidRequest("output", name, "name the table in its catalog, such as edfi.changes: letters, digits, _ and -")
    stores = options_of(conf or {})
    properties = {word: stores[known] for word, (known, _) in _S3.items() if known in stores} | dict(catalog or {})
    named = properties.pop("name", "default")
    try:
        found = load_catalog(named, **properties)
    except (ValueError, NoSuchPropertyException, NotInstalledError, sa.exc.ArgumentError, sa.exc.NoSuchModuleError) as error:
        remedy = "name it: uri=… and warehouse=…, or PYICEBERG_CATALOG__DEFAULT__URI and …__WAREHOUSE"
        raise InvalidRequest("catalog", sorted(catalog or ()), f"{remedy} ({_first_line(error)})") from error
    except _FAILURES as error:
        raise _unavailable(f"the catalog {named}", error) from error
    if str(found.properties.get("warehouse", "")).startswith("hdfs:"):
        for setting, value in ({"py-io-impl": HDFS} | hadoop_of(conf or {})).items():
            found.properties.setdefault(setting, value)
    return IcebergChanges(found, name, conf)


class IcebergChanges:
    """A table in a catalog. Others may compact it, and expire its snapshots."""

    def __init__(self, catalog: Catalog, name: str, conf: Mapping[str, str] | None) -> None:
        self._catalog, self._name, self._conf = catalog, name, dict(conf or {})
        self._table: Table | None = None
        self._made: Transaction | None = None

    def __str__(self) -> str:
        return self._name

    def state(self) -> LakeState | None:
        """See ChangeTable."""
        self._made, self._table = None, self._load()
        if self._table is None:
            return None
        told = json.loads(self._table.properties.get(TOLD, "{}"))
        if told.get("made_by") != MAKER:
            raise InvalidRequest("output", self._name, f"it is an Iceberg table that {MAKER} did not make: name a new one")
        if not _holds(self._table, told["attempt"], told["sequence"]):
            remedy = "it was restored to an older snapshot, and lacks windows that its properties say it has: begin a new one"
            raise InvalidRequest("output", self._name, remedy)
        names, resources = set(self._table.schema().column_names), told["resources"]
        form = told.get("body", bodies.JSON if "body" in names else None)
        settings = LakeSettings(
            None if resources is None else tuple(resources),
            form,
            "etag" in names,
            not self._table.spec().is_unpartitioned(),
            self._fields() if form == bodies.STRUCT else None,
        )
        return LakeState(settings, told["first"], fingerprint_of(told["fingerprint"]), told["begins"])

    def refuse_form(self, form: str) -> None:
        """See ChangeTable."""
        if form == bodies.VARIANT:
            told = "a VARIANT in an Iceberg table, whose type pyiceberg does not have"
            raise UnsupportedCapability(told, "take --body struct or json, or --format delta")

    def _fields(self) -> pa.StructType | None:
        """The columns of bodies; None where there is none yet."""
        assert self._table is not None
        found = self._table.schema().as_arrow()
        return body_types.plain(found.field("body").type) if "body" in found.names else None

    def place(self, schema: pa.Schema, settings: LakeSettings) -> Destination:
        """See ChangeTable. A new table is staged: the catalog says where it will be."""
        try:
            if self._table is not None:
                self._made = self._table.transaction()
                if settings.body == bodies.STRUCT and settings.fields != self._fields():
                    with self._made.update_schema() as update:
                        update.union_by_name(pa.schema([schema.field("body")]))
            else:
                self._made = self._staged(schema, settings)
        except _FAILURES as error:
            raise _unavailable(self._name, error) from error
        located = self._made.table_metadata.location.rstrip("/")
        of_io = self._made._table.io.properties
        conf = self._conf | {setting: str(of_io[word]) for word, (_, setting) in _S3.items() if of_io.get(word)}
        conf |= {f"{HADOOP}{name}": str(value) for name, value in of_io.items() if name.startswith(HDFS_SETTINGS)}
        store = store_of("warehouse", located, conf).under("data")
        # add_files finds a file's partition by the column in it, so the column stays in the files
        return Destination(store, lake_files.together if settings.partition else None)

    def commit(self, files: Sequence[DataFile], schema: pa.Schema, state: LakeState, told: dict[str, Any]) -> int | None:
        """See ChangeTable. It is tried once: pyiceberg's own retry would put the files behind what another run has committed."""
        attempt, made = uuid4().hex, self._made
        assert made is not None
        kept = {
            "made_by": MAKER,
            "attempt": attempt,
            "sequence": made.table_metadata.next_sequence_number(),
            "resources": state.settings.resources,
            "body": state.settings.body,
            "begins": state.begins,
            "first": state.first,
            "fingerprint": numbers_of(state.fingerprint),
        }
        located = made.table_metadata.location.rstrip("/")
        try:
            made.set_properties({TOLD: json.dumps(kept)})
            made.add_files(
                [f"{located}/data/{file.path}" for file in files],
                snapshot_properties={TOLD: json.dumps({"attempt": attempt, **told})},
                check_duplicate_files=False,  # their names are new
            )
            requirements: tuple[Any, ...] = (AssertCreate(),)
            if self._table is not None:
                read = self._table.metadata
                same = AssertRefSnapshotId.model_validate({"ref": MAIN_BRANCH, "snapshot-id": read.current_snapshot_id})
                fields = [each for each in made._requirements if isinstance(each, AssertCurrentSchemaId)]  # where it adds some
                requirements = (AssertTableUUID(uuid=read.table_uuid), same, *fields)
            self._catalog.commit_table(made._table, requirements, made._updates)
        except _FAILURES as error:
            found = self._commit_of(attempt)  # the answer may have been lost alone
            if found is None:
                raise _unavailable(self._name, error) from error
            return found
        return self._commit_of(attempt)

    def _load(self) -> Table | None:
        try:
            return self._catalog.load_table(self._name)
        except NoSuchTableError:
            return None
        except _FAILURES as error:
            raise _unavailable(self._name, error) from error

    def _staged(self, schema: pa.Schema, settings: LakeSettings) -> CreateTableTransaction:
        self._catalog.create_namespace_if_not_exists(self._name.rpartition(".")[0])
        numbers = count(1)
        columns = [_field(field, numbers) for field in schema]
        spec = UNPARTITIONED_PARTITION_SPEC
        if settings.partition:
            source = next(column.field_id for column in columns if column.name == "resource")
            spec = PartitionSpec(PartitionField(source, 1000, IdentityTransform(), "resource"))
        return self._catalog.create_table_transaction(self._name, Schema(*columns), partition_spec=spec)

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


def _holds(table: Table, attempt: str, sequence: int) -> bool:
    """Whether an attempt is the last one of ours that led to the current snapshot; `sequence` is the number of its snapshot.

    Where it has expired, the snapshots that led from it to the current one have higher numbers.
    """
    snapshot = table.current_snapshot()
    is_after = False
    while snapshot is not None:
        if (told := _told_by(snapshot)) is not None:
            return bool(told["attempt"] == attempt)
        is_after = (snapshot.sequence_number or 0) > sequence
        snapshot = None if snapshot.parent_snapshot_id is None else table.snapshot_by_id(snapshot.parent_snapshot_id)
    return is_after


def _told_by(snapshot: Any) -> dict[str, Any] | None:
    text = snapshot.summary.additional_properties.get(TOLD) if snapshot.summary else None
    return None if text is None else dict(json.loads(text))


def _unavailable(name: str, error: Exception) -> Unavailable:
    if isinstance(error, _FASTER):
        return Unavailable(f"another run has committed to {name} meanwhile", "nothing of this one is in it: run it again")
    return Unavailable(f"{name} could not be reached or written: {_first_line(error)}", "run it again, once the reason is gone")


def _first_line(error: Exception) -> str:
    if "\u21b3" in str(error):  # of the library that writes, whose first line tells the kind of store alone
        return reason_of(error)[:500]
    lines = str(error).strip().splitlines()
    return lines[0][:500] if lines else type(error).__name__
