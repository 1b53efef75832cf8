"""The feed: each journaled change is one event, in order, from anywhere, in pages of any size (docs/how-it-works.md, The feed)."""

from datetime import UTC, datetime, timedelta

import pytest

import dmsjournal as dj
from dmsjournal.database import sql
from dmsjournal.database.engines import engine_of
from dmsjournal.feed.partitions import bucket_of
from dmsjournal.read import times
from tests.feeds import after, journaled, told, walk
from tests.helpers import PLAN, SCHOOL, STUDENT, change_content, change_identity, commit, document, newest, write

ALL = dj.FeedRequest()


@pytest.fixture
def written(journal: dj.Journal, connections) -> dj.Journal:
    """Documents 1 to 4: created, changed, renamed twice, deleted; and document 1's key lives again."""
    student = document(STUDENT, 1, body={"name": "Ada"})
    write(journal, student, document(PLAN, 1, student), document(SCHOOL, 1), document(SCHOOL, 2))
    change_content(connections[0], 3, 4)
    change_identity(connections[0], 4)
    with journal.write() as tx:
        tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 2})
        tx.rekey(STUDENT, {"studentId": 2}, {"studentId": 3})
    with journal.write() as tx:
        tx.delete(PLAN, {"graduationPlanId": 1})
        tx.delete(STUDENT, {"studentId": 3})
    write(journal, document(STUDENT, 1))
    return journal


@pytest.mark.parametrize("size", [1, 2, 3, 500])
def test_every_journaled_change_is_one_event_in_order(written: dj.Journal, connections, size: int) -> None:
    events, pages = walk(written, dj.FeedRequest(max_page_size=size))
    assert told(events) == journaled(connections[0])
    assert {event.type for event in events} == set(dj.FeedEventType)
    assert len({event.event_id for event in events}) == len(events)
    assert [page.idle for page in pages] == [False] * (len(pages) - 1) + [True]
    assert all(page.diagnostics.rows_scanned <= 2 * (size + 1) for page in pages)  # of each journal, one row ahead
    assert all(event.timestamp.utcoffset() == timedelta() for event in events)
    assert [event.timestamp for event in events] == sorted(event.timestamp for event in events)


def test_an_event_is_the_same_at_every_read(written: dj.Journal, url: str) -> None:
    first, _ = walk(written, dj.FeedRequest(max_page_size=2))
    with dj.connect(url) as again:
        assert walk(again, ALL)[0] == first


def test_an_event_has_the_key_that_its_document_had_then(written: dj.Journal) -> None:
    events, _ = walk(written, ALL)
    ids = {event.key.document_id for event in events if event.resource == STUDENT}
    lives = [[e for e in events if e.key.document_id == i] for i in sorted(ids)]
    assert [[(e.type, e.key.key_values["studentId"]) for e in life] for life in lives] == [
        [("CREATE", 1), ("UPDATE", 2), ("UPDATE", 3), ("DELETE", 3)],
        [("CREATE", 1)],
    ]
    assert len({event.key.document_uuid for life in lives for event in life}) == 2


def create_again(journal: dj.Journal, connection, school: int, **own: object) -> None:
    """A school whose id, or id and uuid, another one had."""
    names, values = ", ".join(own), ", ".join(f"'{value}'" for value in own.values())
    row = f"{values}, {journal.resources()[SCHOOL]}, '{{\"schoolId\":{school}}}'"
    again = f"INSERT INTO dms.Document ({names}, ResourceKeyId, KeyValues) VALUES ({row})"
    allowed = {"mssql": f"SET IDENTITY_INSERT dms.Document ON; {again}; SET IDENTITY_INSERT dms.Document OFF"}
    commit(connection, allowed.get(connection.dialect.name, again))


def test_an_id_that_lives_again_is_told_apart_by_its_uuid(journal: dj.Journal, connections) -> None:
    [first] = write(journal, document(SCHOOL, 1))
    with journal.write() as tx:
        tx.rekey(SCHOOL, {"schoolId": 1}, {"schoolId": 2})
        tx.delete(SCHOOL, {"schoolId": 2})
    create_again(journal, connections[0], 3, DocumentId=first)
    with journal.write() as tx:
        tx.rekey(SCHOOL, {"schoolId": 3}, {"schoolId": 4})
    events, _ = walk(journal, ALL)
    assert {event.key.document_id for event in events} == {first}
    uuids = [event.key.document_uuid for event in events]
    assert uuids[:3] == [uuids[0]] * 3
    assert uuids[3:] == [uuids[3]] * 2
    assert uuids[0] != uuids[3]
    assert [event.key.key_values["schoolId"] for event in events] == [1, 2, 2, 3, 4]


def test_a_document_that_lives_again_under_its_uuid_has_each_lifes_keys(journal: dj.Journal, connections) -> None:
    [first] = write(journal, document(SCHOOL, 1))
    uuid = commit(connections[0], "SELECT DocumentUuid FROM dms.Document")[0][0]
    with journal.write() as tx:
        tx.delete(SCHOOL, {"schoolId": 1})
    create_again(journal, connections[0], 2, DocumentId=first, DocumentUuid=uuid)
    with journal.write() as tx:
        tx.rekey(SCHOOL, {"schoolId": 2}, {"schoolId": 3})
    events, _ = walk(journal, ALL)
    assert len({event.key.document_uuid for event in events}) == 1
    assert [event.key.key_values["schoolId"] for event in events] == [1, 1, 2, 3]


def test_what_is_not_committed_is_not_told_nor_passed(written: dj.Journal, connections) -> None:
    page = written.read_changes(ALL)
    with connections[0].begin():
        connections[0].exec_driver_sql("UPDATE dms.Document SET ContentVersion = ContentVersion + 1 WHERE DocumentId = 3")
        change_content(connections[1], 4)
        waiting = written.read_changes(after(ALL, page))
        assert (waiting.events, waiting.idle) == ([], True)
    found = written.read_changes(after(ALL, waiting))
    assert [event.key.document_id for event in found.events] == [3, 4]
    assert found.events[0].change_version < found.events[1].change_version


def test_now_begins_after_what_has_happened(written: dj.Journal, connections) -> None:
    now = dj.FeedRequest(start=dj.Now())
    page = written.read_changes(now)
    assert (page.events, page.idle, page.diagnostics.rows_scanned) == ([], True, 0)
    change_content(connections[0], 4)
    assert told(written.read_changes(after(now, page)).events) == [(newest(written), 4, "UPDATE")]


def test_a_time_begins_with_the_first_event_that_is_not_before_it(written: dj.Journal) -> None:
    events, _ = walk(written, ALL)
    for place, event in enumerate(events):
        at = dj.FeedRequest(start=dj.AtTime(event.timestamp))
        first = next(i for i, e in enumerate(events) if e.timestamp >= event.timestamp)
        assert first <= place
        assert written.read_changes(at).events == events[first:]
    just_after = dj.FeedRequest(start=dj.AtTime(events[-1].timestamp + timedelta(microseconds=1)))
    assert written.read_changes(just_after).events == []
    for early in (datetime(1, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC)):
        assert written.read_changes(dj.FeedRequest(start=dj.AtTime(early))).events == events


def test_a_time_errs_to_earlier_where_clocks_overlap(written: dj.Journal, connections) -> None:
    events, _ = walk(written, ALL)
    early, late = events[2], events[-1]
    latest = "(SELECT MAX(CreatedAt) FROM dms.DocumentChangeEvent)"  # of an early version: within the overlap
    for name in ("DocumentChangeEvent", "DocumentDeleteEvent"):
        commit(connections[0], f"UPDATE dms.{name} SET CreatedAt = {latest} WHERE ChangeVersion = {early.change_version}")
    found = written.read_changes(dj.FeedRequest(start=dj.AtTime(late.timestamp))).events
    assert [e.change_version for e in found] == [e.change_version for e in events[2:]]


def test_a_time_that_reaches_below_the_floor_is_expired(written: dj.Journal, connections) -> None:
    events, _ = walk(written, ALL)
    written.prune(events[4].change_version)
    with pytest.raises(dj.CheckpointExpired) as expired:
        written.read_changes(dj.FeedRequest(start=dj.AtTime(events[2].timestamp)))
    assert expired.value.oldest == events[4].change_version + 1
    at = dj.FeedRequest(start=dj.AtTime(events[7].timestamp))
    first = next(e.change_version for e in events if e.timestamp >= events[7].timestamp)
    assert written.read_changes(at).events[0].change_version == first


def test_a_time_that_a_prune_passes_while_it_is_looked_for_is_expired(written: dj.Journal, monkeypatch) -> None:
    """The journal's first prune: none had been before, when reading began."""
    events, _ = walk(written, ALL)
    found = times.first_at

    def pruned_before(*arguments):
        written.prune(events[4].change_version)
        return found(*arguments)

    monkeypatch.setattr(times, "first_at", pruned_before)
    with pytest.raises(dj.CheckpointExpired):
        written.read_changes(dj.FeedRequest(start=dj.AtTime(events[2].timestamp)))


@pytest.mark.parametrize("size", [1, 500])
def test_a_resource_is_read_alone(written: dj.Journal, size: int) -> None:
    events, _ = walk(written, ALL)
    for resource in (STUDENT, PLAN, SCHOOL):
        request = dj.FeedRequest(scope=dj.LogicalPartition(resource), max_page_size=size)
        found, pages = walk(written, request)
        assert found == [event for event in events if event.resource == resource]
        assert sum(page.diagnostics.rows_scanned for page in pages) <= 2 * (len(found) + len(pages))  # nothing else is looked at


@pytest.mark.parametrize("size", [1, 500])
def test_a_document_is_read_alone(written: dj.Journal, size: int) -> None:
    events, _ = walk(written, ALL)
    for i in {event.key.document_id for event in events} | {10**6}:
        request = dj.FeedRequest(scope=dj.LogicalPartition(document_id=i), max_page_size=size)
        assert walk(written, request)[0] == [event for event in events if event.key.document_id == i]


def test_filters_leave_the_rest_out(written: dj.Journal) -> None:
    events, _ = walk(written, ALL)
    for types in ({"DELETE"}, {"CREATE", "UPDATE"}):
        wanted = dj.FeedFilter(types=[dj.FeedEventType(name) for name in types])
        for size in (1, 2, 500):
            found, _ = walk(written, dj.FeedRequest(filters=wanted, max_page_size=size))
            assert found == [event for event in events if event.type in types]
    wanted = dj.FeedFilter(resources=[PLAN, SCHOOL], types=[dj.FeedEventType.CREATE])
    found, _ = walk(written, dj.FeedRequest(filters=wanted))
    assert {(e.resource, e.type) for e in found} == {(PLAN, "CREATE"), (SCHOOL, "CREATE")}


def test_a_page_that_is_filtered_away_advances_and_is_not_idle(written: dj.Journal, connections, monkeypatch) -> None:
    monkeypatch.setattr("dmsjournal.feed.database.SCAN_SIZE", 4)
    for _ in range(12):
        change_content(connections[0], 3)
    request = dj.FeedRequest(filters=dj.FeedFilter(types=[dj.FeedEventType.DELETE]), max_page_size=2)
    found, pages = walk(written, request)
    assert [event.type for event in found] == ["DELETE", "DELETE"]
    empty = [page for page in pages if not page.events]
    assert len(empty) > 2
    assert [page.idle for page in pages] == [False] * (len(pages) - 1) + [True]
    assert all(page.diagnostics.rows_scanned <= 2 * 5 for page in pages)
    assert len({page.token for page in pages}) == len(pages) - (pages[-1].token == pages[-2].token)


def test_a_body_is_given_where_the_event_is_its_documents_latest(written: dj.Journal, connections) -> None:
    write(written, document(STUDENT, 7, body={"name": "Grace", "weight": 1.5}))
    write(written, document(STUDENT, 7, body={"name": "Hopper"}))
    request = dj.FeedRequest(item_state=dj.NewItemStateMode.INCLUDE_IF_AVAILABLE)
    events, _ = walk(written, request)
    bodies = [event.item_state and event.item_state.after for event in events if (event.key.key_values or {}).get("studentId") == 7]
    assert bodies == [None, {"name": "Hopper"}]
    assert all(event.item_state is None for event in events if event.type is dj.FeedEventType.DELETE)
    without = dj.FeedRequest(item_state=dj.NewItemStateMode.OMIT)
    assert all(event.item_state is None for event in walk(written, without)[0])
    with connections[0].begin():  # a change above the horizon is not told, nor is its body
        connections[0].exec_driver_sql("UPDATE dms.Document SET ContentVersion = ContentVersion + 1 WHERE DocumentId = 3")
        write(written, document(STUDENT, 7, body={"name": "later"}))
        hidden, _ = walk(written, request)
        assert [e.item_state for e in hidden if (e.key.key_values or {}).get("studentId") == 7] == [None, None]


def test_a_required_body_needs_an_option(written: dj.Journal) -> None:
    with pytest.raises(dj.UnsupportedCapability, match="upgrade --with images"):
        written.read_changes(dj.FeedRequest(item_state=dj.NewItemStateMode.REQUIRE))


@pytest.mark.parametrize("journal_name", ["DocumentChangeEvent", "DocumentDeleteEvent", "KeyChangeEvent"])
def test_what_is_pruned_is_expired_and_what_was_read_is_not_needed(written: dj.Journal, journal_name: str) -> None:
    size_2 = dj.FeedRequest(max_page_size=2)
    first = written.read_changes(size_2)
    second = written.read_changes(after(size_2, first))
    through = second.events[-1].change_version
    rest = written.read_changes(after(ALL, second)).events
    written.prune(through, journals=[journal_name])
    with pytest.raises(dj.CheckpointExpired) as expired:
        written.read_changes(after(size_2, first))
    assert (expired.value.requested, expired.value.oldest) == (second.events[0].change_version, through + 1)
    assert written.read_changes(after(ALL, second)).events == rest
    assert written.read_changes(ALL).events == rest  # the oldest that is kept


def test_lag_is_told(written: dj.Journal) -> None:
    page = written.read_changes(dj.FeedRequest(max_page_size=1))
    assert page.diagnostics.horizon == newest(written)
    assert page.diagnostics.lag_versions == newest(written) - page.events[0].change_version
    assert 0 < page.diagnostics.lag_seconds < 600
    caught_up = walk(written, ALL)[1][-1].diagnostics
    assert (caught_up.lag_versions, caught_up.lag_seconds) == (0, 0)


def test_an_empty_journal_is_idle(journal: dj.Journal) -> None:
    for start in (dj.Beginning(), dj.Now(), dj.AtTime(datetime.now(UTC))):
        page = journal.read_changes(dj.FeedRequest(start=start))
        assert (page.events, page.idle, page.partition_retired) == ([], True, False)
        assert journal.read_changes(dj.FeedRequest(start=dj.FromToken(page.token))).idle


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: dj.FeedRequest(max_page_size=-1), "max_page_size"),
        (lambda: dj.FeedRequest(max_page_size=1.5), "max_page_size"),
        (lambda: dj.FeedRequest(scope="all"), "scope"),
        (lambda: dj.FeedRequest(start="now"), "start"),
        (lambda: dj.FeedRequest(item_state="OMIT"), "item_state"),
        (lambda: dj.FeedRequest(filters={}), "filters"),
        (lambda: dj.FeedFilter(types=[]), "filters.types"),
        (lambda: dj.FeedFilter(types=["DELETE"]), "filters.types"),
        (lambda: dj.FeedFilter(resources=["Student"]), "filters.resources"),
        (lambda: dj.AtTime(datetime(2026, 1, 1)), "start.at"),
        (lambda: dj.LogicalPartition(), "scope"),
        (lambda: dj.LogicalPartition(STUDENT, 1), "scope"),
        (lambda: dj.LogicalPartition(document_id=2**63), "scope.document_id"),
        (lambda: dj.PhysicalPartition(""), "scope.id"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_by_name(make, named: str) -> None:
    with pytest.raises(dj.InvalidRequest) as refused:
        make()
    assert refused.value.parameter == named


def test_what_the_database_does_not_know_is_refused_by_name(written: dj.Journal) -> None:
    unknown = dj.ResourceKey("Ed-Fi", "Studnet", "5.2.0")
    for request in (dj.FeedRequest(dj.LogicalPartition(unknown)), dj.FeedRequest(filters=dj.FeedFilter(resources=[unknown]))):
        with pytest.raises(dj.InvalidRequest, match="Studnet"):
            written.read_changes(request)
    for name in ("9-0", "1-4", "1--1", "1", "x-y", "1-00", "1-3 "):
        with pytest.raises(dj.InvalidRequest, match="no such partition"):
            written.read_changes(dj.FeedRequest(dj.PhysicalPartition(name)))
    with pytest.raises(dj.InvalidRequest, match="request"):
        written.read_changes("everything")


IDS = [0, 1, 2, 41, -1, -2, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**62 + 12345, 2**63 - 1]
IDS += [-(2**63), -(2**63) + 1, -(2**32)]


def test_python_and_sql_find_the_same_bucket(journal: dj.Journal, connections) -> None:
    write(journal, document(STUDENT, 1))
    values = ", ".join(f"({version}, {i}, 1, 'update', 1, '2026-01-01')" for version, i in enumerate(IDS, 1000))
    columns = "ChangeVersion, DocumentId, ResourceKeyId, Operation, TransactionId, CreatedAt"
    commit(connections[0], f"INSERT INTO dms.DocumentChangeEvent ({columns}) VALUES {values}")
    binds = {"after_version": 999, "after_id": 2**63 - 1, "max_version": 10_000, "page_size": 500, "scan_size": 500}
    binds |= dict.fromkeys(("resource_key_id", "document_id", "operations", "resource_key_ids"))
    binds |= {"with_body": False, "with_key": 1}
    engine = engine_of(connections[0]).NAME
    found = {}
    for count in (1, 3, 4, 1024):
        for bucket in {bucket_of(i, count) for i in IDS}:
            rows = connections[0].execute(sql.query(engine, "feed/feed_page"), binds | {"bucket": bucket, "bucket_count": count})
            found |= {(count, row.document_id): bucket for row in rows}
    assert found == {(count, i): bucket_of(i, count) for count in (1, 3, 4, 1024) for i in IDS}
