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

import msgspec

from dmsjournal.errors import InvalidRequest
from dmsjournal.events.cdc.filters import EventFilter
from dmsjournal.events.cdc.models import CdcEvent, Invalidation

_PLACE = re.compile(r"\{(entity_type|entity_id|entity_identifier|tenant_id)\}")


class _Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    query: str
    reason: str
    affected_entities: tuple[str, ...] | None = None


class _Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    queries: tuple[_Query, ...]
    event_types: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    entity_types: tuple[str, ...] = ()
    exclude_entity_types: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    exclude_operations: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    changed_fields: tuple[str, ...] = ()

    def criteria(self) -> EventFilter:
        return EventFilter(**{name: getattr(self, name) for name in self.__struct_fields__ if name != "queries"})


@dataclass(frozen=True, slots=True)
class InvalidationRules:
    """A function of an event, as CdcConverter's `invalidations`: what its rules say, in their order."""

    rules: tuple[tuple[EventFilter, tuple[_Query, ...]], ...]

    @classmethod
    def read(cls, path: Path) -> InvalidationRules:
        """The rules of a file. Raises InvalidRequest."""
        try:
            found = msgspec.json.decode(path.read_bytes(), type=tuple[_Rule, ...])
        except OSError as error:
            raise InvalidRequest("invalidations", str(path), f"it cannot be read ({error.strerror})") from error
        except msgspec.MsgspecError as error:
            raise InvalidRequest("invalidations", str(path), f"it is no JSON array of rules ({error})") from error
        return cls(tuple((rule.criteria(), rule.queries) for rule in found))

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
