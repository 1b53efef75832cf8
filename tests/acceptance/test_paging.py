"""Paging (acceptance 39 to 42): a walk of a window gives the same documents whatever its page size and whoever writes meanwhile."""

import random
from itertools import pairwise

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from tests.helpers import (
    DESCRIPTOR,
    EVERYTHING,
    PLAN,
    SCHOOL,
    SECTION,
    STUDENT,
    change_content,
    change_identity,
    commit,
    document,
    expected_changes,
    newest,
    write,
)


def walk(journal: dj.Journal, of: dj.ResourceKey, window: dj.Window, limit: int) -> tuple[list[dj.Change], int]:
    """The changes of a window, page by page, and the number of pages."""
    items: list[dj.Change] = []
    after, pages = None, 0
    while pages == 0 or after is not None:
        page = journal.change_page(of, window, after, limit)
        assert len(page.items) <= limit
        assert after is None or page.next is None or page.next > after  # progress
        items += page.items
        after, pages = page.next, pages + 1
    return items, pages


@pytest.fixture
def history(journal: dj.Journal, connections) -> dj.Journal:
    """Some hundred documents of four resources that refer to each other and to themselves, with changes of every kind."""
    rnd = random.Random(39)
    documents = [document(DESCRIPTOR, n) for n in range(8)]
    documents += [document(SCHOOL, n, *rnd.sample(documents, 2)) for n in range(20)]  # schools refer to schools, too
    documents += [document(SCHOOL, 20 + n, *rnd.sample(documents, 3)) for n in range(40)]
    documents += [document(STUDENT, n, *rnd.sample(documents, rnd.randrange(4))) for n in range(90)]
    ids = write(journal, *documents)
    for _ in range(40):
        change_content(connections[0], *rnd.sample(ids[8:], 1 + rnd.randrange(1, 9)))
        change_identity(connections[0], *rnd.sample(ids[:68], rnd.randrange(1, 3)))
    change_identity(connections[0], ids[0])
    return journal


@pytest.mark.acceptance("39")
def test_every_page_size_gives_the_same_sequence(history: dj.Journal, connections) -> None:
    end = newest(history)
    ids = history.resources()
    for window in (EVERYTHING, dj.Window(end - 150, end - 20), dj.Window(max=end - 1), dj.Window(end, end)):
        for of in (STUDENT, SCHOOL, DESCRIPTOR):
            expected = expected_changes(connections[0], ids[of], window)
            for size in (1, 2, 7, 500, 10_000):
                assert list(history.changes(of, window, page_size=size)) == expected, (window, of, size)
                if size == 7:
                    assert walk(history, of, window, size)[0] == expected
    everything = history.change_page(STUDENT, limit=10_000)
    assert (len(everything.items), everything.next) == (90, None)


@pytest.mark.acceptance("39")
def test_consecutive_windows_add_up(history: dj.Journal, connections) -> None:
    end = newest(history)
    cuts = [0, 1, 100, end // 2, end // 2 + 1, end - 1, end]
    for of in (STUDENT, SCHOOL):
        windows = [dj.Window(low + 1, high) for low, high in pairwise(cuts)]
        parts = [change for window in windows for change in history.changes(of, window)]
        assert parts == expected_changes(connections[0], history.resources()[of])


@pytest.mark.acceptance("39")
@pytest.mark.parametrize("size", [1, 2, 7])
def test_deletes_and_key_changes_are_the_same_at_every_page_size(journal: dj.Journal, size: int) -> None:
    write(journal, *(document(STUDENT, n) for n in range(9)))
    for new in (100, 200, 0):
        with journal.write() as tx:
            for n in range(9):
                tx.rekey(STUDENT, {"studentId": n if new == 100 else n + (100 if new == 200 else 200)}, {"studentId": n + new})
    with journal.write() as tx:
        for n in range(9):
            tx.delete(STUDENT, {"studentId": n})
    for window in (EVERYTHING, dj.Window(5, 30), dj.Window(12, 40)):
        assert list(journal.deletes(STUDENT, window, page_size=size)) == list(journal.deletes(STUDENT, window))
        assert list(journal.key_changes(STUDENT, window, page_size=size)) == list(journal.key_changes(STUDENT, window))
    assert len(list(journal.deletes(STUDENT, page_size=size))) == 9
    assert not list(journal.key_changes(STUDENT, page_size=size))  # each came back to its first key
    assert len(list(journal.key_changes(STUDENT, dj.Window(1, 27), page_size=size))) == 9


@pytest.mark.acceptance("40")
@pytest.mark.parametrize("size", [1, 3, 4])
@pytest.mark.parametrize("way", ["content", "identity", "delete"])
def test_a_document_that_leaves_the_window_takes_no_other_along(journal: dj.Journal, connections, size: int, way: str) -> None:
    for leaving in (0, 2, 3, 4, 11):
        before = newest(journal)
        ids = write(journal, *(document(STUDENT, f"{leaving} {n}") for n in range(12)))
        leave_between_pages(journal, connections[0], dj.Window(before + 1, before + 12), ids, size, leaving, way)


def leave_between_pages(
    journal: dj.Journal, connection: sa.Connection, window: dj.Window, ids: list[int], size: int, leaving: int, way: str
) -> None:
    first = journal.change_page(STUDENT, window, limit=size)
    if way == "delete":
        commit(connection, f"DELETE FROM dms.Document WHERE DocumentId = {ids[leaving]}")
    else:
        {"content": change_content, "identity": change_identity}[way](connection, ids[leaving])
    found = [change.document_id for change in first.items]
    after = first.next
    while after is not None:
        page = journal.change_page(STUDENT, window, after, size)
        found += [change.document_id for change in page.items]
        after = page.next
    assert found == [i for i in ids if i != ids[leaving] or i in [change.document_id for change in first.items]]
    rest = [change.document_id for change in journal.changes(STUDENT, dj.Window(window.max + 1))]
    assert rest == ([] if way == "delete" else [ids[leaving]])


@pytest.mark.acceptance("40")
def test_parents_that_leave_a_shared_version_take_no_other_along(journal: dj.Journal, connections) -> None:
    descriptor = document(DESCRIPTOR, 1)
    descriptor_id, *plans = write(journal, descriptor, *(document(PLAN, n, descriptor) for n in range(20)))
    change_identity(connections[0], descriptor_id)
    window = dj.Window(22, 22)
    iterator = journal.changes(PLAN, window, page_size=3)
    found = [next(iterator).document_id for _ in range(3)]
    change_content(connections[0], plans[2], plans[3], plans[9])
    commit(connections[0], f"DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId = {plans[10]}")
    commit(connections[0], f"DELETE FROM dms.Document WHERE DocumentId = {plans[19]}")
    found += [change.document_id for change in iterator]
    assert found == [plan for plan in plans if plan not in (plans[3], plans[9], plans[10], plans[19])]
    rest = [change.document_id for change in journal.changes(PLAN, dj.Window(23))]
    assert sorted(rest) == [plans[2], plans[3], plans[9], plans[10]]
    change_identity(connections[0], descriptor_id)  # the whole version leaves
    assert not list(journal.changes(PLAN, window))


@pytest.mark.acceptance("41")
def test_a_walk_passes_ten_thousand_dead_contributions(journal: dj.Journal, connections) -> None:
    ids = write(journal, *(document(STUDENT, n) for n in range(1_000)))
    for _ in range(10):
        change_content(connections[0], *ids)
    dead = dj.Window(1, 10_000)
    found, pages = walk(journal, STUDENT, dead, 500)
    assert (found, 20 <= pages <= 22) == ([], True)
    found, pages = walk(journal, STUDENT, EVERYTHING, 500)
    assert found == expected_changes(connections[0], journal.resources()[STUDENT])
    assert pages <= 24
    assert list(journal.changes(STUDENT, page_size=3_000)) == found


@pytest.mark.acceptance("41")
def test_a_walk_passes_dead_identity_events(journal: dj.Journal, connections) -> None:
    descriptor = document(DESCRIPTOR, 1)
    descriptor_id, plan_id = write(journal, descriptor, document(PLAN, 1, descriptor))
    childless = write(journal, *(document(DESCRIPTOR, n) for n in range(2, 102)))
    for _ in range(4):
        change_identity(connections[0], *childless, descriptor_id)
    found, pages = walk(journal, PLAN, EVERYTHING, 50)
    assert found == expected_changes(connections[0], journal.resources()[PLAN])
    assert [change.document_id for change in found] == [plan_id]
    assert 8 <= pages <= 12
    assert walk(journal, PLAN, EVERYTHING, 1)[0] == found


@pytest.mark.acceptance("42")
def test_a_cursor_outside_the_window_is_refused(journal: dj.Journal) -> None:
    write(journal, *(document(STUDENT, n) for n in range(10)))
    cursor = journal.change_page(STUDENT, limit=5).next
    assert cursor is not None
    for window in (dj.Window(cursor.change_version + 1), dj.Window(max=cursor.change_version - 1)):
        with pytest.raises(dj.InvalidRequest, match="outside the window"):
            journal.change_page(STUDENT, window, cursor)
    assert len(journal.change_page(STUDENT, dj.Window(cursor.change_version), cursor).items) == 5


@pytest.mark.acceptance("42")
def test_a_cursor_of_another_resource_is_refused(journal: dj.Journal) -> None:
    write(journal, *(document(STUDENT, n) for n in range(3)), *(document(SCHOOL, n) for n in range(3)))
    cursor = journal.change_page(STUDENT, limit=1).next
    with pytest.raises(dj.InvalidRequest, match="Student"):
        journal.change_page(SCHOOL, after=cursor)


@pytest.mark.acceptance("42")
def test_what_is_no_cursor_is_refused(journal: dj.Journal) -> None:
    write(journal, document(STUDENT, "1"))
    for forged in ((1, 1), "1,1", 5, {"change_version": 1}, b""):
        with pytest.raises(dj.InvalidRequest, match="after"):
            journal.change_page(STUDENT, after=forged)


@pytest.mark.acceptance("42")
@pytest.mark.parametrize(
    ("version", "document_id"),
    [(-1, 1), (2**63, 1), ("1", 1), (1.5, 1), (True, 1), (1, "1"), (1, None), (1, 1.5), (1, True), (1, 2**63), (1, -(2**63) - 1)],
)
def test_a_cursor_of_impossible_numbers_is_refused(version: object, document_id: object) -> None:
    with pytest.raises(dj.InvalidRequest, match="cursor"):
        dj.Cursor(version, document_id)


@pytest.mark.acceptance("6", "39")
@pytest.mark.parametrize("page_size", [1, 2, 7, 500])
def test_a_snapshot_and_the_windows_after_it_hold_everything(journal: dj.Journal, connections, page_size: int) -> None:
    student = document(STUDENT, 1)
    ids = write(journal, student, *(document(PLAN, n, student) for n in range(5)), document(SECTION, 1))
    change_identity(connections[0], ids[0])
    snapshot = journal.snapshot(PLAN, page_size)
    found = [next(snapshot)]
    before = {change.document_id: change for change in expected_changes(connections[0], journal.resources()[PLAN])}
    change_content(connections[0], ids[5])  # read before or after, as the pages go: in the next window in any case
    after = {change.document_id: change for change in expected_changes(connections[0], journal.resources()[PLAN])}
    found += snapshot
    assert [change.document_id for change in found] == sorted(after)
    assert all(change in (before[change.document_id], after[change.document_id]) for change in found)
    assert {change.document_id for change in journal.changes(PLAN, dj.Window(snapshot.through + 1))} == {ids[5]}
    commit(connections[0], "DELETE FROM dms.ReferenceEdge")
    commit(connections[0], "DELETE FROM dms.Document")
    assert list(journal.snapshot(PLAN, page_size)) == []
