"""Tickets: what an EventSource puts into a URL: for streams alone, for a while, and never more than its token may."""

from __future__ import annotations

import hashlib

import msgspec
import pytest
from starlette.testclient import TestClient

import dmsjournal as dj
from dmsjournal.http.security import Scope, Token
from dmsjournal.http.tickets import Tickets
from tests.helpers import SCHOOL, STUDENT, document, write
from tests.http.conftest import ADMIN, READ, STUDENTS, bearer, in_process, settings_of
from tests.http.sse import Events

TOKEN = Token(name="one", sha256="0" * 64)


def issued(client: TestClient, token: str = READ, **asked: object) -> str:
    answer = client.post("/tickets", params=asked, headers=bearer(token))
    assert answer.status_code == 200, answer.text
    return str(answer.json()["ticket"])


def sequences(client: TestClient, ticket: str, **asked: object) -> list[object]:
    params = {"ticket": ticket, "keep_alive": "false", **asked}
    with client.stream("GET", "/changefeed/stream", params=params, headers={"Authorization": ""}) as answer:
        assert answer.status_code == 200, answer.read()
        return [event.data["sequence"] for event in Events(answer.iter_lines())]


@pytest.fixture
def written(db: dj.Journal) -> None:
    write(db, document(STUDENT, 1), document(SCHOOL, 1))


@pytest.mark.usefixtures("written")
def test_a_ticket_opens_streams_and_nothing_else(client: TestClient) -> None:
    for token in (READ, ADMIN):
        ticket = issued(client, token)
        assert sequences(client, ticket) == [1, 2]
        assert token not in ticket
        assert hashlib.sha256(token.encode()).hexdigest() not in ticket
        no_header = {"Authorization": ""}
        answer = client.get("/feed/stream", params={"ticket": ticket, "keep_alive": "false"}, headers=no_header)
        assert answer.status_code == 200
        for path in ("/changefeed", "/feed", "/changefeed/stats", "/feed/partitions"):
            assert client.get(path, headers=no_header).status_code == 401
            assert client.get(path, params={"ticket": ticket}, headers=no_header).status_code == 401
        assert client.post("/changefeed/retention", headers=bearer(ticket), json={"before_sequence": 1}).status_code == 401
        assert client.post("/tickets", headers=bearer(ticket)).status_code == 401
    assert client.post("/tickets", headers={"Authorization": ""}).status_code == 401


@pytest.mark.usefixtures("written")
def test_a_ticket_may_read_no_more_than_its_token(client: TestClient) -> None:
    assert sequences(client, issued(client, STUDENTS)) == [1]
    assert sequences(client, issued(client, READ, resource=["ed-fi/schools"])) == [2]
    answer = client.post("/tickets", params={"resource": "ed-fi/schools"}, headers=bearer(STUDENTS))
    assert answer.status_code == 403


def test_a_ticket_ends() -> None:
    now = 1_000.0
    tickets = Tickets(b"s" * 32, lambda: now)
    ticket, expires = tickets.issue(TOKEN, 60)
    assert expires == 1_060
    assert tickets.token_of(ticket, [TOKEN]) == TOKEN
    assert tickets.token_of(ticket, []) is None  # its token was taken away
    admin = msgspec.structs.replace(TOKEN, scopes=frozenset({Scope.ADMIN, Scope.READ}))
    found = tickets.token_of(ticket, [admin])
    assert found is not None
    assert found.scopes == {Scope.READ}
    now = 1_060.0
    assert tickets.token_of(ticket, [TOKEN]) is None


@pytest.mark.parametrize("at", range(0, 120, 7))
def test_a_ticket_that_was_changed_is_none(at: int) -> None:
    tickets = Tickets(b"s" * 32)
    ticket, _ = tickets.issue(TOKEN, 60)
    at = min(at, len(ticket) - 1)
    assert tickets.token_of(ticket[:at] + ("A" if ticket[at] != "A" else "B") + ticket[at + 1 :], [TOKEN]) is None
    assert tickets.token_of(ticket[:at], [TOKEN]) is None
    assert Tickets(b"t" * 32).token_of(ticket, [TOKEN]) is None


@pytest.mark.usefixtures("written")
def test_a_ticket_outlives_a_service_with_a_secret(url: str) -> None:
    with in_process(settings_of(url, ticket_secret=b"k" * 32)) as client:
        ticket = issued(client)
    with in_process(settings_of(url, ticket_secret=b"k" * 32)) as client:
        assert sequences(client, ticket) == [1, 2]
    with in_process(settings_of(url)) as client:
        answer = client.get("/changefeed/stream", params={"ticket": ticket}, headers={"Authorization": ""})
        assert answer.status_code == 401
