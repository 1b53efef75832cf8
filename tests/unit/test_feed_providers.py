"""Providers: how one is opened by its URL, and DynamoDB's shards, which moto never splits."""

from datetime import UTC, datetime, timedelta
from importlib.metadata import EntryPoint
from typing import Any

import pytest

import dmsjournal as dj
from dmsjournal.feed import FeedProvider, dynamodb, providers
from tests.feeds import after


class Streams:
    """A stream of shards, as boto3's client gives it: each a list of sequence numbers, closed or open."""

    class exceptions:
        class TrimmedDataAccessException(Exception):
            pass

    def __init__(self, shards: dict[str, tuple[str | None, list[int], bool]], empty: int = 0) -> None:
        self.shards = shards
        self.empty = empty  # answers without a record, before those that have some
        self.times: dict[int, datetime] = {}

    def describe_table(self, TableName: str) -> dict[str, Any]:
        return {"Table": {"LatestStreamArn": "arn", "StreamSpecification": {"StreamViewType": "KEYS_ONLY"}}}

    def describe_stream(self, StreamArn: str, ExclusiveStartShardId: str | None = None) -> dict[str, Any]:
        names = list(self.shards)
        first = names.index(ExclusiveStartShardId) + 1 if ExclusiveStartShardId else 0
        told = []
        for name in names[first : first + 2]:
            parent, numbers, closed = self.shards[name]
            ends = {"StartingSequenceNumber": str(min(numbers, default=0))}
            ends |= {"EndingSequenceNumber": str(max(numbers, default=0))} if closed else {}
            told.append({"ShardId": name, "SequenceNumberRange": ends} | ({"ParentShardId": parent} if parent else {}))
        more = {"LastEvaluatedShardId": told[-1]["ShardId"]} if first + 2 < len(names) else {}
        return {"StreamDescription": {"Shards": told, **more}}

    def get_shard_iterator(self, ShardId: str, SequenceNumber: str = "-1", **_: str) -> dict[str, str]:
        return {"ShardIterator": f"{ShardId} {SequenceNumber} {self.empty}"}

    def get_records(self, ShardIterator: str, Limit: int) -> dict[str, Any]:
        name, number, empty = ShardIterator.split(" ")
        if int(empty):
            return {"Records": [], "NextShardIterator": f"{name} {number} {int(empty) - 1}"}
        _, numbers, closed = self.shards[name]
        left = [n for n in numbers if n > int(number)]
        records = [
            {
                "eventName": "MODIFY",
                "dynamodb": {
                    "SequenceNumber": str(n),
                    "Keys": {"id": {"N": str(n)}},
                    "ApproximateCreationDateTime": self.times.get(n, datetime.now(UTC)),
                },
            }
            for n in left[:Limit]
        ]
        last = records[-1]["dynamodb"]["SequenceNumber"] if records else number
        return {"Records": records} | ({} if closed and len(left) <= Limit else {"NextShardIterator": f"{name} {last} 0"})

    def close(self) -> None:
        pass


def feed(**shards: tuple[str | None, list[int], bool]) -> dynamodb.DynamoDBFeed:
    streams = Streams(shards)
    return dynamodb.DynamoDBFeed(streams, streams, "table")


SPLIT: dict[str, tuple[str | None, list[int], bool]] = {
    "a": (None, [1, 2, 3], True),
    "b": ("a", [4, 6], True),
    "c": ("a", [5, 7], False),
    "d": ("b", [8], False),
}


def test_shards_are_partitions_with_parents_and_children() -> None:
    listed = feed(**SPLIT).list_physical_partitions()
    assert [(p.id, p.parents, p.children, p.ends_at) for p in listed] == [
        ("a", [], ["b", "c"], 3),
        ("b", ["a"], ["d"], 6),
        ("c", ["a"], [], None),
        ("d", ["b"], [], None),
    ]


@pytest.mark.parametrize("size", [1, 2, 500])
def test_shards_are_read_after_their_parents(size: int) -> None:
    source = feed(**SPLIT)
    request = dj.FeedRequest(max_page_size=size)
    page = source.read_changes(request)
    found = [e.change_version for e in page.events]
    while not page.idle:
        page = source.read_changes(after(request, page))
        found += [e.change_version for e in page.events]
    assert sorted(found) == list(range(1, 9))
    assert found[:3] == [1, 2, 3]
    assert found.index(6) < found.index(8)


def test_a_shard_that_is_closed_retires_and_names_its_children() -> None:
    source = feed(**SPLIT)
    page = source.read_changes(dj.FeedRequest(dj.PhysicalPartition("a")))
    assert page.partition_retired
    assert [(c.scope.id, c.parents) for c in page.child_partitions] == [("b", ["a"]), ("c", ["a"])]
    child = page.child_partitions[1]
    assert [e.change_version for e in source.read_changes(dj.FeedRequest(child.scope, dj.FromToken(child.token))).events] == [5, 7]


def test_what_is_trimmed_is_expired(monkeypatch: pytest.MonkeyPatch) -> None:
    source = feed(**SPLIT)
    first = source.read_changes(dj.FeedRequest(max_page_size=1))
    del source._streams.shards["a"]
    with pytest.raises(dj.CheckpointExpired):
        source.read_changes(after(dj.FeedRequest(), first))
    later = feed(**SPLIT).read_changes(dj.FeedRequest())
    late = datetime.now(UTC) + timedelta(hours=25)
    monkeypatch.setattr(dynamodb, "_now", lambda: late)
    with pytest.raises(dj.CheckpointExpired):
        feed(**SPLIT).read_changes(after(dj.FeedRequest(), later))


@pytest.mark.parametrize("size", [1, 2, 500])
def test_now_leaves_out_what_was_there_however_many_pages_it_takes(size: int) -> None:
    source = feed(a=(None, [1, 2, 3, 4, 5], False))
    source._streams.times = dict.fromkeys(range(1, 6), datetime.now(UTC) - timedelta(hours=1))
    request = dj.FeedRequest(max_page_size=size)
    page = source.read_changes(dj.FeedRequest(start=dj.Now()))
    source._streams.shards["a"][1].extend([6, 7])
    found = []
    while not (page := source.read_changes(after(request, page))).idle:
        found += [e.change_version for e in page.events]
    assert found == [6, 7]


def test_a_busy_shard_does_not_keep_the_others_from_being_read() -> None:
    source = feed(a=(None, [1], False), b=(None, [2], False))
    found: list[int] = []
    page = source.read_changes(dj.FeedRequest(max_page_size=1))
    for number in range(3, 9):
        source._streams.shards["a"][1].append(number)
        found += [e.change_version for e in page.events]
        page = source.read_changes(after(dj.FeedRequest(max_page_size=1), page))
    assert 2 in found


def test_a_shard_that_was_not_looked_at_for_a_day_is_expired(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its records may be trimmed, and nothing would tell: it is read from the oldest that is left."""
    source = feed(a=(None, [1, 2, 3], False), b=("a", [9], False))  # b waits until a is read to its end
    began = datetime.now(UTC)
    page = source.read_changes(dj.FeedRequest(max_page_size=1))
    for hours in (12, 25):
        monkeypatch.setattr(dynamodb, "_now", lambda hours=hours: began + timedelta(hours=hours))
        if hours == 12:
            page = source.read_changes(after(dj.FeedRequest(max_page_size=1), page))
    with pytest.raises(dj.CheckpointExpired):
        source.read_changes(after(dj.FeedRequest(), page))


@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
def test_records_behind_answers_without_any_are_reached(closed: bool) -> None:
    """A stream may answer with nothing several times before it comes to where its records are."""
    source = feed(a=(None, [1, 2], closed))
    source._streams.empty = 3
    found: list[int] = []
    page = source.read_changes(dj.FeedRequest())
    for _ in range(4):
        found += [e.change_version for e in page.events]
        page = source.read_changes(after(dj.FeedRequest(), page))
    assert found == [1, 2]


def test_images_that_the_stream_has_not_are_told() -> None:
    with pytest.raises(dj.UnsupportedCapability, match="NEW_AND_OLD_IMAGES"):
        feed(**SPLIT).read_changes(dj.FeedRequest(item_state=dj.NewItemStateMode.REQUIRE))


# Opening.


def test_a_databases_feed_is_opened_by_its_url() -> None:
    for url in ("postgresql+psycopg://somebody@127.0.0.1:1/db", "postgres://somebody@127.0.0.1:1/db"):
        opened = dj.open_feed(url)
        assert isinstance(opened, dj.Journal)
        assert isinstance(opened, FeedProvider)


def test_another_packages_provider_is_opened_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("theirs", "tests.unit.test_feed_providers:opened", providers.GROUP)
    shipped = providers.entry_points(group=providers.GROUP)
    monkeypatch.setattr(providers, "entry_points", lambda group: [*shipped, point] if group == providers.GROUP else [])
    assert dj.open_feed("theirs://somewhere") == "theirs://somewhere"  # type: ignore[comparison-overlap]
    with pytest.raises(dj.InvalidRequest, match="known are dynamodb, mssql, postgres, postgresql, sqlserver, theirs"):
        dj.open_feed("nobodys://somewhere")


def opened(url: str) -> str:
    return url


@pytest.mark.parametrize("url", ["dynamodb://", "dynamodb://table?regoin=x", None, "", "nothing"])
def test_a_url_that_makes_no_sense_is_refused(url: Any) -> None:
    with pytest.raises(dj.InvalidRequest, match="url"):
        dj.open_feed(url)


def test_a_table_that_cannot_be_reached_is_unavailable() -> None:
    with pytest.raises(dj.Unavailable):
        dynamodb.connect(
            "dynamodb://table?region=us-east-1&endpoint_url=http://127.0.0.1:1", aws_access_key_id="x", aws_secret_access_key="x"
        )
