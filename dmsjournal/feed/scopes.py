"""Scopes: which part of a feed is read. Within a scope, events come in order."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TypeAlias

from dmsjournal.errors import InvalidRequest
from dmsjournal.resources import ResourceKey
from dmsjournal.windows import checked_id

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
    """The documents of one resource, or one document: give one of the two.

    One document's events are looked for among all others': its pages are often empty, and their tokens advance all the same.
    Portability: not every provider has them (`logical_partitions`). Raises InvalidRequest.
    """

    resource: ResourceKey | None = None
    document_id: int | None = None

    def __post_init__(self) -> None:
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
        return f"document {scope.document_id}" if scope.resource is None else f"resource {named(scope.resource)}"
    return "all"


def named(resource: ResourceKey) -> str:
    """A text that is one resource's alone, which str() is not: names that another program wrote may hold a slash."""
    return json.dumps([resource.project_name, resource.resource_name, resource.resource_version])
