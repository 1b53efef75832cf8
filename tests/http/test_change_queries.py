"""Change queries: windows, pages, deletes, key changes, etags, as an Ed-Fi client asks for them."""

from __future__ import annotations

import random
from datetime import datetime
from typing import Any
from uuid import uuid4

import httpx
import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

import dmsjournal as dj
from dmsjournal.http.names import ResourceNames
from tests.helpers import DESCRIPTOR, PLAN, SCHOOL, STUDENT, change_content, change_identity, commit, document, newest, write
from tests.http.conftest import STUDENTS, bearer, in_process, settings_of

Connections = list[sa.Connection]
STUDENTS_PATH = "/data/v3/ed-fi/students"


def get(client: TestClient, path: str = STUDENTS_PATH, **asked: object) -> httpx.Response:
    answer: httpx.Response = client.get(path, params=asked)
    assert answer.status_code == 200, answer.text
    return answer


def walk(client: TestClient, path: str = STUDENTS_PATH, **asked: object) -> list[dict[str, Any]]:
    """All pages, by page token."""
    answer = get(client, path, **asked)
    found = answer.json()
    while (token := answer.headers.get("Next-Page-Token")) is not None:
        answer = get(client, path, **asked, pageToken=token)
        assert answer.json()
        found += answer.json()
    return found


def uuids(db: dj.Journal, ids: list[int]) -> list[str]:
    stored = db.documents(ids)
    return [stored[i].document_uuid.hex for i in ids]


def test_documents_of_a_window_with_their_etags(client: TestClient, db: dj.Journal) -> None:
    ids = write(db, document(STUDENT, 1, body={"name": "Ada"}), document(STUDENT, 2), document(SCHOOL, 1), document(STUDENT, 3))
    found = get(client, minChangeVersion=2, maxChangeVersion=4).json()
    assert [item["id"] for item in found] == uuids(db, [ids[1], ids[3]])
    [first] = get(client, minChangeVersion=1, maxChangeVersion=1).json()
    derived = db.derive([ids[0]])[ids[0]]
    assert (first["name"], first["_etag"]) == ("Ada", derived.etag)
    assert datetime.fromisoformat(first["_lastModifiedDate"]) == derived.last_modified
    assert "studentId" not in first  # the body is what is kept
    assert get(client, minChangeVersion=5).json() == []  # above the horizon: empty, and no error


def test_pages_by_token_and_by_offset_are_one_sequence(client: TestClient, db: dj.Journal) -> None:
    ids = write(db, *(document(STUDENT, n) for n in range(7)), document(SCHOOL, 1))
    expected = uuids(db, ids[:7])
    for limit in (1, 2, 3, 7, 100):
        assert [item["id"] for item in walk(client, minChangeVersion=1, limit=limit)] == expected
        assert [item["id"] for item in walk(client, limit=limit)] == expected  # no window: all, by id
        by_offset = [get(client, minChangeVersion=1, limit=limit, offset=offset).json() for offset in range(0, 8, limit)]
        assert [item["id"] for found in by_offset for item in found] == expected


def test_what_comes_during_a_walk_is_in_the_next_window(client: TestClient, db: dj.Journal, connections: Connections) -> None:
    ids = write(db, *(document(STUDENT, n) for n in range(4)))
    first = get(client, minChangeVersion=1, limit=2)
    change_content(connections[0], ids[0], ids[3])
    write(db, document(STUDENT, 9))
    rest = get(client, minChangeVersion=1, limit=2, pageToken=first.headers["Next-Page-Token"])
    assert [item["id"] for item in rest.json()] == uuids(db, [ids[2]])  # the last has left the window
    assert "Next-Page-Token" not in rest.headers
    assert {item["id"] for item in walk(client, minChangeVersion=5)} == set(uuids(db, [ids[0], ids[3], 5]))


def test_indirect_changes_are_changes(client: TestClient, db: dj.Journal, connections: Connections) -> None:
    student = document(STUDENT, 1)
    ids = write(db, student, document(PLAN, 1, student))
    change_identity(connections[0], ids[0])
    at = newest(db)
    found = get(client, "/data/v3/ed-fi/graduationPlans", minChangeVersion=at).json()
    assert [item["id"] for item in found] == uuids(db, [ids[1]])


def test_total_counts(client: TestClient, db: dj.Journal) -> None:
    write(db, *(document(STUDENT, n) for n in range(5)))
    with db.write() as tx:
        tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 11})
        tx.delete(STUDENT, {"studentId": 0})
    for path, asked, total in (
        ("", {"minChangeVersion": 1}, 4),
        ("", {"minChangeVersion": 3, "maxChangeVersion": 4}, 2),
        ("", {"minChangeVersion": 100}, 0),
        ("", {}, 4),
        ("/deletes", {}, 1),
        ("/deletes", {"maxChangeVersion": 5}, 0),
        ("/keyChanges", {}, 1),
        ("/keyChanges", {"minChangeVersion": 7}, 0),
    ):
        answer = get(client, STUDENTS_PATH + path, **asked, totalCount=True, limit=0)
        assert (answer.headers["Total-Count"], answer.json()) == (str(total), []), (path, asked)
    assert "Total-Count" not in get(client).headers


def test_deletes_and_key_changes(client: TestClient, db: dj.Journal) -> None:
    ids = write(db, *(document(STUDENT, n) for n in range(4)))
    [first, _, third, _] = uuids(db, ids)
    with db.write() as tx:
        tx.rekey(STUDENT, {"studentId": 0}, {"studentId": 10})  # 5
    with db.write() as tx:
        tx.rekey(STUDENT, {"studentId": 10}, {"studentId": 20})  # 6
    with db.write() as tx:
        tx.delete(STUDENT, {"studentId": 2})
    assert walk(client, STUDENTS_PATH + "/deletes") == [{"id": third, "changeVersion": 7, "keyValues": {"studentId": 2}}]
    change = {"id": first, "changeVersion": 6, "oldKeyValues": {"studentId": 0}, "newKeyValues": {"studentId": 20}}
    assert walk(client, STUDENTS_PATH + "/keyChanges", limit=1) == [change]
    later = change | {"oldKeyValues": {"studentId": 10}}
    assert walk(client, STUDENTS_PATH + "/keyChanges", minChangeVersion=6) == [later]
    with db.write() as tx:
        tx.rekey(STUDENT, {"studentId": 20}, {"studentId": 0})
    assert walk(client, STUDENTS_PATH + "/keyChanges") == []  # there and back


def test_a_delete_whose_key_lives_again_is_left_out(client: TestClient, db: dj.Journal) -> None:
    """A client that takes key changes, then changes, then deletes would delete the live one by its key."""
    path = STUDENTS_PATH + "/deletes"
    write(db, *(document(STUDENT, n) for n in range(4)))
    for n in range(3):
        with db.write() as tx:
            tx.delete(STUDENT, {"studentId": n})  # 5, 6, 7
    write(db, document(STUDENT, 0))
    with db.write() as tx:
        tx.rekey(STUDENT, {"studentId": 3}, {"studentId": 1})
    for limit in (1, 2, 25):
        assert [item["keyValues"] for item in walk(client, path, limit=limit)] == [{"studentId": 2}]
        assert [item["changeVersion"] for item in walk(client, path, limit=limit, reusedKeys=True)] == [5, 6, 7]
    assert get(client, path, totalCount=True, limit=0).headers["Total-Count"] == "1"
    assert get(client, path, totalCount=True, limit=0, reusedKeys=True).headers["Total-Count"] == "3"
    assert [item["keyValues"]["studentId"] for item in walk(client, path, maxChangeVersion=7)] == [0, 1, 2]
    token = get(client, path, limit=1, reusedKeys=True).headers["Next-Page-Token"]
    assert client.get(path, params={"limit": 1, "pageToken": token}).status_code == 400


def test_key_changes_in_pages_keep_their_windows_old_values(client: TestClient, db: dj.Journal) -> None:
    write(db, *(document(STUDENT, n) for n in range(5)))
    for step in (100, 200):
        for n in range(5):
            with db.write() as tx:
                tx.rekey(STUDENT, {"studentId": n + step - 100}, {"studentId": n + step})
    for limit in (1, 2, 5):
        found = walk(client, STUDENTS_PATH + "/keyChanges", limit=limit)
        assert [(c["oldKeyValues"]["studentId"], c["newKeyValues"]["studentId"]) for c in found] == [(n, n + 200) for n in range(5)]


def test_a_document_and_its_etag(client: TestClient, db: dj.Journal, connections: Connections) -> None:
    [id_] = write(db, document(STUDENT, 1, body={"name": "Ada"}))
    stored = db.documents([id_])[id_]
    for name in (stored.document_uuid, stored.document_uuid.hex):
        answer = get(client, f"{STUDENTS_PATH}/{name}")
    assert answer.headers["etag"] == f'"{answer.json()["_etag"]}"'
    etag = answer.headers["etag"]
    for sent in (etag, f'"x", {etag}', f"W/{etag}", etag.strip('"'), "*"):
        same = client.get(f"{STUDENTS_PATH}/{stored.document_uuid}", headers={"If-None-Match": sent})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", etag)
    change_content(connections[0], id_)
    assert client.get(f"{STUDENTS_PATH}/{stored.document_uuid}", headers={"If-None-Match": etag}).status_code == 200
    assert client.get(f"/data/v3/ed-fi/schools/{stored.document_uuid}").status_code == 404
    assert client.get(f"{STUDENTS_PATH}/{uuid4()}").status_code == 404
    assert client.get(f"{STUDENTS_PATH}/nonsense").status_code == 400


def test_a_list_that_has_not_changed_is_304(client: TestClient, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1))
    etag = get(client).headers["etag"]
    assert client.get(STUDENTS_PATH, headers={"If-None-Match": etag}).status_code == 304
    write(db, document(STUDENT, 2))
    assert client.get(STUDENTS_PATH, headers={"If-None-Match": etag}).status_code == 200


def test_a_list_that_goes_on_now_is_not_the_one_that_ended(client: TestClient, db: dj.Journal) -> None:
    write(db, *(document(STUDENT, n) for n in range(3)))
    ended, counted = get(client, limit=3), get(client, limit=3, totalCount=True)
    write(db, document(STUDENT, 4))
    for before, asked in ((ended, {}), (counted, {"totalCount": True})):
        answer = client.get(STUDENTS_PATH, params={"limit": 3, **asked}, headers={"If-None-Match": before.headers["ETag"]})
        assert (answer.status_code, answer.content, "Next-Page-Token" in answer.headers) == (200, before.content, True)
        assert answer.headers.get("Total-Count") == ("4" if asked else None)
    again = client.get(STUDENTS_PATH, params={"limit": 3}, headers={"If-None-Match": get(client, limit=3).headers["ETag"]})
    assert again.status_code == 304


def test_a_body_that_is_no_object_takes_none_of_the_others_away(
    client: TestClient, db: dj.Journal, connections: Connections
) -> None:
    ids = write(db, document(STUDENT, 1, body={"a": 1}), document(STUDENT, 2, body={"b": 2}))
    commit(connections[0], f"UPDATE dms.DocumentCache SET DocumentJson = '[1]' WHERE DocumentId = {ids[0]}")
    own = ("id", "_etag", "_lastModifiedDate")
    bodies = [{name: of for name, of in item.items() if name not in own} for item in get(client).json()]
    assert bodies == [{"studentId": 1}, {"b": 2}]  # its key takes its place


def test_expired_windows_are_410_with_the_oldest(client: TestClient, db: dj.Journal) -> None:
    write(db, *(document(STUDENT, n) for n in range(4)))
    db.prune(through=2)
    for path in ("", "/deletes", "/keyChanges"):
        answer = client.get(STUDENTS_PATH + path, params={"minChangeVersion": 2})
        assert (answer.status_code, answer.json()["oldest"]) == (410, 3)
        assert client.get(STUDENTS_PATH + path, params={"minChangeVersion": 3}).status_code == 200
    assert len(walk(client, limit=3)) == 4  # without a window nothing is asked of the journals


def test_a_token_of_a_window_that_expires_is_410(client: TestClient, db: dj.Journal) -> None:
    write(db, *(document(STUDENT, n) for n in range(4)))
    first = get(client, minChangeVersion=1, limit=2)
    db.prune(through=3)
    answer = client.get(STUDENTS_PATH, params={"minChangeVersion": 1, "limit": 2, "pageToken": first.headers["Next-Page-Token"]})
    assert answer.status_code == 410


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("minChangeVersion", "-1"),
        ("minChangeVersion", "x"),
        ("minChangeVersion", "١٢"),
        ("minChangeVersion", "1_0"),
        ("minChangeVersion", "1.0"),
        ("minChangeVersion", "+1"),
        ("minChangeVersion", " 1"),
        ("minChangeVersion", ""),
        ("offset", "1_0"),
        ("limit", "1.0"),
        ("maxChangeVersion", "9223372036854775808"),
        ("limit", "-1"),
        ("limit", "10001"),
        ("offset", "-1"),
        ("offset", "100001"),
        ("totalCount", "perhaps"),
        ("pageToken", "x"),
        ("pageToken", "WyJhIl0="),
        ("pageToken", "x" * 501),
        ("studentUniqueId", "604822"),
    ],
)
def test_what_makes_no_sense_is_400_and_named(quiet: TestClient, name: str, value: str) -> None:
    with dj.connect(quiet.app.state.service.settings.url) as db:  # type: ignore[attr-defined]
        write(db, document(STUDENT, 1))  # so that the resource is known
    answer = quiet.get(STUDENTS_PATH, params={name: value})
    assert (answer.status_code, answer.json()["parameter"]) == (400, name)


def test_an_inverted_window_is_400(client: TestClient, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1))
    for path in ("", "/deletes", "/keyChanges"):
        answer = client.get(STUDENTS_PATH + path, params={"minChangeVersion": 2, "maxChangeVersion": 1})
        assert (answer.status_code, answer.json()["parameter"]) == (400, "minChangeVersion")


def test_a_page_token_is_of_one_list_and_window(client: TestClient, db: dj.Journal) -> None:
    write(db, *(document(STUDENT, n) for n in range(4)), *(document(SCHOOL, n) for n in range(4)))
    token = get(client, minChangeVersion=1, limit=1).headers["Next-Page-Token"]
    wrong = [
        ("/data/v3/ed-fi/schools", {"minChangeVersion": 1}),
        (STUDENTS_PATH + "/deletes", {"minChangeVersion": 1}),
        (STUDENTS_PATH, {"minChangeVersion": 2}),
        (STUDENTS_PATH, {"minChangeVersion": 1, "offset": 1}),
        (STUDENTS_PATH, {}),
    ]
    for path, asked in wrong:
        assert client.get(path, params={**asked, "pageToken": token}).status_code == 400


def test_resources_by_path(url: str, client: TestClient, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1), document(DESCRIPTOR, 1))
    assert len(get(client, "/data/v3/ed-fi/gradeLevelDescriptors").json()) == 1
    answer = client.get("/data/v3/ed-fi/studnets")
    assert (answer.status_code, "did you mean ed-fi/students?" in answer.json()["detail"]) == (404, True)
    assert client.get("/data/v3/tpdm/students").status_code == 404
    other = dj.ResourceKey("Ed-Fi", "Student", "6.0.0")
    write(db, document(other, 1))
    answer = client.get(STUDENTS_PATH)
    assert (answer.status_code, "Ed-Fi/Student/6.0.0" in answer.json()["detail"]) == (400, True)
    with in_process(
        settings_of(url, resources={"ed-fi/students": "Ed-Fi/Student/6.0.0", "own/pupils": "Ed-Fi/Student/5.2.0"})
    ) as named:
        assert [item["id"] for item in get(named).json()] == uuids(db, [3])
        assert [item["id"] for item in get(named, "/data/v3/own/pupils").json()] == uuids(db, [1])


def test_a_token_for_some_resources_is_refused_others(client: TestClient, db: dj.Journal) -> None:
    [_, school] = write(db, document(STUDENT, 1), document(SCHOOL, 1))
    uuid = db.documents([school])[school].document_uuid
    assert client.get(STUDENTS_PATH, headers=bearer(STUDENTS)).status_code == 200
    for path in ("", "/deletes", "/keyChanges", f"/{uuid}"):
        answer = client.get("/data/v3/ed-fi/schools" + path, headers=bearer(STUDENTS))
        assert (answer.status_code, answer.json()["type"]) == (403, "urn:dmsjournal:problem:forbidden")


class Replica:
    """What a client keeps, by the flow that the Ed-Fi API documents: key changes, upserts, deletes; one window after the other."""

    def __init__(self, client: TestClient, resources: list[dj.ResourceKey]) -> None:
        self.client = client
        self.paths = [f"/data/v3/ed-fi/{client.app.state.service.names.short_of(r)}" for r in resources]  # type: ignore[attr-defined]
        self.documents: dict[str, dict[str, dict[str, Any]]] = {path: {} for path in self.paths}
        self.through = 0

    def synchronise(self, limit: int) -> None:
        versions = self.client.get("/changeQueries/v1/availableChangeVersions").json()
        window = {"minChangeVersion": self.through + 1, "maxChangeVersion": versions["newestChangeVersion"], "limit": limit}
        if window["minChangeVersion"] > window["maxChangeVersion"]:
            return
        for path in self.paths:
            for change in walk(self.client, path + "/keyChanges", **window):
                if change["id"] in self.documents[path]:
                    self.documents[path][change["id"]] = {}
        for path in self.paths:
            for item in walk(self.client, path, **window):
                self.documents[path][item["id"]] = item
        for path in reversed(self.paths):
            for item in walk(self.client, path + "/deletes", **window, reusedKeys=True):  # it keeps documents by their ids
                self.documents[path].pop(item["id"], None)
        self.through = versions["newestChangeVersion"]


def test_a_replica_by_the_documented_flow_equals_the_source(client: TestClient, db: dj.Journal) -> None:
    """20 rounds of random writes, each followed by one synchronisation."""
    chance = random.Random(20)
    resources = [SCHOOL, STUDENT, PLAN]
    write(db, *(document(of, 0) for of in resources))
    replica = Replica(client, resources)
    for round_ in range(20):
        for _ in range(chance.randrange(1, 6)):
            _change_something(db, chance, round_)
        replica.synchronise(limit=chance.choice([2, 7, 500]))
        for of, path in zip(resources, replica.paths, strict=True):
            assert replica.documents[path] == {item["id"]: item for item in walk(client, path, limit=1_000)}, (round_, of)


def _change_something(db: dj.Journal, chance: random.Random, round_: int) -> None:
    key, other = chance.randrange(6), chance.randrange(6)
    school, student = document(SCHOOL, key, body={"round": round_}), document(STUDENT, key, body={"round": round_})
    try:
        match chance.randrange(6):
            case 0:
                write(db, school)
            case 1 | 2:
                write(db, student, document(PLAN, other, student, body={"round": round_}))
            case 3:
                with db.write() as tx:
                    tx.rekey(STUDENT, {"studentId": key}, {"studentId": 100 * round_ + key})
            case 4:
                with db.write() as tx:
                    tx.delete(PLAN, {"graduationPlanId": key})
            case 5:
                with db.write() as tx:
                    tx.delete(STUDENT, {"studentId": key})
    except (dj.InvalidRequest, dj.ReferencedDocument, dj.UnknownReference):
        pass  # it is not there, or somebody refers to it: not this time


@pytest.mark.parametrize(
    ("resource", "path"),
    [
        (("Ed-Fi", "Student"), "ed-fi/students"),
        (("Ed-Fi", "StudentSchoolAssociation"), "ed-fi/studentSchoolAssociations"),
        (("Ed-Fi", "LocalEducationAgency"), "ed-fi/localEducationAgencies"),
        (("Ed-Fi", "Survey"), "ed-fi/surveys"),
        (("Ed-Fi", "GradeLevelDescriptor"), "ed-fi/gradeLevelDescriptors"),
        (("Ed-Fi", "Person"), "ed-fi/people"),
        (("Ed-Fi", "OpenStaffPosition"), "ed-fi/openStaffPositions"),
        (("Ed-Fi", "Class"), "ed-fi/classes"),
        (("TPDM", "Candidate"), "tpdm/candidates"),
        (("My District", "Bus"), "my-district/buses"),
    ],
)
def test_resources_are_spelled_as_in_the_api(resource: tuple[str, str], path: str) -> None:
    assert ResourceNames().path_of(dj.ResourceKey(*resource, "5.2.0")) == path
