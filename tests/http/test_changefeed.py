"""The change feed's pages and long polls."""

from __future__ import annotations

import threading
import time

import msgspec
import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

import dmsjournal as dj
from tests.helpers import SCHOOL, STUDENT, change_content, commit, document, newest, resource, write
from tests.http.conftest import ADMIN, READ, STUDENTS, Running, bearer, in_process, settings_of, until

Connections = list[sa.Connection]


def page(client: TestClient, **asked: object) -> dict[str, object]:
    answer = client.get("/changefeed", params=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def nothing(latest: int, oldest: int = 1) -> dict[str, object]:
    """An empty page at the newest version."""
    return {"events": [], "count": 0, "latest_sequence": latest, "next_sequence": latest, "oldest_sequence": oldest}


def sequences(found: dict[str, object]) -> list[int]:
    return [event["sequence"] for event in found["events"]]


def test_a_page_tells_puts_and_deletes(client: TestClient, db: dj.Journal) -> None:
    with db.write() as tx:
        made = tx.upsert(document(STUDENT, 1, body={"name": "Ada", "gpa": 3.5}))
    found = page(client)
    [event] = found["events"]
    uuid = db.documents([made.document_id])[made.document_id].document_uuid
    assert (found["count"], found["latest_sequence"]) == (1, 1)
    assert (event["sequence"], event["type"], event["key"]) == (1, "PUT", "students:1")
    assert msgspec.json.decode(event["value"]) == {"name": "Ada", "gpa": 3.5}
    assert (event["metadata"]["table"], event["metadata"]["pk"], event["metadata"]["document_uuid"]) == ("students", "1", str(uuid))
    assert abs(event["timestamp_ms"] / 1000 - time.time()) < 60
    assert event["metadata"]["resource"] == "Ed-Fi/Student/5.2.0"
    assert event["metadata"]["key_values"] == {"studentId": 1}
    with db.write() as tx:
        tx.delete(STUDENT, {"studentId": 1})
    put, delete = page(client)["events"]
    assert (put["type"], put["value"], put["key"]) == ("PUT", None, "students:1")  # it is not the last one any more
    assert (delete["type"], delete["value"], delete["key"], delete["sequence"]) == ("DELETE", None, "students:1", 2)


def test_walking_by_from_seq_gives_each_change_once(client: TestClient, db: dj.Journal) -> None:
    for n in range(7):
        write(db, document(STUDENT, n % 3, body={"n": n}))
    for limit in (1, 2, 3, 1000):
        seen, after = [], 0
        while (found := page(client, from_seq=after, limit=limit))["count"]:
            seen += sequences(found)
            assert found["count"] <= limit
            after = found["next_sequence"]
        assert seen == list(range(1, 8))
        assert after == newest(db)


def test_from_seq_is_exclusive(client: TestClient, db: dj.Journal) -> None:
    write(db, *(document(STUDENT, n) for n in range(4)))
    assert sequences(page(client, from_seq=2)) == [3, 4]
    assert page(client, from_seq=4) == nothing(4)


def test_nothing_above_the_horizon_is_sent(client: TestClient, db: dj.Journal, connections: Connections) -> None:
    held, other = connections
    write(db, document(STUDENT, 1), document(STUDENT, 2))
    held.exec_driver_sql("UPDATE dms.Document SET ContentVersion = ContentVersion + 1 WHERE DocumentId = 1")  # draws 3, stays open
    change_content(other, 2)  # draws 4, commits
    assert page(client, from_seq=2) == nothing(2)
    held.commit()
    assert sequences(page(client, from_seq=2)) == [3, 4]


def test_a_prefix_selects_a_resource_and_an_empty_page_moves_on(client: TestClient, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1), document(SCHOOL, 1), document(SCHOOL, 2))
    assert sequences(page(client, key_prefix="students:")) == [1]
    assert sequences(page(client, key_prefix="s")) == [1, 2, 3]
    assert page(client, key_prefix="students:", from_seq=1) == nothing(3)
    [student] = page(client, key_prefix="students:", keys="uuid")["events"]
    assert sequences(page(client, key_prefix=student["key"][:-3], keys="uuid")) == [1]
    assert page(client, key_prefix=student["key"] + "x") == nothing(3)


def test_a_resource_that_comes_later_is_found_by_a_prefix_that_found_nothing(client: TestClient, db: dj.Journal) -> None:
    write(db, document(SCHOOL, 1))
    assert page(client, key_prefix="sections:") == nothing(1)
    assert sequences(page(client, key_prefix="se", from_seq=0)) == []
    write(db, document(resource("Section"), 1), document(resource("Session"), 1))
    assert sequences(page(client, key_prefix="sections:", from_seq=1)) == [2]
    assert sequences(page(client, key_prefix="se", from_seq=1)) == [2, 3]


def test_a_prefix_has_no_wildcards(client: TestClient, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1))
    for prefix in ("%", "_", "students:%", "stud*", "students:' OR 1=1 --", "\\", "[a-z]", "é", "\0"):
        assert page(client, key_prefix=prefix) == nothing(1)


def test_versions_as_strings(client: TestClient, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1))
    found = page(client, versions="string")
    assert (found["latest_sequence"], found["events"][0]["sequence"]) == ("1", "1")
    assert isinstance(found["events"][0]["metadata"]["document_id"], str)


def test_versions_near_the_end_of_64_bits(client: TestClient, db: dj.Journal, connections: Connections) -> None:
    commit(connections[0], "SELECT setval('dms.ChangeVersionSequence', 9223372036854775000)")
    write(db, document(STUDENT, 1))
    assert page(client, from_seq=9223372036854774999)["latest_sequence"] == 9223372036854775001
    assert page(client, versions="string")["latest_sequence"] == "9223372036854775001"


def test_pruned_events_are_410_with_the_oldest(client: TestClient, db: dj.Journal) -> None:
    write(db, *(document(STUDENT, n) for n in range(4)))
    db.prune(through=2)
    answer = client.get("/changefeed", params={"from_seq": 1})
    assert (answer.status_code, answer.json()["type"]) == (410, "urn:dmsjournal:problem:checkpoint-expired")
    assert (answer.json()["requested"], answer.json()["oldest"]) == (2, 3)
    assert sequences(page(client, from_seq=2)) == [3, 4]  # nothing above 2 is gone
    assert sequences(page(client)) == [3, 4]  # from the oldest that is kept
    assert client.get("/changefeed", params={"from_seq": 1, "versions": "string"}).json()["oldest"] == "3"
    first = page(client, from_seq=0)
    assert (sequences(first), first["oldest_sequence"]) == ([3, 4], 3)  # 0 is from what is kept


def test_a_sequence_that_was_never_given_is_of_another_history(client: TestClient, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1))
    for after in (2, 2**63 - 1):
        answer = client.get("/changefeed", params={"from_seq": after})
        assert (answer.status_code, answer.json()["type"]) == (409, "urn:dmsjournal:problem:history-diverged")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("from_seq", "-1"),
        ("from_seq", "9223372036854775808"),
        ("from_seq", "1" * 5000),
        ("from_seq", "abc"),
        ("from_seq", "1.5"),
        ("from_seq", "NaN"),
        ("from_seq", "١٢"),
        ("from_seq", "1_0"),
        ("from_seq", "1.0"),
        ("from_seq", "+1"),
        ("from_seq", " 1"),
        ("from_seq", ""),
        ("limit", "1_0"),
        ("long_poll_ms", "1.0"),
        ("from_seq", "1; DROP TABLE dms.Document"),
        ("limit", "0"),
        ("limit", "10001"),
        ("long_poll_ms", "-1"),
        ("long_poll_ms", "60001"),
        ("versions", "float"),
        ("key_prefix", "x" * 501),
        ("form_seq", "1"),
    ],
)
def test_what_makes_no_sense_is_400_and_named(quiet: TestClient, name: str, value: str) -> None:
    answer = quiet.get("/changefeed", params={name: value})
    assert (answer.status_code, answer.json()["type"]) == (400, "urn:dmsjournal:problem:invalid-request")
    assert answer.json()["parameter"] == name
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_parameter_comes_once(quiet: TestClient) -> None:
    assert quiet.get("/changefeed?from_seq=1&from_seq=2").status_code == 400


def test_a_page_is_cut_at_its_bytes(url: str, db: dj.Journal) -> None:
    write(db, *(document(STUDENT, n, body={"text": "x" * 1000}) for n in range(10)))
    with in_process(settings_of(url, page_bytes=3_000)) as client:
        first = page(client)
        assert 1 <= first["count"] < 4
        seen, after = sequences(first), first["next_sequence"]
        while (found := page(client, from_seq=after))["count"]:
            seen += sequences(found)
            after = found["next_sequence"]
    assert seen == list(range(1, 11))


def test_a_version_of_several_events_is_not_cut(client: TestClient, db: dj.Journal, connections: Connections) -> None:
    write(db, document(STUDENT, 1))
    commit(
        connections[0],
        "INSERT INTO dms.DocumentChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, Operation, TransactionId, CreatedAt)"
        " SELECT 1, n, ResourceKeyId, 'update', TransactionId, CreatedAt FROM dms.DocumentChangeEvent, generate_series(10, 12) n",
    )
    write(db, document(STUDENT, 2))
    found = page(client, limit=2)
    assert sequences(found) == [1, 1, 1, 1, 2]
    assert found["latest_sequence"] == 2
    write(db, document(STUDENT, 3))
    first = page(client, limit=5)
    assert (sequences(first), first["next_sequence"]) == ([1, 1, 1, 1, 2], 2)
    with in_process(settings_of(client.app.state.service.settings.url, page_bytes=1)) as narrow:  # type: ignore[attr-defined]
        assert sequences(page(narrow)) == [1, 1, 1, 1]


def test_a_token_for_some_resources_sees_no_others(client: TestClient, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1), document(SCHOOL, 1))
    answer = client.get("/changefeed", headers=bearer(STUDENTS)).json()
    assert (sequences(answer), answer["latest_sequence"]) == ([1], 2)
    assert sequences(client.get("/changefeed", params={"key_prefix": "schools:"}, headers=bearer(STUDENTS)).json()) == []


def test_a_long_poll_wakes_on_a_change(running: Running, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1))
    found: list[tuple[float, dict[str, object]]] = []

    def wait() -> None:
        with running.client() as client:
            answer = client.get("/changefeed", params={"from_seq": 1, "long_poll_ms": 10_000})
            found.append((time.monotonic(), answer.json()))

    waiting = threading.Thread(target=wait)
    waiting.start()
    until(lambda: running.waiting == 1)
    time.sleep(0.2)
    assert not found
    write(db, document(STUDENT, 2))
    at = time.monotonic()
    waiting.join(10)
    woken, answer = found[0]
    assert (sequences(answer), answer["latest_sequence"]) == ([2], 2)
    assert woken - at < 2


def test_a_long_poll_wakes_when_the_horizon_passes_a_commit(running: Running, db: dj.Journal, connections: Connections) -> None:
    held, other = connections
    write(db, document(STUDENT, 1), document(STUDENT, 2))
    held.exec_driver_sql("UPDATE dms.Document SET ContentVersion = ContentVersion + 1 WHERE DocumentId = 1")
    change_content(other, 2)
    with running.client() as client:
        early = client.get("/changefeed", params={"from_seq": 2, "long_poll_ms": 300}).json()
        assert early == nothing(2)
        threading.Timer(0.3, held.commit).start()
        late = client.get("/changefeed", params={"from_seq": 2, "long_poll_ms": 10_000}).json()
    assert sequences(late) == [3, 4]


def test_a_long_poll_for_another_resource_waits_on_and_moves(running: Running, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1))
    threading.Timer(0.2, lambda: write(db, document(SCHOOL, 1))).start()
    with running.client() as client:
        began = time.monotonic()
        asked = {"from_seq": 1, "long_poll_ms": 800, "key_prefix": "students:"}
        found = client.get("/changefeed", params=asked).json()
    assert found == nothing(2)
    assert time.monotonic() - began > 0.75


def test_waiting_holds_no_connection_and_no_thread(url: str, db: dj.Journal, connections: Connections) -> None:
    write(db, document(STUDENT, 1))
    with Running(settings_of(url, connections=2)) as running:
        answers: list[int] = []

        def wait() -> None:
            with running.client() as client:
                asked = {"from_seq": 1, "long_poll_ms": 20_000}
                answers.append(client.get("/changefeed", params=asked).json()["count"])

        threads = [threading.Thread(target=wait) for _ in range(20)]
        for thread in threads:
            thread.start()
        until(lambda: running.waiting == 20)
        with running.client() as client:
            assert client.get("/changefeed").json()["count"] == 1  # others are served
        used = commit(
            connections[0],
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'dmsjournal' AND datname = current_database()",
        )
        assert used[0][0] <= 3 + 1  # the pool's, and the test's own journal
        write(db, document(STUDENT, 2))
        for thread in threads:
            thread.join(20)
    assert answers == [1] * 20


def test_a_long_poll_of_one_who_left_gives_its_place_back(running: Running, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1))
    with running.client() as client, pytest.raises(Exception, match="timed out"):
        client.get("/changefeed", params={"from_seq": 1, "long_poll_ms": 60_000}, timeout=0.3)
    until(lambda: running.waiting == 0)


def test_too_many_that_wait_are_refused(url: str, db: dj.Journal) -> None:
    with in_process(settings_of(url, waiting=1)) as client:
        with client.app.state.service.waiting.one("another", None):
            answer = client.get("/changefeed", params={"long_poll_ms": 1000})
        assert (answer.status_code, answer.json()["type"]) == (503, "urn:dmsjournal:problem:busy")
        assert answer.headers["retry-after"] == "1"
        assert client.get("/changefeed", params={"long_poll_ms": 100}).status_code == 200


def test_stats(client: TestClient, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1), document(SCHOOL, 1))
    with db.write() as tx:
        tx.delete(SCHOOL, {"schoolId": 1})
    found = client.get("/changefeed/stats").json()
    assert (found["total_events"], found["latest_sequence"], found["horizon"], found["floor"]) == (3, 3, 3, 0)
    assert found["total_size_bytes"] > 0
    assert (found["lag_versions"], found["lag_seconds"]) == (0, 0)


def test_retention_deletes_strictly_below(client: TestClient, db: dj.Journal) -> None:
    write(db, *(document(STUDENT, n) for n in range(4)))
    answer = client.post("/changefeed/retention", json={"before_sequence": 3}, headers=bearer(ADMIN))
    assert answer.json() == {"deleted": 2, "floor": 2, "finished": True, "held_by": None}
    assert sequences(page(client)) == [3, 4]
    again = client.post("/changefeed/retention", json={"before_sequence": 3}, headers=bearer(ADMIN))
    assert again.json() == {"deleted": 0, "floor": 2, "finished": True, "held_by": None}


def test_retention_respects_consumers(client: TestClient, db: dj.Journal) -> None:
    write(db, *(document(STUDENT, n) for n in range(4)))
    db.consumers.register("index", 1)
    answer = client.post("/changefeed/retention", json={"before_sequence": 4}, headers=bearer(ADMIN))
    assert answer.json() == {"deleted": 1, "floor": 1, "finished": True, "held_by": {"name": "index", "change_version": 1}}


def test_who_pages_while_retention_goes_on_finishes_or_is_told(running: Running, db: dj.Journal) -> None:
    """Six clients walk by pages and by streams' resumption points, while events are deleted below them: no answer is short."""
    for n in range(60):
        write(db, document(STUDENT, n % 7, body={"n": n}))
    ends: list[tuple[list[int], int]] = []
    have_begun = threading.Barrier(7)  # 0 is "from what is kept": each has its first page before something is deleted

    def walk(limit: int) -> None:
        seen: list[int] = []
        after = 0
        with running.client() as client:
            while True:
                answer = client.get("/changefeed", params={"from_seq": after, "limit": limit})
                if answer.status_code == 410:
                    assert answer.json()["oldest"] > after + 1
                    break
                found = answer.json()
                seen += sequences(found)
                if after == 0:
                    have_begun.wait(60)
                after = found["next_sequence"]
                if not found["count"]:
                    break
        ends.append((seen, after))

    threads = [threading.Thread(target=walk, args=(limit,)) for limit in (1, 2, 3, 5, 20, 60)]
    for thread in threads:
        thread.start()
    have_begun.wait(60)
    with running.client(ADMIN) as admin:
        for before in range(4, 60, 4):
            assert admin.post("/changefeed/retention", json={"before_sequence": before}).status_code == 200
    for thread in threads:
        thread.join(60)
    assert len(ends) == 6
    for seen, after in ends:
        assert seen == list(range(1, after + 1))  # all up to where it ended, whether at the end or at what was pruned


@pytest.mark.parametrize(
    "body", ['{"before_sequence": 0}', '{"before_sequence": "3"}', '{"before_sequence": true}', '{"x": 1}', "[]", "{", ""]
)
def test_retention_refuses_what_makes_no_sense(quiet: TestClient, body: str) -> None:
    answer = quiet.post("/changefeed/retention", content=body, headers=bearer(ADMIN) | {"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["type"]) == (400, "urn:dmsjournal:problem:invalid-request")


def test_retention_needs_an_admin(quiet: TestClient) -> None:
    assert quiet.post("/changefeed/retention", json={"before_sequence": 1}, headers=bearer(READ)).status_code == 403


def test_retention_needs_a_pruner(url: str) -> None:
    with in_process(settings_of(url, admin_url=None)) as client:
        answer = client.post("/changefeed/retention", json={"before_sequence": 1}, headers=bearer(ADMIN))
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:dmsjournal:problem:unsupported-capability")
