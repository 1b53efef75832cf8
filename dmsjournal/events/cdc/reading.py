"""CDC events of a journal: what the feed tells, with what else changed because of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from dmsjournal.connecting import engine_for
from dmsjournal.effects import Effect, Effects
from dmsjournal.events import shapes
from dmsjournal.events.cdc.converting import CdcConverter
from dmsjournal.events.cdc.models import Cascade, CdcEvent, Deleted, Invalidation, Source, Updated
from dmsjournal.events.differences import differences
from dmsjournal.feed.events import FeedEvent
from dmsjournal.feed.providers import FeedProvider
from dmsjournal.images import Event
from dmsjournal.journal import Journal


@dataclass(frozen=True, slots=True)
class CdcReader:
    """Makes CDC events of a provider's pages, with their cascades where the provider knows what else changed (`effects`).

    `invalidations` gives the queries that an event makes stale, which only an application knows; the event that it is called with
    has all but those. `limit` is how many documents a cascade lists, 1 to 1,000; `truncated` says how many more there were.
    """

    source: FeedProvider
    converter: CdcConverter
    invalidations: Callable[[CdcEvent], Iterable[Invalidation]] | None = None
    limit: int = 100

    def convert(self, events: Sequence[FeedEvent]) -> list[CdcEvent]:
        """The CDC events of a page's, in their order, for a few queries a page.

        A cascade may become shorter: what it lists as updated without an event of its own has one later once it is written. Raises
        what CdcConverter.convert and Journal.effects raise. Portability: cascades are empty where the provider has no `effects`.
        """
        effects: Mapping[Event, Effects] = {}
        if events and self.source.feed_capabilities.effects:
            effects = self.source.effects(events, self.limit)
        changes = self._changes(effects)
        return [
            self._converted(event, effects.get((event.change_version, event.key.document_id or 0)), changes) for event in events
        ]

    def _converted(self, event: FeedEvent, effects: Effects | None, changes: Mapping[Event, Sequence[str]]) -> CdcEvent:
        made = self.converter.convert(event, cascade=_cascade(effects or Effects(), changes))
        stale = tuple(self.invalidations(made)) if self.invalidations is not None else ()
        return made.model_copy(update={"cascade": made.cascade.model_copy(update={"invalidations": stale})}) if stale else made

    def _changes(self, effects: Mapping[Event, Effects]) -> dict[Event, Sequence[str]]:
        """Which fields changed, of the documents that were updated by an event of their own; where images are kept."""
        own = [
            (effect.change_version, effect.document_id)
            for each in effects.values()
            for effect in each.updated
            if effect.change_version is not None
        ]
        if not own or not isinstance(self.source, Journal) or not self.source.feed_capabilities.item_state_before:
            return {}
        images = self.source.images(own)
        return {
            event: [change.path for change in differences(image.before, image.after)]
            for event, image in images.items()
            if image.before is not None and image.after is not None
        }


def source_of(url: str | sa.URL, instance: str | None = None) -> Source:
    """The source of a database's events, as its URL names it: `instance` is HOST:PORT without another name. Raises InvalidRequest.

    Neither user nor password is in it.
    """
    pool = engine_for(url)
    host = pool.url.host or "localhost"
    named = {"database_name": pool.url.database} if pool.url.database else {}
    return Source(
        database={"mssql": "sqlserver"}.get(pool.dialect.name, pool.dialect.name),
        instance=instance or (host if pool.url.port is None else f"{host}:{pool.url.port}"),
        host=host,
        schema="dms",
        **named,
    )


def _cascade(effects: Effects, changes: Mapping[Event, Sequence[str]]) -> Cascade:
    made = Cascade.of([_updated(effect, changes) for effect in effects.updated], [_deleted(effect) for effect in effects.deleted])
    return made.model_copy(update={"truncated": effects.truncated}) if effects.truncated else made


def _updated(effect: Effect, changes: Mapping[Event, Sequence[str]]) -> Updated:
    made = Updated(entity_type=effect.resource.resource_name, entity_id=_entity_id(effect), reason=effect.reason)
    known = None if effect.change_version is None else changes.get((effect.change_version, effect.document_id))
    return made if known is None else made.model_copy(update={"changes": tuple(known)})


def _deleted(effect: Effect) -> Deleted:
    return Deleted(entity_type=effect.resource.resource_name, entity_id=_entity_id(effect), reason=effect.reason)


def _entity_id(effect: Effect) -> UUID:
    return shapes.entity_id(effect.document_uuid, effect.resource, effect.document_id)
