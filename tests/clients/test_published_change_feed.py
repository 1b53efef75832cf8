"""A client of the published change feed over HTTP (GET /changefeed, its stream, figures and retention), as its text has it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

import dmsjournal as dj
from tests.helpers import SCHOOL, STUDENT, document, write
from tests.http.conftest import ADMIN, READ, Running, bearer, settings_of


class Mirror:
    """Keeps what the feed tells, by key: a value is JSON text. Polls with a checkpoint, or follows the stream."""

    def __init__(self, http: httpx.Client) -> None:
        self.http, self.last_seq, self.values = http, 0, dict[str, str | None]()

    def poll(self, **asked: object) -> None:
        while True:
            found = self.http.get("/changefeed", params={"from_seq": self.last_seq, "limit": 2, **asked}).json()
            for event in found["events"]:
                self.handle(event)
            if found["count"] == 0:
                return

    def stream(self) -> None:
        with self.http.stream("GET", "/changefeed/stream", params={"from_seq": self.last_seq, "keep_alive": "false"}) as answer:
            for event in _events("".join(answer.iter_text())):
                self.handle(event)

    def handle(self, event: dict[str, Any]) -> None:
        assert set(event) >= {"sequence", "type", "key", "value", "timestamp_ms", "metadata"}
        assert event["key"] == f"{event['metadata']['table']}:{event['metadata']['pk']}"
        if event["type"] == "DELETE":
            assert event["value"] is None
            self.values.pop(event["key"], None)
        else:
            assert event["type"] == "PUT"
            self.values[event["key"]] = event["value"] if event["value"] is None else json.loads(event["value"])
        self.last_seq = event["sequence"]


def _events(text: str) -> Iterator[dict[str, Any]]:
    for block in text.split("\n\n"):
        for line in block.split("\n"):
            if line.startswith("data: "):
                yield json.loads(line[6:])


@pytest.mark.acceptance("79")
@pytest.mark.parametrize("way", ["poll", "stream"])
def test_it_mirrors_the_documents(url: str, journal: dj.Journal, way: str) -> None:
    write(journal, document(STUDENT, 1, body={"name": "Ada"}), document(STUDENT, 2, body={"name": "Max"}), document(SCHOOL, 1))
    with Running(settings_of(url)) as running, running.client(READ) as http:
        mirror = Mirror(http)
        getattr(mirror, way)()
        assert mirror.values == {"students:1": {"name": "Ada"}, "students:2": {"name": "Max"}, "schools:1": {}}
        with journal.write() as tx:
            tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 9})
            tx.delete(STUDENT, {"studentId": 2})
        getattr(mirror, way)()
        assert mirror.values == {"students:9": {"name": "Ada"}, "schools:1": {}}
        only = Mirror(http)
        only.poll(key_prefix="schools:")
        assert only.values == {"schools:1": {}}
        stats = http.get("/changefeed/stats").json()
        assert stats["latest_sequence"] == http.get("/changefeed", params={"from_seq": 0, "limit": 1}).json()["latest_sequence"]
        gone = http.post("/changefeed/retention", json={"before_sequence": 4}, headers=bearer(ADMIN)).json()
        assert gone["deleted"] >= 3
        late = Mirror(http)
        getattr(late, way)()  # from 0: what is kept
        assert late.values == {"students:9": {"name": "Ada"}}
