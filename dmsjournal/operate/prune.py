"""Pruning: old events go, batch by batch, and whole partitions at once where the journals have them (option partitions).

A journal's floor rises in the transaction that deletes (invariant 8), and before a partition is dropped.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

import sqlalchemy as sa
from sqlalchemy import exc

from dmsjournal.database.connect import is_locked_out
from dmsjournal.database.database import Database
from dmsjournal.database.floors import read_floors
from dmsjournal.database.horizon import Horizon
from dmsjournal.database.session import Session
from dmsjournal.errors import InvalidRequest, valid_names
from dmsjournal.model.journals import IMAGES, JOURNALS
from dmsjournal.model.windows import LOWEST_ID, MAX_VERSION, checked_size, checked_version
from dmsjournal.operate.consumers import Consumer, slowest_consumer, with_state
from dmsjournal.operate.lease import Lease, holding, lease_of_prune
from dmsjournal.operate.partitions import OPTION, Dropping, ExpiredPart, open_transactions
from dmsjournal.read import images
from dmsjournal.util.durations import checked_duration

logger = logging.getLogger(__name__)

_STATEMENTS = {  # of each of JOURNALS, and of images, what prunes it
    "DocumentChangeEvent": "operate/prune_document_changes",
    "IdentityChangeEvent": "operate/prune_identity_changes",
    "KeyChangeEvent": "operate/prune_key_changes",
    "DocumentDeleteEvent": "operate/prune_deletes",
    IMAGES: "operate/prune_old_images",
}
PAUSE = timedelta(milliseconds=5)  # without it a prune takes a whole core from writers; docs/operator/prune.md has the figures
_BESIDE = {
    "images": "operate/prune_images",
    "context": "operate/prune_contexts",
}  # by option, what goes after the events that it belongs to
BATCH_SIZE = 2_000


@dataclass(frozen=True, slots=True)
class PrunedJournal:
    """One journal: its floor afterwards, the events that were deleted, and whether none are left up to the version that was meant.

    Of a dry run: what they would be, and about how many bytes the events and their index entries take. `dropped` counts partitions,
    whose events are estimated in `deleted`.
    """

    journal: str
    floor: int
    deleted: int
    finished: bool
    bytes: int | None = None
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Pruned:
    """What a prune did.

    `through`: the last version that was to go, inclusive; `held_by`: the consumer that it stopped at; `additions_finished`: whether
    nothing is left of what options images and context keep for events that are gone.
    """

    through: int
    journals: Sequence[PrunedJournal]
    held_by: Consumer | None
    additions_finished: bool = True

    @property
    def deleted(self) -> int:
        """The events that were deleted, of all journals."""
        return sum(journal.deleted for journal in self.journals)

    @property
    def finished(self) -> bool:
        """Whether nothing is left up to `through`; false where `max_runtime` ended it."""
        return all(journal.finished for journal in self.journals) and self.additions_finished


Progress = Callable[[Pruned], None]


@dataclass(frozen=True, slots=True)
class PruneRequest:
    """How far to prune, and how; see Journal.prune. Raises InvalidRequest."""

    through: int | None
    older_than: timedelta | None
    keep_at_least: int | None
    journals: Collection[str] | None
    force: bool
    batch_size: int
    pause: timedelta
    max_runtime: timedelta | None

    def __post_init__(self) -> None:
        if self.through is None and self.older_than is None and self.keep_at_least is None:
            raise InvalidRequest(
                "through",
                None,
                "say how far to prune: `through`, older_than or keep_at_least",
                others=["older_than", "keep_at_least"],
            )
        if self.through is not None:
            checked_version("through", self.through)
        if self.older_than is not None:
            checked_duration("older_than", self.older_than)
        if self.keep_at_least is not None:
            checked_size("keep_at_least", self.keep_at_least, MAX_VERSION)
        if isinstance(self.journals, str):
            raise InvalidRequest("journals", self.journals, "pass a list of names")
        for name in self.journals or ():
            if name not in (*JOURNALS, IMAGES):
                raise InvalidRequest("journals", name, f"no journal has the name; {valid_names([*JOURNALS, IMAGES])}")
        checked_duration("pause", self.pause)
        if self.max_runtime is not None:
            checked_duration("max_runtime", self.max_runtime)

    @property
    def wanted(self) -> Sequence[str]:
        """The journals to prune, each once. Images, too, where they are named: without that they go with their events."""
        return [name for name in (*JOURNALS, IMAGES) if (name != IMAGES if self.journals is None else name in self.journals)]


def prune(database: Database, request: PruneRequest, progress: Progress | None) -> Pruned:
    """Deletes what the request says; see Journal.prune."""
    checked_size("batch_size", request.batch_size, database.engine.LARGEST_BATCH)
    _require_images(database, request)
    began = time.monotonic()
    deadline = None if request.max_runtime is None else began + request.max_runtime.total_seconds()
    with holding(lease_of_prune(database), deadline) as lease, database.connection() as conn:
        run = _Run(conn, lease, database.options, database.horizon, request, deadline)
        for pruned in run.batches():
            if progress is not None:
                progress(pruned)
        pruned = run.result()
    seconds = time.monotonic() - began
    logger.info(
        "pruned %d events through version %d in %.1f s",
        pruned.deleted,
        pruned.through,
        seconds,
        extra={"action": "prune", "deleted": pruned.deleted, "through": pruned.through, "seconds": seconds},
    )
    return pruned


def estimate(database: Database, request: PruneRequest) -> Pruned:
    """What a prune would do. Nothing is written and nobody waits."""
    _require_images(database, request)
    with database.session() as session:
        newest = database.horizon.read(session, "database/horizon")
        reach = _reach(session, newest, request)
        through, held_by = _heeding(session, newest, reach, request.force)
        held_by = held_by and with_state(session, newest, held_by)
        floors = _floors(session, request)
        counted = {row.journal: row for row in session.execute("operate/prune_estimate", through=through)}
        if IMAGES in request.wanted:
            counted[IMAGES] = session.execute("operate/prune_estimate_images", through=through).one()
        journals = [
            PrunedJournal(name, max(floors[name], through), counted[name].rows, finished=True, bytes=counted[name].bytes)
            for name in request.wanted
        ]
    return Pruned(through, journals, held_by)


class _Run:
    """One prune: the position of each journal's next batch."""

    def __init__(
        self,
        conn: sa.Connection,
        lease: Lease,
        options: Collection[str],
        horizon: Horizon,
        request: PruneRequest,
        deadline: float | None,
    ) -> None:
        self._conn, self._lease, self._request, self._deadline = conn, lease, request, deadline
        with self._transaction() as session:
            session.options = frozenset(options)
            self._newest = horizon.read(session, "database/horizon")
            reach = _reach(session, self._newest, request)
            self._through, self._held_by = _heeding(session, self._newest, reach, request.force)
            floors = _floors(session, request)
        self._beside = {option: (-1, LOWEST_ID) for option in _BESIDE if option in options}  # the position of each one's next batch
        self._journals = {name: PrunedJournal(name, floors[name], 0, finished=False) for name in request.wanted}
        self._positions = dict.fromkeys(request.wanted, (-1, LOWEST_ID))  # below the floor too: an installation leaves events there
        self._dropping: dict[str, Dropping] = {}  # by journal, once it was looked at
        self._is_partitioned = OPTION in options

    def batches(self) -> Iterator[Pruned]:
        """Prunes batch after batch, the journals in turn, so that each gets on whatever the time; yields how far it is.

        It ends at the deadline, also while it waits for a lock.
        """
        try:
            yield from self._batches()
        except exc.DBAPIError as error:
            if not (is_locked_out(error) and self._is_late()):
                raise

    def _batches(self) -> Iterator[Pruned]:
        yield self.so_far()
        pending = list(self._journals)
        while pending:
            for name in list(pending):
                if self._is_late():
                    return
                if not (self._is_partitioned and self._drop(name)):
                    self._batch(name)
                if self._journals[name].finished:
                    pending.remove(name)
                yield self.so_far()
                if pending:
                    self._pause()
        while self._beside and not self._is_late():
            for option in list(self._beside):
                self._prune_beside(option)
            if self._beside:
                self._pause()

    def so_far(self) -> Pruned:
        return Pruned(self._through, list(self._journals.values()), self._held_by, not self._beside)

    def result(self) -> Pruned:
        """What was done in the end, with the state of the consumer that it stopped at."""
        if self._held_by is not None:
            with self._transaction() as session:
                self._held_by = with_state(session, self._newest, self._held_by)
        return self.so_far()

    def _batch(self, name: str) -> None:
        version, document_id = self._positions[name]
        with self._heedful() as session:
            done = session.execute(
                _STATEMENTS[name],
                after_version=version,
                after_id=document_id,
                through=self._through,
                batch_size=self._request.batch_size,
            ).one()
        if done.scanned:
            self._positions[name] = (done.last_version, done.last_id)
        if name in self._dropping:
            self._dropping[name].deleted(done.deleted)
        before = self._journals[name]
        finished = done.scanned < self._request.batch_size
        self._journals[name] = replace(before, floor=done.floor, deleted=before.deleted + done.deleted, finished=finished)

    def _drop(self, name: str) -> bool:
        """Drops the next partition that lies whole in what is to go; false where a batch is to be deleted instead.

        While somebody is in the way it waits a little, and then batches go on with the partition's rows, between other tries.
        """
        dropping = self._dropping.get(name)
        if dropping is None:
            dropping = self._dropping[name] = self._expired(name)
        if not dropping.parts:
            return False
        is_gone = dropping.drop(self._conn)
        if is_gone:
            rows, before = dropping.parts.pop(0).rows, self._journals[name]
            self._journals[name] = replace(before, deleted=before.deleted + rows, dropped=before.dropped + 1)
        elif is_gone is None or not dropping.is_patient:
            return False
        else:
            self._sleep(dropping.again_at - time.monotonic())
        return True

    def _expired(self, name: str) -> Dropping:
        """The partitions of a journal that lie whole in what is to go. Its floor is at their end from now on, for all who begin."""
        with self._heedful() as session:
            found = session.execute("operate/prune_partitions", journal=name, through=self._through)
            parts = [ExpiredPart(row.partition, row.last_version, row.rows) for row in found]
            if not parts:
                return Dropping(name, self._lease)
            floor = session.execute("operate/prune_expire", journal=name, version=parts[-1].last_version).scalar_one()
        self._journals[name] = replace(self._journals[name], floor=floor)
        with self._transaction() as session:
            return Dropping(name, self._lease, parts, open_transactions(session))

    @contextmanager
    def _heedful(self) -> Iterator[Session]:
        """A transaction in which no consumer is registered or put back, after those that there are were heeded: one may be new."""
        with self._transaction() as session:
            self._lease.keep(session)
            session.execute("operate/prune_begin")
            self._through, held_by = _heeding(session, self._newest, self._through, self._request.force)
            self._held_by = held_by or self._held_by
            yield session

    def _prune_beside(self, option: str) -> None:
        """Deletes the next of what an option keeps for events that are gone: below the floors, so that no reader looks there."""
        version, row_id = self._beside[option]
        with self._transaction() as session:
            self._lease.keep(session)
            session.execute("operate/prune_begin")  # for its settings
            size = self._request.batch_size
            done = session.execute(_BESIDE[option], after_version=version, after_id=row_id, batch_size=size).one()
        if done.scanned < size:
            del self._beside[option]
        else:
            self._beside[option] = (done.last_version, done.last_id)

    def _pause(self) -> None:
        self._sleep(self._request.pause.total_seconds())

    def _sleep(self, seconds: float) -> None:
        time.sleep(max(0, min(seconds, self._left())))

    def _left(self) -> float:
        return math.inf if self._deadline is None else self._deadline - time.monotonic()

    def _is_late(self) -> bool:
        return self._left() <= 0

    @contextmanager
    def _transaction(self) -> Iterator[Session]:
        with self._conn.begin():
            session = Session(self._conn)
            if self._deadline is not None:
                session.wait_until(self._deadline)
            yield session


def _require_images(database: Database, request: PruneRequest) -> None:
    """Raises UnsupportedCapability where images are named and the database does not have the option."""
    if IMAGES in request.wanted:
        with database.session_with(images.OPTION) as session:
            images.require(session, images.OPTION)


def _floors(session: Session, request: PruneRequest) -> dict[str, int]:
    """The floor of each journal; of images, where they are wanted, the version above which they are whole."""
    floors = read_floors(session)
    if IMAGES in request.wanted:
        floors[IMAGES] = images.images_since(session)
    return floors


def _reach(session: Session, newest: int, request: PruneRequest) -> int:
    """The last version to delete if no consumer is heeded: the lowest of what the request says, at most newest."""
    ends = [newest]
    if request.through is not None:
        if request.through > newest:
            raise InvalidRequest("through", request.through, f"newest is {newest}: what is above it is not finished, and stays")
        ends.append(request.through)
    if request.older_than is not None:
        seconds = int(request.older_than.total_seconds())
        young = session.execute("operate/prune_young", age_seconds=seconds, max_version=newest).scalar()
        ends.append(newest if young is None else young - 1)
    if request.keep_at_least is not None:
        kept = session.execute("operate/prune_kept", keep=request.keep_at_least, max_version=newest).scalar()
        ends.append(0 if kept is None else kept - 1)
    return max(0, min(ends))


def _heeding(session: Session, newest: int, reach: int, force: bool) -> tuple[int, Consumer | None]:
    """The last version to delete, and the consumer that it stops at, if one has not read as far as is meant."""
    slowest = None if force else slowest_consumer(session, newest)
    if slowest is None or slowest.through >= reach:
        return reach, None
    return max(0, slowest.through), slowest
