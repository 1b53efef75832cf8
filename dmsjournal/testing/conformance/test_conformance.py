"""What holds for the feed of every provider. Each capability is seen both ways: it works, or it raises UnsupportedCapability."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

import dmsjournal as dj
from dmsjournal.feed import FeedProvider, readable
from dmsjournal.testing.conformance.harness import FeedSource

Outline = tuple[str, int]  # the type, and the item's number


def after(request: dj.FeedRequest, page: dj.FeedPage) -> dj.FeedRequest:
    return replace(request, start=dj.FromToken(page.token))


def walk(provider: FeedProvider, request: dj.FeedRequest) -> tuple[list[dj.FeedEvent], dj.FeedPage]:
    """The events up to the first idle page or the end of a partition, and that page."""
    page = provider.read_changes(request)
    events = list(page.events)
    while not (page.idle or page.partition_retired):
        page = provider.read_changes(after(request, page))
        assert len(page.events) <= request.max_page_size
        events += page.events
    return events, page


def outlines(source: FeedSource, events: Iterable[dj.FeedEvent]) -> list[Outline]:
    return [(str(event.type), source.number_of(event.key.key_values or {})) for event in events]


def write(source: FeedSource) -> list[Outline]:
    """Five items: created, changed, two deleted, one created again."""
    for number in range(5):
        source.create(number, {"name": f"n{number}"})
    for number in (1, 3):
        source.update(number, {"name": "changed"})
    for number in (3, 4):
        source.delete(number)
    source.create(3, {"name": "again"})
    return [
        *(("CREATE", n) for n in range(5)),
        *(("UPDATE", n) for n in (1, 3)),
        *(("DELETE", n) for n in (3, 4)),
        ("CREATE", 3),
    ]  # fmt: skip


def by_item(events: list[Outline]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for kind, number in events:
        found.setdefault(number, []).append(kind)
    return found


def check(source: FeedSource, found: list[Outline], expected: list[Outline]) -> None:
    """The same events, in the order that the provider promises: all of them, or each item's."""
    assert sorted(found) == sorted(expected)
    assert by_item(found) == by_item(expected)
    if source.provider.feed_capabilities.total_order:
        assert found == expected


def supported(source: FeedSource, capability: str, ask: Callable[[], object]) -> bool:
    """Whether the provider has a capability; where it has not, asking for it says so, with a remedy."""
    if source.provider.feed_capabilities.rows()[capability]:
        return True
    with pytest.raises(dj.UnsupportedCapability) as refused:
        ask()
    assert refused.value.remedy
    return False


def test_it_is_a_provider(source: FeedSource) -> None:
    assert isinstance(source.provider, FeedProvider)
    assert set(source.provider.feed_capabilities.rows()) == {
        "entire_collection", "total_order", "physical_partitions", "partition_changes", "logical_partitions", "at_time",
        "after_version", "filters", "item_state_included", "item_state_before", "item_state_required", "contexts", "effects",
        "history_check", "document_uuids", "indirect",
    }  # fmt: skip


def test_an_empty_source_is_idle(source: FeedSource) -> None:
    page = source.provider.read_changes(dj.FeedRequest())
    assert (list(page.events), page.idle, page.partition_retired, list(page.child_partitions)) == ([], True, False, [])
    assert page.diagnostics.rows_scanned == 0
    again = source.provider.read_changes(after(dj.FeedRequest(), page))
    assert (list(again.events), again.idle) == ([], True)


@pytest.mark.parametrize("size", [1, 2, 3, 500])
def test_entire_collection_each_change_is_one_event(source: FeedSource, size: int) -> None:
    expected = write(source)
    request = dj.FeedRequest(max_page_size=size)
    if supported(source, "entire_collection", lambda: source.provider.read_changes(request)):
        events, _ = walk(source.provider, request)
        check(source, outlines(source, events), expected)
        assert len({event.event_id for event in events}) == len(events)
        for event in events:
            assert event.timestamp.utcoffset() == timedelta()
            assert abs(datetime.now(UTC) - event.timestamp) < timedelta(minutes=10)


def test_an_event_is_the_same_at_every_read_and_for_every_program(source: FeedSource) -> None:
    write(source)
    first, _ = walk(source.provider, dj.FeedRequest(max_page_size=2))
    again, _ = walk(source.provider, dj.FeedRequest())
    assert {event.event_id: event for event in again} == {event.event_id: event for event in first}
    with source.another() as other:
        theirs, _ = walk(other, dj.FeedRequest())
    assert [event.event_id for event in theirs] == [event.event_id for event in again]


def test_indirect_changes_come_beside_the_others(source: FeedSource) -> None:
    write(source)
    request = dj.FeedRequest(indirect=True, max_page_size=2)
    if supported(source, "indirect", lambda: source.provider.read_changes(request)):
        events, _ = walk(source.provider, request)
        own = [event for event in events if event.indirect_of is None]
        assert [event.event_id for event in own] == [event.event_id for event in walk(source.provider, dj.FeedRequest())[0]]


def test_total_order_is_that_of_versions(source: FeedSource) -> None:
    write(source)
    events, _ = walk(source.provider, dj.FeedRequest(max_page_size=3))
    if source.provider.feed_capabilities.total_order:
        assert [e.change_version for e in events] == sorted(e.change_version for e in events)
    items: dict[int, list[int]] = {}
    for event in events:
        items.setdefault(source.number_of(event.key.key_values or {}), []).append(event.change_version)
    assert all(versions == sorted(set(versions)) for versions in items.values())


def test_a_token_goes_on_where_it_was_made_for_every_program(source: FeedSource) -> None:
    expected = write(source)
    request, found = dj.FeedRequest(max_page_size=2), []
    page = source.provider.read_changes(request)
    while not page.idle:
        found += outlines(source, page.events)
        with source.another() as other:
            page = other.read_changes(after(request, page))
    check(source, found, expected)


def test_a_token_may_be_used_again(source: FeedSource) -> None:
    write(source)
    request = dj.FeedRequest(max_page_size=3)
    first = source.provider.read_changes(request)
    second = source.provider.read_changes(after(request, first))
    assert list(source.provider.read_changes(after(request, first)).events) == list(second.events)


def test_what_comes_later_comes_after_the_last_token(source: FeedSource) -> None:
    write(source)
    _, page = walk(source.provider, dj.FeedRequest())
    source.update(0, {"name": "later"})
    later, _ = walk(source.provider, after(dj.FeedRequest(), page))
    assert outlines(source, later) == [("UPDATE", 0)]


def test_now_begins_after_what_has_happened(source: FeedSource) -> None:
    write(source)
    page = source.provider.read_changes(dj.FeedRequest(start=dj.Now()))
    assert (list(page.events), page.idle) == ([], True)
    source.create(9, {"name": "later"})
    later, _ = walk(source.provider, after(dj.FeedRequest(), page))
    assert outlines(source, later)[-1] == ("CREATE", 9)
    if source.provider.feed_capabilities.total_order:
        assert len(later) == 1


def test_at_time(source: FeedSource) -> None:
    expected = write(source)
    middle = datetime.now(UTC)
    source.create(9, {"name": "later"})
    at = dj.FeedRequest(start=dj.AtTime(middle))
    if supported(source, "at_time", lambda: source.provider.read_changes(at)):
        found = outlines(source, walk(source.provider, at)[0])
        assert found == [*expected, ("CREATE", 9)][-len(found) :]
        assert ("CREATE", 9) in found
        early = dj.FeedRequest(start=dj.AtTime(datetime(2000, 1, 1, tzinfo=UTC)))
        check(source, outlines(source, walk(source.provider, early)[0]), [*expected, ("CREATE", 9)])
        late = dj.FeedRequest(start=dj.AtTime(datetime.now(UTC) + timedelta(days=1)))
        assert list(source.provider.read_changes(late).events) == []


def test_after_version(source: FeedSource) -> None:
    expected = write(source)
    begin = dj.FeedRequest(start=dj.AfterVersion(0))
    if supported(source, "after_version", lambda: source.provider.read_changes(begin)):
        found = walk(source.provider, begin)[0]
        check(source, outlines(source, found), expected)
        middle = found[len(found) // 2].change_version
        after = dj.FeedRequest(start=dj.AfterVersion(middle))
        assert outlines(source, walk(source.provider, after)[0]) == outlines(
            source, [e for e in found if e.change_version > middle]
        )


@pytest.mark.parametrize("size", [1, 500])
def test_physical_partitions_hold_every_event_once(source: FeedSource, size: int) -> None:
    expected = write(source)
    found: list[dj.FeedEvent] = []
    finished: set[str] = set()
    if not supported(source, "physical_partitions", source.provider.list_physical_partitions):
        return
    listed = source.provider.list_physical_partitions()
    assert listed
    while ready := readable(listed, finished):
        for partition in ready:
            events, page = walk(source.provider, dj.FeedRequest(partition.scope, max_page_size=size))
            assert page.partition_retired == bool(partition.children or partition.ends_at is not None)
            found += events
            finished.add(partition.id)
    check_documents(source, found, expected)
    with pytest.raises(dj.InvalidRequest):
        source.provider.read_changes(dj.FeedRequest(dj.PhysicalPartition("no such partition")))


def check_documents(source: FeedSource, events: list[dj.FeedEvent], expected: list[Outline]) -> None:
    """The same events, each document's in order. An item that is created again is another document, perhaps elsewhere."""
    assert sorted(outlines(source, events)) == sorted(expected)
    documents: dict[object, list[int]] = {}
    for event in events:
        which = event.key.document_uuid or source.number_of(event.key.key_values or {})
        documents.setdefault(which, []).append(event.change_version)
    assert all(versions == sorted(versions) for versions in documents.values())


def test_partition_changes(source: FeedSource) -> None:
    expected = write(source)
    if not supported(source, "partition_changes", lambda: source.change_partitions(8)):
        return
    source.change_partitions(8)
    source.update(0, {"name": "in eight"})
    source.change_partitions(3)
    source.update(0, {"name": "in three"})
    starts: dict[str, str] = {}
    finished: set[str] = set()
    found: list[dj.FeedEvent] = []
    listed = {partition.id: partition for partition in source.provider.list_physical_partitions()}
    while ready := readable(list(listed.values()), finished):
        for partition in ready:
            start = dj.FromToken(starts[partition.id]) if partition.id in starts else dj.Beginning()
            events, page = walk(source.provider, dj.FeedRequest(partition.scope, start, max_page_size=2))
            found += events
            finished.add(partition.id)
            assert [child.scope.id for child in page.child_partitions] == list(partition.children)
            starts |= {child.scope.id: child.token for child in page.child_partitions}
    check_documents(source, found, [*expected, ("UPDATE", 0), ("UPDATE", 0)])


def test_logical_partitions(source: FeedSource) -> None:
    expected = write(source)
    events, _ = walk(source.provider, dj.FeedRequest())
    request = dj.FeedRequest(dj.LogicalPartition(events[0].resource))
    if supported(source, "logical_partitions", lambda: source.provider.read_changes(request)):
        check(source, outlines(source, walk(source.provider, request)[0]), expected)
        for event in events:
            one = dj.FeedRequest(dj.LogicalPartition(document_id=event.key.document_id), max_page_size=1)
            mine = [e for e in events if e.key.document_id == event.key.document_id]
            assert walk(source.provider, one)[0] == mine


def test_filters(source: FeedSource) -> None:
    write(source)
    events, _ = walk(source.provider, dj.FeedRequest())
    request = dj.FeedRequest(filters=dj.FeedFilter(types=[dj.FeedEventType.DELETE]), max_page_size=2)
    if supported(source, "filters", lambda: source.provider.read_changes(request)):
        found, _ = walk(source.provider, request)
        assert outlines(source, found) == [("DELETE", 3), ("DELETE", 4)]
        by_resource = dj.FeedRequest(filters=dj.FeedFilter(resources=[events[0].resource]), max_page_size=2)
        assert {e.event_id for e in walk(source.provider, by_resource)[0]} == {e.event_id for e in events}


def test_an_empty_filtered_page_advances_and_is_not_idle(source: FeedSource) -> None:
    for number in range(3):
        source.create(number, {"name": "n"})
    request = dj.FeedRequest(filters=dj.FeedFilter(types=[dj.FeedEventType.DELETE]), max_page_size=1)
    first = source.provider.read_changes(request)
    assert (list(first.events), first.idle) == ([], False)
    second = source.provider.read_changes(after(request, first))
    assert second.token != first.token or second.idle
    _, last = walk(source.provider, after(request, second))
    source.delete(1)
    assert outlines(source, walk(source.provider, after(request, last))[0]) == [("DELETE", 1)]


def bodies(source: FeedSource, mode: dj.NewItemStateMode) -> list[tuple[Outline, object]]:
    events, _ = walk(source.provider, dj.FeedRequest(item_state=mode))
    names = [None if e.item_state is None or e.item_state.after is None else e.item_state.after.get("name") for e in events]
    return list(zip(outlines(source, events), names, strict=True))


def test_item_state_included(source: FeedSource) -> None:
    write(source)
    included = dj.NewItemStateMode.INCLUDE_IF_AVAILABLE
    without = dj.FeedRequest(item_state=dj.NewItemStateMode.OMIT)
    assert all(event.item_state is None for event in walk(source.provider, without)[0])
    if supported(source, "item_state_included", lambda: bodies(source, included)):
        found = bodies(source, included)
        assert found[-1] == (("CREATE", 3), "again")
        assert (("UPDATE", 1), "changed") in found
        assert all(name in (None, right) for (told, name), right in zip(found, NAMES, strict=True))


NAMES = [*(f"n{n}" for n in range(5)), "changed", "changed", None, None, "again"]


def test_item_state_required(source: FeedSource) -> None:
    write(source)
    required = dj.NewItemStateMode.REQUIRE
    if supported(source, "item_state_required", lambda: bodies(source, required)):
        assert [name for _, name in bodies(source, required)] == NAMES


def test_item_state_before(source: FeedSource) -> None:
    write(source)
    capabilities = source.provider.feed_capabilities
    events, _ = walk(source.provider, dj.FeedRequest(item_state=dj.NewItemStateMode.INCLUDE_IF_AVAILABLE))
    found = [None if e.item_state is None or e.item_state.before is None else e.item_state.before.get("name") for e in events]
    if supported(source, "item_state_before", lambda: capabilities.need("item_state_before")):
        assert dict(zip(outlines(source, events), found, strict=True)) == {
            **{("CREATE", n): None for n in range(5)},
            ("UPDATE", 1): "n1",
            ("UPDATE", 3): "n3",
            ("DELETE", 3): "changed",
            ("DELETE", 4): "n4",
        }
    else:
        assert set(found) == {None}


def test_contexts(source: FeedSource) -> None:
    source.create(1, {"name": "n1"})
    if supported(source, "contexts", lambda: source.update_as(1, {"name": "changed"}, "ada")):
        source.update_as(1, {"name": "changed"}, "ada")
        source.update(1, {"name": "changed again"})
        contexts = [event.context for event in walk(source.provider, dj.FeedRequest())[0]]
        assert [None if context is None else context.get("user") for context in contexts] == [None, "ada", None]
    else:
        assert {event.context for event in walk(source.provider, dj.FeedRequest())[0]} == {None}


def test_effects(source: FeedSource) -> None:
    source.create(1, {"name": "n1"})
    events, _ = walk(source.provider, dj.FeedRequest())
    if supported(source, "effects", lambda: source.provider.effects(events)):
        assert source.provider.effects(events) == {}
        source.rename_with_referrer(1, 2)
        events, _ = walk(source.provider, dj.FeedRequest())
        found = source.provider.effects(events)
        assert list(found) == [(events[-1].change_version, events[-1].key.document_id)]
        [effects] = found.values()
        assert [effect.document_id for effect in effects.updated] == [
            event.key.document_id for event in events if source.number_of(event.key.key_values or {}) == 2
        ][:1]
        assert (list(effects.deleted), effects.truncated) == ([], 0)


def test_document_uuids(source: FeedSource) -> None:
    write(source)
    events, _ = walk(source.provider, dj.FeedRequest())
    uuids = {event.key.document_uuid for event in events}
    if source.provider.feed_capabilities.document_uuids:
        assert len(uuids) == 6  # five items, of which one lived twice
        assert None not in uuids
    else:
        assert uuids == {None}
    assert all(event.key.key_values for event in events)


def test_expiry(source: FeedSource) -> None:
    write(source)
    first = source.provider.read_changes(dj.FeedRequest(max_page_size=2))
    source.expire()
    with pytest.raises(dj.CheckpointExpired):
        source.provider.read_changes(after(dj.FeedRequest(), first))
    retention = source.provider.feed_capabilities.retention
    assert retention is None or retention > timedelta()


def test_history_check(source: FeedSource) -> None:
    write(source)
    _, page = walk(source.provider, dj.FeedRequest())
    if supported(source, "history_check", source.restore_earlier):
        source.restore_earlier()
        with pytest.raises(dj.HistoryDiverged):
            source.provider.read_changes(after(dj.FeedRequest(), page))


def test_a_token_of_elsewhere_is_refused(source: FeedSource) -> None:
    write(source)
    capabilities = source.provider.feed_capabilities
    page = source.provider.read_changes(dj.FeedRequest(max_page_size=2))
    start = dj.FromToken(page.token)
    for token in ("", "e30=", page.token[:-4], page.token.swapcase(), page.token * 2, "x" * 10_000):
        with pytest.raises(dj.InvalidRequest):
            source.provider.read_changes(dj.FeedRequest(start=dj.FromToken(token)))
    if capabilities.filters:
        with pytest.raises(dj.InvalidRequest, match="filter"):
            source.provider.read_changes(dj.FeedRequest(start=start, filters=dj.FeedFilter(types=[dj.FeedEventType.DELETE])))
    if capabilities.physical_partitions:
        scope = source.provider.list_physical_partitions()[0].scope
        with pytest.raises(dj.InvalidRequest, match="scope"):
            source.provider.read_changes(dj.FeedRequest(scope, start))


def test_an_iterator_reads_all_and_goes_on(source: FeedSource) -> None:
    expected = write(source)
    kept = _Kept()
    with dj.FeedIterator(source.provider, dj.FeedRequest(max_page_size=3), checkpoint=kept, follow=False) as events:
        check(source, outlines(source, events), expected)
    source.delete(0)
    with dj.FeedIterator(source.provider, checkpoint=kept, shortest_wait=0.01) as events:
        assert outlines(source, [next(events)]) == [("DELETE", 0)]
        threading.Timer(0.2, events.stop).start()
        assert list(events) == []


class _Kept:
    token: str | None = None

    def load(self) -> str | None:
        return self.token

    def save(self, token: str) -> None:
        self.token = token
