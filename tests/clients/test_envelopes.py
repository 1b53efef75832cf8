"""Consumers of CDC 1.0, of CloudEvents 1.0 and of Debezium's envelope, each by what its text says, from a stream and from files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.schema import migrate
from tests.helpers import PLAN, STUDENT, document, write
from tests.http.conftest import READ, Running, settings_of

Event = dict[str, Any]
Rows = dict[str, Any]


def cdc(event: Event, rows: Rows) -> tuple[str, int]:
    """CDC 1.0: an entity by its id, its state after; the cascade says what else went."""
    assert event["version"] == "1.0"
    entity, operation = event["entity"], event["operation"]
    assert (
        event["event_type"]
        == {"CREATE": "entity:created", "UPDATE": "entity:updated", "DELETE": "entity:deleted"}[operation["type"]]
    )
    datetime.fromisoformat(event["timestamp"])
    assert set(event["cascade"]) >= {"updated", "deleted", "invalidations"}
    rows[entity["entity_id"]] = operation["after"]
    if operation["after"] is None:
        assert operation["type"] == "DELETE"
        del rows[entity["entity_id"]]
    for gone in event["cascade"]["deleted"]:
        rows.pop(gone["entity_id"], None)
    return event["event_id"], event["sequence_number"]


def cloudevents(event: Event, rows: Rows) -> tuple[str, int]:
    """CloudEvents 1.0: four attributes are required, names are lower-case letters and digits, times are RFC 3339."""
    assert event["specversion"] == "1.0"
    assert all(event[name] for name in ("id", "source", "type"))
    assert all(re.fullmatch("[a-z0-9]{1,20}", name) for name in event)
    datetime.fromisoformat(event["time"])
    assert event["datacontenttype"] == "application/json"
    made = cdc(event["data"], rows)
    assert (event["id"], int(event["sequence"])) == made
    return made


def debezium(event: Event, rows: Rows) -> tuple[str, int]:
    """Debezium: op is c, u, d or r; before and after are rows or null; the source has the order."""
    source = event["source"]
    assert event["op"] in "cudr"
    assert source["ts_ms"] == event["ts_ms"]
    if event["op"] == "d":
        assert event["after"] is None
        del rows[source["entity_id"]]
    else:
        rows[source["entity_id"]] = event["after"]
    return source["event_id"], source["sequence"]


def streamed(url: str, name: str) -> Iterator[Event]:
    asked = {"format": name, "keep_alive": "false"}
    with (
        Running(settings_of(url)) as running,
        running.client(READ) as http,
        http.stream("GET", "/feed/stream", params=asked) as answer,
    ):
        yield from (json.loads(line.removeprefix("data: ")) for line in answer.iter_lines() if line.startswith("data: "))


@pytest.mark.acceptance("79")
@pytest.mark.parametrize("consume", [cdc, cloudevents, debezium])
def test_a_consumer_keeps_the_documents(url: str, tmp_path: Path, consume: Callable[[Event, Rows], tuple[str, int]]) -> None:
    migrate.upgrade(url, options=["images", "context"])
    with dj.connect(url) as journal:
        student = document(STUDENT, 1, body={"name": "Ada"})
        write(journal, student, document(STUDENT, 2, body={"name": "Max"}), document(PLAN, 1, student))
        write(journal, document(STUDENT, 2, body={"name": "Zoë"}))
        with journal.write() as tx:
            tx.delete(STUDENT, {"studentId": 1}, cascade=True)
    command = [
        "deliver",
        "--consumer",
        "lake",
        "--files",
        str(tmp_path / "out"),
        "--once",
        "--format",
        consume.__name__,
        "--url",
        url,
    ]
    assert CliRunner().invoke(cli.app, command).exit_code == 0
    filed = [
        json.loads(line) for file in sorted((tmp_path / "out").glob("*.jsonl")) for line in file.read_text("utf-8").splitlines()
    ]
    for events in (list(streamed(url, consume.__name__)), filed):
        rows: Rows = {}
        told = [consume(event, rows) for event in events]
        assert list(rows.values()) == [{"name": "Zoë"}]
        assert [number for _, number in told] == sorted(number for _, number in told)
        assert len({id_ for id_, _ in told}) == len(told) == 6
