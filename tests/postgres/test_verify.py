"""Verify and repair on PostgreSQL: what the schema is made of, what takes an owner or a superuser, and who may run it."""

from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal import migrating, verifying
from dmsjournal.filling import fill
from dmsjournal.images import Image
from tests.consumer import (
    GONE_ID,
    PLAN_ID,
    SCHOOL_ID,
    SECTION_ID,
    STUDENT_ID,
    Consumer,
    found,
    past_triggers,
    repaired,
)
from tests.helpers import PLAN, SECTION, catalog, change_identity, commit, document, expected_changes, newest, populate, write

NOT_OURS = "CREATE FUNCTION dms.other() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$"


@pytest.mark.acceptance("59")
@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("ALTER TABLE dms.Document DISABLE TRIGGER TR_Document_Update", {"trigger-disabled": ["tr_document_update"]}),
        (
            "ALTER TABLE dms.Document ENABLE REPLICA TRIGGER TR_Document_Delete",
            {"trigger-altered": ["tr_document_delete (fires in replica role only)"]},
        ),
        (
            "ALTER TABLE dms.Document ENABLE ALWAYS TRIGGER TR_Document_Delete",
            {"trigger-altered": ["tr_document_delete (fires in replica role too)"]},
        ),
        ("DROP TRIGGER TR_ReferenceEdge_Insert ON dms.ReferenceEdge", {"trigger-missing": ["tr_referenceedge_insert"]}),
        (
            "CREATE OR REPLACE TRIGGER ZZ_Document_StampUpdate BEFORE UPDATE OF ContentVersion ON dms.Document "
            "FOR EACH ROW EXECUTE FUNCTION dms.stamp_update()",
            {"trigger-altered": ["zz_document_stampupdate (its text is another one)"]},
        ),
        ("ALTER FUNCTION dms.horizon() SECURITY INVOKER", {"routine-altered": ["horizon (its text is another one)"]}),
        (
            "ALTER FUNCTION dms.journal_delete() RESET search_path",
            {"routine-altered": ["journal_delete (its text is another one)"]},
        ),
        ("ALTER FUNCTION dms.held_floors() STABLE", {"routine-altered": ["held_floors (its text is another one)"]}),
        (
            "GRANT EXECUTE ON FUNCTION dms.journal_insert() TO PUBLIC",
            {"routine-altered": ["journal_insert (PUBLIC may execute it)"]},
        ),
        (
            "CREATE OR REPLACE VIEW dms.ResourceChange AS SELECT e.ResourceKeyId, e.ChangeVersion, d.DocumentId, d.DocumentUuid, "
            "d.ContentVersion, d.IdentityVersion, d.KeyValues, d.DocumentId AS WitnessDocumentId, e.CreatedAt AS CommittedAt "
            "FROM dms.DocumentChangeEvent AS e JOIN dms.Document AS d USING (DocumentId)",
            {"view-altered": ["resourcechange (its text is another one)"]},
        ),
        ("DROP VIEW dms.ResourceChange", {"view-missing": ["resourcechange"]}),
        (
            "ALTER SEQUENCE dms.ChangeVersionSequence MAXVALUE 1000",
            {"sequence-altered": ["changeversionsequence (its text is another one)"]},
        ),
        (
            "ALTER SEQUENCE dms.ChangeVersionSequence SET UNLOGGED",
            {"sequence-altered": ["changeversionsequence (is unlogged: a crash sets it back)"]},
        ),
        (
            "ALTER SEQUENCE dms.ChangeVersionSequence CACHE 20 INCREMENT 5 CYCLE",
            {"sequence-altered": ["changeversionsequence (its text is another one)"]},
        ),
    ],
)
def test_what_is_not_as_shipped_is_named_and_made_so(
    journal: dj.Journal, connections, statement: str, expected: dict[str, list[int | str]]
) -> None:
    shipped = catalog(connections[0])
    commit(connections[0], statement)
    assert found(journal.verify()) == expected
    assert found(journal.repair().left) == {}
    assert catalog(connections[0]) == shipped


def test_an_option_that_is_not_filled_yet_is_named_with_the_command_that_fills_it(url: str, connections) -> None:
    option = "max_dep_identity_version"
    with dj.connect(url) as journal:
        write(journal, document(PLAN, 1))
    migrating.upgrade(url, options=[option])
    for _ in range(2):
        with dj.connect(url) as journal:
            left = journal.repair().left
        assert found(left) == {"option-unfilled": [f"{option} (ix_document_maxdepidentityversion is missing)"]}
        assert left.findings[0].remedy == f"dmsjournal fill {option}"
        fill(url, option)
        with dj.connect(url) as journal:
            assert journal.verify().is_clean
        commit(connections[0], "DROP INDEX dms.IX_Document_MaxDepIdentityVersion")  # a fill makes it again


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("DROP INDEX dms.IX_ReferenceEdge_Child", {"index-missing": ["ix_referenceedge_child"]}),
        (
            "ALTER TABLE dms.ReferenceEdge DROP CONSTRAINT FK_ReferenceEdge_Referenced",
            {"constraint-missing": ["fk_referenceedge_referenced"]},
        ),
        (
            "ALTER TABLE dms.DocumentChangeEvent SET UNLOGGED",
            {"table-altered": ["documentchangeevent (is unlogged: a crash empties it)"]},
        ),
        (
            "ALTER TABLE dms.Document ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY",
            {"table-altered": ["document (hides rows from its owner (FORCE ROW LEVEL SECURITY))"]},
        ),
        (
            "CREATE TABLE dms.theirs () INHERITS (dms.Document)",
            {"table-altered": ["document (shares rows with another table (INHERITS))"]},
        ),
        (
            "CREATE RULE theirs AS ON INSERT TO dms.KeyChangeEvent DO INSTEAD NOTHING",
            {"table-altered": ["keychangeevent (has a rule that rewrites statements)"]},
        ),
        (
            "CREATE TRIGGER zzz BEFORE UPDATE ON dms.ReferenceEdge "
            "FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
            {"table-altered": ["referenceedge (has a trigger that fires after ours, and may overwrite stamps)"]},
        ),
        ("DELETE FROM dms.FeedDatabase", {"feed-altered": ["feeddatabase (has 0 rows, not one)"]}),
        ("DELETE FROM dms.FeedGeneration", {"feed-altered": ["feedgeneration (lacks generations, or has them in another order)"]}),
        (
            "DROP TABLE dms.FeedDatabase",  # nothing else is looked at, and it is said so
            {"table-missing": ["feeddatabase"], "constraint-missing": ["pk_feeddatabase"]},
        ),
        (
            "CREATE ROLE somebody; ALTER FUNCTION dms.stamp_insert() OWNER TO somebody",
            {"owner-differs": ["stamp_insert (is owned by somebody)"]},
        ),
    ],
)
def test_what_only_a_dba_can_put_right_is_named_and_left(
    journal: dj.Journal, connections, statement: str, expected: dict[str, list[int | str]]
) -> None:
    try:
        commit(connections[0], statement)
        assert found(journal.verify()) == expected
        assert found(journal.repair().left) == expected
    finally:
        commit(connections[0], "ALTER FUNCTION dms.stamp_insert() OWNER TO CURRENT_USER")
        commit(connections[0], "DROP ROLE IF EXISTS somebody")


def test_what_others_add_is_not_ours_to_judge(journal: dj.Journal, connections) -> None:
    commit(connections[0], NOT_OURS)
    commit(connections[0], "CREATE TRIGGER other AFTER UPDATE ON dms.Document FOR EACH ROW EXECUTE FUNCTION dms.other()")
    commit(connections[0], "ALTER TABLE dms.Document DISABLE TRIGGER other")
    commit(connections[0], "CREATE INDEX other ON dms.Document (CreatedAt)")
    commit(connections[0], "CREATE FUNCTION dms.horizon(a integer) RETURNS integer LANGUAGE sql AS 'SELECT a'")  # names of ours
    commit(connections[0], "CREATE TABLE dms.Theirs (a integer CONSTRAINT FK_ReferenceEdge_Parent NOT NULL)")
    commit(connections[0], "ALTER TABLE dms.Theirs ADD CONSTRAINT FK_ReferenceEdge_Referenced CHECK (a > 0) NOT VALID")
    for name in ("TR_Document_Insert", "TR_Document_Delete", "TR_ReferenceEdge_Insert"):
        commit(connections[0], f"CREATE TRIGGER {name} AFTER INSERT ON dms.Theirs EXECUTE FUNCTION dms.other()")
    assert journal.verify().is_clean


@pytest.mark.acceptance("59")
def test_a_disabled_trigger_and_what_was_written_meanwhile(consumer: Consumer) -> None:
    commit(consumer.connection, "ALTER TABLE dms.Document DISABLE TRIGGER ALL")
    commit(consumer.connection, f"UPDATE dms.Document SET ContentVersion = 100 WHERE DocumentId = {PLAN_ID}")
    commit(consumer.connection, f"DELETE FROM dms.Document WHERE DocumentId = {STUDENT_ID}")  # the plan refers to it
    named = found(consumer.journal.verify())
    assert len(named.pop("trigger-disabled")) == 8
    assert set(named.pop("constraint-altered")) == {
        f"fk_{name} (its triggers are disabled)"
        for name in ("document_resourcekey", "documentcache_document", "referenceedge_parent", "referenceedge_referenced")
    }
    assert named == {
        "document-above-sequence": [PLAN_ID],
        "document-vanished": [STUDENT_ID],
        "edge-dangling": [f"{PLAN_ID}->{STUDENT_ID}"],
    }
    assert consumer.journal.repair().left.is_clean
    consumer.catch_up()
    assert consumer.copy == consumer.everything()
    assert not consumer.expired
    assert not commit(consumer.connection, "SELECT FROM dms.ReferenceEdge")


@pytest.mark.acceptance("48", "59")
@pytest.mark.parametrize("how", ["replica", "disabled"])
def test_documents_that_the_owner_truncated(consumer: Consumer, how: str) -> None:
    if how == "replica":
        past_triggers(consumer.connection, "TRUNCATE dms.Document CASCADE")
    else:
        for table in ("Document", "ReferenceEdge"):
            commit(consumer.connection, f"ALTER TABLE dms.{table} DISABLE TRIGGER USER")
        commit(consumer.connection, "TRUNCATE dms.Document CASCADE")
    named = found(consumer.journal.verify())
    assert len(named.pop("trigger-disabled", [])) == {"replica": 0, "disabled": 13}[how]
    assert named == {"document-vanished": [STUDENT_ID, PLAN_ID, SCHOOL_ID, SECTION_ID]}
    assert consumer.journal.repair().left.is_clean
    consumer.catch_up()
    assert consumer.copy == consumer.everything() == {}
    assert consumer.expired


@pytest.mark.acceptance("59")
@pytest.mark.parametrize(
    ("journals", "expected", "expires"),
    [
        (["DocumentChangeEvent"], {"document-unjournaled": [STUDENT_ID, PLAN_ID, SCHOOL_ID, SECTION_ID]}, False),
        (["IdentityChangeEvent"], {"identity-unjournaled": [STUDENT_ID, SCHOOL_ID]}, False),
        (["DocumentDeleteEvent"], {"document-vanished": [GONE_ID]}, True),
        (
            ["JournalFloor"],
            {"floor-missing": ["DocumentChangeEvent", "DocumentDeleteEvent", "IdentityChangeEvent", "KeyChangeEvent"]},
            True,
        ),
    ],
)
def test_a_journal_that_was_truncated(
    consumer: Consumer,
    journals: list[str],
    expected: dict[str, list[int | str]],
    expires: bool,
) -> None:
    past_triggers(consumer.connection, *(f"TRUNCATE dms.{journal}" for journal in journals))
    repaired(consumer, expected, expires=expires)


@pytest.mark.acceptance("59")
def test_a_second_lifetime_that_vanished_is_not_taken_for_the_first(consumer: Consumer) -> None:
    """The tombstone of the first one names another uuid: a consumer would keep the second."""
    commit(
        consumer.connection,
        f"INSERT INTO dms.Document (DocumentId, ResourceKeyId) SELECT {GONE_ID}, ResourceKeyId "
        f"FROM dms.Document WHERE DocumentId = {SCHOOL_ID}",
    )
    consumer.catch_up()
    assert GONE_ID in consumer.copy
    past_triggers(consumer.connection, f"DELETE FROM dms.Document WHERE DocumentId = {GONE_ID}")
    repaired(consumer, {"document-vanished": [GONE_ID]}, expires=True)


@pytest.fixture
def holder(url: str) -> Iterator[sa.Connection]:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        yield connection


def test_a_repair_gives_up_where_a_lock_is_held_and_goes_on_another_time(consumer: Consumer, holder) -> None:
    past_triggers(consumer.connection, f"UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId IN ({PLAN_ID}, {SECTION_ID})")
    holder.exec_driver_sql(f"UPDATE dms.Document SET IdentityVersion = NULL WHERE DocumentId = {PLAN_ID}")
    with pytest.raises(dj.Unavailable):
        consumer.journal.repair()
    holder.rollback()
    assert consumer.journal.repair().left.is_clean
    with consumer.journal._session() as session:
        assert session.conn.exec_driver_sql("SHOW lock_timeout").scalar() == "0"


@pytest.mark.parametrize("step", range(1, 12))
def test_a_repair_that_stops_anywhere_goes_on_when_it_is_run_again(
    consumer: Consumer,
    step: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It ends at its n-th transaction; whatever that was, another run heals the rest, and the consumer ends equal."""
    student = document(PLAN, 9)
    write(consumer.journal, student, document(SECTION, 9))
    consumer.catch_up()
    past_triggers(
        consumer.connection,
        f"DELETE FROM dms.Document WHERE DocumentId IN ({SCHOOL_ID}, {STUDENT_ID})",
        f"UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = {SECTION_ID}",
        "DELETE FROM dms.DocumentDeleteEvent",
        "DELETE FROM dms.ResourceDependency",
    )
    commit(consumer.connection, "SELECT setval('dms.ChangeVersionSequence', 9)")
    writing, runs = verifying._Repairer._writing, iter(range(1, 1000))

    def stopping(repairer):
        if next(runs) == step:
            raise KeyboardInterrupt
        return writing(repairer)

    with monkeypatch.context() as patched:
        patched.setattr(verifying._Repairer, "_writing", stopping)
        try:
            consumer.journal.repair()
        except KeyboardInterrupt:
            consumer.catch_up()
    assert consumer.journal.repair().left.is_clean
    consumer.catch_up()
    assert consumer.copy == consumer.everything()


def test_every_trigger_routine_and_view_of_the_release_is_compared(journal: dj.Journal, connections) -> None:
    """What the installed revision has and what the schema has are the same names: nothing is left out."""
    from dmsjournal.installed import shipped_objects

    with journal._session() as session:
        shipped = set(shipped_objects(session))
        installed = {(row.kind, row.name.lower()) for row in session.execute("verify_objects")}
    of_keys = {"alembic_version", "alembic_version_pkc"}  # which the migrations make
    assert {name for name in installed if name[0] in ("trigger", "routine", "view", "sequence")} == {
        name for name in shipped if name[0] in ("trigger", "routine", "view", "sequence")
    }
    unnamed = {name for _, name in installed - shipped if not name.endswith("_not_null")}
    keys = {name for kind, name in shipped if kind == "constraint"}  # the indexes of keys are theirs
    assert unnamed <= of_keys | keys
    assert len(shipped) > 60


@pytest.mark.acceptance("59")
def test_the_triggers_of_an_option_are_compared_and_put_back(journal: dj.Journal, url: str, connections) -> None:
    """Among them one that is a constraint, which a server does not replace."""
    migrating.upgrade(url, options=["max_dep_identity_version"])
    assert journal.verify().is_clean
    commit(connections[0], "DROP TRIGGER TR_MaxDepIdentityPending_Raise ON dms.MaxDepIdentityPending")
    commit(connections[0], "ALTER TABLE dms.Document DISABLE TRIGGER TR_Document_NoteIdentity")
    expected = {"trigger-missing": ["tr_maxdepidentitypending_raise"], "trigger-disabled": ["tr_document_noteidentity"]}
    assert found(journal.verify()) == expected
    assert found(journal.repair().left) == {}
    assert journal.verify().is_clean


@pytest.mark.acceptance("59")
@pytest.mark.parametrize(
    "trigger",
    ["TR_Document_NoteIdentity ON dms.Document", "TR_Document_KeepMaxDepUpdate ON dms.Document"],
)
def test_a_stored_maximum_that_was_not_raised_is_found_and_its_document_is_read(url: str, connections, trigger: str) -> None:
    """A child was renamed while a trigger of the option was off; its return alone would leave the parent unread for good."""
    migrating.upgrade(url, options=["max_dep_identity_version"])
    populate(url)
    fill(url, "max_dep_identity_version")
    admin, (name, _, table) = connections[0], trigger.split()
    [[plan]] = commit(admin, "SELECT ResourceKeyId FROM dms.ResourceKey WHERE ResourceName = 'GraduationPlan'")
    with dj.connect(url) as journal:
        assert journal.verify().is_clean
        passed = newest(journal)
        commit(admin, f"ALTER TABLE {table} DISABLE TRIGGER {name}")
        change_identity(admin, STUDENT_ID)
        assert found(journal.verify()) == {"trigger-disabled": [name.lower()], "maximum-stale": [PLAN_ID]}
        assert journal.repair().left.is_clean
        for _ in range(2):
            window = dj.Window(min=passed + 1)
            assert list(journal.changes(PLAN, window)) == expected_changes(admin, plan, window) != []
            passed = newest(journal)
            change_identity(admin, STUDENT_ID)  # and the next rename raises it again
        assert journal.verify().is_clean


def test_images_are_said_to_be_whole_from_the_repair_of_their_triggers_on(url: str, connections) -> None:
    """A body changed while a trigger of the option was off: no image tells that, so none may be taken for no change."""
    migrating.upgrade(url, options=["images"])
    with dj.connect(url) as journal:
        write(journal, document(PLAN, 1, body={"v": 1}))
        commit(connections[0], "ALTER TABLE dms.DocumentCache DISABLE TRIGGER TR_DocumentCache_ImageUpdate")
        write(journal, document(PLAN, 1, body={"v": 2}))
        unseen = newest(journal)
        assert journal.repair().left.is_clean
        write(journal, document(PLAN, 1, body={"v": 3}))
        seen = newest(journal)
        assert journal.images([(unseen, 1), (seen, 1)]) == {(seen, 1): Image({"v": 2}, {"v": 3})}


@pytest.mark.parametrize(
    ("journal_name", "readers"),
    [
        ("DocumentChangeEvent", ["versions", "status", "changes", "plan", "feed", "prune"]),
        ("IdentityChangeEvent", ["versions", "status", "changes", "plan", "prune"]),
        ("KeyChangeEvent", ["key_changes", "feed", "prune"]),
        ("DocumentDeleteEvent", ["deletes", "feed", "prune"]),
    ],
)
def test_without_a_floor_nobody_is_given_a_short_answer(
    journal: dj.Journal, url: str, connections, journal_name: str, readers: list[str]
) -> None:
    """The row is gone that says what was pruned: an error, never what is left (invariant 8)."""
    populate(url)
    read: dict[str, Callable[[], object]] = {
        "versions": journal.versions,
        "status": journal.status,
        "changes": lambda: list(journal.changes(PLAN)),
        "key_changes": lambda: list(journal.key_changes(PLAN)),
        "deletes": lambda: list(journal.deletes(PLAN)),
        "plan": lambda: journal.plan(PLAN),
        "feed": lambda: journal.read_changes(dj.FeedRequest()),
        "prune": lambda: journal.prune(3),
    }
    commit(connections[0], f"DELETE FROM dms.JournalFloor WHERE Journal = '{journal_name}'")
    for name in readers:
        with pytest.raises(dj.UnsupportedCapability, match=r"floor.*dmsjournal verify"):
            read[name]()
    assert found(journal.repair().found) == {"floor-missing": [journal_name]}
    assert journal.verify().is_clean


def test_a_lost_floor_of_images_is_found_and_becomes_a_new_one(url: str, connections) -> None:
    migrating.upgrade(url, options=["images"])
    populate(url)
    with dj.connect(url) as journal:
        commit(connections[0], "DELETE FROM dms.DocumentImageFloor")
        with pytest.raises(dj.UnsupportedCapability, match="verify --repair"):
            journal.images_since()
        repair = journal.repair()
        assert (found(repair.found), found(repair.left)) == ({"floor-missing": ["DocumentImageFloor"]}, {})
        assert journal.images_since() == newest(journal)
