"""Events of the change feed: what happened to one document, in the shape that every provider gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from dmsjournal.model.resources import ResourceKey


class FeedEventType(StrEnum):
    """What happened to the document.

    A changed identity is an UPDATE. An indirect change, of what a document refers to, is one only where the request asks for it.
    """

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class FeedKey:
    """Which document: its uuid, its key values as of the event, and its id inside the database.

    `old_key_values` is the key before the event, None where the event did not change it.

    Portability: a provider without documents of its own gives `key_values` alone. A journal gives all three; the uuid and the
    values are None only where a document has gone past the triggers, which `verify` finds.
    """

    document_uuid: UUID | None
    key_values: Mapping[str, object] | None
    document_id: int | None = None
    old_key_values: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Effect:
    """A document that changed because another one did.

    `change_version` is its own event's, in the same transaction; None where it has none: what it refers to has another identity.
    `reason` is what its writer said, else "referenced_identity_changed", "parent_deleted" or "parent_changed". `changes` are the
    paths of the fields that its event changed, None where that is not known.
    """

    document_id: int
    document_uuid: UUID | None
    resource: ResourceKey
    reason: str
    change_version: int | None = None
    changes: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Effects:
    """What changed, and what was deleted, because of an event. `truncated` is how many more there were, as far as was looked."""

    updated: Sequence[Effect] = ()
    deleted: Sequence[Effect] = ()
    truncated: int = 0


@dataclass(frozen=True, slots=True)
class ItemState:
    """The document's body after the event and before it, None where it is not known, or where there was none.

    Numbers that are not whole are Decimals. Portability: `before` needs a provider whose capabilities name `item_state_before`.
    """

    after: Mapping[str, object] | None
    before: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """One journaled change of one document.

    `event_id` is the same at every read, on every node and after a restore of the same history: duplicates are told by it.
    `change_version` orders the events of a scope, together with the document's id; versions have gaps. `timestamp` is UTC, of the
    provider's clock, and orders nothing. `item_state` is None where it was not asked for or is not kept. `transaction_id` is the
    database's, None where the provider has none. `context` is what its writer said caused it, None where nothing was said.
    `effects` is what else changed because of it, None where the request did not ask. `indirect_of` is the id of the event that
    changed the identity of what the document refers to, None where the document itself was written.
    Portability: `context` needs a provider whose capabilities name `contexts`; a `change_version` may have more than 64 bits, and
    a `timestamp` whole seconds only. Source: docs/how-it-works.md, The feed.
    """

    event_id: UUID
    key: FeedKey
    resource: ResourceKey
    type: FeedEventType
    timestamp: datetime
    change_version: int
    item_state: ItemState | None = None
    transaction_id: int | None = None
    context: Mapping[str, object] | None = None
    effects: Effects | None = None
    indirect_of: UUID | None = None
