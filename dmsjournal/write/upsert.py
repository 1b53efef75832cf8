"""A batch of documents, written together: a handful of statements, whatever its size."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import msgspec
from sqlalchemy import exc

from dmsjournal.database.connect import violates
from dmsjournal.database.resource_ids import ResourceIds
from dmsjournal.database.session import Session
from dmsjournal.errors import InvalidRequest, JournalError, Unavailable, UnknownReference
from dmsjournal.model.documents import Document, Key, Reference
from dmsjournal.model.resources import ResourceKey
from dmsjournal.write.tracked import refuse_tracked

_STRIPES = 256  # creation locks: enough that two writers of single documents rarely wait for each other, few enough to hold all

Rejected = Callable[[int, JournalError], None]


@dataclass(frozen=True, slots=True)
class Upserted:
    """What became of a document that was written: one of Created, Updated and Unchanged."""

    document_id: int
    document_uuid: UUID

    @property
    def outcome(self) -> str:
        """created, updated or unchanged."""
        return type(self).__name__.lower()


class Created(Upserted):
    """No document had the key."""


class Updated(Upserted):
    """A document had the key; its body or its references were other ones."""


class Unchanged(Upserted):
    """A document had the key, the same body (order of names, blanks and trailing zeros aside) and the same references."""


@dataclass(frozen=True, slots=True)
class _Found:
    document_id: int
    document_uuid: UUID
    same_body: bool


def lock_creation(session: Session, keys: Iterable[Key]) -> None:
    """Makes this transaction the only one of our writers to create these keys, until it ends.

    A lock for each of a few stripes of keys and not for each key, since the server's lock table is small.
    """
    session.execute("write/lock_creation", stripes=_stripes(keys))


def lock_identities(session: Session, keys: Iterable[Key]) -> None:
    """Keeps our other writers from writing a document whose identity contains one of these keys, until the transaction ends."""
    session.execute("write/lock_identities", stripes=_stripes(keys))


def _stripes(keys: Iterable[Key]) -> list[int]:
    return sorted({zlib.crc32(repr(key).encode("utf-8")) % _STRIPES for key in keys})


def upsert_batch(session: Session, registry: ResourceIds, documents: Sequence[Document], rejected: Rejected) -> list[Upserted]:
    """Writes documents with different keys in their order; each may refer to those before it.

    `rejected` is called with the position and the error of each document that cannot be written, before anything is.
    Raises Unavailable where another transaction got in between.
    """
    refuse_tracked(session, {document.resource for document in documents})
    ids = registry.add(session, {document.resource for document in documents})
    keys = [document.key for document in documents]
    contained = [reference.key for document in documents for reference in document.references if reference.identity_component]
    if contained:  # else one could be renamed before this document's key, which shows it, is there to follow
        session.execute("write/share_identities", stripes=_stripes(contained))
    found = _find(session, ids, documents)
    if len(found) < len(documents):
        lock_creation(session, (key for position, key in enumerate(keys) if position not in found))
        found = _find(session, ids, documents)  # again: a transaction that was waited for may have created some

    uuids, errors = _uuids(session, documents, found)
    children = _resolve(session, registry, documents, keys, errors)
    for position, error in sorted(errors.items()):
        rejected(position, error)
    accepted = [position for position in range(len(documents)) if position not in errors]

    created = _create(session, ids, documents, [p for p in accepted if p not in found], uuids)
    written = {p: created[p] if p in created else found[p] for p in accepted}
    id_of = {keys[p]: written[p].document_id for p in accepted}
    wished = {
        written[p].document_id: {id_of[child] if isinstance(child, tuple) else child: own for child, own in children[p].items()}
        for p in accepted
    }

    existing = [p for p in accepted if p not in created]
    edges = _edges_of(session, [written[p].document_id for p in existing])
    changed = [p for p in existing if not written[p].same_body or edges[written[p].document_id] != wished[written[p].document_id]]
    locked = _lock(session, ids, [documents[p] for p in changed], [written[p] for p in changed])
    edges |= _edges_of(session, [document.document_id for document in locked])
    _update(session, {w.document_id: documents[p] for p, w in zip(changed, locked, strict=True) if not w.same_body})
    _replace_edges(session, edges, {written[p].document_id: wished[written[p].document_id] for p in (*created, *changed)})

    kinds = dict.fromkeys(created, Created) | dict.fromkeys(changed, Updated)
    return [kinds.get(p, Unchanged)(written[p].document_id, written[p].document_uuid) for p in accepted]


def _find(session: Session, ids: Mapping[ResourceKey, int], documents: Sequence[Document]) -> dict[int, _Found]:
    rows = [
        {
            "ordinal": position,
            "resource_key_id": ids[document.resource],
            "key_values": document.key_values,
            **body_columns(document),
        }
        for position, document in enumerate(documents)
    ]
    found: dict[int, _Found] = {}
    for row in session.execute("write/find_documents", rows=rows):
        found.setdefault(row.ordinal, _Found(row.document_id, row.document_uuid, row.same_body))
    return found


def _uuids(
    session: Session, documents: Sequence[Document], found: Mapping[int, _Found]
) -> tuple[dict[int, UUID], dict[int, JournalError]]:
    """A uuid for each new document: the one it wishes, unless that names a lifetime which has ended; an error if it is taken."""
    new = [position for position in range(len(documents)) if position not in found]
    wished = {documents[position].document_uuid for position in new} - {None}
    used = {row.document_uuid: row.is_alive for row in session.execute("write/used_uuids", uuids=list(wished))} if wished else {}
    uuids: dict[int, UUID] = {}
    errors: dict[int, JournalError] = {}
    for position in new:
        wish = documents[position].document_uuid
        if wish is not None and used.get(wish):
            errors[position] = InvalidRequest("document_uuid", str(wish), f"another document has it than {documents[position]}")
        uuids[position] = uuid4() if wish is None or wish in used else wish
        if wish is not None:
            used.setdefault(wish, True)
    return uuids, errors


def _resolve(
    session: Session,
    registry: ResourceIds,
    documents: Sequence[Document],
    keys: Sequence[Key],
    errors: dict[int, JournalError],
) -> list[dict[int | Key, bool]]:
    """What each document refers to: the id of a document, or the key of one in this batch. Adds to the errors."""
    wanted: dict[Key, Reference] = {}
    for document in documents:
        for reference in document.references:
            wanted.setdefault(reference.key, reference)
    ids = registry.known(session, {reference.resource for reference in wanted.values()})
    listed = [key for key, reference in wanted.items() if reference.resource in ids]
    rows = [
        {"ordinal": position, "resource_key_id": ids[wanted[key].resource], "key_values": wanted[key].key_values}
        for position, key in enumerate(listed)
    ]
    known: dict[Key, int] = {}
    for row in session.execute("write/find_documents", rows=rows) if rows else ():
        known.setdefault(listed[row.ordinal], row.document_id)

    here: set[Key] = set()
    resolved: list[dict[int | Key, bool]] = []
    for position, document in enumerate(documents):
        children: dict[int | Key, bool] = {}
        for reference in document.references:
            key = reference.key
            child: int | Key | None = key if key in here or key == keys[position] else known.get(key)
            if child is None:
                errors.setdefault(position, UnknownReference(str(document), reference.resource, reference.key_values))
            else:
                children[child] = children.get(child, False) or reference.identity_component
        if position not in errors:
            here.add(keys[position])
        resolved.append(children)
    return resolved


def _create(
    session: Session,
    ids: Mapping[ResourceKey, int],
    documents: Sequence[Document],
    positions: Sequence[int],
    uuids: Mapping[int, UUID],
) -> dict[int, _Found]:
    if not positions:
        return {}
    rows = [
        {
            "document_uuid": uuids[position],
            "resource_key_id": ids[documents[position].resource],
            "key_values": documents[position].key_values,
            **body_columns(documents[position]),
        }
        for position in positions
    ]
    position_of = {uuids[position]: position for position in positions}
    try:
        inserted = session.execute("write/insert_documents", rows=rows).all()
    except exc.IntegrityError as error:
        if not violates(error, "UX_Document_DocumentUuid"):
            raise
        raise Unavailable("another transaction gave one of the uuids to a document meanwhile") from error
    return {position_of[row.document_uuid]: _Found(row.document_id, row.document_uuid, True) for row in inserted}


def body_columns(document: Document) -> dict[str, Any]:
    """The columns of dms.DocumentCache."""
    return {"body": msgspec.Raw(document.body_json), "etag": document.etag}


def _edges_of(session: Session, document_ids: list[int]) -> dict[int, dict[int, bool]]:
    edges: dict[int, dict[int, bool]] = {document_id: {} for document_id in document_ids}
    for row in session.execute("write/edges_of", document_ids=document_ids) if document_ids else ():
        edges[row.parent_id][row.child_id] = row.is_identity_component
    return edges


def _lock(session: Session, ids: Mapping[ResourceKey, int], documents: Sequence[Document], found: Sequence[_Found]) -> list[_Found]:
    """Locks documents against other writers, in ascending DocumentId, and looks again: nothing of them can change any more."""
    if not found:
        return []
    session.execute("write/lock_documents", document_ids=[document.document_id for document in found])
    locked = _find(session, ids, documents)
    for position, document in enumerate(found):
        if position not in locked or locked[position].document_id != document.document_id:
            raise Unavailable(f"{documents[position]} was deleted or given another key meanwhile")
    return [locked[position] for position in range(len(found))]


def _update(session: Session, bodies: Mapping[int, Document]) -> None:
    if bodies:
        session.execute(
            "write/update_documents", rows=[{"document_id": i, **body_columns(document)} for i, document in bodies.items()]
        )


def _replace_edges(session: Session, edges: Mapping[int, dict[int, bool]], wished: Mapping[int, dict[int, bool]]) -> None:
    """Replaces documents' edges as sets: only what differs is written."""
    rows: dict[str, list[dict[str, object]]] = {"write/delete_edges": [], "write/update_edges": [], "write/insert_edges": []}
    for parent_id, children in wished.items():
        before = edges.get(parent_id, {})
        for child_id in before.keys() - children.keys():
            rows["write/delete_edges"].append({"parent_id": parent_id, "child_id": child_id})
        for child_id, component in children.items():
            if before.get(child_id) is not component:
                name = "write/update_edges" if child_id in before else "write/insert_edges"
                rows[name].append({"parent_id": parent_id, "child_id": child_id, "is_identity_component": component})
    try:
        for name, changed in rows.items():
            if changed:
                session.execute(name, rows=changed)
    except exc.IntegrityError as error:
        if not violates(error, "FK_ReferenceEdge"):
            raise
        raise Unavailable("a document that is referred to was deleted meanwhile") from error
