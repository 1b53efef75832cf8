"""Single pages of what is walked, counts, and finding a document by its uuid; a feed from a version on."""

from uuid import uuid4

import pytest

import dmsjournal as dj
from tests.helpers import PLAN, SCHOOL, STUDENT, document, newest, write


def test_pages_are_what_walks_give_and_counts_their_lengths(journal: dj.Journal) -> None:
    write(journal, *(document(STUDENT, n) for n in range(4)), document(SCHOOL, 1))
    for n in range(3):
        with journal.write() as tx:
            tx.rekey(STUDENT, {"studentId": n}, {"studentId": n + 10})
    with journal.write() as tx:
        tx.delete(STUDENT, {"studentId": 3})
        tx.delete(STUDENT, {"studentId": 12})
    for window in (None, dj.Window(min=6), dj.Window(min=7, max=9), dj.Window(max=5), dj.Window(min=100)):
        deletes, keys = list(journal.deletes(STUDENT, window)), list(journal.key_changes(STUDENT, window))
        assert _pages(journal.delete_page, window) == deletes
        assert _pages(journal.key_change_page, window) == keys
        assert journal.count(STUDENT, window, "delete") == len(deletes)
        assert journal.count(STUDENT, window, "key_change") == len(keys)
        assert journal.count(STUDENT, window or dj.Window()) == len(list(journal.changes(STUDENT, window)))
    assert journal.count(STUDENT) == len(list(journal.snapshot(STUDENT))) == 2
    found, after = [], None
    while page := journal.snapshot_page(STUDENT, after, 1):
        found += page
        after = page[-1].document_id
    assert found == list(journal.snapshot(STUDENT))


def _pages(page_of: object, window: dj.Window | None) -> list[object]:
    found, after = [], None
    while True:
        page = page_of(STUDENT, window, after, 1)  # type: ignore[operator]
        found += page.items
        if page.next is None:
            return found
        after = page.next


def test_indirect_changes_are_counted(journal: dj.Journal) -> None:
    student = document(STUDENT, 1)
    write(journal, student, document(PLAN, 1, student), document(PLAN, 2, student))
    with journal.write() as tx:
        tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 2})
    at = newest(journal)
    assert journal.count(PLAN, dj.Window(min=at, max=at)) == len(list(journal.changes(PLAN, dj.Window(min=at, max=at))))
    assert journal.count(PLAN, dj.Window(min=at - 1)) >= 2


def test_counts_of_what_is_pruned_are_refused(journal: dj.Journal) -> None:
    write(journal, *(document(STUDENT, n) for n in range(3)))
    journal.prune(through=2)
    for kind in ("upsert", "delete", "key_change"):
        with pytest.raises(dj.CheckpointExpired):
            journal.count(STUDENT, dj.Window(min=2), kind)
        journal.count(STUDENT, dj.Window(min=3), kind)
    assert journal.count(STUDENT) == 3  # no window: nothing is asked of the journals
    with pytest.raises(dj.InvalidRequest, match="kind"):
        journal.count(STUDENT, None, "update")


def test_find(journal: dj.Journal) -> None:
    [student, school] = write(journal, document(STUDENT, 1), document(SCHOOL, 1))
    stored = journal.documents([student, school])
    assert journal.find(STUDENT, stored[student].document_uuid) == student
    assert journal.find(STUDENT, stored[school].document_uuid) is None
    assert journal.find(STUDENT, uuid4()) is None
    with pytest.raises(dj.InvalidRequest, match="document_uuid"):
        journal.find(STUDENT, "x")  # type: ignore[arg-type]


def test_a_feed_after_a_version(journal: dj.Journal) -> None:
    write(journal, *(document(STUDENT, n) for n in range(4)))

    def versions(after: int) -> list[int]:
        page = journal.read_changes(dj.FeedRequest(start=dj.AfterVersion(after)))
        return [event.change_version for event in page.events]

    assert [versions(after) for after in (0, 2, 4)] == [[1, 2, 3, 4], [3, 4], []]
    page = journal.read_changes(dj.FeedRequest(start=dj.AfterVersion(2), max_page_size=1))
    following = journal.read_changes(dj.FeedRequest(start=dj.FromToken(page.token)))
    assert [event.change_version for event in following.events] == [4]
    with pytest.raises(dj.HistoryDiverged):
        versions(5)
    journal.prune(through=2)
    assert versions(2) == [3, 4]
    with pytest.raises(dj.CheckpointExpired) as raised:
        versions(1)
    assert raised.value.oldest == 3
    for wrong in (-1, 2**63, True, "1"):
        with pytest.raises(dj.InvalidRequest, match=r"start\.version"):
            dj.AfterVersion(wrong)  # type: ignore[arg-type]
