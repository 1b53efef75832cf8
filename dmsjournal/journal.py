"""The journal of one database: what changed, and where to write."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from types import TracebackType
from typing import Any, TypeVar
from uuid import UUID

import sqlalchemy as sa

from dmsjournal.database.connect import engine_for, is_unreadable
from dmsjournal.database.database import Database
from dmsjournal.database.fingerprints import Fingerprint, read_fingerprint, refuse_another_history
from dmsjournal.database.floors import read_floors, refuse_missing_parts
from dmsjournal.database.session import Session
from dmsjournal.database.urls import shown
from dmsjournal.errors import InvalidRequest, JournalError
from dmsjournal.feed import database
from dmsjournal.feed.capabilities import FeedCapabilities
from dmsjournal.feed.effects import read_effects
from dmsjournal.feed.events import Effects, FeedEvent
from dmsjournal.feed.pages import FeedPage
from dmsjournal.feed.partitions import FeedPartition
from dmsjournal.feed.providers import check_supported
from dmsjournal.feed.requests import FeedRequest, NewItemStateMode
from dmsjournal.model.resources import ResourceKey
from dmsjournal.model.windows import (
    MAX_VERSION,
    ChangeVersions,
    Cursor,
    Window,
    checked_flag,
    checked_ids,
    checked_size,
    checked_version,
    checked_window,
)
from dmsjournal.operate import prune as pruner
from dmsjournal.operate import tracking
from dmsjournal.operate import verify as verifier
from dmsjournal.operate.consumers import Consumers
from dmsjournal.operate.exclusions import exclude_images
from dmsjournal.operate.held_back import HeldBack, read_held_back
from dmsjournal.operate.partitions import Partitions
from dmsjournal.operate.status import Status, read_status
from dmsjournal.operate.tracking import Tracked, TrackedTable, TrackingPlan
from dmsjournal.operate.verify import Progress, Repair, Verification
from dmsjournal.read import contexts, counts, images, traversal
from dmsjournal.read import plan as planner
from dmsjournal.read.contexts import Context, checked_context, read_contexts
from dmsjournal.read.deletes import Delete, deletes_page
from dmsjournal.read.dependencies import read_dependencies
from dmsjournal.read.derived import Derived, derive
from dmsjournal.read.documents import StoredDocument, read_documents, with_current_references
from dmsjournal.read.images import Event, Image, image_exclusions, images_since, read_images
from dmsjournal.read.iteration import VersionPage
from dmsjournal.read.key_changes import KeyChange, key_changes_page
from dmsjournal.read.pages import Change, ChangePage, refuse_expired
from dmsjournal.read.plan import Plan, SnapshotPlan
from dmsjournal.read.stream import KINDS, UPSERT, Stream
from dmsjournal.read.unreadable import PassBy, passed, reduced
from dmsjournal.read.walk import Walk
from dmsjournal.write.retry import retried
from dmsjournal.write.transaction import WriteTransaction

_T = TypeVar("_T")


def connect(url: str | sa.URL, *, unreadable: PassBy | None = None) -> Journal:
    """The journal of the database that a SQLAlchemy URL names. Nothing is connected yet.

    `unreadable` is called with each UnreadableEvent that a reader passes by; without it the reader raises that. An event may come
    again when it is read again. Raises InvalidRequest for a URL that makes no sense.
    """
    return Journal(engine_for(url), unreadable=unreadable)


class Journal:
    """The journal of one database. Threads may share it; it holds a pool of connections until it is closed.

    Every method may raise NotInstalled, Unavailable and DatabaseRefused besides what it names; those that give keys or bodies,
    UnreadableEvent, unless `unreadable` takes it (see connect).
    """

    def __init__(self, pool: sa.Engine, *, unreadable: PassBy | None = None) -> None:
        self._database = Database(pool)
        self._pass_by = unreadable

    @property
    def database(self) -> Database:
        """The database, for what is built on a journal: its pool, engine, sessions, horizon and options."""
        return self._database

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Journal({shown(self._database.pool.url)!r})"

    def close(self) -> None:
        """Closes the pool's connections."""
        self._database.close()

    def versions(self) -> ChangeVersions:
        """The oldest version that can be asked for, and the newest: the horizon, at or below which every writer has finished.

        `oldest` is 0 while nothing was pruned, then the floor plus one.
        """
        with self._database.session() as session:
            newest = self._database.horizon.read(session, "database/horizon")
            floors = read_floors(session)
        return ChangeVersions.above(floors, newest)

    def status(self) -> Status:
        """How far the journal is, who holds the horizon, how large the journals are and how fast they grow, consumers and triggers.

        Units: rows (estimated), bytes, seconds by the database's clock. Its cost does not grow with the journals. What the role may
        not see is None, and named in `hidden`. Raises UnsupportedCapability on a standby. Source: docs/operator/status.md.
        """
        with self._database.session() as session:
            return read_status(session, self._database.horizon)

    def held_back(self) -> HeldBack | None:
        """The changes above the horizon that are written, who holds it below them, and since when; None where there are none.

        For a reader that finds nothing new: None says that it has caught up. On SQL Server a change counts before it is committed.
        Raises UnsupportedCapability on a standby.
        """
        with self._database.session() as session:
            return read_held_back(session, self._database.horizon)

    def resources(self) -> dict[ResourceKey, int]:
        """The resources that the database knows, and their ids."""
        with self._database.session() as session:
            return dict(self._database.resource_ids.refresh(session))

    def dependencies(self) -> dict[ResourceKey, frozenset[ResourceKey]]:
        """The resources that the database knows, each with those that its documents refer to, or once did."""
        with self._database.session() as session:
            return read_dependencies(session, self._database.resource_ids.refresh(session))

    def change_page(
        self, resource: ResourceKey, window: Window | None = None, after: Cursor | None = None, limit: int = 500
    ) -> ChangePage:
        """The documents of a resource whose derived ChangeVersion lies in the window, the first `limit` of them after a cursor.

        Bounds: the window is inclusive and cut to the horizon, `after` is exclusive, `limit` is 1 to 1,000,000 rows. A page may
        hold fewer rows before the end, where later changes have overtaken earlier ones; the end is where `next` is None.
        Raises InvalidRequest, CheckpointExpired. Source: docs/how-it-works.md, Paging.
        """
        return traversal.change_page(self._database, resource, window, after, limit)

    def changes(self, resource: ResourceKey, window: Window | None = None, page_size: int = 500) -> Walk[Change]:
        """All documents of a resource whose derived ChangeVersion lies in the window, in (ChangeVersion, DocumentId) order.

        The window is cut to the horizon once, at the start. A document that changes during the walk may leave the window; it is
        found in the next one (invariant 6). Raises what change_page raises, at once or during the walk.
        """
        return traversal.changes(self._database, resource, window, page_size)

    def snapshot(self, resource: ResourceKey, page_size: int = 500) -> Walk[Change]:
        """All live documents of a resource, each at its derived ChangeVersion as of now, in DocumentId order: the resource in full.

        For who begins, or whose window has expired. The walk's `through` is the horizon that was read before it began: go on with a
        window from `through` + 1, which finds again what changed meanwhile. Tombstones and key changes go on from there as well.
        Raises InvalidRequest.
        """
        return traversal.snapshot(self._database, resource, page_size)

    def deletes(
        self, resource: ResourceKey, window: Window | None = None, page_size: int = 500, *, reused_keys: bool = True
    ) -> Walk[Delete]:
        """The tombstones of a resource whose version lies in the window (inclusive, cut to the horizon), oldest first.

        `reused_keys=False` leaves out those whose key another document has again when the window ends: for a copy that is kept by
        keys and takes key changes, then changes, then deletes. A copy that is kept by uuids needs all of them. Raises
        InvalidRequest, CheckpointExpired (tombstones have a floor of their own).
        """
        read = partial(deletes_page, reused_keys=checked_flag("reused_keys", reused_keys))
        return traversal.versions(self._database, self._pass_by, read, resource, window, page_size)

    def key_changes(self, resource: ResourceKey, window: Window | None = None, page_size: int = 500) -> Walk[KeyChange]:
        """The documents of a resource whose key values differ between the ends of the window, each at its last key change in it.

        A→B→C inside the window is one key change from A to C, A→B→A is none. Bounds: the window is inclusive and cut to the
        horizon. Raises InvalidRequest, CheckpointExpired (key changes have a floor of their own).
        """
        return traversal.versions(self._database, self._pass_by, key_changes_page, resource, window, page_size)

    def snapshot_page(self, resource: ResourceKey, after: int | None = None, limit: int = 500) -> Sequence[Change]:
        """The live documents of a resource after an id, exclusive, at most `limit` (1 to 1,000,000), as `snapshot` walks them.

        Fewer are the last ones. Note newest before the first page: go on with a window from it, plus one. Raises InvalidRequest.
        """
        return traversal.snapshot_page(self._database, resource, after, limit).items

    def delete_page(
        self,
        resource: ResourceKey,
        window: Window | None = None,
        after: int | None = None,
        limit: int = 500,
        *,
        reused_keys: bool = True,
    ) -> VersionPage[Delete]:
        """One page of `deletes`: after a version, exclusive, at most `limit` (1 to 1,000,000). `next` is None at the end.

        Without `reused_keys` it may hold fewer before the end. Raises what deletes raises.
        """
        read = partial(deletes_page, reused_keys=checked_flag("reused_keys", reused_keys))
        return traversal.version_page(self._database, self._pass_by, read, resource, window, after, limit)

    def key_change_page(
        self, resource: ResourceKey, window: Window | None = None, after: int | None = None, limit: int = 500
    ) -> VersionPage[KeyChange]:
        """One page of `key_changes`: it looks at `limit` key changes (1 to 1,000,000) after a version, exclusive.

        It may hold fewer before the end, where `next` is None. Raises what key_changes raises.
        """
        return traversal.version_page(self._database, self._pass_by, key_changes_page, resource, window, after, limit)

    def count(self, resource: ResourceKey, window: Window | None = None, kind: str = UPSERT, *, reused_keys: bool = True) -> int:
        """How many items a walk of a window would give: of `changes` ("upsert"), `deletes` ("delete") or `key_changes`.

        Without a window everything up to the horizon; of "upsert" the live documents, as `snapshot` walks them. `reused_keys` is
        that of `deletes`. It reads the whole window. Raises InvalidRequest, CheckpointExpired.
        """
        checked, kind = checked_window(window), counts.checked_kind(kind)
        checked_flag("reused_keys", reused_keys)
        with self._database.reading(resource) as (session, resource_key_id, horizon):
            if window is None and kind == UPSERT:
                return counts.count_documents(session, resource_key_id)
            return counts.count_window(session, resource_key_id, checked, horizon, kind, reused_keys)

    def find(self, resource: ResourceKey, document_uuid: UUID) -> int | None:
        """The id of the document of a resource that has a uuid, None where there is none. Raises InvalidRequest."""
        if not isinstance(document_uuid, UUID):
            raise InvalidRequest("document_uuid", document_uuid, "pass a UUID")
        with self._database.reading(resource) as (session, resource_key_id, _):
            found = session.execute("read/find_by_uuid", resource_key_id=resource_key_id, document_uuid=str(document_uuid)).first()
        return None if found is None else int(found.document_id)

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
        planner.check_sizes(parts, "events_per_part", events_per_part)
        with self._planning(resources) as (session, chosen, horizon):
            ends = (asked.first, asked.last(horizon), horizon)
            found = planner.plan_changes(session, chosen, resources is None, *ends, events_per_part, parts)
            floors = read_floors(session)
            refuse_missing_parts(session, found.first, found.last, "DocumentChangeEvent", "IdentityChangeEvent")
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
        planner.check_sizes(parts, "documents_per_part", documents_per_part)
        with self._planning(resources) as (session, chosen, horizon):
            return planner.plan_snapshot(session, chosen, resources is None, horizon, documents_per_part, parts)

    @contextmanager
    def _planning(
        self, resources: ResourceKey | Collection[ResourceKey] | None
    ) -> Iterator[tuple[Session, dict[ResourceKey, int], int]]:
        """A session to plan in, the resources with their ids, and the horizon: what it covers is of resources known after it."""
        wanted = [resources] if isinstance(resources, ResourceKey) else resources
        with self._database.session() as session:
            horizon = self._database.horizon.read(
                session, "database/begin_page"
            )  # a bitmap of a range is made of all of it, whatever the limit
            yield session, self._database.resource_ids.among(session, wanted), horizon

    def stream(self, resources: ResourceKey | Collection[ResourceKey] | None = None, kinds: Collection[str] = KINDS) -> Stream:
        """The changes of a resource, of several, or of all (None), for who keeps offsets, or reads in many processes.

        `kinds`: "upsert", "delete" and "key_change", or some of them. Nothing is read yet. Raises InvalidRequest. Source:
        docs/how-it-works.md, Streams.
        """
        wanted = [resources] if isinstance(resources, ResourceKey) else resources
        return Stream(self._database, wanted, kinds)

    def derive(self, document_ids: Iterable[int]) -> dict[int, Derived]:
        """ChangeVersion, etag and last-modified date of the documents that exist, by id. As of now, not of the horizon.

        Raises InvalidRequest for an id that is no whole number of 64 bits. Source: docs/how-it-works.md, Etags.
        """
        wanted = checked_ids("document_ids", document_ids)
        with self._database.session() as session:
            return derive(session, wanted)

    def documents(self, document_ids: Iterable[int], *, current_references: bool = False) -> dict[int, StoredDocument]:
        """The documents that exist, by id: key values, and the body where one is kept. As of now, not of the horizon.

        With `current_references` a body shows the keys that other documents have now where it was written with earlier ones: for
        who posts it elsewhere. One that cannot be read, and is passed by, has neither key nor body (see connect).
        Raises InvalidRequest for an id that is no whole number of 64 bits. Source: docs/how-it-works.md, References in bodies.
        """
        checked_flag("current_references", current_references)
        found = self._documents(sorted(set(checked_ids("document_ids", document_ids))))
        if not (current_references and found):
            return found
        try:
            with self._database.session() as session:
                return with_current_references(session, found)
        except JournalError as error:
            if self._pass_by is None or not is_unreadable(error.__cause__):
                raise
            return found

    def _documents(self, document_ids: list[int], *, with_values: bool = True) -> dict[int, StoredDocument]:
        try:
            with self._database.session() as session:
                return read_documents(session, document_ids, with_values=with_values)
        except JournalError as error:
            if not (with_values and is_unreadable(error.__cause__)):
                raise
            refused = error
        if len(document_ids) > 1:
            half = len(document_ids) // 2
            return self._documents(document_ids[:half]) | self._documents(document_ids[half:])
        found = self._documents(document_ids, with_values=False)
        for document_id in found:
            passed(self._pass_by, refused, document_id, "KeyValues or DocumentJson")
        return found

    def images(self, events: Iterable[Event]) -> dict[Event, Image]:
        """The bodies of documents before and after events, by (change_version, document_id); of option images.

        The events lie at or below a horizon that was read before. Left out are those that the journals do not hold (any more), and
        those at or below `images_since`. Raises InvalidRequest, UnsupportedCapability. Source: docs/how-it-works.md, Images.
        """
        with self._database.session_with(images.OPTION) as session:
            return read_images(session, events)

    def images_since(self) -> int:
        """The version above which every change of a body has its image: where option images was added, or its images were pruned.

        Raises UnsupportedCapability.
        """
        with self._database.session_with(images.OPTION) as session:
            return images_since(session)

    def image_exclusions(self) -> dict[ResourceKey, int]:
        """The resources of which no images are kept, each with the version since when; see exclude_images.

        Raises UnsupportedCapability.
        """
        with self._database.session_with(images.OPTION) as session:
            return image_exclusions(session)

    def exclude_images(self, *resources: ResourceKey) -> dict[ResourceKey, int]:
        """Keeps no images of resources from now on, of whole resources always; what image_exclusions gives afterwards.

        No event of them has an image any more, also none from before: the body after an event may be another one's by now. Nobody
        waits. It cannot be taken back but by removing option images and adding it again, after which all images begin anew. The
        installing role's: it draws stamps. Raises InvalidRequest for a resource that the database does not know,
        UnsupportedCapability.
        """
        return exclude_images(self._database, resources)

    def contexts(self, events: Iterable[Event]) -> dict[Event, Mapping[str, Any]]:
        """What caused events, by (change_version, document_id), as the writers' JSON objects; of option context.

        The events lie at or below a horizon that was read before. Left out are those of which nothing was said. Raises
        InvalidRequest, UnsupportedCapability. Source: docs/how-it-works.md, Contexts.
        """
        with self._database.session_with(contexts.OPTION) as session:
            return read_contexts(session, events)

    def effects(self, events: Iterable[FeedEvent], limit: int = 100) -> dict[Event, Effects]:
        """What else changed because of events of the feed, by (change_version, document_id); only events that had such an effect.

        Documents that refer to one whose identity changed, as they are now, but those that were written since: they have later
        events of their own. With option context also what `delete(cascade=True)` deleted, and what was written within `caused_by`.
        Bounds: `limit` documents an event (1 to 1,000), 10,000 references of it are looked at. Raises InvalidRequest,
        CheckpointExpired where an event has been pruned. Source: docs/how-it-works.md, Effects.
        """
        with self._database.at_horizon() as (session, _):  # for begin_page's settings: a bitmap would be made of all references
            return read_effects(session, self._database.resource_ids, events, limit)

    def fingerprint(self, version: int) -> Fingerprint:
        """What a checkpoint at a version, at most newest, should keep to know the database's history again: its last event.

        Raises InvalidRequest, also for a version above newest. Source: docs/how-it-works.md, Consumers.
        """
        checked_version("version", version)
        with self._database.session() as session:
            newest = self._database.horizon.read(session, "database/horizon")
            if version > newest:
                raise InvalidRequest("version", version, f"it is above the newest readable version ({newest})")
            return read_fingerprint(session, version)

    def check_history(self, fingerprint: Fingerprint) -> None:
        """Nothing, if a checkpoint with that fingerprint can go on from the version after it.

        Raises HistoryDiverged where the database's history does not lead there (invariant 9), CheckpointExpired where what comes
        after it is pruned.
        """
        with self._database.session() as session:
            refuse_another_history(session, fingerprint)

    @property
    def feed_capabilities(self) -> FeedCapabilities:
        """What the feed of this journal can do, with the options that the database had when the journal connected.

        Never an error: while there is no database to ask, what it can do without options.
        """
        if not self._database.is_known:
            with suppress(JournalError):
                self._database.look()
        return database.capabilities(self._database.options)

    def read_changes(self, request: FeedRequest, *, max_bytes: int | None = None) -> FeedPage:
        """One page of the feed: the next events of the request's scope, in (ChangeVersion, DocumentId) order.

        Bounds: after the request's start, exclusive, up to the horizon. A page looks at a bounded number of rows: it may hold
        fewer events than there are, or none; go on from its token, until it is idle. A page also ends before the event whose key
        and body would bring it above `max_bytes` (of JSON), unless that is its first. Raises InvalidRequest, also for a token of
        another provider, database, scope or filter; UnsupportedCapability; CheckpointExpired where events after the start are
        pruned; HistoryDiverged where the database was restored to an earlier state than the token's. Source:
        docs/how-it-works.md, The feed.
        """
        if max_bytes is not None:
            checked_size("max_bytes", max_bytes, MAX_VERSION, "bytes")
        if isinstance(request, FeedRequest) and request.item_state is NewItemStateMode.REQUIRE:
            self._database.look_for(images.OPTION)
        check_supported(request, database.capabilities(self._database.options))

        def page(size: int, item_state: NewItemStateMode = request.item_state, *, with_key: bool = True) -> FeedPage:
            asked = replace(request, max_page_size=size, item_state=item_state)
            with self._database.at_horizon() as (session, horizon):
                return database.read_page(session, self._database.resource_ids, horizon, asked, with_key, max_bytes)

        found = reduced(page, request.max_page_size)
        if not isinstance(found, JournalError):
            return found
        without: FeedPage | JournalError = found  # it is the key where no body was wanted
        column = "DocumentJson"
        if request.item_state is not NewItemStateMode.OMIT:
            without = reduced(partial(page, item_state=NewItemStateMode.OMIT), 1)
        if isinstance(without, JournalError):
            without, column = page(1, NewItemStateMode.OMIT, with_key=False), "KeyValues"
        for event in without.events:
            assert event.key.document_id is not None
            passed(self._pass_by, found, event.key.document_id, column, event.change_version)
        return replace(without, events=[])

    def feed_start(self, request: FeedRequest) -> str:
        """The token of where a request starts, before its first event: for DatabaseCheckpoint.begin.

        Raises what read_changes raises.
        """
        check_supported(request, self.feed_capabilities)
        with self._database.at_horizon() as (session, horizon):
            return database.start_token(session, self._database.resource_ids, horizon, request)

    def list_physical_partitions(self) -> Sequence[FeedPartition]:
        """The partitions of the feed that still have versions to read, oldest first: buckets of a hash of DocumentId.

        Read one after all of its parents were read to their ends: then each document's events come in order.
        """
        with self._database.session() as session:
            return database.list_partitions(session)

    def change_bucket_count(self, count: int) -> Sequence[FeedPartition]:
        """Cuts the feed's documents into 1 to 1,024 buckets from now on; the present buckets retire, and name their children.

        Writers and readers go on. The installing role's: it draws a stamp. Nothing happens where there are as many already. Raises
        InvalidRequest. Returns what list_physical_partitions gives.
        """
        with self._database.session() as session:
            database.change_bucket_count(session, count)
            return database.list_partitions(session)

    @property
    def consumers(self) -> Consumers:
        """The registered consumers: register, advance, get, list, drop, hold."""
        return Consumers(self._database)

    @property
    def partitions(self) -> Partitions:
        """The parts of the journals, with option partitions: list, ensure, split."""
        return Partitions(self._database)

    def prune(
        self,
        through: int | None = None,
        *,
        older_than: timedelta | None = None,
        keep_at_least: int | None = None,
        journals: Collection[str] | None = None,
        force: bool = False,
        batch_size: int = pruner.BATCH_SIZE,
        pause: timedelta = pruner.PAUSE,
        max_runtime: timedelta | None = None,
        dry_run: bool = False,
        progress: pruner.Progress | None = None,
    ) -> pruner.Pruned:
        """Deletes the events at or below a version, in batches; the floor becomes that version.

        How far: `through` (a version, inclusive, at most newest), `older_than` (by the database's clock; turned into a version
        once, below the first event that is younger), `keep_at_least` (the newest document events, 1 or more, stay). One of them
        must be given; the lowest counts. It stops at the slowest registered consumer, the result's `held_by`, unless `force` is
        true. `journals`: names out of `dmsjournal.model.journals.JOURNALS`, all without it; changes expire at the higher floor of
        DocumentChangeEvent and IdentityChangeEvent. Named "DocumentImage", the images of option images go while their
        events stay. `batch_size`: rows a transaction, 1 to 50,000 (2,000 on SQL Server), with a `pause` (5 ms) after each.
        It ends after `max_runtime`, between two batches. `dry_run` deletes nothing: the result has the rows, and about the
        bytes, that would go. With option partitions, those that lie whole at or below the version are dropped, each in a
        moment; their events are counted as the server estimates them. `progress` is called before the first batch and after
        each. Documents stay.
        Raises InvalidRequest; Unavailable, also while another prune runs, naming its session. Source: docs/how-it-works.md,
        Pruning.
        """
        request = pruner.PruneRequest(through, older_than, keep_at_least, journals, force, batch_size, pause, max_runtime)
        if dry_run:
            return pruner.estimate(self._database, request)
        return pruner.prune(self._database, request, progress)

    def track(
        self,
        *tables: TrackedTable,
        lock_timeout: str = tracking.LOCK_TIMEOUT,
        blocks: int = tracking.BLOCKS,
        pause: timedelta = timedelta(0),
        progress: tracking.Progress | None = None,
    ) -> list[Tracked]:
        """Tracks tables of others, in their order: each row is a document from now on, each foreign key between them an edge.

        Each table gets its triggers in one short transaction, which waits for its writers no longer than `lock_timeout`. Then its
        rows are filled in, while writers go on: those of `blocks` (of 8 kB, 1 to 100,000) a transaction, with a `pause` after it.
        `progress` is called with the table, the pass (rows or documents), the blocks done and in all, and the documents made. A
        run that is killed goes on where it stopped by `renew_tracking`. The installing role's. Raises UnsupportedCapability for a
        table that cannot be tracked, naming what to do; InvalidRequest, Unavailable. Source: docs/dba/track.md.
        """
        return tracking.track(self._database, tables, lock_timeout=lock_timeout, blocks=blocks, pause=pause, progress=progress)

    def tracking_plan(self, *tables: TrackedTable) -> list[TrackingPlan]:
        """What `track` would do: each table as it would be listed, and the SQL. Nothing is kept, and no table is locked."""
        return tracking.plan(self._database, tables)

    def renew_tracking(
        self,
        *tables: str,
        trust: Collection[str] = (),
        lock_timeout: str = tracking.LOCK_TIMEOUT,
        blocks: int = tracking.BLOCKS,
        pause: timedelta = timedelta(0),
        progress: tracking.Progress | None = None,
    ) -> list[Tracked]:
        """Takes in what changed about tracked tables (all without names): columns, partitions, foreign keys, dropped triggers.

        Then it fills what is missing, and goes on with a fill that was killed. Without names, a table that is refused keeps no
        other from being renewed; the refusal is raised at the end, and a note of it names such tables. `trust` names those of the
        tables whose owners are trusted as the installing role is, and the owners of functions that they use. The rest is as in
        `track`.
        """
        return tracking.renew(
            self._database, tables, trust=trust, lock_timeout=lock_timeout, blocks=blocks, pause=pause, progress=progress
        )

    def untrack(self, table: str, *, keep_documents: bool = False, lock_timeout: str = tracking.LOCK_TIMEOUT) -> None:
        """Tracks a table no more: its triggers go, and its documents, whose tombstones say so, unless `keep_documents`."""
        tracking.untrack(self._database, table, keep_documents=keep_documents, lock_timeout=lock_timeout)

    def tracked(self) -> list[Tracked]:
        """The tracked tables, by name; none where the database has no option tracking. Raises UnsupportedCapability."""
        return tracking.tracked(self._database)

    @contextmanager
    def write(self, context: Context | None = None) -> Iterator[WriteTransaction]:
        """One transaction: committed at the end of the block, rolled back if an error leaves it.

        `context` says what causes its changes; UnsupportedCapability without option context. Raises what the transaction's methods
        raise; Unavailable where the database asks for another try, and nothing was kept; CommitUnknown where the connection was
        lost during the commit. `retry` handles both.
        """
        needs = self._database.session() if checked_context(context) is None else self._database.session_with(contexts.OPTION)
        with needs as session:
            if context is not None:
                context.set(session)
            yield WriteTransaction(session, context)
            if session.failed:  # and the error did not leave the block: a commit would be a rollback, without a word
                session.execute("operate/ping")
            session.commit()

    def retry(self, work: Callable[[WriteTransaction], _T], *, context: Context | None = None, patience: float = 60.0) -> _T:
        """Does work in a transaction as `write` gives one, and again while the database asks for another try; what it returned.

        The work is kept once. Where the connection is lost during the commit, it looks what became of the transaction, and does
        the work again only if nothing was kept. `work` may be called several times, with another transaction each: what it does
        elsewhere is done as often. Bounds: `patience` seconds from the first try on. Raises what the work raises; Unavailable
        where the patience ends before a transaction was kept; CommitUnknown where the database cannot tell: another server has
        taken over, or, on SQL Server, the user may not read the journals.
        """
        return retried(self._database, lambda: self.write(context), work, patience)

    def verify(self, sample: float | None = None, progress: Progress | None = None, *, trust: Collection[str] = ()) -> Verification:
        """Whether triggers, journals and floors say what the invariants promise; as of now, and exact while others write.

        Units: `sample` is the part of the rows to look at, above 0 and at most 1, None for all; what the schema is made of, the
        sequence and the floors are always looked at. `progress(walk, rows)` is called after each batch. A role that reads the
        journals may run it. Where something of the schema belongs to another role than the installing one, that is all that is
        looked at, since reading could run that role's code; `trust` names what is no finding, as migrating.upgrade takes it.
        Raises InvalidRequest. Source: docs/how-it-works.md, What can bypass it.
        """
        return verifier.verify(self._database.session, sample, progress, trust)

    def repair(self, progress: Progress | None = None, *, trust: Collection[str] = ()) -> Repair:
        """Heals what `verify` finds, with new stamps, so that a consumer that goes on from its checkpoint sees it; then verifies.

        What cannot be told any more is recorded as expiry: that consumer gets CheckpointExpired, and reads in full. Each step is a
        short transaction, and can be run again. The installing role's, or a superuser's, who writes as that role and alone can
        enable a foreign key's triggers on PostgreSQL. `trust` is as in `verify`. Raises Unavailable where a lock is not to be had
        in 5 s.
        """
        with self.partitions.kept_whole() as sessions:
            return verifier.repair(sessions, progress, trust)
