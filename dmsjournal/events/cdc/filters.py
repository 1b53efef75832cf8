"""Filters of CDC events: what a subscriber wants to have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from dmsjournal.events.cdc.models import CdcEvent, Operation
from dmsjournal.events.differences import is_within


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Wants the events that meet every criterion given: one of its values each. What is excluded is never wanted.

    `event_types` and `triggers` are globs, such as `entity:*` and `api_*`; an event without a trigger is met by `*` alone.
    `tenants`: an event without one is not wanted. `changed_fields` are paths, each with all that is within it; an event that does
    not say what changed is wanted, since it may be that.
    """

    event_types: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    entity_types: tuple[str, ...] = ()
    exclude_entity_types: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    exclude_operations: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    changed_fields: tuple[str, ...] = ()

    def __call__(self, event: CdcEvent) -> bool:
        entity, operation = event.entity, event.operation
        return (
            entity.entity_type not in self.exclude_entity_types
            and operation.type not in self.exclude_operations
            and _is_one_of(entity.entity_type, self.entity_types)
            and _is_one_of(operation.type, self.operations)
            and _is_one_of(entity.tenant_id, self.tenants)
            and _matches(event.event_type, self.event_types)
            and _matches(operation.trigger or "", self.triggers)
            and self._has_changed(operation)
        )

    def wanted(self, events: Iterable[CdcEvent]) -> Iterator[CdcEvent]:
        """The events that are wanted, in their order."""
        return filter(self, events)

    def _has_changed(self, operation: Operation) -> bool:
        paths = operation.changed_fields
        if not self.changed_fields or paths is None:
            return True
        if operation.type == "UPDATE" and "before" not in operation.model_fields_set:
            return True  # the paths are its key's: what else changed is not known
        return any(is_within(path, field) for path in paths for field in self.changed_fields)


def _is_one_of(value: str | None, wanted: tuple[str, ...]) -> bool:
    return not wanted or value in wanted


def _matches(value: str, globs: tuple[str, ...]) -> bool:
    return not globs or any(fnmatchcase(value, glob) for glob in globs)
