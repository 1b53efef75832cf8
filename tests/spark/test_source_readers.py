"""The data source "dmsjournal" without a Spark session: its options, its filters, and what each form of its readers answers."""

import pickle
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.cloudpickle import dumps
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

import dmsjournal as dj
from dmsjournal.model.windows import MAX_VERSION
from dmsjournal.read.density import Mass
from dmsjournal.read.stream import admitted
from dmsjournal.spark import rows, sizes, source
from dmsjournal.spark.options import STARTS
from dmsjournal.spark.source import DmsJournal, WholeStreamReader
from tests.helpers import SCHOOL, STUDENT, change_content, document, write

URL = "postgresql://me:s3cret@127.0.0.1:1/db"


@pytest.fixture
def school(journal: dj.Journal) -> dj.Journal:
    """Versions 1 to 6."""
    write(journal, *(document(SCHOOL, n) for n in range(6)))
    return journal


def made(url: str, **options: str) -> DmsJournal:
    return DmsJournal({"url": url, **options})


def streaming(url: str, **options: str) -> Any:
    asked = made(url, **options)
    return asked.streamReader(asked.schema())


@pytest.fixture
def old(monkeypatch: pytest.MonkeyPatch) -> None:
    """As PySpark 4.0 and 4.1 have it."""
    monkeypatch.setattr(source, "ADMITS", False)


def read(reader: Any, partitions: Any) -> list[dict[str, Any]]:
    """The rows of the partitions, read by a copy of the reader, as a worker has it."""
    worker = pickle.loads(dumps(reader))
    return [row for each in partitions for batch in worker.read(pickle.loads(dumps(each))) for row in batch.to_pylist()]


# --- options ---


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"colour": "red"}, "option = 'colour': the options are url, resource"),
        ({"startingversio": "3"}, "did you mean startingVersion"),
        ({"include": "upsert,rename"}, "include = 'upsert,rename': name some of key_change, "),
        ({"eventsPerPart": "none"}, f"eventsPerPart = 'none': ask for 1 to {MAX_VERSION} events"),
        ({"resource": "Student"}, "resource = 'Student': write it as project/resource/version"),
        ({"resource": "a/b/1", "resources": "a/b/1"}, "give either resource or resources"),
        ({"include": "upsert,insert"}, "name some of key_change, upsert, delete"),
        ({"include": ""}, "name some of"),
        ({"body": "yes"}, "body = 'yes': write true or false"),
        ({"min": "-1"}, "min = '-1': a version is a whole number"),
        ({"max": str(2**63)}, "max = 9223372036854775808"),
        ({"max": "1e3"}, "max = '1e3'"),
        ({"min": "3", "max": "2"}, "it is above `max`"),
        ({"startingOffsets": "soon"}, "startingOffsets = 'soon': write earliest, latest or a version"),
        ({"startingOffsets": "latest", "startingVersion": "3"}, "give either startingVersion or startingOffsets"),
        ({"startingPosition": "1"}, "startingPosition = '1': write snapshot, earliest or latest"),
        ({"startingPosition": "snapshot", "startingVersion": "3"}, "give either startingVersion or startingPosition"),
        ({"startingTimestamp": "2026-08-01"}, "startingTimestamp = '2026-08-01': write a time with its zone"),
        ({"startingTimestamp": "0001-01-01T00:00:00+14:00"}, "write a time with its zone"),
        ({"maxRowsPerTrigger": "0"}, "maxRowsPerTrigger = 0"),
        ({"maxEventsPerTrigger": "1", "maxRowsPerTrigger": "1"}, "give either maxEventsPerTrigger or maxRowsPerTrigger"),
        ({"parts": "0"}, "parts = 0"),
        ({"parts": "2", "eventsPerPart": "2"}, "give either parts or eventsPerPart"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(options: dict[str, str], says: str) -> None:
    with pytest.raises(dj.InvalidRequest) as refused:
        made(URL, **options)
    assert says in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_a_url_is_needed_and_is_shown_nowhere() -> None:
    with pytest.raises(dj.InvalidRequest, match="url = None: name the database"):
        DmsJournal({})
    with pytest.raises(dj.InvalidRequest) as refused:
        made("postgresql://me:s3cr@t@host/db")
    asked = made(URL)
    for shown in (str(refused.value), repr(asked), repr(asked._asked), repr(asked.reader(asked.schema()))):
        assert "s3cr" not in shown


def test_options_of_a_stream_are_none_of_a_window() -> None:
    columns = rows.schema(body=False)
    words = {"startingPosition": "latest", "startingTimestamp": "2026-08-01T00:00:00Z"}
    for name in (*STARTS, "maxEventsPerTrigger", "maxRowsPerTrigger"):
        with pytest.raises(dj.InvalidRequest, match=f"{name} = '{words.get(name, 3)}': it is of streams"):
            made(URL, **{name: words.get(name, "3")}).reader(columns)
    for name in ("min", "max"):
        with pytest.raises(dj.InvalidRequest, match=f"{name} = '3': it is of a window"):
            made(URL, **{name.upper(): "3"}).streamReader(columns)


def test_a_schema_takes_columns_of_ours() -> None:
    asked = StructType([StructField("body", StringType()), StructField("_commit_version", LongType(), nullable=False)])
    assert rows.checked_schema(asked) == asked
    for field in (StructField("student", StringType()), StructField("document_id", StringType())):
        with pytest.raises(dj.InvalidRequest, match="the columns are resource string, _change_type string, _commit_version bigint"):
            made(URL).reader(StructType([field]))
    assert "body" not in made(URL).schema().fieldNames()
    assert "body" in made(URL, body="TRUE").schema().fieldNames()


# --- rows ---


def test_rows_are_of_the_columns_that_are_asked_for(school: dj.Journal, url: str) -> None:
    columns = StructType(
        [StructField("_change_type", StringType()), StructField("_commit_timestamp", TimestampType(), nullable=False)]
    )
    reader = made(url, resource=str(SCHOOL)).reader(columns)
    [batch] = [batch for part in reader.partitions() for batch in reader.read(part)]
    assert batch.schema == pa.schema(
        [pa.field("_change_type", pa.string()), pa.field("_commit_timestamp", pa.timestamp("us", "UTC"), nullable=False)]
    )
    assert batch.num_rows == 6
    assert read(reader, [InputPartition(None)]) == []  # what Spark makes of a window without parts


# --- streams, as PySpark 4.2 and later call them ---


def test_a_stream_is_admitted_by_rows(school: dj.Journal, url: str) -> None:
    reader = streaming(url, maxRowsPerTrigger="4", resource=str(SCHOOL))
    assert reader.getDefaultReadLimit() == ReadMaxRows(4)
    start = reader.initialOffset()
    first = reader.latestOffset(start, reader.getDefaultReadLimit())
    second = reader.latestOffset(first, ReadMaxRows(4))
    assert [offset["version"] for offset in (start, first, second)] == [0, 4, 6]
    assert reader.latestOffset(second, ReadMaxRows(4)) == second
    assert reader.latestOffset(start, ReadAllAvailable()) == second
    assert reader.reportLatestOffset().items() >= second.items()
    assert [row["_commit_version"] for row in read(reader, reader.partitions(first, second))] == [5, 6]
    assert streaming(url).getDefaultReadLimit() == ReadAllAvailable()
    reader.stop()


def test_available_now_ends_where_newest_was(school: dj.Journal, url: str) -> None:
    reader = streaming(url)
    assert isinstance(reader, SupportsTriggerAvailableNow)
    start = reader.initialOffset()
    reader.prepareForTriggerAvailableNow()
    write(school, document(STUDENT, 1))
    end = reader.latestOffset(start, ReadAllAvailable())
    assert end["version"] == 6
    assert reader.latestOffset(end, ReadAllAvailable()) == end
    reader.stop()


@pytest.mark.parametrize(
    ("options", "version"),
    [
        ({}, 0),
        ({"startingVersion": "0"}, 0),
        ({"startingVersion": "3"}, 2),
        ({"startingOffsets": "3"}, 2),
        ({"startingVersion": "7"}, 6),
    ],
)
def test_a_stream_starts_at_a_version_inclusive(school: dj.Journal, url: str, options: dict[str, str], version: int) -> None:
    assert streaming(url, **options).initialOffset()["version"] == version


def test_a_stream_starts_at_words(school: dj.Journal, url: str) -> None:
    school.prune(2)
    assert streaming(url, startingOffsets="EARLIEST").initialOffset()["version"] == 2
    assert streaming(url, startingOffsets="latest").initialOffset()["version"] == 6
    reader = streaming(url)  # from the beginning, which is not there any more
    with pytest.raises(dj.CheckpointExpired):
        reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    for option in ("startingVersion", "startingOffsets"):
        with pytest.raises(dj.InvalidRequest, match=rf"^{option} = 8: it is above the newest readable version \(6\)"):
            streaming(url, **{option: "8"}).initialOffset()


def test_parts_of_bodies_are_of_bytes(school: dj.Journal, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(school, *(document(STUDENT, n, body={"text": "x" * 50_000}) for n in range(4)))
    monkeypatch.setattr(sizes, "FEWEST", 1)
    monkeypatch.setattr(sizes, "PART", 60_000)
    for options, is_cut in (({"body": "true"}, True), ({}, False), ({"body": "true", "parts": "2"}, False)):
        reader = made(url, **options).reader(rows.schema(body="body" in options))
        assert (len(reader.partitions()) > 4) is is_cut


def test_progress_says_what_is_held_back(school: dj.Journal, url: str, connections) -> None:
    reader = streaming(url)
    assert reader.reportLatestOffset() == reader.stream.at("latest").to_dict()
    with connections[0].begin():
        connections[0].exec_driver_sql("UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = 1")
        change_content(connections[1], 2)
        told = reader.reportLatestOffset()
        assert (told["version"], told["held_back"].startswith("2 versions above 6 held back since ")) == (6, True)
    reader.stop()


def test_progress_says_how_far_a_batch_began_behind(school: dj.Journal, url: str) -> None:
    reader = streaming(url, startingOffsets="latest", maxEventsPerTrigger="1")
    start, before = reader.initialOffset(), datetime.now(UTC)
    assert reader.latestOffset(start, ReadAllAvailable()) == start
    told = reader.reportLatestOffset()
    assert (told["lag_versions"], told["lag_seconds"]) == (0, 0)
    write(school, document(SCHOOL, 6))
    write(school, document(SCHOOL, 7))
    for end, versions in ((7, 2), (8, 1)):
        start = reader.latestOffset(start, ReadMaxRows(1)) if end > 7 else start
        assert reader.latestOffset(start, ReadMaxRows(1))["version"] == end
        told = reader.reportLatestOffset()
        assert (told["version"], told["lag_versions"]) == (8, versions)
        assert 0 <= told["lag_seconds"] <= (datetime.now(UTC) - before).total_seconds() + 5  # the server's clock
    reader.stop()


def test_a_stream_starts_with_a_snapshot_or_at_a_time(school: dj.Journal, url: str) -> None:
    school.prune(3)
    reader = streaming(url, startingPosition="SNAPSHOT", maxEventsPerTrigger="4")
    start = reader.initialOffset()
    first = reader.latestOffset(start, reader.getDefaultReadLimit())
    second = reader.latestOffset(first, ReadMaxRows(4))
    assert [(offset["version"], "documents" in offset) for offset in (start, first, second)] == [(6, True), (6, True), (6, False)]
    found = [read(reader, reader.partitions(*pair)) for pair in ((start, first), (first, second))]
    assert [[row["document_id"] for row in lot] for lot in found] == [[1, 2, 3, 4], [5, 6]]
    assert {row["_change_type"] for lot in found for row in lot} == {"upsert"}
    reader.stop()
    now = datetime.now(UTC)
    assert streaming(url, startingTimestamp=(now + timedelta(days=1)).isoformat()).initialOffset()["version"] == 6
    with pytest.raises(dj.CheckpointExpired):
        streaming(url, startingTimestamp=(now - timedelta(days=1)).isoformat()).initialOffset()
    with pytest.raises(dj.InvalidRequest, match=r"^include = 'delete': a snapshot has upserts"):
        streaming(url, startingPosition="snapshot", include="delete").initialOffset()


def test_before_4_2_a_snapshot_is_one_batch(school: dj.Journal, url: str, old: None) -> None:
    reader = streaming(url, startingPosition="snapshot")
    start = reader.initialOffset()
    write(school, document(SCHOOL, 6))
    end = reader.latestOffset()
    assert sorted(row["_commit_version"] for row in read(reader, reader.partitions(start, end))) == [1, 2, 3, 4, 5, 6, 7]
    with pytest.raises(dj.UnsupportedCapability, match=r"maxEventsPerTrigger before PySpark 4\.2"):
        streaming(url, maxEventsPerTrigger="5")


# --- streams, as PySpark 4.0 and 4.1 call them ---


def test_before_4_2_a_batch_goes_to_the_horizon(school: dj.Journal, url: str, old: None) -> None:
    reader = streaming(url, startingVersion="2")
    assert isinstance(reader, WholeStreamReader)
    assert not isinstance(reader, SupportsTriggerAvailableNow)
    start, end = reader.initialOffset(), reader.latestOffset()
    assert (start["version"], end["version"]) == (1, 6)
    assert [row["_commit_version"] for row in read(reader, reader.partitions(start, end))] == [2, 3, 4, 5, 6]
    reader.stop()


def test_before_4_2_rows_cannot_be_admitted(old: None) -> None:
    with pytest.raises(dj.UnsupportedCapability, match=r"maxRowsPerTrigger before PySpark 4\.2: leave it out"):
        streaming(URL, maxRowsPerTrigger="5")


# --- admission ---


@pytest.mark.parametrize(
    ("found", "events", "version"),
    [
        ([], 5, 99),
        ([(11, 20, 10)], 5, 15),
        ([(11, 20, 10)], 10, 99),
        ([(11, 11, 1), (12, 12, 1), (30, 30, 1)], 2, 29),  # what lies between holds nothing
        ([(11, 11, 1_000_000)], 5, 11),  # one version is one batch
        ([(11, 11, 1), (12, 12, 1_000_000)], 5, 11),
        ([(50, 99, 1000)], 1, 50),  # one event at least
        ([(1, MAX_VERSION, 1e9)], 999_999_999, None),
    ],
)
def test_how_far_a_batch_goes(found: list[tuple[int, int, float]], events: int, version: int | None) -> None:
    last = 99 if version is not None else MAX_VERSION
    through = admitted([Mass(*each) for each in found], last, events)
    assert through == version if version is not None else MAX_VERSION * 0.99 < through <= MAX_VERSION
