"""Effects: what else changed because of an event. Source: docs/how-it-works.md, Effects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from dmsjournal import contexts
from dmsjournal.errors import CheckpointExpired, InvalidRequest
from dmsjournal.feed.events import FeedEvent, FeedEventType
from dmsjournal.floors import read_floors
from dmsjournal.images import Event
from dmsjournal.registry import Registry
from dmsjournal.resources import ResourceKey
from dmsjournal.session import Session
from dmsjournal.windows import checked_size

MOST = 1_000  # documents of one event
_LOOKED = 10_000  # edges that are looked at for one event

REFERENCE_CHANGED = "referenced_identity_changed"
PARENT_DELETED = "parent_deleted"
PARENT_CHANGED = "parent_changed"


@dataclass(frozen=True, slots=True)
class Effect:
    """A document that changed because another one did.

    `change_version` is its own event's, in the same transaction; None where it has none: what it refers to has another identity.
    `reason` is what its writer said, else "referenced_identity_changed", "parent_deleted" or "parent_changed".
    """

    document_id: int
    document_uuid: UUID | None
    resource: ResourceKey
    reason: str
    change_version: int | None = None


@dataclass(frozen=True, slots=True)
class Effects:
    """What changed, and what was deleted, because of an event. `truncated` is how many more there were, as far as was looked."""

    updated: Sequence[Effect] = ()
    deleted: Sequence[Effect] = ()
    truncated: int = 0


def read_effects(session: Session, registry: Registry, events: Iterable[FeedEvent], limit: int) -> dict[Event, Effects]:
    """See Journal.effects. The session must be younger than the horizon that the events lie below."""
    checked_size("limit", limit, MOST)
    by_place = {(row["change_version"], row["document_id"]): event for event in events for row in [_row(event)]}
    rows = [_row(event) for event in by_place.values()]
    if not rows:
        return {}
    found = _by_event(session.execute("effects_indirect", rows=rows, looked=_LOOKED, most=limit))
    said: dict[Event, list[Any]] = {}
    if contexts.OPTION in session.options:
        said = _by_event(session.execute("effects_caused", rows=rows, most=limit))
    _refuse_pruned(session, min(version for version, _ in by_place))
    names = registry.names_of(session, {row.resource_key_id for each in (found, said) for group in each.values() for row in group})
    return {
        place: _effects(event, found.get(place, []), said.get(place, []), names, limit)
        for place, event in by_place.items()
        if place in found or place in said
    }


def _row(event: object) -> dict[str, Any]:
    if not isinstance(event, FeedEvent) or event.transaction_id is None or event.key.document_id is None:
        raise InvalidRequest("events", event, "pass events of this journal's feed")
    return {
        "change_version": event.change_version,
        "document_id": event.key.document_id,
        "document_uuid": event.key.document_uuid,
        "transaction_id": event.transaction_id,
    }


def _refuse_pruned(session: Session, first: int) -> None:
    """Raises CheckpointExpired: the floors are read last, so what was found above them is whole."""
    floor = max(read_floors(session).values())
    if first <= floor:
        raise CheckpointExpired(first, floor + 1)


def _by_event(rows: Iterable[Any]) -> dict[Event, list[Any]]:
    found: dict[Event, list[Any]] = {}
    for row in rows:
        found.setdefault((row.change_version, row.document_id), []).append(row)
    return found


def _effects(event: FeedEvent, found: list[Any], said: list[Any], names: dict[int, ResourceKey], limit: int) -> Effects:
    """What writers said before what the edges tell: a document is listed once, by its own event where it has one."""
    reason = PARENT_DELETED if event.type is FeedEventType.DELETE else PARENT_CHANGED
    told = {row.affected_id for row in said}
    others = [row for row in found if row.affected_id not in told]
    deleted = [_effect(row, names, row.reason or reason, row.affected_version) for row in said if row.is_delete]
    updated = [_effect(row, names, row.reason or reason, row.affected_version) for row in said if not row.is_delete]
    updated += [_effect(row, names, REFERENCE_CHANGED, None) for row in others[: limit - len(said)]]
    total = (said[0].total if said else 0) + (found[0].total - len(found) + len(others) if found else 0)
    return Effects(updated, deleted, total - len(updated) - len(deleted))


def _effect(row: Any, names: dict[int, ResourceKey], reason: str, version: int | None) -> Effect:
    return Effect(row.affected_id, row.document_uuid, names[row.resource_key_id], reason, version)
