"""CDC events of a journal: what the feed tells, with what else changed because of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import sqlalchemy as sa

from dmsjournal.database.connect import engine_for
from dmsjournal.database.engines import engine_of
from dmsjournal.database.urls import hosts_of
from dmsjournal.events.cdc.conversion import CdcConverter
from dmsjournal.events.cdc.models import CdcEvent, Invalidation, Source
from dmsjournal.feed.events import Effects, FeedEvent
from dmsjournal.feed.providers import FeedProvider
from dmsjournal.read.images import Event


@dataclass(frozen=True, slots=True)
class CdcReader:
    """Makes CDC events of a provider's pages, with their cascades where the provider knows what else changed (`effects`).

    An event that was read with FeedRequest(effects=True) has its effects already, and the converter alone does the same.
    `invalidations` is as in CdcConverter. `limit` is how many documents a cascade lists, 1 to 1,000; `truncated` says how many more
    there were.
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
        converter = self.converter if self.invalidations is None else replace(self.converter, invalidations=self.invalidations)
        bare = [event for event in events if event.effects is None]
        effects: Mapping[Event, Effects] = {}
        if bare and self.source.feed_capabilities.effects:
            effects = self.source.effects(bare, self.limit)
        return [converter.convert(event if event.effects is not None else _with(event, effects)) for event in events]


def _with(event: FeedEvent, effects: Mapping[Event, Effects]) -> FeedEvent:
    return replace(event, effects=effects.get((event.change_version, event.key.document_id or 0), Effects()))


def source_of(url: str | sa.URL, instance: str | None = None, region: str | None = None) -> Source:
    """The source of a database's events, as its URL names it: `instance` is HOST:PORT without another name. Raises InvalidRequest.

    Neither user nor password is in it.
    """
    pool = engine_for(url)
    servers = hosts_of(pool.url) or [("localhost", None)]
    host = ",".join(host for host, _ in servers)
    named = {"database_name": pool.url.database} if pool.url.database else {}
    return Source(
        database=engine_of(pool).EVENT_SOURCE,
        instance=instance or ",".join(host if port is None else f"{host}:{port}" for host, port in servers),
        host=host,
        schema="dms",
        **named,
        **({} if region is None else {"region": region}),
    )
