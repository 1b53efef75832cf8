"""The extract into a lake: what changed after a table's last window as one commit, or all documents as the first one.

A commit shows whole or not at all, also on stores that know no rename; what is killed, at whatever moment, is done again by the
same command. Source: docs/how-it-works.md, Lakes.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import pyarrow as pa
import sqlalchemy as sa
from pyspark.sql import SparkSession

from dmsjournal.errors import CheckpointExpired, InvalidRequest, Unavailable
from dmsjournal.journal import Journal, connect
from dmsjournal.model.resources import ResourceKey
from dmsjournal.model.windows import Window
from dmsjournal.operate.held_back import HeldBack, held_back_if_allowed
from dmsjournal.read.plan import Plan, SnapshotPlan
from dmsjournal.read.stream import DELETE as DELETED
from dmsjournal.read.stream import KEY_CHANGE, UPSERT
from dmsjournal.spark import bodies, body_columns, body_types, copied_files, lake_files
from dmsjournal.spark.balance import compact, is_shuffled
from dmsjournal.spark.choices import begun_otherwise
from dmsjournal.spark.dataframes import Reading, read
from dmsjournal.spark.extract import (
    EVERYTHING,
    FILE_SIZE,
    ExtractRequest,
    Work,
    check_sizes,
    planned,
    previewed,
    with_remedy,
)
from dmsjournal.spark.jobs import Progress, watched
from dmsjournal.spark.lake_files import DataFile
from dmsjournal.spark.lake_tables import ChangeTable, LakeSettings, LakeState, change_table
from dmsjournal.spark.layout import READ_AS, Constant, Layout
from dmsjournal.spark.manifests import Counts
from dmsjournal.spark.stores import Store
from dmsjournal.util.version import VERSION

# _change_type as Delta's change data feed has it.
INSERT, UPDATED, DELETE, KEY_BEFORE = "insert", "update_postimage", "delete", "update_preimage"
_KINDS = {INSERT: "upsert", UPDATED: "upsert", DELETE: "delete", KEY_BEFORE: "key_change"}


@dataclass(frozen=True, slots=True)
class Committed:
    """How far a table has come, `version`, and the window that leads there, both ends inclusive; 0 is the first of all documents.

    `first` is None where nothing was left to do, `is_new` false where the window was there already. `commit`: its number in the
    table. `rows`, `files`, `bytes`: of this window. `held`: what is written above, and was given to no reader.
    """

    version: int
    first: int | None
    commit: int | None
    is_new: bool
    rows: Counts = field(default_factory=Counts)
    files: int = 0
    bytes: int = 0
    held: HeldBack | None = None


def extract_to_lake(
    url: str | sa.URL,
    target: str | os.PathLike[str],
    session: Callable[[], SparkSession],
    asked: ExtractRequest = EVERYTHING,
    *,
    format: str = "delta",
    conf: Mapping[str, str] | None = None,
    catalog: Mapping[str, str] | None = None,
    resources: Collection[ResourceKey] | None = None,
    body: bool | str | None = None,
    body_schema: str | os.PathLike[str] | None = None,
    etag: bool | None = None,
    partition: bool | None = None,
    events_per_part: int | None = None,
    file_size: int = FILE_SIZE,
    progress: Progress | None = None,
) -> Committed:
    """Commits the next window of a database's changes to a table in a lake.

    `format`: one of lake_tables.formats(). `resources`, `body`, `etag` (false) and `partition` by resource (true) are the same in
    all windows of a table; None takes what the first one had. `body`: one of bodies.FORMS, false for none, true for json, which is
    what a table begins with. `body_schema`: a file with types of a `body` struct, as body_types.parsed takes them; the others are
    found in the documents. `conf`: Spark's settings, of which those for stores are heeded. `catalog`: properties of an Iceberg
    table's catalog, as pyiceberg takes them. `file_size`: bytes. `session` is called once there is something to read. Raises
    InvalidRequest, BodyDoesNotFit, CheckpointExpired, HistoryDiverged, UnsupportedCapability, StoreRefused, and Unavailable:
    another run has committed meanwhile, or the database, the store or Spark went away; safe to run again. Source:
    docs/how-it-works.md, Lakes.
    """
    check_sizes(events_per_part, file_size)
    table = change_table(format, target, conf, catalog)
    with connect(url) as db, with_remedy():
        state = table.state()
        settings = settings_for(table, state, resources, body, etag, partition, body_schema)
        work = work_of(db, table, state, asked)
        if not isinstance(work, Work):
            return work
        chosen = _chosen(settings)
        if chosen is not None:
            planned(db, work, chosen, parts=1)  # an unknown resource is told before Spark starts, which takes its time
        window = Window(work.first, work.last) if work.kind == "window" else None
        spark, with_bodies = session(), settings.body is not None
        with (
            read(spark, url, chosen, window, full=window is None, events_per_part=events_per_part, body=with_bodies) as reading,
            watched(spark, "writing", progress),
        ):
            if reading.plan.last < work.first:  # newest has seemed to fall for a moment
                return nothing_to_do(db, state)
            settings, schema, store, files = _write(spark, reading, table, settings, file_size)
        try:
            counts = counted(files)
            if strange := counts.keys() - {str(resource) for resource in reading.plan.resources}:
                raise Unavailable(f"rows came of resources that are not in the plan: {', '.join(strange)}", "run it again")
            if state is not None:
                with suppress(CheckpointExpired):  # a prune may have come this far since
                    db.check_history(state.fingerprint)  # the database was not replaced while it was read
            begins = work.first if state is None else state.begins
            reached = LakeState(settings, work.first, db.fingerprint(reading.plan.last), begins)
            told = {
                "tool": f"dmsjournal {VERSION}",
                "kind": work.kind,
                "first": work.first,
                "last": reached.version,
                "horizon": reading.horizon,
                "rows": {name: {kind: getattr(each, kind) for kind in Counts.__struct_fields__} for name, each in counts.items()},
            }
        except BaseException:
            lake_files.remove(store, files)
            raise
        commit = table.commit(files, schema, reached, told)  # files that may be in the table are not removed any more
    rows = Counts(*(sum(getattr(each, kind) for each in counts.values()) for kind in Counts.__struct_fields__))
    return Committed(reached.version, work.first, commit, True, rows, len(files), sum(file.size for file in files))


def _write(
    spark: SparkSession, reading: Reading, table: ChangeTable, settings: LakeSettings, size: int
) -> tuple[LakeSettings, pa.Schema, Store, list[DataFile]]:
    """Writes the files of a window; with what its bodies made of the settings, the files' columns, and where they are."""
    layout, by = layout_of(reading, settings), "resource" if settings.partition else None
    if settings.body in (None, bodies.JSON) and reading.connection is not None and not is_shuffled(reading, by, size):
        schema = layout.schema
        place = table.place(schema, settings)
        keeps = place.folders is not None
        writer = lake_files.FileWriter(place.store, schema, by, "_change_type", size, place.folders, keeps=keeps)
        return settings, schema, place.store, copied_files.write(spark, reading, layout, writer)
    with body_columns.prepared(layout.rows(reading), settings.body, settings.fields) as found:
        settings = replace(settings, fields=found.fields)
        schema = schema_of(settings)
        place = table.place(schema, settings)
        files = lake_files.write(
            compact(reading, found.rows, by, size),
            place.store,
            schema,
            by=by,
            kind="_change_type",
            size=size,
            folders=place.folders,
            convert=found.convert,
        )
        return settings, schema, place.store, files


def preview_of_lake(
    url: str | sa.URL,
    target: str | os.PathLike[str],
    asked: ExtractRequest = EVERYTHING,
    *,
    format: str = "delta",
    conf: Mapping[str, str] | None = None,
    catalog: Mapping[str, str] | None = None,
    resources: Collection[ResourceKey] | None = None,
    body: bool | str | None = None,
    body_schema: str | os.PathLike[str] | None = None,
    events_per_part: int | None = None,
) -> Plan | SnapshotPlan | None:
    """The plan of the window that extract_to_lake would commit now; None where nothing is left to do. Needs no Spark."""
    table = change_table(format, target, conf, catalog)
    state = table.state()
    with connect(url) as db, with_remedy():
        settings = settings_for(table, state, resources, body, None, None, body_schema)
        work = work_of(db, table, state, asked)
        if not isinstance(work, Work):
            return None
        return previewed(db, work, _chosen(settings), events_per_part, settings.body is not None)


def settings_for(
    table: ChangeTable,
    state: LakeState | None,
    resources: Collection[ResourceKey] | None,
    body: bool | str | None,
    etag: bool | None,
    partition: bool | None,
    body_schema: str | os.PathLike[str] | None,
) -> LakeSettings:
    """The settings of a table: those that it has, or those that it begins with.

    Raises InvalidRequest where they differ, and UnsupportedCapability.
    """
    form = bodies.form_of(body)
    names = None if resources is None else tuple(sorted({str(resource) for resource in resources}))
    if names == ():
        raise InvalidRequest("resources", [], "name one or more, or none for all")
    if state is None:
        settings = LakeSettings(names, bodies.JSON if form is None else form or None, etag is True, partition is not False)
        if settings.body is not None:
            table.refuse_form(settings.body)
        if settings.body == bodies.STRUCT:
            bodies.refuse_of_many(names)
            if not settings.partition:
                raise InvalidRequest("partition", False, "a table with `body` struct is of one resource, and partitioned by it")
    else:
        settings = state.settings
        given = (("resources", names), ("body", form), ("etag", etag), ("partition", partition))
        for parameter, value in given:
            had = getattr(settings, parameter)
            if value is not None and (value or None) != (had or None):
                raise begun_otherwise(parameter, value, had, table, "table")
    if body_schema is None:
        return settings
    if settings.body != bodies.STRUCT:
        remedy = f"types are of a table with `body` struct, and this one has {settings.body or 'none'}: leave it out"
        raise InvalidRequest("body_schema", os.fspath(body_schema), remedy)
    return replace(settings, fields=body_types.united(settings.fields, body_types.read(os.fspath(body_schema))))


def work_of(db: Journal, table: ChangeTable, state: LakeState | None, asked: ExtractRequest) -> Work | Committed:
    """The window to commit, or what is there already. Raises as extract_to_lake does."""
    newest = db.versions().newest
    for parameter, version in (("min", asked.min), ("max", asked.max)):
        if version is not None and version > newest:
            raise InvalidRequest(parameter, version, f"newest is {newest}: above it writers may not have finished")
    if state is None:
        if asked.min is not None:
            return Work("window", asked.min, newest if asked.max is None else asked.max)
        if asked.from_checkpoint or asked.max is not None:
            raise InvalidRequest("output", str(table), "it is no table yet: begin with a full extract")
        return Work("full", 0, newest)
    db.check_history(state.fingerprint)
    last = newest if asked.max is None else asked.max
    if asked.full or asked.min is not None:
        wanted = 0 if asked.full else asked.min
        if wanted == state.first and (asked.full or asked.max in (None, state.version)):
            return Committed(state.version, state.first, None, False)
        if asked.full:
            raise InvalidRequest("output", str(table), f"it has come to {state.version} already: name a new table")
        if wanted != state.version + 1:
            remedy = f"{table} has come to {state.version}, so its next window begins at {state.version + 1}"
            raise InvalidRequest("min", asked.min, remedy)
    return Work("window", state.version + 1, last) if last > state.version else nothing_to_do(db, state)


def nothing_to_do(db: Journal, state: LakeState | None) -> Committed:
    """What is told where nothing has happened since."""
    return Committed(0 if state is None else state.version, None, None, False, held=held_back_if_allowed(db.held_back))


def counted(files: Sequence[DataFile]) -> dict[str, Counts]:
    """The rows of a window by resource and type, by the words of an extract."""
    found: dict[str, Counter[str]] = {}
    for file in files:
        for resource, kinds in file.kinds.items():
            for kind, rows in kinds.items():
                found.setdefault(resource, Counter())[_KINDS[kind]] += rows
    return {name: Counts(**found[name]) for name in sorted(found)}


def schema_of(settings: LakeSettings) -> pa.Schema:
    """The columns of a table of changes."""
    time = pa.timestamp("us", tz="UTC")
    columns = [("_change_type", pa.string()), ("_commit_version", pa.int64()), ("_commit_timestamp", time), ("_window", pa.int64())]
    columns += [("project", pa.string()), ("resource", pa.string()), ("document_id", pa.int64()), ("document_uuid", pa.string())]
    columns += [("key_values", pa.string()), ("new_key_values", pa.string())]
    of_body = {None: None, bodies.JSON: pa.string(), bodies.VARIANT: bodies.VARIANT_TYPE, bodies.STRUCT: settings.fields}[
        settings.body
    ]
    columns += [] if of_body is None else [("body", of_body)]
    columns += [("etag", pa.string()), ("last_modified", time)] if settings.etag else []
    return pa.schema(columns)


def layout_of(reading: Reading, settings: LakeSettings) -> Layout:
    """The columns of a window, with bodies as text."""
    has_body = settings.body is not None
    schema = schema_of(replace(settings, body=bodies.JSON) if has_body else settings)
    shared = READ_AS | {"_window": Constant(reading.plan.last)}
    words = {UPSERT: UPDATED if isinstance(reading.plan, Plan) else INSERT, DELETED: DELETE, KEY_CHANGE: KEY_BEFORE}
    sources = {kind: shared | {"_change_type": Constant(word)} for kind, word in words.items()}
    sources[KEY_CHANGE]["key_values"] = "old_key_values"
    names = {number: resource for resource, number in reading.plan.resources.items()}
    return Layout(schema, sources, names, has_body, settings.etag)


def _chosen(settings: LakeSettings) -> list[ResourceKey] | None:
    return None if settings.resources is None else [ResourceKey.parse(name) for name in settings.resources]
