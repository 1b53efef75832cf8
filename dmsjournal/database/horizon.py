"""The horizon: the newest version at or below which every writer has finished."""

from __future__ import annotations

import threading
from typing import Any

from dmsjournal.database.floors import PARTITIONS
from dmsjournal.database.session import Session


class Horizon:
    """The horizon as one program sees it: it never steps back while the database's history is the same.

    The database's own can: a writer that read its floor and was held up before it took the lock shows an old floor afterwards. Its
    stamps are above what was reported in between all the same, so what was reported stays right (invariant 5), and a window that
    ends there must not be cut below it.
    """

    def __init__(self) -> None:
        self._seen, self._newest = 0, 0
        self.history = ""  # which one was read last
        self.has_parts = False  # whether the journals had parts that can be taken away
        self._lock = threading.Lock()

    def read(self, session: Session, statement: str) -> int:
        """Runs `statement`, which gives `horizon` and `history`, in a statement of its own (invariant 5).

        SQL Server restores a database in place, with the same history: there the statement gives the last stamp as well, `newest`,
        which no late writer lowers.
        """
        row: Any = session.execute(statement).one()
        newest = row._mapping.get("newest", 0)
        self.has_parts = bool(row._mapping.get("has_parts", False))
        if self.has_parts:  # the option may have come since the options were read
            session.options |= {PARTITIONS}
        with self._lock:
            if row.history != self.history or newest < self._newest:  # another server, or one at perhaps an older state
                self.history, self._seen = row.history, 0
            self._seen, self._newest = max(self._seen, row.horizon), newest
            return self._seen
