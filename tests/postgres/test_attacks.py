"""Attacks (docs/dba/roles.md), each by the role that makes it: a writer, a reader or a pruner with the rights of grants.sql.

Whatever such a role does, each change of a document is told, no event and no image of another transaction changes, and nothing that
it planted runs with more rights than its own.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.schema import adopt, migrate
from tests import planted
from tests.helpers import PLAN, SCHOOL, STUDENT, commit, document, expected_changes, in_psycopg, newest, stamps, write
from tests.postgres import test_rights

Client = psycopg.Connection[Any]

urls = test_rights.urls
client = test_rights.client

STUDENT_ID, OTHER_ID, PLAN_ID, SCHOOL_ID = range(1, 5)
LOCK_OF_FLOOR_0 = 0x444A << 48
WAITING = 2**63 - 1  # the version of an image that waits for its document's next event


@pytest.fixture
def written(journal: dj.Journal) -> dj.Journal:
    """Students 1 and 2, plan 3 that refers to student 1, school 4; the plan's stamp is above those of the students."""
    student, other = document(STUDENT, 1, body={"name": "Ada"}), document(STUDENT, 2)
    write(journal, student, other, document(PLAN, 1, student), document(SCHOOL, 1))
    return journal


@pytest.fixture
def superuser(url: str) -> Iterator[Client]:
    with psycopg.connect(in_psycopg(url), autocommit=True) as session:
        yield session


def restored(superuser: Client, document_id: int, transaction_id: str) -> int:
    """Gives a document's events another transaction id, as a dump from another cluster brings them; returns the id."""
    ids = superuser.execute(
        f"UPDATE dms.DocumentChangeEvent SET TransactionId = {transaction_id} WHERE DocumentId = {document_id}"
        " RETURNING TransactionId"
    ).fetchall()
    return int(ids[0][0])


@contextmanager
def transaction_that_comes_again(superuser: Client, writer: Client, document_id: int, first: str = "") -> Iterator[None]:
    """A writer's transaction that has the id of a restored document's events: it uses up ids until that one is its turn."""
    for _ in range(100):
        wanted = restored(superuser, document_id, "pg_current_xact_id()::text::bigint + 3")
        for _ in range(3):
            writer.execute("BEGIN")
            [(own,)] = writer.execute("SELECT pg_current_xact_id()::text::bigint")
            if own == wanted:
                if first:
                    writer.execute(first)
                yield
                writer.execute("COMMIT")
                return
            writer.execute("ROLLBACK")
    raise AssertionError("other transactions took the id each time")


FORGED = "SET LOCAL dms.entered_at = '0'"
BY_HAND = f"SELECT pg_advisory_xact_lock_shared({LOCK_OF_FLOOR_0})"
STAMPED = f"UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = {SCHOOL_ID}"
PRELUDES = {  # each makes the last stamp of the plan look like one of this transaction's
    "setting": FORGED,
    "setting-and-lock": f"{FORGED}; {BY_HAND}",
    "setting-after-a-stamp": f"{STAMPED}; {FORGED}",
    "setting-before-a-stamp": f"{FORGED}; {STAMPED}",
    "savepoint": f"{FORGED}; {STAMPED}; SAVEPOINT s; {STAMPED}",
    "savepoint-rolled-back": f"SAVEPOINT s; {FORGED}; {STAMPED}; ROLLBACK TO s; {FORGED}; {BY_HAND}",
    "row-rewritten": f"{FORGED}; UPDATE dms.Document SET CreatedAt = CreatedAt WHERE DocumentId = {PLAN_ID}",
    "session-setting": f"SELECT set_config('dms.entered_at', '0', false); {STAMPED}",
}
EDGES = {
    "insert": f"INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES ({PLAN_ID}, {OTHER_ID})",
    "delete": f"DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId = {PLAN_ID}",
    "re-point": f"UPDATE dms.ReferenceEdge SET ChildDocumentId = {OTHER_ID} WHERE ParentDocumentId = {PLAN_ID}",
}


@pytest.mark.acceptance("108")
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("prelude", PRELUDES)
def test_a_transaction_id_that_comes_again_hides_no_edge(
    written: dj.Journal, urls, superuser: Client, connections, prelude: str, edge: str
) -> None:
    before = newest(written)
    with client(urls["writer"]) as writer, transaction_that_comes_again(superuser, writer, PLAN_ID, PRELUDES[prelude]):
        writer.execute(EDGES[edge])
    assert [change.document_id for change in written.changes(PLAN, dj.Window(before + 1))] == [PLAN_ID]
    assert list(written.changes(PLAN)) == expected_changes(connections[0], written.resources()[PLAN])
    assert written.verify().is_clean


@pytest.mark.acceptance("108")
@pytest.mark.parametrize("edge", EDGES)
def test_a_transaction_that_began_before_the_restore_hides_no_edge(written: dj.Journal, urls, superuser: Client, edge: str) -> None:
    """The restored rows are then from a transaction with a higher id, as a savepoint's rows are."""
    before = newest(written)
    with client(urls["writer"]) as writer:
        writer.execute("BEGIN")
        [(own,)] = writer.execute("SELECT pg_current_xact_id()::text::bigint")
        restored(superuser, PLAN_ID, str(own))
        writer.execute(FORGED)
        writer.execute(EDGES[edge])
        writer.execute("COMMIT")
    assert [change.document_id for change in written.changes(PLAN, dj.Window(before + 1))] == [PLAN_ID]


@pytest.mark.parametrize(
    "before",
    ["", "SAVEPOINT s", "DO $$ BEGIN PERFORM pg_current_xact_id(); EXCEPTION WHEN OTHERS THEN NULL; END $$"],
    ids=["plain", "savepoint", "after-a-block"],
)
@pytest.mark.parametrize("after", ["", "SAVEPOINT t", "RELEASE s", "SAVEPOINT t; SAVEPOINT u"])
def test_a_transaction_knows_its_own_stamps_again_at_every_savepoint(
    written: dj.Journal, urls, connections, before: str, after: str
) -> None:
    with client(urls["writer"]) as writer:
        writer.execute("BEGIN")
        writer.execute("SELECT age('3'::xid)")  # a session's notion of the latest id, before it has one
        if before:
            writer.execute(before)
        writer.execute(f"UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = {PLAN_ID}")
        if after and not (after.startswith("RELEASE") and before != "SAVEPOINT s"):
            writer.execute(after)
        writer.execute(EDGES["insert"])
        writer.execute(EDGES["delete"])
        writer.execute("COMMIT")
    assert stamps(connections[0], PLAN_ID) == (newest(written), 3)
    assert newest(written) == 5  # one stamp for the three of them


@pytest.fixture
def kept(written: dj.Journal, url: str) -> Iterator[dj.Journal]:
    """With options images and context: student 1 has an event with a body and with what its writer said."""
    migrate.upgrade(url, options=["images", "context"])
    with dj.connect(url) as journal:
        with journal.write(dj.Context(user="ada")) as tx:
            tx.upsert(document(STUDENT, 1, body={"name": "Max"}))
        yield journal


def images_of(connection: sa.Connection, document_id: int) -> list[tuple[Any, ...]]:
    rows = commit(
        connection,
        "SELECT ChangeVersion, BodyBefore, BodyAfter FROM dms.DocumentImage"
        f" WHERE DocumentId = {document_id} ORDER BY ChangeVersion",
    )
    return [tuple(row) for row in rows]


@pytest.mark.acceptance("108")
@pytest.mark.parametrize("prelude", PRELUDES)
def test_a_transaction_id_that_comes_again_rewrites_no_image(
    kept: dj.Journal, urls, superuser: Client, connections, prelude: str
) -> None:
    last = newest(kept)
    body = """INSERT INTO dms.DocumentCache (DocumentId, DocumentJson, Etag, ComputedVersion)
              VALUES (1, '{"name": "forged"}', '', 0)
              ON CONFLICT (DocumentId) DO UPDATE SET DocumentJson = excluded.DocumentJson"""
    first = PRELUDES[prelude].replace(f"DocumentId = {PLAN_ID}", f"DocumentId = {STUDENT_ID}")
    with client(urls["writer"]) as writer, transaction_that_comes_again(superuser, writer, STUDENT_ID, first):
        writer.execute(body)
    assert images_of(connections[0], STUDENT_ID) == [
        (last, {"name": "Ada"}, {"name": "Max"}),
        (WAITING, {"name": "Max"}, {"name": "forged"}),
    ]


@pytest.mark.acceptance("108")
@pytest.mark.parametrize("statement", ["UPDATE dms.DocumentCache SET DocumentJson = '{\"n\": 1}'", "DELETE FROM dms.DocumentCache"])
def test_a_tombstone_of_before_keeps_its_image(kept: dj.Journal, urls, superuser: Client, connections, statement: str) -> None:
    """A document that comes again under the id of one that is gone has images of its own."""
    with kept.write() as tx:
        tx.delete(STUDENT, {"studentId": 1}, cascade=True)
    gone = images_of(connections[0], STUDENT_ID)
    with client(urls["writer"]) as writer:
        writer.execute(
            f"INSERT INTO dms.Document (DocumentId, ResourceKeyId) SELECT {STUDENT_ID}, ResourceKeyId FROM dms.Document LIMIT 1"
        )
        writer.execute(
            "INSERT INTO dms.DocumentCache (DocumentId, DocumentJson, Etag, ComputedVersion)"
            f" VALUES ({STUDENT_ID}, '{{\"n\": 0}}', '', 0)"
        )
        with transaction_that_comes_again(superuser, writer, STUDENT_ID, FORGED):
            writer.execute(statement)
            writer.execute(f"DELETE FROM dms.Document WHERE DocumentId = {STUDENT_ID}")
    assert images_of(connections[0], STUDENT_ID)[: len(gone)] == gone


@pytest.mark.acceptance("108")
@pytest.mark.parametrize("prelude", PRELUDES)
def test_a_transaction_id_that_comes_again_says_nothing_of_what_was_before(
    kept: dj.Journal, urls, superuser: Client, prelude: str
) -> None:
    last = newest(kept)
    superuser.execute("UPDATE dms.ChangeContext SET TransactionId = -1")  # else it is found first
    first = PRELUDES[prelude].replace(f"DocumentId = {PLAN_ID}", f"DocumentId = {STUDENT_ID}")
    with client(urls["writer"]) as writer, transaction_that_comes_again(superuser, writer, STUDENT_ID, first):
        writer.execute('SET LOCAL dmsjournal.context = \'{"user": "forged"}\'')
        writer.execute(f"UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = {OTHER_ID}")
        [(own,)] = writer.execute(f"SELECT ContentVersion FROM dms.Document WHERE DocumentId = {OTHER_ID}")
    said = kept.contexts([(last, STUDENT_ID), (own, OTHER_ID)])
    assert {version for version, _ in said} == {own}


# Adoption: what another role has planted on the tables must not run with the rights of the installing role.

PLANTED = {
    "trigger": "CREATE TRIGGER planted BEFORE UPDATE ON dms.Document FOR EACH ROW EXECUTE FUNCTION planted.as_trigger()",
    "default": "ALTER TABLE dms.Document ADD COLUMN note integer DEFAULT planted.as_number()",
    "check": "ALTER TABLE dms.Document ADD CHECK (planted.as_number() > 0) NOT VALID",
    "index": "CREATE INDEX planted ON dms.Document ((planted.of_number(ResourceKeyId)))",
    "policy": "CREATE POLICY planted ON dms.Document USING (planted.as_number() > 0)",
    "operator": "ALTER TABLE dms.Document ADD CHECK (ResourceKeyId OPERATOR(planted.=) 1) NOT VALID",
    "domain": "ALTER TABLE dms.Document ADD COLUMN note planted.number",
    "type-with-a-cast": "ALTER TABLE dms.Document ADD COLUMN note planted.mood",
}
PLANT = """
CREATE SCHEMA planted AUTHORIZATION {role};
SET ROLE {role};
CREATE FUNCTION planted.spy() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    IF current_user <> '{role}' THEN EXECUTE 'ALTER ROLE {role} SUPERUSER'; END IF;
EXCEPTION WHEN insufficient_privilege THEN NULL; END $$;
CREATE FUNCTION planted.as_number() RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM planted.spy(); RETURN 1; END';
CREATE FUNCTION planted.of_number(smallint) RETURNS integer LANGUAGE plpgsql IMMUTABLE
    AS 'BEGIN PERFORM planted.spy(); RETURN 1; END';
CREATE FUNCTION planted.as_trigger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM planted.spy(); RETURN NEW; END';
CREATE FUNCTION planted.equal(smallint, integer) RETURNS boolean LANGUAGE plpgsql
    AS 'BEGIN PERFORM planted.spy(); RETURN true; END';
CREATE OPERATOR planted.= (LEFTARG = smallint, RIGHTARG = integer, FUNCTION = planted.equal);
CREATE DOMAIN planted.number AS integer CHECK (planted.as_number() > 0);
CREATE TYPE planted.mood AS ENUM ('good');
CREATE FUNCTION planted.as_text(planted.mood) RETURNS text LANGUAGE plpgsql AS 'BEGIN PERFORM planted.spy(); RETURN ''x''; END';
CREATE CAST (planted.mood AS text) WITH FUNCTION planted.as_text(planted.mood) AS IMPLICIT;
RESET ROLE;
GRANT USAGE ON SCHEMA planted TO PUBLIC;
"""


@pytest.fixture
def adoptable(postgres_server) -> Iterator[tuple[str, Client, str]]:
    """A database with tables of another program, owned by the superuser; and a role that has functions and types of its own."""
    with postgres_server.fresh_database() as url, psycopg.connect(in_psycopg(url), autocommit=True) as admin:
        role = f"planter_{admin.info.dbname}"
        admin.execute(f"CREATE ROLE {role}")
        for statement in (
            "CREATE SCHEMA dms",
            "CREATE TABLE dms.ResourceKey (ResourceKeyId smallint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,"
            " ProjectName varchar(256) NOT NULL, ResourceName varchar(256) NOT NULL, ResourceVersion varchar(64) NOT NULL)",
            "CREATE TABLE dms.Document (DocumentId bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,"
            " DocumentUuid uuid NOT NULL DEFAULT gen_random_uuid(), ResourceKeyId smallint NOT NULL, KeyValues jsonb)",
            "INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion) VALUES ('Ed-Fi', 'Student', '5')",
            "INSERT INTO dms.Document (ResourceKeyId) SELECT 1 FROM generate_series(1, 20)",
            PLANT.format(role=role),
        ):
            admin.execute(statement)
        try:
            yield url, admin, role
        finally:
            admin.execute(f"DROP OWNED BY {role} CASCADE")
            admin.execute(f"DROP ROLE {role}")


def assert_nothing_ran(admin: Client, role: str) -> None:
    assert admin.execute("SELECT rolsuper FROM pg_roles WHERE rolname = %s", (role,)).fetchone() == (False,)


@pytest.mark.parametrize("kind", PLANTED)
def test_an_adoption_runs_nothing_that_another_role_has_planted(adoptable: tuple[str, Client, str], kind: str) -> None:
    url, admin, role = adoptable
    admin.execute(PLANTED[kind])
    admin.execute(f"ALTER ROLE {role} NOSUPERUSER")  # what making an index or a check has run already
    with pytest.raises(dj.AdoptionRefused, match=rf"which belongs to role {role}"):
        adopt.adopt(url, content_columns=["note"] if "note" in PLANTED[kind] else [])
    assert_nothing_ran(admin, role)


@pytest.mark.parametrize("kind", ["owner", "view"])
def test_an_adoption_reads_nothing_of_what_is_not_its_own(adoptable: tuple[str, Client, str], kind: str) -> None:
    url, admin, role = adoptable
    if kind == "owner":
        admin.execute(f"GRANT ALL ON SCHEMA dms TO {role}; ALTER TABLE dms.Document OWNER TO {role}; SET ROLE {role}")
        admin.execute("CREATE TRIGGER planted BEFORE UPDATE ON dms.Document FOR EACH ROW EXECUTE FUNCTION planted.as_trigger()")
    else:
        admin.execute(f"GRANT ALL ON SCHEMA dms TO {role}; DROP TABLE dms.Document; SET ROLE {role}")
        admin.execute("CREATE VIEW dms.Document AS SELECT planted.as_number()::bigint AS DocumentId, 1::smallint AS ResourceKeyId")
    admin.execute("RESET ROLE")
    with pytest.raises(dj.AdoptionRefused, match=f"role postgres does not own it, {role} does"):
        adopt.adopt(url)
    assert_nothing_ran(admin, role)


# Attacks that were repelled, and stay so.

REFUSED = {  # by the role that tries it; none of them has a right to it
    "event-trigger": "CREATE EVENT TRIGGER mine ON ddl_command_end EXECUTE FUNCTION dms.refuse_truncate()",
    "replica-role": "SET session_replication_role = replica",
    "replication-origin": "SELECT pg_replication_origin_create('mine')",
    "slot": "SELECT pg_create_logical_replication_slot('mine', 'pgoutput')",
    "publication": "CREATE PUBLICATION mine FOR TABLE dms.Document",
    "policy": "CREATE POLICY mine ON dms.Document USING (false)",
    "row-security": "ALTER TABLE dms.Document ENABLE ROW LEVEL SECURITY",
    "rule": "CREATE RULE mine AS ON INSERT TO dms.DocumentChangeEvent DO INSTEAD NOTHING",
    "trigger": "CREATE TRIGGER mine BEFORE TRUNCATE ON dms.Document EXECUTE FUNCTION dms.refuse_truncate()",
    "disable-trigger": "ALTER TABLE dms.Document DISABLE TRIGGER ALL",
    "index": "CREATE INDEX mine ON dms.Document ((CreatedAt::text::date))",
    "statistics": "CREATE STATISTICS mine ON ResourceKeyId, DocumentId FROM dms.Document",
    "reindex": "REINDEX TABLE dms.Document",
    "inherit": "CREATE TABLE pg_temp.mine () INHERITS (dms.Document)",
    "setval": "SELECT setval('dms.changeversionsequence', 9223372036854775807)",
    "restart": "ALTER SEQUENCE dms.changeversionsequence RESTART WITH 1",
    "floor": "UPDATE dms.JournalFloor SET ChangeVersion = 9223372036854775807 WHERE false",
    "revision": "UPDATE dms.alembic_version SET version_num = 'x'",
    "lock": "BEGIN; LOCK TABLE dms.DocumentChangeEvent IN ACCESS EXCLUSIVE MODE",
    "comment": "COMMENT ON TABLE dms.Document IS NULL",
    "own-row": "SELECT dms.is_own_row(1, '1'::xid, 1)",
    "default-rights": "ALTER DEFAULT PRIVILEGES FOR ROLE postgres IN SCHEMA dms GRANT ALL ON TABLES TO PUBLIC",
}


@pytest.mark.parametrize("attack", REFUSED)
@pytest.mark.parametrize("role", ["writer", "reader"])
def test_what_a_role_has_no_right_to_is_refused(written: dj.Journal, urls, role: str, attack: str) -> None:
    with client(urls[role]) as session, pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute(REFUSED[attack])


WRITES = {  # each is allowed, and told as what it is
    "stamp": f"UPDATE dms.Document SET ContentVersion = 9223372036854775807 WHERE DocumentId = {SCHOOL_ID}",
    "identity-stamp": f"UPDATE dms.Document SET IdentityVersion = -9223372036854775808 WHERE DocumentId = {SCHOOL_ID}",
    "merge": f"""MERGE INTO dms.Document AS d USING (VALUES ({SCHOOL_ID}::bigint), (77)) AS w (id) ON d.DocumentId = w.id
                 WHEN MATCHED THEN UPDATE SET ContentVersion = 9223372036854775807
                 WHEN NOT MATCHED THEN INSERT (ResourceKeyId, ContentVersion) VALUES (1, 9223372036854775807)""",
    "constraints": f"""BEGIN; SET CONSTRAINTS ALL DEFERRED;
                       UPDATE dms.Document SET IdentityVersion = 0 WHERE DocumentId = {STUDENT_ID};
                       SET CONSTRAINTS ALL IMMEDIATE; UPDATE dms.Document SET IdentityVersion = 0 WHERE DocumentId = {STUDENT_ID};
                       COMMIT""",
    "two-phase": f"""BEGIN; SET LOCAL dms.entered_at = '0';
                     UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = {SCHOOL_ID};
                     PREPARE TRANSACTION 'attack'; COMMIT PREPARED 'attack'""",
}


@pytest.mark.parametrize("attack", WRITES)
def test_what_a_writer_may_write_is_told(written: dj.Journal, urls, connections, attack: str) -> None:
    before = newest(written)
    with client(urls["writer"]) as writer:
        for statement in WRITES[attack].split(";"):
            writer.execute(statement)
    assert before < newest(written) < 20
    for of, resource_key_id in written.resources().items():
        assert list(written.changes(of)) == expected_changes(connections[0], resource_key_id)
    assert written.verify().is_clean


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE dms.Document SET DocumentId = 99 WHERE DocumentId = {SCHOOL_ID}",
        f"UPDATE dms.Document SET DocumentUuid = gen_random_uuid() WHERE DocumentId = {SCHOOL_ID}",
        f"UPDATE dms.Document SET ResourceKeyId = 1 WHERE DocumentId = {SCHOOL_ID}",
        f"WITH gone AS (DELETE FROM dms.Document WHERE DocumentId = {SCHOOL_ID} RETURNING *)"
        " INSERT INTO dms.Document (DocumentUuid, ResourceKeyId) SELECT DocumentUuid, ResourceKeyId FROM gone",
    ],
    ids=["id", "uuid", "resource", "replaced"],
)
def test_a_document_is_not_exchanged_for_another(written: dj.Journal, urls, statement: str) -> None:
    with client(urls["writer"]) as writer, pytest.raises(psycopg.DatabaseError):
        writer.execute(statement)
    assert written.verify().is_clean
    assert len(list(written.changes(SCHOOL))) == 1


def test_a_part_of_a_journal_is_dropped_by_a_pruner_alone(request, journal: dj.Journal, url: str) -> None:
    """Nobody else may execute the function; a pruner that was made before the option may, and so may one that comes after."""
    before = request.getfixturevalue("urls")
    migrate.upgrade(url, options=["partitions"])
    call = "SELECT dms.drop_partition('DocumentChangeEvent', 'none', '{}')"
    for role in ("writer", "reader"):
        with client(before[role]) as session, pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute(call)
    with client(before["pruner"]) as pruner:
        assert pruner.execute(call).fetchone() == (True,)


PLANTED_AROUND = {  # by a reader, in a schema of its own; each makes the server refuse to drop what is ours
    "view": "CREATE VIEW {schema}.planted AS SELECT DocumentId FROM dms.DocumentChangeEvent",
    "materialized view": "CREATE MATERIALIZED VIEW {schema}.planted AS SELECT ChangeVersion FROM dms.DocumentChangeEvent",
    "column": "CREATE TABLE {schema}.planted (d dms.DocumentDeleteEvent)",
    "function": "CREATE FUNCTION {schema}.planted(dms.KeyChangeEvent) RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "operator": "CREATE FUNCTION {schema}.equal(dms.JournalFloor, dms.JournalFloor) RETURNS boolean LANGUAGE sql AS 'SELECT true';"
    " CREATE OPERATOR {schema}.= (LEFTARG = dms.JournalFloor, RIGHTARG = dms.JournalFloor, FUNCTION = {schema}.equal)",
}


@pytest.mark.parametrize("kind", PLANTED_AROUND)
def test_a_removal_names_what_a_reader_has_built_on_ours(written: dj.Journal, urls, url: str, superuser: Client, kind: str) -> None:
    """It runs nothing of that, and drops nothing of another role."""
    reader = str(urls["reader"].username)
    superuser.execute(f"CREATE SCHEMA {reader} AUTHORIZATION {reader}")
    with client(urls["reader"]) as session:
        session.execute(PLANTED_AROUND[kind].format(schema=reader))
    with pytest.raises(
        dj.MigrationRefused, match=rf"(view|column|function|operator) .*{reader}.* depends on .*nothing was changed"
    ):
        migrate.downgrade(url, "base")
    assert written.verify().is_clean
    superuser.execute(f"DROP SCHEMA {reader} CASCADE")
    migrate.downgrade(url, "base")


HIDING = ["replica-role", "replication-origin", "publication", "policy", "disable-trigger", "setval", "floor"]


@pytest.mark.parametrize("attack", HIDING)
def test_the_replication_attribute_hides_no_write(written: dj.Journal, urls, superuser: Client, attack: str) -> None:
    """A writer with REPLICATION can hold WAL back and read all of it (docs/dba/security.md); the triggers fire as before."""
    superuser.execute(f"ALTER ROLE {urls['writer'].username} REPLICATION")
    with client(urls["writer"]) as writer:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            writer.execute(REFUSED[attack])
        writer.execute(f"UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = {SCHOOL_ID}")
    assert [change.document_id for change in written.changes(SCHOOL)] == [SCHOOL_ID]
    assert written.verify().is_clean


def test_nothing_of_ours_listens_or_notifies() -> None:
    """So a flood of notifications, or a listener that never reads, delays and stops nothing of ours."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in planted.SQL.rglob("*.sql")}
    assert [name for name, text in texts.items() if re.search(r"(?i)\b(LISTEN|NOTIFY|pg_notify)\b", text)] == []


def test_code_of_an_owner_leaves_the_role_that_a_superuser_took(url: str, superuser: Client) -> None:
    """So docs/dba/install.md asks for a login of the owner's, and docs/dba/security.md keeps superusers away from its schema."""
    owner = f"owner_{superuser.info.dbname}"
    superuser.execute(f"CREATE ROLE {owner}; CREATE SCHEMA {owner} AUTHORIZATION {owner}")
    try:
        with psycopg.connect(in_psycopg(url), options=f"-c role={owner}", autocommit=True) as session:
            session.execute(f"CREATE TABLE {owner}.floor (v int)")
            session.execute(
                f"CREATE FUNCTION {owner}.rise() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN SET ROLE postgres;"
                f" ALTER ROLE {owner} SUPERUSER; RETURN NULL; END $$"
            )
            session.execute(f"CREATE TRIGGER rise AFTER INSERT ON {owner}.floor FOR EACH ROW EXECUTE FUNCTION {owner}.rise()")
            session.execute(f"INSERT INTO {owner}.floor VALUES (1)")
        assert superuser.execute("SELECT rolsuper FROM pg_roles WHERE rolname = %s", (owner,)).fetchone() == (True,)
    finally:
        superuser.execute(f"DROP OWNED BY {owner} CASCADE; DROP ROLE {owner}")


def test_a_role_that_makes_roles_does_not_become_the_installing_one(written: dj.Journal, superuser: Client) -> None:
    """A superuser cannot be granted by CREATEROLE; from PostgreSQL 16 on, no role that it has no ADMIN OPTION on can."""
    maker, installer = f"maker_{superuser.info.dbname}", f"installer_{superuser.info.dbname}"
    superuser.execute(f"CREATE ROLE {maker} CREATEROLE; CREATE ROLE {installer}")
    try:
        superuser.execute(f"SET ROLE {maker}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            superuser.execute(f"GRANT postgres TO {maker}")
        if superuser.info.server_version >= 160000:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                superuser.execute(f"GRANT {installer} TO {maker}")
    finally:
        superuser.execute(f"RESET ROLE; DROP ROLE {maker}; DROP ROLE {installer}")
