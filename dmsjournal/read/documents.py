"""Documents as the database has them now, for consumers that a change has told of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from dmsjournal.database.session import Session
from dmsjournal.model.references import Renamed, with_new_keys
from dmsjournal.model.resources import ResourceKey


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as it is now. `body` is None where none is kept; numbers that are not whole are Decimals."""

    document_id: int
    document_uuid: UUID
    resource: ResourceKey
    key_values: Mapping[str, object] | None
    body: Mapping[str, object] | None


def read_documents(session: Session, document_ids: Sequence[int], *, with_values: bool = True) -> dict[int, StoredDocument]:
    """The documents that exist, by id; see Journal.documents. Without their values, keys and bodies are None."""
    rows = session.execute("read/read_documents", document_ids=sorted(set(document_ids)), with_values=with_values).all()
    bodies = tracked_bodies(session, [row.document_id for row in rows if with_values and row.body is None])
    return {
        row.document_id: StoredDocument(
            row.document_id,
            row.document_uuid,
            ResourceKey(row.project_name, row.resource_name, row.resource_version),
            row.key_values,
            bodies.get(row.document_id, row.body),
        )
        for row in rows
    }


def with_current_references(session: Session, documents: Mapping[int, StoredDocument]) -> dict[int, StoredDocument]:
    """The documents, with bodies that show the keys which other documents have now in place of earlier ones."""
    renamed: dict[int, list[Renamed]] = {}
    bodies = {document_id: found.body for document_id, found in documents.items() if isinstance(found.body, Mapping)}
    for row in session.execute("read/renamed_children", document_ids=sorted(bodies)) if bodies else ():
        if isinstance(row.new_key_values, Mapping) and isinstance(row.old_key_values, Mapping | None):
            renamed.setdefault(row.document_id, []).append(Renamed(row.resource_name, row.old_key_values, row.new_key_values))
    return {
        document_id: replace(found, body=with_new_keys(bodies[document_id], renamed[document_id]))
        if document_id in renamed
        else found
        for document_id, found in documents.items()
    }


def tracked_bodies(session: Session, document_ids: Sequence[int]) -> dict[int, Mapping[str, object]]:
    """The rows of tracked tables as they are now, by the ids of their documents; none without option tracking."""
    if not document_ids or "tracking" not in session.options:
        return {}
    return {row.document_id: row.body for row in session.execute("read/tracked_bodies", document_ids=list(document_ids))}
