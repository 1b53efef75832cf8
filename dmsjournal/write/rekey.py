"""Identity changes: a document's new key, and every document whose identity contains it."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import exc

from dmsjournal.database.connect import is_retried
from dmsjournal.database.session import Session
from dmsjournal.errors import InvalidRequest, Unavailable
from dmsjournal.model.documents import Key, as_json, canonical, described, etag_of, same_value
from dmsjournal.model.references import Renamed, role_names, with_new_keys
from dmsjournal.model.resources import ResourceKey
from dmsjournal.read.documents import read_documents
from dmsjournal.util.backoff import Backoff
from dmsjournal.write.upsert import lock_creation, lock_identities

logger = logging.getLogger(__name__)

_TRIES = 5

_KeyValues = Mapping[str, Any]


def rekey(
    session: Session, resources: Mapping[ResourceKey, int], document_id: int, key_values: _KeyValues, new_key_values: _KeyValues
) -> int:
    """See WriteTransaction.rekey. Tries again, a bounded number of times, where it met another identity change in a deadlock."""
    backoff = Backoff(0.05, 0.2)
    for attempt in range(1, _TRIES + 1):
        try:
            with session.savepoint():  # rolled back, it lets go of the locks that were in the other's way
                return _rekey(session, resources, document_id, key_values, new_key_values)
        except exc.DBAPIError as error:
            if not is_retried(error):
                raise
            logger.info(
                "identity change met another one, attempt %d of %d", attempt, _TRIES, extra={"action": "rekey", "attempt": attempt}
            )
            last = error
        time.sleep(backoff.next())
    raise Unavailable(f"{_TRIES} attempts of an identity change each met another one in a deadlock") from last


def _rekey(
    session: Session, resources: Mapping[ResourceKey, int], document_id: int, old_key_values: _KeyValues, new_key_values: _KeyValues
) -> int:
    names = {resource_key_id: resource for resource, resource_key_id in resources.items()}
    rows, edges = _locked_closure(session, names, document_id)
    if document_id not in rows or _key(names, rows[document_id]) != canonical(_key(names, rows[document_id])[0], old_key_values):
        raise Unavailable(f"document {document_id} was deleted or given another key meanwhile")
    new = {document_id: dict(new_key_values)}
    for parent_id, child_ids in _children_first(edges, document_id):
        key_values = dict(_key_values(rows[parent_id]))
        for child_id in child_ids:
            key_values = _follow(key_values, _key_values(rows[child_id]), new[child_id], parent_id)
        new[parent_id] = key_values

    moved = {
        i: key_values
        for i, key_values in new.items()
        if canonical(names[rows[i].resource_key_id], key_values) != _key(names, rows[i])
    }
    if not moved:
        return 0
    _refuse_taken(session, {i: (rows[i].resource_key_id, names[rows[i].resource_key_id], key) for i, key in moved.items()})
    session.execute(
        "write/rekey_documents",
        rows=[{"document_id": i, "is_moved": i in moved, "key_values": moved.get(i)} for i in sorted(new)],
    )
    renamed = {i: Renamed(names[rows[i].resource_key_id].resource_name, _key_values(rows[i]), key) for i, key in moved.items()}
    children: dict[int, list[Renamed]] = {}
    for parent_id, child_id in edges:
        if child_id in renamed:
            children.setdefault(parent_id, []).append(renamed[child_id])
    _rewrite_bodies(session, new, moved, children)
    return len(new)


def _rewrite_bodies(
    session: Session, stamped: Collection[int], moved: Mapping[int, _KeyValues], children: Mapping[int, Sequence[Renamed]]
) -> None:
    """The references in a body follow; and a value at its top, under a name of the document's own key, becomes the key's."""
    rows = []
    for document_id, stored in read_documents(session, sorted(moved.keys() | children.keys())).items():
        before = stored.body if isinstance(stored.body, Mapping) else {}
        body = dict(with_new_keys(before, children.get(document_id, ())))
        body |= {name: value for name, value in moved.get(document_id, {}).items() if name in before}
        if body != before:
            text = as_json("body", body)
            rows.append({"document_id": document_id, "body": msgspec.Raw(text), "etag": etag_of(text)})
    if rows:
        session.execute("write/update_bodies", rows=rows, document_ids=sorted(stamped))


def _key(names: Mapping[int, ResourceKey], row: Any) -> Key:
    return canonical(names[row.resource_key_id], _key_values(row))


def _key_values(row: Any) -> _KeyValues:
    """A document's key values; none where another program wrote something else there, which no key can follow."""
    return row.key_values if isinstance(row.key_values, Mapping) else {}


def _locked_closure(
    session: Session, names: Mapping[int, ResourceKey], document_id: int
) -> tuple[dict[int, Any], list[tuple[int, int]]]:
    """The closure's documents, locked in ascending DocumentId, and its edges; read again until no edge came in between.

    The keys are locked too, so that no document which contains one of them comes while they change.
    """
    rows: dict[int, Any] = {}
    while True:
        edges = [(row.parent_id, row.child_id) for row in session.execute("write/identity_closure", document_id=document_id)]
        ids = {document_id, *(parent for parent, _ in edges)}
        if ids == rows.keys():
            return rows, edges
        listed = session.execute("read/documents", document_ids=sorted(ids)).all()
        lock_identities(session, (_key(names, row) for row in listed))
        rows = {row.document_id: row for row in session.execute("write/lock_documents", document_ids=sorted(ids))}
        if document_id not in rows:
            return rows, []


def _children_first(edges: list[tuple[int, int]], start: int) -> list[tuple[int, list[int]]]:
    """Each parent with its children in the closure, after all of those. Raises InvalidRequest where identities form a cycle."""
    children: dict[int, list[int]] = {}
    for parent, child in edges:
        children.setdefault(parent, []).append(child)
    done = {start}
    order: list[tuple[int, list[int]]] = []
    while len(order) < len(children):
        ready = [parent for parent in children if parent not in done and done.issuperset(children[parent])]
        if not ready:
            raise InvalidRequest("key_values", start, "the identities of the documents that contain this one form a cycle")
        done.update(ready)
        order += [(parent, children[parent]) for parent in ready]
    return order


def _follow(key_values: dict[str, Any], old: _KeyValues, new: _KeyValues, parent_id: int) -> dict[str, Any]:
    """A parent's key values after a child's key went from old to new.

    The value follows that has the child's name; else the one that has it with a role before it (programEducationOrganizationId);
    else the only one that equals the old value (a descriptor's URI, an id under a general name). None: the key does not show it.
    """
    followed = dict(key_values)
    for name, value in old.items():
        if name not in new or same_value(new[name], value):
            continue
        equal = [own for own in key_values if same_value(key_values[own], value)]
        candidates = role_names(equal, name) or equal
        if len(candidates) > 1:
            raise InvalidRequest(
                "new_key_values",
                name,
                f"document {parent_id} has its old value in {' and '.join(candidates)}: give that document its key first",
            )
        for own in candidates:
            followed[own] = new[name]
    return followed


def _refuse_taken(session: Session, moved: Mapping[int, tuple[int, ResourceKey, _KeyValues]]) -> None:
    """Raises InvalidRequest where another document has one of the new keys, or two documents come to one key."""
    keys: dict[Key, int] = {}
    for document_id, (_, resource, key_values) in moved.items():
        key = canonical(resource, key_values)
        if key in keys:
            raise InvalidRequest(
                "new_key_values",
                dict(key_values),
                f"documents {keys[key]} and {document_id} would both be {described(resource, key_values)}",
            )
        keys[key] = document_id
    lock_creation(session, keys)
    listed = list(moved)
    rows = [{"ordinal": position, "resource_key_id": moved[i][0], "key_values": moved[i][2]} for position, i in enumerate(listed)]
    for row in session.execute("write/find_documents", rows=rows):
        if row.document_id not in moved:
            _, resource, key_values = moved[listed[row.ordinal]]
            raise InvalidRequest(
                "new_key_values", dict(key_values), f"document {row.document_id} is {described(resource, key_values)}"
            )
