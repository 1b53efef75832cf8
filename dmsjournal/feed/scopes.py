"""Scopes: which part of a feed is read. Within a scope, events come in order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec

from dmsjournal.errors import InvalidRequest
from dmsjournal.model.documents import as_json
from dmsjournal.model.resources import ResourceKey
from dmsjournal.model.windows import checked_id
from dmsjournal.util.json import canonical_json, decoded

_LONGEST_PARTITION = 256


@dataclass(frozen=True, slots=True)
class EntireCollection:
    """All documents.

    Portability: all events come in one order only where the provider's capabilities say `total_order`; else a document's own do.
    """


@dataclass(frozen=True, slots=True)
class PhysicalPartition:
    """One of the parts that the provider cuts its documents into: the id of one that `list_physical_partitions` gives.

    The parts change while they are read: a retired one names its children (`FeedPage.child_partitions`). Raises InvalidRequest.
    """

    id: str

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not 1 <= len(self.id) <= _LONGEST_PARTITION:
            raise InvalidRequest("scope.id", self.id, "pass the id of one that list_physical_partitions gives")


@dataclass(frozen=True, slots=True)
class LogicalPartition:
    """The documents of one resource, or those of a key, or one document: give `resource`, `resource` and `key`, or `document_id`.

    `key` is a document's own, as JSON's values: its scope has the events of whatever document had it, as of each event; a key
    change is in the scopes of both keys. Events of a document or a key are looked for among all others': such pages are often
    empty, and their tokens advance all the same.
    Portability: not every provider has them (`logical_partitions`). Raises InvalidRequest.
    """

    resource: ResourceKey | None = None
    document_id: int | None = None
    key: Mapping[str, object] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        if self.key is not None:
            if not isinstance(self.key, Mapping) or not self.key:
                raise InvalidRequest("scope.key", self.key, "pass the document's key values, by name")
            if self.resource is None:
                raise InvalidRequest("scope.key", self.key, "give the resource of the key, too")
            canonical_json(as_json("scope.key", self.key))
        if (self.resource is None) == (self.document_id is None):
            raise InvalidRequest("scope", self, "give a resource or a document_id, one of the two")
        if self.resource is not None and not isinstance(self.resource, ResourceKey):
            raise InvalidRequest("scope.resource", self.resource, "pass a ResourceKey(project, resource, version)")
        if self.document_id is not None:
            checked_id("scope.document_id", self.document_id)


FeedScope: TypeAlias = EntireCollection | PhysicalPartition | LogicalPartition


def described(scope: FeedScope) -> str:
    """A text that is one scope's alone: what tokens are compared by."""
    if isinstance(scope, PhysicalPartition):
        return f"partition {scope.id}"
    if isinstance(scope, LogicalPartition):
        if scope.resource is None:
            return f"document {scope.document_id}"
        of = "" if scope.key is None else f" key {text_of_key(scope.key)}"
        return f"resource {named(scope.resource)}{of}"
    return "all"


def text_of_key(key: Mapping[str, object]) -> str:
    """A text that is one key's alone."""
    return canonical_json(as_json("scope.key", dict(key))).decode()


def named(resource: ResourceKey) -> str:
    """A text that is one resource's alone, which str() is not: names that another program wrote may hold a slash."""
    return json.dumps([resource.project_name, resource.resource_name, resource.resource_version])


def scope_of(text: str) -> FeedScope:
    """The inverse of described. Raises ValueError, InvalidRequest."""
    kind, _, rest = text.partition(" ")
    match kind:
        case "all" if text == "all":
            return EntireCollection()
        case "partition":
            return PhysicalPartition(rest)
        case "document":
            return LogicalPartition(document_id=int(rest))
        case "resource":
            of, keyed, key = rest.partition("] key {")
            if keyed:
                return LogicalPartition(resource_of(f"{of}]"), key=decoded("{" + key))
            return LogicalPartition(resource_of(rest))
    raise ValueError("no such scope")


def resource_of(text: str) -> ResourceKey:
    """The inverse of named. Raises ValueError, InvalidRequest."""
    project, name, version = msgspec.json.decode(text, type=tuple[str, str, str])
    return ResourceKey(project, name, version)
