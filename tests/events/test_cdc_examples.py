"""The published examples of the CDC format 1.0: each comes out of an event of the feed, field for field."""

import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import jsonschema
import pytest

from dmsjournal import ResourceKey
from dmsjournal.events import cdc
from dmsjournal.events.jsonl import FeedRecord, Key, StateRecord

EXAMPLES = Path(__file__).with_name("examples")
USER = "550e8400-e29b-41d4-a716-446655440000"
ALICE: dict[str, Any] = {
    "id": USER,
    "email": "alice@example.com",
    "name": "Alice Smith",
    "status": "active",
    "created_at": "2026-01-11T15:35:00Z",
    "updated_at": "2026-01-11T15:35:00Z",
}
RENAMED = ALICE | {"email": "alice.smith@example.com", "updated_at": "2026-01-11T15:40:00.654321Z"}


def event(number: str, operation: Any, timestamp: str, version: int, transaction: int, before: Any, after: Any) -> FeedRecord:
    return FeedRecord(
        event_id=UUID(f"{number}0e8400-e29b-41d4-a716-446655440000"),
        key=Key(UUID(USER), {"email": "alice@example.com"}, 7),
        resource=ResourceKey("acme-api", "User", "2.1.0"),
        type=operation,
        timestamp=datetime.fromisoformat(timestamp),
        change_version=version,
        item_state=StateRecord(before, after),
        transaction_id=transaction,
    )


def converted(
    record: FeedRecord,
    trigger: str,
    *,
    session: str | None = None,
    metadata: dict[str, Any] | None = None,
    cascade: cdc.Cascade | None = None,
    **options: Any,
) -> cdc.CdcEvent:
    converter = cdc.CdcConverter(cdc.Source(database="postgresql", instance="prod-primary-1"), **options)
    of = cdc.Metadata(api_version="2.1.0", **metadata) if metadata else None
    context = cdc.ChangeContext(session_id=session, tenant_id="tenant-123", trigger=trigger, metadata=of)
    return converter.convert(record, context, cascade=cascade)


def stale(reason: str, *queries: str) -> list[cdc.Invalidation]:
    return [cdc.Invalidation(query=query, reason=reason) for query in queries]


def created() -> cdc.CdcEvent:
    return converted(
        event("55", "CREATE", "2026-01-11T15:35:00.123456Z", 4521, 1234567890, None, ALICE),
        "api_create",
        session="sess_abc123",
        metadata={
            "request_id": "req_550e8400-e29b-41d4-a716-446655440001",
            "user_id": "550e8400-e29b-41d4-a716-446655440002",
            "user_roles": ["admin"],
        },
        cascade=cdc.Cascade.of(invalidations=stale("entity_created", "users")),
    )


def updated() -> cdc.CdcEvent:
    return converted(
        event("66", "UPDATE", "2026-01-11T15:40:00.654321Z", 4522, 1234567891, ALICE, RENAMED),
        "api_update",
        session="sess_def456",
        metadata={"request_id": "req_660e8400-e29b-41d4-a716-446655440001", "user_id": USER, "user_roles": ["user"]},
        cascade=cdc.Cascade.of(invalidations=stale("entity_updated", "user", "users")),
        image_fields={"email", "status", "updated_at"},
    )


def deleted() -> cdc.CdcEvent:
    posts = [UUID(f"990e8400-e29b-41d4-a716-44665544000{n}") for n in (1, 2)]
    member_of = cdc.Updated(
        entity_type="Organization",
        entity_id=UUID("880e8400-e29b-41d4-a716-446655440000"),
        changes=["member_count"],
        reason="parent_entity_deleted",
    )
    return converted(
        event("77", "DELETE", "2026-01-11T15:45:00.987654Z", 4523, 1234567892, RENAMED, None),
        "api_delete",
        session="sess_ghi789",
        metadata={
            "request_id": "req_770e8400-e29b-41d4-a716-446655440001",
            "user_id": "550e8400-e29b-41d4-a716-446655440003",
            "user_roles": ["admin"],
        },
        cascade=cdc.Cascade.of(
            updated=[member_of],
            deleted=[cdc.Deleted(entity_type="Post", entity_id=post, reason="parent_deleted") for post in posts],
            invalidations=[*stale("entity_deleted", "users"), *stale("parent_deleted", "userPosts")],
        ),
        image_fields={"id", "email", "status"},
    )


def soft_deleted() -> cdc.CdcEvent:
    before, after = RENAMED | {"deleted_at": None}, RENAMED | {"deleted_at": "2026-01-11T15:45:00Z"}
    return converted(
        event("88", "UPDATE", "2026-01-11T15:45:00.123456Z", 4524, 1234567893, before, after),
        "api_delete",
        soft_delete_field="deleted_at",
        image_fields={"id", "deleted_at"},
    )


ALL = {"created": created, "updated": updated, "deleted": deleted, "soft_deleted": soft_deleted}


@pytest.mark.parametrize("name", ALL)
def test_an_example_comes_out_field_for_field(name: str) -> None:
    text = ALL[name]().to_json()
    expected = json.loads((EXAMPLES / f"{name}.json").read_text(encoding="utf-8"))
    assert json.loads(text) == expected
    jsonschema.Draft202012Validator(cdc.json_schema()).validate(json.loads(text))
    assert cdc.CdcEvent.from_json(text).to_json() == text


def plain(before: Any = None, after: Any = None, operation: str = "UPDATE", **options: Any) -> dict[str, Any]:
    """The operation and the entity of an event without a context."""
    record = event("55", operation, "2026-01-11T15:35:00Z", 1, 2, before, after)
    text = cdc.CdcConverter(cdc.Source(database="postgresql", instance="one"), **options).convert(record).to_json()
    made: dict[str, Any] = json.loads(text)
    return made["operation"] | {"entity": made["entity"]}


def test_what_is_not_known_is_missing_and_what_is_not_there_is_null() -> None:
    assert plain().keys() == {"type", "timestamp", "entity"}  # no image: neither side, no word on what changed
    assert plain(after={"a": 1}).keys() == {"type", "timestamp", "after", "entity"}  # only the present one is kept
    assert plain({"a": 1}, {"a": None})["changed_field_values"] == {"a": {"before": 1, "after": None}}
    assert plain({"a": None}, {})["changed_field_values"] == {"a": {"before": None}}
    assert plain({}, {"a": None})["changed_field_values"] == {"a": {"after": None}}
    assert plain({"a": 1}, {"a": Decimal("1.0")})["changed_fields"] == []
    gone = plain(operation="DELETE")
    assert gone["after"] is None
    assert gone.keys() == {"type", "timestamp", "after", "entity"}
    assert plain(operation="CREATE").keys() == {"type", "timestamp", "entity"}


def test_only_a_value_marks_a_document_as_deleted() -> None:
    def marked(after: Any, operation: str = "UPDATE") -> object:
        return plain(after=after, operation=operation, soft_delete_field="gone")["entity"].get("is_soft_deleted", "missing")

    assert [marked({"gone": value}) for value in ("2026", True, None, False)] == [True, True, False, False]
    assert marked({}) is False
    assert marked({}, "CREATE") is False
    assert marked(None) == marked(None, "DELETE") == "missing"  # not known; not there at all


def test_what_may_not_leave_is_named_and_not_shown() -> None:
    secret = plain({"a": {"pin": 1}, "ab": 1, "b": 1}, {"a": {"pin": 2}, "ab": 2, "b": 2}, image_fields={"a"})
    assert secret["changed_fields"] == ["a.pin", "ab", "b"]
    assert secret["before"] == {"a": {"pin": 1}}
    assert secret["after"] == {"a": {"pin": 2}}
    assert secret["changed_field_values"] == {"a.pin": {"before": 1, "after": 2}}


def test_a_document_without_a_uuid_has_an_id_that_stays() -> None:
    def entity_id(key: Key) -> str:
        record = FeedRecord(
            UUID(int=1), key, ResourceKey("p", "Item", "1"), "CREATE", datetime.fromisoformat("2026-01-01T00:00:00Z"), 1
        )
        return str(cdc.CdcConverter(cdc.Source(database="dynamodb", instance="one")).convert(record).entity.entity_id)

    same = [entity_id(Key(None, {"pk": 1, "sk": 2})), entity_id(Key(None, {"sk": Decimal("2.0"), "pk": 1}))]
    assert same[0] == same[1]
    assert (
        len({same[0], entity_id(Key(None, {"pk": 1, "sk": 3})), entity_id(Key(None, None, 5)), entity_id(Key(None, None, 6))}) == 4
    )


def test_an_identifier_is_the_key_as_text() -> None:
    def identifier(key_values: Any) -> str | None:
        record = FeedRecord(
            UUID(int=1),
            Key(UUID(int=2), key_values),
            ResourceKey("p", "R", "1"),
            "CREATE",
            datetime.fromisoformat("2026-01-01T00:00:00Z"),
            1,
        )
        return cdc.key_identifier(record)

    assert identifier({"email": "a@b"}) == "a@b"
    assert identifier({"b": 1, "a": "x"}) == "a=x,b=1"
    assert identifier(None) is None
