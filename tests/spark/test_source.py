"""The data source "dmsjournal" in Spark: windows are what the paged API says, and streams fold into what the database holds."""

import json
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest
import sqlalchemy as sa
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

import dmsjournal as dj
from dmsjournal.model.windows import MAX_VERSION
from dmsjournal.spark import rows
from dmsjournal.spark.source import DmsJournal, WholeStreamReader
from tests.consumer import set_back
from tests.helpers import PLAN, SCHOOL, STUDENT, change_content, commit, document, expected_changes, newest, write

pytestmark = pytest.mark.xdist_group("spark")

ORDER = {"key_change": 0, "upsert": 1, "delete": 2}

Held = dict[int, tuple[int, str, object]]  # by document: version, uuid and keys


@pytest.fixture(scope="module", autouse=True)
def registered(spark: SparkSession) -> None:
    spark.dataSource.register(DmsJournal)


@pytest.fixture
def plans(journal: dj.Journal) -> list[int]:
    """The ids of 12 plans, of which ten refer to student 1 and two to student 2. Versions 1 to 15."""
    write(journal, document(SCHOOL, 1), document(STUDENT, 1), document(STUDENT, 2))
    return write(journal, *(document(PLAN, n, document(STUDENT, 1 if n < 10 else 2)) for n in range(12)))


def window(spark: SparkSession, url: str, **options: object) -> DataFrame:
    return spark.read.format("dmsjournal").option("url", url).options(**options).load()


def start(
    spark: SparkSession, url: str, checkpoint: Path, sink: Callable[[DataFrame, int], None], **options: object
) -> StreamingQuery:
    stream = spark.readStream.format("dmsjournal").option("url", url).options(**options).load()
    writer = stream.writeStream.foreachBatch(sink).option("checkpointLocation", str(checkpoint))
    return writer.trigger(availableNow=True).start()


def finish(*args: Any, **options: object) -> list[int]:
    """Runs a query to its end: the rows of each of its batches that had a new offset."""
    query = start(*args, **options)
    query.awaitTermination()
    return [
        each["numInputRows"]
        for each in query.recentProgress
        if each["sources"][0]["startOffset"] != each["sources"][0]["endOffset"]
    ]


class Table:
    """A current-state table that batches are folded into. It keeps what each batch brought, for a look at it."""

    def __init__(self) -> None:
        self.held: Held = {}
        self.batches: list[list[tuple[str, int, int]]] = []
        self.fails_after = -1  # rows of a batch that are applied before it fails, once

    def __call__(self, batch: DataFrame, number: int) -> None:
        found = sorted(batch.collect(), key=lambda row: ORDER[row["_change_type"]])
        for at, row in enumerate(found):
            if at == self.fails_after:
                self.fails_after = -1
                raise OSError("the sink failed")
            if row["_change_type"] == "upsert":
                keys = None if row["key_values"] is None else json.loads(row["key_values"])
                self.held[row["document_id"]] = (row["_commit_version"], row["document_uuid"], keys)
            elif row["_change_type"] == "delete":
                self.held.pop(row["document_id"], None)
        self.batches.append([(row["_change_type"], row["_commit_version"], row["document_id"]) for row in found])

    @property
    def times(self) -> list[tuple[str, int, int]]:
        """Each row of all batches."""
        return [row for batch in self.batches for row in batch]


def database(journal: dj.Journal, connection: sa.Connection, *resources: dj.ResourceKey) -> Held:
    keys = {row[0]: row[1] for row in commit(connection, "SELECT DocumentId, KeyValues FROM dms.Document")}
    ids = journal.resources()
    return {
        change.document_id: (change.change_version, str(change.document_uuid), keys[change.document_id])
        for of in resources
        for change in expected_changes(connection, ids[of])
    }


def rekey(journal: dj.Journal, old: object, new: object) -> None:
    with journal.write() as tx:
        tx.rekey(STUDENT, {"studentId": old}, {"studentId": new})


def delete(journal: dj.Journal, *keys: object) -> None:
    with journal.write() as tx:
        for key in keys:
            tx.delete(PLAN, document(PLAN, key).key_values)


@pytest.mark.acceptance("60")
@pytest.mark.parametrize("parts", [1, 7])
def test_a_window_is_what_the_paged_api_says(
    spark: SparkSession, url: str, journal: dj.Journal, plans: list[int], parts: int
) -> None:
    rekey(journal, 1, "one")
    delete(journal, 3)
    last = newest(journal)
    frame = window(spark, url, resource=str(PLAN), min=4, max=last, parts=parts)
    found = frame.collect()
    asked = dj.Window(4, last)
    upserts = [(row.document_id, row.document_uuid, row._commit_version) for row in found if row._change_type == "upsert"]
    assert sorted(upserts) == sorted((c.document_id, str(c.document_uuid), c.change_version) for c in journal.changes(PLAN, asked))
    [gone] = journal.deletes(PLAN, asked)
    assert [row for row in found if row._change_type == "delete"] == [
        (str(PLAN), "delete", gone.change_version, gone.deleted_at.replace(tzinfo=None), gone.document_id, str(gone.document_uuid),
         json.dumps(gone.key_values), None)
    ]  # fmt: skip
    [change] = journal.key_changes(STUDENT)
    [row] = window(spark, url, resource=str(STUDENT), include="key_change").collect()
    assert (row.document_id, row._commit_version) == (change.document_id, change.change_version)
    assert [json.loads(row.old_key_values), json.loads(row.key_values)] == [{"studentId": 1}, {"studentId": "one"}]
    assert (frame.rdd.getNumPartitions() > 1) == (parts > 1)


@pytest.mark.acceptance("64")
def test_extremes_arrive_unchanged(spark: SparkSession, url: str, journal: dj.Journal, connections, tmp_path: Path) -> None:
    set_back(connections[0], MAX_VERSION - 4)
    name = "nåme 学校 \U0001f3eb \\ \" ' \n\t,"
    write(journal, document(SCHOOL, name, body={"ü": name, "n": 7, "nothing": None}), document(SCHOOL, 2))
    commit(connections[0], "UPDATE dms.Document SET KeyValues = NULL WHERE DocumentId = 2")
    before = datetime(1999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    commit(connections[0], f"UPDATE dms.DocumentChangeEvent SET CreatedAt = '{before.isoformat()}' WHERE DocumentId = 1")
    window(spark, url, body="true", include="upsert").write.parquet(str(tmp_path / "out"))
    first, second = sorted(spark.read.parquet(str(tmp_path / "out")).collect(), key=lambda row: row.document_id)
    assert (first._commit_version, second._commit_version) == (MAX_VERSION - 3, MAX_VERSION - 1)
    assert first._commit_timestamp.replace(tzinfo=UTC) == before  # the session's time zone is UTC
    assert [json.loads(first.key_values), json.loads(first.body)] == [{"schoolId": name}, {"ü": name, "n": 7, "nothing": None}]
    assert second.key_values is None
    table = Table()
    finish(spark, url, tmp_path / "checkpoint", table, maxRowsPerTrigger=1)
    assert table.held == database(journal, connections[0], SCHOOL)


@pytest.mark.parametrize("pushes", ["false", "true"])
def test_filters_and_columns(spark: SparkSession, url: str, plans: list[int], pushes: str) -> None:
    """Spark plans both sides of the union as one: with a pushFilters, one would have the other's filters, and no rows."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", pushes)
    try:
        columns = "document_id bigint, _commit_version bigint, _change_type string, body string"
        loaded = spark.read.format("dmsjournal").schema(columns).option("url", url).option("eventsPerPart", 5).load()
        low, high = loaded.where("_commit_version <= 4 AND _change_type = 'upsert'"), loaded.where("_commit_version > 13")
        assert sorted(row._commit_version for row in low.union(high).collect()) == [1, 2, 3, 4, 14, 15]
        assert loaded.count() == 15
        assert loaded.rdd.getNumPartitions() > 1
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def test_a_stream_folds_into_the_database(
    spark: SparkSession, url: str, journal: dj.Journal, connections, plans: list[int], tmp_path: Path
) -> None:
    """Three runs on one checkpoint, with writers before each and between the batches; what was committed is not read again."""
    table, options = Table(), {"resources": f"{PLAN}, {STUDENT}", "maxRowsPerTrigger": 6, "parts": 2}

    def sink(batch: DataFrame, number: int) -> None:
        table(batch, number)
        change_content(connections[0], plans[number % 12])  # above what AvailableNow reads

    sizes = finish(spark, url, tmp_path, sink, **options)
    assert len(sizes) >= 3
    assert max(sizes) <= 6
    rekey(journal, 1, "one")  # ten plans at one version
    delete(journal, 0, 11)
    finish(spark, url, tmp_path, sink, **options)
    assert finish(spark, url, tmp_path, table, **options) != []
    assert table.held == database(journal, connections[0], PLAN, STUDENT)
    assert len(table.times) == len(set(table.times))
    assert finish(spark, url, tmp_path, table, **options) == []  # nothing new, nothing read
    write(journal, document(SCHOOL, 2))  # of another resource
    assert finish(spark, url, tmp_path, table, **options) == [0]  # an empty batch moves the checkpoint on
    assert table.held == database(journal, connections[0], PLAN, STUDENT)


@pytest.mark.parametrize("fails_after", [pytest.param(0, marks=pytest.mark.long), 4])
def test_a_failed_batch_is_read_again_and_may_be_smaller(
    spark: SparkSession, url: str, journal: dj.Journal, connections, plans: list[int], tmp_path: Path, fails_after: int
) -> None:
    """What changed between the two tries comes with a later batch, also where the first try was half applied."""
    table = Table()
    table.fails_after = fails_after
    with pytest.raises(StreamingQueryException, match="the sink failed"):
        finish(spark, url, tmp_path, table, resource=str(PLAN))
    assert len(table.held) == fails_after
    change_content(connections[0], *plans[:2])
    delete(journal, 1, 2)
    finish(spark, url, tmp_path, table, resource=str(PLAN))
    assert [len(batch) for batch in table.batches] == [12 - 3, 1 + 2]
    assert table.held == database(journal, connections[0], PLAN)


@pytest.mark.acceptance("102")
def test_a_stream_begins_with_a_snapshot(
    spark: SparkSession, url: str, journal: dj.Journal, connections, plans: list[int], tmp_path: Path
) -> None:
    """On a pruned journal, ended in its first batch, within the snapshot and after it: each state once, then each change once."""
    rekey(journal, 1, "one")
    delete(journal, 3)
    journal.prune(newest(journal))
    table, options = Table(), {"resources": f"{PLAN}, {STUDENT}", "startingPosition": "snapshot", "maxEventsPerTrigger": 5}
    reached = []
    for fails_after in (3, 5):
        table.fails_after = fails_after if fails_after < 5 else -1

        def sink(batch: DataFrame, number: int, last: int = fails_after) -> None:
            table(batch, number)
            reached.append(number)
            if last == 5 and number == 1:
                raise OSError("the sink failed after it had written")

        with pytest.raises(StreamingQueryException, match="the sink failed"):
            finish(spark, url, tmp_path, sink, **options)
        change_content(connections[0], plans[7])
        delete(journal, fails_after)
    finish(spark, url, tmp_path, table, **options)
    assert reached == [0, 1]  # what its foreachBatch reached, beyond the batch that failed half applied
    assert table.held == database(journal, connections[0], PLAN, STUDENT)
    assert len(table.batches) >= 4
    assert {row[2] for row in table.batches[-1]} >= {plans[7], plans[5]}


def test_a_file_sink_holds_each_batch_once(
    spark: SparkSession, url: str, journal: dj.Journal, connections, plans: list[int], tmp_path: Path
) -> None:
    def run() -> None:
        stream = spark.readStream.format("dmsjournal").option("url", url).option("include", "upsert").option("resource", str(PLAN))
        writer = stream.load().writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination()

    run()
    for name in ("0", ".0.crc"):  # as if it had been killed before it wrote this
        (tmp_path / "checkpoint" / "commits" / name).unlink()
    change_content(connections[0], plans[0])
    run()
    found = [(row.document_id, row._commit_version) for row in spark.read.parquet(str(tmp_path / "out")).collect()]
    assert len(found) == len(set(found)) == 13  # the first try's 12, which the sink had; and the later change
    latest = {document_id: version for document_id, version in sorted(found, key=lambda row: row[1])}
    assert latest == {i: held[0] for i, held in database(journal, connections[0], PLAN).items()}


def test_what_a_stream_cannot_go_on_from_is_told(
    spark: SparkSession, url: str, journal: dj.Journal, connections, plans: list[int], tmp_path: Path
) -> None:
    """The typed errors' words, in Spark's."""
    table = Table()
    finish(spark, url, tmp_path / "expires", table, resource=str(PLAN))
    finish(spark, url, tmp_path / "diverges", table, resource=str(PLAN))
    change_content(connections[0], *plans[:3])
    with pytest.raises(
        StreamingQueryException, match=r"InvalidRequest: offset = '.*GraduationPlan.*': this stream is of .*Student"
    ):
        finish(spark, url, tmp_path / "expires", table, resource=str(STUDENT))
    commit(connections[0], "UPDATE dms.DocumentChangeEvent SET TransactionId = TransactionId + 1 WHERE ChangeVersion = 15")
    with pytest.raises(StreamingQueryException, match="HistoryDiverged: the checkpoint is at version 15, the database's history"):
        finish(spark, url, tmp_path / "diverges", table, resource=str(PLAN))
    journal.prune(16)
    with pytest.raises(StreamingQueryException) as expired:
        finish(spark, url, tmp_path / "expires", table, resource=str(PLAN))
    assert "CheckpointExpired: version 16 is not kept, the oldest is 17: read the resource in full" in str(expired.value)
    with pytest.raises(AnalysisException, match="CheckpointExpired: version 3 is not kept"):
        window(spark, url, min=3).count()


def test_what_makes_no_sense_is_told(spark: SparkSession, url: str, journal: dj.Journal, plans: list[int], tmp_path: Path) -> None:
    with pytest.raises(AnalysisException, match="InvalidRequest: option = 'colour': the options are url, resource"):
        window(spark, url, colour="red")
    with pytest.raises(AnalysisException, match=r"InvalidRequest: resource = .*did you mean Ed-Fi/GraduationPlan/5\.2\.0"):
        window(spark, url, resource="Ed-Fi/GraduationPlans/5.2.0").count()
    with pytest.raises(AnalysisException, match=r"InvalidRequest: max = 16: it is above the newest readable version \(15\)"):
        window(spark, url, max=16).count()
    with pytest.raises(StreamingQueryException, match=r"InvalidRequest: resource = .*did you mean Ed-Fi/GraduationPlan/5\.2\.0"):
        finish(spark, url, tmp_path, Table(), resource="Ed-Fi/GraduationPlans/5.2.0")


def test_the_password_is_shown_nowhere(
    spark: SparkSession, url: str, journal: dj.Journal, plans: list[int], tmp_path: Path, capsys
) -> None:
    password = sa.make_url(url).password
    assert password
    frame = window(spark, url)
    shown = [str(frame), str(frame.collect())]
    for how in ("simple", "extended", "codegen", "cost", "formatted"):
        frame.explain(mode=how)
    query = start(spark, url, tmp_path, Table())
    query.awaitTermination()
    query.explain(extended=True)
    shown += [capsys.readouterr().out, json.dumps(query.lastProgress, default=str), str(query.status)]
    store = spark._jsparkSession.sharedState().statusStore().executionsList()  # what the UI and the event log show of queries
    executions = [store.apply(n) for n in range(max(0, store.size() - 20), store.size())]  # the session's last ones
    assert any("dmsjournal" in each.physicalPlanDescription() for each in executions)
    shown += [each.physicalPlanDescription() + str(each.modifiedConfigs()) for each in executions]
    shown += [
        path.read_text(encoding="utf-8", errors="replace") for path in tmp_path.rglob("*") if path.is_file()
    ]  # the checkpoint
    wrong = sa.make_url(url).set(port=1).render_as_string(hide_password=False)
    with pytest.raises(AnalysisException) as refused:
        window(spark, wrong).count()
    with pytest.raises(StreamingQueryException) as failed:
        finish(spark, wrong, tmp_path / "wrong", Table())
    shown += [str(refused.value), str(failed.value)]
    assert any("dmsjournal" in text for text in shown)
    assert not [text for text in shown if password in text]


class OldSource(DmsJournal):
    """As it is before PySpark 4.2."""

    @classmethod
    def name(cls) -> str:
        return "dmsjournal-old"

    def streamReader(self, schema: Any) -> Any:
        return WholeStreamReader(self._asked, rows.checked_schema(schema))


@pytest.mark.long
def test_the_form_before_4_2_runs(
    spark: SparkSession, url: str, journal: dj.Journal, connections, plans: list[int], tmp_path: Path
) -> None:
    spark.dataSource.register(OldSource)
    table = Table()

    def run() -> None:
        stream = spark.readStream.format("dmsjournal-old").option("url", url).option("resource", str(PLAN)).load()
        writer = stream.writeStream.foreachBatch(table).option("checkpointLocation", str(tmp_path))
        writer.trigger(availableNow=True).start().awaitTermination()

    run()
    delete(journal, 0)
    change_content(connections[0], plans[5])
    run()
    assert table.held == database(journal, connections[0], PLAN)
    assert len(table.times) == len(set(table.times)) == 14


SECONDS, WRITERS = 60, 3


def writes(journal: dj.Journal, number: int, ends: float) -> None:
    """Short transactions with pauses: plans of its own that refer to students of all, renames of those, deletes, rollbacks."""
    choose = random.Random(number)
    while time.monotonic() < ends:
        student, other = choose.sample(range(4), 2)
        with suppress(dj.JournalError, KeyError), journal.write() as tx:
            match choose.randrange(8):
                case 0:
                    tx.rekey(STUDENT, {"studentId": student}, {"studentId": f"r{student}"})
                case 1:
                    tx.rekey(STUDENT, {"studentId": f"r{other}"}, {"studentId": other})
                case 2:
                    tx.delete(PLAN, document(PLAN, f"{number}-{choose.randrange(40)}").key_values)
                case _:
                    name, seen = f"{number}-{choose.randrange(40)}", {"n": choose.random()}
                    tx.upsert(document(PLAN, name, document(STUDENT, student), body=seen))
            time.sleep(choose.uniform(0, 0.02))
            if choose.random() < 0.1:
                raise KeyError


def workers_of(spark: SparkSession) -> list[psutil.Process]:
    """The Python workers of the session: of its tasks, and of its queries' offsets."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if "pyspark" in " ".join(child.cmdline()) and child.name() != "java":
                found.append(child)
    return found


@pytest.mark.long
@pytest.mark.acceptance("62")
@pytest.mark.timeout(900)
def test_a_stream_whose_workers_are_killed_beside_writers_ends_as_the_database(
    spark: SparkSession, url: str, journal: dj.Journal, connections, tmp_path: Path
) -> None:
    write(journal, *(document(STUDENT, n) for n in range(4)), document(PLAN, "first"))
    table, choose, failed, done = Table(), random.Random(0), 0, threading.Event()

    def query() -> StreamingQuery:
        stream = spark.readStream.format("dmsjournal").option("url", url).option("maxRowsPerTrigger", 50).option("parts", 2).load()
        writer = stream.writeStream.foreachBatch(table).option("checkpointLocation", str(tmp_path))
        return writer.trigger(processingTime="0 seconds").start()

    def kill() -> None:
        while not done.wait(choose.uniform(3, 8)):
            if workers := workers_of(spark):
                with suppress(psutil.Error):
                    choose.choice(workers).kill()

    ends = time.monotonic() + SECONDS
    with ThreadPoolExecutor(WRITERS + 1) as threads:
        working = [threads.submit(writes, journal, number, ends) for number in range(WRITERS)]
        killing = threads.submit(kill)
        while time.monotonic() < ends:
            running = query()
            try:
                while time.monotonic() < ends and running.isActive:
                    time.sleep(0.2)
                running.stop()
                failed += running.exception() is not None
            except StreamingQueryException:
                failed += 1
        done.set()
        for work in [*working, killing]:
            work.result()
    finish(spark, url, tmp_path, table)
    assert table.held == database(journal, connections[0], PLAN, STUDENT)
    assert failed > 0
    assert len(table.batches) > 5
    print(f"{len(table.batches)} batches, {len(table.times)} rows, {failed} queries killed, newest {newest(journal)}")
