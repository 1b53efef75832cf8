"""Resources that are tables of others: their rows are written, never their documents."""

from __future__ import annotations

from collections.abc import Iterable

from dmsjournal.database.session import Session
from dmsjournal.errors import InvalidRequest
from dmsjournal.model.resources import ResourceKey


def refuse_tracked(session: Session, resources: Iterable[ResourceKey]) -> None:
    """Raises InvalidRequest for a resource whose documents are rows of a tracked table, naming the table."""
    if "tracking" not in session.options:
        return
    tables = {
        (row.project_name, row.resource_name, row.resource_version): row.table_name
        for row in session.execute("write/tracked_resources")
    }
    for resource in resources:
        table = tables.get((resource.project_name, resource.resource_name, resource.resource_version))
        if table is not None:
            raise InvalidRequest("resource", str(resource), f"its documents are the rows of table {table}: write that table")
