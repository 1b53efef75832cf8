"""Events that cannot be read: found by reading less and less, named, and passed by where the caller asked for that.

A key or a body of hundreds of megabytes, which is older than the limits of docs/dba/limits.md, makes PostgreSQL refuse the whole
statement that would read it. Pages without one cost nothing: only a refused page is read again, in smaller ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dmsjournal.database.connect import is_unreadable, message_of
from dmsjournal.errors import JournalError, UnreadableEvent

_PART = 8  # each refused page may have cost seconds: few tries where the event is the next one

_Page = TypeVar("_Page")

PassBy = Callable[[UnreadableEvent], None]


def reduced(read: Callable[[int], _Page], size: int) -> _Page | JournalError:
    """The page of `size` that `read` gives, or of a part of it; or what refused a page of one."""
    while True:
        try:
            return read(size)
        except JournalError as error:
            if not is_unreadable(error.__cause__):
                raise
            if size == 1:
                return error
        size = max(1, size // _PART)


def passed(pass_by: PassBy | None, cause: JournalError, document_id: int, column: str, version: int | None = None) -> None:
    """Calls `pass_by` with what cannot be read. Raises UnreadableEvent where there is none."""
    error = UnreadableEvent(document_id, column, message_of(cause.__cause__), version)
    if pass_by is None:
        raise error from cause.__cause__
    pass_by(error)
