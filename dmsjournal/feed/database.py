"""The feed of a journal: one page, read from the journals of a database. Source: docs/how-it-works.md, The feed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC
from functools import cache, partial
from typing import Any
from uuid import UUID, uuid5

from dmsjournal.database.fingerprints import Fingerprint
from dmsjournal.database.floors import read_floors, refuse_missing_parts
from dmsjournal.database.history import LastEvent, has_diverged
from dmsjournal.database.resource_ids import ResourceIds
from dmsjournal.database.session import Session
from dmsjournal.errors import CheckpointExpired, HistoryDiverged, InvalidRequest, UnsupportedCapability
from dmsjournal.feed.additions import Additions, read_additions
from dmsjournal.feed.capabilities import FeedCapabilities
from dmsjournal.feed.effects import read_effects
from dmsjournal.feed.events import Effects, FeedEvent, FeedEventType, FeedKey, ItemState
from dmsjournal.feed.indirect import Rename, read_indirect
from dmsjournal.feed.pages import ChildPartition, FeedDiagnostics, FeedPage
from dmsjournal.feed.partitions import MAX_BUCKETS, FeedPartition, Generation, bucket_of, kept_partitions, partition_of
from dmsjournal.feed.requests import FeedRequest, NewItemStateMode
from dmsjournal.feed.scopes import LogicalPartition, PhysicalPartition, described, text_of_key
from dmsjournal.feed.starts import AfterVersion, AtTime, FromToken, Now
from dmsjournal.feed.tokens import Belonging, cursor_of
from dmsjournal.model.resources import ResourceKey
from dmsjournal.model.windows import HIGHEST_ID, LOWEST_ID, MAX_VERSION, Cursor
from dmsjournal.read import contexts, images, times
from dmsjournal.read.images import Event
from dmsjournal.read.room import Room
from dmsjournal.util.times import microseconds, time_of


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
        indirect=True,
        history_check=True,
        document_uuids=True,
        remedies={
            "item_state_before": "install the option that keeps each change's body: dmsjournal upgrade --with images",
            "item_state_required": "install the option that keeps each change's body, dmsjournal upgrade --with images, "
            "or ask for INCLUDE_IF_AVAILABLE",
            "contexts": "install the option that keeps what caused changes: dmsjournal upgrade --with context",
        },
    )


_Referrer = tuple[Any, Rename]  # the row of a document, and the identity change of what it refers to

SCAN_SIZE = 5_000  # rows that a page looks at when it may filter most of them away, where its own size is less

EFFECTS = 100  # documents that an event's effects list

_EVENTS = UUID("6f3f0c1e-5d1b-5a52-9d5c-2b8f2a3d7c11")  # the namespace of event ids: never to be changed
_TYPES = {"insert": FeedEventType.CREATE, "update": FeedEventType.UPDATE, "delete": FeedEventType.DELETE}
_OPERATIONS = {kind: operation for operation, kind in _TYPES.items()}


def event_id(change_version: int, document_id: int, transaction_id: int, at: int, kind: str = "") -> UUID:
    """The id of an event: UUIDv5 over its journal row's own facts, of which a dump and a restore change none.

    `at` is the row's time in microseconds since 1970. So it is the same at every read and on every copy of the history, and another
    history's event at the same version has another id. `kind` is "i" of an indirect change, which has the row of what it comes from
    and the id of its own document.
    """
    return uuid5(_EVENTS, f"{change_version}/{document_id}/{transaction_id}/{at}{kind and '/'}{kind}")


def _unchanged(body: Any, has_images: bool) -> ItemState | None:
    """The state of a document that was not written: the same before and after, as far as the database keeps both."""
    return None if body is None else ItemState(body, body if has_images else None)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a page begins, exclusive, and the last event at or below it as far as a token remembers one."""

    cursor: Cursor
    is_remembered: bool = False
    last: LastEvent | None = None

    @property
    def through(self) -> int:
        """Everything up to this version, inclusive, was read."""
        return self.cursor.through


def read_page(
    session: Session,
    registry: ResourceIds,
    horizon: int,
    request: FeedRequest,
    with_key: bool = True,
    max_bytes: int | None = None,
) -> FeedPage:
    """One page of a request that the capabilities allow, up to a horizon that was read before; see Journal.read_changes."""
    while True:
        state = _State.read(session)
        page = _Page(session, registry, horizon, request, state, with_key, max_bytes)
        try:
            return page.read(page.place())
        except CheckpointExpired:
            if isinstance(request.start, FromToken | AtTime | AfterVersion) or _State.read(session).floor == state.floor:
                raise  # else a prune has moved the beginning, between the two statements


def start_token(session: Session, registry: ResourceIds, horizon: int, request: FeedRequest) -> str:
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
    session.execute("feed/lock_generations")
    session.execute("database/enter_change")
    session.execute("feed/insert_generation", bucket_count=count)


@dataclass(frozen=True, slots=True)
class _State:
    database: UUID
    floor: int
    generations: Sequence[Generation]

    @classmethod
    def read(cls, session: Session) -> _State:
        rows = session.execute("feed/feed_state").all()
        if not rows:
            raise UnsupportedCapability("the feed's own tables are empty, or a journal has no floor", "dmsjournal verify")
        generations = [Generation(row.generation, row.bucket_count, row.begins_after, row.ends_at) for row in rows]
        return cls(rows[0].database_uuid, rows[0].floor, generations)


class _Page:
    """One page while it is read."""

    def __init__(
        self,
        session: Session,
        registry: ResourceIds,
        horizon: int,
        request: FeedRequest,
        state: _State,
        with_key: bool = True,
        max_bytes: int | None = None,
    ) -> None:
        self.session, self.registry, self.horizon, self.request, self.state = session, registry, horizon, request, state
        self.with_key, self.max_bytes = with_key, max_bytes
        self.index, self.bucket = self._partition()
        self.generation = None if self.index is None else state.generations[self.index]
        self.ends_at = None if self.generation is None else self.generation.ends_at
        self.end = horizon if self.ends_at is None else min(horizon, self.ends_at)  # inclusive
        self.belonging = self._belonging(described(request.scope))

    def read(self, place: _Place) -> FeedPage:
        """The page that begins at a place."""
        start = place.cursor
        found, unread = self._scanned(start)
        first = found[0]
        self._check(place, first)
        reached = self.end if first.position_version is None else first.position_version
        journals = ["DocumentChangeEvent", "DocumentDeleteEvent", "KeyChangeEvent"]
        journals += ["IdentityChangeEvent"] if self.request.indirect else []
        refuse_missing_parts(self.session, start.change_version, reached, *journals)
        if first.position_version is not None:
            position = Cursor(first.position_version, first.position_id)
        else:  # a newest that stepped back for a moment takes nobody back
            position = max(start, Cursor(self.end, HIGHEST_ID))
        last = LastEvent.of(first.last_version, first.last_id, first.last_transaction_id, first.last_at)
        rows = [row for row in found if row.change_version is not None]
        indirect: list[_Referrer] = []
        through: Cursor | None = None
        if self.request.indirect and position > start:
            indirect, through = self._indirect(place, rows, position)
        events, end = self._events(place, rows, indirect, through, None if unread is None else _at(unread))
        if end is not None:
            position, last = end, self._last_event(end)
        retired = self._is_at_the_end_of_its_partition(position)
        return FeedPage(
            events=events,
            token=self.belonging.token(_written(position, last)),
            idle=first.rows_scanned == 0 and not indirect and end is None,
            partition_retired=retired,
            child_partitions=self._children(position, last) if retired else [],
            diagnostics=self._diagnostics(first, position, last),
        )

    def _indirect(self, place: _Place, rows: Sequence[Any], reached: Cursor) -> tuple[list[_Referrer], Cursor | None]:
        """The indirect changes up to a position, and where the page ends with them, None if it goes on to the position.

        Raises CheckpointExpired where identity changes in it were pruned.
        """
        size = self.request.max_page_size
        read = read_indirect(
            self.session,
            place.cursor,
            reached,
            size,
            with_key=self.with_key,
            with_body=self.request.item_state is not NewItemStateMode.OMIT,
            room=Room(self.max_bytes),
        )
        if place.through < read.floor:
            raise CheckpointExpired(place.through + 1, read.floor + 1)
        wanted = [(row, rename) for row, rename in read.rows if self._is_wanted(row)]
        places = sorted([*map(_at, rows), *(_at(row) for row, _ in wanted)])
        through = read.through if read.through is not None and read.through < reached else None
        if len(places) > size and (through is None or places[size - 1] < _pair(through)):
            through = Cursor(*places[size - 1])
        return [(row, of) for row, of in wanted if through is None or _at(row) <= _pair(through)], through

    def _is_wanted(self, row: Any) -> bool:
        """Whether the scope and the filters want an indirect change of a document."""
        scope, filters = self.request.scope, self.request.filters
        if filters.types is not None and FeedEventType.UPDATE not in filters.types:
            return False
        if isinstance(scope, PhysicalPartition) and self.generation is not None:
            return bucket_of(row.document_id, self.generation.bucket_count) == self.bucket
        if isinstance(scope, LogicalPartition) and scope.document_id is not None:
            return bool(row.document_id == scope.document_id)
        resources = filters.resources
        of = scope.resource if isinstance(scope, LogicalPartition) else None
        if of is not None and row.resource_key_id != self.registry.id_of(self.session, of):
            return False
        return resources is None or row.resource_key_id in {self.registry.id_of(self.session, each) for each in resources}

    def _belonging(self, scope: str) -> Belonging:
        return Belonging(self.session.engine.NAME, str(self.state.database), scope, self.request.filters.described())

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
        if self.request.indirect:
            before = max(before, read_floors(self.session)["IdentityChangeEvent"])
        if isinstance(start, Now):
            before = max(before, self.horizon)
        elif isinstance(start, AtTime):
            before = max(before, self._before(start))
        return _Place(Cursor(before, HIGHEST_ID))

    def _before(self, start: AtTime) -> int:
        """The version before the first event at a time. Raises CheckpointExpired where such an event may have been pruned."""
        return times.version_before(self.session, self.state.floor, self.horizon, start.at, lambda: _State.read(self.session).floor)

    def _scanned(self, start: Cursor) -> tuple[Sequence[Any], Any | None]:
        """The rows of the page, as far as there is room, and the first that has none."""
        request, scope = self.request, self.request.scope
        resource = scope.resource if isinstance(scope, LogicalPartition) else None
        document_id = scope.document_id if isinstance(scope, LogicalPartition) else None
        types, resources = request.filters.types, request.filters.resources
        id_of = partial(self.registry.id_of, self.session)
        room = Room(self.max_bytes)
        binds = dict(
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
            with_key=self.with_key,
            with_body=request.item_state is NewItemStateMode.INCLUDE_IF_AVAILABLE,
        )
        if not room.is_bounded:
            return self.session.execute("feed/feed_page", **binds).all(), None
        return self.session.taken("feed/feed_page", lambda row: room.has(row.key_values, row.body), room.rows, **binds)

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

    def _events(
        self, place: _Place, rows: list[Any], indirect: list[_Referrer], through: Cursor | None, left: Event | None
    ) -> tuple[list[FeedEvent], Cursor | None]:
        """The events of the page, and where it ends, if that is before the end of what was looked at.

        It ends before `left`, the first event for which there is no room, or one before it; or at `through`.
        """
        if through is not None:
            rows = [row for row in rows if _at(row) <= _pair(through)]
        names = self.registry.names_of(self.session, {row.resource_key_id for row in [*rows, *(row for row, _ in indirect)]})
        additions = read_additions(self.session, self.request, rows, Room(self.max_bytes))
        left = additions.left or left
        if left is not None:
            rows = [row for row in rows if _at(row) < left]
            indirect = [each for each in indirect if _at(each[0]) < left]
        if not additions.is_whole:
            self._refuse_pruned_meanwhile(place, rows)
        events = [_event(row, names, additions) for row in rows]
        if self.request.effects and events:
            effects = read_effects(self.session, self.registry, events, EFFECTS, self.request.contexts)
            events = [
                replace(event, effects=effects.get((event.change_version, event.key.document_id or 0), Effects()))
                for event in events
            ]
        told = self._of_key(self._merged(events, indirect, names) if indirect else events)
        if left is None:
            return told, through
        version, document_id = max([_at(row) for row in [*rows, *(row for row, _ in indirect)]])
        return told, Cursor(version, HIGHEST_ID if left[0] > version else document_id)

    def _merged(self, events: list[FeedEvent], indirect: Sequence[_Referrer], names: dict[int, ResourceKey]) -> list[FeedEvent]:
        """The events, with those of indirect changes at their places."""
        caused: Mapping[tuple[int, int], Mapping[str, Any]] = {}
        if self.request.contexts and contexts.OPTION in self.session.options:
            caused = contexts.read_contexts(self.session, {(of.change_version, of.document_id) for _, of in indirect})
        has_images = images.OPTION in self.session.options
        mode, with_effects = self.request.item_state, self.request.effects
        told = [
            FeedEvent(
                event_id=event_id(
                    rename.change_version, row.document_id, rename.transaction_id, microseconds(rename.created_at), "i"
                ),
                key=FeedKey(row.document_uuid, row.key_values, row.document_id),
                resource=names[row.resource_key_id],
                type=FeedEventType.UPDATE,
                timestamp=rename.created_at.astimezone(UTC),
                change_version=rename.change_version,
                item_state=_unchanged(row.body, has_images) if mode is not NewItemStateMode.OMIT else None,
                transaction_id=rename.transaction_id,
                context=caused.get((rename.change_version, rename.document_id)),
                effects=Effects() if with_effects else None,
                indirect_of=event_id(
                    rename.change_version, rename.document_id, rename.transaction_id, microseconds(rename.created_at)
                ),
            )
            for row, rename in indirect
        ]
        return sorted([*events, *told], key=lambda event: (event.change_version, event.key.document_id or 0))

    def _last_event(self, end: Cursor) -> LastEvent | None:
        """The last event at or below a position that is before the end of what was looked at."""
        at = self.session.execute("database/last_event", version=end.change_version).one()
        return LastEvent.of(at.event_version, at.document_id, at.transaction_id, at.created_at)

    def _of_key(self, events: list[FeedEvent]) -> list[FeedEvent]:
        """The events of the scope's key, where it has one: those of a document that has the key then, or had it until then."""
        scope = self.request.scope
        if not isinstance(scope, LogicalPartition) or scope.key is None:
            return events
        wanted = text_of_key(scope.key)
        sides = [(event, (event.key.key_values, event.key.old_key_values)) for event in events]
        return [event for event, keys in sides if any(key is not None and _text_of(key) == wanted for key in keys)]

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

    def _diagnostics(self, row: Any, position: Cursor, last: LastEvent | None) -> FeedDiagnostics:
        lag = max(0, self.horizon - position.change_version)
        seconds = (row.now - time_of(last.at)).total_seconds() if lag and last is not None else 0.0
        return FeedDiagnostics(row.rows_scanned, self.horizon, lag, max(0.0, seconds), row.floor + 1)


def _at(row: Any) -> Event:
    return row.change_version, row.document_id


def _pair(cursor: Cursor) -> Event:
    return cursor.change_version, cursor.document_id


def _text_of(key: object) -> str | None:
    """The key as scopes compare it; None where another program wrote none that is one."""
    if not isinstance(key, Mapping):
        return None
    with suppress(InvalidRequest):
        return text_of_key(key)
    return None


def _event(row: Any, names: dict[int, ResourceKey], additions: Additions) -> FeedEvent:
    place = (row.change_version, row.document_id)
    return FeedEvent(
        event_id=event_id(row.change_version, row.document_id, row.transaction_id, microseconds(row.created_at)),
        key=FeedKey(row.document_uuid, row.key_values, row.document_id, row.old_key_values),
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


def fingerprint_of_token(token: str) -> Fingerprint:
    """What a token remembers of a database's history, whichever its scope; see Journal.check_history. Raises InvalidRequest."""
    place = _place_of(cursor_of(token), token)
    version, last = place.cursor.change_version, place.last
    if last is None:
        return Fingerprint(version)
    return Fingerprint(version, last.change_version, last.document_id, last.transaction_id, time_of(last.at))


def place_of_token(token: str) -> Cursor:
    """The cursor of a token that was read from this database, for a checkpoint to be moved to."""
    return _place_of(cursor_of(token), token).cursor
