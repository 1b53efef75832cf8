"""The JSON Schema of CDC events, published as cdc-1.0.schema.json beside this file.

`python -m dmsjournal.events.cdc` prints it anew; a test says whether it is what the models say.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dmsjournal.events.cdc.models import CdcEvent, OperationType, event_type_of

SCHEMA_ID = "urn:dmsjournal:cdc:1.0"
PUBLISHED = Path(__file__).with_name("cdc-1.0.schema.json")


def json_schema() -> dict[str, Any]:
    """The schema of an event, JSON Schema 2020-12. It says all that the models check but that text has no unpaired surrogates."""
    schema = CdcEvent.model_json_schema(mode="validation", by_alias=True)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "CDC event, format 1.0",
    }
    return head | {name: value for name, value in schema.items() if name != "title"} | {"allOf": [*_types(), *_sides()]}


def text() -> str:
    """The schema as it is published."""
    return json.dumps(json_schema(), indent=2) + "\n"


def _types() -> list[dict[str, Any]]:
    """The event type is that of the operation."""
    operations: tuple[OperationType, ...] = ("CREATE", "UPDATE", "DELETE")
    return [_where(each, {"properties": {"event_type": {"const": event_type_of(each)}}}) for each in operations]


def _sides() -> list[dict[str, Any]]:
    """Nothing is before a CREATE or after a DELETE."""
    return [
        _where(operation, {"properties": {"operation": {"properties": {side: {"type": "null"}}}}})
        for operation, side in (("CREATE", "before"), ("DELETE", "after"))
    ]


def _where(operation: str, then: dict[str, Any]) -> dict[str, Any]:
    return {"if": {"properties": {"operation": {"properties": {"type": {"const": operation}}}}}, "then": then}
