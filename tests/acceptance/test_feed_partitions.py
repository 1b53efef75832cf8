"""Physical partitions: buckets that split and merge while they are read, without loss or doubling, each document's order kept."""

import pytest

import dmsjournal as dj
from dmsjournal.feed import readable
from dmsjournal.feed.partitions import bucket_of, hash_of
from tests.feeds import after, journaled, told, walk
from tests.helpers import STUDENT, change_content, document, drawn_to_enter, newest, write

ALL = dj.FeedRequest()
DOCUMENTS = list(range(1, 31))


@pytest.fixture
def written(journal: dj.Journal) -> dj.Journal:
    write(journal, *(document(STUDENT, n) for n in DOCUMENTS))
    return journal


def all_partitions(source: dj.Journal, size: int = 500) -> list[dj.FeedEvent]:
    """Every partition, parents first, children from their parents' tokens: the events in the order in which they were read."""
    listed = {partition.id: partition for partition in source.list_physical_partitions()}
    starts: dict[str, str] = {}
    finished: set[str] = set()
    events: list[dj.FeedEvent] = []
    while ready := [p for p in readable(list(listed.values()), finished)]:
        for partition in ready:
            start = dj.FromToken(starts[partition.id]) if partition.id in starts else dj.Beginning()
            found, pages = walk(source, dj.FeedRequest(partition.scope, start, max_page_size=size))
            events += found
            finished.add(partition.id)
            assert pages[-1].partition_retired == (partition.ends_at is not None)
            assert [child.scope.id for child in pages[-1].child_partitions] == list(partition.children)
            for child in pages[-1].child_partitions:
                assert list(child.parents) == list(listed[child.scope.id].parents)
                assert starts.setdefault(child.scope.id, child.token) == child.token
    return events


def test_four_buckets_hold_every_event_once(written: dj.Journal, connections) -> None:
    change_content(connections[0], *DOCUMENTS[::2])
    events, _ = walk(written, ALL)
    partitions = written.list_physical_partitions()
    assert [(p.id, p.parents, p.children, p.begins_after, p.ends_at) for p in partitions] == [
        (f"1-{b}", [], [], 0, None) for b in range(4)
    ]
    for size in (1, 3, 500):
        found = [walk(written, dj.FeedRequest(p.scope, max_page_size=size))[0] for p in partitions]
        assert sorted((e for its in found for e in its), key=lambda e: e.change_version) == events
        for bucket, its in enumerate(found):
            assert {bucket_of(event.key.document_id, 4) for event in its} <= {bucket}
            assert [e.change_version for e in its] == sorted(e.change_version for e in its)


@pytest.mark.parametrize("size", [1, 2, 500])
def test_buckets_split_and_merge_without_loss_or_doubling(written: dj.Journal, url: str, connections, size: int) -> None:
    for count in (8, 3, 1, 4):
        change_content(connections[0], *DOCUMENTS)
        before = newest(written)
        listed = written.change_bucket_count(count)
        stamp = before + 1 + drawn_to_enter(url)
        assert newest(written) == stamp  # of its own
        assert {p.ends_at for p in listed if p.ends_at is not None} >= {stamp}
        assert len([p for p in listed if p.ends_at is None]) == count
        change_content(connections[0], *DOCUMENTS[:15])
    events = all_partitions(written, size)
    assert sorted(told(events)) == told(walk(written, ALL)[0])
    for i in DOCUMENTS:
        versions = [event.change_version for event in events if event.key.document_id == i]
        assert versions == sorted(versions)


def test_the_same_count_changes_nothing(written: dj.Journal, url: str) -> None:
    before, was = written.list_physical_partitions(), newest(written)
    assert written.change_bucket_count(4) == before
    assert newest(written) == was + drawn_to_enter(url)


@pytest.mark.parametrize("count", [0, -1, 1025, True, "4", None, 2.0])
def test_a_count_that_is_none_is_refused(journal: dj.Journal, count) -> None:
    with pytest.raises(dj.InvalidRequest, match="count"):
        journal.change_bucket_count(count)


def test_a_retired_bucket_goes_on_naming_its_children(written: dj.Journal, connections) -> None:
    written.change_bucket_count(8)
    request = dj.FeedRequest(dj.PhysicalPartition("1-2"))
    _, pages = walk(written, request)
    change_content(connections[0], *DOCUMENTS)
    again = written.read_changes(after(request, pages[-1]))  # as after a crash between the last page and the first of a child
    assert (again.events, again.partition_retired, again.child_partitions) == ([], True, pages[-1].child_partitions)
    assert [child.scope.id for child in again.child_partitions] == ["2-4", "2-5"]
    late, _ = walk(written, request)
    assert {event.key.document_id for event in late} == {i for i in DOCUMENTS if bucket_of(i, 4) == 2}


def test_now_on_a_retired_bucket_begins_its_children_now(written: dj.Journal, connections) -> None:
    written.change_bucket_count(8)
    change_content(connections[0], *DOCUMENTS)
    page = written.read_changes(dj.FeedRequest(dj.PhysicalPartition("1-0"), dj.Now()))
    assert page.partition_retired
    for child in page.child_partitions:
        assert walk(written, dj.FeedRequest(child.scope, dj.FromToken(child.token)))[0] == []


def test_a_bucket_that_is_read_after_a_version_begins_at_its_beginning(written: dj.Journal, connections) -> None:
    """What came before is its parents': read after one version, all buckets together have each event once."""
    written.change_bucket_count(2)
    change_content(connections[0], *DOCUMENTS)
    for version in (0, 7, newest(written) - 3):
        found: list[tuple[int, int, str]] = []
        for partition in written.list_physical_partitions():
            found += told(walk(written, dj.FeedRequest(partition.scope, dj.AfterVersion(version)))[0])
        assert sorted(found) == journaled(connections[0], version)


def test_a_child_that_is_pruned_before_it_was_read_is_expired(written: dj.Journal, connections) -> None:
    written.change_bucket_count(8)
    change_content(connections[0], *DOCUMENTS)
    _, pages = walk(written, dj.FeedRequest(dj.PhysicalPartition("1-0")))
    child = pages[-1].child_partitions[0]
    written.prune(newest(written) - 1)
    with pytest.raises(dj.CheckpointExpired):
        written.read_changes(dj.FeedRequest(child.scope, dj.FromToken(child.token)))
    assert [p.id for p in written.list_physical_partitions()] == [f"2-{b}" for b in range(8)]
    assert all(p.parents == [] for p in written.list_physical_partitions())


def test_the_hash_spreads_ids_that_follow_a_pattern() -> None:
    for step in (1, 2, 3, 7, 8, 10, 64, 100, 1000, 1024, 1597, 65_536, 10**6, 2**31 - 1, 2**32):
        for count in (2, 3, 4, 8, 16):
            found = [0] * count
            for n in range(20_000):
                found[bucket_of(step * n, count)] += 1
            assert max(found) < 1.12 * 20_000 / count, (step, count, found)
            assert min(found) > 0.88 * 20_000 / count, (step, count, found)


def test_the_hash_never_changes() -> None:
    """Consumers' checkpoints depend on it: which documents a bucket holds is for ever."""
    assert [hash_of(i) for i in (0, 1, 2, -1, 2**63 - 1, -(2**63))] == HASHES


HASHES = [1141158608, 1109170560, 982769505, 114524111, 1109170560, 0]
