"""Streams of changes, read in parts: what lies between offsets, folded, is the database (invariants 5, 6, 8 and 9)."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, timedelta

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.database.horizon import Horizon
from dmsjournal.model.windows import MAX_VERSION
from dmsjournal.read.plan import SubWindow
from dmsjournal.read.stream import DELETE, EARLIEST, KEY_CHANGE, KINDS, LATEST, UPSERT, Offset, Part, Stream
from tests.consumer import set_back
from tests.helpers import (
    PLAN,
    SCHOOL,
    STUDENT,
    change_content,
    commit,
    document,
    expected_changes,
    newest,
    write,
)

Row = tuple[str, int, int, object]  # kind, version, document id, keys


def read(stream: Stream, parts: Iterable[Part], **how: int) -> list[Row]:
    """The rows of the parts, which must be plain values."""
    return [
        (kind, row.change_version, row.document_id, None if row.keys is None else json.loads(row.keys))
        for part in parts
        for kind, rows in stream.read(part, **how)
        for row in rows
    ]


def fold(table: dict[int, tuple[int, object]], rows: Sequence[Row]) -> None:
    """Applies a batch, in no order but that of KINDS."""
    for kind, version, document_id, keys in sorted(rows, key=lambda row: KINDS.index(row[0])):
        if kind == UPSERT:
            table[document_id] = (version, keys)
        elif kind == DELETE:
            table.pop(document_id, None)


def held(connection: sa.Connection, resource_key_id: int) -> dict[int, tuple[int, object]]:
    """The documents of a resource: their derived versions and their keys."""
    keys = {row[0]: row[1] for row in commit(connection, "SELECT DocumentId, KeyValues FROM dms.Document")}
    decoded = {i: json.loads(value) if isinstance(value, str) else value for i, value in keys.items()}
    return {
        change.document_id: (change.change_version, decoded[change.document_id])
        for change in expected_changes(connection, resource_key_id)
    }


def rename(journal: dj.Journal, number: int, to: object) -> None:
    with journal.write() as tx:
        tx.rekey(STUDENT, {"studentId": number}, {"studentId": to})


def delete(journal: dj.Journal, *keys: int, of: dj.ResourceKey = PLAN) -> None:
    with journal.write() as tx:
        for key in keys:
            tx.delete(of, document(of, key).key_values)


@pytest.fixture
def plans(journal: dj.Journal) -> list[int]:
    """The ids of 12 plans, written one a version after their students: all but the last two refer to student 1."""
    write(journal, document(SCHOOL, 1), document(STUDENT, 1), document(STUDENT, 2))
    return write(journal, *(document(PLAN, n, document(STUDENT, 1 if n < 10 else 2)) for n in range(12)))


@pytest.mark.acceptance("60")
@pytest.mark.parametrize("parts", [1, 2, 7, 32])
def test_batches_fold_into_the_database(journal: dj.Journal, connections, plans: list[int], parts: int) -> None:
    stream, table = journal.stream([PLAN, STUDENT]), {}
    rounds = [
        lambda: None,
        lambda: rename(journal, 1, "one"),  # one version, ten plans
        lambda: (change_content(connections[0], *plans[:3]), delete(journal, 4)),
        lambda: (rename(journal, 2, "two"), delete(journal, 5, 11), change_content(connections[0], plans[0])),
    ]
    offset, lengths = stream.at(0), []
    for write_some in rounds:
        write_some()
        through = stream.next(offset)
        found = stream.between(offset, through, parts=parts)
        lengths.append(len(found))
        rows = read(stream, found, rows=3)
        assert max(Counter(row[2] for row in rows if row[0] != KEY_CHANGE).values()) == 1  # a document is there once
        fold(table, rows)
        offset = Offset.from_dict(json.loads(json.dumps(through.to_dict())))
        assert stream.next(offset) == offset
    ids = journal.resources()
    assert table == held(connections[0], ids[PLAN]) | held(connections[0], ids[STUDENT])
    assert max(lengths) > 1 or parts == 1


def test_the_parts_of_one_version_are_cut_by_document(journal: dj.Journal, plans: list[int]) -> None:
    rename(journal, 1, "one")
    version = newest(journal)
    stream, ids = journal.stream(PLAN, [UPSERT]), [journal.resources()[PLAN]]
    whole = Part(ids, (UPSERT,), version, version, SubWindow(version, version, 10))
    assert len(read(stream, [whole])) == 10
    for cut in (plans[0], plans[3], plans[9]):
        halves = [SubWindow(1, version, 0, None, cut), SubWindow(version, version, 0, cut, None)]
        first, second = ([row[2] for row in read(stream, [Part(ids, (UPSERT,), 1, version, half)])] for half in halves)
        assert (sorted(first), sorted(second)) == ([i for i in plans if i <= cut or i > plans[9]], plans[plans.index(cut) + 1 : 10])


def test_a_key_change_is_of_the_whole_window(journal: dj.Journal, plans: list[int]) -> None:
    """A→B in one part and B→C in another is one row, in the part of the second; A→B→A is none (acceptance 46)."""
    start = newest(journal)
    for to in ("B", "C"):
        rename(journal, 1 if to == "B" else "B", to)
    rename(journal, 2, "X")
    rename(journal, "X", 2)
    stream = journal.stream(STUDENT, [KEY_CHANGE])
    offset = stream.at(start)
    parts = stream.between(offset, stream.next(offset), parts=4)
    assert len(parts) > 1
    rows = [(row.keys, row.old_keys) for part in parts for _, lot in stream.read(part) for row in lot]
    assert [tuple(map(json.loads, row)) for row in rows] == [({"studentId": "C"}, {"studentId": 1})]


def test_columns_that_are_not_asked_for_are_null(journal: dj.Journal, plans: list[int]) -> None:
    [written] = write(journal, document(SCHOOL, 2, body={"nåme": "Ü"}))
    stream = journal.stream(SCHOOL)
    part = stream.window(dj.Window())[0]
    found = {}
    for asked in [(True, True), (False, False)]:
        [row] = [row for _, rows in stream.read(part, keys=asked[0], bodies=asked[1]) for row in rows if row.document_id == written]
        found[asked] = row.keys, row.body_text
    assert [json.loads(text) for text in found[True, True]] == [{"schoolId": 2}, {"nåme": "Ü"}]
    assert found[False, False] == (None, None)


@pytest.mark.parametrize("events", [1, 5, 12, 100])
def test_a_batch_has_about_as_many_events_as_are_admitted(journal: dj.Journal, plans: list[int], events: int) -> None:
    stream, table = journal.stream(PLAN), {}
    offset, sizes = stream.at(0), []
    while (through := stream.next(offset, events)) != offset:
        rows = read(stream, stream.between(offset, through))
        fold(table, rows)
        sizes.append(len(rows))
        offset = through
    assert len(table) == sum(sizes) == 12
    assert max(sizes) <= max(events, 1)
    assert len(sizes) <= 12 // events + 2  # and a last one that holds nothing of the resource


def test_tombstones_count_as_events(journal: dj.Journal, plans: list[int]) -> None:
    stream = journal.stream(PLAN, [DELETE])
    offset = stream.at(LATEST)
    delete(journal, *range(12))
    sizes = []
    while (through := stream.next(offset, 5)) != offset:
        sizes.append(len(read(stream, stream.between(offset, through))))
        offset = through
    assert sizes == [5, 5, 2]


def test_one_version_is_one_batch_however_many_documents_it_moves(journal: dj.Journal, plans: list[int]) -> None:
    stream = journal.stream(PLAN)
    offset = stream.at(LATEST)
    rename(journal, 1, "one")
    write(journal, document(PLAN, 99))
    through = stream.next(offset, 3)
    assert len(read(stream, stream.between(offset, through))) == 10
    assert through.version == offset.version + 1


def test_a_batch_that_is_read_again_holds_what_has_not_changed_since(journal: dj.Journal, connections, plans: list[int]) -> None:
    stream = journal.stream(PLAN)
    offset = stream.at(0)
    through = stream.next(offset)
    first = read(stream, stream.between(offset, through))
    change_content(connections[0], plans[2])
    rename(journal, 2, "two")  # moves the last two
    delete(journal, 3)
    again = read(stream, stream.between(offset, through))
    assert set(map(repr, again)) < set(map(repr, first))
    assert {row[2] for row in first} - {row[2] for row in again} == {plans[2], plans[3], *plans[10:]}
    later = read(stream, stream.between(through, stream.next(through)))
    assert {row[2] for row in later} == {plans[2], plans[3], *plans[10:]}


@pytest.mark.acceptance("63")
def test_a_change_while_parts_are_read_comes_with_the_next_batch(journal: dj.Journal, connections, plans: list[int]) -> None:
    stream, table = journal.stream(PLAN), {}
    offset = stream.at(0)
    through = stream.next(offset)
    for number, part in enumerate(stream.between(offset, through, parts=4)):
        fold(table, read(stream, [part]))
        change_content(connections[0], plans[number], plans[-1 - number])
    delete(journal, 6)
    fold(table, read(stream, stream.between(through, stream.next(through))))
    assert table == held(connections[0], journal.resources()[PLAN])


def test_a_stream_begins_where_it_is_told(journal: dj.Journal, plans: list[int]) -> None:
    stream = journal.stream()
    assert [stream.at(place).version for place in (EARLIEST, LATEST, 0, 7)] == [0, 15, 0, 7]
    journal.prune(4)
    assert stream.at(EARLIEST).version == 4
    with pytest.raises(dj.InvalidRequest, match=r"version = 16: it is above the newest readable version \(15\)"):
        stream.at(16)
    for wrong in (-1, "soon", None, 2**63):
        with pytest.raises(dj.InvalidRequest):
            stream.at(wrong)


def test_a_checkpoint_is_of_one_stream(journal: dj.Journal, plans: list[int]) -> None:
    offset = journal.stream(PLAN).at(3)
    for other in (journal.stream(), journal.stream([PLAN, SCHOOL]), journal.stream(PLAN, [UPSERT])):
        for call in (lambda other=other: other.next(offset), lambda other=other: other.between(offset, offset)):
            with pytest.raises(dj.InvalidRequest, match=r"Ed-Fi/GraduationPlan/5\.2\.0': this stream is of"):
                call()
    for kept in ({}, {"version": 3}, {"version": "3", "event": "", "scope": ""}, {"version": 3, "event": None, "scope": ""}):
        with pytest.raises(dj.InvalidRequest, match="offset"):
            Offset.from_dict(kept)
    with pytest.raises(dj.InvalidRequest, match="name some of key_change, upsert, delete"):
        journal.stream(PLAN, ["insert"])
    unknown = journal.stream(dj.ResourceKey("Ed-Fi", "GraduationPlans", "5.2.0"))
    with pytest.raises(dj.InvalidRequest, match=r"did you mean Ed-Fi/GraduationPlan/5\.2\.0"):
        unknown.between(unknown.at(0), unknown.at(3))


def test_what_is_pruned_is_an_error_wherever_it_is_met(journal: dj.Journal, plans: list[int]) -> None:
    delete(journal, 1, 2)
    stream = journal.stream(PLAN)
    offset, through = stream.at(3), stream.at(15)
    parts = stream.between(offset, through, parts=3)
    journal.prune(4)
    calls = [
        lambda: stream.next(offset),
        lambda: stream.between(offset, through),
        lambda: read(stream, parts[:1]),
        lambda: stream.window(dj.Window(4)),
    ]
    for call in calls:
        with pytest.raises(dj.CheckpointExpired) as expired:
            call()
        assert (expired.value.requested, expired.value.oldest) == (4, 5)
    after = stream.at(4)
    assert len(read(stream, stream.between(after, through))) == 12 - 2 - 1


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_journals_that_are_read_expire(journal: dj.Journal, plans: list[int], kind: str) -> None:
    journals = {KEY_CHANGE: ["KeyChangeEvent"], UPSERT: ["IdentityChangeEvent"], DELETE: ["DocumentDeleteEvent"]}
    stream, all_kinds = journal.stream(PLAN, [kind]), journal.stream(PLAN)
    for other in set(KINDS) - {kind}:
        journal.prune(9, journals=journals[other])
    assert stream.next(stream.at(0)).version == 15
    with pytest.raises(dj.CheckpointExpired):
        all_kinds.next(all_kinds.at(0))
    journal.prune(3, journals=journals[kind])
    with pytest.raises(dj.CheckpointExpired) as expired:
        stream.next(stream.at(0))
    assert expired.value.oldest == 4


RESTORED = {  # what the database holds of the last event that was read, after it was restored to an earlier state and written to
    "another document": "UPDATE dms.DocumentChangeEvent SET DocumentId = 1 WHERE ChangeVersion = 15",
    "another transaction": "UPDATE dms.DocumentChangeEvent SET TransactionId = TransactionId + 1 WHERE ChangeVersion = 15",
    "another time": "UPDATE dms.DocumentChangeEvent SET CreatedAt = '2020-01-01' WHERE ChangeVersion = 15",
    "nothing": "DELETE FROM dms.DocumentChangeEvent WHERE ChangeVersion = 15",
}


@pytest.mark.parametrize("what", RESTORED)
def test_a_database_with_another_history_is_told(journal: dj.Journal, connections, plans: list[int], what: str) -> None:
    stream = journal.stream(PLAN)
    before, offset = stream.at(14), stream.at(15)
    commit(connections[0], RESTORED[what])
    assert stream.next(before).version == 15  # what it has read is there still
    for call in (lambda: stream.next(offset), lambda: stream.between(before, offset)):
        with pytest.raises(dj.HistoryDiverged) as diverged:
            call()
        assert (diverged.value.checkpoint, diverged.value.newest) == (15, 15)


def test_a_version_that_was_never_given_is_told(journal: dj.Journal, plans: list[int]) -> None:
    stream = journal.stream(PLAN)
    ahead = Offset(16, stream.at(15).event, stream.scope)
    for call in (lambda: stream.next(ahead), lambda: stream.between(stream.at(3), ahead)):
        with pytest.raises(dj.HistoryDiverged):
            call()


def test_what_is_pruned_diverges_from_nothing(journal: dj.Journal, plans: list[int]) -> None:
    delete(journal, 0)
    stream = journal.stream(PLAN)
    offsets = [stream.at(version) for version in range(newest(journal) + 1)]
    journal.prune(newest(journal))
    for offset in offsets[:-1]:
        with pytest.raises(dj.CheckpointExpired):
            stream.next(offset)
    assert stream.next(offsets[-1]) == offsets[-1]


def test_a_batch_is_read_to_its_end_though_this_process_sees_the_horizon_lower(
    journal: dj.Journal, plans: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that was held up shows an old floor to who comes anew (`database.horizon`); what an offset says stays right."""
    stream = journal.stream(PLAN)
    offset, through = stream.at(5), stream.at(15)
    monkeypatch.setattr(Horizon, "read", lambda self, session, statement: 7)
    assert len(read(stream, stream.between(offset, through))) == 10
    assert stream.next(through) == through
    assert stream.next(offset).version == 7


def test_a_window_is_read_in_parts(journal: dj.Journal, connections, plans: list[int]) -> None:
    stream = journal.stream([PLAN, STUDENT])
    delete(journal, 0)
    everything = read(stream, stream.window(dj.Window(), parts=5))
    assert {row[2] for row in everything} == {*held(connections[0], 3), *held(connections[0], 2), plans[0]}
    assert [row[1] for row in read(stream, stream.window(dj.Window(5, 7)))] == [5, 6, 7]
    assert stream.window(dj.Window(17)) == []
    with pytest.raises(dj.InvalidRequest, match=r"max = 17: it is above the newest readable version \(16\)"):
        stream.window(dj.Window(1, 17))


@pytest.mark.acceptance("64")
def test_the_highest_versions_are_read(journal: dj.Journal, connections) -> None:
    write(journal, document(SCHOOL, "nåme 学校 \U0001f3eb"))
    set_back(connections[0], MAX_VERSION - 3)
    stream = journal.stream(SCHOOL)
    offset = stream.at(1)
    write(journal, document(SCHOOL, 1), document(SCHOOL, 2))
    with journal.write() as tx:
        tx.delete(SCHOOL, {"schoolId": 2})
    through = stream.next(offset, 1)
    rows = read(stream, stream.between(offset, through, parts=3))
    last = stream.next(through)
    rows += read(stream, stream.between(through, last))
    assert last.version == MAX_VERSION
    assert [row[:2] for row in rows] == [(UPSERT, MAX_VERSION - 2), (DELETE, MAX_VERSION)]
    assert stream.next(last) == last
    assert stream.between(last, last) == []
    [first] = read(stream, stream.window(dj.Window(0, 5)))
    assert first[3] == {"schoolId": "nåme 学校 \U0001f3eb"}


# --- a stream that begins with a snapshot ---


@pytest.mark.acceptance("102")
@pytest.mark.parametrize("events", [None, 4])
def test_a_snapshot_and_then_each_change_once_on_a_pruned_journal(
    journal: dj.Journal, connections, plans: list[int], events: int | None
) -> None:
    """Others write before each batch. A document that changed since the snapshot began comes with the changes, not with both."""
    rename(journal, 1, "one")
    delete(journal, 3)
    journal.prune(newest(journal))
    stream, table = journal.stream([PLAN, STUDENT]), dict[int, tuple[int, object]]()
    with pytest.raises(dj.CheckpointExpired):
        stream.next(stream.at(0))
    offset, begun, seen, batches = stream.snapshot(), newest(journal), Counter[tuple[str, int, int]](), 0
    writes = [
        lambda: (change_content(connections[0], plans[11], plans[0]), delete(journal, 4, 10)),
        lambda: (rename(journal, 2, "two"), write(journal, document(PLAN, 99))),
        lambda: delete(journal, 99),
    ]
    while batches < 20:
        if writes:
            writes.pop(0)()
        through = stream.next(offset, events)
        if through == offset:
            break
        rows = read(stream, stream.between(offset, through, parts=2), rows=3)
        assert all(row[1] <= begun for row in rows) is (offset.documents is not None)
        seen.update((row[0], row[1], row[2]) for row in rows)
        fold(table, rows)
        offset, batches = Offset.from_dict(json.loads(json.dumps(through.to_dict()))), batches + 1
    ids = journal.resources()
    assert table == held(connections[0], ids[PLAN]) | held(connections[0], ids[STUDENT])
    assert max(seen.values()) == 1
    assert offset.documents is None
    assert batches == 3 if events is None else batches >= 5


@pytest.mark.acceptance("102")
def test_a_snapshot_s_batch_that_is_read_again_is_as_of_the_same_version(
    journal: dj.Journal, connections, plans: list[int]
) -> None:
    """A new query that ended in its first batch asks anew where it begins, and reads up to where that batch ended."""
    stream = journal.stream(PLAN)
    begins = stream.snapshot()
    first = stream.next(begins, 5)
    before = read(stream, stream.between(begins, first))
    assert [row[2] for row in before] == plans[:5]
    change_content(connections[0], plans[1])
    write(journal, document(PLAN, 50))
    again = read(stream, stream.between(stream.snapshot(), first))
    assert again == [row for row in before if row[2] != plans[1]]
    table = dict[int, tuple[int, object]]()
    fold(table, before)
    while (through := stream.next(first, 5)) != first:
        fold(table, read(stream, stream.between(first, through)))
        first = through
    assert table == held(connections[0], journal.resources()[PLAN])
    whole = replace(first, documents=None)
    rows = read(stream, stream.between(stream.snapshot(), whole))  # the form of Spark that does not say where a batch starts
    assert {row[2]: (row[1], row[3]) for row in rows} == table


def test_a_snapshot_at_the_ends_of_the_ids(journal: dj.Journal, connections) -> None:
    write(journal, document(STUDENT, 1))
    for document_id in (1 - 2**63, 2**63 - 2):
        insert = f"INSERT INTO dms.Document (DocumentId, ResourceKeyId) VALUES ({document_id}, {journal.resources()[STUDENT]})"
        if connections[0].dialect.name == "mssql":
            insert = f"SET IDENTITY_INSERT dms.Document ON; {insert}; SET IDENTITY_INSERT dms.Document OFF"
        commit(connections[0], insert)
    for stream in (journal.stream(STUDENT), journal.stream()):
        offset, found = stream.snapshot(), []
        while offset.documents is not None:
            through = stream.next(offset, 1)
            found += [row[2] for row in read(stream, stream.between(offset, through, parts=1))]
            offset = through
        assert found == [1 - 2**63, 1, 2**63 - 2]


def test_a_snapshot_and_a_prune_that_passes_it(journal: dj.Journal, plans: list[int]) -> None:
    stream = journal.stream(PLAN)
    first = stream.next(stream.snapshot(), 5)
    write(journal, document(PLAN, 50))
    journal.prune(newest(journal))
    with pytest.raises(dj.CheckpointExpired):
        stream.next(first, 5)
    with pytest.raises(dj.InvalidRequest, match="a snapshot has upserts"):
        journal.stream(PLAN, [DELETE]).snapshot()
    for wrong in (-(2**63) - 2, 2**63, "5", True):
        with pytest.raises(dj.InvalidRequest, match="none of dmsjournal's"):
            Offset.from_dict(first.to_dict() | {"documents": wrong})


def test_a_stream_begins_at_a_time(journal: dj.Journal, connections, plans: list[int]) -> None:
    rows = commit(connections[0], "SELECT ChangeVersion, CreatedAt FROM dms.DocumentChangeEvent ORDER BY ChangeVersion")
    times = [(version, at if at.tzinfo else at.replace(tzinfo=UTC)) for version, at in rows]
    stream = journal.stream(PLAN)
    for version, at in (times[0], times[5]):
        first = next(other for other, when in times if when >= at)
        assert stream.at(at).version == first - 1 <= version - 1
    assert stream.at(times[-1][1] + timedelta(days=1)).version == newest(journal)
    journal.prune(times[5][0])
    with pytest.raises(dj.CheckpointExpired):
        stream.at(times[0][1])
