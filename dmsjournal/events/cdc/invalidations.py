"""Rules: which queries an event makes stale, from a file of JSON in place of a function.

    [{"entity_types": ["Student"], "changed_fields": ["name"], "queries": [{"query": "studentList", "reason": "entity_updated"}]}]

A rule holds for the events that meet its criteria, which are those of EventFilter. In `query` and `affected_entities`,
`{entity_type}`, `{entity_id}`, `{entity_identifier}` and `{tenant_id}` stand for the event's own; a query that names one that the
event does not have is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from dmsjournal.errors import InvalidRequest
from dmsjournal.events.cdc.filters import EventFilter
from dmsjournal.events.cdc.models import CdcEvent, Invalidation, OperationType
from dmsjournal.events.models import EventModel
from dmsjournal.util.json import decoded

_PLACE = re.compile(r"\{(entity_type|entity_id|entity_identifier|tenant_id)\}")

_Text = Annotated[str, Field(min_length=1)]
_Texts = Annotated[tuple[_Text, ...], Field(strict=False)]
_Operations = Annotated[tuple[OperationType, ...], Field(strict=False)]


class _Query(EventModel):
    query: _Text
    reason: _Text
    affected_entities: _Texts | None = None


class Rule(EventModel):
    """A rule of the file: the criteria of EventFilter, and the queries that are stale where an event meets them."""

    queries: Annotated[tuple[_Query, ...], Field(strict=False, min_length=1)]
    event_types: _Texts = ()
    triggers: _Texts = ()
    entity_types: _Texts = ()
    exclude_entity_types: _Texts = ()
    operations: _Operations = ()
    exclude_operations: _Operations = ()
    tenants: _Texts = ()
    changed_fields: _Texts = ()

    def criteria(self) -> EventFilter:
        """The filter of the events that the rule is about."""
        return EventFilter(**{name: getattr(self, name) for name in type(self).model_fields if name != "queries"})


@dataclass(frozen=True, slots=True)
class InvalidationRules:
    """A function of an event, as CdcConverter's `invalidations`: what its rules say, in their order."""

    rules: tuple[tuple[EventFilter, tuple[_Query, ...]], ...]

    @classmethod
    def read(cls, path: Path) -> InvalidationRules:
        """The rules of a file. Raises InvalidRequest, which names the rule by its number, from 1 on, and what is wrong in it."""
        try:
            found = decoded(path.read_bytes())
        except OSError as error:
            raise _refused(
                path, f"it cannot be read ({error.strerror}): give this program the right to, or name another"
            ) from error
        except ValueError as error:
            raise _refused(path, f"it is no JSON ({error}): correct the file") from error
        if not isinstance(found, list):
            raise _refused(
                path, f"it is no JSON array of rules but {_shown(found)}: write [ before the first rule, ] after the last"
            )
        rules = [_rule(path, number, rule) for number, rule in enumerate(found, 1)]
        return cls(tuple((rule.criteria(), rule.queries) for rule in rules))

    def __call__(self, event: CdcEvent) -> Iterator[Invalidation]:
        entity = event.entity
        known = {
            "entity_type": entity.entity_type,
            "entity_id": str(entity.entity_id),
            "entity_identifier": entity.entity_identifier,
            "tenant_id": entity.tenant_id,
        }
        for wants, queries in self.rules:
            if wants(event):
                for asked in queries:
                    texts = [asked.query, *(asked.affected_entities or ())]
                    if all(known[place] is not None for text in texts for place in _PLACE.findall(text)):
                        query, *affected = (_PLACE.sub(lambda place: str(known[place[1]]), text) for text in texts)
                        listed = {} if asked.affected_entities is None else {"affected_entities": tuple(affected)}
                        yield Invalidation(query=query, reason=asked.reason, **listed)


def _rule(path: Path, number: int, value: Any) -> Rule:
    """A rule of the file. Raises InvalidRequest."""
    try:
        return Rule.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).removeprefix(".")
        named = f"rule {number}" if not where else f"rule {number}, {where}"
        match first["type"]:
            case "missing":
                wrong = f"{named} is missing in {_shown(first['input'])}: add it"
            case "extra_forbidden":
                names = _Query.model_fields if len(first["loc"]) > 1 else Rule.model_fields
                wrong = f"{named} = {_shown(first['input'])}: no rule has that, write one of {', '.join(names)}"
            case _:
                wrong = f"{named} = {_shown(first['input'])}: {first['msg']}"
        raise _refused(path, wrong) from error


def _refused(path: Path, remedy: str) -> InvalidRequest:
    return InvalidRequest("invalidations", str(path), remedy)


def _shown(value: Any) -> str:
    """A value of the file, in as many characters as a message has room for."""
    text = ascii(value)
    return text if len(text) <= 100 else f"{text[:100]}..."
