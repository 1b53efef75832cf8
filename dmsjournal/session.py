"""A session: one connection in one transaction, and the statements of its engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from dmsjournal import statements


@dataclass(slots=True)
class Session:
    """A connection in a transaction, which speaks the SQL of its engine. `failed`: a statement of it was refused."""

    conn: sa.Connection
    engine: str
    failed: bool = False

    def execute(self, name: str, **binds: object) -> sa.CursorResult[Any]:
        """Runs sql/<engine>/queries/<name>.sql; a list is bound as a JSON array, which both engines read as a set."""
        bound = {key: statements.rows(value) if isinstance(value, list) else value for key, value in binds.items()}
        try:
            return self.conn.execute(statements.query(self.engine, name), bound)
        except exc.DBAPIError:
            self.failed = True
            raise
