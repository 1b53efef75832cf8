"""What Spark reads: a window in parts is what the paged API says, of one moment, and every value arrives as it is."""

import itertools
import json
import re
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import dmsjournal as dj
from dmsjournal.database import sqlserver
from dmsjournal.spark import dataframes, sizes
from dmsjournal.spark.dataframes import Reading, read
from dmsjournal.spark.jdbc import jdbc_options, resolved
from tests.helpers import document, resource, write

pytestmark = pytest.mark.xdist_group("spark")

SCHOOL, STUDENT, PLAN = resource("School"), resource("Student"), resource("GraduationPlan")
IDS = {SCHOOL: 1, STUDENT: 2, PLAN: 3}
RESOURCES = [SCHOOL, STUDENT, PLAN]

# Documents 1 to 20 are schools, 1001 to 3000 students, 4001 to 4100 plans without key values; the triggers stamp and journal.
CREATE = [
    """INSERT INTO dms.ResourceKey (ResourceKeyId, ProjectName, ResourceName, ResourceVersion)
       VALUES (1, 'Ed-Fi', 'School', '5.2.0'), (2, 'Ed-Fi', 'Student', '5.2.0'), (3, 'Ed-Fi', 'GraduationPlan', '5.2.0')""",
    """INSERT INTO dms.Document (DocumentId, ResourceKeyId, KeyValues)
       SELECT n, 1, jsonb_build_object('schoolId', n) FROM generate_series(1, 20) AS n""",
    """INSERT INTO dms.Document (DocumentId, ResourceKeyId, KeyValues)
       SELECT n, 2, jsonb_build_object('studentId', n) FROM generate_series(1001, 3000) AS n""",
    "INSERT INTO dms.Document (DocumentId, ResourceKeyId) SELECT n, 3 FROM generate_series(4001, 4100) AS n",
    """INSERT INTO dms.DocumentCache (DocumentId, DocumentJson, Etag, ComputedVersion)
       SELECT n, jsonb_build_object('says', n), '', 0 FROM generate_series(1001, 2000) AS n""",
    """INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, IsIdentityComponent)
       SELECT n, 1 + mod(n, 20), false FROM generate_series(1001, 3000) AS n
       UNION ALL SELECT n, n - 3000, false FROM generate_series(4001, 4100) AS n
       UNION ALL SELECT n, 20, false FROM generate_series(4001, 4100) AS n""",
]
EDIT = "UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId BETWEEN {} AND {} AND mod(DocumentId, {}) = 0"
RENAME = "UPDATE dms.Document SET KeyValues = jsonb_build_object('schoolId', {}) WHERE DocumentId = {}"
DELETE = "DELETE FROM dms.Document WHERE ResourceKeyId = {} AND DocumentId > 1100 AND mod(DocumentId, {}) = 0"


def run(url: str, *script: str) -> None:
    """Each statement in a transaction of its own."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    for statement in script:
        with engine.begin() as conn:
            conn.exec_driver_sql(statement)


@pytest.fixture
def history(url: str) -> str:
    """Versions of documents' own and versions inherited from renamed schools, some overtaken, some documents deleted."""
    run(
        url,
        *CREATE,
        *[RENAME.format(103, 3), EDIT.format(1001, 4100, 7), RENAME.format(105, 5), DELETE.format(2, 11), DELETE.format(3, 9)],
        *[RENAME.format(203, 3), EDIT.format(1001, 4100, 13), RENAME.format(5, 5), RENAME.format(120, 20)],
        "UPDATE dms.Document SET KeyValues = jsonb_build_object('studentId', -DocumentId) WHERE mod(DocumentId, 50) = 10",
    )
    return url


def by_part(frame: DataFrame) -> list[list[Row]]:
    """The rows of each task that has any, in the order of the parts, each in the order of the paged API."""
    found: dict[int, list[Row]] = defaultdict(list)
    for *row, task in frame.withColumn("task", F.spark_partition_id()).collect():
        found[task].append((*row,))
    return [sorted(found[task], key=lambda row: row[1:3]) for task in sorted(found)]


def rows(frame: DataFrame) -> list[Any]:
    """All rows; in the order of the paged API only if the parts follow one another and do not overlap."""
    return [*itertools.chain.from_iterable(by_part(frame))]


def as_list(asked: dj.ResourceKey | list[dj.ResourceKey] | None) -> list[dj.ResourceKey]:
    return RESOURCES if asked is None else [asked] if isinstance(asked, dj.ResourceKey) else asked


def paged(journal: dj.Journal, resources: Iterable[dj.ResourceKey], window: dj.Window) -> list[tuple[int, int, int, str]]:
    return sorted(
        (
            (IDS[each], change.change_version, change.document_id, str(change.document_uuid))
            for each in resources
            for change in journal.changes(each, window, page_size=97)
        ),
        key=lambda row: row[1:3],
    )


def changes(reading: Reading) -> list[Any]:
    return rows(reading.changes().select("resource_key_id", "change_version", "document_id", "document_uuid"))


@pytest.mark.acceptance("60")
def test_a_window_in_parts_is_the_paged_api_s(spark: SparkSession, history: str, journal: dj.Journal) -> None:
    newest = journal.versions().newest
    end = dj.Window(newest - 300, newest + 50)
    asked = [
        *((None, dj.Window(), parts) for parts in (1, 2, 7, 32)),
        *(([STUDENT, PLAN], end, parts) for parts in (1, 2, 7, 32)),
        *[(STUDENT, dj.Window(), 7), (STUDENT, dj.Window(newest // 3, newest // 3 * 2), 2), ([PLAN], end, 32)],
    ]
    for resources, window, parts in asked:
        expected = paged(journal, as_list(resources), window)
        with read(spark, history, resources, window, parts=parts) as reading:
            assert changes(reading) == expected  # as lists: a row read twice shows
            assert len(reading.plan.parts) <= parts
        assert len(expected) > 50  # the comparison was not of nothing


def test_columns_have_fixed_types(spark: SparkSession, history: str) -> None:
    change = "resource_key_id smallint, change_version bigint, document_id bigint, document_uuid string"
    with read(spark, history) as reading:
        frames = {
            f"{change}, key_values string, committed_at timestamp": [reading.changes(), reading.deletes()],
            f"{change}, key_values string, committed_at timestamp, body string": [reading.changes(body=True)],
            f"{change}, key_values string, committed_at timestamp, body string, etag string, last_modified timestamp": [
                reading.changes(body=True, derived=True)
            ],
            f"{change}, old_key_values string, new_key_values string, committed_at timestamp": [reading.key_changes()],
        }
        for columns, of in frames.items():
            for frame in of:
                assert ", ".join(" ".join(column) for column in frame.dtypes) == columns
        windowed = reading.changes(body=True, derived=True).dtypes
    with read(spark, history, full=True) as reading:
        assert reading.changes(body=True, derived=True).dtypes == windowed


@pytest.mark.parametrize("full", [False, True])
def test_etags_dates_and_bodies_are_those_of_the_journal(
    spark: SparkSession, history: str, journal: dj.Journal, full: bool
) -> None:
    with read(spark, history, full=full, parts=3) as reading:
        found = reading.changes(body=True, derived=True).collect()
    ids = [row.document_id for row in found]
    derived, stored = journal.derive(ids), journal.documents(ids)
    assert len(found) == len(derived) > 1_800
    assert {row.document_id: (row.change_version, row.etag, utc(row.last_modified)) for row in found} == {
        i: (each.change_version, each.etag, each.last_modified) for i, each in derived.items()
    }
    assert {row.document_id: (parsed(row.key_values), parsed(row.body)) for row in found} == {
        i: (each.key_values, each.body) for i, each in stored.items()
    }
    assert {row.body is None for row in found} == {row.key_values is None for row in found} == {True, False}


def parsed(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def utc(value: datetime) -> datetime:
    """Spark gives times of the session's zone, without it: the process's own."""
    return value.astimezone(UTC)


@pytest.mark.parametrize("asked", [STUDENT, [SCHOOL, STUDENT, PLAN], None])
def test_deletes_and_key_changes_are_those_of_the_journal(
    spark: SparkSession, history: str, journal: dj.Journal, asked: Any
) -> None:
    newest = journal.versions().newest
    resources = as_list(asked)
    for window in (dj.Window(), dj.Window(newest // 2), dj.Window(newest - 60, newest - 5)):
        with read(spark, history, asked, window, events_per_part=20) as reading:  # so that there are parts
            deletes, key_changes = rows(reading.deletes()), rows(reading.key_changes())
        expected = [(IDS[r], d) for r in resources for d in journal.deletes(r, window)]
        assert [(*row[:4], parsed(row[4]), utc(row[5])) for row in deletes] == [
            (r, d.change_version, d.document_id, str(d.document_uuid), d.key_values, d.deleted_at)
            for r, d in sorted(expected, key=lambda pair: pair[1].change_version)
        ]
        changed = [(IDS[r], c) for r in resources for c in journal.key_changes(r, window)]
        assert [(*row[:4], parsed(row[4]), parsed(row[5]), utc(row[6])) for row in key_changes] == [
            (r, c.change_version, c.document_id, str(c.document_uuid), c.old_key_values, c.new_key_values, c.changed_at)
            for r, c in sorted(changed, key=lambda pair: pair[1].change_version)
        ]
    assert expected or changed


@pytest.mark.parametrize("parts", [1, 7])
def test_a_full_reading_and_the_window_after_it_meet(spark: SparkSession, history: str, journal: dj.Journal, parts: int) -> None:
    engine = sa.create_engine(history, poolclass=sa.NullPool)
    with engine.connect() as open_writer:
        open_writer.exec_driver_sql(EDIT.format(1001, 1100, 1))  # holds the horizon, below what comes next
        run(history, EDIT.format(2001, 2100, 1))
        with read(spark, history, STUDENT, full=True, parts=parts) as reading:
            assert len(reading.plan.parts) == parts
            first = reading.changes()
            run(history, EDIT.format(2050, 2060, 1))  # after the moment
            found = {row.document_id: row.change_version for row in first.collect()}
            assert len(found) == first.count()
            assert (reading.deletes().count(), reading.key_changes().count()) == (0, 0)
        open_writer.commit()
    assert max(found.values()) <= reading.horizon
    assert not found.keys() & range(2001, 2101)  # above the horizon: they are in the next window
    with read(spark, history, STUDENT, dj.Window(reading.horizon + 1)) as following:
        later = {row.document_id: row.change_version for row in following.changes().collect()}
    assert found | later == {change.document_id: change.change_version for change in journal.changes(STUDENT)}


@pytest.mark.acceptance("61")
def test_tasks_read_equal_numbers_of_events_wherever_in_the_window_they_are(
    spark: SparkSession, url: str, journal: dj.Journal
) -> None:
    run(url, *CREATE[:3], *[EDIT.format(1, 20, 1)] * 100)
    run(url, "INSERT INTO dms.Document (DocumentId, ResourceKeyId) SELECT n, 2 FROM generate_series(5001, 25000) AS n")
    with read(spark, url, STUDENT, parts=8) as reading:
        counts = [len(part) for part in by_part(reading.changes())]
    assert counts == [2750] * 8  # equal strides of versions: 1515, 1505, 3005, …


def test_one_version_of_many_documents_is_read_by_many_tasks(spark: SparkSession, url: str, journal: dj.Journal) -> None:
    edges = "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) SELECT n, 20 FROM generate_series(1001, 3000) AS n"
    run(url, *CREATE[:3], edges, RENAME.format(120, 20), EDIT.format(1, 20, 1))
    after = dj.Window(journal.versions().newest - 20)  # the renaming, and what was edited after it
    with read(spark, url, window=after, parts=8) as reading:
        parts = by_part(reading.changes().select("resource_key_id", "change_version", "document_id", "document_uuid"))
    assert [*itertools.chain.from_iterable(parts)] == paged(journal, [SCHOOL, STUDENT], after)
    alike = [len({row[1] for row in part}) for part in parts]
    assert alike.count(1) >= 7  # of the renaming's version alone
    assert max(map(len, parts)) <= 300


def test_every_task_reads_the_snapshot_of_the_beginning(spark: SparkSession, history: str, journal: dj.Journal) -> None:
    window = dj.Window(max=journal.versions().newest)
    before = paged(journal, RESOURCES, window)
    deletes = len([*journal.deletes(STUDENT, window)])
    with read(spark, history, None, window, parts=7) as reading:
        frame = reading.changes(derived=True)
        run(history, EDIT.format(1001, 3000, 2), RENAME.format(104, 4), DELETE.format(2, 13))
        assert paged(journal, RESOURCES, window) != before  # a reader without the snapshot loses what moved above the window
        assert changes(reading) == before  # no task had begun
        run(history, DELETE.format(3, 1), DELETE.format(2, 1))
        assert changes(reading) == before
        assert reading.deletes().where("resource_key_id = 2").count() == deletes
        assert frame.count() == len(before)
        journal.prune(journal.versions().newest)
        assert changes(reading) == before  # what is pruned after the snapshot is still in it
    # It fails, rather than read another moment; the words are those of PostgreSQL up to 16, and from 17.
    with pytest.raises(Exception, match=r"invalid snapshot identifier|snapshot .* does not exist"):
        frame.collect()


def test_a_window_that_has_been_pruned_is_refused(spark: SparkSession, history: str, journal: dj.Journal) -> None:
    journal.prune(40, journals=["DocumentChangeEvent"])
    with pytest.raises(dj.CheckpointExpired) as expired, read(spark, history, STUDENT, dj.Window(40)):
        pass
    assert expired.value.oldest == 41
    journal.prune(50, journals=["DocumentDeleteEvent"])
    with read(spark, history, STUDENT, dj.Window(41)) as reading:
        assert changes(reading) == paged(journal, [STUDENT], dj.Window(41))
        assert reading.key_changes().count() > 0
        with pytest.raises(dj.CheckpointExpired, match="51"):
            reading.deletes()
    with read(spark, history, STUDENT, full=True) as reading:
        assert reading.changes().count() == len([*journal.snapshot(STUDENT)])


def test_a_prune_between_the_plan_and_the_snapshot_is_refused(
    spark: SparkSession, history: str, journal: dj.Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = dj.Journal.plan

    def and_prune(*asked: Any, **options: Any) -> dj.Plan:
        found = plan(*asked, **options)
        journal.prune(60)
        return found

    monkeypatch.setattr(dj.Journal, "plan", and_prune)
    with pytest.raises(dj.CheckpointExpired), read(spark, history, STUDENT) as reading:
        reading.changes()


@pytest.mark.parametrize("journal_name", ["DocumentDeleteEvent", "KeyChangeEvent"])
def test_without_a_common_snapshot_a_prune_of_any_journal_that_is_read_is_told_at_the_end(
    spark: SparkSession, history: str, journal: dj.Journal, journal_name: str
) -> None:
    """As on SQL Server, whose tasks have a moment each: the end asks for the floors as they are by then."""
    with read(spark, history, STUDENT, dj.Window(1)) as reading:
        apart = replace(reading, _engine=sqlserver, _sessions=journal.database.session)
        reading.deletes() if journal_name == "DocumentDeleteEvent" else reading.key_changes()
        apart.refuse_expired()
        journal.prune(30, journals=[journal_name])
        with pytest.raises(dj.CheckpointExpired):
            apart.refuse_expired()


def test_a_window_without_events_has_no_rows(spark: SparkSession, history: str, journal: dj.Journal) -> None:
    newest = journal.versions().newest
    for window in (dj.Window(newest + 1), dj.Window(newest + 5, newest + 9), dj.Window(1, 1)):
        with read(spark, history, PLAN, window) as reading:
            assert reading.horizon == newest
            assert [each.count() for each in (reading.changes(), reading.deletes(), reading.key_changes())] == [0, 0, 0]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"resources": resource("Studnet")}, "Studnet.*did you mean .*Student"),
        ({"parts": 0}, "parts = 0"),
        ({"parts": 3, "events_per_part": 10}, "either"),
        ({"events_per_part": 0, "full": True}, "documents_per_part = 0"),
        ({"window": 5}, "window = 5"),
        ({"window": dj.Window(5), "full": True}, "window"),
    ],
)
def test_what_makes_no_sense_is_refused(spark: SparkSession, history: str, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(dj.InvalidRequest, match=message), read(spark, history, **asked):
        pass


def assert_silent(error: BaseException | None, password: str | None) -> None:
    """Neither the error nor what caused it tells the password."""
    assert password
    while error is not None:
        assert password not in f"{error!s} {error!r} {getattr(error, 'java_exception', '')}"
        error = error.__cause__


def test_a_database_without_the_journal_or_with_an_older_one_is_refused(spark: SparkSession, postgres_server) -> None:
    from dmsjournal.schema.migrate import downgrade

    with postgres_server.fresh_database() as url, pytest.raises(dj.NotInstalled) as refused, read(spark, url):
        pass
    assert_silent(refused.value, sa.make_url(url).password)
    with postgres_server.copy_of_template() as url:
        downgrade(url, "0005")
        with pytest.raises(dj.NotInstalled, match=r"0005.*0007"), read(spark, url):
            pass


def test_the_password_is_in_no_plan_and_no_error(spark: SparkSession, history: str, capfd: pytest.CaptureFixture[str]) -> None:
    password = sa.make_url(history).password
    assert password
    with read(spark, history) as reading:
        frame = reading.changes(body=True, derived=True)
        frame.explain(mode="formatted")
        frame.explain(extended=True)
        assert password not in frame._jdf.queryExecution().toString()
        assert password not in frame._jdf.queryExecution().logical().toJSON()
        assert password not in repr(reading)
    with pytest.raises(Exception, match="snapshot") as late:
        frame.collect()
    assert_silent(late.value, password)
    wrong = sa.make_url(history).set(password="not-the-password")
    with pytest.raises(dj.JournalError, match="password") as refused, read(spark, wrong):
        pass
    assert_silent(refused.value, "not-the-password")
    assert password not in "".join(capfd.readouterr())


@pytest.mark.parametrize(("configured", "worked_with"), [("4MB", "32MB"), ("96MB", "96MB")])
def test_a_task_says_who_it_is_and_has_the_memory_for_its_join(
    spark: SparkSession, history: str, configured: str, worked_with: str
) -> None:
    """And the database's own memory where that is more."""
    run(history, f"ALTER DATABASE {sa.make_url(history).database} SET work_mem = '{configured}'")
    asked = "(SELECT current_setting('application_name') AS who, current_setting('work_mem') AS memory) AS settings"
    named = sa.make_url(history).update_query_dict({"application_name": "the job & I"})
    for url, who in ((history, "dmsjournal"), (named, "the job & I")):
        with read(spark, url) as reading:
            options = dict(reading._options)
            [row] = spark.read.jdbc(options.pop("url"), asked, predicates=["1 = 1"], properties=options).collect()
        assert (row.who, row.memory) == (who, worked_with)


def test_the_password_is_no_part_of_the_jdbc_url() -> None:
    options = jdbc_options(
        "postgresql+psycopg://me:p%40ss:word@[::1]:5433/my%20db?sslmode=verify-full&connect_timeout=5&options=-c%20jit%3Doff"
    )
    assert options.pop("password") == "p@ss:word"
    assert options == {
        "url": "jdbc:postgresql://[::1]:5433/my%20db?ApplicationName=dmsjournal&sslmode=verify-full&connectTimeout=5&options=-c%20jit%3Doff&currentSchema=pg_catalog%2Cpg_temp",
        "driver": "org.postgresql.Driver",
        "fetchsize": "10000",
        "user": "me",
    }
    assert jdbc_options("postgresql:///db") == {
        "url": "jdbc:postgresql://localhost:5432/db?ApplicationName=dmsjournal&currentSchema=pg_catalog%2Cpg_temp",
        "driver": "org.postgresql.Driver",
        "fetchsize": "10000",
    }
    assert jdbc_options("mssql+pyodbc://sa:p%3Bss@host:1433/my db?driver=ODBC+Driver+18&Encrypt=no&TrustServerCertificate=yes") == {
        "url": "jdbc:sqlserver://host:1433",
        "databaseName": "my db",
        "prepareMethod": "none",  # else sp_executesql takes back the isolation level
        "driver": "com.microsoft.sqlserver.jdbc.SQLServerDriver",
        "fetchsize": "10000",
        "user": "sa",
        "password": "p;ss",
        "applicationName": "dmsjournal",
        "encrypt": "false",
        "trustServerCertificate": "true",
    }


@pytest.mark.parametrize(
    "url", ["postgresql://me:secret@host/db?gssencmode=require", "mssql+pyodbc://sa:secret@host/db?MARS_Connection=yes"]
)
def test_what_the_driver_cannot_do_is_refused(url: str) -> None:
    with pytest.raises(dj.UnsupportedCapability, match=r"gssencmode|mars") as refused:
        jdbc_options(url)
    assert "secret" not in str(refused.value)


@pytest.fixture(params=["variables", "a file of passwords", "a service"])
def told_elsewhere(request: pytest.FixtureRequest, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A URL that says nothing but the driver; libpq finds the rest."""
    given = sa.make_url(url)
    if request.param == "a service":
        services = tmp_path / "services"
        options = {"host": given.host, "port": given.port, "user": given.username, "password": given.password}
        services.write_text("[mine]\n" + "".join(f"{name}={value}\n" for name, value in options.items()) + "sslmode=allow\n")
        monkeypatch.setenv("PGSERVICEFILE", str(services))
        return f"postgresql+psycopg:///{given.database}?service=mine"
    for name, value in (("HOST", given.host), ("PORT", given.port), ("USER", given.username), ("SSLMODE", "allow")):
        monkeypatch.setenv(f"PG{name}", str(value))
    if request.param == "variables":
        monkeypatch.setenv("PGPASSWORD", str(given.password))
    else:
        passwords = tmp_path / "passwords"
        passwords.write_text(f"*:*:*:*:{given.password}\n")
        passwords.chmod(0o600)
        monkeypatch.setenv("PGPASSFILE", str(passwords))
    return f"postgresql+psycopg:///{given.database}"


def test_what_libpq_finds_reaches_the_jdbc_driver(url: str, told_elsewhere: str) -> None:
    given = sa.make_url(url)
    with dj.connect(told_elsewhere) as journal:
        options = jdbc_options(resolved(told_elsewhere, journal))
    assert (options["user"], options["password"]) == (given.username, given.password)
    assert options["url"].startswith(f"jdbc:postgresql://{given.host}:{given.port}/{given.database}?")
    assert "sslmode=allow" in options["url"]
    assert str(given.password) not in options["url"]


def test_spark_reads_where_libpq_found_the_server(spark: SparkSession, url: str, told_elsewhere: str) -> None:
    run(url, *CREATE[:2])
    with read(spark, told_elsewhere) as reading:
        assert reading.changes().count() == 20


def test_what_makes_tls_stricter_is_never_left_out(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value, said in (
        ("PGSSLMINPROTOCOLVERSION", "TLSv1.3", "ssl_min_protocol_version"),
        ("PGREQUIREAUTH", "scram-sha-256", "require_auth"),
    ):
        with monkeypatch.context() as patch, dj.connect(url) as journal:
            patch.setenv(name, value)
            with pytest.raises(dj.UnsupportedCapability, match=said):
                jdbc_options(resolved(url, journal))
    monkeypatch.setenv("PGGSSENCMODE", "prefer")
    with dj.connect(url) as journal:
        assert "gss" not in jdbc_options(resolved(url, journal))["url"]


@pytest.mark.parametrize("ended_by", ["transaction_timeout", "an operator"])
def test_the_setting_that_ends_a_snapshot_is_named(url: str, ended_by: str) -> None:
    """Without Spark: its tasks say that the snapshot is gone, and nothing of why."""
    gone = dj.Unavailable("Spark could not finish writing: the snapshot does not exist")
    if ended_by == "transaction_timeout":
        run(url, f"ALTER DATABASE {sa.make_url(url).database} SET transaction_timeout = '1s'")
    with dj.connect(url) as journal, pytest.raises(dj.JournalError) as told, dataframes._one_snapshot(url, journal):  # noqa: PT012
        holders = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state LIKE 'idle in%'"
        with sa.create_engine(url, poolclass=sa.NullPool).execution_options(isolation_level="AUTOCOMMIT").connect() as conn:
            if ended_by == "an operator":
                conn.exec_driver_sql(f"SELECT pg_terminate_backend(pid) {holders}".replace("%", "%%"))
            while conn.exec_driver_sql(f"SELECT count(*) {holders}".replace("%", "%%")).scalar_one():
                time.sleep(0.05)
        raise gone
    if ended_by == "an operator":
        assert told.value is gone
    else:
        assert "raise transaction_timeout of the role or the database" in str(told.value)


NAMES = ["Zoë", "李小龍", "\U0001d50a\U0001d52f\U0001d51e\U0001d521 🎓", 'a"b\\c\u2028', "Ω" * 2_000]


@pytest.mark.acceptance("64")
def test_every_value_arrives_as_it_is(spark: SparkSession, url: str, journal: dj.Journal, tmp_path) -> None:
    high = 2**63 - 40
    run(url, f"SELECT setval('dms.ChangeVersionSequence', {high})")
    write(journal, *[dj.Document(STUDENT, {"name": name}, {"says": name, "n": [Decimal("1.50"), None, True]}) for name in NAMES])
    run(url, "UPDATE dms.Document SET KeyValues = NULL WHERE DocumentId = 1", "SET TIME ZONE 'Asia/Kathmandu'")
    with journal.write() as tx:
        tx.delete(STUDENT, {"name": NAMES[1]})
    run(url, "UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = 3")
    spark.conf.set("spark.sql.session.timeZone", "America/St_Johns")
    try:
        with read(spark, url, STUDENT, dj.Window(high)) as reading:
            reading.changes(body=True, derived=True).write.parquet(str(tmp_path / "changes"))
            reading.deletes().write.parquet(str(tmp_path / "deletes"))
            reading.key_changes().write.parquet(str(tmp_path / "key_changes"))
    finally:
        spark.conf.unset("spark.sql.session.timeZone")
    import pyarrow.parquet as pq

    found = {row["document_id"]: row for row in pq.read_table(tmp_path / "changes").to_pylist()}
    derived = journal.derive(found)
    assert {i: row["change_version"] for i, row in found.items()} == {1: high + 6, 3: high + 8, 4: high + 4, 5: high + 5}
    for i, row in found.items():
        name = NAMES[i - 1]
        assert parsed(row["key_values"]) == (None if i == 1 else {"name": name})
        assert json.loads(row["body"], parse_float=str) == {"says": name, "n": ["1.50", None, True]}
        assert (row["etag"], row["last_modified"]) == (derived[i].etag, derived[i].last_modified)
        assert abs((row["committed_at"] - datetime.now(UTC)).total_seconds()) < 600
    [deleted] = pq.read_table(tmp_path / "deletes").to_pylist()
    assert (deleted["change_version"], parsed(deleted["key_values"])) == (high + 7, {"name": NAMES[1]})
    [changed] = pq.read_table(tmp_path / "key_changes").to_pylist()
    assert (parsed(changed["old_key_values"]), changed["new_key_values"]) == ({"name": NAMES[0]}, None)


@pytest.mark.acceptance("71", "88")
def test_bodies_of_tracked_rows_are_read_from_their_tables(url: str, spark: SparkSession) -> None:
    """Also where resources have keys of one name and of different types, and beside documents whose body is kept."""
    from dmsjournal.schema import migrate

    migrate.upgrade(url, options=["tracking"])
    run(
        url,
        "CREATE SCHEMA app; CREATE TYPE app.mood AS ENUM ('sad', 'glad')",
        "CREATE TABLE app.a (id int PRIMARY KEY, name text, at timestamptz DEFAULT '2026-01-02 03:04:05+09', "
        "raw bytea DEFAULT '\\x00ff')",
        'CREATE TABLE app."b ? \'é\'" (id text, "?" app.mood, a int REFERENCES app.a, PRIMARY KEY (id, "?"))',
        "CREATE TABLE app.kept (id uuid PRIMARY KEY, name text)",
        "INSERT INTO app.a SELECT n, 'n' || n FROM generate_series(1, 50) AS n",
        "INSERT INTO app.\"b ? 'é'\" SELECT 'x' || n, 'sad', n FROM generate_series(1, 50) AS n",
        "INSERT INTO app.kept SELECT gen_random_uuid(), 'k' FROM generate_series(1, 5)",
    )
    with dj.connect(url) as journal:
        journal.track(dj.TrackedTable("app.a"), dj.TrackedTable("app.\"b ? 'é'\""), dj.TrackedTable("app.kept", bodies=True))
        write(journal, dj.Document(SCHOOL, {"id": "no number"}, {"says": 1}))
        wanted = {}
        for of in journal.resources():
            ids = [change.document_id for change in journal.changes(of)]
            wanted |= {number: stored.body for number, stored in journal.documents(ids).items()}
        assert len(wanted) == 106
        assert wanted[min(wanted)] == {"id": 1, "name": "n1", "at": "2026-01-01T18:04:05+00:00", "raw": "AP8="}
    for full in (True, False):
        with read(spark, url, full=full, parts=3) as reading:
            found = {row.document_id: json.loads(row.body) for row in reading.changes(body=True).collect()}
            assert found == wanted
            assert reading.changes().count() == 106


def asked_for(frame: DataFrame) -> list[tuple[str, list[str], str]]:
    """What explain() shows of each query: its source, the columns that it asks for, and the filters that it has."""
    shown = str(frame._jdf.queryExecution().executedPlan().toString())  # type: ignore[operator]
    found = re.findall(r"\) AS (\w+)\).*?PushedFilters: \[(.*?)\], ReadSchema: struct<(.*?)>", shown, re.DOTALL)
    return [(source, [each.split(":")[0] for each in columns.split(",") if each], filters) for source, filters, columns in found]


def scans(url: str, table: str) -> int:
    """How often a table or its indexes were scanned, by sessions that have ended."""
    text = f"SELECT seq_scan + coalesce(idx_scan, 0) FROM pg_stat_all_tables WHERE relid = 'dms.{table}'::regclass"
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as conn:
        return int(conn.exec_driver_sql(text).scalar_one())


def test_all_changes_in_one_frame_ask_the_database_for_what_is_used(spark: SparkSession, history: str, journal: dj.Journal) -> None:
    """The queries have the columns and the filters; those of other kinds are not there."""
    with read(spark, history) as reading:
        rows = reading.rows(body=True)
        first, last = reading.plan.first, reading.plan.last
        kinds = [(reading.changes(), "upsert"), (reading.deletes(), "delete"), (reading.key_changes(), "key_change")]
        expected = {
            (str(reading_of[row.resource_key_id]), kind, row.change_version, row.document_id, row.committed_at)
            for frame, kind in kinds
            for row in frame.collect()
            for reading_of in [{number: name for name, number in reading.plan.resources.items()}]
        }
        names = ("resource", "_change_type", "_commit_version", "document_id", "_commit_timestamp")
        assert {tuple(row[name] for name in names) for row in rows.collect()} == expected
        assert {kind for _, kind, *_ in expected} == {"upsert", "delete", "key_change"}

        before = {table: scans(history, table) for table in ("DocumentCache", "KeyChangeEvent")}
        counting = rows.groupBy().count()
        assert asked_for(counting) == [("changes", [], ""), ("deletes", [], ""), ("key_changes", [], "")]
        assert counting.collect()[0][0] == len(expected)
        while scans(history, "KeyChangeEvent") == before["KeyChangeEvent"]:  # until its sessions have told
            time.sleep(0.1)
        assert scans(history, "DocumentCache") == before["DocumentCache"]

        spark.conf.set("spark.sql.maxMetadataStringLength", "1000")  # else a long list of filters is cut
        some = rows.where(F.col("resource") == str(STUDENT)).where(F.col("_change_type") == "delete")
        some = some.where(F.col("_commit_version").between(first + 1, last)).select("document_id")
        [(source, columns, filters)] = asked_for(some)
        spark.conf.unset("spark.sql.maxMetadataStringLength")
        assert (source, columns) == ("deletes", ["document_id"])
        for each in (f"*EqualTo(resource,{STUDENT})", f"*GreaterThanOrEqual(change_version,{first + 1})"):
            assert each in filters
        wanted = {row[3] for row in expected if row[0] == str(STUDENT) and row[1] == "delete" and row[2] > first}
        assert {row.document_id for row in some.collect()} == wanted
    with read(spark, history, full=True) as reading:
        assert {row._change_type for row in reading.rows().select("_change_type").distinct().collect()} == {"upsert"}


@pytest.mark.parametrize(("size", "parts"), [(40, 1), (200_000, 4)])
def test_parts_and_round_trips_are_of_bytes(spark: SparkSession, url: str, journal: dj.Journal, size: int, parts: int) -> None:
    """Large bodies in small parts and a few at a time, so that no task holds more than a small one does."""
    write(journal, *(document(STUDENT, n, body={"text": "x" * size}) for n in range(4)))
    few = sizes.FEWEST
    sizes.FEWEST, part = 1, sizes.PART
    sizes.PART = 300_000
    try:
        with read(spark, url, body=True) as reading:
            assert len(reading.plan.parts) == parts
            frame = reading.changes(body=True)
            assert {len(row.body) for row in frame.collect()} == {size + len('{"text": ""}')}
        with read(spark, url) as reading:
            assert len(reading.plan.parts) == 1
    finally:
        sizes.FEWEST, sizes.PART = few, part
    assert sizes.fetch_size(sizes.ROW) == 10_000
    assert sizes.fetch_size(100_000) == 83
    assert sizes.fetch_size(2**30) == 50
