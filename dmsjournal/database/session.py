"""A session: one connection in one transaction, and the statements of its engine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from dmsjournal.database import sql
from dmsjournal.database.engine import Engine
from dmsjournal.database.engines import engine_of
from dmsjournal.errors import CommitUnknown


@dataclass(slots=True)
class Session:
    """A connection in a transaction, which speaks the SQL of its engine. `failed`: a statement of it was refused.

    `options` are the database's, as far as is known: a statement that needs one may find that it has gone.
    """

    conn: sa.Connection
    failed: bool = False
    options: frozenset[str] = frozenset()

    @property
    def engine(self) -> Engine:
        """The engine of the connection."""
        return engine_of(self.conn)

    def execute(self, name: str, /, **binds: object) -> sa.Result[Any]:
        """Runs sql/<engine>/queries/<name>.sql; a list is bound as a JSON array, which both engines read as a set.

        All rows are fetched at once. An error may come with one of them, and SQL Server takes a result that is not read to its end
        for a cancelled one: with XACT_ABORT it would roll the transaction back, without a word.
        """
        with self._noting_failure():
            result = self._run(name, binds, {})
            return result.freeze()() if result.returns_rows else result

    def partitions(self, name: str, size: int, /, **binds: object) -> Iterator[Sequence[sa.Row[Any]]]:
        """The rows of a query, read as they are needed: `size` at a time, which is all that is held of them (see `execute`)."""
        with self._noting_failure(), self._run(name, binds, {"stream_results": True, "max_row_buffer": size}) as result:
            yield from result.partitions(size)

    def taken(
        self, name: str, has_room: Callable[[sa.Row[Any]], bool], how_many: Callable[[], int], /, **binds: object
    ) -> tuple[list[sa.Row[Any]], sa.Row[Any] | None]:
        """The rows of a query as long as there is room, and the first for which there is none; `how_many` are fetched at once.

        SQL Server's are read to their end all the same, and dropped: see `execute`.
        """
        kept: list[sa.Row[Any]] = []
        first_left: sa.Row[Any] | None = None
        with self._noting_failure(), self._run(name, binds, {"stream_results": True, "max_row_buffer": 1}) as result:
            while (first_left is None or self.engine.ENDS_FAILED_TRANSACTIONS) and (lot := result.fetchmany(how_many())):
                for row in lot:
                    if first_left is None and has_room(row):
                        kept.append(row)
                    else:
                        first_left = first_left or row
        return kept, first_left

    def _run(self, name: str, binds: Mapping[str, object], options: Mapping[str, object]) -> sa.CursorResult[Any]:
        bound = {key: self.engine.rows(value) if isinstance(value, list) else value for key, value in binds.items()}
        if (
            self.failed and self.engine.ENDS_FAILED_TRANSACTIONS
        ):  # the server has rolled back, and would begin another transaction unasked
            raise exc.PendingRollbackError("a statement of this transaction was refused")
        return self.conn.execute(self.engine.statement(name), bound, execution_options=options)

    @contextmanager
    def _noting_failure(self) -> Iterator[None]:
        try:
            yield
        except exc.DBAPIError:
            self.failed = True
            raise

    def commit(self) -> None:
        """Commits what another try might write twice. Raises CommitUnknown where the connection is lost before the answer."""
        try:
            self.conn.commit()
        except exc.DBAPIError as error:
            if not self.engine.is_commit_unknown(error):
                raise
            raise CommitUnknown(self.engine.message_of(error)) from error

    def wait_until(self, deadline: float) -> None:
        """The transaction waits for no lock beyond a time by time.monotonic(), nor longer than it would have waited.

        The connection is closed at its end: on SQL Server a lock timeout is the session's.
        """
        self.conn.detach()
        milliseconds = max(1, math.ceil((deadline - time.monotonic()) * 1000))
        text = sql.text_of(self.engine.NAME, "checks/lock_timeout_at_most")
        self.conn.exec_driver_sql(text.replace("{lock_timeout}", str(milliseconds)))

    def installing_command(self) -> str:
        """What brings the journal where it is not there or older: upgrade, or adopt where an adoption is on its way."""
        return "adopt" if self.execute("database/adopt_state").one().is_begun else "upgrade"

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """A savepoint, to which an error in the block rolls back; none on SQL Server, where an error ends the transaction."""
        with self.engine.savepoint(self.conn):
            yield
