"""The CDC event format 1.0, as models of pydantic's.

Missing and null differ: a missing field is not known or does not apply, null says that there is none. So `after: null` is a
deleted document, and an update without `before` is one whose earlier state was not stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from dmsjournal.events.models import EventModel, Int64, Json, Texts, Time

VERSION: Literal["1.0"] = "1.0"

TRIGGERS = {
    "api_create": "created by a request",
    "api_update": "updated by a request",
    "api_delete": "deleted by a request",
    "api_import": "created by an import's request",
    "admin_action": "done by an administrator",
    "batch_import": "done by a bulk import",
    "data_migration": "done by a migration of data",
    "cascade_delete": "deleted because what it belongs to was",
}

OperationType = Literal["CREATE", "UPDATE", "DELETE"]
EventType = Literal["entity:created", "entity:updated", "entity:deleted"]

_Id = Annotated[UUID, Field(strict=False)]
_TYPES: dict[OperationType, EventType] = {"CREATE": "entity:created", "UPDATE": "entity:updated", "DELETE": "entity:deleted"}


class Source(EventModel):
    """Where the change was made. `transaction_id` is the database's own: changes of one transaction share it."""

    database: str = Field(min_length=1, description="The kind of database: postgresql, sqlserver, dynamodb.")
    instance: str = Field(min_length=1, description="Which server.")
    database_name: str | None = None
    host: str | None = None
    region: str | None = None
    transaction_id: str | None = None
    session_id: str | None = None
    user: str | None = None
    database_schema: str | None = Field(default=None, alias="schema")


class Entity(EventModel):
    """Which document changed. `is_soft_deleted`: it is still there, marked as deleted."""

    entity_type: str = Field(min_length=1)
    entity_id: _Id
    entity_identifier: str | None = Field(default=None, description="What people call it.")
    tenant_id: str | None = None
    version: Int64 | None = Field(default=None, description="The version that optimistic locking goes by.")
    is_soft_deleted: bool | None = None


class FieldChange(EventModel):
    """A field before and after. A side that is missing: the field was not there."""

    before: Json = None
    after: Json = None


class Operation(EventModel):
    """What was done. `changed_fields` are paths as dmsjournal.events.differences writes them; missing: not known."""

    type: OperationType
    trigger: str | None = Field(default=None, description="What caused it.", examples=list(TRIGGERS))
    timestamp: Time
    before: Json = Field(default=None, description="Missing: not known, or nothing was there.")
    after: Json = Field(default=None, description="Missing: not known. null: nothing is there.")
    changed_fields: Texts | None = None
    changed_field_values: dict[str, FieldChange] | None = None

    @model_validator(mode="after")
    def _has_the_sides_of_its_type(self) -> Self:
        if self.type == "CREATE" and self.before is not None:
            raise ValueError("a CREATE has nothing before it")
        if self.type == "DELETE" and self.after is not None:
            raise ValueError("a DELETE leaves nothing after it")
        return self


class Updated(EventModel):
    """A document that changed together with the event's."""

    entity_type: str
    entity_id: _Id
    changes: Texts | None = None
    reason: str


class Deleted(EventModel):
    """A document that was deleted together with the event's."""

    entity_type: str
    entity_id: _Id
    reason: str


class Invalidation(EventModel):
    """A query whose results are out of date."""

    query: str
    reason: str
    affected_entities: Texts | None = None


class Cascade(EventModel):
    """What else changed because of the event. `truncated`: how many more there were than are listed."""

    updated: tuple[Updated, ...] = Field(strict=False)
    deleted: tuple[Deleted, ...] = Field(strict=False)
    invalidations: tuple[Invalidation, ...] = Field(strict=False)
    truncated: Annotated[int, Field(ge=0)] | None = None

    @classmethod
    def of(
        cls,
        updated: Iterable[Updated] = (),
        deleted: Iterable[Deleted] = (),
        invalidations: Iterable[Invalidation] = (),
        *,
        limit: int = 1000,
    ) -> Self:
        """The cascade with at most `limit` of each list, the rest counted in `truncated` and not kept in memory."""
        lists: dict[str, Any] = {}
        more = 0
        for name, entries in (("updated", updated), ("deleted", deleted), ("invalidations", invalidations)):
            rest = iter(entries)
            lists[name] = tuple(islice(rest, limit))
            more += sum(1 for _ in rest)
        if more:
            lists["truncated"] = more
        return cls(**lists)


class Failure(EventModel):
    """What failed of a request of which the change is the part that did not."""

    code: str
    message: str | None = None
    failed: Texts | None = Field(default=None, description="What was not done, as the writer names it.")
    details: dict[str, Json] | None = None


class Metadata(EventModel):
    """What the request that caused the change said of itself. `error` is there where a part of it failed."""

    request_id: str | None = None
    user_id: str | None = None
    user_roles: Texts | None = None
    ip_address: str | None = None
    user_agent: str | None = None
    api_version: str | None = None
    error: Failure | None = None
    custom_fields: dict[str, Json] | None = None


class CdcEvent(EventModel):
    """One change of one document, in the CDC event format 1.0.

    `sequence_number` is the change version: rising in the feed's order, with gaps where transactions were rolled back.
    """

    version: Literal["1.0"]
    event_id: str = Field(pattern="^evt_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
    event_type: EventType
    timestamp: Time
    sequence_number: Annotated[int, Field(ge=0, le=2**63 - 1)]
    schema_name: str = Field(min_length=1)
    schema_version: str = Field(min_length=1)
    source: Source
    entity: Entity
    operation: Operation
    cascade: Cascade
    metadata: Metadata

    @property
    def uuid(self) -> UUID:
        """The event's id without its prefix: the same however often the event is read."""
        return UUID(self.event_id.removeprefix("evt_"))

    @model_validator(mode="after")
    def _is_of_its_operation(self) -> Self:
        if self.event_type != event_type_of(self.operation.type):
            raise ValueError(f"{self.event_type} is not the type of a {self.operation.type}")
        return self


def event_type_of(operation: OperationType) -> EventType:
    """The event type of an operation."""
    return _TYPES[operation]
