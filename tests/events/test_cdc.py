"""CDC events: round trips, the published schema, paths of changed fields, filters, repetitions, other formats."""

import contextlib
import copy
import io
import json
import math
import pickle
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dmsjournal import InvalidRequest
from dmsjournal.events import arrow, cdc, differences, jsonl
from dmsjournal.events.cdc import schema
from dmsjournal.events.cloudevents import CloudEvent
from dmsjournal.events.debezium import DebeziumEvent, key
from dmsjournal.events.encoding import checked_json
from tests.events import strategies
from tests.events.test_cdc_examples import ALICE, ALL
from tests.events.test_cdc_examples import event as record

ROOT = Path(__file__).parents[2]
SCHEMA = jsonschema.Draft202012Validator(cdc.json_schema())
MODELS = {
    "source": strategies.sources(),
    "entity": strategies.entities(),
    "operation": strategies.operations(),
    "change": strategies.field_changes(),
    "updated": strategies.updated(),
    "deleted": strategies.deleted,
    "invalidation": strategies.invalidations(),
    "cascade": strategies.cascades(),
    "metadata": strategies.metadata(),
    "event": strategies.cdc_events(),
    "cloudevent": strategies.cdc_events().map(CloudEvent.of),
    "debezium": strategies.cdc_events().map(DebeziumEvent.of),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_as_it_was(name: str) -> None:
    @given(MODELS[name])
    def comes_back(model: Any) -> None:
        text = model.to_json()
        again = type(model).from_json(text)
        assert again == model
        assert again.model_fields_set == model.model_fields_set  # missing and null are not the same
        assert again.to_json() == text
        assert "\n" not in text
        assert pickle.loads(pickle.dumps(model)) == model

    comes_back()


@given(strategies.cdc_events())
def test_an_event_is_of_the_published_schema(event: cdc.CdcEvent) -> None:
    SCHEMA.validate(json.loads(event.to_json()))


def test_the_published_schema_is_what_the_models_say() -> None:
    assert schema.PUBLISHED.read_text(encoding="utf-8") == schema.text()
    jsonschema.Draft202012Validator.check_schema(json.loads(schema.text()))


BROKEN: dict[str, tuple[tuple[str, ...], Any]] = {
    "another version": (("version",), "1.1"),
    "an id without its prefix": (("event_id",), "550e8400-e29b-41d4-a716-446655440000"),
    "a type of another operation": (("event_type",), "entity:created"),
    "a type that there is none of": (("event_type",), "entity:renamed"),
    "a number above 2^63-1": (("sequence_number",), 2**63),
    "a number below 0": (("sequence_number",), -1),
    "a number as text": (("sequence_number",), "1"),
    "a field that there is none of": (("more",), 1),
    "a part without what it needs": (("source",), {"database": "postgresql"}),
    "a null part": (("cascade",), None),
    "a role that is no text": (("metadata", "user_roles"), [1]),
    "no document's id": (("entity", "entity_id"), 7),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_what_is_not_of_the_format_is_refused_by_models_and_schema(fault: str) -> None:
    whole = json.loads(ALL["updated"]().to_json())
    (*path, name), value = BROKEN[fault]
    part = whole
    for step in path:
        part = part[step]
    part[name] = value
    with pytest.raises(InvalidRequest):
        cdc.CdcEvent.from_json(json.dumps(whole))
    assert not SCHEMA.is_valid(whole)


@pytest.mark.parametrize(("name", "side"), [("created", "before"), ("deleted", "after")])
def test_nothing_is_before_a_creation_or_after_a_deletion(name: str, side: str) -> None:
    whole = json.loads(ALL[name]().to_json())
    for value, is_valid in [(None, True), ({}, False), ({"a": 1}, False)]:
        whole["operation"][side] = value
        assert SCHEMA.is_valid(whole) == is_valid
        if is_valid:
            assert json.loads(cdc.CdcEvent.from_json(json.dumps(whole)).to_json()) == whole
        else:
            with pytest.raises(InvalidRequest, match="operation"):
                cdc.CdcEvent.from_json(json.dumps(whole))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"version": "1.0"}', "\ud800", '"\\ud800"', b"\xff"])
def test_what_is_no_event_is_refused(text: Any) -> None:
    with pytest.raises(InvalidRequest):
        cdc.CdcEvent.from_json(text)


@pytest.mark.parametrize(
    "value", [math.nan, -math.inf, Decimal("NaN"), "\ud800", {"\udfff": 1}, {1: 2}, b"x", object(), [[{"a": {1}}]]]
)
def test_what_json_cannot_hold_is_no_value(value: Any) -> None:
    with pytest.raises(ValueError, match=r"JSON|character"):
        checked_json(value)
    with pytest.raises(ValidationError):
        cdc.FieldChange(before=value)


def test_numbers_and_text_are_exact() -> None:
    values = {"int": 2**63 - 1, "huge": 2**80, "price": Decimal("7.20"), "tiny": Decimal("1E-30"), "text": "😀\u2028\0é"}
    text = cdc.Metadata(custom_fields=values).to_json()
    assert '"price":7.20' in text
    assert '"int":9223372036854775807' in text
    assert cdc.Metadata.from_json(text).custom_fields == values
    assert cdc.Metadata.from_json(r'{"custom_fields": {"a": "\ud83d\ude00"}}').custom_fields == {"a": "😀"}


def test_a_document_nested_thousands_deep_passes() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = {"a": deep}
    text = cdc.FieldChange(before=deep).to_json()
    assert text == '{"before":' + '{"a":' * 5_000 + "1" + "}" * 5_001
    assert cdc.FieldChange.from_json(text).to_json() == text
    [change] = differences.differences(deep, {"a": 1})
    assert change.path == "a"


# Paths.


def paths(before: Any, after: Any) -> dict[str, tuple[Any, Any]]:
    return {change.path: (change.before, change.after) for change in differences.differences(before, after)}


GONE = differences.MISSING


def test_paths_lead_into_objects_and_arrays() -> None:
    assert paths({"a": {"b": [1, {"c": 2}]}}, {"a": {"b": [1, {"c": 3}]}}) == {"a.b[1].c": (2, 3)}
    assert paths({"a": [1, 2, 3]}, {"a": [1, 9]}) == {"a[1]": (2, 9), "a[2]": (3, GONE)}
    assert paths({"a": []}, {"a": [None]}) == {"a[0]": (GONE, None)}
    assert paths({"a": {"b": 1}}, {"a": None, "c": {"d": 1}}) == {"a": ({"b": 1}, None), "c": (GONE, {"d": 1})}
    assert paths({"a.b": 1, "": 1, "a": {'"': 1}}, {"a.b": 2, "": 2, "a": {'"': 2}}) == {
        '["a.b"]': (1, 2),
        '[""]': (1, 2),
        'a["\\""]': (1, 2),
    }
    assert paths([1], [2]) == {"$[0]": (1, 2)}
    assert paths({"$": 1}, {"$": 2}) == {'["$"]': (1, 2)}
    assert paths(1, {"a": 1}) == {"$": (1, {"a": 1})}
    assert paths({"a": True, "b": 1, "c": "1"}, {"a": 1, "b": Decimal("1.00"), "c": 1}) == {"a": (True, 1), "c": ("1", 1)}
    assert paths({"a": 0.1}, {"a": Decimal("0.1")}) == {}


def apply(changes: list[differences.Difference], document: Any) -> Any:
    """The document with the changes applied, by a reader of paths of its own."""
    for change in changes:
        steps = steps_of(change.path)
        if not steps:
            return change.after
        at = document
        for step in steps[:-1]:
            at = at[step]
        if change.after is GONE:
            at[steps[-1]] = GONE
        elif isinstance(at, list) and steps[-1] == len(at):
            at.append(change.after)
        else:
            at[steps[-1]] = change.after
    return swept(document)


def swept(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: swept(member) for name, member in value.items() if member is not GONE}
    return [swept(item) for item in value if item is not GONE] if isinstance(value, list) else value


def steps_of(path: str) -> list[str | int]:
    steps: list[str | int] = []
    rest = path.removeprefix("$")
    while rest:
        if rest.startswith('["'):
            name, end = json.JSONDecoder().raw_decode(rest, 1)
            steps.append(name)
            rest = rest[end + 1 :]
        elif rest.startswith("["):
            number, _, rest = rest[1:].partition("]")
            steps.append(int(number))
        else:
            rest = rest.removeprefix(".")
            end = next((at for at, character in enumerate(rest) if character in ".["), len(rest))
            steps.append(rest[:end])
            rest = rest[end:]
    return steps


def same(one: Any, other: Any) -> bool:
    return bool(json.dumps(canonical(one)) == json.dumps(canonical(other)))


def canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: canonical(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [canonical(item) for item in value]
    if isinstance(value, str):
        return f"text {value}"
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return f"number {Decimal(value).normalize() + 0}"
    return value


@given(strategies.json_values, strategies.json_values)
def test_what_changed_makes_the_one_document_of_the_other(before: Any, after: Any) -> None:
    changes = list(differences.differences(before, after))
    assert len({change.path for change in changes}) == len(changes)
    assert same(apply(changes, copy.deepcopy(before)), after)
    assert bool(changes) != same(before, after)


def test_within_is_by_whole_names() -> None:
    assert differences.is_within("address", "address")
    assert differences.is_within("address.city", "address")
    assert differences.is_within("address[0]", "address")
    assert differences.is_within('address["."]', "address")
    assert not differences.is_within("addresses", "address")
    assert not differences.is_within("address", "address.city")


# Filters.

FILTERS: dict[str, tuple[cdc.EventFilter, list[str]]] = {
    "all": (cdc.EventFilter(), ["created", "updated", "deleted", "soft_deleted"]),
    "types": (cdc.EventFilter(event_types=("entity:*ted",)), ["deleted", "updated", "created", "soft_deleted"]),
    "one type": (cdc.EventFilter(event_types=("entity:d*", "nothing")), ["deleted"]),
    "triggers": (cdc.EventFilter(triggers=("api_*te",)), ["created", "updated", "deleted", "soft_deleted"]),
    "one trigger": (cdc.EventFilter(triggers=("api_delete",)), ["deleted", "soft_deleted"]),
    "no trigger": (cdc.EventFilter(triggers=("admin_*",)), []),
    "entity": (cdc.EventFilter(entity_types=("User",)), ["created", "updated", "deleted", "soft_deleted"]),
    "another entity": (cdc.EventFilter(entity_types=("Post",)), []),
    "without it": (cdc.EventFilter(entity_types=("User",), exclude_entity_types=("User",)), []),
    "operations": (cdc.EventFilter(operations=("UPDATE", "DELETE")), ["updated", "deleted", "soft_deleted"]),
    "without operations": (cdc.EventFilter(exclude_operations=("UPDATE",)), ["created", "deleted"]),
    "tenant": (cdc.EventFilter(tenants=("tenant-123",)), ["created", "updated", "deleted", "soft_deleted"]),
    "another tenant": (cdc.EventFilter(tenants=("tenant-12",)), []),
    "field": (cdc.EventFilter(changed_fields=("email",)), ["created", "updated", "deleted"]),
    "fields": (cdc.EventFilter(changed_fields=("deleted_at", "nothing")), ["soft_deleted"]),
    "both": (cdc.EventFilter(operations=("UPDATE",), changed_fields=("email",)), ["updated"]),
}


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_wants(name: str) -> None:
    wants, expected = FILTERS[name]
    events = {name: make() for name, make in ALL.items()}
    assert {name for name, event in events.items() if wants(event)} == set(expected)
    assert list(wants.wanted(events.values())) == [event for event in events.values() if wants(event)]


def test_a_filter_meets_what_is_not_known() -> None:
    event = ALL["updated"]()
    bare = event.model_copy(
        update={
            "operation": cdc.Operation(type="UPDATE", timestamp=event.timestamp),
            "entity": cdc.Entity(entity_type="User", entity_id=event.entity.entity_id),
        }
    )
    assert cdc.EventFilter(changed_fields=("email",))(bare)  # it may be that: no change is missed
    assert not cdc.EventFilter(tenants=("tenant-123",))(bare)  # it may be another's
    assert not cdc.EventFilter(triggers=("api_*",))(bare)
    assert cdc.EventFilter(triggers=("*",))(bare)


# Repetitions.


@given(st.lists(st.integers(0, 12), max_size=60), st.integers(1, 8))
def test_a_repetition_is_found_while_fewer_events_than_the_capacity_came_since(ids: list[int], capacity: int) -> None:
    seen = cdc.Deduplicator(capacity)
    for at, number in enumerate(ids):
        since = list(reversed(ids[:at]))
        near = number in since and len(set(since[: since.index(number)])) < capacity
        assert seen.add(UUID(int=number)) == (not near)
        assert len(seen) <= capacity
        seen = cdc.Deduplicator.of_state(seen.state(), capacity)


def test_an_event_that_failed_comes_again() -> None:
    events, seen = [make() for make in ALL.values()], cdc.Deduplicator()
    taken = []
    with contextlib.suppress(RuntimeError):
        for event in seen.unique(events):
            if event.operation.type == "DELETE":
                raise RuntimeError
            taken.append(event)
    assert taken == events[:2]
    taken.extend(seen.unique(events))
    assert taken == events
    assert list(seen.unique(events)) == []
    assert events[0].event_id in seen
    assert events[0].uuid in seen


def test_of_a_state_that_is_too_long_the_last_are_kept() -> None:
    seen = cdc.Deduplicator.of_state(b"".join(UUID(int=n).bytes for n in range(5)), capacity=2)
    assert [UUID(int=n) in seen for n in range(5)] == [False, False, False, True, True]
    for broken in (lambda: cdc.Deduplicator.of_state(b"x"), lambda: cdc.Deduplicator(0), lambda: seen.add("evt_1")):
        with pytest.raises(InvalidRequest):
            broken()


# Cascades.


def test_a_cascade_is_bounded_and_counts_the_rest() -> None:
    ids = (cdc.Updated(entity_type="Plan", entity_id=UUID(int=n), reason="identity_changed") for n in range(1_000))
    cascade = cdc.Cascade.of(updated=ids, deleted=[], limit=10)
    assert (len(cascade.updated), cascade.truncated) == (10, 990)
    assert json.loads(cdc.Cascade.of().to_json()) == {"updated": [], "deleted": [], "invalidations": []}


# Other formats.


def test_debezium_says_what_it_can() -> None:
    event = ALL["updated"]()
    made = json.loads(DebeziumEvent.of(event).to_json())
    source = made.pop("source")
    assert made == {
        "before": {"email": "alice@example.com", "status": "active", "updated_at": "2026-01-11T15:35:00Z"},
        "after": {"email": "alice.smith@example.com", "status": "active", "updated_at": "2026-01-11T15:40:00.654321Z"},
        "op": "u",
        "ts_ms": 1768146000654,
        "ts_us": 1768146000654321,
    }
    assert source == {
        "version": "2.1.0",
        "connector": "postgresql",
        "name": "prod-primary-1",
        "ts_ms": 1768146000654,
        "ts_us": 1768146000654321,
        "snapshot": "false",
        "db": None,
        "schema": "acme-api",
        "table": "User",
        "txId": "1234567891",
        "sequence": 4522,
        "event_id": event.event_id,
        "entity_id": str(event.entity.entity_id),
    }
    assert [DebeziumEvent.of(make()).op for make in ALL.values()] == ["c", "u", "d", "u"]
    assert key(event) == {"entity_type": "User", "entity_id": str(event.entity.entity_id)}


def test_a_cloudevent_carries_the_whole_event() -> None:
    event = ALL["deleted"]()
    made = CloudEvent.of(event)
    assert CloudEvent.from_json(made.to_json()).data == event
    assert json.loads(made.to_json()) | {"data": None} == {
        "specversion": "1.0",
        "id": event.event_id,
        "source": "/postgresql/prod-primary-1",
        "type": "org.dmsjournal.entity.deleted",
        "subject": f"User/{event.entity.entity_id}",
        "time": "2026-01-11T15:45:00.987654Z",
        "datacontenttype": "application/json",
        "dataschema": cdc.json_schema()["$id"],
        "sequence": "0000000000000004523",
        "tenantid": "tenant-123",
        "data": None,
    }


@given(st.lists(strategies.feed_events(strategies.contexts()), max_size=3))
def test_lines_come_back_as_they_were(events: list[jsonl.FeedRecord]) -> None:
    file = io.BytesIO()
    assert jsonl.write(events, file) == len(events)
    assert file.getvalue().count(b"\n") == len(events)
    file.seek(0)
    assert list(jsonl.read(file)) == events


@pytest.mark.parametrize("text", [b"", b"{}", b"null", b"\xff", b'{"event_id": 1}'])
def test_a_line_that_is_no_event_is_named(text: bytes) -> None:
    whole = jsonl.line(record("55", "CREATE", "2026-01-11T15:35:00Z", 1, 2, None, ALICE))
    with pytest.raises(InvalidRequest, match=r"^line 2 "):
        list(jsonl.read([whole, text]))


@given(strategies.feed_events(strategies.contexts()))
def test_any_event_of_the_feed_becomes_a_valid_cdc_event(of_feed: jsonl.FeedRecord) -> None:
    converter = cdc.CdcConverter(cdc.Source(database="postgresql", instance="one"), soft_delete_field="deleted_at")
    event = converter.convert(of_feed)
    SCHEMA.validate(json.loads(event.to_json()))
    assert (event.uuid, event.sequence_number) == (of_feed.event_id, of_feed.change_version)
    assert converter.convert(of_feed) == event


@pytest.mark.parametrize(
    "convert",
    [cdc.CdcConverter(cdc.Source(database="dynamodb", instance="one")).convert, lambda event: arrow.from_feed([event], "one")],
)
def test_a_version_of_more_than_64_bits_is_refused(convert: Any) -> None:
    largest = record("55", "CREATE", "2026-01-11T15:35:00Z", 2**63 - 1, 2, None, ALICE)
    assert convert(largest) is not None
    with pytest.raises(InvalidRequest, match="change_version"):
        convert(msgspec.structs.replace(largest, change_version=2**63))


def test_the_package_alone_imports_none_of_it() -> None:
    script = "import dmsjournal, sys; print([m for m in ('pydantic', 'pyarrow', 'adbc_driver_manager') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == "[]\n"
