"""A session: one connection in one transaction, and the statements of its engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from dmsjournal import results, statements


@dataclass(slots=True)
class Session:
    """A connection in a transaction, which speaks the SQL of its engine. `failed`: a statement of it was refused.

    `options` are the database's, as far as is known: a statement that needs one may find that it has gone.
    """

    conn: sa.Connection
    engine: str
    failed: bool = False
    options: frozenset[str] = frozenset()

    def execute(self, name: str, /, **binds: object) -> sa.Result[Any]:
        """Runs sql/<engine>/queries/<name>.sql; a list is bound as a JSON array, which both engines read as a set.

        All rows are fetched at once. An error may come with one of them, and SQL Server takes a result that nobody reads to its end
        for a cancelled one: with XACT_ABORT it would roll the transaction back, without a word.
        """
        with self._noting_failure():
            result = self._run(name, binds, {})
            return result.freeze()() if result.returns_rows else result

    def partitions(self, name: str, size: int, /, **binds: object) -> Iterator[Sequence[sa.Row[Any]]]:
        """The rows of a query, read as they are needed: `size` at a time, which is all that is held of them (see `execute`)."""
        with self._noting_failure(), self._run(name, binds, {"stream_results": True, "max_row_buffer": size}) as result:
            yield from result.partitions(size)

    def _run(self, name: str, binds: Mapping[str, object], options: Mapping[str, object]) -> sa.CursorResult[Any]:
        rows = statements.rows_of_text if self.engine == "sqlserver" else statements.rows
        bound = {key: rows(value) if isinstance(value, list) else value for key, value in binds.items()}
        if self.failed and self.engine == "sqlserver":  # the server has rolled back, and would begin another transaction unasked
            raise exc.PendingRollbackError("a statement of this transaction was refused")
        return self.conn.execute(results.query(self.engine, name), bound, execution_options=options)

    @contextmanager
    def _noting_failure(self) -> Iterator[None]:
        try:
            yield
        except exc.DBAPIError:
            self.failed = True
            raise

    def installing_command(self) -> str:
        """What brings the journal where it is not there or older: upgrade, or adopt where an adoption is on its way."""
        return "adopt" if self.execute("adopt_state").one().is_begun else "upgrade"

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """A savepoint, to which an error in the block rolls back; none on SQL Server, where an error ends the transaction."""
        if self.engine == "sqlserver":
            yield
        else:
            with self.conn.begin_nested():
                yield
