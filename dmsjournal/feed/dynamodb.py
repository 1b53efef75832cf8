"""The feed of a DynamoDB table: its stream, whose shards are the physical partitions. Needs the extra `dynamodb`.

Portability: a stream keeps 24 hours, has no documents, resources or times to start at, and orders one item's events, in one shard
and its children, not all of them. `change_version` is the record's sequence number, which may have more than 64 bits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID, uuid5

from dmsjournal.errors import CheckpointExpired, DatabaseRefused, InvalidRequest, Unavailable, UnsupportedCapability
from dmsjournal.feed.capabilities import FeedCapabilities
from dmsjournal.feed.events import Effects, FeedEvent, FeedEventType, FeedKey, ItemState
from dmsjournal.feed.pages import ChildPartition, FeedDiagnostics, FeedPage
from dmsjournal.feed.partitions import FeedPartition, readable
from dmsjournal.feed.providers import check_supported
from dmsjournal.feed.requests import FeedRequest, NewItemStateMode
from dmsjournal.feed.scopes import PhysicalPartition, described
from dmsjournal.feed.starts import FromToken, Now
from dmsjournal.feed.tokens import Belonging
from dmsjournal.model.resources import ResourceKey

PROVIDER = "dynamodb"
RETENTION = timedelta(hours=24)
MOST_RECORDS = 1_000  # what one call gives

_EVENTS = UUID("0b9d9a3e-93c6-5c0b-8a9f-1c1f5a8f6f60")  # the namespace of event ids: never to be changed
_TYPES = {"INSERT": FeedEventType.CREATE, "MODIFY": FeedEventType.UPDATE, "REMOVE": FeedEventType.DELETE}
_EXPIRED = {"TrimmedDataAccessException"}
_RETRIED = {"InternalServerError", "LimitExceededException", "ThrottlingException", "RequestLimitExceeded", "ServiceUnavailable"}
_READ = "read"  # of a shard that was read to its end
_PLACE = re.compile(r"[0-9]*(@[0-9]{1,10})?", re.ASCII)


def connect(url: str, **options: Any) -> DynamoDBFeed:
    """The feed of a table: dynamodb://TABLE?region=…&endpoint_url=…; credentials as boto3 finds them.

    Raises InvalidRequest, UnsupportedCapability without boto3.
    """
    try:
        import boto3
    except ModuleNotFoundError as error:
        raise UnsupportedCapability("boto3 is not installed", "pip install 'dmsjournal[dynamodb]'") from error
    parts = urlsplit(url)
    given = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    unknown = given.keys() - {"region", "endpoint_url"}
    table = parts.netloc + parts.path
    if parts.scheme != PROVIDER or not table or unknown:
        raise InvalidRequest("url", url, "write it as dynamodb://TABLE?region=…&endpoint_url=…")
    settings = {"region_name": given.get("region"), "endpoint_url": given.get("endpoint_url")} | options
    return DynamoDBFeed(boto3.client("dynamodb", **settings), boto3.client("dynamodbstreams", **settings), table)


@dataclass(frozen=True, slots=True)
class _Shard:
    id: str
    parent: str | None
    first: int | None
    last: int | None  # None: records still come


class DynamoDBFeed:
    """The feed of one table's stream, through boto3's clients of DynamoDB and of its streams. A FeedProvider."""

    def __init__(self, tables: Any, streams: Any, table: str) -> None:
        self._streams, self._table = streams, table
        self._empty: dict[str, tuple[str, str]] = {}  # of a shard that gave nothing: its place, and the iterator that goes on
        with _translated(table):
            described_table = tables.describe_table(TableName=table)["Table"]
        self._arn: str = described_table.get("LatestStreamArn", "")
        if not self._arn:
            raise UnsupportedCapability(f"table {table} has no stream", "enable one, with StreamViewType NEW_AND_OLD_IMAGES")
        self._view: str = described_table["StreamSpecification"]["StreamViewType"]
        self._resource = ResourceKey("DynamoDB", table, "1")

    @property
    def feed_capabilities(self) -> FeedCapabilities:
        """What a stream can do; item states depend on its view."""
        has_images = self._view in ("NEW_IMAGE", "NEW_AND_OLD_IMAGES")
        images = "set the stream's StreamViewType to NEW_AND_OLD_IMAGES"
        return FeedCapabilities(
            entire_collection=True,
            total_order=False,
            physical_partitions=True,
            partition_changes=False,
            logical_partitions=False,
            at_time=False,
            after_version=False,
            filters=True,
            item_state_included=True,
            item_state_before=self._view in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES"),
            item_state_required=has_images,
            contexts=False,
            effects=False,
            history_check=False,
            document_uuids=False,
            retention=RETENTION,
            remedies={
                "after_version": "go on from a token",
                "at_time": "start at Beginning() and leave out what is earlier: a stream keeps 24 hours",
                "logical_partitions": "read all of the table and keep what you want",
                "item_state_before": images,
                "item_state_required": images,
                "contexts": "write what caused a change into the item itself",
                "effects": "write them into the item itself",
                "indirect": "a stream knows its items alone",
            },
        )

    def close(self) -> None:
        """Gives back the connections."""
        self._streams.close()

    def list_physical_partitions(self) -> Sequence[FeedPartition]:
        """The shards that the stream still has, parents first."""
        shards = self._shards()
        return [_partition(shard, shards) for shard in shards.values()]

    def effects(self, events: Iterable[FeedEvent], limit: int = 100) -> Mapping[tuple[int, int], Effects]:
        """Raises UnsupportedCapability: a stream knows its items alone."""
        raise self.feed_capabilities.lack_of("effects")

    def read_changes(self, request: FeedRequest) -> FeedPage:
        """One page of events; see Journal.read_changes. Raises CheckpointExpired where records after the start are trimmed."""
        check_supported(request, self.feed_capabilities)
        page = _Page(self, request)
        with _translated(self._table):
            return page.read()

    def _shards(self) -> dict[str, _Shard]:
        found: dict[str, _Shard] = {}
        more: dict[str, str] = {}
        while True:
            with _translated(self._table):
                told = self._streams.describe_stream(StreamArn=self._arn, **more)["StreamDescription"]
            for shard in told["Shards"]:
                numbers = shard["SequenceNumberRange"]
                ends = [
                    int(numbers[name]) if name in numbers else None for name in ("StartingSequenceNumber", "EndingSequenceNumber")
                ]
                found[shard["ShardId"]] = _Shard(shard["ShardId"], shard.get("ParentShardId"), *ends)
            if "LastEvaluatedShardId" not in told:
                return found
            more = {"ExclusiveStartShardId": told["LastEvaluatedShardId"]}


def _partition(shard: _Shard, shards: Mapping[str, _Shard]) -> FeedPartition:
    parents = [shard.parent] if shard.parent in shards else []
    children = [other.id for other in shards.values() if other.parent == shard.id]
    begins_after = None if shard.first is None else shard.first - 1
    return FeedPartition(PhysicalPartition(shard.id), [p for p in parents if p], children, begins_after, shard.last)


@dataclass(slots=True)
class _Place:
    """How far a shard was read: nothing (""), a sequence number, or to its end ("read").

    "@" and seconds follow where what is older than that time is left out, and may still come.
    """

    text: str = ""

    @property
    def is_read(self) -> bool:
        return self.text == _READ

    @property
    def since(self) -> datetime | None:
        _, _, seconds = self.text.partition("@")
        return datetime.fromtimestamp(int(seconds), UTC) if seconds else None

    @property
    def after(self) -> str | None:
        number, _, _ = self.text.partition("@")
        return number if number.isdigit() else None

    def behind(self, last: Mapping[str, Any]) -> _Place:
        """The place behind a record."""
        is_older = self.since is not None and last["ApproximateCreationDateTime"] < self.since
        return _Place(last["SequenceNumber"] + (f"@{self.text.partition('@')[2]}" if is_older else ""))


class _Page:
    """One page while it is read: the shards of the scope that may be read now, one after another."""

    def __init__(self, feed: DynamoDBFeed, request: FeedRequest) -> None:
        self.feed, self.request = feed, request
        self.shards = feed._shards()
        scope = request.scope
        if isinstance(scope, PhysicalPartition) and scope.id not in self.shards:
            raise InvalidRequest(
                "scope.id", scope.id, "the stream has no such shard, or no longer: list_physical_partitions names them"
            )
        self.one = scope.id if isinstance(scope, PhysicalPartition) else None
        self.belonging = self._belonging(described(scope))
        self.hour = _hour()
        self.places = self._begin()  # in the order in which to read them: what gave records goes to the end
        self.looked: set[str] = set()
        self.events: list[FeedEvent] = []
        self.scanned = 0
        self.has_ended_a_shard = False  # what follows it is for the next page

    def read(self) -> FeedPage:
        """The page. Children of shards that end in it are for the next one."""
        if not isinstance(self.request.start, Now):
            for shard in self._readable():
                self._read_shard(shard)
            if all(id_ in self.looked or place.is_read or place.after for id_, place in self.places.items()):
                self.hour = _hour()
        retired = self.one is not None and self.places[self.one].is_read
        return FeedPage(
            events=self.events,
            token=self._token(self.belonging, self.places),
            idle=self.scanned == 0 and not self.has_ended_a_shard,
            partition_retired=retired,
            child_partitions=self._children() if retired else [],
            diagnostics=FeedDiagnostics(self.scanned),
        )

    def _belonging(self, scope: str) -> Belonging:
        return Belonging(PROVIDER, self.feed._arn, scope, self.request.filters.described())

    def _token(self, belonging: Belonging, places: Mapping[str, _Place]) -> str:
        """With the hour in which every shard that has no number yet was looked at: a day later what it has may be trimmed.

        What a shard has that came since may be, too.
        """
        return belonging.token([self.hour, *(text for id_, place in places.items() for text in (id_, place.text))])

    def _begin(self) -> dict[str, _Place]:
        """The places that the request starts from. Shards that came since are read from their beginning."""
        wanted = [self.one] if self.one else list(self.shards)
        start = self.request.start
        if isinstance(start, FromToken):
            return self._resumed(self.belonging.cursor(start.token), wanted)
        if not isinstance(start, Now):
            return {id_: _Place() for id_ in wanted}
        now = _Place(f"@{int(_now().timestamp())}")
        return {id_: _Place(_READ) if self.shards[id_].last is not None else now for id_ in wanted}

    def _resumed(self, cursor: Sequence[object], wanted: Sequence[str]) -> dict[str, _Place]:
        hour, texts = cursor[0], [text for text in cursor[1:] if isinstance(text, str)]
        is_whole = isinstance(hour, int) and len(texts) == len(cursor) - 1 and len(texts) % 2 == 0
        if not is_whole or not all(_is_place(text) for text in texts[1::2]):
            raise InvalidRequest("token", cursor, "its cursor is none of this provider's: start anew")
        kept = {id_: _Place(text) for id_, text in zip(texts[::2], texts[1::2], strict=True)}
        self.hour = hour if isinstance(hour, int) else 0
        is_old = _now().timestamp() >= self.hour * 3600 + RETENTION.total_seconds()
        for id_, place in kept.items():
            if is_old or (id_ not in self.shards and not place.is_read):
                raise CheckpointExpired(int(place.after or 0), self._oldest())
        come = [id_ for id_ in wanted if id_ not in kept]
        return {id_: _Place() for id_ in come} | {id_: place for id_, place in kept.items() if id_ in wanted}

    def _oldest(self) -> int:
        return min((shard.first for shard in self.shards.values() if shard.first is not None), default=0)

    def _readable(self) -> list[str]:
        partitions = [_partition(shard, self.shards) for id_, shard in self.shards.items() if id_ in self.places]
        found = {p.id for p in readable(partitions, {id_ for id_, place in self.places.items() if place.is_read})}
        return [id_ for id_ in self.places if id_ in found]

    def _read_shard(self, id_: str) -> None:
        room = self.request.max_page_size - len(self.events)
        if room < 1:
            return
        place = self.places[id_]
        answer = self._records(id_, place, min(room, MOST_RECORDS))
        records = answer["Records"]
        self.looked.add(id_)
        self.scanned += len(records)
        since = place.since
        for record in records:
            if since is None or record["dynamodb"]["ApproximateCreationDateTime"] >= since:
                self._take(id_, record)
        if records:
            del self.places[id_]
            self.places[id_] = place.behind(records[-1]["dynamodb"])
        if not answer.get("NextShardIterator"):  # closed, and there is no more
            self.places[id_] = _Place(_READ)
            self.has_ended_a_shard = True

    def _records(self, id_: str, place: _Place, most: int) -> Mapping[str, Any]:
        """The next records of a shard. There may be some behind an answer without any: a closed shard is read on at once.

        An open one is asked from there the next time, by whoever reads from the same place.
        """
        text, iterator = self.feed._empty.pop(id_, ("", ""))
        if not iterator or text != place.text:
            iterator = self._iterator(id_, place)
        while True:
            answer: Mapping[str, Any] = self.feed._streams.get_records(ShardIterator=iterator, Limit=most)
            iterator = answer.get("NextShardIterator") or ""
            if answer["Records"] or not iterator:
                return answer
            if self.shards[id_].last is None:
                self.feed._empty[id_] = (place.text, iterator)
                return answer

    def _iterator(self, id_: str, place: _Place) -> str:
        """Where to read a shard from. A place in time reads from the beginning: earlier records are left out one by one."""
        at = {"ShardIteratorType": "TRIM_HORIZON"}
        if place.after is not None:
            at = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": place.after}
        try:
            answer = self.feed._streams.get_shard_iterator(StreamArn=self.feed._arn, ShardId=id_, **at)
        except self.feed._streams.exceptions.TrimmedDataAccessException as error:
            raise CheckpointExpired(int(place.after or 0), self._oldest()) from error
        return str(answer["ShardIterator"])

    def _take(self, shard: str, record: Mapping[str, Any]) -> None:
        event = self._event(shard, record)
        filters = self.request.filters
        if (filters.types is None or event.type in filters.types) and (
            filters.resources is None or event.resource in filters.resources
        ):
            self.events.append(event)

    def _event(self, shard: str, record: Mapping[str, Any]) -> FeedEvent:
        image = record["dynamodb"]
        number = image["SequenceNumber"]
        is_asked = self.request.item_state is not NewItemStateMode.OMIT
        after, before = image.get("NewImage"), image.get("OldImage")
        has_state = is_asked and not (after is None and before is None)
        return FeedEvent(
            event_id=uuid5(_EVENTS, f"{self.feed._arn}/{shard}/{number}"),
            key=FeedKey(None, _plain(image["Keys"])),
            resource=self.feed._resource,
            type=_TYPES[record["eventName"]],
            timestamp=image["ApproximateCreationDateTime"].astimezone(UTC),
            change_version=int(number),
            item_state=ItemState(after and _plain(after), before and _plain(before)) if has_state else None,
        )

    def _children(self) -> list[ChildPartition]:
        make = partial(_partition, shards=self.shards)
        children = [make(shard) for shard in self.shards.values() if shard.parent == self.one]
        return [
            ChildPartition(child.scope, self._token(self._belonging(described(child.scope)), {child.id: _Place()}), child.parents)
            for child in children
        ]


def _now() -> datetime:
    return datetime.now(UTC)


def _hour() -> int:
    return int(_now().timestamp()) // 3600


def _is_place(text: str) -> bool:
    return text == _READ or _PLACE.fullmatch(text) is not None


def _plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    from boto3.dynamodb.types import TypeDeserializer

    return {name: TypeDeserializer().deserialize(value) for name, value in attributes.items()}


@contextmanager
def _translated(table: str) -> Iterator[None]:
    """Within it, an error of AWS's leaves as a JournalError that has it as `__cause__`."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if code in _EXPIRED:
            raise CheckpointExpired(0, 0) from error
        if code in _RETRIED or code == "ExpiredIteratorException":
            raise Unavailable(f"the stream of {table} asks for another try ({code})") from error
        if code == "ResourceNotFoundException":
            remedy = "neither it nor its stream is there: check the name, the region and the account"
            raise InvalidRequest("table", table, remedy) from error
        raise DatabaseRefused(code, f"the stream of {table} refused", "see the code in AWS's list of errors") from error
    except BotoCoreError as error:
        raise Unavailable(f"the stream of {table} cannot be reached ({type(error).__name__})") from error
