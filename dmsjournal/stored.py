"""Documents as the database has them now, for consumers that a change has told of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from dmsjournal.resources import ResourceKey
from dmsjournal.session import Session


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as it is now. `body` is None where none is kept; numbers that are not whole are Decimals."""

    document_id: int
    document_uuid: UUID
    resource: ResourceKey
    key_values: Mapping[str, object] | None
    body: Mapping[str, object] | None


def read_documents(session: Session, document_ids: Sequence[int]) -> dict[int, StoredDocument]:
    """The documents that exist, by id; see Journal.documents."""
    return {
        row.document_id: StoredDocument(
            row.document_id,
            row.document_uuid,
            ResourceKey(row.project_name, row.resource_name, row.resource_version),
            row.key_values,
            row.body,
        )
        for row in session.execute("read_documents", document_ids=sorted(set(document_ids)))
    }
