"""A client of a portable change feed: scopes, starts, opaque tokens, item states, and errors by their codes."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

import dmsjournal as dj
from tests.helpers import SCHOOL, STUDENT, document, write
from tests.http.conftest import READ, Running, settings_of

CODES = {"CHECKPOINT_EXPIRED", "UNSUPPORTED_CAPABILITY", "INVALID_REQUEST", "NOT_FOUND", "PROVIDER_ERROR"}


class FeedError(Exception):
    def __init__(self, code: str) -> None:
        assert code in CODES
        super().__init__(code)
        self.code = code


class Feed:
    """Reads by pages: goes on from the page's token, which is text and nothing else."""

    def __init__(self, http: httpx.Client) -> None:
        self.http = http

    def page(self, **asked: object) -> dict[str, Any]:
        answer = self.http.get("/feed", params=asked)
        if answer.status_code != 200:
            raise FeedError(answer.json()["code"])
        found: dict[str, Any] = answer.json()
        return found

    def events(self, **asked: object) -> tuple[list[dict[str, Any]], str]:
        found = self.page(**asked)
        events = list(found["events"])
        while not found["idle"] and not found["partition_retired"]:
            found = self.page(token=found["token"])
            events += found["events"]
        return events, found["token"]


@pytest.mark.acceptance("79")
def test_scopes_states_tokens_and_codes(url: str, journal: dj.Journal) -> None:
    write(journal, *(document(STUDENT, n, body={"n": n}) for n in range(5)), document(SCHOOL, 1))
    with Running(settings_of(url)) as running, running.client(READ) as http:
        feed = Feed(http)
        everything, token = feed.events(scope="all", start="beginning", limit=0)
        assert [event["type"] for event in everything] == ["CREATE"] * 6
        assert everything[0]["item_state"] == {"before": None, "after": {"n": 0}}  # without asking
        assert feed.page(limit=10**6)["count"] == 6
        keyed, _ = feed.events(scope='key:ed-fi/students:{"studentId":3}')
        assert [event["key"]["key_values"] for event in keyed] == [{"studentId": 3}]
        parts = [part["partition"] for part in http.get("/feed/partitions").json()["partitions"]]
        apart = [event["event_id"] for part in parts for event in feed.events(scope=f"partition:{part}", limit=2)[0]]
        assert sorted(apart) == sorted(event["event_id"] for event in everything)
        with journal.write() as tx:
            tx.delete(SCHOOL, {"schoolId": 1})
        later, _ = feed.events(token=token)
        assert [(event["type"], event["key"]["key_values"]) for event in later] == [("DELETE", {"schoolId": 1})]
        old = feed.page(limit=1)["token"]
        journal.prune(through=journal.versions().newest - 1)
        for asked, code in (
            ({"token": old}, "CHECKPOINT_EXPIRED"),
            ({"token": "x" * 16_000}, "INVALID_REQUEST"),
            ({"item_state": "REQUIRE"}, "UNSUPPORTED_CAPABILITY"),
            ({"scope": "resource:ed-fi/nothing"}, "NOT_FOUND"),
            ({"start": "yesterday"}, "INVALID_REQUEST"),
        ):
            with pytest.raises(FeedError) as refused:
                feed.page(**asked)
            assert refused.value.code == code, asked
        http.headers["Authorization"] = "Bearer wrong"
        with pytest.raises(FeedError) as refused:
            feed.page()
        assert refused.value.code == "PROVIDER_ERROR"
