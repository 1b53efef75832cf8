"""A session: one connection in one transaction, and the statements of its engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from dmsjournal import statements


@dataclass(frozen=True, slots=True)
class Session:
    """A connection in a transaction, which speaks the SQL of its engine."""

    conn: sa.Connection
    engine: str

    def execute(self, name: str, **binds: object) -> sa.CursorResult[Any]:
        """Runs sql/<engine>/queries/<name>.sql; a list is bound as a JSON array, which both engines read as a set."""
        bound = {key: statements.rows(value) if isinstance(value, list) else value for key, value in binds.items()}
        return self.conn.execute(statements.query(self.engine, name), bound)
