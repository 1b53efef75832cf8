"""The CDC event format 1.0: models, their JSON and JSON Schema, events of the feed as such events, filters."""

from dmsjournal.events.cdc.converting import CdcConverter, ChangeContext, key_identifier
from dmsjournal.events.cdc.filtering import EventFilter
from dmsjournal.events.cdc.models import (
    TRIGGERS,
    Cascade,
    CdcEvent,
    Deleted,
    Entity,
    FieldChange,
    Invalidation,
    Metadata,
    Operation,
    Source,
    Updated,
)
from dmsjournal.events.cdc.reading import CdcReader, source_of
from dmsjournal.events.cdc.schema import json_schema
from dmsjournal.feed.deduplicating import Deduplicator

__all__ = [
    "TRIGGERS",
    "Cascade",
    "CdcConverter",
    "CdcEvent",
    "CdcReader",
    "ChangeContext",
    "Deduplicator",
    "Deleted",
    "Entity",
    "EventFilter",
    "FieldChange",
    "Invalidation",
    "Metadata",
    "Operation",
    "Source",
    "Updated",
    "json_schema",
    "key_identifier",
    "source_of",
]
