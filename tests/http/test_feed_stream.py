"""The portable feed as a stream: every event once across any number of connections, in every format, filtered or not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest
from starlette.testclient import TestClient

import dmsjournal as dj
from dmsjournal.events import cdc, formats
from tests.helpers import SCHOOL, STUDENT, document, write
from tests.http.conftest import STUDENTS, Running, bearer, in_process, settings_of
from tests.http.sse import Events


@contextmanager
def streaming(client: TestClient, last_id: str = "", **asked: object) -> Iterator[Events]:
    headers = {"Last-Event-ID": last_id} if last_id else {}
    with client.stream("GET", "/feed/stream", params={"keep_alive": "false", **asked}, headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        yield Events(answer.iter_lines(), last_id)


@pytest.mark.parametrize("name", formats.names())
def test_a_stream_goes_on_behind_any_event(url: str, db: dj.Journal, name: str) -> None:
    """The client leaves after each event: pages of three, so ids inside of pages and at their ends."""
    write(db, *(document(STUDENT, n, body={"n": n}) for n in range(5)), document(SCHOOL, 1))
    with in_process(settings_of(url, largest_page=3)) as client:
        with streaming(client, format=name) as events:
            whole = [(event.type, event.data) for event in events]
        assert len(whole) == 6
        assert {type_ for type_, _ in whole} == {"message"}
        one_by_one, last_id = [], ""
        for _ in whole:
            with streaming(client, last_id, format=name) as events:
                one = next(events)
                one_by_one.append((one.type, one.data))
                last_id = one.id
        assert one_by_one == whole
        with streaming(client, last_id, format=name) as events:
            assert list(events) == []


@pytest.mark.acceptance("78")
def test_what_a_filter_leaves_out_moves_the_id(url: str, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1), *(document(SCHOOL, n) for n in range(7)))
    with in_process(settings_of(url, largest_page=2)) as client:
        with streaming(client, entity_type="Student", format="cdc") as events:
            [one] = events
            assert cdc.CdcEvent.from_json(msgspec.json.encode(one.data)).entity.entity_type == "Student"
            assert events.id != one.id
            assert "~" not in events.id
        assert client.get("/feed", params={"token": events.id}).json()["idle"]
        with streaming(client, entity_type=["Student", "School"], exclude_entity_type="Student") as events:
            assert [event.data["resource"]["resource_name"] for event in events] == ["School"] * 7
        found = client.get("/feed", params={"entity_type": "Student", "limit": 2}).json()
        assert (found["count"], found["idle"]) == (1, False)


def test_what_comes_later_and_what_is_pruned(running: Running, db: dj.Journal) -> None:
    write(db, *(document(STUDENT, n) for n in range(4)))
    with (
        running.client() as client,
        client.stream("GET", "/feed/stream", params={"start": "now", "heartbeat_ms": 100, "max_seconds": 60}) as answer,
    ):
        events = Events(answer.iter_lines())
        assert list(_until_comment(events)) == []  # it waits
        write(db, document(STUDENT, 9))
        assert next(events).data["key"]["key_values"] == {"studentId": 9}
    db.prune(through=3)
    with running.client() as client, client.stream("GET", "/feed/stream", params={"start": "after:1"}) as answer:
        [expired] = Events(answer.iter_lines())
    assert (expired.type, expired.data["code"], expired.data["oldest"]) == ("expired", "CHECKPOINT_EXPIRED", 4)


def _until_comment(events: Events) -> Iterator[object]:
    """Reads on until a comment has come; gives what was an event."""
    for line in events._lines:
        if line.startswith(":"):
            events.comments.append(line)
            return
        if line.startswith("data:"):
            yield line


def test_a_retired_partition_names_its_children(client: TestClient, db: dj.Journal) -> None:
    write(db, *(document(STUDENT, n) for n in range(8)))
    db.change_bucket_count(2)
    with streaming(client, scope="partition:1-0") as events:
        *_, retired = events
    assert retired.type == "retired"
    assert [child["partition"] for child in retired.data["child_partitions"]] == ["2-0"]


@pytest.mark.parametrize(
    ("asked", "headers", "parameter"),
    [
        ({}, {"Last-Event-ID": "nonsense~x"}, "Last-Event-ID"),
        ({}, {"Last-Event-ID": "nonsense"}, "token"),
        ({"start": "after:-1"}, {}, "start"),
        ({"scope": "partition:9-9"}, {}, "scope"),
        ({"scope": "document:99999999999999999999"}, {}, "scope"),
        ({"scope": "key:ed-fi/students:{"}, {}, "scope"),
        ({"operation": "create"}, {}, "operation"),
        ({"tenant": ""}, {}, "tenant"),
        ({"format": "xml"}, {}, "format"),
    ],
)
def test_what_makes_no_sense_is_named_as_it_was_sent(
    client: TestClient, db: dj.Journal, asked: dict[str, str], headers: dict[str, str], parameter: str
) -> None:
    write(db, document(STUDENT, 1))
    answer = client.get("/feed/stream", params={"keep_alive": "false", **asked}, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")
    assert answer.json()["parameter"].split(".")[0] == parameter
    sent = {**asked, **headers}.get(parameter)
    assert sent is None or parameter == "format" or repr(sent)[1:-1] in answer.json()["detail"] or sent == ""


def test_problems_name_what_was_sent(client: TestClient, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1))
    for path, asked, parameter in (
        ("/data/v3/ed-fi/students", {"minChangeVersion": 5, "maxChangeVersion": 2}, "minChangeVersion"),
        ("/feed", {"start": "2020-01-01T00:00:00"}, "start"),
        ("/feed", {"scope": "partition:" + "x" * 300}, "scope"),
    ):
        found = client.get(path, params=asked).json()
        assert (found["parameter"], str(asked[parameter])[:50] in found["detail"]) == (parameter, True), found


def test_a_token_for_some_resources_streams_those_alone(client: TestClient, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1), document(SCHOOL, 1))
    mine = bearer(STUDENTS)
    assert client.get("/feed/stream", params={"keep_alive": "false"}, headers=mine).status_code == 403
    asked = {"keep_alive": "false", "scope": "resource:ed-fi/students"}
    with client.stream("GET", "/feed/stream", params=asked, headers=mine) as answer:
        assert [event.data["change_version"] for event in Events(answer.iter_lines())] == [1]


def test_the_key_is_a_scope(client: TestClient, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1), document(STUDENT, 2))
    with db.write() as tx:
        tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 3})
    for key, versions in ((1, [1, 3]), (3, [3]), (2, [2]), (9, [])):
        scope = f'key:ed-fi/students:{{"studentId": {key}}}'
        assert [event["change_version"] for event in client.get("/feed", params={"scope": scope}).json()["events"]] == versions
        request = dj.FeedRequest(dj.LogicalPartition(STUDENT, key={"studentId": key}))
        assert [event.change_version for event in db.read_changes(request).events] == versions


def test_any_page_size_is_one(url: str, db: dj.Journal) -> None:
    write(db, *(document(STUDENT, n) for n in range(6)))
    with in_process(settings_of(url, largest_page=4)) as client:
        for limit, count in ((0, 4), (3, 3), (99, 4), (10**9, 4)):
            assert client.get("/feed", params={"limit": limit}).json()["count"] == count
    for size, count in ((0, 6), (2, 2), (10**12, 6)):
        assert len(db.read_changes(dj.FeedRequest(max_page_size=size)).events) == count
    with pytest.raises(dj.InvalidRequest, match="max_page_size = -1"):
        dj.FeedRequest(max_page_size=-1)
