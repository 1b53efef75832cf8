"""A key change as an event: the old key and the new one, in every format (docs/events/cdc.md)."""

from __future__ import annotations

import json

import pytest

import dmsjournal as dj
from dmsjournal.events import arrow, cdc, formats, jsonl
from dmsjournal.schema import migrate
from tests.feeds import walk
from tests.helpers import SCHOOL, STUDENT, document, write

OLD, NEW = {"studentId": 1}, {"studentId": 2}


def renamed(journal: dj.Journal) -> dj.FeedEvent:
    """The event of a student's key change; others lie before and behind it."""
    write(journal, document(STUDENT, 1, body={"name": "Ada"}), document(SCHOOL, 1))
    with journal.write() as tx:
        tx.rekey(STUDENT, OLD, NEW)
    write(journal, document(STUDENT, 2, body={"name": "Zoë"}))
    created, _, event, later = walk(journal, dj.FeedRequest())[0]
    assert (created.key.key_values, created.key.old_key_values) == (OLD, None)
    assert (later.key.key_values, later.key.old_key_values) == (NEW, None)
    return event


def test_the_feed_has_both_keys(journal: dj.Journal) -> None:
    event = renamed(journal)
    assert (event.type, event.key.key_values, event.key.old_key_values) == (dj.FeedEventType.UPDATE, NEW, OLD)


def test_a_key_that_was_used_again_is_told_by_its_own_lifetime(journal: dj.Journal) -> None:
    renamed(journal)
    with journal.write() as tx:
        tx.delete(STUDENT, NEW)
    write(journal, document(STUDENT, 1))
    with journal.write() as tx:
        tx.rekey(STUDENT, OLD, {"studentId": 3})
    found = [(event.key.old_key_values, event.key.key_values) for event in walk(journal, dj.FeedRequest())[0]]
    assert found[2:] == [(OLD, NEW), (None, NEW), (None, NEW), (None, OLD), (OLD, {"studentId": 3})]


@pytest.mark.parametrize("options", [[], ["images"]], ids=["bare", "images"])
def test_each_format_has_both_keys(journal: dj.Journal, url: str, options: list[str]) -> None:
    if options:
        migrate.upgrade(url, options=options)
    with dj.connect(url) as own:
        event = renamed(own)
    told = {name: json.loads(formats.writer(formats.load(name), url).encode(event)) for name in formats.names()}
    assert (told["jsonl"]["key"]["old_key_values"], told["jsonl"]["key"]["key_values"]) == (OLD, NEW)
    changed = {"studentId": {"before": 1, "after": 2}}
    for made in (told["cdc"], told["cloudevents"]["data"]):
        assert made["operation"]["changed_fields"] == ["studentId"]
        assert made["operation"]["changed_field_values"] == changed
        assert made["entity"]["entity_identifier"] == "2"
        assert ("before" in made["operation"]) == bool(options)
    assert told["debezium"]["source"]["key_changes"] == changed
    [update] = arrow.from_feed([event], "here").events
    assert [part["key_values"].to_pylist() for part in update.parts] == [['{"studentId":1}'], ['{"studentId":2}']]
    record = next(jsonl.read([jsonl.line(event)]))
    assert jsonl.FeedRecord.of(record) == record == jsonl.FeedRecord.of(event)


def test_a_key_that_the_body_has_too_is_told_once(journal: dj.Journal, url: str) -> None:
    migrate.upgrade(url, options=["images"])
    with dj.connect(url) as own:
        write(own, document(STUDENT, 1, body={"studentId": 1, "name": "Ada"}))
        with own.write() as tx:
            tx.rekey(STUDENT, OLD, NEW)
            tx.upsert(document(STUDENT, 2, body={"studentId": 2, "name": "Ada"}))
        events, _ = walk(own, dj.FeedRequest())
    fields = [made.operation.changed_fields for made in map(cdc.CdcConverter(cdc.source_of(url)).convert, events)]
    assert [of.count("studentId") for of in fields if of is not None] == [1] * len(fields)


def test_a_filter_of_fields_finds_it(journal: dj.Journal, url: str) -> None:
    event = renamed(journal)
    writer = formats.writer(formats.load("jsonl"), url, filters={"changed_fields": ("studentId",)})
    assert writer.is_wanted(event)
    other = formats.writer(formats.load("jsonl"), url, filters={"changed_fields": ("name",)})
    assert other.is_wanted(event)  # whether its body changed is not known
    migrate.upgrade(url, options=["images"])
    with dj.connect(url) as own:
        with own.write() as tx:
            tx.rekey(STUDENT, NEW, OLD)
        last = walk(own, dj.FeedRequest())[0][-1]
    assert (writer.is_wanted(last), other.is_wanted(last)) == (True, False)
