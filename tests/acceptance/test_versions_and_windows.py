"""Versions and windows (acceptance 1 to 9)."""

import pickle

import pytest

import dmsjournal as dj
from tests.helpers import (
    EVERYTHING,
    PLAN,
    SCHOOL,
    STUDENT,
    change_content,
    commit,
    document,
    drawn,
    expected_changes,
    newest,
    write,
)


@pytest.mark.acceptance("1")
def test_a_fresh_database_is_at_version_zero(journal: dj.Journal) -> None:
    assert journal.versions() == dj.ChangeVersions(oldest=0, newest=0)


@pytest.mark.acceptance("1")
def test_a_resource_without_documents_has_no_changes(journal: dj.Journal, connections) -> None:
    names = "(ProjectName, ResourceName, ResourceVersion) VALUES ('Ed-Fi', 'Student', '5.2.0')"
    commit(connections[0], f"INSERT INTO dms.ResourceKey {names}")
    assert journal.change_page(STUDENT) == dj.ChangePage([], next=None, through=0, cut=False)
    assert not list(journal.deletes(STUDENT))
    assert not list(journal.key_changes(STUDENT))
    assert journal.versions().newest == 0


@pytest.mark.acceptance("2")
def test_each_write_of_a_document_raises_newest_by_one(journal: dj.Journal) -> None:
    reached = []

    def note() -> None:
        reached.append(newest(journal))

    write(journal, document(STUDENT, "1", body={"name": "Ada"}))
    note()
    write(journal, document(STUDENT, "1", body={"name": "Grace"}))
    note()
    with journal.write() as tx:
        tx.rekey(STUDENT, {"studentId": "1"}, {"studentId": "2"})
    note()
    with journal.write() as tx:
        assert tx.delete(STUDENT, {"studentId": "2"})
    note()
    assert reached == [1, 2, 3, 4]


@pytest.mark.acceptance("2")
def test_a_batch_raises_newest_by_one_a_document_whatever_they_refer_to(journal: dj.Journal) -> None:
    school, student = document(SCHOOL, 1), document(STUDENT, "1")
    write(journal, school, student, document(PLAN, 1, school, student))
    assert newest(journal) == 3
    write(journal, *(document(PLAN, number, school, student) for number in range(2, 12)))
    assert newest(journal) == 13
    write(journal, document(PLAN, 1, school, body={"dropped": "a reference, and the body is another"}))
    assert newest(journal) == 14


@pytest.mark.acceptance("2")
def test_what_is_written_again_as_it_is_leaves_newest_alone(journal: dj.Journal) -> None:
    documents = [document(SCHOOL, 1), document(PLAN, 1, document(SCHOOL, 1), body={"a": [1, 2.50], "b": None})]
    write(journal, *documents)
    with journal.write() as tx:
        assert [written.outcome for written in tx.upsert_many(documents)] == ["unchanged", "unchanged"]
    assert newest(journal) == 2


@pytest.mark.acceptance("3")
def test_reading_moves_nothing(journal: dj.Journal, connections) -> None:
    write(journal, document(STUDENT, "1"))
    before = drawn(connections[0])
    for _ in range(5):
        assert journal.versions() == dj.ChangeVersions(0, 1)
        assert len(list(journal.changes(STUDENT))) == 1
        assert not list(journal.deletes(STUDENT))
        assert not list(journal.key_changes(STUDENT))
        assert journal.derive([1])
    assert drawn(connections[0]) == before == 1


@pytest.mark.acceptance("4")
def test_bounds_are_inclusive_and_no_bound_means_everything(journal: dj.Journal, connections) -> None:
    write(journal, *(document(STUDENT, str(number)) for number in range(6)))
    versions = {}
    for window in (dj.Window(min=3), dj.Window(max=4), dj.Window(3, 4), EVERYTHING, dj.Window(0), dj.Window(0, 0)):
        found = list(journal.changes(STUDENT, window))
        assert found == expected_changes(connections[0], journal.resources()[STUDENT], window)
        versions[window.min, window.max] = [change.change_version for change in found]
    everything = [1, 2, 3, 4, 5, 6]
    assert versions == {
        (3, None): [3, 4, 5, 6],
        (None, 4): [1, 2, 3, 4],
        (3, 4): [3, 4],
        (None, None): everything,
        (0, None): everything,
        (0, 0): [],
    }


@pytest.mark.acceptance("4")
def test_no_window_is_everything(journal: dj.Journal) -> None:
    write(journal, document(STUDENT, "1"), document(STUDENT, "2"))
    assert list(journal.changes(STUDENT)) == list(journal.changes(STUDENT, EVERYTHING))
    assert len(list(journal.changes(STUDENT))) == 2


@pytest.mark.acceptance("5")
def test_a_window_of_one_version_holds_that_versions_document(journal: dj.Journal) -> None:
    ids = write(journal, *(document(STUDENT, str(number)) for number in range(5)))
    for version, document_id in enumerate(ids, start=1):
        [change] = journal.changes(STUDENT, dj.Window(version, version))
        assert (change.document_id, change.change_version) == (document_id, version)


@pytest.mark.acceptance("6")
def test_a_document_that_changes_again_moves_to_the_new_window(journal: dj.Journal, connections) -> None:
    first, second = write(journal, document(STUDENT, "1"), document(STUDENT, "2"))
    old = dj.Window(1, newest(journal))
    change_content(connections[0], first)
    new = dj.Window(old.max + 1, newest(journal))
    assert [change.document_id for change in journal.changes(STUDENT, old)] == [second]
    assert [change.document_id for change in journal.changes(STUDENT, new)] == [first]


@pytest.mark.acceptance("7")
@pytest.mark.parametrize("value", [-1, 2**63, "1", "many", 1.0, float("nan"), True, [1]], ids=repr)
@pytest.mark.parametrize("parameter", ["min", "max"])
def test_a_bound_that_is_no_version_is_refused_by_name(parameter: str, value: object) -> None:
    with pytest.raises(dj.InvalidRequest) as refused:
        dj.Window(**{parameter: value})
    assert refused.value.parameter == parameter
    assert parameter in str(refused.value)


@pytest.mark.acceptance("7")
def test_min_above_max_is_refused(journal: dj.Journal) -> None:
    with pytest.raises(dj.InvalidRequest, match=r"^min = 5: it is above `max` \(4\)") as refused:
        dj.Window(5, 4)
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)


@pytest.mark.acceptance("7")
def test_the_highest_version_is_a_bound(journal: dj.Journal) -> None:
    write(journal, document(STUDENT, "1"))
    assert len(list(journal.changes(STUDENT, dj.Window(0, 2**63 - 1)))) == 1
    assert not list(journal.changes(STUDENT, dj.Window(2**63 - 1, 2**63 - 1)))
    for walk in (journal.deletes, journal.key_changes):
        assert not list(walk(STUDENT, dj.Window(2**63 - 1, 2**63 - 1)))


@pytest.mark.acceptance("7")
def test_a_page_size_that_is_no_number_of_rows_is_refused(journal: dj.Journal) -> None:
    write(journal, document(STUDENT, "1"))
    for size in (0, -1, "7", 7.0, True, None, 10**9):
        for read in (journal.changes, journal.deletes, journal.key_changes):
            with pytest.raises(dj.InvalidRequest, match=r"^page_size"):
                read(STUDENT, page_size=size)
        with pytest.raises(dj.InvalidRequest, match=r"^limit"):
            journal.change_page(STUDENT, limit=size)


@pytest.mark.acceptance("8")
def test_a_window_is_cut_to_the_horizon_and_the_page_says_so(journal: dj.Journal, connections) -> None:
    first, second = write(journal, document(STUDENT, "1"), document(STUDENT, "2"))
    writer = connections[0]
    with writer.begin():
        writer.exec_driver_sql(f"UPDATE dms.Document SET ContentVersion = ContentVersion + 1 WHERE DocumentId = {first}")
        page = journal.change_page(STUDENT, dj.Window(1, 1_000_000))
        assert [change.document_id for change in page.items] == [first, second]
        assert (page.through, page.cut, page.next) == (2, True, None)
    page = journal.change_page(STUDENT, dj.Window(3, 1_000_000))
    assert ([change.document_id for change in page.items], page.through, page.cut) == ([first], 3, True)
    assert not journal.change_page(STUDENT, dj.Window(1, 3)).cut
    assert not journal.change_page(STUDENT).cut


@pytest.mark.acceptance("8")
def test_a_window_above_the_horizon_is_empty(journal: dj.Journal) -> None:
    write(journal, document(STUDENT, "1"))
    for window in (dj.Window(2), dj.Window(2, 9)):
        page = journal.change_page(STUDENT, window)
        assert (list(page.items), page.next) == ([], None)
        assert not list(journal.changes(STUDENT, window))
        assert not list(journal.deletes(STUDENT, window))
        assert not list(journal.key_changes(STUDENT, window))


@pytest.mark.acceptance("9")
def test_an_unknown_resource_is_refused_with_near_matches(journal: dj.Journal) -> None:
    write(journal, document(STUDENT, "1"), document(SCHOOL, 1))
    typo = dj.ResourceKey("Ed-Fi", "Studnet", "5.2.0")
    for read in (journal.change_page, journal.changes, journal.deletes, journal.key_changes):
        with pytest.raises(dj.InvalidRequest, match=r"did you mean .*Ed-Fi/Student/5\.2\.0") as refused:
            read(typo)
        assert refused.value.value == "Ed-Fi/Studnet/5.2.0"
    with journal.write() as tx, pytest.raises(dj.InvalidRequest, match="Student"):
        tx.delete(typo, {"studentId": "1"})


@pytest.mark.acceptance("9")
def test_a_resource_that_another_program_added_meanwhile_is_known(journal: dj.Journal, url: str) -> None:
    write(journal, document(STUDENT, "1"))
    assert list(journal.changes(STUDENT))
    with dj.connect(url) as other:
        write(other, document(SCHOOL, 1))
    assert len(list(journal.changes(SCHOOL))) == 1
