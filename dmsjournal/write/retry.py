"""Retry: work in a transaction, done again until it is kept once, also where the answer to a COMMIT was lost."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from dmsjournal.database.database import Database
from dmsjournal.errors import CommitUnknown, JournalError, Unavailable
from dmsjournal.util.backoff import Backoff
from dmsjournal.write.transaction import WriteTransaction

logger = logging.getLogger("dmsjournal.write")

_T = TypeVar("_T")

_COMMITTED, _IN_PROGRESS = "committed", "in progress"  # states of write/commit_state


def retried(
    database: Database,
    begin: Callable[[], AbstractContextManager[WriteTransaction]],
    work: Callable[[WriteTransaction], _T],
    patience: float,
) -> _T:
    """See Journal.retry."""
    began, backoff = time.monotonic(), Backoff(0.05, 5.0)
    while True:
        mark: str | None = None
        try:
            with begin() as tx:
                result = work(tx)
                mark = tx.mark()
            return result
        except Unavailable as error:
            seconds = backoff.next()
            if time.monotonic() - began + seconds > patience:
                raise
            logger.warning("%s: the work is done again in %.2f s", error, seconds, extra={"action": "write_retry"})
            time.sleep(seconds)
        except CommitUnknown as error:
            if was_kept(database, mark, error, began + patience):
                return result
            logger.warning("%s; nothing was kept: the work is done again", error.reason, extra={"action": "write_retry"})


def was_kept(database: Database, mark: str | None, error: CommitUnknown, deadline: float) -> bool:
    """What became of a transaction. Raises the error where the database cannot tell, or not before the deadline."""
    if mark == "":  # it had nothing to keep
        return True
    backoff = Backoff(0.05, 5.0)
    while mark is not None:
        try:
            with database.session() as session:
                state = session.execute("write/commit_state", mark=mark).scalar_one()
        except Unavailable:
            state = _IN_PROGRESS  # as far as can be seen
        except JournalError:
            break
        if state is None:
            break
        if state != _IN_PROGRESS:
            return bool(state == _COMMITTED)
        seconds = backoff.next()
        if time.monotonic() + seconds > deadline:
            break
        time.sleep(seconds)
    raise error
