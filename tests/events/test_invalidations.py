"""The rule file of --invalidations: each criterion, each place, each refusal (docs/events/cdc.md)."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from typer.testing import CliRunner

from dmsjournal import InvalidRequest, ResourceKey, cli
from dmsjournal.events import cdc, formats
from dmsjournal.events.cdc.invalidations import Rule
from dmsjournal.events.jsonl import FeedRecord, StateRecord
from dmsjournal.http import logs
from dmsjournal.http.app import create_app
from dmsjournal.http.settings import Settings
from tests.delivering.events import event as record_of
from tests.http.conftest import NOWHERE

QUERY = {"query": "studentList", "reason": "entity_updated"}
SCHOOL = ResourceKey("Ed-Fi", "School", "5.2.0")


def rules_of(path: Path, *rules: object) -> cdc.InvalidationRules:
    path.write_text(json.dumps(rules), encoding="utf-8")
    return cdc.InvalidationRules.read(path)


def event(**context: Any) -> cdc.CdcEvent:
    """An update of a student's name, by api_update, for tenant `one` unless the context is another."""
    record = record_of(5)
    changed = FeedRecord(
        event_id=record.event_id, key=record.key, resource=record.resource, type="UPDATE", timestamp=record.timestamp,
        change_version=5, item_state=StateRecord({"name": {"first": "Ada"}}, {"name": {"first": "Eva"}}),
    )  # fmt: skip
    of = cdc.ChangeContext(**({"tenant_id": "one", "trigger": "api_update"} | context))
    return cdc.CdcConverter(cdc.Source(database="postgresql", instance="here"), identifier=cdc.key_identifier).convert(changed, of)


def test_a_rule_has_the_criteria_of_the_filter_and_queries() -> None:
    assert set(Rule.model_fields) == {field.name for field in fields(cdc.EventFilter)} | {"queries"}


CRITERIA: list[tuple[dict[str, list[str]], bool]] = [
    ({}, True),
    ({"event_types": ["entity:*d"]}, True),
    ({"event_types": ["entity:created", "entity:deleted"]}, False),
    ({"triggers": ["batch_*", "api_*"]}, True),
    ({"triggers": ["batch_*"]}, False),
    ({"entity_types": ["School", "Student"]}, True),
    ({"entity_types": ["School"]}, False),
    ({"exclude_entity_types": ["School"]}, True),
    ({"exclude_entity_types": ["Student"]}, False),
    ({"operations": ["UPDATE"]}, True),
    ({"operations": ["CREATE", "DELETE"]}, False),
    ({"exclude_operations": ["CREATE"]}, True),
    ({"exclude_operations": ["UPDATE"]}, False),
    ({"tenants": ["two", "one"]}, True),
    ({"tenants": ["two"]}, False),
    ({"changed_fields": ["name"]}, True),
    ({"changed_fields": ["name.last"]}, False),
]


@pytest.mark.parametrize(("criteria", "holds"), CRITERIA)
def test_a_rule_holds_for_the_events_that_meet_each_criterion(tmp_path: Path, criteria: dict[str, Any], holds: bool) -> None:
    rules = rules_of(tmp_path / "rules.json", {**criteria, "queries": [QUERY]})
    assert list(rules(event())) == ([cdc.Invalidation(**QUERY)] if holds else [])


def test_each_criterion_is_tried_both_ways() -> None:
    tried = {(name, holds) for criteria, holds in CRITERIA for name in criteria}
    assert tried == {(field.name, holds) for field in fields(cdc.EventFilter) for holds in (True, False)}


def test_rules_are_told_in_their_order_with_the_events_own_values(tmp_path: Path) -> None:
    everything = "{entity_type} {entity_id} {entity_identifier} {tenant_id} {other}"
    rules = rules_of(
        tmp_path / "rules.json",
        {"tenants": ["none"], "queries": [QUERY]},
        {"queries": [{"query": everything, "reason": "r", "affected_entities": ["{entity_id}", "all"]}, QUERY]},
        {"operations": ["UPDATE"], "queries": [{"query": "last", "reason": "r", "affected_entities": []}]},
    )
    made = event()
    number = made.entity.entity_id
    assert isinstance(number, UUID)
    assert list(rules(made)) == [
        cdc.Invalidation(query=f"Student {number} 1 one {{other}}", reason="r", affected_entities=(str(number), "all")),
        cdc.Invalidation(**QUERY),
        cdc.Invalidation(query="last", reason="r", affected_entities=()),
    ]


@pytest.mark.parametrize("where", ["query", "affected_entities"])
def test_a_query_is_left_out_where_the_event_has_no_such_value(tmp_path: Path, where: str) -> None:
    asked = QUERY | ({"query": "of {tenant_id}"} if where == "query" else {"affected_entities": ["x", "{tenant_id}"]})
    rules = rules_of(tmp_path / "rules.json", {"queries": [asked, QUERY]})
    assert len(list(rules(event()))) == 2
    assert list(rules(event(tenant_id=None))) == [cdc.Invalidation(**QUERY)]


# Refused.

GOOD = {"queries": [QUERY]}
LONG = "x" * 500
REFUSED: dict[str, tuple[object, str]] = {
    "no array": ({"queries": [QUERY]}, "it is no JSON array of rules but {'queries': ["),
    "no object": ([GOOD, "Student"], "rule 2 = 'Student': Input should be a valid dictionary"),
    "no queries": ([GOOD, GOOD, {"tenants": ["one"]}], "rule 3, queries is missing in {'tenants': ['one']}: add it"),
    "empty queries": ([{"queries": []}], "rule 1, queries = []: Tuple should have at least 1 item"),
    "queries of another kind": ([{"queries": "studentList"}], "rule 1, queries = 'studentList': Input should be a valid tuple"),
    "a query of another kind": ([{"queries": [QUERY, "all"]}], "rule 1, queries[1] = 'all': Input should be a valid dictionary"),
    "no query": ([{"queries": [{"reason": "r"}]}], "rule 1, queries[0].query is missing in {'reason': 'r'}: add it"),
    "no reason": ([{"queries": [{"query": "q"}]}], "rule 1, queries[0].reason is missing in {'query': 'q'}: add it"),
    "an empty query": ([{"queries": [QUERY | {"query": ""}]}], "rule 1, queries[0].query = '': String should have at least 1"),
    "a number as a query": ([{"queries": [QUERY | {"query": 7}]}], "rule 1, queries[0].query = 7: Input should be a valid string"),
    "affected by one text": (
        [{"queries": [QUERY | {"affected_entities": "all"}]}],
        "rule 1, queries[0].affected_entities = 'all': Input should be a valid tuple",
    ),
    "another name in a query": (
        [{"queries": [QUERY | {"because": "r"}]}],
        "rule 1, queries[0].because = 'r': no rule has that, write one of query, reason, affected_entities",
    ),
    "another name": (
        [GOOD, GOOD | {"entity_type": ["Student"]}],
        "rule 2, entity_type = ['Student']: no rule has that, write one of queries, event_types, triggers, entity_types",
    ),
    "an operation of another format": (
        [GOOD | {"operations": ["UPDATE", "INSERT"]}],
        "rule 1, operations[1] = 'INSERT': Input should be 'CREATE', 'UPDATE' or 'DELETE'",
    ),
    "an excluded operation of another format": (
        [GOOD | {"exclude_operations": ["delete"]}],
        "rule 1, exclude_operations[0] = 'delete': Input should be 'CREATE', 'UPDATE' or 'DELETE'",
    ),
    "one text for a list": ([GOOD | {"tenants": "one"}], "rule 1, tenants = 'one': Input should be a valid tuple"),
    "null for a list": ([GOOD | {"tenants": None}], "rule 1, tenants = None: Input should be a valid tuple"),
    "a number in a list": ([GOOD | {"tenants": ["one", 2]}], "rule 1, tenants[1] = 2: Input should be a valid string"),
    "an empty text": ([GOOD | {"triggers": [""]}], "rule 1, triggers[0] = '': String should have at least 1 character"),
    "what is long": ([GOOD | {LONG: LONG}], f"{'x' * 99}...: no rule has that"),
}  # fmt: skip


@pytest.mark.parametrize("fault", REFUSED)
def test_a_refusal_names_the_file_the_rule_and_the_value(tmp_path: Path, fault: str) -> None:
    content, message = REFUSED[fault]
    path = tmp_path / "rules.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InvalidRequest) as refused:
        cdc.InvalidationRules.read(path)
    assert str(refused.value).startswith(f"invalidations = {str(path)!r}: ")
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is no JSON (Expecting value: line 1 column 1 (char 0))"),
        (b'[{"queries": [}]', "it is no JSON (Expecting value: line 1 column 15 (char 14))"),
        (b'["\xff"]', "it is no JSON ('utf-8' codec can't decode byte 0xff"),
    ],
    ids=["empty", "cut", "another encoding"],
)
def test_a_file_that_is_no_json_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "rules.json"
    path.write_bytes(content)
    with pytest.raises(InvalidRequest) as refused:
        cdc.InvalidationRules.read(path)
    assert str(refused.value).startswith(f"invalidations = {str(path)!r}: {message}")


def test_a_file_that_is_not_there_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path, why in ((tmp_path / "none.json", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(InvalidRequest) as refused:
            cdc.InvalidationRules.read(path)
        assert str(refused.value).startswith(f"invalidations = {str(path)!r}: it cannot be read ({why}): ")


def test_each_way_out_refuses_a_file_before_it_reads_an_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "set_up", lambda *_: None)  # else later tests of this process would log to this one's output
    path = tmp_path / "rules.json"
    path.write_text('[{"queries": []}]', encoding="utf-8")
    options = formats.EventOptions(invalidations=path)
    with pytest.raises(InvalidRequest, match="rule 1, queries"):
        formats.writer(formats.load("cdc"), NOWHERE, options)
    with pytest.raises(InvalidRequest, match="rule 1, queries"):
        create_app(Settings(NOWHERE, rate=0, port=0, events=options))
    ways = {
        "feed": ["--format", "cdc"],
        "deliver": ["--consumer", "crm", "--files", str(tmp_path / "files"), "--format", "cdc"],
        "serve": ["--port", "0"],
    }
    for command, arguments in ways.items():
        result = CliRunner().invoke(cli.app, [command, "--url", NOWHERE, *arguments, "--invalidations", str(path)])
        assert result.exit_code == 1, (command, result.output)
        assert f"--invalidations = {str(path)!r}: rule 1, queries = []: " in result.stderr
