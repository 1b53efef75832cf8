"""Which sessions hold the locks that a statement waited for in vain."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from dmsjournal.database.connect import is_timed_out, translated
from dmsjournal.database.session import Session
from dmsjournal.errors import JournalError, Unavailable

_WAIT = "wait for the end of what holds the lock, or end it (docs/dba/locks.md), and try again"


@contextmanager
def naming_holders(pool: sa.Engine) -> Iterator[None]:
    """Within it, an Unavailable that a lock timeout has caused says which sessions hold locks on the journal."""
    try:
        yield
    except Unavailable as error:
        if not is_timed_out(error.__cause__) or error.remedy == _WAIT:  # another block has named them
            raise
        raise Unavailable("; ".join([error.reason, *_holders(pool)]), _WAIT) from error.__cause__


def _holders(pool: sa.Engine) -> list[str]:
    try:
        with translated(), pool.connect() as conn, conn.begin():
            held = Session(conn).execute("database/lock_holders")
            return [f"{row.holder}" for row in held]
    except JournalError:  # the role may not look, or the connection is lost: the caller reports its own error
        return []
