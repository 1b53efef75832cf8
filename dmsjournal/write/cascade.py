"""Deleting a document together with whatever refers to it, referrers first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from dmsjournal.database.session import Session
from dmsjournal.errors import InvalidRequest
from dmsjournal.model.resources import ResourceKey

CASCADE_LIMIT = 10_000  # documents of one cascade
_EDGES = 100_000  # that refer to them

_Edges = set[tuple[int, int]]  # (parent, child): the parent refers to the child


@dataclass(frozen=True, slots=True)
class Deleted:
    """A document that a cascade deleted. `resource` is None where its names are none that a ResourceKey can have."""

    document_id: int
    document_uuid: UUID
    resource: ResourceKey | None
    key_values: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Referrers:
    """What goes before a document, locked: groups in the order in which to delete them, and the edges that would forbid it.

    Those are edges between documents of a cycle, and from the document itself into what refers to it.
    """

    rows: Mapping[int, Any]  # of lock_documents, the document's own included
    groups: list[list[int]]
    closing: list[tuple[int, int]]


def locked_referrers(session: Session, document_id: int) -> Referrers:
    """Whatever refers to a document, directly or not, locked in ascending DocumentId and read again until nothing came in between.

    Raises InvalidRequest where it is more than CASCADE_LIMIT documents.
    """
    rows: dict[int, Any] = {}
    while True:
        edges = _closure(session, document_id)
        ids = {document_id, *(parent for parent, _ in edges)}
        if ids == rows.keys():
            return Referrers(rows, *_referrers_first(edges, document_id))
        rows = {row.document_id: row for row in session.execute("write/lock_documents", document_ids=sorted(ids))}
        if document_id not in rows:
            return Referrers(rows, [], [])


def delete_groups(session: Session, referrers: Referrers) -> list[int]:
    """Deletes them; returns their ids in the order of their going."""
    if referrers.closing:
        session.execute(
            "write/delete_edges", rows=[{"parent_id": parent, "child_id": child} for parent, child in referrers.closing]
        )
    for group in referrers.groups:
        session.execute("write/delete_documents", document_ids=group)
    return [document_id for group in referrers.groups for document_id in group]


def _closure(session: Session, document_id: int) -> _Edges:
    """The edges between a document and all that refers to it, directly or not."""
    edges: _Edges = set()
    known, new = {document_id}, [document_id]
    while new:
        found = session.execute("write/referrers", document_ids=new, most=_EDGES - len(edges)).all()
        edges.update((row.parent_id, row.child_id) for row in found)
        new = sorted({row.parent_id for row in found} - known)
        known.update(new)
        if len(known) - 1 > CASCADE_LIMIT or len(edges) >= _EDGES:
            raise InvalidRequest(
                "cascade",
                True,
                f"more than {CASCADE_LIMIT:,} documents, or {_EDGES:,} references, lead to document {document_id}: delete in parts "
                "what refers to it",
            )
    return edges


def _referrers_first(edges: _Edges, document_id: int) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """Groups of documents, none of which a document that is left refers to; and the edges to delete before, so that it is so."""
    closing = {(parent, child) for parent, child in edges if parent == document_id}
    left = edges - closing
    waiting = {parent for parent, _ in left}
    groups: list[list[int]] = []
    while waiting:
        group = waiting - {child for _, child in left}
        if not group:
            group = {_in_a_cycle(left, waiting)}
            closing |= {(parent, child) for parent, child in left if child in group}
        groups.append(sorted(group))
        waiting -= group
        left = {(parent, child) for parent, child in left if parent not in group and child not in group}
    return groups, sorted(closing)


def _in_a_cycle(edges: _Edges, waiting: set[int]) -> int:
    """A document that refers to itself through others, where each that waits is referred to."""
    referrer_of = {child: parent for parent, child in sorted(edges)}
    document_id, seen = min(waiting), set()
    while document_id not in seen:
        seen.add(document_id)
        document_id = referrer_of[document_id]
    return document_id
