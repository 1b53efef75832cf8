"""Verify and repair on PostgreSQL: what the schema is made of, what takes an owner or a superuser, and who may run it."""

from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.operate import verify
from dmsjournal.read.images import Image
from dmsjournal.schema import migrate
from dmsjournal.schema.fill import fill
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
    migrate.upgrade(url, options=[option])
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


HASHES = (
    "CREATE SCHEMA evil; "
    "CREATE FUNCTION evil.jsonb_hash_extended(jsonb, integer) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 1'"
)


@pytest.mark.parametrize(
    ("statement", "code", "expected"),
    [
        (
            f"{HASHES}; DROP INDEX dms.IX_Document_KeyValues; CREATE INDEX IX_Document_KeyValues ON dms.Document "
            "(ResourceKeyId, evil.jsonb_hash_extended(KeyValues, 0)) WHERE KeyValues IS NOT NULL",
            "index-altered",
            "ix_document_keyvalues (is CREATE INDEX ix_document_keyvalues ON document USING btree (resourcekeyid, "
            "evil.jsonb_hash_extended(keyvalues, 0))",
        ),
        (
            "DROP INDEX dms.IX_ReferenceEdge_Child; CREATE INDEX IX_ReferenceEdge_Child ON dms.ReferenceEdge (ChildDocumentId)",
            "index-altered",
            "ix_referenceedge_child (is CREATE INDEX",
        ),
        (
            "CREATE SCHEMA evil; CREATE FUNCTION evil.ne(varchar, text) RETURNS boolean LANGUAGE sql AS 'SELECT true';"
            "CREATE OPERATOR evil.<> (LEFTARG = varchar, RIGHTARG = text, FUNCTION = evil.ne);"
            "ALTER TABLE dms.ResourceKey DROP CONSTRAINT CK_ResourceKey_Names, ADD CONSTRAINT CK_ResourceKey_Names CHECK "
            "(ProjectName OPERATOR(evil.<>) '' AND ResourceName OPERATOR(evil.<>) '' AND ResourceVersion OPERATOR(evil.<>) '')",
            "constraint-altered",
            "ck_resourcekey_names (is CHECK (((projectname OPERATOR(evil.<>)",
        ),
        (
            "ALTER TABLE dms.ReferenceEdge DROP CONSTRAINT FK_ReferenceEdge_Parent, ADD CONSTRAINT FK_ReferenceEdge_Parent "
            "FOREIGN KEY (ParentDocumentId) REFERENCES dms.Document (DocumentId)",
            "constraint-altered",
            "fk_referenceedge_parent (is FOREIGN KEY",
        ),
        (
            "CREATE SCHEMA evil;"
            "CREATE FUNCTION evil.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT pg_catalog.now()';"
            "ALTER TABLE dms.Document ALTER COLUMN CreatedAt SET DEFAULT evil.clock_timestamp()",
            "column-altered",
            "document.createdat (its default is evil.clock_timestamp(), not clock_timestamp())",
        ),
        (
            "ALTER TABLE dms.ChangeConsumer ALTER COLUMN UpdatedAt DROP DEFAULT",
            "column-altered",
            "changeconsumer.updatedat (has no default, not clock_timestamp())",
        ),
        (
            "ALTER TABLE dms.KeyChangeEvent ALTER COLUMN DocumentUuid DROP NOT NULL",
            "column-altered",
            "keychangeevent.documentuuid (is uuid, not uuid NOT NULL)",
        ),
        (
            "CREATE POLICY theirs ON dms.KeyChangeEvent USING (false)",
            "table-altered",
            "keychangeevent (has a policy, theirs, which hides rows)",
        ),
    ],
)
def test_a_definition_is_compared_by_what_it_means(
    journal: dj.Journal, connections, statement: str, code: str, expected: str
) -> None:
    """Also where it is written as ours is: its names may have meant what somebody made."""
    commit(connections[0], statement)
    [finding] = journal.verify().findings
    assert finding.code == code
    assert [name[: len(expected)] for name in finding.objects] == [expected]
    assert not journal.repair().left.is_clean


@pytest.fixture
def stranger(url: str, connections) -> Iterator[str]:
    """A role that is not the installing one."""
    name = f"stranger_{sa.make_url(url).database}"
    commit(connections[0], f"CREATE ROLE {name}; CREATE SCHEMA AUTHORIZATION {name}")
    commit(
        connections[0],
        f"CREATE FUNCTION {name}.spy() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''planted''; END';"
        f"ALTER FUNCTION {name}.spy() OWNER TO {name}",
    )
    yield name
    commit(connections[0], f"REASSIGN OWNED BY {name} TO CURRENT_USER; DROP OWNED BY {name} CASCADE; DROP ROLE {name}")


@pytest.mark.acceptance("105")
@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("ALTER SCHEMA dms OWNER TO {0}", {"owner-differs": ["schema dms (is owned by {0})"]}),
        ("ALTER TABLE dms.alembic_version OWNER TO {0}", {"owner-differs": ["alembic_version (is owned by {0})"]}),
        ("GRANT CREATE ON SCHEMA dms TO {0}", {"schema-open": ["schema dms (role {0} may create objects in it)"]}),
        ("GRANT TRIGGER ON dms.Document TO {0}", {"table-open": ["table dms.document (role {0} may create triggers on it)"]}),
        ("GRANT ALL ON dms.JournalFloor TO PUBLIC", {"table-open": ["table dms.journalfloor (PUBLIC may create triggers on it)"]}),
        (
            "CREATE DOMAIN dms.text AS pg_catalog.text; ALTER DOMAIN dms.text OWNER TO {0}",
            {"owner-differs": ["type dms.text (is owned by {0})"]},
        ),
        (
            "CREATE TRIGGER planted AFTER UPDATE ON dms.Document FOR EACH ROW EXECUTE FUNCTION {0}.spy()",
            {
                "object-foreign": [
                    "trigger planted on dms.document (it uses function {0}.spy(), which belongs to role {0})",
                ]
            },
        ),
    ],
)
def test_what_another_role_owns_is_named_and_nothing_is_read(
    journal: dj.Journal, connections, stranger: str, statement: str, expected: dict[str, list[str]]
) -> None:
    """An unstamped document is there, and is not looked at, unless another role can only create something."""
    past_triggers(connections[0], "INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion) VALUES ('a', 'b', 'c')")
    past_triggers(connections[0], "INSERT INTO dms.Document (ResourceKeyId) VALUES (1)")
    commit(connections[0], statement.format(stranger))
    named = {code: [text.format(stranger) for text in texts] for code, texts in expected.items()}
    stops = not {"schema-open", "table-open"} & set(expected)
    read = {} if stops else {"document-unstamped": [1]}
    assert found(journal.verify()) == named | read
    assert found(journal.repair().left) == named  # with the trigger, a repair would have run it
    subjects = [text.partition(" (")[0] for texts in named.values() for text in texts]
    trust = ["table dms.alembic_version" if subject == "alembic_version" else subject for subject in subjects]
    assert found(journal.verify(trust=trust)) == ({"document-unstamped": [1]} if stops else {})


def test_a_trust_in_what_is_the_installing_roles_is_refused(journal: dj.Journal) -> None:
    with pytest.raises(dj.InvalidRequest, match="trust = 'schema dms': the installing role owns it"):
        journal.verify(trust=["schema dms"])


def test_a_superuser_repairs_as_the_installing_role(postgres_server) -> None:
    """What it makes again is that role's, and only a foreign key's triggers need more."""
    with postgres_server.fresh_database() as url:
        name = f"owner_{sa.make_url(url).database}"
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        with engine.connect() as admin:
            commit(
                admin, f"CREATE ROLE {name} LOGIN PASSWORD 'secret'; GRANT CREATE ON DATABASE {sa.make_url(url).database} TO {name}"
            )
            owner = sa.make_url(url).set(username=name, password="secret")
            try:
                migrate.upgrade(owner)
                commit(admin, "ALTER TABLE dms.ReferenceEdge DISABLE TRIGGER ALL")
                commit(admin, "DROP FUNCTION dms.journal_identity() CASCADE")
                with dj.connect(owner) as journal:
                    left = journal.repair().left
                assert set(found(left)) == {"constraint-altered"}
                assert "where a superuser runs it" in left.findings[0].remedy
                commit(admin, "DROP FUNCTION dms.journal_identity() CASCADE")
                with dj.connect(url) as journal:
                    assert found(journal.repair().left) == {}
            finally:
                commit(admin, f"DROP OWNED BY {name} CASCADE; DROP ROLE {name}")


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
    with consumer.journal.database.session() as session:
        assert session.conn.exec_driver_sql("SHOW lock_timeout").scalar() == "30s"  # as connect.sql sets it


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
    writing, runs = verify._Repairer._writing, iter(range(1, 1000))

    def stopping(repairer):
        if next(runs) == step:
            raise KeyboardInterrupt
        return writing(repairer)

    with monkeypatch.context() as patched:
        patched.setattr(verify._Repairer, "_writing", stopping)
        try:
            consumer.journal.repair()
        except KeyboardInterrupt:
            consumer.catch_up()
    assert consumer.journal.repair().left.is_clean
    consumer.catch_up()
    assert consumer.copy == consumer.everything()


def test_every_trigger_routine_and_view_of_the_release_is_compared(journal: dj.Journal, connections) -> None:
    """What the installed revision has and what the schema has are the same names: nothing is left out."""
    from dmsjournal.schema.drift import shipped_objects

    with journal.database.session() as session:
        shipped = set(shipped_objects(session))
        installed = {(row.kind, row.name.lower()) for row in session.execute("schema/verify_objects")}
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
    migrate.upgrade(url, options=["max_dep_identity_version"])
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
    migrate.upgrade(url, options=["max_dep_identity_version"])
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
    migrate.upgrade(url, options=["images"])
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
    migrate.upgrade(url, options=["images"])
    populate(url)
    with dj.connect(url) as journal:
        commit(connections[0], "DELETE FROM dms.DocumentImageFloor")
        with pytest.raises(dj.UnsupportedCapability, match="verify --repair"):
            journal.images_since()
        repair = journal.repair()
        assert (found(repair.found), found(repair.left)) == ({"floor-missing": ["DocumentImageFloor"]}, {})
        assert journal.images_since() == newest(journal)


@pytest.mark.parametrize(
    "constraint",
    [
        "dms.ReferenceEdge FK_ReferenceEdge_Parent FOREIGN KEY (ParentDocumentId)"
        " REFERENCES dms.Document (DocumentId) ON DELETE CASCADE",
        "dms.Document CK_Document_KeyValues CHECK (pg_column_size(KeyValues) <= 65536 AND octet_length(KeyValues::text) <= 8192)",
    ],
    ids=["a foreign key", "a check"],
)
@pytest.mark.parametrize("how", ["NOT VALID", "NOT ENFORCED"])
def test_repair_makes_a_constraint_hold_again(journal: dj.Journal, connections, constraint: str, how: str) -> None:
    """Rows that break it meanwhile leave it a finding, and no error."""
    if how == "NOT ENFORCED" and connections[0].dialect.server_version_info < (18,):
        pytest.skip("NOT ENFORCED is of PostgreSQL 18")
    table, name, definition = constraint.split(" ", 2)
    write(journal, document(PLAN, 1), document(SECTION, 1))
    commit(connections[0], f"ALTER TABLE {table} DROP CONSTRAINT {name}, ADD CONSTRAINT {name} {definition} {how}")
    assert "constraint-altered" in found(journal.verify())
    if name == "CK_Document_KeyValues":
        commit(connections[0], f"ALTER TABLE {table} DROP CONSTRAINT {name}")
        commit(
            connections[0],
            "UPDATE dms.Document SET KeyValues = jsonb_build_object('schoolId', repeat('x', 9000)) WHERE DocumentId = 2",
        )
        commit(connections[0], f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition} {how}")
        assert "constraint-altered" in found(journal.repair().left)
        commit(connections[0], "DELETE FROM dms.Document WHERE DocumentId = 2")
        commit(connections[0], "DELETE FROM dms.DocumentDeleteEvent; DELETE FROM dms.KeyChangeEvent")
    assert "constraint-altered" not in found(journal.repair().left)
    [(holds,)] = commit(connections[0], f"SELECT convalidated FROM pg_constraint WHERE conname = '{name.lower()}'")
    assert holds
