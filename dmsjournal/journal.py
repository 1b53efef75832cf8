"""The journal of one database: what changed, and where to write."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import timedelta
from functools import partial
from types import TracebackType
from typing import Any, TypeVar
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy import exc

from dmsjournal import contexts, counting, images, planning, pruning, statements, verifying
from dmsjournal.connecting import REVISION, engine_for, shown, translated
from dmsjournal.consumers import Consumers
from dmsjournal.contexts import Context, checked_context, read_contexts
from dmsjournal.deletes import Delete, deletes_page
from dmsjournal.deriving import Derived, derive
from dmsjournal.effects import Effects, read_effects
from dmsjournal.errors import DatabaseRefused, InvalidRequest, JournalError, NotInstalled, Unavailable
from dmsjournal.feed import database
from dmsjournal.feed.capabilities import FeedCapabilities
from dmsjournal.feed.events import FeedEvent
from dmsjournal.feed.pages import FeedPage
from dmsjournal.feed.partitions import FeedPartition
from dmsjournal.feed.providers import check_supported
from dmsjournal.feed.requests import FeedRequest, NewItemStateMode
from dmsjournal.fingerprints import Fingerprint, read_fingerprint, refuse_another_history
from dmsjournal.floors import read_floors
from dmsjournal.holding import Hold
from dmsjournal.horizon import Horizon
from dmsjournal.images import Event, Image, images_since, read_images
from dmsjournal.key_changes import KeyChange, key_changes_page
from dmsjournal.pages import Change, ChangePage, change_page, refuse_expired, snapshot_page
from dmsjournal.partitioning import Partitions
from dmsjournal.planning import Plan, SnapshotPlan
from dmsjournal.registry import Registry
from dmsjournal.resources import ResourceKey
from dmsjournal.revisions import journal_revision, option_of
from dmsjournal.session import Session
from dmsjournal.status import Status, read_status
from dmsjournal.stored import StoredDocument, read_documents
from dmsjournal.streams import KINDS, UPSERT, Stream
from dmsjournal.verifying import Progress, Repair, Verification
from dmsjournal.walks import PageReader, VersionPage, Walk
from dmsjournal.windows import (
    LOWEST_ID,
    ChangeVersions,
    Cursor,
    Window,
    checked_cursor,
    checked_id,
    checked_ids,
    checked_size,
    checked_version,
)
from dmsjournal.writing import WriteTransaction

_Item = TypeVar("_Item")


def connect(url: str | sa.URL) -> Journal:
    """The journal of the database that a SQLAlchemy URL names. Nothing is connected yet.

    Raises InvalidRequest for a URL that makes no sense.
    """
    return Journal(engine_for(url))


class Journal:
    """The journal of one database. Threads may share it; it holds a pool of connections until it is closed.

    Every method may raise NotInstalled, Unavailable and DatabaseRefused besides what it names.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._pool = engine
        self._engine = statements.engine_name(engine.dialect.name)
        self._registry = Registry()
        self._horizon = Horizon()
        self._ids_of = ""  # the history that the registry was read in
        self._is_installed = False  # not known yet
        self._options: frozenset[str] = frozenset()
        self._process = os.getpid()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Journal({shown(self._pool.url)!r})"

    def close(self) -> None:
        """Closes the pool's connections."""
        self._pool.dispose()

    @contextmanager
    def _session(self) -> Iterator[Session]:
        """A connection in a transaction of its own. Each statement has a snapshot of its own (READ COMMITTED)."""
        with self._connection() as conn, conn.begin():
            yield Session(conn, self._engine, options=self._options)

    def _session_with(self, option: str) -> AbstractContextManager[Session]:
        """A session in which an option is known if the database has it: it may have come after this journal connected."""
        self._look_for(option)
        return self._session()

    def _look_for(self, option: str) -> None:
        if option not in self._options:
            self._check_installed()

    @contextmanager
    def _connection(self) -> Iterator[sa.Connection]:
        """A connection outside of any transaction, to a database that has a journal."""
        if self._process != os.getpid():  # a fork: the connections are the parent's, and stay open for it
            self._pool.dispose(close=False)
            self._process = os.getpid()
        try:
            if not self._is_installed:
                self._check_installed()
            with translated(), self._pool.connect() as conn:
                yield conn
        except NotInstalled as error:
            self._is_installed, had = False, self._options
            found = journal_revision(self._revisions())
            if found is not None and found >= REVISION and had:
                raise Unavailable("an option of the journal was removed meanwhile") from error.__cause__
            raise NotInstalled(found, error.needed, self._installing_command()) from error.__cause__

    def _check_installed(self) -> None:
        """Raises NotInstalled where the journal is absent or older: documents may be there without it. Notes its options."""
        try:
            revisions = self._revisions()
        except DatabaseRefused as error:
            if error.refused != "right":
                raise
            revisions = [REVISION]  # a role that may not look is told by the tables themselves
        found = journal_revision(revisions)
        if found is None or found < REVISION:
            raise NotInstalled(found, REVISION, self._installing_command())
        self._options = frozenset(name for revision in revisions if (name := option_of(revision)))
        self._is_installed = True

    def _installing_command(self) -> str:
        with translated(), self._pool.begin() as conn:
            return Session(conn, self._engine).installing_command()

    def _revisions(self) -> list[str]:
        """The revisions that are installed, the journal's and the options'; none where nothing is."""
        try:
            with translated(), self._pool.begin() as conn:
                return list(Session(conn, self._engine).execute("revisions").scalars())
        except NotInstalled:
            return []

    @contextmanager
    def _at_horizon(self) -> Iterator[tuple[Session, int]]:
        """A session to read a page in, and the horizon.

        The horizon is read in a statement of its own, so that the page's snapshot holds everything up to it (invariant 5).
        """
        with self._session() as session:
            horizon = self._horizon.read(session, "begin_page")
            if self._ids_of != self._horizon.history:  # the ids may be others
                self._registry.refresh(session)
                self._ids_of = self._horizon.history
            yield session, horizon

    @contextmanager
    def _reading(self, resource: ResourceKey) -> Iterator[tuple[Session, int, int]]:
        """A session to read a page of a resource in, the resource's id, and the horizon."""
        with self._at_horizon() as (session, horizon):
            yield session, self._registry.id_of(session, resource), horizon

    def versions(self) -> ChangeVersions:
        """The oldest version that can be asked for, and the newest: the horizon, at or below which every writer has finished.

        `oldest` is 0 while nothing was pruned, then the floor plus one.
        """
        with self._session() as session:
            newest = self._horizon.read(session, "horizon")
            floors = read_floors(session)
        return ChangeVersions.above(floors, newest)

    def status(self) -> Status:
        """How far the journal is, who holds the horizon, how large the journals are and how fast they grow, consumers and triggers.

        Units: rows (estimated), bytes, seconds by the database's clock. Its cost does not grow with the journals. What the role may
        not see is None, and named in `hidden`. Raises UnsupportedCapability on a standby. Source: docs/operator/status.md.
        """
        with self._session() as session:
            return read_status(session, self._horizon)

    def resources(self) -> dict[ResourceKey, int]:
        """The resources that the database knows, and their ids."""
        with self._session() as session:
            return dict(self._registry.refresh(session))

    def change_page(
        self, resource: ResourceKey, window: Window | None = None, after: Cursor | None = None, limit: int = 500
    ) -> ChangePage:
        """The documents of a resource whose derived ChangeVersion lies in the window, the first `limit` of them after a cursor.

        Bounds: the window is inclusive and cut to the horizon, `after` is exclusive, `limit` is 1 to 1,000,000 rows. A page may
        hold fewer rows before the end, where later changes have overtaken earlier ones; the end is where `next` is None.
        Raises InvalidRequest, CheckpointExpired. Source: docs/how-it-works.md, Paging.
        """
        window = checked_window(window)
        if after is not None:
            checked_cursor(after, resource, window)
        checked_size("limit", limit)
        with self._reading(resource) as (session, resource_key_id, horizon):
            return change_page(session, resource, resource_key_id, window, after, limit, horizon)

    def changes(self, resource: ResourceKey, window: Window | None = None, page_size: int = 500) -> Walk[Change]:
        """All documents of a resource whose derived ChangeVersion lies in the window, in (ChangeVersion, DocumentId) order.

        The window is cut to the horizon once, at the start. A document that changes during the walk may leave the window; it is
        found in the next one (invariant 6). Raises what change_page raises, at once or during the walk.
        """
        window = checked_window(window)
        checked_size("page_size", page_size)
        page = self.change_page(resource, window, None, page_size)
        return Walk(self._rest_of(page, resource, window, page_size), page.through, page.cut)

    def _rest_of(self, page: ChangePage, resource: ResourceKey, window: Window, page_size: int) -> Iterator[Change]:
        yield from page.items
        if page.next is not None:
            window = Window(window.min, page.through)
        while page.next is not None:
            page = self.change_page(resource, window, page.next, page_size)
            yield from page.items

    def snapshot(self, resource: ResourceKey, page_size: int = 500) -> Walk[Change]:
        """All live documents of a resource, each at its derived ChangeVersion as of now, in DocumentId order: the resource in full.

        For who begins, or whose window has expired. The walk's `through` is the horizon that was read before it began: go on with a
        window from `through` + 1, which finds again what changed meanwhile. Tombstones and key changes go on from there as well.
        Raises InvalidRequest.
        """
        checked_size("page_size", page_size)
        with self._reading(resource) as (session, resource_key_id, horizon):
            first = snapshot_page(session, resource_key_id, LOWEST_ID, page_size)

        def items() -> Iterator[Change]:
            page = first
            yield from page
            while len(page) == page_size:
                with self._reading(resource) as (session, resource_key_id, _):
                    page = snapshot_page(session, resource_key_id, page[-1].document_id, page_size)
                yield from page

        return Walk(items(), horizon, cut=False)

    def deletes(self, resource: ResourceKey, window: Window | None = None, page_size: int = 500) -> Walk[Delete]:
        """The tombstones of a resource whose version lies in the window (inclusive, cut to the horizon), oldest first.

        Raises InvalidRequest, CheckpointExpired (tombstones have a floor of their own).
        """
        return self._walk(deletes_page, resource, window, page_size)

    def key_changes(self, resource: ResourceKey, window: Window | None = None, page_size: int = 500) -> Walk[KeyChange]:
        """The documents of a resource whose key values differ between the ends of the window, each at its last key change in it.

        A→B→C inside the window is one key change from A to C, A→B→A is none. Bounds: the window is inclusive and cut to the
        horizon. Raises InvalidRequest, CheckpointExpired (key changes have a floor of their own).
        """
        return self._walk(key_changes_page, resource, window, page_size)

    def snapshot_page(self, resource: ResourceKey, after: int | None = None, limit: int = 500) -> Sequence[Change]:
        """The live documents of a resource after an id, exclusive, at most `limit` (1 to 1,000,000), as `snapshot` walks them.

        Fewer are the last ones. Note newest before the first page: go on with a window from it, plus one. Raises InvalidRequest.
        """
        start = LOWEST_ID if after is None else checked_id("after", after)
        checked_size("limit", limit)
        with self._reading(resource) as (session, resource_key_id, _):
            return snapshot_page(session, resource_key_id, start, limit)

    def delete_page(
        self, resource: ResourceKey, window: Window | None = None, after: int | None = None, limit: int = 500
    ) -> VersionPage[Delete]:
        """One page of `deletes`: after a version, exclusive, at most `limit` (1 to 1,000,000). `next` is None at the end.

        Raises what deletes raises.
        """
        return self._version_page(deletes_page, resource, window, after, limit)

    def key_change_page(
        self, resource: ResourceKey, window: Window | None = None, after: int | None = None, limit: int = 500
    ) -> VersionPage[KeyChange]:
        """One page of `key_changes`: it looks at `limit` key changes (1 to 1,000,000) after a version, exclusive.

        It may hold fewer before the end, where `next` is None. Raises what key_changes raises.
        """
        return self._version_page(key_changes_page, resource, window, after, limit)

    def _version_page(
        self, read: PageReader[_Item], resource: ResourceKey, window: Window | None, after: int | None, limit: int
    ) -> VersionPage[_Item]:
        checked = checked_window(window)
        checked_size("limit", limit)
        start = checked.first - 1 if after is None else max(checked.first - 1, checked_version("after", after))
        with self._reading(resource) as (session, resource_key_id, horizon):
            return read(session, resource_key_id, checked, start, checked.last(horizon), limit)

    def count(self, resource: ResourceKey, window: Window | None = None, kind: str = UPSERT) -> int:
        """How many items a walk of a window would give: of `changes` ("upsert"), `deletes` ("delete") or `key_changes`.

        Without a window everything up to the horizon; of "upsert" the live documents, as `snapshot` walks them. It reads the whole
        window. Raises InvalidRequest, CheckpointExpired.
        """
        checked, kind = checked_window(window), counting.checked_kind(kind)
        with self._reading(resource) as (session, resource_key_id, horizon):
            if window is None and kind == UPSERT:
                return counting.count_documents(session, resource_key_id)
            return counting.count_window(session, resource_key_id, checked, horizon, kind)

    def find(self, resource: ResourceKey, document_uuid: UUID) -> int | None:
        """The id of the document of a resource that has a uuid, None where there is none. Raises InvalidRequest."""
        if not isinstance(document_uuid, UUID):
            raise InvalidRequest("document_uuid", document_uuid, "pass a UUID")
        with self._reading(resource) as (session, resource_key_id, _):
            found = session.execute("find_by_uuid", resource_key_id=resource_key_id, document_uuid=str(document_uuid)).first()
        return None if found is None else int(found.document_id)

    def _walk(self, read: PageReader[_Item], resource: ResourceKey, window: Window | None, page_size: int) -> Walk[_Item]:
        """A window that is read by version alone. Its first page is read at once, so that what is wrong with it is told at once."""
        checked = checked_window(window)
        checked_size("page_size", page_size)
        with self._reading(resource) as (session, resource_key_id, horizon):
            through = checked.last(horizon)
            first = read(session, resource_key_id, checked, checked.first - 1, through, page_size)

        def items() -> Iterator[_Item]:
            page = first
            yield from page.items
            while page.next is not None:
                with self._reading(resource) as (session, resource_key_id, _):
                    page = read(session, resource_key_id, checked, page.next, through, page_size)
                yield from page.items

        return Walk(items(), through, checked.is_cut(through))

    def plan(
        self,
        resources: ResourceKey | Collection[ResourceKey] | None = None,
        window: Window | None = None,
        *,
        events_per_part: int | None = None,
        parts: int | None = None,
    ) -> Plan:
        """The window of a resource, of several, or of all (None), in parts with about equal numbers of events, for many readers.

        Either `parts` (1 to 10,000: about so many) or `events_per_part` (250,000 without either). Bounds: the window is inclusive
        and cut to the horizon. What it costs does not grow with the events of documents, only with the parents of those that were
        renamed: thousands of renames of popular documents take seconds. Raises InvalidRequest, CheckpointExpired. Source:
        docs/how-it-works.md, Planning.
        """
        asked = checked_window(window)
        planning.check_sizes(parts, "events_per_part", events_per_part)
        with self._planning(resources) as (session, chosen, horizon):
            ends = (asked.first, asked.last(horizon), horizon)
            found = planning.plan_changes(session, chosen, resources is None, *ends, events_per_part, parts)
            floors = read_floors(session)
        refuse_expired(asked, max(floors["DocumentChangeEvent"], floors["IdentityChangeEvent"]))
        return found

    def plan_snapshot(
        self,
        resources: ResourceKey | Collection[ResourceKey] | None = None,
        *,
        documents_per_part: int | None = None,
        parts: int | None = None,
    ) -> SnapshotPlan:
        """All live documents of a resource, of several, or of all (None), in parts with equal numbers of them, for many readers.

        Either `parts` (1 to 10,000: about so many) or `documents_per_part` (250,000 without either). Costs a walk of an index.
        Go on with a window from `last` + 1. Raises InvalidRequest. Source: docs/how-it-works.md, Planning.
        """
        planning.check_sizes(parts, "documents_per_part", documents_per_part)
        with self._planning(resources) as (session, chosen, horizon):
            return planning.plan_snapshot(session, chosen, resources is None, horizon, documents_per_part, parts)

    @contextmanager
    def _planning(
        self, resources: ResourceKey | Collection[ResourceKey] | None
    ) -> Iterator[tuple[Session, dict[ResourceKey, int], int]]:
        """A session to plan in, the resources with their ids, and the horizon: what it covers is of resources known after it."""
        wanted = [resources] if isinstance(resources, ResourceKey) else resources
        with self._session() as session:
            horizon = self._horizon.read(session, "begin_page")  # a bitmap of a range is made of all of it, whatever the limit
            yield session, self._registry.among(session, wanted), horizon

    def stream(self, resources: ResourceKey | Collection[ResourceKey] | None = None, kinds: Collection[str] = KINDS) -> Stream:
        """The changes of a resource, of several, or of all (None), for who keeps offsets, or reads in many processes.

        `kinds`: "upsert", "delete" and "key_change", or some of them. Nothing is read yet. Raises InvalidRequest. Source:
        docs/how-it-works.md, Streams.
        """
        wanted = [resources] if isinstance(resources, ResourceKey) else resources
        return Stream(self._connection, self._engine, self._horizon, self._registry, wanted, kinds)

    def derive(self, document_ids: Iterable[int]) -> dict[int, Derived]:
        """ChangeVersion, etag and last-modified date of the documents that exist, by id. As of now, not of the horizon.

        Raises InvalidRequest for an id that is no whole number of 64 bits. Source: docs/how-it-works.md, Etags.
        """
        wanted = checked_ids("document_ids", document_ids)
        with self._session() as session:
            return derive(session, wanted)

    def documents(self, document_ids: Iterable[int]) -> dict[int, StoredDocument]:
        """The documents that exist, by id: key values, and the body where one is kept. As of now, not of the horizon.

        Raises InvalidRequest for an id that is no whole number of 64 bits.
        """
        wanted = checked_ids("document_ids", document_ids)
        with self._session() as session:
            return read_documents(session, wanted)

    def images(self, events: Iterable[Event]) -> dict[Event, Image]:
        """The bodies of documents before and after events, by (change_version, document_id); of option images.

        The events lie at or below a horizon that was read before. Left out are those that the journals do not hold (any more), and
        those at or below `images_since`. Raises InvalidRequest, UnsupportedCapability. Source: docs/how-it-works.md, Images.
        """
        with self._session_with(images.OPTION) as session:
            return read_images(session, events)

    def images_since(self) -> int:
        """The version above which every change of a body has its image: where option images was added.

        Raises UnsupportedCapability.
        """
        with self._session_with(images.OPTION) as session:
            return images_since(session)

    def contexts(self, events: Iterable[Event]) -> dict[Event, Mapping[str, Any]]:
        """What caused events, by (change_version, document_id), as the writers' JSON objects; of option context.

        The events lie at or below a horizon that was read before. Left out are those of which nothing was said. Raises
        InvalidRequest, UnsupportedCapability. Source: docs/how-it-works.md, Contexts.
        """
        with self._session_with(contexts.OPTION) as session:
            return read_contexts(session, events)

    def effects(self, events: Iterable[FeedEvent], limit: int = 100) -> dict[Event, Effects]:
        """What else changed because of events of the feed, by (change_version, document_id); only events that had such an effect.

        Documents that refer to one whose identity changed, as they are now, but those that were written since: they have later
        events of their own. With option context also what `delete(cascade=True)` deleted, and what was written within `caused_by`.
        Bounds: `limit` documents an event (1 to 1,000), 10,000 references of it are looked at. Raises InvalidRequest,
        CheckpointExpired where an event has been pruned. Source: docs/how-it-works.md, Effects.
        """
        with self._at_horizon() as (session, _):  # for begin_page's settings: a bitmap would be made of all references
            return read_effects(session, self._registry, events, limit)

    def fingerprint(self, version: int) -> Fingerprint:
        """What a checkpoint at a version, at most newest, should keep to know the database's history again: its last event.

        Raises InvalidRequest, also for a version above newest. Source: docs/how-it-works.md, Consumers.
        """
        checked_version("version", version)
        with self._session() as session:
            newest = self._horizon.read(session, "horizon")
            if version > newest:
                raise InvalidRequest("version", version, f"newest is {newest}, below it: nobody can have read that far")
            return read_fingerprint(session, version)

    def check_history(self, fingerprint: Fingerprint) -> None:
        """Nothing, if a checkpoint with that fingerprint can go on from the version after it.

        Raises HistoryDiverged where the database's history does not lead there (invariant 9), CheckpointExpired where what comes
        after it is pruned.
        """
        with self._session() as session:
            refuse_another_history(session, fingerprint)

    @property
    def feed_capabilities(self) -> FeedCapabilities:
        """What the feed of this journal can do, with the options that the database had when the journal connected.

        Never an error: while there is no database to ask, what it can do without options.
        """
        if not self._is_installed:
            with suppress(JournalError):
                self._check_installed()
        return database.capabilities(self._options)

    def read_changes(self, request: FeedRequest) -> FeedPage:
        """One page of the feed: the next events of the request's scope, in (ChangeVersion, DocumentId) order.

        Bounds: after the request's start, exclusive, up to the horizon. A page looks at a bounded number of rows: it may hold
        fewer events than there are, or none; go on from its token, until it is idle. Raises InvalidRequest, also for a token of
        another provider, database, scope or filter; UnsupportedCapability; CheckpointExpired where events after the start are
        pruned; HistoryDiverged where the database was restored to an earlier state than the token's. Source:
        docs/how-it-works.md, The feed.
        """
        if isinstance(request, FeedRequest) and request.item_state is NewItemStateMode.REQUIRE:
            self._look_for(images.OPTION)
        check_supported(request, database.capabilities(self._options))
        with self._at_horizon() as (session, horizon):
            return database.read_page(session, self._registry, horizon, request)

    def feed_start(self, request: FeedRequest) -> str:
        """The token of where a request starts, before its first event: for DatabaseCheckpoint.begin.

        Raises what read_changes raises.
        """
        check_supported(request, self.feed_capabilities)
        with self._at_horizon() as (session, horizon):
            return database.start_token(session, self._registry, horizon, request)

    def list_physical_partitions(self) -> Sequence[FeedPartition]:
        """The partitions of the feed that still have versions to read, oldest first: buckets of a hash of DocumentId.

        Read one after all of its parents were read to their ends: then each document's events come in order.
        """
        with self._session() as session:
            return database.list_partitions(session)

    def change_bucket_count(self, count: int) -> Sequence[FeedPartition]:
        """Cuts the feed's documents into 1 to 1,024 buckets from now on; the present buckets retire, and name their children.

        Writers and readers go on. The installing role's: it draws a stamp. Nothing happens where there are as many already. Raises
        InvalidRequest. Returns what list_physical_partitions gives.
        """
        with self._session() as session:
            database.change_bucket_count(session, count)
            return database.list_partitions(session)

    @property
    def consumers(self) -> Consumers:
        """The registered consumers: register, advance, get, list, drop, hold."""
        return Consumers(self._session, self._horizon, partial(Hold, self._connection, self._engine))

    @property
    def partitions(self) -> Partitions:
        """The parts of the journals, with option partitions: list, ensure, split."""
        return Partitions(self._connection, self._engine, self._horizon)

    def prune(
        self,
        through: int | None = None,
        *,
        older_than: timedelta | None = None,
        keep_at_least: int | None = None,
        journals: Collection[str] | None = None,
        force: bool = False,
        batch_size: int = pruning.BATCH_SIZE,
        pause: timedelta = pruning.PAUSE,
        max_runtime: timedelta | None = None,
        dry_run: bool = False,
        progress: pruning.Progress | None = None,
    ) -> pruning.Pruned:
        """Deletes the events at or below a version, in batches; the floor becomes that version.

        How far: `through` (a version, inclusive, at most newest), `older_than` (by the database's clock; turned into a version
        once, below the first event that is younger), `keep_at_least` (the newest document events, 1 or more, stay). One of them
        must be given; the lowest counts. It stops at the slowest registered consumer, the result's `held_by`, unless `force` is
        true. `journals`: names out of pruning.JOURNALS, all without it; changes expire at the higher floor of
        DocumentChangeEvent and IdentityChangeEvent. `batch_size`: rows a transaction, 1 to 50,000 (2,000 on SQL Server), with a
        `pause` (5 ms) after each. It ends after `max_runtime`, between two batches. `dry_run` deletes nothing: the result has the
        rows, and about the bytes, that would go. With option partitions, those that lie whole at or below the version are dropped,
        each in a moment; their events are counted as the server estimates them. `progress` is called before the first batch and
        after each. Documents stay.
        Raises InvalidRequest; Unavailable, also while another prune runs, naming its session. Source: docs/how-it-works.md,
        Pruning.
        """
        request = pruning.Request(through, older_than, keep_at_least, journals, force, batch_size, pause, max_runtime)
        if dry_run:
            with self._session() as session:
                return pruning.estimate(session, self._horizon, request)
        with self._connection() as conn:
            return pruning.prune(conn, self._engine, self._options, self._horizon, request, progress)

    @contextmanager
    def write(self, context: Context | None = None) -> Iterator[WriteTransaction]:
        """One transaction: committed at the end of the block, rolled back if an error leaves it.

        `context` says what causes its changes; UnsupportedCapability without option context. Raises what the transaction's methods
        raise, and Unavailable where the database asks for another try.
        """
        needs = self._session() if checked_context(context) is None else self._session_with(contexts.OPTION)
        with needs as session:
            if context is not None:
                context.set(session)
            yield WriteTransaction(session, context)
            if session.failed:  # and the error did not leave the block: a commit would be a rollback, without a word
                session.execute("ping")
            try:
                session.conn.commit()
            except exc.DBAPIError as error:
                if not error.connection_invalidated:
                    raise
                raise Unavailable(
                    "the connection was lost during the commit", "look whether it is there before you try again"
                ) from error

    def verify(self, sample: float | None = None, progress: Progress | None = None) -> Verification:
        """Whether triggers, journals and floors say what the invariants promise; as of now, and exact while others write.

        Units: `sample` is the part of the rows to look at, above 0 and at most 1, None for all; what the schema is made of, the
        sequence and the floors are always looked at. `progress(walk, rows)` is called after each batch. A role that reads the
        journals may run it. Raises InvalidRequest. Source: docs/how-it-works.md, What can bypass it.
        """
        return verifying.verify(self._session, sample, progress)

    def repair(self, progress: Progress | None = None) -> Repair:
        """Heals what `verify` finds, with new stamps, so that a consumer that goes on from its checkpoint sees it; then verifies.

        What cannot be told any more is recorded as expiry: that consumer gets CheckpointExpired, and reads in full. Each step is a
        short transaction, and can be run again. The installing role's. Raises Unavailable where a lock is not to be had in 5 s.
        """
        with self._connection() as conn, self.partitions.kept_whole(conn):
            return verifying.repair(self._session, progress)


def checked_window(window: object) -> Window:
    """The window, everything where there is none. Raises InvalidRequest."""
    if window is None:
        return Window()
    if not isinstance(window, Window):
        raise InvalidRequest("window", window, "pass a Window(min=…, max=…), both ends inclusive")
    return window
