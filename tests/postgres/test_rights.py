"""Rights (docs/dba/roles.md): a writer of documents and edges fills the journals, and can do nothing else to them.

The writer here is hostile: whatever it sets, creates or shadows, each change that it makes is journaled (invariant 2), its stamps
stay above the horizon until it commits (invariant 5), and nothing of its own runs with the rights of the installing role.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

import dmsjournal as dj
from dmsjournal.database import sql as statements
from dmsjournal.read.contexts import Context
from dmsjournal.schema import fill, migrate
from tests.consumer import PLAN_ID, Consumer, found, past_triggers
from tests.helpers import (
    PLAN,
    SCHOOL,
    STUDENT,
    commit,
    document,
    expected_changes,
    identity_events,
    in_psycopg,
    newest,
    stamps,
    unjournaled,
    write,
)
from tests.http.conftest import ADMIN, bearer, in_process, settings_of

Client = psycopg.Connection[Any]

JOURNALS = ["DocumentChangeEvent", "IdentityChangeEvent", "DocumentDeleteEvent", "KeyChangeEvent"]
READABLE = {"alembic_version", "DocumentDeleteEvent"}  # for the API: is it installed, and has a lifetime of a uuid ended
OURS = [*JOURNALS, "JournalFloor", "ChangeConsumer", "FeedDatabase", "FeedGeneration", "ResourceDependency", "alembic_version"]


@pytest.fixture
def urls(url: str) -> Iterator[dict[str, sa.URL]]:
    """The URLs of the roles that have what sql/postgres/roles/grants.sql gives: a writer, a reader and a pruner."""
    with psycopg.connect(in_psycopg(url), autocommit=True) as admin:
        names = {role: f"{role}_{admin.info.dbname}" for role in ("writer", "reader", "pruner")}
        for name in names.values():
            admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'secret'")
        grants = statements.text_of("postgres", "roles/grants").replace("\\set ON_ERROR_STOP on\n", "")
        admin.execute(re.sub(r':"(writer|reader|pruner)"', lambda role: sql.Identifier(names[role[1]]).as_string(), grants))
        yield {role: sa.make_url(url).set(username=name, password="secret") for role, name in names.items()}
        for name in names.values():
            admin.execute(f"DROP OWNED BY {name}")
            admin.execute(f"DROP ROLE {name}")


@pytest.fixture
def written(journal: dj.Journal) -> dj.Journal:
    """Documents 1 (a student), 2 (a plan that refers to it) and 3 (a school), at versions 1 to 3."""
    student = document(STUDENT, 1, body={"name": "Ada"})
    write(journal, student, document(PLAN, 1, student), document(SCHOOL, 1))
    return journal


def make_consumer(connection: sa.Connection, url: sa.URL) -> None:
    """Gives a role what sql/postgres/roles/consumer.sql gives."""
    grants = statements.text_of("postgres", "roles/consumer").replace("\\set ON_ERROR_STOP on\n", "")
    grants = grants.replace("BEGIN;\n", "").replace("COMMIT;\n", "").replace(':"consumer"', f'"{url.username}"')
    commit(connection, grants)


@contextmanager
def client(url: sa.URL) -> Iterator[Client]:
    with psycopg.connect(in_psycopg(url), autocommit=True) as connected:
        yield connected


def test_a_writer_writes_everything_in_plain_sql(written: dj.Journal, urls, connections) -> None:
    with client(urls["writer"]) as writer:
        for statement in (
            "INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion) VALUES ('Ed-Fi', 'Section', '5.2.0')",
            "INSERT INTO dms.Document (ResourceKeyId, KeyValues) SELECT ResourceKeyId, '{\"n\": 1}' FROM dms.ResourceKey",
            "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (4, 1), (5, 1), (3, 1)",
            "UPDATE dms.Document SET ContentVersion = 0, KeyValues = '{\"n\": 2}' WHERE DocumentId = 5",
            "UPDATE dms.ReferenceEdge SET ChildDocumentId = 3 WHERE ParentDocumentId IN (4, 5)",
            "DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId = 5",
            "DELETE FROM dms.Document WHERE DocumentId IN (2, 5)",
        ):
            writer.execute(statement)
    assert not unjournaled(connections[0])
    for of, resource_key_id in written.resources().items():
        assert list(written.changes(of)) == expected_changes(connections[0], resource_key_id)
    assert len(list(written.deletes(PLAN))) + sum(len(list(written.deletes(of))) for of in (STUDENT, SCHOOL)) == 2
    assert len(identity_events(connections[0], 5)) == 1


def test_a_writer_writes_everything_with_the_api(written: dj.Journal, urls, connections) -> None:
    with dj.connect(urls["writer"]) as writer, writer.write() as tx:
        student = dj.Document(STUDENT, {"studentId": 2}, document_uuid=UUID(int=7))
        section = document(dj.ResourceKey("Ed-Fi", "Course", "5.2.0"), 1, student)
        outcomes = [outcome.outcome for outcome in tx.upsert_many([student, section, document(STUDENT, 1)])]
        assert outcomes == ["created", "created", "updated"]
        assert tx.rekey(STUDENT, {"studentId": 2}, {"studentId": 3}) == 1
        assert tx.delete(SCHOOL, {"schoolId": 1})
    assert not unjournaled(connections[0])
    assert len(list(written.deletes(SCHOOL))) == len(list(written.key_changes(STUDENT))) == 1


def test_a_reader_may_verify_and_only_the_installing_role_repair(consumer: Consumer, urls) -> None:
    past_triggers(consumer.connection, f"UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = {PLAN_ID}")
    with dj.connect(urls["reader"]) as reader:
        assert found(reader.verify()) == {"document-unstamped": [PLAN_ID]}
        with pytest.raises(dj.DatabaseRefused) as refused:
            reader.repair()
        assert refused.value.sqlstate == "42501"
    with dj.connect(urls["writer"]) as writer, pytest.raises(dj.DatabaseRefused):
        writer.verify()
    with client(urls["reader"]) as reader:
        for statement in ("SELECT nextval('dms.ChangeVersionSequence')", "SELECT setval('dms.ChangeVersionSequence', 1)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                reader.execute(statement)
    assert consumer.journal.repair().left.is_clean


def test_a_reader_reads_everything_and_writes_nothing(written: dj.Journal, urls) -> None:
    with written.write() as tx:
        tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 2})
        tx.delete(SCHOOL, {"schoolId": 1})
    with dj.connect(urls["reader"]) as reader:
        assert reader.versions() == written.versions()
        assert reader.resources() == written.resources()
        assert list(reader.changes(PLAN)) == list(written.changes(PLAN))
        assert list(reader.deletes(SCHOOL)) == list(written.deletes(SCHOOL))
        assert list(reader.key_changes(STUDENT)) == list(written.key_changes(STUDENT))
        assert reader.derive([1, 2]) == written.derive([1, 2])
        with pytest.raises(dj.DatabaseRefused) as refused, reader.write() as tx:
            tx.upsert(document(STUDENT, 9))
        assert refused.value.sqlstate == "42501"
        assert "secret" not in f"{refused.value} {refused.value!r} {reader!r}"
    with client(urls["reader"]) as reader:
        assert reader.execute("SELECT count(*) FROM dms.ResourceChange").fetchone() == (2,)
        for table in (*OURS, "Document", "ReferenceEdge", "DocumentCache", "ResourceKey"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                reader.execute(f"DELETE FROM dms.{table}")


def test_a_reader_follows_the_feed_and_only_the_installing_role_cuts_it(written: dj.Journal, urls, connections) -> None:
    with dj.connect(urls["reader"]) as reader:
        for scope in (dj.EntireCollection(), dj.LogicalPartition(STUDENT), dj.PhysicalPartition("1-0")):
            assert reader.read_changes(dj.FeedRequest(scope)).events == written.read_changes(dj.FeedRequest(scope)).events
        at = dj.FeedRequest(start=dj.AtTime(datetime(2020, 1, 1, tzinfo=UTC)), item_state=dj.NewItemStateMode.INCLUDE_IF_AVAILABLE)
        assert len(reader.read_changes(at).events) == newest(written)
        assert reader.list_physical_partitions() == written.list_physical_partitions()
        token = reader.read_changes(dj.FeedRequest()).token
        for refused in (lambda: reader.change_bucket_count(2), lambda: dj.DatabaseCheckpoint(reader, "index").save(token)):
            with pytest.raises(dj.DatabaseRefused):
                refused()
    make_consumer(connections[0], urls["reader"])
    with dj.connect(urls["reader"]) as reader:
        dj.DatabaseCheckpoint(reader, "index").save(token)
        assert dj.DatabaseCheckpoint(reader, "index").load() == token
    for other in ("writer", "pruner"):
        with dj.connect(urls[other]) as nobody, pytest.raises(dj.DatabaseRefused):
            nobody.read_changes(dj.FeedRequest())


def test_a_reader_reads_what_the_options_add_to_the_feed_unless_it_may_not(written: dj.Journal, urls, connections) -> None:
    url = written.database.pool.url.render_as_string(hide_password=False)
    migrate.upgrade(url, options=["images", "context"])
    with dj.connect(url) as journal:
        start = dj.FromToken(journal.read_changes(dj.FeedRequest(start=dj.Now())).token)
        with journal.write(dj.Context(user="ada")) as tx:
            tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 2})
    request = dj.FeedRequest(start=start, item_state=dj.NewItemStateMode.REQUIRE)
    with dj.connect(urls["reader"]) as reader:
        [event] = reader.read_changes(request).events
        assert (event.context, event.item_state is None) == ({"user": "ada"}, False)
        assert reader.effects([event])
    commit(connections[0], f'REVOKE SELECT ON dms.ChangeContext FROM "{urls["reader"].username}"')
    with dj.connect(urls["reader"]) as reader:
        with pytest.raises(dj.DatabaseRefused):
            reader.read_changes(request)
        [event] = reader.read_changes(replace(request, contexts=False)).events
        assert event.context is None


def test_a_pruner_prunes_and_keeps_the_consumers(written: dj.Journal, urls) -> None:
    with written.write() as tx:
        tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 2})
        tx.delete(SCHOOL, {"schoolId": 1})
    with dj.connect(urls["pruner"]) as pruner:
        assert pruner.versions() == written.versions()
        assert pruner.consumers.register("etl", 1).state == "current"
        assert pruner.prune(older_than=timedelta(), keep_at_least=1, dry_run=True).through == 1
        assert pruner.prune(5).held_by == pruner.consumers.get("etl")
        assert pruner.consumers.advance("etl", 5).through == 5
        assert pruner.prune(4).deleted == 5
        pruner.consumers.drop("etl")
        assert written.versions() == dj.ChangeVersions(5, 5)
    with dj.connect(urls["reader"]) as reader:
        assert list(reader.consumers.list()) == []
        for refused in (lambda: reader.prune(5), lambda: reader.consumers.register("etl")):
            with pytest.raises(dj.DatabaseRefused, match="permission denied"):
                refused()


def test_a_pruner_can_do_nothing_else(written: dj.Journal, urls) -> None:
    with client(urls["pruner"]) as pruner:
        for table in ("Document", "DocumentCache", "ReferenceEdge", "ResourceKey", "ResourceDependency", "ResourceChange"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                pruner.execute(f"SELECT FROM dms.{table}")
        for table in JOURNALS:
            for statement in ("UPDATE dms.{} SET ChangeVersion = 1", "INSERT INTO dms.{} SELECT", "TRUNCATE dms.{}"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    pruner.execute(statement.format(table))
        for statement in (
            "DELETE FROM dms.Document",
            "DELETE FROM dms.JournalFloor",
            "INSERT INTO dms.JournalFloor VALUES ('Document', 1)",
            "SELECT nextval('dms.ChangeVersionSequence')",
            "SELECT setval('dms.ChangeVersionSequence', 1)",
            "DELETE FROM dms.alembic_version",
            "CREATE TABLE dms.mine (n integer)",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                pruner.execute(statement)


def test_an_option_works_with_the_rights_that_were_granted_before_it(written: dj.Journal, urls, url: str, connections) -> None:
    migrate.upgrade(url, options=["max_dep_identity_version"])
    with pytest.raises(dj.DatabaseRefused, match=r"must be owner of table document.*as the installing role"):
        fill.fill(urls["writer"], "max_dep_identity_version")
    fill.fill(url, "max_dep_identity_version")
    with client(urls["writer"]) as writer, dj.connect(urls["reader"]) as reader:
        writer.execute("UPDATE dms.Document SET IdentityVersion = NULL WHERE DocumentId = 1")
        writer.execute("SELECT dms.horizon()")
        for of, resource_key_id in reader.resources().items():
            assert list(reader.changes(of)) == expected_changes(connections[0], resource_key_id)
        assert commit(connections[0], "SELECT count(*) FROM dms.Document WHERE MaxDepIdentityVersion > ContentVersion") == [(1,)]
        for statement in (
            "SELECT FROM dms.MaxDepIdentityPending",
            "INSERT INTO dms.MaxDepIdentityPending VALUES (1, false)",
            "SELECT dms.raise_pending()",
            "SELECT dms.fill_max_dep(1)",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                writer.execute(statement)


def test_a_writer_can_do_nothing_to_what_triggers_fill(written: dj.Journal, urls) -> None:
    with client(urls["writer"]) as writer:
        for table in OURS:
            refuse_all(writer, table)


def refuse_all(writer: Client, table: str) -> None:
    [(column,)] = writer.execute("SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum = 1", (f"dms.{table}",))
    for statement in (
        f"SELECT * FROM dms.{table}",
        f"INSERT INTO dms.{table} SELECT",
        f"UPDATE dms.{table} SET {column} = {column}",
        f"DELETE FROM dms.{table}",
        f"TRUNCATE dms.{table}",
        f"COPY dms.{table} FROM STDIN",
        f"CREATE TRIGGER mine BEFORE INSERT ON dms.{table} FOR EACH ROW EXECUTE FUNCTION dms.refuse_truncate()",
        f"CREATE RULE mine AS ON INSERT TO dms.{table} DO INSTEAD NOTHING",
        f"ALTER TABLE dms.{table} DISABLE TRIGGER ALL",
        f"DROP TABLE dms.{table}",
    ):
        if statement.startswith("SELECT") and table in {*READABLE, "ResourceDependency"}:
            continue
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            writer.execute(statement)


def test_a_writer_cannot_get_around_the_triggers_of_what_it_writes(written: dj.Journal, urls) -> None:
    with client(urls["writer"]) as writer:
        for table in ("Document", "ReferenceEdge"):
            refuse_to_get_around(writer, table)


def refuse_to_get_around(writer: Client, table: str) -> None:
    for statement in (
        f"ALTER TABLE dms.{table} DISABLE TRIGGER USER",
        f"DROP TRIGGER TR_{table}_Delete ON dms.{table}",
        f"CREATE RULE mine AS ON UPDATE TO dms.{table} DO INSTEAD NOTHING",
        f"CREATE TRIGGER mine BEFORE INSERT ON dms.{table} FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        f"TRUNCATE dms.{table} CASCADE",
        "SET session_replication_role = replica",
        "SELECT set_config('session_replication_role', 'replica', false)",
        "CREATE TABLE dms.mine (n integer)",
        "CREATE FUNCTION dms.mine() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "CREATE OR REPLACE FUNCTION dms.enter_change() RETURNS bigint LANGUAGE sql AS 'SELECT 0'",
        "ALTER FUNCTION dms.journal_update() SECURITY INVOKER",
        "SELECT setval('dms.changeversionsequence', 1)",
        "ALTER SEQUENCE dms.changeversionsequence RESTART",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            writer.execute(statement)


def test_our_trigger_functions_cannot_be_attached_to_a_table_of_ones_own(written: dj.Journal, urls) -> None:
    with client(urls["writer"]) as writer:
        writer.execute("CREATE TEMPORARY TABLE Document AS SELECT * FROM dms.Document")
        of_ours = writer.execute(
            "SELECT oid::regprocedure::text FROM pg_proc"
            " WHERE pronamespace = 'dms'::regnamespace AND prorettype = 'trigger'::regtype AND prosecdef"
        ).fetchall()
        assert len(of_ours) >= 7
        for (function,) in of_ours:
            forge = f"EXECUTE FUNCTION {function}"
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                writer.execute(f"CREATE TRIGGER forge AFTER INSERT ON Document REFERENCING NEW TABLE AS inserted {forge}")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                writer.execute(f"CREATE TRIGGER forge BEFORE INSERT ON Document FOR EACH ROW {forge}")


def test_functions_with_the_owners_rights_have_a_fixed_path_and_no_callers(written: dj.Journal, connections) -> None:
    functions = commit(
        connections[0],
        "SELECT proname, proconfig, has_function_privilege('public', oid, 'EXECUTE') FROM pg_proc"
        " WHERE pronamespace = 'dms'::regnamespace AND prosecdef",
    )
    unfixed = {name for name, settings, _ in functions if "search_path=pg_catalog, pg_temp" not in (settings or [])}
    # What costs a row has no SET clause: every name in these is qualified instead, which the attacks below put to the test.
    assert unfixed <= {"stamp_document", "stamp_insert", "stamp_update", "enter_change", "keep_parent_resource"}
    assert {name for name, _, public in functions if public} <= {"enter_change", "horizon"}


EXECUTE = {  # who may execute each function, besides its owner
    "begin_split(text,text,bigint)": [],
    "bury_image()": [],
    "close_context()": [],
    "close_partition(text,bigint)": [],
    "drop_partition(text,text,text[])": ["pruner"],
    "drop_consumer(text)": ["pruner"],
    "hold_lease(text,uuid,text,integer,boolean)": ["pruner"],
    "is_own_row(bigint,xid,bigint)": [],
    "keep_consumer()": [],
    "move_consumer(text,bigint,bigint,text,boolean)": ["pruner"],
    "register_consumer(text,bigint,bigint,text)": ["pruner"],
    "ensure_partitions(bigint,integer)": [],
    "enter_change()": [],
    "enter_statement()": [],
    "fill_max_dep(integer)": [],
    "forget_bounds(text)": [],
    "held_floors()": ["PUBLIC", "pruner", "reader", "writer"],
    "horizon()": ["PUBLIC", "pruner", "reader", "writer"],
    "is_read_yet(text[])": [],
    "journal_delete()": [],
    "journal_identity()": [],
    "journal_insert()": [],
    "journal_update()": [],
    "keep_image()": [],
    "keep_max_dep()": [],
    "keep_parent_resource()": [],
    "make_partition(text,text)": [],
    "note_partitions(text,text)": [],
    "note_context()": [],
    "note_identity()": [],
    "pair_image()": [],
    "parent_resource(bigint)": [],
    "pieces_of(text,text,bigint)": [],
    "raise_at_commit()": [],
    "raise_pending()": [],
    "refuse_truncate()": [],
    "rename_partition(text,text)": [],
    "split_partition(text,text,bigint,bigint,text[])": [],
    "stamp_insert()": [],
    "stamp_parents()": [],
    "stamp_repointed_parents()": [],
    "stamp_update()": [],
    "altered_columns(smallint)": [],
    "begin_tracking()": [],
    "check_trackable(oid,name,name[])": [],
    "check_trusted(oid,name[])": [],
    "is_readable(smallint)": [],
    "is_trusted(smallint)": [],
    "tracked_operator(oid)": [],
    "tracked_owners(oid)": [],
    "untrackable(oid,name)": [],
    "check_tracked_documents(text,bigint)": ["reader", "writer"],
    "check_tracked_rows(text,bigint,bigint)": ["reader", "writer"],
    "check_tracking()": ["reader", "writer"],
    "columns_of(name[],text)": [],
    "drop_tracking(smallint)": [],
    "fill_table(text)": [],
    "fill_tracked(text,integer)": [],
    "link_late()": [],
    "make_all_tracking(smallint[],smallint)": [],
    "make_tracking(smallint)": [],
    "check_asked(text,name[],name[],name,boolean)": [],
    "note_tracked(text,text,text,text,name[],name[],name,boolean,boolean)": [],
    "renamed_columns(name[],jsonb,oid)": [],
    "renew_tracking(text,boolean,boolean)": [],
    "track(text,text,text,text,name[],name[],name,boolean,boolean)": [],
    "tracked_base_type(oid)": [],
    "tracked_bodies(bigint[])": ["reader", "writer"],
    "tracked_body(smallint,text)": [],
    "tracked_body_query(smallint)": ["reader", "writer"],
    "tracked_source(smallint[],text)": ["reader", "writer"],
    "tracked_columns(oid)": [],
    "tracked_document(smallint,text)": [],
    "tracked_id(text)": [],
    "tracked_json(oid,text)": [],
    "tracked_key(smallint)": [],
    "tracked_key_json(smallint,text)": [],
    "tracked_neighbours(smallint)": [],
    "tracked_references(smallint)": [],
    "tracked_relation(smallint)": [],
    "tracked_state(text,text,oid,smallint,text)": [],
    "tracked_tables()": ["reader", "writer"],
    "tracked_typed(oid,text,text)": [],
    "tracking_of(smallint)": [],
    "untrack(text,boolean)": [],
}
EXECUTORS = """
SELECT replace(replace(p.oid::regprocedure::text, 'dms.', ''), ' ', ''),
       coalesce(array_agg(CASE acl.grantee WHEN 0 THEN 'PUBLIC' ELSE split_part(acl.grantee::regrole::text, '_', 1) END)
                FILTER (WHERE acl.grantee <> p.proowner), '{}')
FROM pg_proc AS p CROSS JOIN LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS acl
WHERE p.pronamespace = 'dms'::regnamespace GROUP BY p.oid
"""


@pytest.mark.parametrize("granted", ["before the options", "after them"])
def test_who_may_execute_what_is_a_list(request, written: dj.Journal, url: str, connections, granted: str) -> None:
    if granted == "before the options":
        request.getfixturevalue("urls")
    migrate.upgrade(url, options=migrate.known_options())
    if granted == "after them":
        request.getfixturevalue("urls")
    assert {name: sorted(roles) for name, roles in commit(connections[0], EXECUTORS)} == {
        name: sorted(roles) for name, roles in EXECUTE.items()
    }


def test_a_part_is_dropped_by_a_pruner_alone(written: dj.Journal, url: str, urls) -> None:
    """A role that is no pruner does not get as far as the question what it may delete."""
    migrate.upgrade(url, options=["partitions"])
    call = "SELECT dms.drop_partition('DocumentChangeEvent', 'documentchangeevent_default', '{}')"
    for role in ("writer", "reader"):
        with (
            client(urls[role]) as session,
            pytest.raises(psycopg.errors.InsufficientPrivilege, match="for function drop_partition"),
        ):
            session.execute(call)
    with client(urls["pruner"]) as pruner:
        assert pruner.execute(call).fetchone() == (True,)  # the default part is none that is dropped


def test_a_pruner_without_the_right_to_drop_parts_deletes_rows(written: dj.Journal, url: str, urls, connections) -> None:
    migrate.upgrade(url, options=["partitions"])
    written.partitions.ensure(versions=2, ahead=2)
    commit(connections[0], f"REVOKE EXECUTE ON FUNCTION dms.drop_partition FROM {urls['pruner'].username}")
    with dj.connect(urls["pruner"]) as pruner:
        pruned = pruner.prune(2)
        assert pruned.finished
        assert not any(journal.dropped for journal in pruned.journals)


def test_nobody_but_a_writer_holds_the_horizon_back(written: dj.Journal, urls) -> None:
    for role in ("reader", "pruner"):
        with client(urls[role]) as session, pytest.raises(psycopg.errors.InsufficientPrivilege, match="for function enter_change"):
            session.execute("SELECT dms.enter_change()")


# Attacks. Each runs before or inside the writer's statements; `write_something` makes the same changes every time.

WRITES = [  # operators are qualified, since an attack may have replaced the writer's own as well
    "INSERT INTO dms.Document (ResourceKeyId, KeyValues) VALUES (1, '{}'), (2, NULL)",
    "UPDATE dms.Document SET ContentVersion = 7 WHERE DocumentId OPERATOR(pg_catalog.=) 3",
    "UPDATE dms.Document SET KeyValues = '{\"a\": 2}', ContentVersion = 0 WHERE DocumentId OPERATOR(pg_catalog.=) ANY ('{1,3}')",
    "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (3, 1)",
    "UPDATE dms.ReferenceEdge SET ChildDocumentId = 3 WHERE ParentDocumentId OPERATOR(pg_catalog.=) 2",
    "UPDATE dms.Document SET IdentityVersion = 0 WHERE DocumentId OPERATOR(pg_catalog.=) 1",
    "DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId OPERATOR(pg_catalog.=) 3",
    "INSERT INTO dms.Document (DocumentId, ResourceKeyId) VALUES (1, 1) ON CONFLICT (DocumentId) DO UPDATE SET ContentVersion = 0",
    "DELETE FROM dms.Document WHERE DocumentId OPERATOR(pg_catalog.=) 2",
]
ALL_DONE = 14  # the version that they reach


def write_something(writer: Client, journal: dj.Journal, before_each: str = "") -> int:
    """Runs WRITES in one transaction, as far as the database lets it; returns how many statements it ran."""
    ran, before = 0, newest(journal)
    with writer.transaction():
        for statement in WRITES:
            with suppress(psycopg.DatabaseError), writer.transaction():
                if before_each:
                    writer.execute(before_each)
                writer.execute(statement)
                ran += 1
            assert_horizon_is_below(writer, before, journal)
    return ran


def assert_horizon_is_below(writer: Client, before: int, journal: dj.Journal) -> None:
    """No stamp that the open transaction has given to a document is at or below the horizon."""
    version = "greatest(d.contentversion, d.identityversion)"
    [(lowest,)] = writer.execute(
        f"SELECT min({version}) FROM dms.Document AS d WHERE {version} OPERATOR(pg_catalog.>) %s::pg_catalog.int8", (before,)
    )
    assert lowest is None or newest(journal) < lowest


def assert_nothing_is_missing(journal: dj.Journal, connection: sa.Connection) -> None:
    assert not unjournaled(connection)
    for of, resource_key_id in journal.resources().items():
        assert list(journal.changes(of)) == expected_changes(connection, resource_key_id)
    events = "SELECT ChangeVersion FROM dms.DocumentChangeEvent UNION SELECT ChangeVersion FROM dms.DocumentDeleteEvent"
    assert newest(journal) >= max(version for (version,) in commit(connection, events))
    is_alive = bool(commit(connection, "SELECT 1 FROM dms.Document WHERE DocumentId = 2"))
    assert is_alive == (not list(journal.deletes(PLAN)))


def test_the_writes_that_attacks_meet_are_all_allowed(written: dj.Journal, urls, connections) -> None:
    with client(urls["writer"]) as writer:
        assert write_something(writer, written) == len(WRITES)
    assert_nothing_is_missing(written, connections[0])
    assert newest(written) == ALL_DONE


VALUES = ["0", "3", "-1", "4", "1000", "9223372036854775807", "9223372036854775808", "abc", "", " "]


@pytest.mark.parametrize(("value", "scope"), [*((value, "LOCAL") for value in VALUES), ("0", "SESSION"), ("1000", "SESSION")])
def test_writing_the_setting_before_a_statement_hides_no_change(
    written: dj.Journal, urls, connections, value: str, scope: str
) -> None:
    assignment = f"SET {scope} dms.entered_at = '{value}'"
    with client(urls["writer"]) as writer:
        if scope == "SESSION":
            writer.execute(assignment)
        ran = write_something(writer, written, assignment)
    if value in ("0", "3", ""):
        assert ran == len(WRITES)  # a floor that is too low costs its session nothing but a lower horizon
    assert_nothing_is_missing(written, connections[0])


@pytest.mark.parametrize("value", ["'0'", "''", "'3'", "'4'", "'1000'", "'-5'", "'abc'", "nextval(SEQUENCE)::text"])
def test_writing_the_setting_inside_a_statement_hides_no_change(written: dj.Journal, urls, connections, value: str) -> None:
    setting = f"set_config('dms.entered_at', {value.replace('SEQUENCE', repr('dms.changeversionsequence'))}, true)"
    signal = f"CASE WHEN {setting} IS NULL THEN 0 ELSE -1 END"
    with client(urls["writer"]) as writer:
        for statement in (
            f"UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = 3 RETURNING {setting}",
            f"UPDATE dms.Document SET IdentityVersion = 0 RETURNING CASE DocumentId WHEN 2 THEN {setting} END",
            f"UPDATE dms.Document SET ContentVersion = {signal}, IdentityVersion = {signal}",
            f"UPDATE dms.Document SET ContentVersion = ContentVersion RETURNING {setting}",
            f"INSERT INTO dms.Document (ResourceKeyId, ContentVersion) VALUES (1, {signal}), (1, {signal}) RETURNING {setting}",
            f"INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (3, 1) RETURNING {setting}",
            f"WITH x AS (SELECT {setting}), u AS (UPDATE dms.Document SET ContentVersion = 0 RETURNING 1) SELECT * FROM x, u",
            f"DELETE FROM dms.ReferenceEdge RETURNING {setting}",
            f"DELETE FROM dms.Document WHERE DocumentId = 2 RETURNING {setting}",
        ):
            reached = newest(written)
            with suppress(psycopg.DatabaseError), writer.transaction():
                writer.execute(statement)
                assert_horizon_is_below(writer, reached, written)
                write_something(writer, written)
    assert not unjournaled(connections[0])
    for of, resource_key_id in written.resources().items():
        assert list(written.changes(of)) == expected_changes(connections[0], resource_key_id)


def test_the_setting_goes_back_with_a_savepoint_and_so_does_the_lock(written: dj.Journal, urls, connections) -> None:
    def horizon() -> int:  # a Journal never goes back below what it has reported
        return commit(connections[0], "SELECT dms.horizon()")[0][0]

    with client(urls["writer"]) as writer:
        writer.execute("BEGIN")
        writer.execute("SAVEPOINT s")
        writer.execute("UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = 3")
        assert horizon() == 3
        writer.execute("ROLLBACK TO s")
        assert horizon() == 4
        writer.execute("SET LOCAL dms.entered_at = '0'")
        writer.execute("SAVEPOINT t")
        writer.execute("RESET dms.entered_at")
        writer.execute("UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = 3")
        writer.execute("ROLLBACK TO t")
        writer.execute("UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = 1")
        assert horizon() == 0
        writer.execute("DISCARD PLANS")
        writer.execute("SELECT pg_advisory_unlock_all(), pg_advisory_unlock_shared(4920745542855688192)")
        assert horizon() == 0
        writer.execute("COMMIT")
    assert stamps(connections[0], 1) == (6, 1)
    assert newest(written) == 6
    assert_nothing_is_missing(written, connections[0])


def test_an_edge_does_not_take_another_transactions_stamp_for_its_own(written: dj.Journal, urls, connections) -> None:
    with client(urls["writer"]) as writer:
        writer.execute("SET dms.entered_at = '0'")  # so every stamp is above the floor
        writer.execute("INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (3, 1)")
        assert stamps(connections[0], 3) == (4, 3)
        writer.execute("DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId = 3")
        assert stamps(connections[0], 3) == (5, 3)


HOSTILE_OPERATORS = "".join(
    f"CREATE OPERATOR evil.{operator} (LEFTARG = {type_}, RIGHTARG = {type_}, FUNCTION = evil.never_{type_});"
    for type_ in ("int8", "int4", "int2", "text", "jsonb", "uuid", "bool")
    for operator in ("=", "<>", "<", ">", "<=", ">=")
)
HOSTILE_FUNCTIONS = (
    "".join(
        f"CREATE FUNCTION evil.never_{type_}({type_}, {type_}) RETURNS boolean LANGUAGE sql AS 'SELECT false';"
        for type_ in ("int8", "int4", "int2", "text", "jsonb", "uuid", "bool")
    )
    + """
CREATE FUNCTION evil.sum(int8, int8) RETURNS int8 LANGUAGE sql AS 'SELECT 0::int8';
CREATE OPERATOR evil.+ (LEFTARG = int8, RIGHTARG = int8, FUNCTION = evil.sum);
CREATE FUNCTION evil.nextval(regclass) RETURNS int8 LANGUAGE sql AS 'SELECT 1::int8';
CREATE FUNCTION evil.pg_sequence_last_value(regclass) RETURNS int8 LANGUAGE sql AS 'SELECT 1::int8';
CREATE FUNCTION evil.current_setting(text, boolean) RETURNS text LANGUAGE sql AS 'SELECT ''1''::text';
CREATE FUNCTION evil.set_config(text, text, boolean) RETURNS text LANGUAGE sql AS 'SELECT ''1''::text';
CREATE FUNCTION evil.length(text) RETURNS int4 LANGUAGE sql AS 'SELECT 0';
CREATE FUNCTION evil.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT ''2001-01-01''::timestamptz';
CREATE FUNCTION evil.pg_advisory_xact_lock_shared(int8) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION evil.pg_current_xact_id() RETURNS xid8 LANGUAGE sql AS 'SELECT ''1''::xid8';
CREATE FUNCTION evil.pg_backend_pid() RETURNS int4 LANGUAGE sql AS 'SELECT 0';
CREATE FUNCTION evil.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT false';
"""
)
TABLES_OF_OURS = [*JOURNALS, "Document", "ReferenceEdge", "ResourceDependency", "JournalFloor", "pg_locks", "pg_database"]
TRANSITION_TABLES = ["inserted", "deleted", "changed", "added", "removed"]


@pytest.fixture
def evil(url: str, urls) -> None:
    """A schema that the writer owns."""
    with psycopg.connect(in_psycopg(url), autocommit=True) as admin:
        admin.execute(f"CREATE SCHEMA evil AUTHORIZATION {urls['writer'].username}")


@pytest.mark.parametrize("search_path", ["evil, pg_catalog, dms", "evil, dms, pg_catalog", "pg_temp, evil, pg_catalog", "evil"])
@pytest.mark.usefixtures("evil")
def test_a_hostile_search_path_changes_nothing(written: dj.Journal, urls, connections, search_path: str) -> None:
    with client(urls["writer"]) as writer:
        writer.execute(HOSTILE_FUNCTIONS)
        writer.execute(HOSTILE_OPERATORS)
        for name in (*TABLES_OF_OURS, *TRANSITION_TABLES):
            writer.execute(f"CREATE TABLE evil.{name} AS SELECT * FROM dms.Document")
        writer.execute(f"SET search_path = {search_path}")
        assert write_something(writer, written) == len(WRITES)
    assert newest(written) == ALL_DONE
    assert_nothing_is_missing(written, connections[0])


def test_an_empty_search_path_changes_nothing(written: dj.Journal, urls, connections) -> None:
    with client(urls["writer"]) as writer:
        writer.execute("SET search_path = ''")
        assert write_something(writer, written) == len(WRITES)
        assert writer.execute("SELECT dms.horizon()").fetchone() == (ALL_DONE,)
    assert_nothing_is_missing(written, connections[0])


def test_temporary_tables_named_like_ours_change_nothing(written: dj.Journal, urls, connections) -> None:
    with client(urls["writer"]) as writer:
        for name in (*TABLES_OF_OURS, *TRANSITION_TABLES):
            writer.execute(f"CREATE TEMPORARY TABLE {name} AS SELECT * FROM dms.Document")
        writer.execute("SET search_path = pg_temp, pg_catalog")
        assert write_something(writer, written) == len(WRITES)
    assert newest(written) == ALL_DONE
    assert_nothing_is_missing(written, connections[0])


@pytest.mark.parametrize("type_name", ["text", "bigint", "int8", "boolean", "bool", "regclass"])
def test_a_type_named_like_a_builtin_changes_nothing(written: dj.Journal, urls, connections, type_name: str) -> None:
    """pg_temp comes before pg_catalog for types, unless the path says otherwise: a check of such a domain is the writer's code."""
    base = {"regclass": "regclass", "text": "text"}.get(type_name, "bool" if "bool" in type_name else "int8")
    with client(urls["writer"]) as writer:
        writer.execute(
            f"""CREATE FUNCTION pg_temp.spy(pg_catalog.{base}) RETURNS pg_catalog.bool LANGUAGE plpgsql AS $$ BEGIN
                    RAISE NOTICE 'spy runs as %', current_user; RETURN true; END $$"""
        )
        writer.execute(f'CREATE DOMAIN pg_temp."{type_name}" AS pg_catalog.{base} CHECK (pg_temp.spy(VALUE))')
        heard: list[str] = []
        writer.add_notice_handler(lambda notice: heard.append(notice.message_primary))
        assert write_something(writer, written) == len(WRITES)
    assert not [line for line in heard if str(urls["writer"].username) not in line]  # the owner's rights are nobody else's
    assert not heard  # and no name is looked up in the caller's path
    assert_nothing_is_missing(written, connections[0])


@pytest.mark.parametrize(
    "settings",
    [
        dict.fromkeys(("enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan", "enable_nestloop", "enable_sort"), "off"),
        dict.fromkeys(("enable_seqscan", "enable_hashjoin", "enable_hashagg", "enable_material", "enable_mergejoin"), "off"),
        {"plan_cache_mode": "force_generic_plan", "work_mem": "64kB", "from_collapse_limit": "1", "join_collapse_limit": "1"},
        {"plan_cache_mode": "force_custom_plan", "jit": "on", "jit_above_cost": "0", "cursor_tuple_fraction": "0.0001"},
        {"plpgsql.variable_conflict": "use_column"},
        {"plpgsql.extra_errors": "all", "plpgsql.extra_warnings": "all", "plpgsql.check_asserts": "on"},
        {"default_transaction_isolation": "serializable", "default_transaction_deferrable": "on"},
        {"DateStyle": "SQL, DMY", "IntervalStyle": "sql_standard", "TimeZone": "Pacific/Kiritimati", "extra_float_digits": "-15"},
        {"transform_null_equals": "on", "array_nulls": "off", "standard_conforming_strings": "off", "quote_all_identifiers": "on"},
        {"row_security": "off", "check_function_bodies": "off", "client_encoding": "LATIN1", "bytea_output": "escape"},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_the_settings_of_a_session_change_nothing(written: dj.Journal, urls, connections, settings: dict[str, str]) -> None:
    with client(urls["writer"]) as writer:
        for name, value in settings.items():
            try:
                writer.execute(f"SET {name} = '{value}'")
            except psycopg.errors.InsufficientPrivilege:
                assert name.startswith("plpgsql.variable")  # a superuser's
        assert write_something(writer, written) == len(WRITES)
    assert newest(written) == ALL_DONE
    assert_nothing_is_missing(written, connections[0])


def test_a_role_without_rights_is_told_what_to_grant(url: str, written: dj.Journal) -> None:
    with psycopg.connect(in_psycopg(url), autocommit=True) as admin:
        name = f"nobody_{admin.info.dbname}"
        admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'secret'")
        try:
            with dj.connect(sa.make_url(url).set(username=name, password="secret")) as stranger:
                for read in (stranger.versions, stranger.resources, lambda: stranger.derive([1])):
                    with pytest.raises(dj.DatabaseRefused, match=r"permission denied for schema dms.*grant"):
                        read()
            with dj.connect(sa.make_url(url).set(username=name, password="wrong")) as stranger:
                with pytest.raises(dj.DatabaseRefused) as refused:
                    stranger.versions()
                assert "wrong" not in json.dumps(str(refused.value))
        finally:
            admin.execute(f"DROP ROLE {name}")


def test_options_images_and_context_are_kept_by_triggers_alone(url: str, urls, connections) -> None:
    migrate.upgrade(url, options=["images", "context"])
    student = document(STUDENT, 1, body={"name": "Ada"})
    with dj.connect(urls["writer"]) as writer, writer.write(dj.Context(user="ada")) as tx:
        tx.upsert(student)
        tx.upsert(document(STUDENT, 1, body={"name": "Max"}))
        tx.delete(STUDENT, {"studentId": 1}, cascade=True)
    with client(urls["writer"]) as writer:
        for table in ("DocumentImage", "DocumentImageFloor", "ChangeContext"):
            for statement in ("SELECT FROM dms.{}", "DELETE FROM dms.{}", "INSERT INTO dms.{} DEFAULT VALUES"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    writer.execute(statement.format(table))
        for function in ("keep_image", "pair_image", "bury_image", "note_context", "close_context"):
            writer.execute("CREATE TEMPORARY TABLE IF NOT EXISTS own (DocumentId bigint, DocumentJson jsonb)")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                writer.execute(f"CREATE TRIGGER forged AFTER INSERT ON own FOR EACH ROW EXECUTE FUNCTION dms.{function}()")
    with dj.connect(urls["reader"]) as reader:
        found = reader.images([(1, 1), (2, 1), (3, 1)])
        assert [(image.before, image.after) for image in found.values()] == [
            (None, {"name": "Ada"}),
            ({"name": "Ada"}, {"name": "Max"}),
            ({"name": "Max"}, None),
        ]
        assert {said["user"] for said in reader.contexts(found).values()} == {"ada"}
        assert reader.verify().is_clean
    with client(urls["pruner"]) as pruner, pytest.raises(psycopg.errors.InsufficientPrivilege):
        pruner.execute("SELECT BodyBefore FROM dms.DocumentImage")
    with dj.connect(urls["pruner"]) as pruner:
        assert pruner.prune(through=1, journals=["DocumentImage"]).finished
        assert pruner.images_since() == 1
        assert pruner.prune(through=3).finished
    left = [commit(connections[0], f"SELECT count(*) FROM dms.{table}")[0][0] for table in ("DocumentImage", "ChangeContext")]
    assert left == [0, 0]


def test_a_pruner_that_is_made_after_the_options_deletes_what_they_keep(request, written: dj.Journal, url: str) -> None:
    """grants.sql gives it the rights, and it sees no body."""
    migrate.upgrade(url, options=["images", "context"])
    pruner_url = request.getfixturevalue("urls")["pruner"]
    with dj.connect(url) as journal:
        with journal.write(context=Context(user="ada")) as tx:
            tx.upsert(document(SCHOOL, 1, body={"name": "seen"}))
        through = newest(journal)
        with dj.connect(pruner_url) as pruner:
            assert pruner.prune(through - 1, journals=["DocumentImage"]).finished
            assert pruner.prune(through).finished
        with psycopg.connect(in_psycopg(url)) as admin:
            for table in ("DocumentImage", "ChangeContext"):
                assert admin.execute(f"SELECT count(*) FROM dms.{table}").fetchone() == (0,), table
    with client(pruner_url) as session, pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute("SELECT BodyBefore FROM dms.DocumentImage")


def test_the_http_service_needs_a_reader_and_for_retention_a_pruner(written: dj.Journal, urls: dict[str, sa.URL]) -> None:
    settings = settings_of(urls["reader"].render_as_string(hide_password=False))
    uuid = written.documents([1])[1].document_uuid
    paths = (
        "/readyz", "/status", "/metrics", "/changefeed", "/changefeed?key_prefix=students:", "/changefeed/stats", "/feed",
        "/changefeed/stream?keep_alive=false", "/feed?item_state=INCLUDE_IF_AVAILABLE", "/feed/partitions",
        "/changeQueries/v1/availableChangeVersions", "/data/v3/ed-fi/students?totalCount=true", f"/data/v3/ed-fi/students/{uuid}",
        "/data/v3/ed-fi/students?minChangeVersion=1&totalCount=true", "/data/v3/ed-fi/students/deletes?totalCount=true",
        "/data/v3/ed-fi/students/keyChanges?totalCount=true",
    )  # fmt: skip
    with in_process(settings) as service:
        for path in paths:
            assert service.get(path).status_code == 200, path
    asked = {"json": {"before_sequence": 2}, "headers": bearer(ADMIN)}
    with in_process(settings) as service:  # with the reader's rights alone, nothing is deleted
        assert service.post("/changefeed/retention", **asked).json()["type"] == "urn:dmsjournal:problem:database-refused"
        assert newest(written) == 3
    pruner = urls["pruner"].render_as_string(hide_password=False)
    with in_process(replace(settings, admin_url=pruner)) as service:
        assert service.post("/changefeed/retention", **asked).json()["floor"] == 1


@pytest.mark.acceptance("83", "95")
def test_default_privileges_without_public_leave_each_role_what_it_calls(postgres_server) -> None:
    """A hardened database: what PUBLIC has by default is taken from it before the installation."""
    with postgres_server.fresh_database() as url, sa.create_engine(url, poolclass=sa.NullPool).connect() as admin:
        names = {role: f"{role}_{sa.make_url(url).database}" for role in ("writer", "reader", "pruner", "byhand")}
        commit(admin, "ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC")
        commit(admin, "ALTER DEFAULT PRIVILEGES REVOKE USAGE ON TYPES FROM PUBLIC")
        try:
            migrate.upgrade(url, options=["context", "images", "max_dep_identity_version", "partitions"])
            for name in names.values():
                commit(admin, f"CREATE ROLE {name} LOGIN PASSWORD 'secret'")
            grants = statements.text_of("postgres", "roles/grants").replace("\\set ON_ERROR_STOP on\n", "")
            with psycopg.connect(in_psycopg(url), autocommit=True) as plain:
                plain.execute(re.sub(r':"(writer|reader|pruner)"', lambda role: names[role[1]], grants))
            urls = {role: sa.make_url(url).set(username=name, password="secret") for role, name in names.items()}
            with dj.connect(urls["writer"]) as writer:
                write(writer, document(STUDENT, 1, body={"name": "Ada"}))
                with writer.write() as tx:
                    tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 2})
            with dj.connect(urls["reader"]) as reader:
                assert len(list(reader.changes(STUDENT))) == 1
                assert reader.verify().is_clean
                assert reader.status().newest == 2
            with dj.connect(urls["pruner"]) as pruner:
                pruner.prune(through=1)
            commit(
                admin,
                f"GRANT USAGE ON SCHEMA dms TO {names['byhand']}; GRANT SELECT ON ALL TABLES IN SCHEMA dms TO {names['byhand']}",
            )
            with dj.connect(urls["byhand"]) as reader, pytest.raises(dj.DatabaseRefused, match=r"function horizon.*roles\.md"):
                reader.versions()
            with dj.connect(url) as journal:
                [finding] = journal.verify().findings
            lacking = [f"{names['byhand']} (lacks EXECUTE on dms.{name}())" for name in ("held_floors", "horizon")]
            assert (finding.code, sorted(map(str, finding.objects))) == ("right-missing", lacking)
        finally:
            commit(admin, "ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC")
            for name in names.values():
                commit(admin, f"DROP OWNED BY {name}; DROP ROLE {name}")
