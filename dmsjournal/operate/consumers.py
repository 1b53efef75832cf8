"""Consumers: who reads the journal, and how far each has come. A prune stops at the slowest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dmsjournal.database.database import Database
from dmsjournal.database.floors import read_floors
from dmsjournal.database.history import has_diverged
from dmsjournal.database.session import Session
from dmsjournal.errors import CheckpointExpired, HistoryDiverged, InvalidRequest, near_matches
from dmsjournal.model.windows import HIGHEST_ID, Cursor, Window, checked_version
from dmsjournal.operate.lease import Lease, holding, lease_of_consumer
from dmsjournal.read.pages import refuse_expired

_LONGEST_NAME = 256


@dataclass(frozen=True, slots=True)
class Consumer:
    """A registered consumer, and how far it has read.

    It has read everything up to (change_version, document_id), that one included; `document_id` is None where it has read the
    version in full. `lag` is how many versions newest is above `through`. `state` is "current"; or "expired" where events that it
    has not read are pruned; or "diverged" where the database was restored to an earlier state than the one that it has read.
    """

    name: str
    change_version: int
    document_id: int | None
    lag: int
    state: str
    updated_at: datetime

    @property
    def through(self) -> int:
        """The last version that it has read in full: go on with a window from `through` + 1. A prune stops here."""
        return _through(self.change_version, HIGHEST_ID if self.document_id is None else self.document_id)

    @property
    def cursor(self) -> Cursor | None:
        """Where it stands inside a version, exclusive; None where it has read the version in full."""
        return None if self.document_id is None else Cursor(self.change_version, self.document_id)

    def __str__(self) -> str:
        return f"consumer {self.name} has read up to version {self.through}, {self.lag} behind newest"


class Consumers:
    """The registered consumers of one database: `Journal.consumers`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def register(self, name: str, at: int | Cursor | None = None) -> Consumer:
        """Registers a consumer that has read everything up to a place; from then on no prune goes past it, unless it is forced.

        `at` is a version that was read in full, or a cursor, after which it goes on; without it newest, for who takes a
        snapshot next. Raises InvalidRequest, also for a name that is registered already and for a place above newest;
        CheckpointExpired where what comes after the place is pruned; CommitUnknown.
        """
        checked_name(name)
        with self._database.session() as session:
            newest, version, document_id = self._checked_place(session, "at", at)
            if session.execute("operate/insert_consumer", **_row(name, version, document_id)).first() is None:
                raise InvalidRequest("name", name, "it is registered already: advance it, or drop it first")
            _refuse_pruned(session, version, document_id)
            registered = _one(session, newest, name)
            session.commit()
            return registered

    def advance(self, name: str, to: int | Cursor, *, backwards: bool = False) -> Consumer:
        """Moves a consumer to where it has read everything: a version that was read in full, or a cursor.

        Never back, unless `backwards` is true: then also where the database's history is another one than it has read.
        Raises InvalidRequest, also for a place above newest or before the consumer's; CheckpointExpired where what comes after the
        place is pruned; HistoryDiverged.
        """
        checked_name(name)
        with self._database.session() as session:
            newest, version, document_id = self._checked_place(session, "to", to)
            self._keep(session, name)
            before = _one(session, newest, name)
            if not backwards:
                _refuse_diverged(before, newest)
            moved = session.execute("operate/update_consumer", **_row(name, version, document_id), backwards=backwards).first()
            if moved is None:
                raise InvalidRequest("to", to, f"{before}: pass `backwards` to move it back")
            _refuse_pruned(session, version, document_id)
            return _one(session, newest, name)

    def get(self, name: str) -> Consumer:
        """A consumer, and where it stands.

        Raises InvalidRequest for a name that is not registered; HistoryDiverged where the database no longer holds the last event
        that the consumer has read, though it is above the floor, or has never given its version: it was restored to an earlier
        state (invariant 9).
        """
        checked_name(name)
        with self._database.session() as session:
            newest = self._database.horizon.read(session, "database/horizon")
            found = _one(session, newest, name)
        _refuse_diverged(found, newest)
        return found

    def load_token(self, name: str) -> str | None:
        """The token of a consumer that reads the feed, None where it is not registered: for DatabaseCheckpoint.

        Raises InvalidRequest for one that was registered or moved without a token.
        """
        checked_name(name)
        with self._database.session() as session:
            found = session.execute("operate/feed_token", name=name).first()
        if found is None:
            return None
        if found.feed_token is None:
            raise InvalidRequest("name", name, "it was registered or moved by hand, without a token: drop it to start anew")
        return str(found.feed_token)

    def save_token(self, name: str, token: str, cursor: Cursor) -> None:
        """Moves a consumer to a token's place, and keeps the token; registers it where it is not: for DatabaseCheckpoint.

        Raises what register and advance raise.
        """
        checked_name(name)
        with self._database.session() as session:
            newest, version, document_id = self._checked_place(session, "token", cursor)
            self._keep(session, name)
            row = _row(name, version, document_id, token)
            if session.execute("operate/insert_consumer", **row).first() is not None:
                return _refuse_pruned(session, version, document_id)
            before = _one(session, newest, name)
            _refuse_diverged(before, newest)
            if session.execute("operate/update_consumer", **row, backwards=False).first() is None:
                remedy = f"{before}, further than this: another program uses the same name; give each its own, or hold it"
                raise InvalidRequest("token", token, remedy)
            _refuse_pruned(session, version, document_id)

    def hold(self, name: str) -> AbstractContextManager[Lease]:
        """Within it, no other program holds the name, registered or not: for programs that must not run twice.

        It is a lease of 30 seconds, which a thread renews; no connection stays open. While this journal holds the name, each call
        that moves the consumer checks the lease in its transaction. A program that does not reach the database for 30 seconds may
        lose it: `is_held()` of what it gives tells. Waits at most 30 seconds for the lease of a program that was killed. Raises
        InvalidRequest; Unavailable where another program holds the name, and says which.
        """
        return self._holding(checked_name(name))

    @contextmanager
    def _holding(self, name: str) -> Iterator[Lease]:
        with holding(lease_of_consumer(self._database, name)) as lease:
            self._database.held[name] = lease.keep
            try:
                yield lease
            finally:
                del self._database.held[name]

    def list(self) -> Sequence[Consumer]:
        """All consumers, by name. Their `state` tells what `get` would raise."""
        with self._database.session() as session:
            newest = self._database.horizon.read(session, "database/horizon")
            return _read(session, newest)

    def drop(self, name: str) -> None:
        """Forgets a consumer: prunes no longer heed it. Raises InvalidRequest for a name that is not registered, CommitUnknown."""
        checked_name(name)
        with self._database.session() as session:
            if session.execute("operate/delete_consumer", name=name).first() is None:
                raise _unknown(session, name)
            session.commit()

    def _keep(self, session: Session, name: str) -> None:
        """Where this program holds the name: keeps it until the transaction ends. Raises HeldByAnother."""
        if (keep := self._database.held.get(name)) is not None:
            keep(session)

    def _checked_place(self, session: Session, parameter: str, place: int | Cursor | None) -> tuple[int, int, int]:
        """Newest, and the place as version and id. Raises InvalidRequest, CheckpointExpired."""
        newest = self._database.horizon.read(session, "database/horizon")
        if place is None:
            place = newest
        if not isinstance(place, Cursor):
            checked_version(parameter, place)
        version, document_id = (place.change_version, place.document_id) if isinstance(place, Cursor) else (place, HIGHEST_ID)
        if version > newest:
            raise InvalidRequest(parameter, place, f"it is above the newest readable version ({newest})")
        _refuse_pruned(session, version, document_id)
        return newest, version, document_id


def checked_name(name: object) -> str:
    """The name of a consumer: 1 to 256 printable characters, no blank at either end. Raises InvalidRequest."""
    if not isinstance(name, str) or not 1 <= len(name) <= _LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise InvalidRequest("name", name, f"a name is 1 to {_LONGEST_NAME} printable characters, without blanks at its ends")
    return name


def _refuse_pruned(session: Session, version: int, document_id: int) -> None:
    """Refuses a place after which events are pruned. Raises CheckpointExpired.

    Called again once the consumer's row is written: from then to the end of the transaction no batch of a prune begins, and each
    one that ended before has raised the floor that is read here.
    """
    floor, place = max(read_floors(session).values()), _through(version, document_id)
    try:
        refuse_expired(Window(min=place + 1), floor)
    except CheckpointExpired as error:
        error.add_note(f"a consumer at {place} would get this error at its next read, so none is put below {floor}")
        raise


def _row(name: str, version: int, document_id: int, feed_token: str | None = None) -> dict[str, object]:
    return {"name": name, "change_version": version, "document_id": document_id, "feed_token": feed_token}


def slowest_consumer(session: Session, newest: int) -> Consumer | None:
    """The consumer that needs the lowest version, None where none is registered. Its state is not looked at: see with_state."""
    row = session.execute("operate/slowest_consumer").first()
    return None if row is None else consumer_of(row, newest)


def with_state(session: Session, newest: int, consumer: Consumer) -> Consumer:
    """The consumer with its state; as it was where it was dropped meanwhile."""
    return next(iter(_read(session, newest, consumer.name)), consumer)


def _read(session: Session, newest: int, name: str | None = None) -> Sequence[Consumer]:
    return [consumer_of(row, newest, _state(row)) for row in session.execute("operate/consumers", name=name)]


def _one(session: Session, newest: int, name: str) -> Consumer:
    found = _read(session, newest, name)
    if not found:
        raise _unknown(session, name)
    return found[0]


def consumer_of(row: Any, newest: int, state: str = "current") -> Consumer:
    """A row (name, change_version, document_id, updated_at) as a consumer: here alone is said how far behind newest it is."""
    document_id = None if row.document_id == HIGHEST_ID else row.document_id
    lag = max(0, newest - _through(row.change_version, row.document_id))
    return Consumer(row.name, row.change_version, document_id, lag, state, row.updated_at)


def _state(row: Any) -> str:
    if has_diverged(
        row.change_version,
        row.drawn,
        remembered=row.event_version,
        found=row.found_version,
        is_same=row.is_same,
        event_floor=row.event_floor,
    ):
        return "diverged"
    return "expired" if _through(row.change_version, row.document_id) < row.floor else "current"


def _through(version: int, document_id: int) -> int:
    return version if document_id == HIGHEST_ID else version - 1


def _refuse_diverged(consumer: Consumer, newest: int) -> None:
    if consumer.state == "diverged":
        raise HistoryDiverged(consumer.change_version, newest)


def _unknown(session: Session, name: str) -> InvalidRequest:
    known = [row.name for row in session.execute("operate/consumers", name=None)]
    return InvalidRequest("name", name, f"no consumer is registered under it; {near_matches(name, known)}: list shows all")
