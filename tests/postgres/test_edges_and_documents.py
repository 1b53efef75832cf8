"""Documents and edges that go, come or are replaced in one statement (invariants 3 and 7)."""

import time
from concurrent.futures import ThreadPoolExecutor

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


REPLACE = """WITH d AS (DELETE FROM dms.Document WHERE DocumentId = 1 RETURNING DocumentId, DocumentUuid, ResourceKeyId)
             INSERT INTO dms.Document ({0}) SELECT {0} FROM d"""


@pytest.mark.acceptance("28", "43")
@pytest.mark.parametrize("kept", ["DocumentId, ResourceKeyId", "DocumentUuid, ResourceKeyId"])
@pytest.mark.parametrize("isolation", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_a_document_is_not_replaced_under_its_id_or_uuid(
    journal: dj.Journal, url: str, referred, kept: str, isolation: str
) -> None:
    """Its parents would refer to another identity, which a snapshot older than their edges does not even show; and it would live
    at a stamp below the tombstone."""
    referred.execute("DELETE FROM dms.ReferenceEdge")
    with psycopg.connect(in_psycopg(url)) as other:
        other.execute(f"SET TRANSACTION ISOLATION LEVEL {isolation}")
        other.execute("SELECT FROM dms.Document")
        referred.execute("INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (2, 1)")
        with pytest.raises(psycopg.DatabaseError, match=r"document 1 cannot be replaced|is still referenced"):
            other.execute(REPLACE.format(kept))
    assert list(journal.deletes(STUDENT)) == []


@pytest.mark.acceptance("24")
@pytest.mark.parametrize("writes", [False, True], ids=["reads it", "writes it"])
def test_an_edge_shows_the_resource_of_a_parent_that_is_replaced_meanwhile(
    journal: dj.Journal, url: str, referred, writes: bool
) -> None:
    """An edge reads its parent's resource, and a second row of its statement waits: the parent cannot become another one. If the
    caller writes the resource, it is looked at after the wait."""
    ids = journal.resources()
    referred.execute("INSERT INTO dms.Document (DocumentId, ResourceKeyId) VALUES (60, %s), (61, %s)", [ids[PLAN], ids[PLAN]])
    with psycopg.connect(in_psycopg(url), autocommit=True) as other:
        resource = ids[PLAN] if writes else "NULL"
        slow = f"""INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, ParentResourceKeyId)
                   SELECT parent, 1, {resource} FROM (VALUES (60, 0.0), (61, 1.0)) AS v (parent, pause)
                   WHERE pg_sleep(pause) IS NOT NULL"""
        with ThreadPoolExecutor(1) as thread:
            inserting = thread.submit(other.execute, slow)
            time.sleep(0.4)
            referred.execute("DELETE FROM dms.Document WHERE DocumentId = 60")
            referred.execute("INSERT INTO dms.Document (DocumentId, ResourceKeyId) VALUES (60, %s)", [ids[STUDENT]])
            inserting.result()
    wrong = """SELECT count(*) FROM dms.ReferenceEdge AS e JOIN dms.Document AS p ON p.DocumentId = e.ParentDocumentId
               WHERE e.ParentResourceKeyId <> p.ResourceKeyId"""
    assert referred.execute(wrong).fetchone() == (0,)


@pytest.mark.acceptance("24")
@pytest.mark.parametrize("other", [STUDENT, None], ids=["another resource", "none at all"])
def test_an_edge_that_is_written_with_another_resource_carries_its_parents(
    journal: dj.Journal, referred, other: dj.ResourceKey | None
) -> None:
    """Also beside edges that are right. Nothing is left of the resource that was written."""
    ids = journal.resources()
    referred.execute("DELETE FROM dms.ReferenceEdge; DELETE FROM dms.ResourceDependency")
    referred.execute(
        """INSERT INTO dms.Document (DocumentId, ResourceKeyId) SELECT n, %(plan)s FROM generate_series(60, 62) AS n""",
        {"plan": ids[PLAN]},
    )
    seen = journal.versions().newest
    referred.execute(
        """INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, ParentResourceKeyId)
           VALUES (60, 1, %(other)s), (61, 1, %(plan)s), (61, 60, %(other)s), (62, 1, NULL)""",
        {"plan": ids[PLAN], "other": ids[other] if other else 32767},
    )
    kept = referred.execute("SELECT DISTINCT ParentResourceKeyId FROM dms.ReferenceEdge").fetchall()
    pairs = referred.execute("SELECT ParentResourceKeyId, ChildResourceKeyId FROM dms.ResourceDependency ORDER BY 1, 2").fetchall()
    assert (kept, pairs) == ([(ids[PLAN],)], sorted([(ids[PLAN], ids[STUDENT]), (ids[PLAN], ids[PLAN])]))
    assert sorted(change.document_id for change in journal.changes(PLAN, dj.Window(seen + 1))) == [60, 61, 62]


def test_a_parent_that_row_security_hides_is_an_error(journal: dj.Journal, referred) -> None:
    owner = f"owner_{referred.info.dbname}"
    for statement in (
        f"CREATE ROLE {owner}",
        f"GRANT USAGE, CREATE ON SCHEMA dms TO {owner}",
        f"ALTER TABLE dms.Document OWNER TO {owner}",
        f"GRANT ALL ON ALL TABLES IN SCHEMA dms TO {owner}",
        f"ALTER FUNCTION dms.keep_parent_resource() OWNER TO {owner}",
        f"ALTER FUNCTION dms.parent_resource(bigint) OWNER TO {owner}",
        f"ALTER FUNCTION dms.stamp_parents() OWNER TO {owner}",
        "ALTER TABLE dms.Document ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE dms.Document FORCE ROW LEVEL SECURITY",
        "CREATE POLICY first ON dms.Document USING (DocumentId = 1)",
    ):
        referred.execute(statement)
    try:
        with pytest.raises(psycopg.DatabaseError) as refused:
            referred.execute("INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (2, 2)")
        assert refused.value.sqlstate == "42501"
        assert 'row-level security policy for table "document"' in str(refused.value)
    finally:
        referred.execute(f"REASSIGN OWNED BY {owner} TO CURRENT_USER")
        referred.execute(f"DROP OWNED BY {owner}")
        referred.execute(f"DROP ROLE {owner}")


def test_stamps_of_a_cached_sequence_are_refused(journal: dj.Journal, url: str, referred) -> None:
    """A session would go on with values that it took before another one's were reported."""
    referred.execute("ALTER SEQUENCE dms.ChangeVersionSequence CACHE 10")
    with psycopg.connect(in_psycopg(url), autocommit=True) as other:
        insert = "INSERT INTO dms.Document (ResourceKeyId) VALUES (1)"
        for session in (other, referred):
            session.execute(insert)
        for statement in (insert, "DELETE FROM dms.Document WHERE DocumentId = 2", "UPDATE dms.Document SET ContentVersion = NULL"):
            with pytest.raises(psycopg.DatabaseError, match="is not above"):
                other.execute(statement)


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
