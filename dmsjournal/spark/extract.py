"""The extract: every change after the last extract as one more run of Parquet files, or all documents as the first run.

Nothing of a run is visible before all of it is; what is killed, at whatever moment, is done again by the same command. Source:
docs/how-it-works.md, Extracts.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import pyarrow as pa
import sqlalchemy as sa
from pyspark.sql import SparkSession

from dmsjournal.errors import CheckpointExpired, HistoryDiverged, InvalidRequest, Unavailable, UnsupportedCapability
from dmsjournal.journal import Journal, connect
from dmsjournal.model.resources import ResourceKey
from dmsjournal.model.windows import MAX_VERSION, Window, checked_size
from dmsjournal.operate.held_back import HeldBack, held_back_if_allowed
from dmsjournal.read import plan as planner
from dmsjournal.read.plan import Plan, SnapshotPlan
from dmsjournal.read.stream import DELETE, KEY_CHANGE, KINDS, UPSERT
from dmsjournal.spark import bodies, body_columns, copied_files, parquet, sizes
from dmsjournal.spark.balance import compact, is_shuffled
from dmsjournal.spark.choices import begun_otherwise
from dmsjournal.spark.counts import counted
from dmsjournal.spark.dataframes import Reading, read
from dmsjournal.spark.folders import LocalFolder, folder_of, resource_folder
from dmsjournal.spark.jobs import Progress, watched
from dmsjournal.spark.lake_files import FileWriter
from dmsjournal.spark.layout import READ_AS, Constant, Layout
from dmsjournal.spark.manifests import Counts, Manifest, OutputSettings
from dmsjournal.spark.runs import Output, Run
from dmsjournal.util.files import locked
from dmsjournal.util.version import VERSION

logger = logging.getLogger("dmsjournal.spark")

FILE_SIZE = 128 * 2**20  # bytes of a file, about


@dataclass(frozen=True, slots=True)
class ExtractRequest:
    """What to extract. Nothing at all: go on from the checkpoint, where there is none, in full.

    `full`: all live documents; `from_checkpoint`: what came after the checkpoint, up to `max`; `min`: a window of one's own, up to
    `max`. Bounds: both inclusive; newest without `max`. Raises InvalidRequest for what does not go together.
    """

    full: bool = False
    from_checkpoint: bool = False
    min: int | None = None
    max: int | None = None

    def __post_init__(self) -> None:
        Window(self.min, self.max)
        if self.full and self.from_checkpoint:
            raise InvalidRequest(
                "full", True, "it begins a chain, from_checkpoint goes on with one: give one of them", others=["from_checkpoint"]
            )
        if self.min is not None and (self.full or self.from_checkpoint):
            raise InvalidRequest(
                "min", self.min, "it goes neither with `full` nor with from_checkpoint", others=["full", "from_checkpoint"]
            )
        if self.full and self.max is not None:
            raise InvalidRequest("max", self.max, "a full extract is of the newest version: leave it out", others=["full"])


EVERYTHING = ExtractRequest()


@dataclass(frozen=True, slots=True)
class Work:
    """A run that is still to be made. `last` is at most newest; both inclusive."""

    kind: Literal["full", "window"]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Extracted:
    """How far an output has come, `version`, and the run that leads there.

    `run` is None where nothing was left to do and `is_new` false where the run was there already; `rows`, `files`, `bytes`: of that
    run. `held`: what is written above, and was given to no reader when nothing was left to do.
    """

    version: int
    run: Run | None
    is_new: bool
    rows: Counts
    files: int = 0
    bytes: int = 0
    held: HeldBack | None = None


def extract(
    url: str | sa.URL,
    output: str | os.PathLike[str],
    session: Callable[[], SparkSession],
    asked: ExtractRequest = EVERYTHING,
    *,
    resources: Collection[ResourceKey] | None = None,
    body: bool | str | None = None,
    etag: bool | None = None,
    partition: bool | None = None,
    events_per_part: int | None = None,
    file_size: int = FILE_SIZE,
    progress: Progress | None = None,
) -> Extracted:
    """Writes the next run of an output, and moves its checkpoint once the run is visible, whole.

    `resources`, `body`, `etag` (false: derived etag and last-modified) and `partition` (true: files of one resource each) are the
    same in all runs of an output; None takes what the first one had. `body`: json or variant, true for json, which is what an
    output begins with, false for none. `file_size`: bytes, about. `session` is called once there is something to read. Raises
    InvalidRequest, BodyDoesNotFit, CheckpointExpired, HistoryDiverged, UnsupportedCapability, and Unavailable: another run works
    there, or the database or Spark went away; safe to run again. Source: docs/how-it-works.md, Extracts.
    """
    check_sizes(events_per_part, file_size)
    folder = folder_of("output", output)
    kept = Output(folder)
    kept.settings()  # what is not ours is told before anything else, and before a lock is put into it
    with connect(url) as db, locked(folder), with_remedy():
        kept.sweep()
        settings = settings_for(kept, resources, body, etag, partition)
        work = work_of(db, kept, asked)
        if not isinstance(work, Work):
            return _nothing_to_do(db, kept, work)
        if settings.chosen is not None:
            planned(db, work, settings.chosen, parts=1)  # an unknown resource is told before Spark starts, which takes its time
        began = datetime.now(UTC)
        with kept.making() as folder:
            written = _write(url, kept, folder, settings, work, session(), events_per_part, file_size, progress)
            if written is None:
                return _nothing_to_do(db, kept, None)
            run = _finish(db, kept, settings, work, written, began)
        kept.move_checkpoint(settings.chain, run.fingerprint)
        logger.info("the %s is there: %d files", run, len(run.files))
        return Extracted(run.last, kept.run_of(run), True, run.rows, len(run.files), sum(file.bytes for file in run.files))


def _finish(db: Journal, kept: Output, settings: OutputSettings, work: Work, written: _Written, began: datetime) -> Manifest:
    """Gives a run that is written its manifest and its name."""
    files, counts = counted(written.folder)
    if counts.keys() - written.resources:  # a left join keeps them, so that nothing is lost without a word
        raise Unavailable(f"rows came of resources that are not in the plan: {', '.join(counts)}", "run it again")
    manifest = Manifest(
        tool=f"dmsjournal {VERSION}",
        chain=settings.chain,
        kind=work.kind,
        first=work.first,
        last=written.last,
        horizon=written.horizon,
        resources=counts,
        schema=written.schema,
        fingerprint=db.fingerprint(written.last),
        files=files,
        began_at=began,
        finished_at=datetime.now(UTC),
    )
    checkpoint = kept.checkpoint()
    if checkpoint is not None:
        with suppress(CheckpointExpired):  # a prune may have come this far since
            db.check_history(checkpoint.fingerprint)  # the database was not replaced while it was read
    kept.finish(written.folder, manifest)
    return manifest


@dataclass(frozen=True, slots=True)
class _Written:
    """A run's files in their hidden folder, and what the reading said of them."""

    folder: Path
    last: int
    horizon: int
    resources: frozenset[str]
    schema: dict[str, str]


def _write(
    url: str | sa.URL,
    kept: Output,
    folder: Path,
    settings: OutputSettings,
    work: Work,
    spark: SparkSession,
    events_per_part: int | None,
    file_size: int,
    progress: Progress | None,
) -> _Written | None:
    """Writes the files of a run; None where newest has seemed to fall below it for a moment: docs/how-it-works.md, The horizon."""
    window = Window(work.first, work.last) if work.kind == "window" else None
    with (
        read(
            spark, url, settings.chosen, window, full=window is None, events_per_part=events_per_part, body=settings.body
        ) as reading,
        watched(spark, "writing", progress),
    ):
        if reading.plan.last < work.first:
            return None
        logger.info("the plan: %s", described(reading.plan))
        layout, by = layout_of(reading, settings), "resource" if settings.partition else None

        def begin() -> None:
            if kept.settings() is None:
                kept.begin(settings)

        if settings.form == bodies.VARIANT or not _is_copied(spark, reading, by, file_size):
            with body_columns.prepared(layout.rows(reading), settings.form if settings.body else None) as found:
                begin()
                parquet.write(folder, compact(reading, found.rows, by, file_size), by_resource=settings.partition, size=file_size)
        else:
            begin()
            _copy(spark, reading, layout, folder, by, file_size)
    resources = frozenset(str(resource) for resource in reading.plan.resources)
    schema = layout.ddl | ({"body": "variant"} if settings.body and settings.form == bodies.VARIANT else {})
    return _Written(folder, reading.plan.last, reading.horizon, resources, schema)


def preview(
    url: str | sa.URL,
    output: str | os.PathLike[str],
    asked: ExtractRequest = EVERYTHING,
    *,
    resources: Collection[ResourceKey] | None = None,
    body: bool | str | None = None,
    events_per_part: int | None = None,
) -> Plan | SnapshotPlan | None:
    """The plan of the run that `extract` would make now; None where nothing is left to do. Writes nothing, and needs no Spark.

    Raises what extract raises, as far as it can be told before.
    """
    kept = Output(folder_of("output", output))
    with connect(url) as db, with_remedy():
        settings = settings_for(kept, resources, body, None, None)
        work = work_of(db, kept, asked)
        return previewed(db, work, settings.chosen, events_per_part, settings.body) if isinstance(work, Work) else None


def check_sizes(events_per_part: object, file_size: object) -> None:
    """Raises InvalidRequest for a number that makes no sense, before Spark starts."""
    planner.check_sizes(None, "events_per_part", events_per_part)
    checked_size("file_size", file_size, MAX_VERSION, "bytes")


def previewed(
    db: Journal, work: Work, chosen: Sequence[ResourceKey] | None, events_per_part: int | None, body: bool
) -> Plan | SnapshotPlan:
    """The plan of a run as it is read: its parts are of a number of events, or of as many as have about equal bytes."""
    if events_per_part is None:
        with db.database.session() as session:
            events_per_part = sizes.events_per_part(sizes.ROW + (sizes.body_bytes(session) if body else 0))
    return planned(db, work, chosen, events_per_part)


def planned(
    db: Journal, work: Work, chosen: Sequence[ResourceKey] | None, events_per_part: int | None = None, parts: int | None = None
) -> Plan | SnapshotPlan:
    """The plan of a run. Raises InvalidRequest for a resource that the database does not know."""
    if work.kind == "full":
        return db.plan_snapshot(chosen, documents_per_part=events_per_part, parts=parts)
    return db.plan(chosen, Window(work.first, work.last), events_per_part=events_per_part, parts=parts)


def settings_for(
    kept: Output, resources: Collection[ResourceKey] | None, body: bool | str | None, etag: bool | None, partition: bool | None
) -> OutputSettings:
    """The settings of an output: those that it has, or those that it begins with.

    Raises InvalidRequest where they differ, and UnsupportedCapability.
    """
    form = bodies.form_of(body)
    if form == bodies.STRUCT:
        raise UnsupportedCapability(
            "bodies as columns in a folder of runs, which has no schema that its runs share", "add --format delta or iceberg"
        )
    names = None if resources is None else sorted({str(resource) for resource in resources})
    if names == []:
        raise InvalidRequest("resources", [], "name one or more, or none for all")
    found = kept.settings()
    if found is None:
        kept_as: Literal["json", "variant"] = "variant" if form == bodies.VARIANT else "json"
        return OutputSettings(uuid4().hex, names, form is not False, etag is True, partition is not False, kept_as)
    body_had = found.form if found.body else False
    for parameter, value, had in (
        ("resources", names, found.resources),
        ("body", form, body_had),
        ("etag", etag, found.etag),
        ("partition", partition, found.partition),
    ):
        if value is not None and value != had:
            raise begun_otherwise(parameter, value, had, kept.folder, "folder")
    return found


def work_of(db: Journal, kept: Output, asked: ExtractRequest) -> Work | Run | None:
    """The run to make; or the finished one that was asked for; or None where nothing has happened since. Raises as extract does."""
    newest = db.versions().newest
    for parameter, version in (("min", asked.min), ("max", asked.max)):
        if version is not None and version > newest:
            raise InvalidRequest(parameter, version, f"newest is {newest}: above it writers may not have finished")
    checkpoint, runs = kept.checkpoint(), kept.runs()
    if checkpoint is not None:
        db.check_history(checkpoint.fingerprint)
    if asked.min is not None:
        at = None if checkpoint is None else checkpoint.version
        return _window(kept, at, asked.min, asked.max, newest)
    if checkpoint is None:
        if asked.from_checkpoint or asked.max is not None:
            raise InvalidRequest("output", str(kept.folder), "it has no checkpoint yet: begin with a full extract")
        return Work("full", 0, newest)
    if asked.full:
        if runs and runs[0].manifest().kind == "full":
            return runs[0]
        raise InvalidRequest("output", str(kept.folder), f"it has come to {checkpoint.version} already: name a new folder")
    last = newest if asked.max is None else asked.max
    return Work("window", checkpoint.version + 1, last) if last > checkpoint.version else None


def _window(kept: Output, at: int | None, first: int, last: int | None, newest: int) -> Work | Run:
    """The window that was asked for, or its run; `at` is how far the output has come."""
    for run in kept.runs():
        if run.first == first and last in (None, run.last) and run.manifest().kind == "window":
            return run
    if at is not None and first != at + 1:
        raise InvalidRequest("min", first, f"{kept.folder} has come to {at}, so its next window begins at {at + 1}")
    return Work("window", first, newest if last is None else last)


def _nothing_to_do(db: Journal, kept: Output, run: Run | None) -> Extracted:
    """What is there already; the checkpoint is moved where the run was killed before it did."""
    checkpoint, held = kept.checkpoint(), None if run else held_back_if_allowed(db.held_back)
    if checkpoint is None:
        return Extracted(0, None, False, Counts(), held=held)
    kept.move_checkpoint(checkpoint.chain, checkpoint.fingerprint)
    return Extracted(checkpoint.version, run, False, run.manifest().rows if run else Counts(), held=held)


@contextmanager
def with_remedy() -> Iterator[None]:
    """Within it, an error that only a new beginning mends says so."""
    try:
        yield
    except (CheckpointExpired, HistoryDiverged) as error:
        error.add_note("a full extract into a new folder or table begins anew")
        raise


def described(plan: Plan | SnapshotPlan) -> str:
    """A plan in words, for a log."""
    if isinstance(plan, SnapshotPlan):
        return f"{plan.documents} documents at version {plan.last}, in {len(plan.parts)} parts"
    about = "about " if plan.is_sampled else ""
    return f"{about}{plan.events} events from version {plan.first} to {plan.last}, in {len(plan.parts)} parts"


def expected(url: str | sa.URL, plan: Plan | SnapshotPlan) -> Counts:
    """The rows that the run of a plan would have now. It counts them in the database: for a dry run."""
    with connect(url) as db:
        if isinstance(plan, SnapshotPlan):
            return Counts(upsert=plan.documents)
        window = Window(plan.first, plan.last)
        return Counts(
            *(sum(db.count(resource, window, kind) for resource in plan.resources) for kind in (UPSERT, DELETE, KEY_CHANGE))
        )


def _is_copied(spark: SparkSession, reading: Reading, by: str | None, size: int) -> bool:
    """Whether tasks copy their rows into files. Only on this machine: elsewhere executors may lack Python, and one that was thought
    dead could add a file to a run that is visible.
    """
    context: Any = spark.sparkContext
    return reading.connection is not None and context._jsc.sc().isLocal() and not is_shuffled(reading, by, size)


def _copy(spark: SparkSession, reading: Reading, layout: Layout, folder: Path, by: str | None, size: int) -> None:
    """As parquet.write has them, files of the same names, columns and codec."""
    folders = resource_folder if by else None
    writer = FileWriter(LocalFolder(folder), layout.schema, by, None, size, folders, codec="snappy", unbounded=("body",))
    told = {file.path for file in copied_files.write(spark, reading, layout, writer)}
    for file in folder.rglob("*.parquet"):
        if file.relative_to(folder).as_posix() not in told:  # of a task that was ended and tried again
            file.unlink()


def layout_of(reading: Reading, settings: OutputSettings) -> Layout:
    """The columns of a run's Parquet files, of which `resource` may be the folders' name. Bodies are text."""
    time = pa.timestamp("us", tz="UTC")
    columns = [("_change_type", pa.string()), ("_commit_version", pa.int64()), ("_commit_timestamp", time)]
    columns += [("resource_key_id", pa.int16()), ("document_id", pa.int64()), ("document_uuid", pa.string())]
    columns += [("key_values", pa.string()), ("old_key_values", pa.string())]
    columns += [("body", pa.string())] * settings.body
    columns += [("etag", pa.string()), ("last_modified", time)] * settings.etag
    sources = {kind: READ_AS | {"_change_type": Constant(kind)} for kind in KINDS}
    sources[KEY_CHANGE]["key_values"] = "new_key_values"
    names = {number: resource for resource, number in reading.plan.resources.items()}
    return Layout(pa.schema([*columns, ("resource", pa.string())]), sources, names, settings.body, settings.etag)
