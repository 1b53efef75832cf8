"""The resources that a database knows, by name and by id."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from dmsjournal.database.session import Session
from dmsjournal.errors import DatabaseRefused, InvalidRequest, near_matches
from dmsjournal.model.documents import checked_resource
from dmsjournal.model.resources import ResourceKey


class ResourceIds:
    """dms.ResourceKey, read when an unknown name is asked for; an id once seen never changes."""

    def __init__(self) -> None:
        self._ids: dict[ResourceKey, int] = {}
        self._names: dict[int, ResourceKey] = {}

    def refresh(self, session: Session) -> dict[ResourceKey, int]:
        """All resources and their ids, as of now."""
        rows = session.execute("database/resource_keys")
        found, names = {}, {}
        for row in rows:
            stored = (row.project_name, row.resource_name, row.resource_version)
            names[row.resource_key_id] = ResourceKey.stored(*stored)
            with suppress(InvalidRequest):  # names that another program wrote, and that nobody can ask for
                found[ResourceKey(*stored)] = row.resource_key_id
        self._ids, self._names = found, names
        return found

    def known(self, session: Session, resources: set[ResourceKey]) -> dict[ResourceKey, int]:
        """The ids that are known; read again where one of these resources is not among them."""
        return self._ids if resources <= self._ids.keys() else self.refresh(session)

    def id_of(self, session: Session, resource: ResourceKey) -> int:
        """The id of a resource. Raises InvalidRequest for one that the database does not know, with near matches."""
        checked_resource("resource", resource)
        if resource not in self.known(session, {resource}):
            known = [str(key) for key in self._ids]
            raise InvalidRequest(
                "resource", str(resource), f"the database knows no such resource; {near_matches(str(resource), known)}"
            )
        return self._ids[resource]

    def among(self, session: Session, resources: Collection[ResourceKey] | None) -> dict[ResourceKey, int]:
        """The ids of the resources, of all that there are where none are named, as of now. Raises InvalidRequest as id_of does."""
        known = dict(self.refresh(session))
        return known if resources is None else {each: self.id_of(session, each) for each in resources}

    def names_of(self, session: Session, ids: set[int]) -> dict[int, ResourceKey]:
        """The resources of some ids. Raises DatabaseRefused for one whose row is gone, though events have it."""
        if not ids <= self._names.keys():
            self.refresh(session)
        missing = sorted(ids - self._names.keys())
        if missing:
            raise DatabaseRefused(None, f"dms.ResourceKey has lost id {missing[0]}, which events have", "put its row back")
        return self._names

    def add(self, session: Session, resources: set[ResourceKey]) -> dict[ResourceKey, int]:
        """The ids of the resources, those that were not known among them added. For a registry that ends with its transaction."""
        known = self.known(session, resources)
        missing = sorted(resources - known.keys())
        if missing:
            rows = [
                {"project_name": key.project_name, "resource_name": key.resource_name, "resource_version": key.resource_version}
                for key in missing
            ]
            session.execute("database/add_resource_keys", rows=rows)
            known = self.refresh(session)
        return known
