"""Documents and edges that go, come or are replaced in one statement (invariants 3 and 7)."""

import psycopg
import pytest

import dmsjournal as dj
from tests.helpers import PLAN, STUDENT, document, in_psycopg, write


@pytest.fixture
def referred(journal: dj.Journal, url: str):
    """A student (1), a plan that refers to it (2), and a session."""
    student = document(STUDENT, "1")
    write(journal, student, document(PLAN, 1, student))
    with psycopg.connect(in_psycopg(url), autocommit=True) as session:
        yield session


@pytest.mark.acceptance("28")
def test_documents_that_refer_to_each_other_can_be_deleted_together(journal: dj.Journal, referred) -> None:
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        referred.execute("DELETE FROM dms.Document")  # the student's row comes first
    referred.execute("WITH e AS (DELETE FROM dms.ReferenceEdge) DELETE FROM dms.Document")
    assert len(list(journal.deletes(STUDENT))) == len(list(journal.deletes(PLAN))) == 1


@pytest.mark.acceptance("26")
def test_a_parent_whose_edge_goes_with_the_child_is_stamped(journal: dj.Journal, referred) -> None:
    referred.execute("UPDATE dms.Document SET IdentityVersion = NULL WHERE DocumentId = 1")
    seen = journal.versions().newest
    edges = "WITH e AS (DELETE FROM dms.ReferenceEdge WHERE ChildDocumentId = 1)"
    referred.execute(f"{edges} DELETE FROM dms.Document WHERE DocumentId = 1")
    (change,) = journal.changes(PLAN, dj.Window(seen + 1))
    assert change.change_version == journal.derive([2])[2].change_version > seen


@pytest.mark.acceptance("28")
def test_a_document_that_is_referred_to_is_not_replaced_under_its_id(journal: dj.Journal, referred) -> None:
    replace = """WITH d AS (DELETE FROM dms.Document WHERE DocumentId = 1 RETURNING DocumentId, ResourceKeyId)
        INSERT INTO dms.Document (DocumentId, ResourceKeyId) SELECT DocumentId, ResourceKeyId FROM d"""
    with pytest.raises(psycopg.DatabaseError, match="document 2 refers to it"):
        referred.execute(replace)
    assert list(journal.deletes(STUDENT)) == []


@pytest.mark.acceptance("24")
def test_an_edge_that_comes_with_its_parent_carries_the_parents_resource(journal: dj.Journal, referred) -> None:
    ids = journal.resources()
    referred.execute(
        """WITH e AS (INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (50, 1) RETURNING 1)
        INSERT INTO dms.Document (DocumentId, ResourceKeyId) SELECT 50, %s FROM e""",
        [ids[PLAN]],
    )
    kept = referred.execute("SELECT ParentResourceKeyId FROM dms.ReferenceEdge WHERE ParentDocumentId = 50").fetchone()
    assert kept == (ids[PLAN],)
    seen = journal.versions().newest
    referred.execute("UPDATE dms.Document SET IdentityVersion = NULL WHERE DocumentId = 1")
    assert {change.document_id for change in journal.changes(PLAN, dj.Window(seen + 1))} == {2, 50}
    with pytest.raises(psycopg.errors.CheckViolation):  # 0 stands for no resource
        referred.execute("INSERT INTO dms.ResourceKey VALUES (0, 'Ed-Fi', 'Nothing', '1')")


@pytest.mark.acceptance("46")
def test_key_changes_of_two_lifetimes_under_one_id_are_two(journal: dj.Journal, referred) -> None:
    insert = "INSERT INTO dms.Document (DocumentId, ResourceKeyId, KeyValues) VALUES (90, 1, %s)"
    rename = "UPDATE dms.Document SET KeyValues = %s WHERE DocumentId = 90"
    for before, after in (("A", "B"), ("B", "A")):
        referred.execute(insert, [f'{{"k": "{before}"}}'])
        referred.execute(rename, [f'{{"k": "{after}"}}'])
        referred.execute("DELETE FROM dms.Document WHERE DocumentId = 90")
    resource = next(resource for resource, number in journal.resources().items() if number == 1)
    changes = [(change.old_key_values, change.new_key_values) for change in journal.key_changes(resource)]
    assert changes == [({"k": "A"}, {"k": "B"}), ({"k": "B"}, {"k": "A"})]


@pytest.mark.acceptance("12")
def test_what_another_trigger_changes_is_stamped(journal: dj.Journal, referred) -> None:
    """A user's trigger sorts after most names; ours sorts after it."""
    referred.execute(
        """CREATE FUNCTION public.theirs() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        NEW.KeyValues := '{"k": "theirs"}'; NEW.ContentVersion := OLD.ContentVersion; RETURN NEW; END $$"""
    )
    referred.execute("CREATE TRIGGER trg_theirs BEFORE UPDATE ON dms.Document FOR EACH ROW EXECUTE FUNCTION public.theirs()")
    seen = journal.versions().newest
    referred.execute("UPDATE dms.Document SET ContentVersion = NULL WHERE DocumentId = 1")
    (change,) = journal.key_changes(STUDENT, dj.Window(seen + 1))
    assert change.new_key_values == {"k": "theirs"}
    assert [change.document_id for change in journal.changes(PLAN, dj.Window(seen + 1))] == [2]


def test_a_pruned_event_does_not_come_back(journal: dj.Journal, url: str, referred) -> None:
    """A session that makes its floor 0 would else hide an edge behind an event of its own transaction."""
    newest = journal.versions().newest
    with referred.transaction():
        referred.execute("DELETE FROM dms.DocumentChangeEvent")
        referred.execute("UPDATE dms.JournalFloor SET ChangeVersion = %s", [newest])
    with referred.transaction():
        referred.execute("SET LOCAL dms.entered_at = '0'")
        referred.execute("UPDATE dms.Document SET CreatedAt = CreatedAt WHERE DocumentId = 2")
        referred.execute("DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId = 2")
    with dj.connect(url) as db:
        assert [change.document_id for change in db.changes(PLAN, dj.Window(newest + 1))] == [2]
