"""Holding a consumer: one program at a time reads under a name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress

import sqlalchemy as sa
from sqlalchemy import exc

from dmsjournal.connecting import translated
from dmsjournal.errors import DatabaseRefused, JournalError, Unavailable
from dmsjournal.session import Session


class HeldByAnother(Unavailable):
    """Another program holds the name."""


class Hold:
    """A consumer's name that this program holds: by a lock of a session of its own, which ends with it whatever happens."""

    def __init__(self, connection: Callable[[], AbstractContextManager[sa.Connection]], engine: str, name: str) -> None:
        self._connection, self._engine, self.name = connection, engine, name
        self._entered = ExitStack()
        self._conn: sa.Connection | None = None

    def take(self) -> None:
        """Takes the name. Raises HeldByAnother, which says who it is; Unavailable."""
        with ExitStack() as entered:
            conn = entered.enter_context(self._connection())
            if not _run(conn, self._engine, "hold_consumer", name=self.name):
                holder = _holder(conn, self._engine, self.name)
                raise HeldByAnother(f"another program reads as consumer {self.name}{holder}", "end it first, or use another name")
            self._conn, self._entered = conn, entered.pop_all()

    def is_held(self) -> bool:
        """Whether the session that holds it is still there; if not, what was held is given up, and can be taken again."""
        if self._conn is not None:
            try:
                with translated():
                    _run(self._conn, self._engine, "ping")
                return True
            except JournalError:
                self._give_up()
        return False

    def release(self) -> None:
        """Gives the name back."""
        if self._conn is not None:
            try:
                _run(self._conn, self._engine, "release_consumer", name=self.name)
            except exc.SQLAlchemyError:
                self._give_up()  # the lock goes with the connection
        self._conn = None
        self._entered.close()

    def _give_up(self) -> None:
        assert self._conn is not None
        self._conn.invalidate()
        self._conn = None
        with suppress(JournalError):
            self._entered.close()


@contextmanager
def holding(hold: Hold) -> Iterator[Hold]:
    """Within it the name is held."""
    hold.take()
    try:
        yield hold
    finally:
        hold.release()


def _run(conn: sa.Connection, engine: str, query: str, **binds: object) -> object:
    with conn.begin():
        return Session(conn, engine).execute(query, **binds).scalar_one()


def _holder(conn: sa.Connection, engine: str, name: str) -> str:
    try:
        with translated(), conn.begin():
            row = Session(conn, engine).execute("consumer_holder", name=name).first()
    except DatabaseRefused:  # it may not look
        return ""
    return "" if row is None else f": {row.holder}"
