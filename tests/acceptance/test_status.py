"""Status: what it says of a journal whose state is known, and the commands' three forms of it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from tests.helpers import PLAN, STUDENT, change_content, change_identity, commit, document, write

JOURNALS = ["DocumentChangeEvent", "DocumentDeleteEvent", "IdentityChangeEvent", "KeyChangeEvent"]
SESSION = {"postgresql": "SELECT pg_backend_pid()", "mssql": "SELECT @@SPID"}
APPLICATION = {"postgresql": "SELECT set_config('application_name', 'nightly-import', false)", "mssql": "SELECT APP_NAME()"}
AGO = {
    "postgresql": "clock_timestamp() - {0} * interval '1 second'",
    "mssql": "DATEADD(second, -{0}, SYSUTCDATETIME())",
}


def scalar(connection: sa.Connection, by_dialect: dict[str, str]) -> Any:
    return commit(connection, by_dialect[connection.dialect.name])[0][0]


@contextmanager
def writing(connection: sa.Connection, document_id: int) -> Iterator[None]:
    """A transaction that has stamped a document, and is rolled back."""
    transaction = connection.begin()
    connection.exec_driver_sql(f"UPDATE dms.Document SET ContentVersion = ContentVersion + 1 WHERE DocumentId = {document_id}")
    yield
    transaction.rollback()


def made_older(connection: sa.Connection, condition: str, seconds: int) -> None:
    ago = AGO[connection.dialect.name].format(seconds)
    for journal in JOURNALS:
        commit(connection, f"UPDATE dms.{journal} SET CreatedAt = {ago} WHERE ChangeVersion {condition}")


def invoke(url: str, *arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli.app, ["status", "--url", url, *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_nothing_written(journal: dj.Journal) -> None:
    status = journal.status()
    assert (status.oldest, status.newest, status.last_stamp, status.lag_versions, status.lag_seconds) == (0, 0, 0, 0, 0)
    assert (status.holders, status.consumers, status.history, status.hidden) == ((), (), (), ())
    assert status.revisions == ("0007",)
    assert [(of.name, of.rows, of.rows_last_hour, of.floor, of.pruned_at) for of in status.journals] == [
        (name, 0, 0, 0, None) for name in JOURNALS
    ]
    assert all(of.bytes > 0 for of in status.journals)
    assert {trigger.state for trigger in status.triggers} == {"enabled"}


def test_an_open_writer_is_named_and_holds_the_horizon(journal: dj.Journal, connections) -> None:
    first, second = write(journal, document(STUDENT, 1), document(STUDENT, 2))
    application, pid = scalar(connections[0], APPLICATION), scalar(connections[0], SESSION)
    with writing(connections[0], first):
        change_content(connections[1], second)
        time.sleep(0.2)
        status = journal.status()
        assert (status.newest, status.last_stamp, status.lag_versions) == (2, 4, 2)
        assert status.lag_seconds >= 0.2
        (holder,) = status.holders
        assert (holder.floor, holder.pid, holder.prepared, holder.application) == (2, pid, None, application)
        assert holder.user
        assert holder.client
        assert holder.transaction_seconds >= 0.2
    status = journal.status()
    assert (status.newest, status.lag_versions, status.lag_seconds, status.holders) == (4, 0, 0, ())


def test_who_holds_the_horizon_comes_first(journal: dj.Journal, connections) -> None:
    ids = write(journal, document(STUDENT, 1), document(STUDENT, 2))
    pids = [scalar(connection, SESSION) for connection in connections]
    with writing(connections[1], ids[0]), writing(connections[0], ids[1]):
        assert [holder.pid for holder in journal.status().holders] == [pids[1], pids[0]]


def test_a_consumer_is_behind_by_the_events_that_it_has_not_read(journal: dj.Journal, connections) -> None:
    write(journal, *(document(STUDENT, number) for number in range(10)))
    made_older(connections[0], "<= 3", 7_200)
    made_older(connections[0], "> 3", 600)
    for name, version in (("b", 2), ("a", 3), ("c", 10)):
        journal.consumers.register(name, version)
    a, b, c = journal.status().consumers
    assert [(of.name, of.change_version, of.lag_versions) for of in (a, b, c)] == [("a", 3, 7), ("b", 2, 8), ("c", 10, 0)]
    assert a.lag_seconds == pytest.approx(600, abs=60)
    assert b.lag_seconds == pytest.approx(7_200, abs=60)
    assert c.lag_seconds == 0
    assert abs(journal.status().at - a.updated_at) < timedelta(minutes=1)
    assert not any(of.is_expired for of in (a, b, c))
    commit(connections[0], "UPDATE dms.JournalFloor SET ChangeVersion = 3 WHERE Journal = 'DocumentChangeEvent'")
    assert [of.is_expired for of in journal.status().consumers] == [False, True, False]


def test_status_and_consumers_tell_the_same_lag(journal: dj.Journal) -> None:
    """Also inside a version, which is not read before its last document is: a prune that stops at it leaves its events."""
    write(journal, *(document(STUDENT, number) for number in range(4)))
    journal.consumers.register("between", 3)
    journal.consumers.register("inside", dj.Cursor(3, 1))
    told = {of.name: of for of in journal.status().consumers}
    assert {name: of.lag_versions for name, of in told.items()} == {"between": 1, "inside": 2}
    assert {of.name: of.lag for of in journal.consumers.list()} == {name: of.lag_versions for name, of in told.items()}
    assert told["inside"].lag_seconds >= told["between"].lag_seconds > 0


def test_a_consumer_is_not_behind_what_the_horizon_does_not_reach(journal: dj.Journal, connections) -> None:
    first, second = write(journal, document(STUDENT, 1), document(STUDENT, 2))
    journal.consumers.register("a", 2)
    with writing(connections[0], first):
        change_content(connections[1], second)
        status = journal.status()
    assert status.lag_seconds > 0
    assert [(of.lag_versions, of.lag_seconds) for of in status.consumers] == [(0, 0)]


def test_growth_counts_what_was_written_in_the_last_hour_and_day(journal: dj.Journal, connections) -> None:
    ids = write(journal, *(document(STUDENT, number) for number in range(200)))
    change_identity(connections[0], *ids[:30])
    with journal.write() as tx:
        for number in range(5):
            tx.delete(STUDENT, {"studentId": number})
    made_older(connections[0], "<= 50", 100_000)
    made_older(connections[0], "BETWEEN 51 AND 120", 20_000)
    status = journal.status()
    grown = {of.name: (of.rows_last_hour, of.rows_last_day) for of in status.journals}
    assert grown["DocumentChangeEvent"] == (110, 180)
    assert grown["IdentityChangeEvent"] == (30, 30)
    assert grown["DocumentDeleteEvent"] == (5, 5)
    assert grown["KeyChangeEvent"] == (0, 0)
    assert next(of.rows for of in status.journals if of.name == "DocumentChangeEvent") >= 180
    assert [sample.change_version for sample in status.history] == sorted({s.change_version for s in status.history})
    assert (status.history[0].change_version, status.history[-1].change_version) == (1, 235)
    assert len(status.history) <= 48


def test_floors_and_when_they_were_raised(journal: dj.Journal, connections) -> None:
    write(journal, *(document(STUDENT, number) for number in range(5)))
    now = AGO[connections[0].dialect.name].format(0)
    commit(connections[0], f"UPDATE dms.JournalFloor SET ChangeVersion = 2, PrunedAt = {now} WHERE Journal = 'IdentityChangeEvent'")
    status = journal.status()
    assert status.oldest == 3
    assert {of.name: of.floor for of in status.journals} == {name: 2 * (name == "IdentityChangeEvent") for name in JOURNALS}
    (pruned_at,) = [of.pruned_at for of in status.journals if of.pruned_at is not None]
    assert abs(status.at - pruned_at) < timedelta(minutes=1)


def test_a_disabled_trigger_is_told(url: str, journal: dj.Journal, connections) -> None:
    commit(connections[0], "ALTER TABLE dms.Document DISABLE TRIGGER TR_Document_Delete")
    try:
        told = [(of.table, of.name, of.state) for of in journal.status().triggers if of.state != "enabled"]
        assert told == [("Document", "TR_Document_Delete", "disabled")]
        assert invoke(url)[0] == 0
        code, _, errors = invoke(url, "--check-triggers")
        assert (code, errors) == (3, "trigger TR_Document_Delete on dms.Document is disabled\n")
    finally:
        commit(connections[0], "ALTER TABLE dms.Document ENABLE TRIGGER TR_Document_Delete")
    assert invoke(url, "--check-triggers")[0] == 0


def test_json_is_the_status(url: str, journal: dj.Journal, connections) -> None:
    first, second = write(journal, document(STUDENT, 1), document(PLAN, 1))
    commit(connections[1], "INSERT INTO dms.ChangeConsumer (Name, ChangeVersion, DocumentId) VALUES ('a', 1, 0)")
    with writing(connections[0], first):
        change_content(connections[1], second)
        code, output, _ = invoke(url, "--json")
        status = journal.status()
    assert code == 0
    assert len(output.splitlines()) == 1
    found = msgspec.json.decode(output, type=dj.Status)  # every field is there, and of its type
    assert set(msgspec.json.decode(output)) == set(dj.Status.__slots__)
    assert (found.newest, found.last_stamp, found.triggers, found.history) == (2, 4, status.triggers, status.history)
    assert [holder.pid for holder in found.holders] == [holder.pid for holder in status.holders] != []


def test_prometheus_reads_the_metrics(url: str, journal: dj.Journal, connections) -> None:
    name = 'a "b"\\c\nd é'
    first, second = write(journal, document(STUDENT, 1), document(STUDENT, 2))
    commit(connections[0], "ALTER TABLE dms.ChangeConsumer DROP CONSTRAINT CK_ChangeConsumer_Name")  # which refuses such a name
    insert = sa.text("INSERT INTO dms.ChangeConsumer (Name, ChangeVersion, DocumentId) VALUES (:name, 1, 9223372036854775807)")
    with connections[1].begin():
        connections[1].execute(insert, {"name": name})
    with writing(connections[0], first):
        change_content(connections[1], second)
        code, output, _ = invoke(url, "--prometheus")
    assert code == 0
    families = {family.name: family for family in text_string_to_metric_families(output)}
    assert all(family.type == "gauge" and family.documentation for family in families.values())
    database = sa.make_url(url).database
    samples = {
        (sample.name, *(value for label, value in sorted(sample.labels.items()) if label != "database")): sample.value
        for family in families.values()
        for sample in family.samples
        if sample.labels["database"] == database
    }
    assert samples["dmsjournal_newest_version",] == 2
    assert samples["dmsjournal_last_stamp",] == 4
    assert samples["dmsjournal_horizon_lag_versions",] == 2
    assert samples["dmsjournal_horizon_holders",] == 1
    assert samples["dmsjournal_horizon_hold_seconds",] > 0
    assert samples["dmsjournal_consumer_lag_versions", name] == 1
    assert samples["dmsjournal_consumer_expired", name] == 0
    assert samples["dmsjournal_journal_rows_last_day", "DocumentChangeEvent"] == 2
    assert {value for key, value in samples.items() if key[0] == "dmsjournal_trigger_enabled"} == {1}
    assert samples["dmsjournal_hidden",] == 0


def test_limits_end_with_3(url: str, journal: dj.Journal, connections) -> None:
    first, second = write(journal, document(STUDENT, 1), document(STUDENT, 2))
    with writing(connections[0], first):
        change_content(connections[1], second)
        time.sleep(1.1)
        for limits, says in (
            (["--max-lag-versions", "1"], "the horizon is 2 versions behind, more than 1"),
            (["--max-lag-seconds", "1"], "the horizon is "),
            (["--max-hold-seconds", "1"], "session "),
        ):
            code, output, errors = invoke(url, *limits)
            assert (code, errors.startswith(says)) == (3, True), errors
            assert "versions  oldest 0, newest 2, last stamp 4\n" in output
        assert invoke(url, "--max-lag-versions", "2", "--max-lag-seconds", "3600", "--max-hold-seconds", "3600")[0] == 0


@pytest.mark.acceptance("99")
def test_what_is_held_back_names_who_holds_it(url: str, journal: dj.Journal, connections, tmp_path: Path) -> None:
    first, second = write(journal, document(STUDENT, 1), document(STUDENT, 2))
    assert journal.held_back() is None
    with writing(connections[0], first):
        change_content(connections[1], second)
        held = journal.held_back()
        pid = journal.status().holders[0].pid
        told = CliRunner().invoke(cli.app, ["feed", "--url", url])
        delivering = ["deliver", "--consumer", "lake", "--files", str(tmp_path), "--once", "--url", url]
        delivered = CliRunner().invoke(cli.app, delivering)
    assert held is not None
    assert (held.newest, held.versions, [holder.pid for holder in held.holders]) == (2, 2, [pid])
    assert str(held).startswith("2 versions above 2 held back since ")
    assert f" by session {pid} (" in str(held)
    assert len(told.stdout.splitlines()) == 2
    assert told.stderr.splitlines()[0].startswith(f"2 versions above 2 held back since {held.since:%Y-%m-%d}")
    assert delivered.stderr.startswith("2 versions above 2 held back since ")
    assert journal.held_back() is None
    for command in (["feed", "--url", url], delivering):
        assert "held back" not in CliRunner().invoke(cli.app, command).stderr
