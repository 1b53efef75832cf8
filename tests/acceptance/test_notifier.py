"""Journal to ring: each change is notified once, in order, whenever the notifier or the ring's consumer is killed."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.events import arrow, notifications
from dmsjournal.events.notifications import NotificationConsumer, NotificationProducer, NotificationRef
from dmsjournal.events.notifier import EVENT_TYPES, Notifier
from tests.feeds import journaled
from tests.helpers import SCHOOL, STUDENT, commit, document, newest, write

Told = tuple[int, int, int, int]  # version, resource, event type, documents

TYPES = {"CREATE": 0, "DELETE": 1, "UPDATE": 2}


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    notifications.create(tmp_path / "ring", 4)
    return tmp_path / "ring"


def expected(connection: sa.Connection) -> list[Told]:
    """The changes by version, resource and type, read in the plainest way."""
    select = "SELECT DocumentId, ResourceKeyId FROM dms.Document{}Event"
    resources = dict(tuple(row) for kind in ("Change", "Delete") for row in commit(connection, select.format(kind)))
    found: dict[tuple[int, int, int], int] = {}
    for version, document_id, kind in journaled(connection):
        place = (version, resources[document_id], TYPES[kind])
        found[place] = found.get(place, 0) + 1
    return [(*place, count) for place, count in sorted(found.items())]


def told(found: Iterator[NotificationRef]) -> list[Told]:
    made = []
    for each in found:
        assert each.batch_offset == each.sequence - 1
        made.append((each.sequence, each.source_id, each.event_type, each.row_count))
    return made


def changes(journal: dj.Journal) -> None:
    write(journal, document(STUDENT, 1), document(SCHOOL, 1), document(SCHOOL, 2))
    write(journal, document(STUDENT, 1, body={"n": 1}))
    with journal.write() as tx:
        tx.delete(SCHOOL, {"schoolId": 1})


def crowded(connection: sa.Connection) -> None:
    """One version with changes of many documents and two resources, as an adoption leaves it."""
    [[version]] = commit(connection, "SELECT MAX(ChangeVersion) FROM dms.DocumentChangeEvent")
    for document_id, resource in ((10**6, 1), (10**6 + 1, 2), (10**6 + 2, 1)):
        commit(
            connection,
            "INSERT INTO dms.DocumentChangeEvent (ChangeVersion, DocumentId, TransactionId, CreatedAt, ResourceKeyId, Operation) "
            f"SELECT {version}, {document_id}, 1, CreatedAt, {resource}, Operation FROM dms.DocumentChangeEvent "
            f"WHERE ChangeVersion = {version} AND DocumentId < 1000000",
        )


def test_event_types_are_those_of_arrow_events() -> None:
    assert {str(kind): arrow.EventType(number) for kind, number in EVENT_TYPES.items()} == {
        kind: arrow.EventType.from_cdc(kind) for kind in TYPES
    }


def test_each_change_is_notified_once_in_order(journal: dj.Journal, connection: sa.Connection, tmp_path: Path) -> None:
    changes(journal)
    notifications.create(tmp_path / "ring", 100)
    assert Notifier(journal, tmp_path / "ring", follow=False).run() == 5
    assert Notifier(journal, tmp_path / "ring", follow=False).run() == 0
    write(journal, document(SCHOOL, 3))
    assert Notifier(journal, tmp_path / "ring", dj.FeedRequest(start=dj.Now()), follow=False).run() == 1  # Now is for a new ring
    with NotificationConsumer(tmp_path / "ring") as consumer:
        found = consumer.take_many()
        assert told(iter(found)) == expected(connection)
        page = journal.read_changes(dj.FeedRequest(start=dj.AfterVersion(found[0].batch_offset)))
        assert page.events[0].change_version == found[0].sequence
        assert found[0].timestamp == int(page.events[0].timestamp.timestamp() * 1e6)
        assert found[0].source_id == journal.resources()[page.events[0].resource]


@pytest.mark.parametrize("size", [1, 2, 100])
def test_a_notifier_that_is_killed_anywhere_goes_on_after_the_last_notification(
    journal: dj.Journal, connection: sa.Connection, ring: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """The ring has room for four: it is killed at each of its sends, after each number of notifications, and goes on."""
    changes(journal)
    crowded(connection)
    rng = random.Random(size)
    send_many = NotificationProducer.send_many

    class Killed(BaseException):
        pass

    def killed(producer: NotificationProducer, records: memoryview) -> int:
        some = rng.randint(0, len(records) // 64)
        send_many(producer, records[: some * 64])
        raise Killed

    monkeypatch.setattr(NotificationProducer, "send_many", killed)
    found: list[Told] = []
    for _ in range(60):
        if len(found) == len(expected(connection)):
            break
        with pytest.raises(Killed):
            Notifier(journal, ring, dj.FeedRequest(max_page_size=size), follow=False).run()
        with NotificationConsumer(ring) as consumer:
            found += told(consumer.drain())
    assert found == expected(connection)
    assert found[-2][3] + found[-3][3] > 2  # documents of one version
    assert Notifier(journal, ring, dj.FeedRequest(max_page_size=size), follow=False).run() == 0


def test_a_full_ring_is_waited_for(journal: dj.Journal, connection: sa.Connection, ring: Path) -> None:
    write(journal, *(document(STUDENT, n) for n in range(30)))
    notifier = Notifier(journal, ring, shortest_wait=0.01, longest_wait=0.05)
    thread = threading.Thread(target=notifier.run)
    thread.start()
    with NotificationConsumer(ring) as consumer:
        found: list[Told] = []
        for each in consumer.drain(seconds=5):
            found += told(iter([each]))
            if len(found) == 30:
                write(journal, document(STUDENT, 100))
            if len(found) == 31:
                break
        consumer.commit()
    notifier.stop()
    thread.join(10)
    assert not thread.is_alive()
    assert found == expected(connection)


def test_stop_ends_a_notifier_whose_ring_is_full(journal: dj.Journal, ring: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(journal, *(document(STUDENT, n) for n in range(9)))
    notifier, send_many = Notifier(journal, ring), NotificationProducer.send_many

    def send(producer: NotificationProducer, records: memoryview) -> int:
        count = send_many(producer, records)
        if not count:
            threading.Timer(0.2, notifier.stop).start()
        return count

    monkeypatch.setattr(NotificationProducer, "send_many", send)
    assert notifier.run() == 4


def test_what_is_pruned_below_the_last_notification_is_not_asked_for(journal: dj.Journal, ring: Path) -> None:
    write(journal, document(STUDENT, 1))
    assert Notifier(journal, ring, follow=False).run() == 1
    journal.prune(through=newest(journal))
    assert Notifier(journal, ring, follow=False).run() == 0
    write(journal, document(STUDENT, 2))
    write(journal, document(STUDENT, 3))
    journal.prune(through=newest(journal) - 1)
    with pytest.raises(dj.CheckpointExpired):
        Notifier(journal, ring, follow=False).run()


def test_a_ring_of_another_history_is_refused(journal: dj.Journal, connection: sa.Connection, ring: Path) -> None:
    """As after a restore to an earlier state: other changes have the versions that were notified (acceptance 97)."""
    changes(journal)
    with NotificationConsumer(ring) as consumer:
        Notifier(journal, ring, dj.FeedRequest(start=dj.AfterVersion(newest(journal) - 2)), follow=False).run()
        assert len(told(consumer.drain())) == 2
    assert Notifier(journal, ring, follow=False).run() == 0  # nothing new, and it is the same history
    commit(connection, "DELETE FROM dms.DocumentDeleteEvent")  # the last notification is of this change
    write(journal, document(STUDENT, 7))
    with pytest.raises(dj.HistoryDiverged):
        Notifier(journal, ring, follow=False).run()


def test_a_ring_is_refused_where_the_last_version_is_not_given_yet(journal: dj.Journal, ring: Path) -> None:
    with NotificationProducer(ring) as producer:
        producer.send(NotificationRef(sequence=1_000, source_id=1, event_type=0, row_count=1, timestamp=1, batch_offset=999))
    write(journal, document(STUDENT, 1))
    with pytest.raises(dj.HistoryDiverged):
        Notifier(journal, ring, follow=False).run()


def test_the_command_makes_a_ring_and_notifies(journal: dj.Journal, connection: sa.Connection, url: str, tmp_path: Path) -> None:
    changes(journal)
    path = tmp_path / "changes.ring"
    run = CliRunner()

    def notify(*arguments: str) -> str:
        result = run.invoke(cli.app, ["notify", "--url", url, "--ring", str(path), "--once", *arguments])
        assert result.exit_code == 0, result.output
        return result.stdout

    assert notify("--capacity", "8", "--resource", "School") == "notified=3\n"
    with NotificationConsumer(path) as consumer:
        assert consumer.capacity == 8
        schools = journal.resources()[SCHOOL]
        assert told(consumer.drain()) == [each for each in expected(connection) if each[1] == schools]
    assert notify("--resource", "School") == "notified=0\n"
    path.unlink()
    assert notify("--now") == "notified=0\n"
    path.unlink()
    path.write_bytes(b"no ring")
    refused = run.invoke(cli.app, ["notify", "--url", url, "--ring", str(path), "--once"])
    assert refused.exit_code == 1
    assert "it is no ring of this version" in refused.stderr
