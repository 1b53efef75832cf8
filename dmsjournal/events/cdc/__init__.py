"""The CDC event format 1.0: models, their JSON and JSON Schema, events of the feed as such events, filters."""

from dmsjournal.events.cdc.conversion import CdcConverter, ChangeContext, key_identifier
from dmsjournal.events.cdc.filters import EventFilter
from dmsjournal.events.cdc.invalidations import InvalidationRules
from dmsjournal.events.cdc.models import (
    TRIGGERS,
    Cascade,
    CdcEvent,
    Deleted,
    Entity,
    Failure,
    FieldChange,
    Invalidation,
    Metadata,
    Operation,
    Source,
    Updated,
)
from dmsjournal.events.cdc.reader import CdcReader, source_of
from dmsjournal.events.cdc.schema import json_schema
from dmsjournal.feed.deduplication import Deduplicator

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
    "Failure",
    "FieldChange",
    "Invalidation",
    "InvalidationRules",
    "Metadata",
    "Operation",
    "Source",
    "Updated",
    "json_schema",
    "key_identifier",
    "source_of",
]
