"""Arrow change events: weights, copies, conversions, Z-sets beside a brute-force count, and state that is saved whole or not."""

import copy
import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dmsjournal import InvalidRequest, ResourceKey, Unavailable
from dmsjournal.events import arrow, cdc
from dmsjournal.events.arrow import (
    ChangeEvent,
    ChangeEventBatch,
    ChangelogOperation,
    ChangelogRecord,
    Delete,
    EventType,
    Insert,
    Snapshot,
    SubscriptionState,
    Update,
    Watermark,
)
from dmsjournal.events.jsonl import FeedRecord, Key, StateRecord
from tests.events import strategies


def rows(*names: str) -> pa.RecordBatch:
    return pa.record_batch({"name": list(names)}, pa.schema([("name", pa.string())]))


ALL: list[ChangeEvent] = [
    Insert(rows("a", "b"), 1, 10),
    Delete(rows("a"), 2, 11),
    Update(rows("b"), rows("c"), 3, 12),
    Watermark(4),
    Snapshot(rows("x", "y", "z"), 5),
]


def test_types_have_weights_and_data() -> None:
    assert [(event.event_type.weight, event.has_data, event.row_count) for event in ALL] == [
        (1, True, 2),
        (-1, True, 1),
        (1, True, 1),
        (0, False, 0),
        (1, True, 3),
    ]
    assert [event.event_type for event in ALL] == list(EventType)
    assert [event.sequence for event in ALL] == [10, 11, 12, None, None]


@pytest.mark.parametrize("event", ALL, ids=lambda event: event.event_type.name)
def test_a_copy_is_the_event_itself(event: ChangeEvent) -> None:
    assert copy.copy(event) is event
    assert copy.deepcopy(event) is event
    assert copy.deepcopy([event])[0] is event
    assert pickle.loads(pickle.dumps(event)) == event


def test_an_update_has_as_many_rows_before_as_after() -> None:
    for new in (rows("a", "b"), pa.record_batch({"other": ["a"]})):
        with pytest.raises(InvalidRequest, match="as many"):
            Update(rows("a"), new, 1, 1)


def test_a_batch_counts_and_covers() -> None:
    batch = ChangeEventBatch.of("students", ALL)
    assert (batch.start, batch.end, len(batch), batch.total_rows) == (10, 13, 5, 7)
    assert dict(batch.totals) == {
        EventType.INSERT: 2,
        EventType.DELETE: 1,
        EventType.UPDATE: 1,
        EventType.WATERMARK: 0,
        EventType.SNAPSHOT: 3,
    }
    assert list(batch) == ALL
    assert batch.schema == rows().schema
    nothing = ChangeEventBatch.of("students", [Watermark(1)])
    assert (nothing.start, nothing.end, nothing.schema, nothing.total_rows) == (0, 0, None, 0)
    assert ChangeEventBatch.of("s", [Insert(rows("a"), 1, 2**63 - 1)]).end == 2**63


BROKEN: dict[str, Callable[[], object]] = {
    "it ends before it starts": lambda: ChangeEventBatch("s", (), 2, 1),
    "before its start": lambda: ChangeEventBatch("s", (Insert(rows(), 1, 4),), 5, 9),
    "at its end, which is exclusive": lambda: ChangeEventBatch("s", (Insert(rows(), 1, 9),), 5, 9),
    "out of order": lambda: ChangeEventBatch("s", (Insert(rows(), 1, 6), Insert(rows(), 1, 5)), 5, 9),
    "two schemas": lambda: ChangeEventBatch.of("s", [Insert(rows(), 1, 6), Delete(pa.record_batch({"other": [1]}), 1, 6)]),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_batch_that_is_none_is_refused(fault: str) -> None:
    with pytest.raises(InvalidRequest):
        BROKEN[fault]()
    assert ChangeEventBatch("s", (Insert(rows(), 1, 5), Insert(rows(), 1, 5), Insert(rows(), 1, 8)), 5, 9)


# Conversions.

WHEN = datetime(2026, 1, 11, 15, 35, 0, 123456, UTC)


def feed_event(version: int, operation: Any, before: Any = None, after: Any = None) -> FeedRecord:
    return FeedRecord(
        event_id=UUID(int=version),
        key=Key(UUID(int=7), {"id": "😀"}, 2**63 - 1),
        resource=ResourceKey("Ed-Fi", "Student", "5.2.0"),
        type=operation,
        timestamp=WHEN,
        change_version=version,
        item_state=StateRecord(before, after),
        transaction_id=2**63 - 1,
    )


def test_a_page_becomes_runs_of_one_operation() -> None:
    a, b, c = {"n": 1, "a": None}, {"n": 2}, {"n": 2**63 - 1}
    page = [
        feed_event(5, "CREATE", after=a),
        feed_event(6, "CREATE", after=b),
        feed_event(8, "UPDATE", a, c),
        feed_event(9, "DELETE", c),
        feed_event(11, "CREATE"),
    ]
    batch = arrow.from_feed(page, "students")
    assert [(type(event), event.row_count, event.sequence) for event in batch] == [
        (Insert, 2, 6),
        (Update, 1, 8),
        (Delete, 1, 9),
        (Insert, 1, 11),
    ]
    assert (batch.source, batch.start, batch.end) == ("students", 5, 12)
    assert batch.schema == arrow.SCHEMA
    states = [part["state"].to_pylist() for event in batch for part in event.parts]
    assert states == [
        ['{"a":null,"n":1}', '{"n":2}'],
        ['{"a":null,"n":1}'],
        ['{"n":9223372036854775807}'],
        ['{"n":9223372036854775807}'],
        [None],
    ]
    assert batch.events[1].parts[0].slice(0, 1).to_pylist() == [
        {
            "event_id": UUID(int=8).bytes,
            "change_version": 8,
            "document_id": 2**63 - 1,
            "document_uuid": UUID(int=7).bytes,
            "project_name": "Ed-Fi",
            "resource_name": "Student",
            "resource_version": "5.2.0",
            "timestamp": WHEN,
            "transaction_id": 2**63 - 1,
            "key_values": '{"id":"😀"}',
            "state": '{"a":null,"n":1}',
        }
    ]
    assert batch.events[0].timestamp == 1768145700123456
    empty = arrow.from_feed([], "students")
    assert (len(empty), empty.start, empty.end) == (0, 0, 0)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(strategies.feed_events(), max_size=8))
def test_a_page_is_the_same_read_directly_and_as_cdc_events(page: list[FeedRecord]) -> None:
    page = sorted(page, key=lambda event: event.change_version)
    converter = cdc.CdcConverter(cdc.Source(database="postgresql", instance="one"))
    direct = arrow.from_feed(page, "s")
    by_cdc = arrow.from_cdc([converter.convert(event) for event in page], "s")
    assert (direct.start, direct.end, direct.totals) == (by_cdc.start, by_cdc.end, by_cdc.totals)
    common = [
        "event_id",
        "change_version",
        "project_name",
        "resource_name",
        "resource_version",
        "timestamp",
        "transaction_id",
        "state",
    ]
    for one, other in zip(direct, by_cdc, strict=True):
        assert [part.select(common) for part in one.parts] == [part.select(common) for part in other.parts]
    made = [row for event in direct for row in event.parts[-1].to_pylist()]
    assert [row["event_id"] for row in made] == [event.event_id.bytes for event in page]
    assert all(json.loads(row["state"] or "null") is None or row["state"] for row in made)


def record(operation: ChangelogOperation, sequence: int, *names: str) -> ChangelogRecord:
    return ChangelogRecord(operation, rows(*names), 1, sequence)


def test_a_change_log_s_pairs_become_updates_and_back() -> None:
    insert, before, after, delete = ChangelogOperation
    log = [record(insert, 1, "a"), record(before, 2, "a"), record(after, 2, "b"), record(delete, 3, "b")]
    batch = arrow.from_changelog(log, "s")
    assert [type(event) for event in batch] == [Insert, Update, Delete]
    assert list(arrow.to_changelog(batch)) == log
    alone = [record(before, 1, "a"), record(before, 2, "b"), record(after, 3, "c"), record(after, 3, "d"), record(before, 4, "e")]
    assert [type(event) for event in arrow.from_changelog(alone, "s")] == [Delete, Delete, Insert, Insert, Delete]
    of_two = [record(before, 1, "a", "b"), record(after, 1, "c")]  # which row became which is not said
    assert [type(event) for event in arrow.from_changelog(of_two, "s")] == [Delete, Insert]
    snapshot = ChangeEventBatch("s", (Snapshot(rows("x"), 1), Watermark(2)), 7, 7)
    assert list(arrow.to_changelog(snapshot)) == [record(insert, 7, "x")]


# Z-sets.

names = st.lists(st.sampled_from(["a", "b", "c", "", "😀"]), min_size=0, max_size=4)


@st.composite
def change_events(draw: st.DrawFn) -> ChangeEvent:
    match draw(st.sampled_from(list(EventType))):
        case EventType.INSERT:
            return Insert(rows(*draw(names)), 1, 1)
        case EventType.DELETE:
            return Delete(rows(*draw(names)), 1, 1)
        case EventType.UPDATE:
            pairs = draw(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), max_size=4))
            return Update(rows(*(old for old, _ in pairs)), rows(*(new for _, new in pairs)), 1, 1)
        case EventType.WATERMARK:
            return Watermark(1)
        case _:
            return Snapshot(rows(*draw(names)), 1)


def counted(events: list[ChangeEvent]) -> dict[str, int]:
    """The weights, row by row."""
    weights: Counter[str] = Counter()
    for event in events:
        match event:
            case Insert(data=data) | Snapshot(data=data):
                weights.update(data["name"].to_pylist())
            case Delete(data=data):
                weights.subtract(data["name"].to_pylist())
            case Update(old=old, new=new):
                weights.subtract(old["name"].to_pylist())
                weights.update(new["name"].to_pylist())
    return {name: weight for name, weight in weights.items() if weight}


def as_weights(table: pa.Table) -> dict[str, int]:
    return {row["name"]: row["weight"] for row in table.to_pylist() if "name" in row}


@settings(max_examples=200)
@given(st.lists(change_events(), max_size=6), st.lists(change_events(), max_size=6))
def test_a_z_set_is_what_counting_row_by_row_gives(one: list[ChangeEvent], other: list[ChangeEvent]) -> None:
    whole = arrow.consolidated([*one, *other])
    assert as_weights(whole) == counted([*one, *other])
    assert len(as_weights(whole)) == whole.num_rows
    parts = Counter(as_weights(arrow.consolidated(one)))
    parts.update(as_weights(arrow.consolidated(other)))
    assert {name: weight for name, weight in parts.items() if weight} == as_weights(whole)
    assert as_weights(
        arrow.consolidated(arrow.from_changelog(arrow.to_changelog(ChangeEventBatch("s", tuple(one), 0, 9)), "s"))
    ) == counted(one)


def test_a_history_of_a_document_leaves_its_last_state() -> None:
    page = [
        feed_event(1, "CREATE", after={"n": 1}),
        feed_event(2, "UPDATE", {"n": 1}, {"n": 2}),
        feed_event(3, "UPDATE", {"n": 2}, {"n": 3}),
    ]
    columns = ["document_uuid", "state"]
    left = arrow.consolidated(arrow.from_feed(page, "s"), columns)
    assert left.to_pylist() == [{"document_uuid": UUID(int=7).bytes, "state": '{"n":3}', "weight": 1}]
    with pytest.raises(InvalidRequest, match=r"columns = .uuid.: a batch has .*document_uuid"):
        arrow.consolidated(arrow.from_feed(page, "s"), ["uuid"])
    page.append(feed_event(4, "DELETE", {"n": 3}))
    assert arrow.consolidated(arrow.from_feed(page, "s"), columns).num_rows == 0
    assert list(arrow.weighted(Watermark(1))) == []


# Saved state.


def state(*events: ChangeEvent) -> SubscriptionState:
    return SubscriptionState("students 😀", "token", ChangeEventBatch("s", events, 10, 2**63))


@pytest.mark.parametrize("events", [ALL, ALL[3:4], [], [Insert(rows(), 1, 2**63 - 1)]], ids=["all", "watermark", "none", "no rows"])
def test_a_state_comes_back_as_it_was(tmp_path: Path, events: list[ChangeEvent]) -> None:
    arrow.save(state(*events), tmp_path / "state")
    assert arrow.load(tmp_path / "state") == state(*events)
    arrow.save(state(), tmp_path / "state")
    assert arrow.load(tmp_path / "state") == state()
    assert [found.name for found in tmp_path.iterdir()] == ["state"]


@settings(max_examples=30)
@given(page=st.lists(strategies.feed_events(), max_size=5))
def test_a_state_with_a_page_comes_back_as_it_was(page: list[FeedRecord], tmp_path_factory: pytest.TempPathFactory) -> None:
    pending = arrow.from_feed(sorted(page, key=lambda event: event.change_version), "s")
    path = tmp_path_factory.mktemp("state") / "state"
    arrow.save(SubscriptionState("s", "t", pending), path)
    assert arrow.load(path).pending == pending


def test_a_schema_s_own_metadata_comes_back(tmp_path: Path) -> None:
    data = rows("a").replace_schema_metadata({b"owner": b"\xff\x00"})
    arrow.save(state(Insert(data, 1, 10)), tmp_path / "state")
    schema = arrow.load(tmp_path / "state").pending.schema
    assert schema is not None
    assert schema.metadata == {b"owner": b"\xff\x00"}


def test_any_arrow_reader_opens_it(tmp_path: Path) -> None:
    arrow.save(state(*ALL), tmp_path / "state")
    with pa.ipc.open_file(tmp_path / "state") as reader:
        assert reader.read_all()["name"].to_pylist() == ["a", "b", "a", "b", "c", "x", "y", "z"]


def test_a_truncated_file_is_refused_at_any_length(tmp_path: Path) -> None:
    path = tmp_path / "state"
    arrow.save(state(*ALL), path)
    whole = path.read_bytes()
    for length in {*range(0, len(whole), 7), *range(len(whole) - 32, len(whole))}:
        path.write_bytes(whole[:length])
        with pytest.raises(InvalidRequest, match="no state of a subscription"):
            arrow.load(path)


def test_a_damaged_file_is_refused_or_read(tmp_path: Path) -> None:
    """Never another error, whichever byte is another one. A row's own bytes are no part of what is checked."""
    path = tmp_path / "state"
    arrow.save(state(*ALL), path)
    whole = path.read_bytes()
    script = (
        "import sys; from pathlib import Path; from dmsjournal import InvalidRequest; from dmsjournal.events import arrow\n"
        "path = Path(sys.argv[1]); whole = path.read_bytes(); refused = 0\n"
        "for at in range(0, len(whole), 3):\n"
        "    path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1:])\n"
        "    try: arrow.load(path)\n"
        "    except InvalidRequest: refused += 1\n"
        "print(refused)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > len(whole) // 12


FOREIGN: dict[str, Callable[[Path], object]] = {
    "text": lambda path: path.write_text("{}"),
    "another Arrow file": lambda path: _arrow_file(path, None),
    "another version": lambda path: _arrow_file(path, {"format": "dmsjournal subscription 2"}),
    "no head": lambda path: _arrow_file(path, {}),
    "more rows than events": lambda path: _arrow_file(path, _head([])),
    "fewer rows than events": lambda path: _arrow_file(path, _head([["INSERT", 1, 1], ["DELETE", 1, 1]])),
    "an event of another kind": lambda path: _arrow_file(path, _head([["RENAME", 1, 1]])),
    "half an update": lambda path: _arrow_file(path, _head([["UPDATE", 1, 1]])),
    "no sequence": lambda path: _arrow_file(path, _head([["INSERT", 1, None]])),
    "outside of its bounds": lambda path: _arrow_file(path, _head([["INSERT", 1, 99]])),
    "a folder": lambda path: path.mkdir(),
    "nothing": lambda path: None,
}


def _head(events: list[Any]) -> dict[str, Any]:
    known = {"format": "dmsjournal subscription 1", "name": "s", "token": "t", "source": "s", "start": 0, "end": 9, "schema": {}}
    return known | {"events": events}


def _arrow_file(path: Path, head: dict[str, Any] | None) -> None:
    metadata = None if head is None else {b"dmsjournal": json.dumps(head).encode()}
    with pa.ipc.new_file(path, rows().schema.with_metadata(metadata)) as writer:
        writer.write_batch(rows("a").replace_schema_metadata(metadata))


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_file_is_refused(tmp_path: Path, name: str) -> None:
    FOREIGN[name](tmp_path / "state")
    with pytest.raises(InvalidRequest, match="state"):
        arrow.load(tmp_path / "state")
    _arrow_file(tmp_path / "right", _head([["INSERT", 1, 1]]))
    assert arrow.load(tmp_path / "right").pending.total_rows == 1


def test_a_save_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state"
    arrow.save(state(), path)

    def fails(*arguments: object) -> None:
        raise OSError(28, "no space left")

    for function in ("fsync", "replace"):
        with monkeypatch.context() as patched:
            patched.setattr(os, function, fails)
            with pytest.raises(Unavailable, match=r"no space left.*what was there is kept"):
                arrow.save(state(*ALL), path)
        assert arrow.load(path) == state()
        assert [found.name for found in tmp_path.iterdir()] == ["state"]
    with pytest.raises(InvalidRequest, match="can be saved"):
        arrow.save(state(), tmp_path / "no" / "folder")
    with pytest.raises(InvalidRequest, match="it is a folder"):
        arrow.save(state(), tmp_path)


def test_published_names_are_thin() -> None:
    """Each makes what its class makes."""
    rows = pa.RecordBatch.from_pylist([{"n": 1}])
    assert arrow.ChangeEvent.insert(rows, 1, 2) == arrow.Insert(rows, 1, 2)
    assert arrow.ChangeEvent.delete(rows, 1, 2) == arrow.Delete(rows, 1, 2)
    assert arrow.ChangeEvent.update(rows, rows, 1, 2) == arrow.Update(rows, rows, 1, 2)
    assert arrow.ChangeEvent.snapshot(rows, 1) == arrow.Snapshot(rows, 1)
    assert arrow.ChangeEvent.watermark(1) == arrow.Watermark(1)
    for operation, kind in zip(arrow.ChangelogOperation, (arrow.Insert, arrow.Delete, arrow.Insert, arrow.Delete), strict=True):
        record = arrow.ChangelogRecord(operation, rows, 1, 2)
        assert arrow.ChangeEvent.from_changelog_record(record) == kind(rows, 1, 2)
    batch = arrow.ChangeEventBatch("here", (arrow.Insert(rows, 1, 5),), 5, 6)
    assert (batch.start_sequence, batch.end_sequence, batch.is_empty) == (5, 6, False)
    assert arrow.ChangeEventBatch("here", (), 0, 0).is_empty
    kinds = [arrow.EventType.from_cdc(name) for name in ("CREATE", "UPDATE", "DELETE")]
    assert kinds == [arrow.EventType.INSERT, arrow.EventType.UPDATE, arrow.EventType.DELETE]
    with pytest.raises(InvalidRequest, match="TRUNCATE"):
        arrow.EventType.from_cdc("TRUNCATE")
