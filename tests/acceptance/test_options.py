"""Options change no answer: the same histories with and without (docs/dba/options.md)."""

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.schema import fill, migrate
from tests.helpers import (
    PLAN,
    SCHOOL,
    STUDENT,
    add_edge,
    change_content,
    change_identity,
    commit,
    document,
    drawn,
    expected_changes,
    newest,
    write,
)

OPTION = "max_dep_identity_version"


def populate(journal: dj.Journal) -> list[int]:
    """Two students, six plans of one of them each and of a school; one school."""
    students, school = [document(STUDENT, n) for n in range(2)], document(SCHOOL, 0)
    return write(journal, *students, school, *[document(PLAN, n, students[n % 2], school) for n in range(6)])


def assert_as_defined(journal: dj.Journal, connection: sa.Connection) -> None:
    """By pages of all sizes, inside of windows too, and by the view."""
    everything = []
    for of, resource_key_id in journal.resources().items():
        expected = expected_changes(connection, resource_key_id)
        for size in (1, 2, 500):
            assert list(journal.changes(of, page_size=size)) == expected, (of, size)
        for change in expected[1:]:
            window = dj.Window(change.change_version)
            assert list(journal.changes(of, window, page_size=2)) == expected_changes(connection, resource_key_id, window)
        everything += [(change.document_id, change.change_version) for change in expected]
    view = commit(connection, "SELECT DocumentId, ChangeVersion FROM dms.ResourceChange")
    assert sorted(map(tuple, view)) == sorted(everything)


def pending(connection: sa.Connection) -> int:
    return int(commit(connection, "SELECT COUNT(*) FROM dms.MaxDepIdentityPending")[0][0])


def change_everything(journal: dj.Journal, connection: sa.Connection) -> None:
    """Each step, and what is read after it."""
    first, second, school, *plans = range(1, 10)
    for step in (
        lambda: change_identity(connection, first),
        lambda: change_identity(connection, second, school),
        lambda: change_content(connection, plans[0], plans[3]),
        lambda: commit(
            connection, f"DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId = {plans[1]} AND ChildDocumentId = {school}"
        ),
        lambda: add_edge(connection, plans[0], second),
        lambda: change_identity(connection, second),
        lambda: commit(
            connection,
            f"UPDATE dms.ReferenceEdge SET ChildDocumentId = {first} "
            f"WHERE ParentDocumentId = {plans[1]} AND ChildDocumentId = {second}",
        ),
        lambda: change_identity(connection, first),
        lambda: commit(connection, f"DELETE FROM dms.Document WHERE DocumentId = {plans[5]}"),
        lambda: write(journal, document(PLAN, 9, document(STUDENT, 0))),
        lambda: change_identity(connection, first, school),
    ):
        step()
        assert_as_defined(journal, connection)


@pytest.mark.acceptance("22", "24", "26")
def test_an_option_of_an_empty_journal_is_exact_from_the_start(url: str, connection: sa.Connection) -> None:
    migrate.upgrade(url, options=[OPTION])
    with dj.connect(url) as journal:
        populate(journal)
        assert pending(connection) == 0
        change_everything(journal, connection)
        assert pending(connection) == 0
        newer = "MaxDepIdentityVersion > ContentVersion AND MaxDepIdentityVersion > IdentityVersion"
        assert commit(connection, f"SELECT COUNT(*) FROM dms.Document WHERE {newer}")[0][0] > 0  # else nothing was shown


@pytest.mark.acceptance("22", "24")
def test_documents_that_were_there_are_filled(url: str, connection: sa.Connection) -> None:
    with dj.connect(url) as journal:
        populate(journal)
        change_identity(connection, 1)
    migrate.upgrade(url, options=[OPTION])
    with dj.connect(url) as journal:
        assert pending(connection) == 1
        assert_as_defined(journal, connection)  # by the children, as without the option
        seen: list[int] = []
        assert fill.fill(url, OPTION, batch_size=4, progress=seen.append) == 9
        assert seen == [4, 8, 9]
        assert pending(connection) == 0
        assert_as_defined(journal, connection)
        assert fill.fill(url, OPTION) == 0
        change_everything(journal, connection)


@pytest.mark.acceptance("14", "22")
def test_raising_parents_stamps_nothing(url: str, connection: sa.Connection) -> None:
    migrate.upgrade(url, options=[OPTION])
    with dj.connect(url) as journal:
        populate(journal)
        before = drawn(connection)
        change_identity(connection, 3)  # the school of all plans
        assert drawn(connection) == newest(journal) == before + 1
        assert {change.change_version for change in journal.changes(PLAN)} == {before + 1}


def test_a_program_that_runs_is_told_to_try_again_when_an_option_goes(url: str, connection: sa.Connection) -> None:
    migrate.upgrade(url, options=[OPTION])
    with dj.connect(url) as journal:
        populate(journal)
        list(journal.changes(PLAN))
        migrate.downgrade(url, without=[OPTION])
        with pytest.raises(dj.Unavailable, match="an option of the journal was removed meanwhile: try again"):
            journal.changes(PLAN)
        assert_as_defined(journal, connection)


def test_what_cannot_be_filled_is_told(url: str) -> None:
    with pytest.raises(dj.InvalidRequest, match=rf"option = .*the database has no option: add it with .*--with {OPTION}"):
        fill.fill(url, OPTION)
    for name, says in (("images", "there is nothing to fill"), ("nonsense", "no such option")):
        with pytest.raises(dj.InvalidRequest, match=rf"{says}.*{OPTION}"):
            fill.fill(url, name)
    for wrong in ({"batch_size": 0}, {"batch_size": 10**9}, {"batch_size": "5"}, {"pause": -1.0}):
        with pytest.raises(dj.InvalidRequest, match=next(iter(wrong))):
            fill.fill(url, OPTION, **wrong)  # type: ignore[arg-type]
