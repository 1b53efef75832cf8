"""Dependencies: which resources refer to which."""

from __future__ import annotations

from collections.abc import Mapping

from dmsjournal.database.session import Session
from dmsjournal.model.resources import ResourceKey


def read_dependencies(session: Session, resources: Mapping[ResourceKey, int]) -> dict[ResourceKey, frozenset[ResourceKey]]:
    """What each of some resources refers to, or once did."""
    names = {resource_key_id: resource for resource, resource_key_id in resources.items()}
    found: dict[ResourceKey, set[ResourceKey]] = {resource: set() for resource in resources}
    for row in session.execute("read/dependencies"):
        if row.parent_id in names and row.child_id in names:
            found[names[row.parent_id]].add(names[row.child_id])
    return {resource: frozenset(children) for resource, children in found.items()}
