"""Deletes whose key lives again: a copy by uuids needs them, a copy by keys must not have them (docs/python/reading.md)."""

import random

import pytest

import dmsjournal as dj
from tests.helpers import SCHOOL, STUDENT, document, newest, write


def left(journal: dj.Journal, *bounds: int, page_size: int = 500) -> list[tuple[int, object]]:
    """The deletes of a window without those whose key lives again, by every way there is to ask."""
    window = dj.Window(*bounds)
    walked = [*journal.deletes(STUDENT, window, page_size, reused_keys=False)]
    paged, after = [], None
    while True:
        page = journal.delete_page(STUDENT, window, after, page_size, reused_keys=False)
        paged += page.items
        if page.next is None:
            break
        after = page.next
    assert walked == paged
    assert journal.count(STUDENT, window, kind="delete", reused_keys=False) == len(walked)
    return [(delete.change_version, delete.key_values["studentId"]) for delete in walked]


def delete(journal: dj.Journal, key: object) -> None:
    with journal.write() as tx:
        assert tx.delete(STUDENT, {"studentId": key})


def rekey(journal: dj.Journal, old: object, new: object) -> None:
    with journal.write() as tx:
        tx.rekey(STUDENT, {"studentId": old}, {"studentId": new})


def test_a_key_that_is_written_anew(journal: dj.Journal) -> None:
    write(journal, document(STUDENT, 1), document(STUDENT, 2), document(SCHOOL, 1))
    delete(journal, 1)
    delete(journal, 2)
    assert left(journal) == [(4, 1), (5, 2)]
    write(journal, document(STUDENT, 1))
    assert left(journal) == left(journal, 4, 6) == [(5, 2)]
    assert [gone.change_version for gone in journal.deletes(STUDENT)] == [4, 5]
    assert journal.count(STUDENT, kind="delete") == 2


def test_a_key_that_another_document_is_given(journal: dj.Journal) -> None:
    write(journal, document(STUDENT, 1), document(STUDENT, 2))
    delete(journal, 1)
    rekey(journal, 2, 1)
    assert left(journal) == []
    rekey(journal, 1, 3)
    assert left(journal) == [(3, 1)]


def test_a_key_that_lives_again_after_the_window_is_deleted_in_it(journal: dj.Journal) -> None:
    write(journal, document(STUDENT, 1), document(STUDENT, 2))
    delete(journal, 1)
    at = newest(journal)
    rekey(journal, 2, 1)
    assert left(journal, 1, at) == [(at, 1)]
    assert left(journal, 1, at + 1) == []
    rekey(journal, 1, 5)
    rekey(journal, 5, 1)  # the same key, since later
    assert left(journal, 1, at + 1) == [(at, 1)]
    assert left(journal) == []


def test_the_same_key_of_another_resource_is_another_key(journal: dj.Journal) -> None:
    same = {"studentId": 1}
    write(journal, document(STUDENT, 1), dj.Document(SCHOOL, {"schoolId": 9}))
    delete(journal, 1)
    write(journal, dj.Document(SCHOOL, same), dj.Document(STUDENT, {"studentId": "1"}), dj.Document(STUDENT, same | {"b": 1}))
    assert left(journal) == [(3, 1)]


def test_a_document_without_a_key_is_deleted(journal: dj.Journal, connections) -> None:
    write(journal, document(STUDENT, 1), document(STUDENT, 2))
    with connections[0].begin():
        connections[0].exec_driver_sql("UPDATE dms.Document SET KeyValues = NULL")
        connections[0].exec_driver_sql("DELETE FROM dms.Document WHERE DocumentId = 1")
    [gone] = journal.deletes(STUDENT, reused_keys=False)
    assert (gone.document_id, gone.key_values) == (1, None)


@pytest.mark.parametrize("page_size", [1, 2, 7, 500])
def test_pages_of_them_are_one_walk(journal: dj.Journal, page_size: int) -> None:
    """What is scanned is bounded by the page, so a page may be empty before the end."""
    chance = random.Random(page_size)
    write(journal, document(STUDENT, 10))
    for n in range(30):
        key = chance.randrange(10)
        with journal.write() as tx:
            if not tx.delete(STUDENT, {"studentId": key}):
                tx.upsert(document(STUDENT, key, body={"n": n}))
    living = {stored.key_values["studentId"] for stored in journal.documents(range(1, 40)).values()}
    expected = [
        (gone.change_version, gone.key_values["studentId"])
        for gone in journal.deletes(STUDENT)
        if gone.key_values["studentId"] not in living
    ]
    assert 1 < len(expected) < journal.count(STUDENT, kind="delete")
    assert left(journal, page_size=page_size) == expected


def test_what_is_no_truth_is_refused(journal: dj.Journal) -> None:
    write(journal, document(STUDENT, 1))
    for call in (journal.deletes, journal.delete_page, journal.count):
        with pytest.raises(dj.InvalidRequest, match="reused_keys"):
            call(STUDENT, reused_keys="no")
