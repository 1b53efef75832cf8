"""What the converters of this package need of an event of the feed, whichever provider it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import Any, Literal, Protocol
from uuid import UUID, uuid5

from dmsjournal.errors import InvalidRequest
from dmsjournal.feed.events import Effects
from dmsjournal.model.differences import Difference, changed
from dmsjournal.model.resources import ResourceKey
from dmsjournal.model.windows import MAX_VERSION
from dmsjournal.util.json import canonical_json
from dmsjournal.util.json import rows as json_rows

Operation = Literal["CREATE", "UPDATE", "DELETE"]


_NO_UUID = UUID("0f2d1d0c-2a54-5b5e-9a1e-6d6a6f75726e")  # namespace of the ids of documents that have no uuid


class EventKey(Protocol):
    """Which document an event is of. A provider without documents of its own has `key_values` alone."""

    @property
    def document_uuid(self) -> UUID | None: ...
    @property
    def key_values(self) -> Mapping[str, Any] | None: ...
    @property
    def document_id(self) -> int | None: ...
    @property
    def old_key_values(self) -> Mapping[str, Any] | None: ...


class ItemStateLike(Protocol):
    """The document's JSON before and after the change; None where it is not known, or where there was no document."""

    @property
    def before(self) -> Any: ...
    @property
    def after(self) -> Any: ...


class FeedEventLike(Protocol):
    """An event of the feed: dmsjournal.feed.FeedEvent, or a record of JSON lines. `timestamp` is in UTC."""

    @property
    def event_id(self) -> UUID: ...
    @property
    def key(self) -> EventKey: ...
    @property
    def resource(self) -> ResourceKey: ...
    @property
    def type(self) -> object: ...
    @property
    def timestamp(self) -> datetime: ...
    @property
    def change_version(self) -> int: ...
    @property
    def item_state(self) -> ItemStateLike | None: ...
    @property
    def transaction_id(self) -> int | None: ...
    @property
    def context(self) -> Mapping[str, Any] | None: ...
    @property
    def effects(self) -> Effects | None: ...
    @property
    def indirect_of(self) -> UUID | None: ...


def operation_of(event: FeedEventLike) -> Operation:
    """CREATE, UPDATE or DELETE, also where the feed has an enumeration for it. Raises InvalidRequest."""
    name = event.type.value if isinstance(event.type, Enum) else event.type
    if name not in ("CREATE", "UPDATE", "DELETE"):
        raise InvalidRequest("type", name, "an event is CREATE, UPDATE or DELETE")
    return name


def version_of(event: FeedEventLike) -> int:
    """The change version. Raises InvalidRequest for one of more than 64 bits, as DynamoDB's streams have."""
    if event.change_version > MAX_VERSION:
        raise InvalidRequest("change_version", event.change_version, "an event of this format has a version of 64 bits at most")
    return event.change_version


def entity_id_of(event: FeedEventLike) -> UUID:
    """The document's uuid; where it has none, one made of its resource and its key or id, always the same."""
    key = event.key
    named = key_of(event)
    return entity_id(key.document_uuid, event.resource, key.document_id if named is None else named)


def key_of(event: FeedEventLike) -> Any:
    """The key values as JSON has them, None where they are not known; no object where another program has written them so."""
    return _plain(event.key.key_values)


def old_key_of(event: FeedEventLike) -> Any:
    """The key values before the event as JSON has them; None where the event did not change them, or where they are not known."""
    return _plain(event.key.old_key_values)


def changes_of(event: FeedEventLike) -> tuple[Difference, ...] | None:
    """The fields of the body and of the key that an update changed; None where that is not known."""
    before, after = images_of(event)
    return changed(before, after, old_key_of(event), key_of(event))


def entity_id(document_uuid: UUID | None, resource: ResourceKey, named: object) -> UUID:
    """The uuid, or one made of the resource and of what names the document in it."""
    if document_uuid is not None:
        return document_uuid
    text = json_rows([str(resource), named])
    return uuid5(_NO_UUID, canonical_json(text.encode()).decode())


def images_of(event: FeedEventLike) -> tuple[Any, Any]:
    """The document before and after; None for what is not known or was not there."""
    state = event.item_state
    return (None, None) if state is None else (_plain(state.before), _plain(state.after))


def _plain(value: Any) -> Any:
    return value if isinstance(value, dict) or not isinstance(value, Mapping) else dict(value)
