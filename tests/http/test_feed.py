"""The portable feed over HTTP: the same pages as in Python, in each format."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

import dmsjournal as dj
from dmsjournal.events import cdc, jsonl
from tests.helpers import PLAN, SCHOOL, STUDENT, document, write
from tests.http.conftest import STUDENTS, Running, bearer, until


def page(client: TestClient, **asked: object) -> dict[str, Any]:
    answer = client.get("/feed", params=asked)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def versions(found: dict[str, Any]) -> list[int]:
    return [event["change_version"] for event in found["events"]]


def test_pages_are_those_of_python(client: TestClient, db: dj.Journal) -> None:
    write(db, *(document(STUDENT, n, body={"gpa": 3.5}) for n in range(5)), document(SCHOOL, 1))
    with db.write() as tx:
        tx.delete(SCHOOL, {"schoolId": 1})
    asked: dict[str, object] = {"limit": 3}
    request = dj.FeedRequest(max_page_size=3)
    for _ in range(4):
        found, expected = page(client, **asked), db.read_changes(request)
        assert (found["token"], found["idle"], found["count"]) == (expected.token, expected.idle, len(expected.events))
        assert found["events"] == [msgspec.json.decode(jsonl.line(event)) for event in expected.events]
        assert found["diagnostics"]["horizon"] == 7
        asked |= {"token": found["token"]}
        request = dj.FeedRequest(start=dj.FromToken(expected.token), max_page_size=3)
    assert found["idle"]


def test_an_idle_page_says_what_is_held_back(client: TestClient, db: dj.Journal, connections: list[sa.Connection]) -> None:
    write(db, document(STUDENT, 1), document(STUDENT, 2))
    token = page(client)["token"]
    assert page(client, token=token)["held_back"] is None
    with connections[0].begin():
        connections[0].exec_driver_sql("UPDATE dms.Document SET ContentVersion = NULL WHERE DocumentId = 1")
        write(db, document(STUDENT, 3))
        until(lambda: page(client, token=token)["held_back"] is not None)  # it is looked at once a second
        held = page(client, token=token)["held_back"]
        assert (held["versions"], datetime.fromisoformat(held["since"]) <= datetime.now(UTC)) == (2, True)
    found = page(client, token=token)
    assert (found["count"], found["idle"], found["held_back"]) == (2, False, None)


def test_events_are_what_jsonl_and_cdc_read(client: TestClient, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1, body={"gpa": 3.5}))
    answer = client.get("/feed", params={"item_state": "INCLUDE_IF_AVAILABLE"})
    [record] = jsonl.read([msgspec.json.encode(event) for event in answer.json()["events"]])
    assert (record.change_version, record.item_state.after) == (1, {"gpa": msgspec.json.decode("3.5")})
    [event] = client.get("/feed", params={"format": "cdc"}).json()["events"]
    found = cdc.CdcEvent.from_json(msgspec.json.encode(event))
    assert (found.sequence_number, found.operation.type, found.entity.entity_type) == (1, "CREATE", "Student")


def test_scopes_filters_and_starts(client: TestClient, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1), document(SCHOOL, 1))  # 1, 2
    write(db, document(STUDENT, 1, body={"name": "Ada"}))  # 3
    with db.write() as tx:
        tx.delete(STUDENT, {"studentId": 1})  # 4
    for asked, expected in (
        ({"scope": "resource:ed-fi/students"}, [1, 3, 4]),
        ({"scope": "resource:Ed-Fi/School/5.2.0"}, [2]),
        ({"scope": "document:1"}, [1, 3, 4]),
        ({"types": "DELETE"}, [4]),
        ({"types": "CREATE,DELETE", "resources": "ed-fi/students"}, [1, 4]),
        ({"resources": "ed-fi/students,ed-fi/schools"}, [1, 2, 3, 4]),
        ({"start": "now"}, []),
        ({"start": "after:2"}, [3, 4]),
        ({"start": "beginning", "limit": 2}, [1, 2]),
        ({"start": "2020-01-01T00:00:00Z"}, [1, 2, 3, 4]),
    ):
        assert versions(page(client, **asked)) == expected, asked


def test_partitions_hold_every_event_once_and_name_their_children(client: TestClient, db: dj.Journal) -> None:
    write(db, *(document(STUDENT, n) for n in range(20)))
    db.change_bucket_count(2)
    write(db, *(document(STUDENT, n) for n in range(20, 30)))
    listed = client.get("/feed/partitions").json()["partitions"]
    assert [of["partition"] for of in listed] == ["1-0", "1-1", "1-2", "1-3", "2-0", "2-1"]
    assert listed[4]["parents"] == ["1-0", "1-1"]
    seen: list[int] = []
    tokens: dict[str, str] = {}
    for of in listed:
        asked: dict[str, object] = {"scope": f"partition:{of['partition']}", "limit": 3}
        if of["partition"] in tokens:
            asked["token"] = tokens[of["partition"]]
        while True:
            found = page(client, **asked)
            seen += versions(found)
            asked["token"] = found["token"]
            if found["partition_retired"]:
                tokens |= {child["partition"]: child["token"] for child in found["child_partitions"]}
            if found["idle"] or found["partition_retired"]:
                break
    assert sorted(seen) == [*range(1, 21), *range(22, 32)]  # 21 began the generation


def test_errors_are_problems(client: TestClient, db: dj.Journal) -> None:
    write(db, *(document(STUDENT, n) for n in range(4)))
    token = page(client, limit=1)["token"]
    for asked, status, type_ in (
        ({"token": token, "scope": "document:1"}, 400, "invalid-request"),
        ({"token": token[:-2]}, 400, "invalid-request"),
        ({"token": token, "start": "now"}, 400, "invalid-request"),
        ({"start": "yesterday"}, 400, "invalid-request"),
        ({"start": "2020-01-01T00:00:00"}, 400, "invalid-request"),
        ({"start": "after:99"}, 409, "history-diverged"),
        ({"start": "after:-1"}, 400, "invalid-request"),
        ({"scope": "everything"}, 400, "invalid-request"),
        ({"scope": "all:x"}, 400, "invalid-request"),
        ({"scope": "partition:9-9"}, 400, "invalid-request"),
        ({"scope": "document:x"}, 400, "invalid-request"),
        ({"scope": "document:99999999999999999999"}, 400, "invalid-request"),
        ({"scope": "resource:ed-fi/nothing"}, 404, "not-found"),
        ({"types": "create"}, 400, "invalid-request"),
        ({"resources": ""}, 404, "not-found"),
        ({"item_state": "REQUIRE"}, 422, "unsupported-capability"),
        ({"format": "xml"}, 400, "invalid-request"),
    ):
        answer = client.get("/feed", params=asked)
        assert (answer.status_code, answer.json()["type"]) == (status, f"urn:dmsjournal:problem:{type_}"), asked
    db.prune(through=3)
    answer = client.get("/feed", params={"token": token})
    assert (answer.status_code, answer.json()["oldest"]) == (410, 4)


@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"scope": "resource:ed-fi/students"},
        {"scope": "document:1"},
        {"scope": "partition:1-0"},
        {"types": "CREATE,DELETE"},
        {"resources": "ed-fi/students,ed-fi/schools"},
        {"scope": "document:1", "types": "UPDATE", "resources": "ed-fi/students"},
    ],
)
def test_a_token_alone_goes_on_with_what_it_was_made_with(client: TestClient, db: dj.Journal, chosen: dict[str, str]) -> None:
    write(db, document(STUDENT, 1), document(SCHOOL, 1), document(PLAN, 1))
    write(db, document(STUDENT, 1, body={"n": 1}), document(SCHOOL, 1, body={"n": 1}), document(PLAN, 1, body={"n": 1}))
    expected = versions(page(client, **chosen))
    found, asked = [], {**chosen, "limit": "1"}
    while not (got := page(client, **asked))["idle"]:
        found += versions(got)
        assert page(client, **chosen, limit=1, token=got["token"])["events"] == page(client, limit=1, token=got["token"])["events"]
        asked = {"token": got["token"], "limit": "1"}
    assert found == expected
    other = {"scope": "resource:ed-fi/graduationPlans"}
    answer = client.get("/feed", params={"token": got["token"], **other})
    assert (answer.status_code, answer.json()["parameter"]) == (400, "token")


def test_a_token_alone_gives_no_more_than_the_bearer_may_read(client: TestClient, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1), document(SCHOOL, 1))
    mine = page(client, resources="ed-fi/students")["token"]
    assert client.get("/feed", params={"token": mine}, headers=bearer(STUDENTS)).status_code == 200
    for chosen in ({}, {"resources": "ed-fi/students,ed-fi/schools"}, {"scope": "resource:ed-fi/schools"}):
        theirs = page(client, **chosen)["token"]
        assert client.get("/feed", params={"token": theirs}, headers=bearer(STUDENTS)).status_code == 403, chosen


def test_a_filter_that_is_too_long_for_a_token_is_repeated(client: TestClient, db: dj.Journal) -> None:
    names = [f"Ed-Fi/Resource{'x' * 60}{n}/5.2.0" for n in range(45)]
    with db.write() as tx:
        tx.upsert_many([dj.Document(dj.ResourceKey.parse(name), {"id": n}) for n, name in enumerate(names)])
    chosen = {"resources": ",".join(names)}
    got = page(client, **chosen, limit=40)
    assert versions(page(client, **chosen, token=got["token"])) == [41, 42, 43, 44, 45]
    answer = client.get("/feed", params={"token": got["token"]})
    assert (answer.status_code, "another filter" in answer.json()["detail"]) == (400, True)


def test_a_token_for_some_resources_has_to_name_them(client: TestClient, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1), document(SCHOOL, 1))
    for asked, status in (
        ({}, 403),
        ({"scope": "document:2"}, 403),
        ({"scope": "partition:1-0"}, 403),
        ({"scope": "resource:ed-fi/schools"}, 403),
        ({"resources": "ed-fi/students,ed-fi/schools"}, 403),
        ({"resources": "ed-fi/students", "scope": "resource:ed-fi/schools"}, 403),
        ({"resources": "ed-fi/students"}, 200),
        ({"resources": "ed-fi/students", "scope": "document:2"}, 200),
        ({"scope": "resource:ed-fi/students"}, 200),
    ):
        answer = client.get("/feed", params=asked, headers=bearer(STUDENTS))
        assert answer.status_code == status, asked
        if status == 200:
            assert all(event["resource"]["resource_name"] == "Student" for event in answer.json()["events"])


@pytest.mark.parametrize("start", ["now", "after:1"])
def test_a_long_poll_of_the_feed_wakes(running: Running, db: dj.Journal, start: str) -> None:
    write(db, document(STUDENT, 1))

    def write_when_it_waits() -> None:
        until(lambda: running.waiting == 1 and running.server.service.waker.newest == 1)
        write(db, document(SCHOOL, 1), document(STUDENT, 2))

    writer = threading.Thread(target=write_when_it_waits)
    writer.start()
    with running.client() as client:
        asked = {"start": start, "long_poll_ms": 10_000, "resources": "ed-fi/students"}
        assert versions(client.get("/feed", params=asked).json()) == [3]
    writer.join()
