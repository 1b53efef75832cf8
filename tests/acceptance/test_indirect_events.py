"""Indirect changes as events: a document changed with the identity of what it refers to (docs/how-it-works.md, The feed)."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.events import cdc, formats, jsonl
from dmsjournal.feed import indirect
from dmsjournal.schema import migrate
from tests.feeds import walk
from tests.helpers import PLAN, SCHOOL, SECTION, STUDENT, change_identity, commit, document, newest, refer, write

INDIRECT = dj.FeedRequest(indirect=True)
SIZES = (1, 2, 3, 500)
Told = list[tuple[int, int | None]]


def told(events: list[dj.FeedEvent]) -> Told:
    return [(event.change_version, event.key.document_id) for event in events if event.indirect_of is not None]


def expected(connection: sa.Connection) -> Told:
    """By the definition, in Python: who refers to what changed its identity, and was not written since."""
    local = dict(map(tuple, commit(connection, "SELECT DocumentId, ContentVersion FROM dms.Document")))
    for document_id, version in commit(connection, "SELECT DocumentId, IdentityVersion FROM dms.Document"):
        local[document_id] = max(local[document_id], version)
    edges = [tuple(row) for row in commit(connection, "SELECT ParentDocumentId, ChildDocumentId FROM dms.ReferenceEdge")]
    changes = [tuple(row) for row in commit(connection, "SELECT ChangeVersion, DocumentId FROM dms.IdentityChangeEvent")]
    return sorted({(v, parent) for v, of in changes for parent, child in edges if child == of != parent and local[parent] < v})


def check(journal: dj.Journal, connection: sa.Connection, request: dj.FeedRequest = INDIRECT) -> list[dj.FeedEvent]:
    """The events by pages of each size are the same; in order; and without `indirect` the others alone."""
    events, _ = walk(journal, request)
    assert told(events) == expected(connection)
    places = [(event.change_version, event.key.document_id or 0) for event in events]
    assert places == sorted(set(places))
    for size in SIZES:
        assert walk(journal, replace(request, max_page_size=size))[0] == events
    direct = [event for event in events if event.indirect_of is None]
    assert direct == walk(journal, replace(request, indirect=False))[0]
    by_id = {event.event_id: event for event in direct}
    for event in events:
        if event.indirect_of is not None:
            cause = by_id[event.indirect_of]
            assert (event.type, event.timestamp, event.context) == (dj.FeedEventType.UPDATE, cause.timestamp, cause.context)
    return events


def test_each_referrer_of_a_rename_has_an_event(journal: dj.Journal, connection: sa.Connection) -> None:
    student = document(STUDENT, 1)
    write(journal, student, *(document(PLAN, n, student, body={"n": n}) for n in range(5)), document(SCHOOL, 1, student))
    with journal.write() as tx:
        tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 2})
    events = check(journal, connection)
    mine = [event for event in events if event.indirect_of is not None]
    assert [event.resource for event in mine] == [PLAN] * 5 + [SCHOOL]
    assert [event.key.key_values for event in mine[:2]] == [{"planId": 0}, {"planId": 1}] or mine[0].key.key_values is not None
    assert [event.item_state.after for event in mine[:5] if event.item_state] == [{"n": n} for n in range(5)]
    write(journal, document(PLAN, 3, document(STUDENT, 2), body={"n": 30}))  # it has an event of its own from now on
    assert told(check(journal, connection)) == [place for place in told(events) if place[1] != 5]
    ids = {event.event_id for event in events}
    assert len(ids) == len(events)


def test_scopes_and_filters_hold(journal: dj.Journal, connection: sa.Connection) -> None:
    student = document(STUDENT, 1)
    write(journal, student, *(document(PLAN, n, student) for n in range(4)), *(document(SCHOOL, n, student) for n in range(3)))
    change_identity(connection, 1)
    change_identity(connection, 1)
    events = check(journal, connection)
    for size in SIZES:
        for scope, filters, wanted in (
            (dj.LogicalPartition(PLAN), dj.FeedFilter(), lambda event: event.resource == PLAN),
            (dj.LogicalPartition(document_id=3), dj.FeedFilter(), lambda event: event.key.document_id == 3),
            (dj.EntireCollection(), dj.FeedFilter(resources=[SCHOOL]), lambda event: event.resource == SCHOOL),
            (dj.EntireCollection(), dj.FeedFilter([dj.FeedEventType.CREATE]), lambda event: event.type == "CREATE"),
        ):
            request = dj.FeedRequest(scope, filters=filters, indirect=True, max_page_size=size)
            assert walk(journal, request)[0] == [event for event in events if wanted(event)]
        parts = [
            walk(journal, replace(INDIRECT, scope=part.scope, max_page_size=size))[0] for part in journal.list_physical_partitions()
        ]
        assert sorted((e for part in parts for e in part), key=lambda e: (e.change_version, e.key.document_id or 0)) == events


def test_random_histories(journal: dj.Journal, connection: sa.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """With bounds that end pages early: few identity changes and few references are looked at in one."""
    monkeypatch.setattr(indirect, "RENAMES", 3)
    monkeypatch.setattr(indirect, "_LOOKED", 2)
    monkeypatch.setattr(indirect, "_CHUNK", 2)
    chosen = random.Random(4)
    kinds = (STUDENT, PLAN, SCHOOL, SECTION)
    made = [document(kind, n) for kind in kinds for n in range(3)]
    ids = write(journal, *made)
    for _ in range(25):
        match chosen.randrange(3):
            case 0:
                change_identity(connection, *chosen.sample(ids, chosen.randint(1, 3)))
            case 1:
                one = chosen.choice(made)
                others = [refer(other) for other in chosen.sample(made, 3) if other is not one]
                write(journal, dj.Document(one.resource, one.key_values, {"n": chosen.randrange(5)}, others))
            case 2:
                parent, child = chosen.sample(ids, 2)
                commit(
                    connection,
                    "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) "
                    f"SELECT {parent}, {child} WHERE NOT EXISTS (SELECT 1 FROM dms.ReferenceEdge "
                    f"WHERE ParentDocumentId = {parent} AND ChildDocumentId = {child})",
                )
    assert told(check(journal, connection))


@pytest.fixture
def full(url: str) -> Iterator[dj.Journal]:
    migrate.upgrade(url, options=["images", "context"])
    with dj.connect(url) as journal:
        yield journal


def test_each_format_tells_where_it_comes_from(full: dj.Journal, url: str, connection: sa.Connection) -> None:
    student = document(STUDENT, 1)
    write(full, student, document(PLAN, 1, student, body={"n": 1}))
    with full.write(dj.Context(user="ada", metadata={"request_id": "r1"})) as tx:
        tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 2})
    *_, rename, event = check(full, connection, replace(INDIRECT, effects=True)) or ()
    if rename.indirect_of is not None:
        rename, event = event, rename
    assert event.indirect_of == rename.event_id
    assert event.item_state == dj.ItemState({"n": 1}, {"n": 1})
    made = {name: json.loads(formats.writer(formats.load(name), url).encode(event)) for name in formats.names()}
    assert made["jsonl"]["indirect_of"] == str(rename.event_id)
    assert made["cdc"]["metadata"] == {"request_id": "r1", "custom_fields": {"indirect_of": f"evt_{rename.event_id}"}}
    assert made["cdc"]["operation"]["changed_fields"] == []
    assert made["debezium"]["source"]["indirect_of"] == f"evt_{rename.event_id}"
    assert cdc.CdcEvent.from_json(json.dumps(made["cloudevents"]["data"])).source.user == "ada"
    assert next(jsonl.read([jsonl.line(event)])) == jsonl.FeedRecord.of(event)


def test_pruned_identity_changes_are_an_error(journal: dj.Journal) -> None:
    student = document(STUDENT, 1)
    write(journal, student, document(PLAN, 1, student))
    with journal.write() as tx:
        tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 2})
    first = journal.read_changes(replace(INDIRECT, max_page_size=1))
    journal.prune(through=newest(journal), journals=["IdentityChangeEvent"])
    with pytest.raises(dj.CheckpointExpired):
        journal.read_changes(replace(INDIRECT, start=dj.FromToken(first.token)))
    assert journal.read_changes(INDIRECT).events == []  # from what is kept
    assert len(walk(journal, replace(INDIRECT, indirect=False))[0]) == 3
