"""Operations for a team's own Alembic migrations: `import dmsjournal.alembic`, then op.track_table and op.untrack_table.

They run in the migration's transaction, also offline (`alembic upgrade --sql`). Source: docs/dba/track.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic.operations import MigrateOperation, Operations

from dmsjournal.database.connect import translated
from dmsjournal.database.engines import engine_of_dialect
from dmsjournal.errors import InvalidRequest
from dmsjournal.model.resources import ResourceKey
from dmsjournal.operate.tracking import TrackedTable, literal_of, naming, statement_of

__all__ = ["TrackTableOp", "UntrackTableOp"]


@Operations.register_operation("track_table")
class TrackTableOp(MigrateOperation):
    """op.track_table: tracks a table; with `fill`, the rows that are there become documents in the same transaction."""

    def __init__(self, table: TrackedTable, *, fill: bool = True) -> None:
        self.table, self.fill = table, fill

    @classmethod
    def track_table(
        cls,
        operations: Operations,
        table: str | sa.Table | TrackedTable,
        *,
        resource: ResourceKey | None = None,
        shows: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        key: str | None = None,
        bodies: bool = False,
        trust: bool = False,
        fill: bool = True,
    ) -> None:
        """Tracks a table, named as SQL has it with its schema, or as SQLAlchemy describes it.

        Where it is large, fill it afterwards: `fill=False`, and dmsjournal track --renew. Online it raises what Journal.track does.
        """
        settings: dict[str, Any] = {"resource": resource, "key": key, "bodies": bodies, "trust": trust}
        if isinstance(table, TrackedTable):
            said = {name for name, value in (settings | {"shows": shows, "columns": columns}).items() if value not in (None, False)}
            if said:
                raise InvalidRequest(", ".join(sorted(said)), table.table, "give it to the TrackedTable")
        elif isinstance(table, sa.Table):
            given = {name: value for name, value in (("shows", shows), ("columns", columns)) if value is not None}
            table = TrackedTable.of(table, dialect=operations.get_context().dialect, **settings, **given)
        elif isinstance(table, str):
            table = TrackedTable(table, shows=shows, columns=columns, **settings)
        operations.invoke(cls(table, fill=fill))

    def reverse(self) -> UntrackTableOp:
        """What undoes it."""
        return UntrackTableOp(self.table.table, table=self.table)

    def to_diff_tuple(self) -> tuple[str, str]:
        """As Alembic tells it."""
        return ("track_table", self.table.table)


@Operations.register_operation("untrack_table")
class UntrackTableOp(MigrateOperation):
    """op.untrack_table: tracks a table no more; its documents go, and their tombstones say so, unless keep_documents."""

    def __init__(self, name: str, *, keep_documents: bool = False, table: TrackedTable | None = None) -> None:
        self.name, self.keep_documents, self.table = name, keep_documents, table

    @classmethod
    def untrack_table(cls, operations: Operations, table: str | sa.Table, *, keep_documents: bool = False) -> None:
        """Tracks a table no more, named as SQL has it with its schema, or as SQLAlchemy describes it."""
        if isinstance(table, sa.Table):
            table = TrackedTable.of(table, dialect=operations.get_context().dialect).table
        operations.invoke(cls(table, keep_documents=keep_documents))

    def reverse(self) -> TrackTableOp:
        """What undoes it."""
        return TrackTableOp(self.table or TrackedTable(self.name))

    def to_diff_tuple(self) -> tuple[str, str]:
        """As Alembic tells it."""
        return ("untrack_table", self.name)


@Operations.implementation_for(TrackTableOp)
def _track(operations: Operations, operation: TrackTableOp) -> None:
    _execute(operations, "operate/track", operation.table.binds())
    if operation.fill:
        _execute(operations, "operate/fill_table", {"table_name": operation.table.table})


@Operations.implementation_for(UntrackTableOp)
def _untrack(operations: Operations, operation: UntrackTableOp) -> None:
    _execute(operations, "operate/untrack", {"table_name": operation.name, "keep_documents": operation.keep_documents})


def _execute(operations: Operations, name: str, binds: dict[str, object]) -> None:
    engine = engine_of_dialect(operations.get_context().dialect.name)
    context = operations.get_context()
    if context.as_sql:
        context.impl.static_output(literal_of(engine, name, binds) + ("\nGO" if engine.SEPARATOR else ""))  # each declares its own
    else:
        shows = binds.get("shows")
        with naming(str(binds["table_name"]), shows if isinstance(shows, list) else None), translated():
            operations.execute(statement_of(engine, name, binds))
