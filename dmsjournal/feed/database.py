"""The feed of a journal: one page, read from the journals of a database. Source: docs/how-it-works.md, The feed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from functools import cache, partial
from typing import Any
from uuid import UUID, uuid5

from dmsjournal import contexts, images
from dmsjournal.errors import CheckpointExpired, HistoryDiverged, InvalidRequest, UnsupportedCapability
from dmsjournal.feed import times
from dmsjournal.feed.additions import Additions, read_additions
from dmsjournal.feed.capabilities import FeedCapabilities
from dmsjournal.feed.events import FeedEvent, FeedEventType, FeedKey
from dmsjournal.feed.pages import ChildPartition, FeedDiagnostics, FeedPage
from dmsjournal.feed.partitions import MAX_BUCKETS, FeedPartition, Generation, kept_partitions, partition_of
from dmsjournal.feed.requests import FeedRequest, NewItemStateMode
from dmsjournal.feed.scopes import LogicalPartition, PhysicalPartition, described
from dmsjournal.feed.starts import AfterVersion, AtTime, FromToken, Now
from dmsjournal.feed.tokens import Belonging, cursor_of
from dmsjournal.history import LastEvent, has_diverged, microseconds
from dmsjournal.registry import Registry
from dmsjournal.resources import ResourceKey
from dmsjournal.session import Session
from dmsjournal.windows import HIGHEST_ID, LOWEST_ID, MAX_VERSION, Cursor


@cache
def capabilities(options: frozenset[str]) -> FeedCapabilities:
    """What the feed of a database with these options can do."""
    return FeedCapabilities(
        entire_collection=True,
        total_order=True,
        physical_partitions=True,
        partition_changes=True,
        logical_partitions=True,
        at_time=True,
        after_version=True,
        filters=True,
        item_state_included=True,
        item_state_before=images.OPTION in options,
        item_state_required=images.OPTION in options,
        contexts=contexts.OPTION in options,
        effects=True,
        history_check=True,
        document_uuids=True,
        remedies={
            "item_state_before": "install the option that keeps each change's body: dmsjournal upgrade --with images",
            "item_state_required": "install the option that keeps each change's body, dmsjournal upgrade --with images, "
            "or ask for INCLUDE_IF_AVAILABLE",
            "contexts": "install the option that keeps what caused changes: dmsjournal upgrade --with context",
        },
    )


SCAN_SIZE = 5_000  # rows that a page looks at when it may filter most of them away, where its own size is less

_EVENTS = UUID("6f3f0c1e-5d1b-5a52-9d5c-2b8f2a3d7c11")  # the namespace of event ids: never to be changed
_TYPES = {"insert": FeedEventType.CREATE, "update": FeedEventType.UPDATE, "delete": FeedEventType.DELETE}
_OPERATIONS = {kind: operation for operation, kind in _TYPES.items()}


def event_id(change_version: int, document_id: int, transaction_id: int, at: int) -> UUID:
    """The id of an event: UUIDv5 over its journal row's own facts, of which a dump and a restore change none.

    `at` is the row's time in microseconds since 1970. So it is the same at every read and on every copy of the history, and another
    history's event at the same version has another id.
    """
    return uuid5(_EVENTS, f"{change_version}/{document_id}/{transaction_id}/{at}")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a page begins, exclusive, and the last event at or below it as far as a token remembers one."""

    cursor: Cursor
    is_remembered: bool = False
    last: LastEvent | None = None

    @property
    def through(self) -> int:
        """Everything up to this version, inclusive, was read."""
        version, document_id = self.cursor.change_version, self.cursor.document_id
        return version if document_id == HIGHEST_ID else version - 1


def read_page(session: Session, registry: Registry, horizon: int, request: FeedRequest) -> FeedPage:
    """One page of a request that the capabilities allow, up to a horizon that was read before; see Journal.read_changes."""
    while True:
        state = _State.read(session)
        page = _Page(session, registry, horizon, request, state)
        try:
            return page.read(page.place())
        except CheckpointExpired:
            if isinstance(request.start, FromToken | AtTime | AfterVersion) or _State.read(session).floor == state.floor:
                raise  # else a prune has moved the beginning, between the two statements


def start_token(session: Session, registry: Registry, horizon: int, request: FeedRequest) -> str:
    """The token of where a request starts, before its first event; see DatabaseCheckpoint.begin."""
    if isinstance(request.start, FromToken):
        return request.start.token
    page = _Page(session, registry, horizon, request, _State.read(session))
    place = page.place()
    page.end = place.cursor.change_version  # so it is an empty page
    return page.read(place).token


def list_partitions(session: Session) -> Sequence[FeedPartition]:
    """The partitions that still have versions above the floor; see Journal.list_physical_partitions."""
    state = _State.read(session)
    return kept_partitions(state.generations, state.floor)


def change_bucket_count(session: Session, count: object) -> None:
    """Begins a generation of buckets, unless the newest has as many; see Journal.change_bucket_count."""
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MAX_BUCKETS:
        raise InvalidRequest("count", count, f"documents are cut into 1 to {MAX_BUCKETS} buckets")
    session.execute("lock_generations")
    session.execute("enter_change")
    session.execute("insert_generation", bucket_count=count)


@dataclass(frozen=True, slots=True)
class _State:
    database: UUID
    floor: int
    generations: Sequence[Generation]

    @classmethod
    def read(cls, session: Session) -> _State:
        rows = session.execute("feed_state").all()
        if not rows:
            raise UnsupportedCapability("the feed's own tables are empty, or a journal has no floor", "dmsjournal verify")
        generations = [Generation(row.generation, row.bucket_count, row.begins_after, row.ends_at) for row in rows]
        return cls(rows[0].database_uuid, rows[0].floor, generations)


class _Page:
    """One page while it is read."""

    def __init__(self, session: Session, registry: Registry, horizon: int, request: FeedRequest, state: _State) -> None:
        self.session, self.registry, self.horizon, self.request, self.state = session, registry, horizon, request, state
        self.index, self.bucket = self._partition()
        self.generation = None if self.index is None else state.generations[self.index]
        self.ends_at = None if self.generation is None else self.generation.ends_at
        self.end = horizon if self.ends_at is None else min(horizon, self.ends_at)  # inclusive
        self.belonging = self._belonging(described(request.scope))

    def read(self, place: _Place) -> FeedPage:
        """The page that begins at a place."""
        start = place.cursor
        found = self._scanned(start)
        first = found[0]
        self._check(place, first)
        if first.position_version is not None:
            position = Cursor(first.position_version, first.position_id)
        else:  # a newest that stepped back for a moment takes nobody back
            position = max(start, Cursor(self.end, HIGHEST_ID))
        last = LastEvent.of(first.last_version, first.last_id, first.last_transaction_id, first.last_at)
        retired = self._is_at_the_end_of_its_partition(position)
        return FeedPage(
            events=self._events(place, found),
            token=self.belonging.token(_written(position, last)),
            idle=first.rows_scanned == 0,
            partition_retired=retired,
            child_partitions=self._children(position, last) if retired else [],
            diagnostics=self._diagnostics(first, position),
        )

    def _belonging(self, scope: str) -> Belonging:
        return Belonging(self.session.engine, str(self.state.database), scope, self.request.filters.described())

    def _partition(self) -> tuple[int | None, int | None]:
        """The scope's generation, as an index, and its bucket. Raises InvalidRequest for a partition that there never was."""
        if not isinstance(self.request.scope, PhysicalPartition):
            return None, None
        number, _, bucket = self.request.scope.id.partition("-")
        for index, generation in enumerate(self.state.generations):
            if str(generation.number) == number:
                if bucket in {str(b) for b in range(generation.bucket_count)}:
                    return index, int(bucket)
                break
        raise InvalidRequest(
            "scope.id",
            self.request.scope.id,
            "there is no such partition: list_physical_partitions (`dmsjournal feed-partitions`) names them",
        )

    def place(self) -> _Place:
        """Where the page begins. What may be wrong with a token shows later, in _check, together with the rows."""
        start = self.request.start
        if isinstance(start, FromToken):
            return _place_of(self.belonging.cursor(start.token), start.token)
        begins_after = self.generation.begins_after if self.generation else 0
        if isinstance(start, AfterVersion):  # what lies before its beginning is its parents'
            return _Place(Cursor(max(start.version, begins_after), HIGHEST_ID))
        before = max(self.state.floor, begins_after)
        if isinstance(start, Now):
            before = max(before, self.horizon)
        elif isinstance(start, AtTime):
            before = max(before, self._before(start))
        return _Place(Cursor(before, HIGHEST_ID))

    def _before(self, start: AtTime) -> int:
        """The version before the first event at a time. Raises CheckpointExpired where such an event may have been pruned."""
        version = times.first_at(self.session, self.state.floor, self.horizon, start.at)
        following = self.horizon + 1 if version is None else version
        floor = _State.read(self.session).floor  # read after what was looked for: a prune may have taken that meanwhile
        if floor > 0 and not times.is_preceded(self.session, floor, following):
            raise CheckpointExpired(floor, floor + 1)
        return following - 1

    def _scanned(self, start: Cursor) -> Sequence[Any]:
        request, scope = self.request, self.request.scope
        resource = scope.resource if isinstance(scope, LogicalPartition) else None
        document_id = scope.document_id if isinstance(scope, LogicalPartition) else None
        types, resources = request.filters.types, request.filters.resources
        id_of = partial(self.registry.id_of, self.session)
        return self.session.execute(
            "feed_page",
            after_version=start.change_version,
            after_id=start.document_id,
            max_version=self.end,
            page_size=request.max_page_size,
            scan_size=self._scan_size(),
            resource_key_id=None if resource is None else id_of(resource),
            document_id=document_id,
            bucket=self.bucket,
            bucket_count=None if self.generation is None else self.generation.bucket_count,
            operations=None if types is None else sorted(_OPERATIONS[kind] for kind in types),
            resource_key_ids=None if resources is None else sorted(id_of(resource) for resource in resources),
            with_body=request.item_state is NewItemStateMode.INCLUDE_IF_AVAILABLE,
        ).all()

    def _scan_size(self) -> int:
        """Rows to look at: as many as are wanted, where each is; else what is likely to hold them, within bounds."""
        size, scope, filters = self.request.max_page_size, self.request.scope, self.request.filters
        if filters.types is not None or filters.resources is not None or getattr(scope, "document_id", None) is not None:
            return max(size, SCAN_SIZE)
        if self.generation is not None:
            return max(size, min(size * self.generation.bucket_count, SCAN_SIZE))
        return size

    def _check(self, place: _Place, row: Any) -> None:
        """Raises HistoryDiverged, CheckpointExpired (invariants 9 and 8): floors are of the rows' snapshot, or read after them."""
        version = place.cursor.change_version
        found = LastEvent.of(row.found_version, row.found_id, row.found_transaction_id, row.found_at)
        if place.is_remembered and has_diverged(
            version,
            row.drawn,
            remembered=None if place.last is None else place.last.change_version,
            found=None if found is None else found.change_version,
            is_same=place.last == found,
            event_floor=row.event_floor,
        ):
            raise HistoryDiverged(version, self.horizon)
        if isinstance(self.request.start, AfterVersion) and version > row.drawn:
            raise HistoryDiverged(version, self.horizon)
        if place.through < row.floor:
            raise CheckpointExpired(place.through + 1, row.floor + 1)

    def _events(self, place: _Place, found: Sequence[Any]) -> list[FeedEvent]:
        rows = [row for row in found if row.change_version is not None]
        names = self.registry.names_of(self.session, {row.resource_key_id for row in rows})
        additions = read_additions(self.session, self.request, rows)
        if not additions.is_whole:
            self._refuse_pruned_meanwhile(place, rows)
        return [_event(row, names, additions) for row in rows]

    def _refuse_pruned_meanwhile(self, place: _Place, rows: Sequence[Any]) -> None:
        """Raises CheckpointExpired where a prune may have taken additions away since: they go after their events."""
        floor = _State.read(self.session).floor
        if rows[0].change_version <= floor:
            raise CheckpointExpired(place.through + 1, floor + 1)

    def _is_at_the_end_of_its_partition(self, position: Cursor) -> bool:
        return self.ends_at is not None and position >= Cursor(self.ends_at, HIGHEST_ID)

    def _children(self, position: Cursor, last: LastEvent | None) -> list[ChildPartition]:
        """Where the scope's documents go on: after its last version, or after where reading began, behind it."""
        assert self.index is not None
        assert self.bucket is not None
        assert self.generation is not None
        following = self.state.generations[self.index + 1]
        cursor = _written(position, last)
        children = []
        for id_ in self.generation.overlapping(self.bucket, following):
            scope = PhysicalPartition(id_)
            child = partition_of(self.state.generations, self.index + 1, int(id_.partition("-")[2]))
            children.append(ChildPartition(scope, self._belonging(described(scope)).token(cursor), child.parents))
        return children

    def _diagnostics(self, row: Any, position: Cursor) -> FeedDiagnostics:
        lag = max(0, self.horizon - position.change_version)
        seconds = (row.now - row.last_at).total_seconds() if lag and row.last_at is not None else 0.0
        return FeedDiagnostics(row.rows_scanned, self.horizon, lag, max(0.0, seconds))


def _event(row: Any, names: dict[int, ResourceKey], additions: Additions) -> FeedEvent:
    place = (row.change_version, row.document_id)
    return FeedEvent(
        event_id=event_id(row.change_version, row.document_id, row.transaction_id, microseconds(row.created_at)),
        key=FeedKey(row.document_uuid, row.key_values, row.document_id),
        resource=names[row.resource_key_id],
        type=_TYPES[row.operation],
        timestamp=row.created_at.astimezone(UTC),
        change_version=row.change_version,
        item_state=additions.states.get(place),
        transaction_id=row.transaction_id,
        context=additions.contexts.get(place),
    )


def _written(position: Cursor, last: LastEvent | None) -> list[int | str | None]:
    """The cursor of a token: the position, then the last event at or below it."""
    place: list[int | str | None] = [position.change_version, position.document_id]
    return place if last is None else [*place, last.change_version, last.document_id, last.transaction_id, last.at]


def _place_of(cursor: Sequence[object], token: str) -> _Place:
    """The inverse of _written. Raises InvalidRequest."""
    numbers = [number for number in cursor if isinstance(number, int) and LOWEST_ID <= number <= HIGHEST_ID]
    if len(numbers) != len(cursor) or len(numbers) not in (2, 6) or not 0 <= numbers[0] <= MAX_VERSION:
        raise InvalidRequest("token", token, "its cursor is none of this provider's: start anew")
    return _Place(Cursor(numbers[0], numbers[1]), True, LastEvent(*numbers[2:]) if len(numbers) == 6 else None)


def place_of_token(token: str) -> Cursor:
    """The cursor of a token that was read from this database, for a checkpoint to be moved to."""
    return _place_of(cursor_of(token), token).cursor
