"""A page also ends at a number of bytes; one that may not end, since its client counts rows, goes through a file."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

import dmsjournal as dj
from dmsjournal.http.app import create_app
from tests.helpers import STUDENT, write
from tests.http.conftest import READ, Running, bearer, in_process, settings_of

LONG = {"text": "x" * 1_000}
MANY = 20
PATH = "/data/v3/ed-fi/students"
LISTS = [PATH, f"{PATH}?minChangeVersion=1", f"{PATH}/deletes?minChangeVersion=1", f"{PATH}/keyChanges?minChangeVersion=1"]


@pytest.fixture
def filled(db: dj.Journal) -> dj.Journal:
    """Documents, key changes and deletes, whose bodies, or keys, have a thousand bytes each."""
    write(db, *(dj.Document(STUDENT, {"studentId": f"{n:04}" + "k" * 1_000}, LONG) for n in range(3 * MANY)))
    with db.write() as tx:
        for n in range(MANY, 2 * MANY):
            tx.rekey(STUDENT, {"studentId": f"{n:04}" + "k" * 1_000}, {"studentId": f"{n:04}" + "r" * 1_000})
        for n in range(MANY):
            tx.delete(STUDENT, {"studentId": f"{n:04}" + "k" * 1_000})
    return db


def pages(client: TestClient, path: str, **asked: object) -> list[list[dict[str, Any]]]:
    """Each page of a list, by page token."""
    found, headers = [], {}
    while True:
        answer = client.get(path, params={**dict(client.build_request("GET", path).url.params), **asked, **headers})
        assert answer.status_code == 200, answer.text
        found.append(answer.json())
        if (token := answer.headers.get("Next-Page-Token")) is None:
            return found
        headers = {"pageToken": token}


@pytest.mark.parametrize("path", LISTS)
def test_pages_by_token_end_at_their_bytes_and_lose_nothing(url: str, filled: dj.Journal, path: str) -> None:
    with in_process(settings_of(url)) as client:
        whole = [item for page in pages(client, path, limit=1000) for item in page]
    with in_process(settings_of(url, page_bytes=3_000)) as client:
        found = pages(client, path, limit=8)
        assert len(found[0]) == 8, "a first page may be that of a client that counts"
        assert all(len(page) <= 4 for page in found[1:])
        assert [item for page in found for item in page] == whole
        assert len(whole) >= MANY


@pytest.mark.parametrize("path", LISTS)
def test_pages_by_offset_have_the_rows_that_were_asked_for(url: str, filled: dj.Journal, path: str) -> None:
    """And the same bytes and ETags, whether they went through memory or a file."""
    with in_process(settings_of(url)) as small, in_process(settings_of(url, page_bytes=5_000)) as large:
        service = large.app.state.service  # type: ignore[attr-defined]
        for offset in range(0, MANY, 15):
            params = {**dict(small.build_request("GET", path).url.params), "limit": 15, "offset": offset}
            one, other = small.get(path, params=params), large.get(path, params=params)
            assert len(other.json()) == min(15, len(one.json()))
            assert (one.content, one.headers["etag"]) == (other.content, other.headers["etag"])
            again = large.get(path, params=params, headers={"If-None-Match": other.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
            plain = large.head(path, params=params, headers={"Accept-Encoding": "identity"})
            assert plain.headers["content-length"] == str(len(one.content))
        assert service.bodies.used == 0


def test_large_pages_on_their_way_have_bounds_together(url: str, filled: dj.Journal) -> None:
    with in_process(settings_of(url, page_bytes=5_000, spooled_bytes=20_000)) as client:
        assert client.get(PATH, params={"limit": 10}).status_code == 200
        answer = client.get(PATH, params={"limit": 2 * MANY})
        assert (answer.status_code, answer.json()["type"]) == (503, "urn:dmsjournal:problem:busy")
        assert "limit" in answer.json()["detail"]
        assert client.get(PATH, params={"limit": 10}).status_code == 200
        assert client.app.state.service.bodies.used == 0  # type: ignore[attr-defined]


def test_a_client_that_leaves_gives_its_bytes_back(url: str, filled: dj.Journal) -> None:
    with Running(settings_of(url, page_bytes=5_000)) as running, running.client() as client:
        with client.stream("GET", PATH, params={"limit": 2 * MANY}) as answer:
            assert answer.status_code == 200
        assert client.get(PATH, params={"limit": 2 * MANY}).status_code == 200
        bodies = running.server.service.bodies
    assert bodies.used == 0


@pytest.mark.parametrize("path", ["/changefeed", "/feed?item_state=INCLUDE_IF_AVAILABLE", "/feed?item_state=OMIT&format=debezium"])
def test_pages_of_events_end_at_their_bytes_and_lose_nothing(url: str, filled: dj.Journal, path: str) -> None:
    def walked(client: TestClient) -> list[list[Any]]:
        found: list[list[Any]] = []
        asked: dict[str, object] = dict(client.build_request("GET", path).url.params) | {"limit": 50}
        while True:
            page = client.get(path, params=asked, headers=bearer(READ)).json()
            if not page["events"]:
                return found
            found.append(page["events"])
            place = {"token": page["token"]} if "token" in page else {"from_seq": page["next_sequence"]}
            asked = {**asked, **place}

    with TestClient(create_app(settings_of(url)), base_url="http://127.0.0.1") as client:
        whole = walked(client)
    with TestClient(create_app(settings_of(url, page_bytes=5_000)), base_url="http://127.0.0.1") as client:
        found = walked(client)
    assert len(whole[0]) >= 50
    assert max(map(len, found)) <= 10, "five, and of a rename two"
    if "debezium" not in path:  # which says when it was written
        assert [event for page in found for event in page] == [event for page in whole for event in page]
