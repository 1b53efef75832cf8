"""Effects: what else changed because of an event. Source: docs/how-it-works.md, Effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dmsjournal.database.floors import read_floors, refuse_missing_parts
from dmsjournal.database.resource_ids import ResourceIds
from dmsjournal.database.session import Session
from dmsjournal.errors import CheckpointExpired, InvalidRequest
from dmsjournal.feed.events import Effect, Effects, FeedEvent, FeedEventType
from dmsjournal.model.differences import changed_paths
from dmsjournal.model.resources import ResourceKey
from dmsjournal.model.windows import MAX_VERSION, checked_size
from dmsjournal.read import contexts, images
from dmsjournal.read.images import Event, Image

MOST = 1_000  # documents of one event
_LOOKED = 10_000  # edges that are looked at for one event

REFERENCE_CHANGED = "referenced_identity_changed"
PARENT_DELETED = "parent_deleted"
PARENT_CHANGED = "parent_changed"


def read_effects(
    session: Session, registry: ResourceIds, events: Iterable[FeedEvent], limit: int, with_contexts: bool = True
) -> dict[Event, Effects]:
    """See Journal.effects. The session must be younger than the horizon that the events lie below.

    Without `with_contexts`, what writers said is left out, and the right to read it is not needed.
    """
    checked_size("limit", limit, MOST)
    by_place = {(row["change_version"], row["document_id"]): event for event in events for row in [_row(event)]}
    rows = [_row(event) for event in by_place.values()]
    if not rows:
        return {}
    found = _by_event(session.execute("feed/effects_indirect", rows=rows, looked=_LOOKED, most=limit))
    said: dict[Event, list[Any]] = {}
    if with_contexts and contexts.OPTION in session.options:
        said = _by_event(session.execute("feed/effects_caused", rows=rows, most=limit))
    kept = _kept_images(session, said)
    _refuse_pruned(session, min(version for version, _ in by_place))
    names = registry.names_of(session, {row.resource_key_id for each in (found, said) for group in each.values() for row in group})
    return {
        place: _effects(event, found.get(place, []), said.get(place, []), names, kept, limit)
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
    floors = read_floors(session)
    if first <= max(floors.values()):
        raise CheckpointExpired(first, max(floors.values()) + 1)
    refuse_missing_parts(session, first, MAX_VERSION, *floors)


def _by_event(rows: Iterable[Any]) -> dict[Event, list[Any]]:
    found: dict[Event, list[Any]] = {}
    for row in rows:
        found.setdefault((row.change_version, row.document_id), []).append(row)
    return found


def _kept_images(session: Session, said: Mapping[Event, list[Any]]) -> Mapping[Event, Image]:
    """The images of the documents that were updated by an event of their own, with option images."""
    own = [(row.affected_version, row.affected_id) for rows in said.values() for row in rows if not row.is_delete]
    return images.read_images(session, own) if own and images.OPTION in session.options else {}


def _effects(
    event: FeedEvent,
    found: list[Any],
    said: list[Any],
    names: dict[int, ResourceKey],
    kept: Mapping[Event, Image],
    limit: int,
) -> Effects:
    """What writers said before what the edges tell: a document is listed once, by its own event where it has one."""
    reason = PARENT_DELETED if event.type is FeedEventType.DELETE else PARENT_CHANGED
    told = {row.affected_id for row in said}
    others = [row for row in found if row.affected_id not in told]
    deleted = [_effect(row, names, row.reason or reason, row.affected_version) for row in said if row.is_delete]
    updated = [_effect(row, names, row.reason or reason, row.affected_version, kept) for row in said if not row.is_delete]
    updated += [_effect(row, names, REFERENCE_CHANGED, None) for row in others[: limit - len(said)]]
    total = (said[0].total if said else 0) + (found[0].total - len(found) + len(others) if found else 0)
    return Effects(updated, deleted, total - len(updated) - len(deleted))


def _effect(
    row: Any, names: dict[int, ResourceKey], reason: str, version: int | None, kept: Mapping[Event, Image] | None = None
) -> Effect:
    changes = None
    if version is not None and kept is not None:
        image = kept.get((version, row.affected_id), Image(None, None))
        changes = changed_paths(image.before, image.after, row.old_key_values, row.new_key_values)
    return Effect(row.affected_id, row.document_uuid, names[row.resource_key_id], reason, version, changes)
