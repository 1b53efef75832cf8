"""CDC events of a journal: the published examples, written and read; formats and filters of the command."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import jsonschema
import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.events import arrow, cdc, formats, jsonl
from dmsjournal.events.cloudevents import CloudEvent
from dmsjournal.events.debezium import DebeziumEvent
from dmsjournal.schema import migrate
from dmsjournal.util.json import decoded
from dmsjournal.util.json import rows as json_rows
from tests.feeds import walk
from tests.helpers import PLAN, STUDENT, commit, document, write

EXAMPLES = Path(__file__).parents[1] / "events" / "examples"
ALICE_ID = UUID("550e8400-e29b-41d4-a716-446655440000")
ALICE: dict[str, object] = {
    "id": str(ALICE_ID),
    "email": "alice@example.com",
    "name": "Alice Smith",
    "status": "active",
    "created_at": "2026-01-11T15:35:00Z",
    "updated_at": "2026-01-11T15:35:00Z",
}
RENAMED = ALICE | {"email": "alice.smith@example.com", "updated_at": "2026-01-11T15:40:00.654321Z"}
INCLUDE = dj.FeedRequest(item_state=dj.NewItemStateMode.INCLUDE_IF_AVAILABLE)


def of(name: str) -> dj.ResourceKey:
    return dj.ResourceKey("acme-api", name, "2.1.0")


USER, POST, ORGANIZATION = of("User"), of("Post"), of("Organization")
KEY = {"id": str(ALICE_ID)}


@pytest.fixture
def full(url: str) -> Iterator[dj.Journal]:
    migrate.upgrade(url, options=["images", "context"])
    with dj.connect(url) as journal:
        yield journal


def alice(body: dict[str, object]) -> dj.Document:
    return dj.Document(USER, KEY, body, document_uuid=ALICE_ID)


def request_of(trigger: str, session: str | None = None, **metadata: object) -> dj.Context:
    version = {"api_version": "2.1.0"} if metadata else {}
    return dj.Context(session_id=session, tenant="tenant-123", trigger=trigger, metadata=metadata | version)


def stale(event: cdc.CdcEvent) -> list[cdc.Invalidation]:
    """What an application may know: the queries that show a user."""
    if event.entity.entity_type != "User" or event.entity.is_soft_deleted:
        return []
    operation = {"CREATE": "created", "UPDATE": "updated", "DELETE": "deleted"}[event.operation.type]
    queries = ["user", "users"] if operation == "updated" else ["users"]
    found = [cdc.Invalidation(query=query, reason=f"entity_{operation}") for query in queries]
    return [*found, *(cdc.Invalidation(query="userPosts", reason="parent_deleted") for _ in event.cascade.deleted[:1])]


def read(journal: dj.Journal, **options: Any) -> list[cdc.CdcEvent]:
    """All events so far, as CDC events that validate."""
    converter = cdc.CdcConverter(cdc.Source(database="postgresql", instance="prod-primary-1"), **options)
    made = cdc.CdcReader(journal, converter, invalidations=stale).convert(walk(journal, INCLUDE)[0])
    for event in made:
        text = event.to_json()
        jsonschema.Draft202012Validator(cdc.json_schema()).validate(json.loads(text))
        assert cdc.CdcEvent.from_json(text) == event
    return made


def check(journal: dj.Journal, event: cdc.CdcEvent, name: str) -> None:
    """The event is the published example, but for what a database chooses: ids, versions, times, the order of a body's names."""
    [told] = [each for each in walk(journal, INCLUDE)[0] if each.change_version == event.sequence_number]
    found: dict[str, Any] = json.loads(event.to_json())
    assert found["event_id"] == f"evt_{told.event_id}"
    assert found["source"]["transaction_id"] == str(told.transaction_id)
    assert found["timestamp"] == found["operation"]["timestamp"]
    expected: dict[str, Any] = json.loads((EXAMPLES / f"{name}.json").read_text(encoding="utf-8"))
    for each in (found, expected):
        for chosen in ("event_id", "timestamp", "sequence_number"):
            each[chosen] = chosen
        each["source"]["transaction_id"] = each["operation"]["timestamp"] = "chosen"
        each["operation"]["changed_fields"].sort()
    assert found == expected


def test_the_published_examples_come_out_field_for_field(full: dj.Journal) -> None:
    posts = [UUID(f"990e8400-e29b-41d4-a716-44665544000{n}") for n in (1, 2)]
    members = UUID("880e8400-e29b-41d4-a716-446655440000")
    created = request_of(
        "api_create",
        "sess_abc123",
        request_id="req_550e8400-e29b-41d4-a716-446655440001",
        user_id="550e8400-e29b-41d4-a716-446655440002",
        user_roles=["admin"],
    )
    with full.write(created) as tx:
        tx.upsert(alice(ALICE))
    check(full, read(full)[-1], "created")

    updated = request_of(
        "api_update",
        "sess_def456",
        request_id="req_660e8400-e29b-41d4-a716-446655440001",
        user_id=str(ALICE_ID),
        user_roles=["user"],
    )
    with full.write(updated) as tx:
        tx.upsert(alice(RENAMED))
    check(full, read(full, image_fields={"email", "status", "updated_at"})[-1], "updated")

    with full.write() as tx:
        tx.upsert(dj.Document(ORGANIZATION, {"id": 1}, {"member_count": 1}, document_uuid=members))
        for number, post in enumerate(posts):
            tx.upsert(dj.Document(POST, {"id": number}, {}, [dj.Reference(USER, KEY)], document_uuid=post))
    deleted = request_of(
        "api_delete",
        "sess_ghi789",
        request_id="req_770e8400-e29b-41d4-a716-446655440001",
        user_id="550e8400-e29b-41d4-a716-446655440003",
        user_roles=["admin"],
    )
    with full.write(deleted) as tx:
        with tx.caused_by(USER, KEY, reason="parent_entity_deleted"):
            tx.upsert(dj.Document(ORGANIZATION, {"id": 1}, {"member_count": 0}))
        tx.delete(USER, KEY, cascade=True)
    events = read(full, image_fields={"id", "email", "status"})
    check(full, events[-1], "deleted")
    assert [event.operation.trigger for event in events[-4:]] == ["api_delete", "cascade_delete", "cascade_delete", "api_delete"]
    assert len({event.source.transaction_id for event in events[-4:]}) == 1


def test_a_published_soft_delete_comes_out_field_for_field(full: dj.Journal) -> None:
    write(full, alice(RENAMED | {"deleted_at": None}))
    with full.write(request_of("api_delete")) as tx:
        tx.upsert(alice(RENAMED | {"deleted_at": "2026-01-11T15:45:00Z"}))
    [_, made] = read(full, soft_delete_field="deleted_at", image_fields={"id", "deleted_at"})
    check(full, made, "soft_deleted")


def test_a_rename_lists_what_refers_to_it_and_counts_the_rest(full: dj.Journal) -> None:
    student = document(STUDENT, 1)
    write(full, student, *(document(PLAN, n, student) for n in range(3)))
    with full.write(dj.Context(trigger="admin_action")) as tx:
        tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 2})
    renamed = walk(full, INCLUDE)[0][-1:]
    converter = cdc.CdcConverter(cdc.Source(database="postgresql", instance="one"))
    for limit, more in ((2, 1), (3, None)):
        [made] = cdc.CdcReader(full, converter, limit=limit).convert(renamed)
        jsonschema.Draft202012Validator(cdc.json_schema()).validate(json.loads(made.to_json()))
        assert [(e.entity_type, e.reason) for e in made.cascade.updated] == [
            ("GraduationPlan", "referenced_identity_changed")
        ] * limit
        assert made.cascade.truncated == more
        assert cdc.CdcEvent.from_json(made.to_json()) == made


@pytest.mark.parametrize(
    ("written", "identifier"),
    [
        ('{"k":' + "[" * 3000 + "]" * 3000 + "}", "[" * 3000 + "]" * 3000),
        ('{"k":{"a":[2],"b":1}}', '{"a":[2],"b":1}'),
        ("[1,[2]]", "[1,[2]]"),
        ("5", "5"),
        ("null", None),
        ("{}", None),
    ],
    ids=["deep", "object", "array", "number", "null", "empty"],
)
def test_keys_that_another_program_wrote_come_through(
    journal: dj.Journal, connection: sa.Connection, url: str, written: str, identifier: str | None
) -> None:
    """One such event must not keep a consumer from all that follow."""
    if connection.dialect.name == "mssql" and (written[0] not in "[{" or len(written) > 128):
        pytest.skip("SQL Server takes objects and arrays, 128 deep")
    write(journal, dj.Document(USER, {"k": "a"}, {}))
    commit(connection, f"UPDATE dms.Document SET KeyValues = '{written}'")
    key = decoded(written)
    events = walk(journal, dj.FeedRequest())[0]
    reader = cdc.CdcReader(journal, cdc.CdcConverter(cdc.source_of(url), identifier=cdc.key_identifier))
    for name in formats.names():
        assert len(list(formats.writer(formats.load(name), url, filters={"operations": ("CREATE", "UPDATE")}).lines(events))) == 2
    made = reader.convert(events)
    assert made[1].entity.entity_identifier == identifier
    record = next(jsonl.read([jsonl.line(events[1])]))
    assert json_rows(record.key.key_values) == json_rows(key)
    assert arrow.from_feed(events, "here").total_rows == 2


def test_values_that_break_careless_code_come_through(full: dj.Journal) -> None:
    """Characters of two surrogates, the largest version of 64 bits, null beside what is missing, a number of many digits."""
    before: dict[str, object] = {"\U0001d11e": "\U0001f600", "big": 2**63 - 1, "null": None, "exact": Decimal("7.20"), "far": 2**70}
    after = {"big": -(2**63), "null": 0, "exact": Decimal("7.2"), "new": None, "far": 2**70, "a.b": []}
    context = dj.Context(user="\U0001f600", metadata={"request_id": None, "n": 2**63 - 1, "user_roles": "not a list"})
    with full.write(context) as tx:
        tx.upsert(dj.Document(USER, {"k": "\U0001d11e"}, before))
        tx.upsert(dj.Document(USER, {"k": "\U0001d11e"}, after))
    [_, made] = read(full, identifier=cdc.key_identifier)
    assert made.entity.entity_identifier == "\U0001d11e"
    assert made.operation.before == before
    assert made.operation.after == after
    values = made.operation.changed_field_values
    assert values is not None
    assert set(values) == {"\U0001d11e", "big", "null", "new", '["a.b"]'}
    assert values["new"].model_fields_set == {"after"}
    assert values["\U0001d11e"].model_fields_set == {"before"}
    assert json.loads(made.metadata.to_json()) == {
        "request_id": None,
        "custom_fields": {"n": 2**63 - 1, "user_roles": "not a list"},
    }
    assert made.source.user == "\U0001f600"


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (None, cdc.ChangeContext()),
        ({}, cdc.ChangeContext()),
        ({"user": 7, "trigger": "mine"}, cdc.ChangeContext(trigger="mine", metadata=cdc.Metadata(custom_fields={"user": 7}))),
        ({"unreadable": "{"}, cdc.ChangeContext(metadata=cdc.Metadata(custom_fields={"unreadable": "{"}))),
        ({"metadata": [1], "cause": {}}, cdc.ChangeContext(metadata=cdc.Metadata(custom_fields={"metadata": [1]}))),
        (
            {"metadata": {"custom_fields": {"a": 1}, "b": 2, "user_roles": [1]}},
            cdc.ChangeContext(metadata=cdc.Metadata(custom_fields={"a": 1, "b": 2, "user_roles": [1]})),
        ),
    ],
)
def test_whatever_was_said_becomes_a_context(said: Any, found: cdc.ChangeContext) -> None:
    assert cdc.ChangeContext.of(said) == found


def test_pages_of_the_feed_become_arrow_batches(full: dj.Journal) -> None:
    write(full, *(document(STUDENT, n, body={"n": n}) for n in range(3)))
    write(full, document(STUDENT, 1, body={"n": 10}))
    with full.write() as tx:
        tx.delete(STUDENT, {"studentId": 0})
    events, _ = walk(full, INCLUDE)
    batch = arrow.from_feed(events, "students")
    assert [(type(event).__name__, event.row_count) for event in batch] == [("Insert", 3), ("Update", 1), ("Delete", 1)]
    [_, update, gone] = batch
    assert [part["state"].to_pylist() for part in (*update.parts, *gone.parts)] == [['{"n":1}'], ['{"n":10}'], ['{"n":0}']]
    assert (batch.start, batch.end) == (events[0].change_version, events[-1].change_version + 1)
    assert batch.events == arrow.from_feed([jsonl.FeedRecord.of(event) for event in events], "students").events
    state = arrow.consolidated(batch, ["document_id", "state"]).to_pylist()
    assert [row["state"] for row in state] == ['{"n":2}', '{"n":10}']


def run(url: str, *arguments: str) -> list[str]:
    result = CliRunner().invoke(cli.app, ["feed", *arguments, "--url", url])
    assert result.exit_code == 0, result.stderr
    return result.stdout.splitlines()


@pytest.fixture
def written(full: dj.Journal) -> dj.Journal:
    student = document(STUDENT, 1, body={"name": "Zoë 𝄞", "phones": [1]})
    with full.write(dj.Context(tenant="one", trigger="api_create")) as tx:
        tx.upsert_many([student, document(PLAN, 1, student)])
    with full.write(dj.Context(tenant="two", trigger="batch_import")) as tx:
        tx.upsert(document(STUDENT, 1, body={"name": "Zoë 𝄞", "phones": [1, 2]}))
    with full.write() as tx:
        tx.delete(STUDENT, {"studentId": 1}, cascade=True)
    return full


def test_the_command_prints_each_format(written: dj.Journal, url: str) -> None:
    events, _ = walk(written, INCLUDE)
    made = [cdc.CdcEvent.from_json(line) for line in run(url, "--format", "cdc", "--instance", "here")]
    assert [event.event_id for event in made] == [f"evt_{event.event_id}" for event in events]
    assert made[2].operation.changed_fields == ("phones[1]",)
    assert made[0].source.instance == "here"
    assert made[0].entity.entity_identifier == "1"
    assert [event.operation.trigger for event in made] == ["api_create", "api_create", "batch_import", "cascade_delete", None]
    assert [entry.entity_type for entry in made[-1].cascade.deleted] == ["GraduationPlan"]
    assert [CloudEvent.from_json(line).data for line in run(url, "--format", "cloudevents", "--instance", "here")] == made
    assert [DebeziumEvent.from_json(line) for line in run(url, "--format", "debezium", "--instance", "here")] == [
        DebeziumEvent.of(event) for event in made
    ]
    lines = [line.encode() for line in run(url, "--format", "jsonl", "--bodies")]
    assert list(jsonl.read(lines)) == [jsonl.FeedRecord.of(event) for event in events]


def test_the_source_is_the_urls_without_its_password(written: dj.Journal, url: str) -> None:
    source = cdc.source_of(url)
    assert source.database in ("postgresql", "sqlserver")
    assert source.database_name == written.database.pool.url.database
    assert source.database_schema == "dms"
    assert source.instance.startswith("127.0.0.1:")
    assert (written.database.pool.url.password or "?") not in source.to_json()


@pytest.mark.parametrize(
    ("arguments", "versions"),
    [
        (["--event-type", "entity:created"], [0, 1]),
        (["--trigger", "api_*"], [0, 1]),
        (["--trigger", "api_*", "--trigger", "batch_*"], [0, 1, 2]),
        (["--entity-type", "Student", "--operation", "DELETE"], [4]),
        (["--exclude-entity-type", "Student"], [1, 3]),
        (["--exclude-operation", "DELETE", "--exclude-operation", "CREATE"], [2]),
        (["--tenant", "two"], [2]),
        (["--changed-field", "phones"], [0, 2, 4]),
    ],
)
@pytest.mark.parametrize("format_", ["cdc", "jsonl"])
def test_the_command_filters(written: dj.Journal, url: str, format_: str, arguments: list[str], versions: list[int]) -> None:
    name = "sequence_number" if format_ == "cdc" else "change_version"
    everything = [event.change_version for event in walk(written, INCLUDE)[0]]
    found = [json.loads(line)[name] for line in run(url, "--format", format_, "--bodies", *arguments)]
    assert found == [everything[n] for n in versions]


def test_without_images_a_cdc_event_says_what_is_known(journal: dj.Journal, url: str) -> None:
    write(journal, document(STUDENT, 1, body={"n": 1}))
    write(journal, document(STUDENT, 1, body={"n": 2}))
    first, second = (json.loads(line)["operation"] for line in run(url, "--format", "cdc"))
    assert first.keys() == {"type", "timestamp"}
    assert second.keys() == {"type", "timestamp", "after"}
    assert json.loads(run(url, "--format", "cdc", "--no-bodies")[1])["operation"].keys() == {"type", "timestamp"}
