"""Events of the feed as CDC events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from dmsjournal.events import shapes
from dmsjournal.events.cdc.models import (
    VERSION,
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
    event_type_of,
)
from dmsjournal.events.differences import MISSING, Difference, is_within, top_level
from dmsjournal.events.encoding import encoder
from dmsjournal.events.shapes import FeedEventLike
from dmsjournal.feed.events import Effect, Effects


@dataclass(frozen=True, slots=True)
class ChangeContext:
    """What caused a change, as far as is known: None is left out of the event. One for all events of a transaction."""

    transaction_id: str | None = None
    session_id: str | None = None
    user: str | None = None
    tenant_id: str | None = None
    trigger: str | None = None
    metadata: Metadata | None = None

    @classmethod
    def of(cls, said: Mapping[str, Any] | None) -> ChangeContext:
        """What a writer said (dmsjournal.Context, or plain SQL), in the format's words.

        Never an error: what the format has no word for, and what is not of its word's type, goes into metadata.custom_fields.
        """
        if said is None:
            return cls()
        known = {word: said[name] for name, word in _WORDS.items() if isinstance(said.get(name), str)}
        others = {
            name: value for name, value in said.items() if _WORDS.get(name) not in known and name not in ("metadata", "cause")
        }
        metadata = said.get("metadata")
        if metadata is not None and not isinstance(metadata, Mapping):
            others["metadata"] = metadata
        return cls(**known, metadata=_metadata(metadata if isinstance(metadata, Mapping) else {}, others))


INDIRECT = "indirect_of"  # in an indirect change's metadata.custom_fields: the id of the event that it comes from

_WORDS = {"session_id": "session_id", "user": "user", "tenant": "tenant_id", "trigger": "trigger"}
_TEXTS = ("request_id", "user_id", "ip_address", "user_agent", "api_version")


def _metadata(said: Mapping[str, Any], others: dict[str, Any]) -> Metadata | None:
    fits = {name: value for name, value in said.items() if _fits(name, value)}
    custom = others | {name: value for name, value in said.items() if name not in fits}
    if custom:
        fits["custom_fields"] = fits.get("custom_fields", {}) | custom
    return Metadata(**fits) if fits else None


def _fits(name: str, value: Any) -> bool:
    if name == "user_roles":
        return isinstance(value, list) and all(isinstance(role, str) for role in value)
    if name == "error":
        with suppress(ValueError):
            return Failure.model_validate(value) is not None
        return False
    if name == "custom_fields":
        return isinstance(value, dict)
    return name in _TEXTS and (value is None or isinstance(value, str))


@dataclass(frozen=True, slots=True)
class CdcConverter:
    """Makes CDC events of the feed's, each of the same `source`.

    `soft_delete_field` is the name in a document that says when it was marked as deleted: its update then has `is_soft_deleted`.
    `version_field` is the name in a document of its version for optimistic locking, a whole number.
    `identifier` gives what people call the document, such as `key_identifier`. `image_fields` are the names of the documents' own
    that may leave in before, after and changed_field_values, without it all; changed_fields names what changed in the whole
    document. `invalidations` gives the queries that an event makes stale, which only an application knows; the event that it is
    called with has all but those.
    """

    source: Source
    soft_delete_field: str | None = None
    identifier: Callable[[FeedEventLike], str | None] | None = None
    image_fields: Set[str] | None = None
    version_field: str | None = None
    invalidations: Callable[[CdcEvent], Iterable[Invalidation]] | None = None

    def convert(
        self,
        event: FeedEventLike,
        context: ChangeContext | None = None,
        *,
        cascade: Cascade | None = None,
        version: int | None = None,
    ) -> CdcEvent:
        """The CDC event of an event of the feed; the same one however often it is read.

        `context` is what caused it, `cascade` what else changed; without one, what the event itself says of that. `version` is the
        document's version for optimistic locking. Raises InvalidRequest, pydantic's ValidationError. Portability: InvalidRequest
        for a change_version of more than 64 bits, as DynamoDB's streams have.
        """
        context = context or ChangeContext.of(event.context)
        operation = shapes.operation_of(event)
        made = CdcEvent(
            version=VERSION,
            event_id=f"evt_{event.event_id}",
            event_type=event_type_of(operation),
            timestamp=event.timestamp,
            sequence_number=shapes.version_of(event),
            schema_name=event.resource.project_name,
            schema_version=event.resource.resource_version,
            source=self._source(event, context),
            entity=self._entity(event, operation, context, version),
            operation=self._operation(event, operation, context),
            cascade=cascade or cascade_of(event.effects),
            metadata=_metadata_of(event, context),
        )
        stale = () if self.invalidations is None else tuple(self.invalidations(made))
        return made.model_copy(update={"cascade": made.cascade.model_copy(update={"invalidations": stale})}) if stale else made

    def _source(self, event: FeedEventLike, context: ChangeContext) -> Source:
        known = _known(
            transaction_id=context.transaction_id or _text(event.transaction_id),
            session_id=context.session_id,
            user=context.user,
        )
        return self.source.model_copy(update=known) if known else self.source

    def _entity(self, event: FeedEventLike, operation: shapes.Operation, context: ChangeContext, version: int | None) -> Entity:
        return Entity(
            entity_type=event.resource.resource_name,
            entity_id=shapes.entity_id_of(event),
            **_known(
                entity_identifier=self.identifier(event) if self.identifier else None,
                tenant_id=context.tenant_id,
                version=self._version(event, operation) if version is None else version,
                is_soft_deleted=self._is_soft_deleted(event, operation),
            ),
        )

    def _is_soft_deleted(self, event: FeedEventLike, operation: shapes.Operation) -> bool | None:
        _, after = shapes.images_of(event)
        if self.soft_delete_field is None or operation == "DELETE" or not isinstance(after, dict):
            return None
        return after.get(self.soft_delete_field) not in (None, False)

    def _version(self, event: FeedEventLike, operation: shapes.Operation) -> int | None:
        before, after = shapes.images_of(event)
        image = before if operation == "DELETE" else after
        value = image.get(self.version_field) if self.version_field is not None and isinstance(image, dict) else None
        return value if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63 else None

    def _operation(self, event: FeedEventLike, operation: shapes.Operation, context: ChangeContext) -> Operation:
        before, after = shapes.images_of(event)
        sides: dict[str, Any] = {}
        if before is not None and operation != "CREATE":
            sides["before"] = self._shown(before)
        if operation == "DELETE":
            sides["after"] = None
        elif after is not None:
            sides["after"] = self._shown(after)
        return Operation(
            type=operation,
            timestamp=event.timestamp,
            **_known(trigger=context.trigger),
            **sides,
            **self._changes(event, operation, before, after),
        )

    def _changes(self, event: FeedEventLike, operation: shapes.Operation, before: Any, after: Any) -> dict[str, Any]:
        if operation == "CREATE":
            return {} if after is None else {"changed_fields": _fields_of(after)}
        if operation == "DELETE":
            return {} if before is None else {"changed_fields": _fields_of(before)}
        found = shapes.changes_of(event)
        if found is None:
            return {}
        values = {change.path: _values(change) for change in found if self._may_leave(change.path)}
        return {"changed_fields": tuple(change.path for change in found), "changed_field_values": values}

    def _shown(self, image: Any) -> Any:
        if self.image_fields is None:
            return image
        return {name: value for name, value in image.items() if name in self.image_fields} if isinstance(image, dict) else {}

    def _may_leave(self, path: str) -> bool:
        return self.image_fields is None or any(is_within(path, top_level(name)) for name in self.image_fields)


def cascade_of(effects: Effects | None) -> Cascade:
    """What else changed, in the format's words. Fields that are not known to have changed are left out."""
    if effects is None:
        return Cascade.of()
    made = Cascade.of(map(_updated, effects.updated), map(_deleted, effects.deleted))
    return made.model_copy(update={"truncated": effects.truncated}) if effects.truncated else made


def _updated(effect: Effect) -> Updated:
    changes = {} if effect.changes is None else {"changes": tuple(effect.changes)}
    return Updated(entity_type=effect.resource.resource_name, entity_id=_affected(effect), reason=effect.reason, **changes)


def _deleted(effect: Effect) -> Deleted:
    return Deleted(entity_type=effect.resource.resource_name, entity_id=_affected(effect), reason=effect.reason)


def _affected(effect: Effect) -> UUID:
    return shapes.entity_id(effect.document_uuid, effect.resource, effect.document_id)


def _metadata_of(event: FeedEventLike, context: ChangeContext) -> Metadata:
    """What the context says; of an indirect change also which event it comes from."""
    made = context.metadata or Metadata()
    if event.indirect_of is None:
        return made
    return made.model_copy(update={"custom_fields": {**(made.custom_fields or {}), INDIRECT: f"evt_{event.indirect_of}"}})


def key_identifier(event: FeedEventLike) -> str | None:
    """The document's key as text: the value where it is one, else `name=value` in the order of names, joined by commas.

    A value that is an array or an object is told as JSON, and so is a key that is no object.
    """
    return key_text(shapes.key_of(event))


def key_text(values: Any) -> str | None:
    """Key values as `key_identifier` writes them; None where there are none."""
    if values is None or values == {}:
        return None
    if not isinstance(values, dict):
        return _key_text(values)
    texts = {name: _key_text(value) for name, value in values.items()}
    return next(iter(texts.values())) if len(texts) == 1 else ",".join(f"{name}={texts[name]}" for name in sorted(texts))


def _key_text(value: Any) -> str:
    return _encode(value).decode() if isinstance(value, list | dict) else str(value)


_encode = encoder(in_order=True)


def _known(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _fields_of(image: Any) -> tuple[str, ...]:
    return tuple(top_level(name) for name in image) if isinstance(image, dict) else ("$",)


def _values(change: Difference) -> FieldChange:
    sides = {"before": change.before, "after": change.after}
    return FieldChange(**{side: value for side, value in sides.items() if value is not MISSING})
