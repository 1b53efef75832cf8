"""Adoption: the journal on document tables that exist already, with rows and writers (acceptance 54, 56, 57)."""

# ruff: noqa: E501  # statements and messages, each in one line

import logging
import random
import re
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy import exc
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.database import sql
from dmsjournal.schema import adopt as adoptions
from dmsjournal.schema import migrate
from tests.adoptions import Copy, adopt, interrupting, run_until, start, writing
from tests.helpers import catalog, commit, drawn, expected_changes, in_psycopg, stamps
from tests.migrations.shapes import SHAPES, Shape

THEIRS = re.compile(
    r"theirs|theirview|their_function|body|note|projectname|resourcename|resourceversion|resource_names|document_names|signal_content|document_content|before_adoption|pg.dropped|trg_document_change_events",
    re.I,
)


def one_now(names: Iterable[str]) -> list[Any]:
    """The first in `make test`, the others in the long runs."""
    return [pytest.param(name, marks=pytest.mark.long if place else ()) for place, name in enumerate(names)]


shapes = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


def unordered(found: dict[str, list[tuple[Any, ...]]], *, with_defaults: bool = True) -> dict[str, set[str]]:
    """A catalog without the columns' positions."""
    end = None if with_defaults else -1
    return {name: {repr(row[:1] + row[2:end] if name == "columns" else row) for row in rows} for name, rows in found.items()}


def assert_as_installed(admin: sa.Connection, fresh: sa.Connection, shape: Shape | None = None) -> None:
    """The schema is a fresh installation's, apart from what is theirs: the published shape has other defaults."""
    with_defaults = shape is None or shape.name != "published"
    expected, found = (unordered(catalog(each), with_defaults=with_defaults) for each in (fresh, admin))
    assert expected.keys() == found.keys()
    for name in expected:
        assert not expected[name] - found[name], name
        assert all(THEIRS.search(row) for row in found[name] - expected[name]), (name, found[name] - expected[name])


def faults(admin: sa.Connection) -> list[Any]:
    return list(commit(admin, sql.text_of("postgres", "queries/schema/adopt_faults")))


def assert_sound(url: str, admin: sa.Connection) -> None:
    """Invariants 2 to 4 hold of all documents, and a consumer that begins now reads each where it is defined to be."""
    assert faults(admin) == []
    with dj.connect(url) as journal:
        everything = []
        for of, resource_key_id in journal.resources().items():
            expected = expected_changes(admin, resource_key_id)
            assert sorted(journal.snapshot(of), key=lambda c: (c.change_version, c.document_id)) == expected
            everything += [(resource_key_id, c.document_id, c.change_version) for c in expected]
    view = commit(admin, "SELECT ResourceKeyId, DocumentId, ChangeVersion FROM dms.ResourceChange")
    assert sorted(map(tuple, view)) == sorted(everything)
    assert commit(admin, "SELECT 1 FROM dms.DocumentChangeEvent GROUP BY ChangeVersion, DocumentId HAVING count(*) > 1") == []


@pytest.fixture
def fresh(url: str) -> Iterator[sa.Connection]:
    """A database in which the journal was installed, and nothing else."""
    with sa.create_engine(url, poolclass=sa.NullPool).connect() as connection:
        yield connection


@pytest.mark.acceptance("54")
@shapes
def test_adopted_tables_are_those_of_a_fresh_installation(
    empty: str, admin: sa.Connection, fresh: sa.Connection, shape: Shape
) -> None:
    shape.create(admin)
    shape.fill(admin)
    rows = commit(admin, "SELECT DocumentId, DocumentUuid FROM dms.Document ORDER BY 1")
    kept = "SELECT DocumentId, ContentVersion, IdentityVersion FROM dms.Document WHERE ContentVersion > 0 ORDER BY DocumentId"
    versions = commit(admin, kept) if "versions" in shape.name else []
    adoption = adopt(empty)
    assert adoption.revision == migrate.newest()
    assert_as_installed(admin, fresh, shape)
    assert commit(admin, "SELECT DocumentId, DocumentUuid FROM dms.Document ORDER BY 1") == rows
    assert set(versions) <= set(commit(admin, kept))
    assert len(versions) == {"versions and names": 40, "versions and ids": 20}.get(shape.name, 0)
    assert_sound(empty, admin)
    assert adopt(empty) == adoptions.Adoption([], [], migrate.newest())


@pytest.mark.acceptance("54")
@shapes
def test_adopted_tables_outlive_a_removal_and_are_taken_up_again(empty: str, admin: sa.Connection, shape: Shape) -> None:
    shape.create(admin)
    shape.fill(admin)
    adopt(empty)
    adopted, documents = catalog(admin), commit(admin, "SELECT * FROM dms.Document ORDER BY DocumentId")
    migrate.downgrade(empty, "base")
    migrate.upgrade(empty)
    assert catalog(admin) == adopted
    assert commit(admin, "SELECT * FROM dms.Document ORDER BY DocumentId") == documents
    assert_sound(empty, admin)
    migrate.downgrade(empty, "base")
    commit(admin, shape.insert(0))  # nobody stamps it
    reached = drawn(admin)
    adopt(empty)  # as well as upgrade
    assert catalog(admin) == adopted
    assert_sound(empty, admin)
    commit(admin, shape.insert(1))
    [(newest, highest)] = commit(
        admin,
        "SELECT (SELECT greatest(ContentVersion, IdentityVersion) FROM dms.Document ORDER BY DocumentId DESC LIMIT 1), max(greatest(ContentVersion, IdentityVersion)) FROM dms.Document",
    )
    assert newest == highest > reached


@pytest.mark.acceptance("54")
@shapes
def test_their_program_and_ours_write_on(empty: str, admin: sa.Connection, shape: Shape) -> None:
    shape.create(admin)
    shape.fill(admin)
    adopt(empty)
    with dj.connect(empty) as journal:
        before = journal.versions().newest
        commit(admin, shape.insert(0))
        commit(admin, "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (2, 1) ON CONFLICT DO NOTHING")
        commit(admin, "UPDATE dms.Document SET IdentityVersion = IdentityVersion + 1 WHERE DocumentId = 1")
        with journal.write() as tx:
            tx.upsert(dj.Document(dj.ResourceKey("Ed-Fi", "Student", "5.2.0"), {"studentId": 1}, {}))
            tx.upsert(dj.Document(dj.ResourceKey("Ed-Fi", "New", "5.2.0"), {"newId": 1}, {}))
        assert_sound(empty, admin)
        changed = {c.document_id for of in journal.resources() for c in journal.changes(of, dj.Window(before + 1))}
        assert changed >= {1, 2, 41}
    if "ProjectName" in shape.columns:
        [row] = commit(
            admin, "SELECT ProjectName, ResourceName, ResourceVersion FROM dms.Document ORDER BY DocumentId DESC LIMIT 1"
        )
        assert tuple(row) == ("Ed-Fi", "New", "5.2.0")


@pytest.mark.acceptance("54")
def test_what_happened_before_is_not_known_and_said_so(empty: str, admin: sa.Connection) -> None:
    shape = SHAPES["versions and names"]
    shape.create(admin)
    shape.fill(admin)
    reached = drawn(admin)
    adopt(empty)
    with dj.connect(empty) as journal:
        versions = journal.versions()
        assert versions.oldest == versions.newest + 1 > reached
        for of in journal.resources():
            with pytest.raises(dj.CheckpointExpired):
                journal.changes(of, dj.Window(reached))
            with pytest.raises(dj.CheckpointExpired):
                list(journal.deletes(of, dj.Window(reached)))


def test_a_column_of_theirs_can_be_content(empty: str, admin: sa.Connection) -> None:
    shape = SHAPES["bare"]
    shape.create(admin)
    shape.fill(admin)
    noted = adopt(empty, dry_run=True).notes
    assert any("an UPDATE of only body is no change" in note.found for note in noted)
    adopt(empty, content_columns=["Body"])
    with dj.connect(empty) as journal:
        before = journal.versions().newest
        commit(admin, f"UPDATE dms.Document SET {shape.content} WHERE DocumentId = 2")
        commit(admin, "UPDATE dms.Document SET Body = Body WHERE DocumentId = 4")
        assert [c.document_id for of in journal.resources() for c in journal.changes(of, dj.Window(before + 1))] == [2]
        migrate.downgrade(empty, "base")
        commit(
            admin, f"UPDATE dms.Document SET {shape.content} WHERE DocumentId = 6"
        )  # nobody stamps it, and it is known to have none
        migrate.upgrade(empty)
        assert_sound(empty, admin)


@pytest.mark.acceptance("83")
def test_content_is_compared_as_it_is_and_not_as_a_session_prints_it(empty: str, admin: sa.Connection) -> None:
    """With `extra_float_digits = -15`, 1.1 and 1.1000000000000003 are one text; `json` has no equality operator."""
    SHAPES["bare"].create(admin)
    commit(admin, "ALTER TABLE dms.Document ADD COLUMN Weight float8 DEFAULT 1.1, ADD COLUMN Note json DEFAULT '{}'")
    SHAPES["bare"].fill(admin)
    adopt(empty, content_columns=["Weight", "Note"])
    with dj.connect(empty) as journal:
        before = journal.versions().newest
        commit(
            admin, "SET LOCAL extra_float_digits = -15; UPDATE dms.Document SET Weight = 1.1000000000000003 WHERE DocumentId = 2"
        )
        commit(admin, "UPDATE dms.Document SET Note = NULL WHERE DocumentId = 4")
        commit(admin, "UPDATE dms.Document SET Weight = 1.1, Note = '{}' WHERE DocumentId = 6")
        changed = [c.document_id for of in journal.resources() for c in journal.changes(of, dj.Window(before + 1))]
        assert sorted(changed) == [2, 4]


def test_versions_that_are_no_stamps_are_replaced_where_it_is_asked_for(empty: str, admin: sa.Connection) -> None:
    shape = SHAPES["versions and names"]
    shape.create(admin)
    shape.fill(admin)
    commit(admin, "UPDATE dms.Document SET IdentityVersion = 1")
    with pytest.raises(dj.AdoptionRefused, match=r"1 values are of several documents, such as 1.*--new-stamps"):
        adopt(empty)
    highest = commit(admin, "SELECT max(ContentVersion) FROM dms.Document")[0][0]
    adopt(empty, new_stamps=True)
    assert_sound(empty, admin)
    assert commit(admin, f"SELECT count(*) FROM dms.Document WHERE least(ContentVersion, IdentityVersion) <= {highest}") == [(0,)]
    assert commit(admin, "SELECT count(DISTINCT IdentityVersion) = count(*) FROM dms.Document") == [(True,)]


def test_a_dry_run_changes_nothing_and_prints_the_plan(empty: str, admin: sa.Connection) -> None:
    shape = SHAPES["bare"]
    shape.create(admin)
    shape.fill(admin)
    commit(admin, "ANALYZE dms.Document, dms.ReferenceEdge")
    before = catalog(admin)
    plan = adopt(empty, dry_run=True)
    assert catalog(admin) == before
    printed = CliRunner().invoke(cli.app, ["adopt", "--dry-run", "--url", empty])
    assert printed.exit_code == 0
    assert [line.split("\t") for line in printed.stdout.splitlines()] == [[s.name, s.kind, s.lock, str(s.rows)] for s in plan.steps]
    assert "note: dms.Document: programs go on writing ProjectName" in printed.stderr
    assert {s.lock for s in plan.steps if s.kind == "online"} <= {"SHARE UPDATE EXCLUSIVE", "none"}
    assert {s.name: s.rows for s in plan.steps}["stamp and journal all documents"] == 40
    assert {s.name: s.rows for s in plan.steps}["set ParentResourceKeyId of all edges"] == 60
    done = []
    assert adopt(empty, progress=lambda step, rows: done.append(step.name) if not rows else None).steps == plan.steps
    assert done == [step.name for step in plan.steps]
    said = CliRunner().invoke(cli.app, ["adopt", "--url", empty])
    assert (said.exit_code, said.stdout) == (0, "revision=0007 steps=0\n")


# What is in the way

SPOILED = {
    "a type": (
        "ALTER TABLE dms.Document ALTER COLUMN DocumentId TYPE integer",
        r"dms.document.documentid: its type is integer, not bigint.*TYPE bigint",
    ),
    "no uuid": (
        "ALTER TABLE dms.Document ALTER COLUMN DocumentUuid DROP NOT NULL; UPDATE dms.Document SET DocumentUuid = NULL WHERE DocumentId < 3",
        "2 documents have none, such as document 1.*gen_random_uuid",
    ),
    "a uuid twice": (
        "DROP INDEX dms.theirs_uuid; UPDATE dms.Document SET DocumentUuid = gen_random_uuid(); UPDATE dms.Document SET DocumentUuid = (SELECT DocumentUuid FROM dms.Document WHERE DocumentId = 1) WHERE DocumentId = 2",
        "1 uuids are of several documents",
    ),
    "an edge to nothing": (
        "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (1, 999)",
        r"1 edges have a parent or a child that does not exist, such as 1 to 999.*DELETE FROM dms.ReferenceEdge",
    ),
    "an edge twice": ("INSERT INTO dms.ReferenceEdge SELECT * FROM dms.ReferenceEdge LIMIT 1", "1 edges are there more than once"),
    "a missing column": ("ALTER TABLE dms.Document DROP COLUMN DocumentUuid", "dms.document.documentuuid: the column is missing"),
    "no resource": (
        "DROP VIEW dms.TheirView; ALTER TABLE dms.Document DROP COLUMN ProjectName",
        "nothing tells a document's resource",
    ),
    "an empty name": (
        "UPDATE dms.Document SET ResourceName = '' WHERE DocumentId = 1",
        "1 resources have a name that is missing, empty or too long, such as Ed-Fi//5.2.0",
    ),
    "too many resources": (
        "INSERT INTO dms.Document (DocumentUuid, ProjectName, ResourceName, ResourceVersion) SELECT gen_random_uuid(), 'Ed-Fi', 'R' || n, '1' FROM generate_series(1, 32767) AS n",
        "32769 resources.*32,767",
    ),
    "another key": (
        "DROP TABLE dms.Theirs; DROP VIEW dms.TheirView; ALTER TABLE dms.Document DROP CONSTRAINT document_pkey, ADD PRIMARY KEY (DocumentUuid)",
        r"its primary key is another: PRIMARY KEY \(documentuuid\).*DROP CONSTRAINT document_pkey",
    ),
    "a view": (
        "DROP TABLE dms.ReferenceEdge; CREATE VIEW dms.ReferenceEdge AS SELECT 1 AS ParentDocumentId",
        "dms.referenceedge: it is no ordinary table",
    ),
    "a child table": ("CREATE TABLE dms.part () INHERITS (dms.Document)", "dms.document: it is no ordinary table"),
    "a table of a name that is ours": (
        "CREATE TABLE dms.DocumentChangeEvent (x integer)",
        "dms.documentchangeevent: the name is needed",
    ),
    "a type of a name that is ours": ("CREATE TYPE dms.JournalFloor AS ENUM ('theirs')", "type dms.journalfloor"),
    "a function of a name that is ours": (
        "CREATE FUNCTION dms.horizon() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'",
        r"function dms.horizon\(\): the name is needed",
    ),
    "an index of a name that is ours": (
        "CREATE INDEX IX_Document_ResourceKeyId ON dms.Document (ProjectName)",
        "index dms.ix_document_resourcekeyid: it is another one.*RENAME",
    ),
    "a foreign alembic_version": (
        "CREATE TABLE dms.alembic_version (version_num varchar(32) PRIMARY KEY)",
        "dms.alembic_version: the name is needed",
    ),
    "a sequence with a cache": ("CREATE SEQUENCE dms.ChangeVersionSequence CACHE 20", "cache 20.*CACHE 1 MINVALUE 1"),
    "a sequence at its end": (
        "CREATE SEQUENCE dms.ChangeVersionSequence; SELECT setval('dms.ChangeVersionSequence', 9223372036854775800)",
        "sequence dms.ChangeVersionSequence: it is at 9223372036854775800.*Set it back",
    ),
    "an unlogged table": ("ALTER TABLE dms.ReferenceEdge SET UNLOGGED", "dms.referenceedge: it is unlogged.*SET LOGGED"),
    "a trigger after ours": (
        "CREATE FUNCTION dms.theirs() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.ContentVersion := 5; RETURN NEW; END';"
        " CREATE TRIGGER zzz BEFORE UPDATE ON dms.Document FOR EACH ROW EXECUTE FUNCTION dms.theirs()",
        "trigger zzz on dms.document: it fires after ours.*RENAME TO",
    ),
    "a body of no document": (
        "CREATE TABLE dms.DocumentCache (DocumentId bigint PRIMARY KEY, DocumentJson jsonb NOT NULL, Etag varchar(64) NOT NULL,"
        " LastModifiedAt timestamptz NOT NULL, ComputedVersion bigint NOT NULL); "
        "INSERT INTO dms.DocumentCache VALUES (999, '{}', 'x', now(), 0)",
        "1 bodies are of no document, such as 999.*DELETE FROM dms.DocumentCache",
    ),
    "an index of theirs by a name that is ours": (
        "CREATE INDEX IX_DocumentDeleteEvent_Resource ON dms.Theirs (DocumentId)",
        "index dms.ix_documentdeleteevent_resource: the name is needed",
    ),
    "a key of theirs by a name that is ours": (
        "ALTER TABLE dms.Theirs ADD CONSTRAINT PK_DocumentChangeEvent PRIMARY KEY (DocumentId)",
        "index dms.pk_documentchangeevent: the name is needed",
    ),
    "a sequence by a name that is ours": ("CREATE SEQUENCE dms.KeyChangeEvent", "dms.keychangeevent: the name is needed"),
    "a trigger elsewhere that writes a journal of theirs": (
        "CREATE FUNCTION dms.theirs() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO dms.DocumentChangeEvent VALUES (1); RETURN NEW; END';"
        " CREATE TRIGGER theirs BEFORE UPDATE ON dms.Theirs FOR EACH ROW EXECUTE FUNCTION dms.theirs()",
        r"trigger theirs on dms.theirs: its function dms.theirs\(\) names a journal of dms.*it would fail",
    ),
    "a name that a journal of theirs would be kept under": (
        "CREATE TABLE dms.DocumentChangeEvent (ChangeVersion bigint, DocumentId bigint); CREATE VIEW dms.documentchangeevent_before_adoption AS SELECT 1",
        "dms.documentchangeevent_before_adoption: dms.documentchangeevent is to be kept under this name",
    ),
    "a rule": (
        "CREATE RULE theirs AS ON UPDATE TO dms.Document DO INSTEAD NOTHING",
        "dms.document: rule theirs rewrites statements.*DROP RULE theirs",
    ),
    "forced row level security": ("ALTER TABLE dms.Document FORCE ROW LEVEL SECURITY", "NO FORCE ROW LEVEL SECURITY"),
    "a generated column": (
        "ALTER TABLE dms.Document ADD COLUMN ContentVersion bigint GENERATED ALWAYS AS (1) STORED",
        "DROP EXPRESSION",
    ),
}


def test_their_journals_and_trigger_are_replaced_and_kept(empty: str, admin: sa.Connection) -> None:
    shape = SHAPES["published"]
    shape.create(admin)
    shape.fill(admin, documents=4, edges=2)
    of_theirs = "SELECT count(*), max(ChangeVersion) FROM dms.documentchangeevent{}"
    [before] = commit(admin, of_theirs.format(""))
    noted = {str(note) for note in adopt(empty, dry_run=True).notes}
    assert any(re.search(r"dms.documentchangeevent: it is kept as dms.documentchangeevent_before_adoption", each) for each in noted)
    assert any(re.search(r"trigger tr_document_changeevents .*is disabled when ours come", each) for each in noted)
    run_until(empty, "bring the triggers: from here on every write is journaled")
    commit(admin, shape.insert(0))  # their trigger still writes their journal
    run_until(empty, "let readers in")
    commit(admin, shape.insert(1))
    commit(admin, f"UPDATE dms.Document SET {shape.content} WHERE DocumentId = 1")
    adopt(empty)
    commit(admin, "DELETE FROM dms.ReferenceEdge; DELETE FROM dms.Document WHERE DocumentId = 2")
    assert commit(admin, of_theirs.format("_before_adoption")) == [(before[0] + 1, before[1] + 2)]
    assert commit(admin, "SELECT count(*) FROM pg_trigger WHERE tgname = 'tr_document_changeevents'") == [(0,)]
    assert_sound(empty, admin)
    with dj.connect(empty) as journal:
        assert journal.verify().is_clean


QUOTED = (
    """CREATE SCHEMA dms; CREATE SEQUENCE "dms"."ChangeVersionSequence"; CREATE TABLE "dms"."ResourceKey" ("ResourceKeyId" smallint PRIMARY KEY,
        "ProjectName" varchar(256) NOT NULL, "ResourceName" varchar(256) NOT NULL, "ResourceVersion" varchar(64) NOT NULL);
    INSERT INTO "dms"."ResourceKey" VALUES (1, 'Ed-Fi', 'Student', '5.2.0');
    CREATE TABLE "dms"."Document" ("DocumentId" bigint GENERATED ALWAYS AS IDENTITY NOT NULL, "DocumentUuid" uuid NOT NULL,
        "ResourceKeyId" smallint NOT NULL REFERENCES "dms"."ResourceKey" ("ResourceKeyId"), "CreatedByOwnershipTokenId" smallint NULL,
        "ContentVersion" bigint NOT NULL DEFAULT nextval('"dms"."ChangeVersionSequence"'),
        "IdentityVersion" bigint NOT NULL DEFAULT nextval('"dms"."ChangeVersionSequence"'),
        "ContentLastModifiedAt" timestamptz NOT NULL DEFAULT now(), "IdentityLastModifiedAt" timestamptz NOT NULL DEFAULT now(),
        "CreatedAt" timestamptz NOT NULL DEFAULT now(), CONSTRAINT "PK_Document" PRIMARY KEY ("DocumentId"));
    ALTER TABLE "dms"."Document" ADD CONSTRAINT "UX_Document_DocumentUuid" UNIQUE ("DocumentUuid");
    CREATE TABLE "dms"."DocumentChangeEvent" ("ChangeVersion" bigint, "DocumentId" bigint REFERENCES "dms"."Document" ON DELETE CASCADE);
    CREATE SCHEMA "edfi"; CREATE TABLE "edfi"."Student" ("DocumentId" bigint PRIMARY KEY REFERENCES "dms"."Document" ON DELETE CASCADE)""",
    """CREATE FUNCTION "dms"."TF_Document_Journal"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO "dms"."DocumentChangeEvent" VALUES (NEW."ContentVersion", NEW."DocumentId"); RETURN NEW; END $$""",
    """CREATE TRIGGER "TR_Document_Journal" AFTER INSERT OR UPDATE OF "ContentVersion" ON "dms"."Document"
        FOR EACH ROW EXECUTE FUNCTION "dms"."TF_Document_Journal"()""",
)  # as the DDL of the Ed-Fi Data Management Service makes them
INSERT_QUOTED = (
    """INSERT INTO "dms"."Document" ("DocumentUuid", "ResourceKeyId") VALUES (gen_random_uuid(), 1) RETURNING "DocumentId\""""
)


def test_names_with_capitals_are_found_and_folded_as_the_refusal_tells(empty: str, admin: sa.Connection) -> None:
    for statement in QUOTED:
        commit(admin, statement)
    commit(admin, INSERT_QUOTED)
    with pytest.raises(dj.MigrationRefused, match="run dmsjournal adopt"):
        migrate.upgrade(empty)
    with pytest.raises(dj.AdoptionRefused) as refused:
        adopt(empty, dry_run=True)
    told = {each.subject: each for each in refused.value.obstacles}
    assert set(told) == {'dms."Document"', 'dms."ResourceKey"', 'trigger "TR_Document_Journal" on dms."Document"'}
    assert (
        'its name has capitals, and the journal takes dms.document and so have its columns "DocumentId"'
        in told['dms."Document"'].found
    )
    commit(admin, 'DROP TRIGGER "TR_Document_Journal" ON "dms"."Document"')
    for subject in ('dms."Document"', 'dms."ResourceKey"'):
        [statements] = re.findall("BEGIN; (.*)COMMIT;", told[subject].remedy)
        commit(admin, statements)
    [(written,)] = commit(admin, INSERT_QUOTED)  # as their program does, by the view
    adopt(empty)
    with dj.connect(empty) as journal:
        before = journal.versions().newest
        [(inserted,)] = commit(admin, INSERT_QUOTED)
        commit(admin, f'INSERT INTO "edfi"."Student" VALUES ({inserted}); DELETE FROM "dms"."Document" WHERE "DocumentId" = 1')
        commit(admin, f'UPDATE "dms"."Document" SET "ContentVersion" = "ContentVersion" + 1 WHERE "DocumentId" = {written}')
        student, window = dj.ResourceKey("Ed-Fi", "Student", "5.2.0"), dj.Window(before + 1)
        assert [change.document_id for change in journal.changes(student, window)] == [inserted, written]
        assert [delete.document_id for delete in journal.deletes(student, window)] == [1]
        assert journal.verify().is_clean


def test_columns_with_capitals_are_found_where_their_table_has_none(empty: str, admin: sa.Connection) -> None:
    shape = SHAPES["bare"]
    shape.create(admin)
    shape.fill(admin)
    commit(admin, 'ALTER TABLE dms.Document RENAME documentuuid TO "DocumentUuid"')
    with pytest.raises(dj.AdoptionRefused) as refused:
        adopt(empty)
    [told] = refused.value.obstacles
    assert (told.subject, told.found) == ("dms.document", 'capitals are in the names of its columns "DocumentUuid"')
    commit(admin, re.findall("BEGIN; (.*)COMMIT;", told.remedy)[0])
    adopt(empty)


BEFORE, AFTER = "bring the triggers: from here on every write is journaled", "let readers in"


STEPS = [BEFORE, "stamp and journal all documents", AFTER]


@pytest.mark.parametrize(  # each shape from one step, each step of one shape at least; the others in the long runs
    ("shape", "step"),
    [
        pytest.param(shape, step, id=f"{step}-{shape.name}", marks=() if number % len(STEPS) == at else pytest.mark.long)
        for number, shape in enumerate(SHAPES.values())
        for at, step in enumerate(STEPS)
    ],
)
def test_an_adoption_goes_back(empty: str, admin: sa.Connection, fresh: sa.Connection, shape: Shape, step: str) -> None:
    """As far as their programs notice: their columns, their nulls, their edges in any order, their journals."""
    shape.create(admin)
    shape.fill(admin)
    columns = "SELECT attrelid::regclass::text, attname, attnotnull FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = attrelid"
    columns += " WHERE relnamespace = 'dms'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped ORDER BY 1, 2"
    triggers = "SELECT tgname, tgenabled FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1"
    routines = "SELECT proname FROM pg_proc WHERE pronamespace = 'dms'::regnamespace ORDER BY 1"
    before = [commit(admin, each) for each in (columns, triggers, routines)]
    run_until(empty, step)
    notes = adoptions.abandon(empty)
    assert any("stay so" in note.found for note in notes)
    lacking = {note.subject for note in notes if "it has no event of what was written" in note.found}
    is_switched = step != BEFORE and shape.name == "published"
    assert lacking == ({"dms.documentchangeevent", "dms.identitychangeevent"} if is_switched else set())
    assert [commit(admin, each) for each in (columns, triggers, routines)] == before
    with dj.connect(empty) as journal, pytest.raises(dj.NotInstalled) as refused:
        journal.versions()
    assert refused.value.command == "upgrade"
    for resource in (0, 1):
        commit(admin, shape.insert(resource))
    if shape.name != "ids":
        commit(admin, f"UPDATE dms.Document SET {shape.content}")
    adopt(empty)
    assert_as_installed(admin, fresh, shape)
    assert_sound(empty, admin)
    with pytest.raises(dj.MigrationRefused, match="no adoption is on its way"):
        adoptions.abandon(empty)


def test_a_step_that_fails_says_what_was_done_and_the_ways_out(empty: str, admin: sa.Connection) -> None:
    shape = SHAPES["ids"]
    shape.create(admin)
    shape.fill(admin)
    seen = []

    def spoil(step: adoptions.AdoptionStep, rows: int) -> None:
        seen.append(step.name)
        if step.name.startswith("build index ux_document_documentuuid"):
            commit(admin, "UPDATE dms.Document SET DocumentUuid = (SELECT DocumentUuid FROM dms.Document WHERE DocumentId = 1)")

    with pytest.raises(dj.AdoptionStopped, match=r"could not create unique index.*adopt` again.*--abandon") as stopped:
        adopt(empty, progress=spoil)
    assert stopped.value.step == seen[-1]
    assert stopped.value.done == len(dict.fromkeys(seen)) - 1 > 5
    assert "nothing was changed" not in str(stopped.value)
    commit(admin, "UPDATE dms.Document SET DocumentUuid = gen_random_uuid()")
    adopt(empty)
    assert_sound(empty, admin)


@pytest.mark.acceptance("57")
@pytest.mark.parametrize("spoiled", SPOILED)
def test_what_is_in_the_way_is_named_with_its_remedy(empty: str, admin: sa.Connection, spoiled: str) -> None:
    shape = SHAPES["bare"]
    shape.create(admin)
    shape.fill(admin)
    statement, expected = SPOILED[spoiled]
    if spoiled == "a type":
        commit(admin, "DROP TABLE dms.Theirs; DROP VIEW dms.TheirView")
    commit(admin, statement)
    before = catalog(admin)
    with pytest.raises(dj.AdoptionRefused, match=expected):
        adopt(empty)
    assert catalog(admin) == before


@pytest.mark.acceptance("57")
def test_a_version_that_nothing_can_be_above_is_in_the_way_of_new_stamps_too(empty: str, admin: sa.Connection) -> None:
    shape = SHAPES["versions and ids"]
    shape.create(admin)
    shape.fill(admin)
    commit(admin, "UPDATE dms.Document SET ContentVersion = 9223372036854775807 WHERE DocumentId = 1")
    for new_stamps in (False, True):
        with pytest.raises(dj.AdoptionRefused, match="the highest version is 9223372036854775807"):
            adopt(empty, new_stamps=new_stamps)
    commit(admin, "UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = 1")
    adopt(empty)


@pytest.mark.acceptance("57")
@pytest.mark.parametrize("time", ["infinity", "-infinity", "10000-01-01", "0044-03-15 BC"])
def test_a_time_that_no_program_can_read_is_in_the_way(empty: str, admin: sa.Connection, time: str) -> None:
    """Else whatever derives from it is an error from then on."""
    shape = SHAPES["versions and ids"]
    shape.create(admin)
    shape.fill(admin, documents=4, edges=0)
    commit(admin, f"UPDATE dms.Document SET IdentityLastModifiedAt = '{time}' WHERE DocumentId = 3")
    with pytest.raises(dj.AdoptionRefused, match=r"1 documents have an infinite .* such as document 3. Correct them"):
        adopt(empty, dry_run=True)


@pytest.mark.acceptance("57")
def test_content_in_columns_with_any_name_but_a_generated_one(empty: str, admin: sa.Connection) -> None:
    shape = SHAPES["ids"]
    shape.create(admin)
    shape.fill(admin)
    odd = 'My "Body" 100% :x'
    commit(admin, 'ALTER TABLE dms.Document ADD COLUMN "My ""Body"" 100% :x" text, ADD COLUMN Other text'.replace("%", "%%"))
    commit(admin, "ALTER TABLE dms.Document ADD COLUMN Made text GENERATED ALWAYS AS (Other || '!') STORED")
    with pytest.raises(dj.AdoptionRefused, match=r"dms.Document.Made: it is generated.*Name the columns that it is made of"):
        adopt(empty, content_columns=[odd, "Made"])
    adopt(empty, content_columns=[odd, "OTHER"])
    for column in ('"My ""Body"" 100%% :x"', "Other"):
        before = drawn(admin)
        commit(admin, f"UPDATE dms.Document SET {column} = 'new' WHERE DocumentId = 1")
        assert stamps(admin, 1)[0] == drawn(admin) == before + 1


@pytest.mark.acceptance("57")
def test_a_later_run_may_name_other_content_columns_and_they_are_looked_at(empty: str, admin: sa.Connection) -> None:
    shape = SHAPES["ids"]
    shape.create(admin)
    shape.fill(admin, documents=4, edges=0)
    commit(admin, "ALTER TABLE dms.Document ADD COLUMN Other text, ADD COLUMN Made text GENERATED ALWAYS AS ('x') STORED")
    run_until(empty, "stamp and journal all documents")
    for name, found in (
        ("Nope", "there is no such column"),
        ("DocumentId", "the journal looks at it"),
        ("Made", "it is generated"),
    ):
        with pytest.raises(dj.AdoptionRefused, match=f"dms.Document.{name}: .*{found}"):
            adopt(empty, content_columns=[name])
    adopt(empty, content_columns=["Other"])
    before = drawn(admin)
    commit(admin, "UPDATE dms.Document SET Other = 'new'")
    assert drawn(admin) == before + 4


def test_content_columns_may_be_named_after_the_end_and_anew(empty: str, admin: sa.Connection) -> None:
    shape = SHAPES["ids"]
    shape.create(admin)
    shape.fill(admin, documents=4, edges=0)
    commit(admin, "ALTER TABLE dms.Document ADD COLUMN One text, ADD COLUMN Two text")
    adopt(empty)
    with pytest.raises(dj.AdoptionRefused, match=r"dms.Document.Nope: there is no such column"):
        adopt(empty, content_columns=["Nope"])
    assert adopt(empty).steps == []
    for column, other in (("One", "Two"), ("Two", "One")):
        for dry_run in (True, False):
            done = adopt(empty, content_columns=[column], dry_run=dry_run)
            assert [step.name for step in done.steps] == ["take a change of other columns for content"]
        before = drawn(admin)
        commit(admin, f"UPDATE dms.Document SET {column} = {drawn(admin)} WHERE DocumentId = 1")
        assert stamps(admin, 1)[0] == drawn(admin) == before + 1
        commit(admin, f"UPDATE dms.Document SET {other} = 'new' WHERE DocumentId = 1")
        assert drawn(admin) == before + 1
    [note] = adopt(empty, new_stamps=True).notes
    assert "keep the stamps" in note.found
    assert_sound(empty, admin)


@pytest.mark.parametrize(
    ("off", "state", "on"),
    [
        ("ALTER TABLE dms.Document DISABLE TRIGGER TR_Document_Content", "disabled", ""),
        ("DROP TRIGGER TR_Document_Content ON dms.Document", "missing", ""),
        (
            "ALTER TABLE dms.Document DISABLE TRIGGER TR_Document_Names",
            "disabled",
            "ALTER TABLE dms.Document ENABLE TRIGGER TR_Document_Names",
        ),
    ],
)
def test_triggers_that_an_adoption_has_left_are_watched(empty: str, admin: sa.Connection, off: str, state: str, on: str) -> None:
    shape = SHAPES["bare"]
    shape.create(admin)
    shape.fill(admin, documents=4, edges=0)
    adopt(empty, content_columns=["Body"])
    with dj.connect(empty) as journal:
        assert {t.state for t in journal.status().triggers} == {"enabled"}
        assert journal.verify().is_clean
        commit(admin, off)
        [trigger] = [t for t in journal.status().triggers if t.state != "enabled"]
        assert (trigger.name in off, trigger.state) == (True, state)
        [finding] = journal.verify().findings
        assert (finding.code, finding.objects) == ("adopted-trigger", (f"{trigger.name.lower()} ({state})",))
        if on:
            commit(admin, on)
        else:
            adopt(empty, content_columns=["Body"])
        assert journal.verify().is_clean


@pytest.mark.acceptance("54")
def test_ids_go_on_above_what_a_sequence_of_somebody_else_has_given(empty: str, admin: sa.Connection) -> None:
    shape = SHAPES["ids"]
    shape.create(admin)
    commit(admin, "CREATE SEQUENCE public.theirs START 1000")
    commit(admin, "ALTER TABLE dms.Document ALTER COLUMN DocumentId DROP IDENTITY")
    commit(admin, "ALTER TABLE dms.Document ALTER COLUMN DocumentId SET DEFAULT nextval('public.theirs')")
    commit(admin, shape.insert(0))
    commit(admin, "DELETE FROM dms.Document")  # an id that was given is not given again
    assert "its default draws from public.theirs" in str(adopt(empty, dry_run=True).notes[0])
    adopt(empty)
    assert commit(admin, shape.insert(0) + " RETURNING DocumentId") == [(1001,)]


@pytest.mark.acceptance("54")
def test_versions_that_documents_share_are_no_finding_of_verify(empty: str, admin: sa.Connection) -> None:
    """They lie below the first floor: no window has them. Stamps that come after it are one document's each."""
    shape = SHAPES["versions and ids"]
    shape.create(admin)
    shape.fill(admin)
    commit(admin, "UPDATE dms.Document SET ContentVersion = 7777")
    adopt(empty)
    with dj.connect(empty) as journal:
        assert journal.verify().is_clean


@pytest.mark.acceptance("54")
def test_adopted_journals_in_parts(empty: str, admin: sa.Connection) -> None:
    """Events below the first floor are in a part like others: it is split, dropped, and consumers read on above it."""
    shape = SHAPES["versions and names"]
    shape.create(admin)
    shape.fill(admin)
    adopt(empty)
    migrate.upgrade(empty, options=["partitions"])
    with dj.connect(empty) as journal:
        journal.partitions.ensure(versions=30, ahead=2)
        copy = Copy(journal)
        for statement in (
            f"UPDATE dms.Document SET {shape.content}",
            f"UPDATE dms.Document SET {shape.identity} WHERE DocumentId < 9",
        ):
            commit(admin, statement)
        journal.partitions.ensure(versions=30, ahead=2)
        assert journal.partitions.split(versions=30)
        assert journal.verify().is_clean
        assert_sound(empty, admin)
        copy.follow()
        pruned = journal.prune(journal.versions().newest - 5)
        assert pruned.journals[0].dropped > 1
        assert journal.verify().is_clean
        commit(admin, f"UPDATE dms.Document SET {shape.content} WHERE DocumentId = 3")
        copy.follow()
        for resource, held in copy.documents.items():
            assert held == {change.document_id: change.change_version for change in journal.snapshot(resource)}


@pytest.mark.acceptance("57")
def test_all_that_is_in_the_way_comes_in_one_list(empty: str, admin: sa.Connection) -> None:
    shape = SHAPES["bare"]
    shape.create(admin)
    shape.fill(admin)
    several = ("an edge to nothing", "an edge twice", "an empty name", "a table of a name that is ours", "a sequence with a cache")
    for name in several:
        commit(admin, SPOILED[name][0])
    printed = CliRunner().invoke(cli.app, ["adopt", "--url", empty])
    assert printed.exit_code == 5
    assert len(printed.stderr.splitlines()) == len(several) + 1
    assert printed.stderr.endswith("5 in the way of the adoption\n")
    for name in several:
        assert re.search(SPOILED[name][1], printed.stderr), name


@pytest.mark.acceptance("57")
def test_a_resource_id_without_a_meaning_is_in_the_way(empty: str, admin: sa.Connection) -> None:
    shape = SHAPES["ids"]
    shape.create(admin)
    shape.fill(admin)
    commit(admin, "INSERT INTO dms.Document (ResourceKeyId) VALUES (9), (NULL)")
    with pytest.raises(
        dj.AdoptionRefused, match=r"1 ids have no row in dms.ResourceKey, such as 9.*1 documents have none, such as 42"
    ):
        adopt(empty)
    commit(admin, "DROP TABLE dms.ResourceKey")
    with pytest.raises(dj.AdoptionRefused, match="nothing else tells what a ResourceKeyId means"):
        adopt(empty)


@pytest.mark.acceptance("57")
def test_a_role_that_does_not_own_the_tables_is_refused(empty: str, admin: sa.Connection) -> None:
    SHAPES["ids"].create(admin)
    commit(admin, "DROP ROLE IF EXISTS adopter; CREATE ROLE adopter LOGIN PASSWORD 'x'; GRANT ALL ON SCHEMA dms TO adopter")
    commit(admin, "GRANT ALL ON ALL TABLES IN SCHEMA dms TO adopter")
    adopter = sa.make_url(empty).set(username="adopter", password="x").render_as_string(hide_password=False)
    try:
        with pytest.raises(dj.AdoptionRefused, match=r"role adopter does not own it.*Adopt as the owner"):
            adopt(adopter)
        for table in ("Document", "ReferenceEdge", "ResourceKey"):
            commit(admin, f"ALTER TABLE dms.{table} OWNER TO adopter")
        commit(admin, "REVOKE CREATE ON SCHEMA dms FROM adopter")
        with pytest.raises(dj.AdoptionRefused, match=r"^1 in the way.*schema dms: role adopter does not own it"):
            adopt(adopter, dry_run=True)
        with pytest.raises(dj.AdoptionRefused, match=r"role adopter may not create anything there. GRANT CREATE ON SCHEMA dms"):
            adopt(adopter, dry_run=True, trust=["schema dms"])
        for missing in ("TEMPORARY ON DATABASE", "USAGE ON SCHEMA"):
            named = sa.make_url(empty).database if "DATABASE" in missing else "dms"
            commit(admin, f"REVOKE {missing} {named} FROM PUBLIC, adopter")
            with pytest.raises(
                dj.DatabaseRefused, match=r"permission denied .*as the role that owns dms.Document; GRANT USAGE.* TEMPORARY"
            ):
                adopt(adopter, dry_run=True, trust=["schema dms"])
            commit(admin, f"GRANT {missing} {named} TO adopter")
    finally:
        commit(admin, "DROP OWNED BY adopter; DROP ROLE adopter")


def test_without_documents_there_is_nothing_to_adopt(empty: str, admin: sa.Connection) -> None:
    with pytest.raises(dj.MigrationRefused, match=r"no dms\.Document to adopt.*Run dmsjournal upgrade"):
        adopt(empty)
    migrate.upgrade(empty, "0003")
    with pytest.raises(dj.MigrationRefused, match="at revision 0003"):
        adopt(empty)


@pytest.mark.acceptance("57")
def test_an_upgrade_names_the_adoption_where_the_documents_are_another_programs(empty: str, admin: sa.Connection) -> None:
    SHAPES["ids"].create(admin)
    with pytest.raises(dj.MigrationRefused, match=r"of another application: document, .*run dmsjournal adopt"):
        migrate.upgrade(empty)
    assert "dmsjournal adopt" in migrate.script()


@pytest.mark.acceptance("56")
def test_an_upgrade_waits_for_the_end_of_an_adoption(empty: str, admin: sa.Connection) -> None:
    shape = SHAPES["ids"]
    shape.create(admin)
    shape.fill(admin)
    run_until(empty, "stamp and journal all documents")
    with pytest.raises(dj.MigrationRefused, match=r"adoption of dms.Document is on its way.*Run dmsjournal adopt"):
        migrate.upgrade(empty)
    with dj.connect(empty) as journal, pytest.raises(dj.NotInstalled, match="on its way: run `dmsjournal adopt"):
        journal.versions()  # no reader sees a journal that is not filled
    for arguments in (["verify"], ["fill", "max_dep_identity_version"], ["current"], ["downgrade", "base"]):
        assert "dmsjournal adopt" in CliRunner().invoke(cli.app, [*arguments, "--url", empty]).stderr
    adopt(empty)
    assert CliRunner().invoke(cli.app, ["current", "--url", empty]).stderr == ""
    assert_sound(empty, admin)


# Locks


@pytest.mark.acceptance("56")
@pytest.mark.parametrize("step", ["add to dms.document", "take names", "bring the triggers", "let readers in"])
def test_a_lock_that_is_held_ends_it_with_nothing_more_changed(empty: str, admin: sa.Connection, step: str) -> None:
    shape = SHAPES["bare"]
    shape.create(admin)
    shape.fill(admin)
    [name] = [planned.name for planned in adopt(empty, dry_run=True).steps if planned.name.startswith(step)]
    run_until(empty, name)
    before = catalog(admin)
    with sa.create_engine(empty, poolclass=sa.NullPool).connect() as writer:
        writer.exec_driver_sql("LOCK TABLE dms.Document IN ROW EXCLUSIVE MODE")
        with pytest.raises(
            dj.Unavailable, match=r"not to be had in 2 tries of 100ms: what was done so far is kept.*run adopt again"
        ):
            adopt(empty, lock_timeout="100ms", tries=2)
        writer.rollback()
    assert catalog(admin) == before
    adopt(empty)
    assert_sound(empty, admin)


@pytest.mark.acceptance("56")
def test_a_lock_that_is_let_go_of_is_waited_for(empty: str, admin: sa.Connection) -> None:
    shape = SHAPES["versions and ids"]
    shape.create(admin)
    shape.fill(admin)
    stop = threading.Event()

    def write_long() -> None:  # a transaction of 0.3 s after the other, each longer than the lock timeout
        with sa.create_engine(empty, poolclass=sa.NullPool).connect() as writer:
            while not stop.is_set():
                with writer.begin():
                    writer.exec_driver_sql("UPDATE dms.Document SET CreatedAt = CreatedAt WHERE DocumentId = 1")
                    time.sleep(0.3)
                time.sleep(0.05)

    thread = threading.Thread(target=write_long)
    thread.start()
    try:
        adopt(empty, lock_timeout="200ms", tries=200)
    finally:
        stop.set()
        thread.join()
    assert_sound(empty, admin)


def test_only_one_adopts_at_a_time(empty: str, admin: sa.Connection) -> None:
    shape = SHAPES["ids"]
    shape.create(admin)
    shape.fill(admin)
    refused: list[dj.Unavailable] = []

    def adopt_too(step: adoptions.AdoptionStep, rows: int) -> None:
        if not refused:
            with pytest.raises(dj.Unavailable) as caught:
                adopt(empty, tries=1)
            refused.append(caught.value)

    adopt(empty, progress=adopt_too)
    assert "another adoption is on its way" in str(refused[0].__cause__ or refused[0])


def test_who_adopts_is_named_after_a_second(empty: str, admin: sa.Connection, caplog: pytest.LogCaptureFixture) -> None:
    SHAPES["ids"].create(admin)
    with psycopg.connect(in_psycopg(empty), application_name="nightly", autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(1146768492, 1)")
        with (
            caplog.at_level(logging.WARNING, "dmsjournal.adopt"),
            pytest.raises(dj.Unavailable, match="another adoption") as refused,
        ):
            adopt(empty, tries=6)
        named = f"another adoption is on its way: session {other.info.backend_pid} of postgres (nightly, on 127.0.0.1)"
    assert [record.getMessage().startswith(named) for record in caplog.records] == [True]
    assert named in str(refused.value)


def test_no_lock_that_writers_wait_for_is_held_while_something_long_runs(empty: str, admin: sa.Connection) -> None:
    shape = SHAPES["bare"]
    shape.create(admin)
    shape.fill(admin)
    commit(
        admin,
        "INSERT INTO dms.Document (DocumentUuid, ProjectName, ResourceName, ResourceVersion)"
        " SELECT gen_random_uuid(), 'Ed-Fi', 'Student', '5.2.0' FROM generate_series(1, 20000)",
    )
    commit(admin, "INSERT INTO dms.ReferenceEdge SELECT 1 + mod(n, 40), n FROM generate_series(41, 20000) AS n")
    with watched(empty) as held:
        steps = adopt(empty, batch_size=2000, progress=lambda step, rows: held.during(step)).steps
    long = {step.name for step in steps if step.kind != "short"}
    assert held.seen, "the watch saw no lock at all"
    assert {(name, mode) for name, mode in held.seen if name in long} == set()
    assert max(held.longest.values(), default=0.0) < 1.0, held.longest
    assert_sound(empty, admin)


class Held:
    """The locks on documents and edges that writers would wait for, and the step that they were seen in."""

    def __init__(self) -> None:
        self.step = ""
        self.seen: set[tuple[str, str]] = set()
        self.longest: dict[tuple[int, str], float] = {}

    def during(self, step: adoptions.AdoptionStep) -> None:
        self.step = step.name


@contextmanager
def watched(url: str) -> Iterator[Held]:
    held, stop = Held(), threading.Event()
    query = """SELECT pid, mode || ' ' || relation::regclass FROM pg_locks
        WHERE relation IN (to_regclass('dms.Document'), to_regclass('dms.ReferenceEdge')) AND granted
          AND locktype = 'relation' AND mode IN ('AccessExclusiveLock', 'ExclusiveLock', 'ShareRowExclusiveLock', 'ShareLock')"""

    def watch() -> None:
        since: dict[tuple[int, str], float] = {}
        with sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool).connect() as connection:
            while not stop.is_set():
                step, now = held.step, time.monotonic()
                found = {(pid, mode) for pid, mode in connection.exec_driver_sql(query)}
                if step == held.step:  # both belong together
                    held.seen |= {(step, mode) for _, mode in found}
                since = {key: since.get(key, now) for key in found}
                for key, begun in since.items():
                    held.longest[key] = max(held.longest.get(key, 0.0), now - begun)
                time.sleep(0.002)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield held
    finally:
        stop.set()
        thread.join()


# Killed and run again


@pytest.mark.acceptance("54")
@pytest.mark.parametrize("name", one_now(SHAPES))
def test_killed_after_every_few_steps_it_ends_as_if_it_had_not_been(
    empty: str, admin: sa.Connection, fresh: sa.Connection, name: str
) -> None:
    shape = SHAPES[name]
    shape.create(admin)
    shape.fill(admin)
    steps = random.Random(54)
    for _ in range(40):
        process = start(empty, steps.randint(2, 9))
        _, errors = process.communicate()
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, errors.decode()
    else:
        pytest.fail("it never came to its end")
    assert_as_installed(admin, fresh, shape)
    assert_sound(empty, admin)


@pytest.mark.long
@pytest.mark.acceptance("54")
def test_killed_in_the_middle_of_a_statement_it_ends_as_if_it_had_not_been(
    empty: str, admin: sa.Connection, fresh: sa.Connection
) -> None:
    shape = SHAPES["bare"]
    shape.create(admin)
    shape.fill(admin)
    commit(
        admin,
        "INSERT INTO dms.Document (DocumentUuid, ProjectName, ResourceName, ResourceVersion)"
        " SELECT gen_random_uuid(), 'Ed-Fi', 'Student', '5.2.0' FROM generate_series(1, 3000)",
    )
    moments = random.Random(54)
    for _ in range(12):
        process = start(empty, 0)
        time.sleep(0.5 + moments.random() * 1.5)
        process.kill()
        _, errors = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), errors.decode()
    adopt(empty, batch_size=500)
    assert_as_installed(admin, fresh, shape)
    assert_sound(empty, admin)


@pytest.mark.acceptance("54")
def test_an_index_that_a_killed_run_left_half_built_is_built_again(empty: str, admin: sa.Connection, fresh: sa.Connection) -> None:
    shape = SHAPES["ids"]
    shape.create(admin)
    shape.fill(admin)
    run_until(empty, "build index ix_document_keyvalues on dms.document")
    with sa.create_engine(empty, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool).connect() as connection:
        connection.exec_driver_sql("SET statement_timeout = '300ms'")
        admin.exec_driver_sql("SELECT txid_current()")
        admin.exec_driver_sql("UPDATE dms.Document SET CreatedAt = CreatedAt WHERE DocumentId = 1")  # open: the index waits for it
        with pytest.raises(exc.OperationalError, match="statement timeout"):
            connection.exec_driver_sql(
                "CREATE INDEX CONCURRENTLY IX_Document_KeyValues ON dms.Document (ResourceKeyId, jsonb_hash_extended(KeyValues, 0))"
                " WHERE KeyValues IS NOT NULL"
            )
        admin.rollback()
    assert commit(admin, "SELECT count(*) FROM pg_index WHERE NOT indisvalid") == [(1,)]
    adopt(empty)
    assert commit(admin, "SELECT count(*) FROM pg_index WHERE NOT indisvalid") == [(0,)]
    assert_as_installed(admin, fresh, shape)


# Writers at work


def statement_of(shape: Shape, chance: random.Random) -> str:
    """A write of their program: documents and edges come, change and go."""
    some, other = (
        f"(SELECT DocumentId FROM dms.Document ORDER BY md5(DocumentId::text || '{chance.random()}') LIMIT 1)" for _ in range(2)
    )
    return chance.choice(
        [
            shape.insert(0),
            shape.insert(1),
            f"UPDATE dms.Document SET {shape.content} WHERE DocumentId = {some}",
            f"UPDATE dms.Document SET {shape.identity} WHERE DocumentId = {some}",
            f"""INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId{", ParentResourceKeyId" if shape.with_parent else ""})
            VALUES ({some}, {other}{", 3" if shape.with_parent else ""}) ON CONFLICT DO NOTHING""",
            f"DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId = {some}",
            f"DELETE FROM dms.Document AS d WHERE DocumentId = {some}"
            " AND NOT EXISTS (SELECT FROM dms.ReferenceEdge AS e WHERE e.ChildDocumentId = d.DocumentId)",
        ]
    )


@contextmanager
def writers(url: str, shape: Shape, count: int = 4) -> Iterator[list[int]]:
    """Sessions that write as their program does, some of it rolled back; how many transactions of each were committed."""

    def is_fault(error: Exception) -> bool:  # not a deadlock, a document that is referred to, one that is gone
        return not isinstance(error, exc.OperationalError | exc.IntegrityError)

    with writing(url, lambda chance: statement_of(shape, chance), is_fault, count) as committed:
        yield committed


@pytest.mark.acceptance("54")
@pytest.mark.parametrize("name", one_now(["bare", "versions and names", "versions and ids"]))
def test_writers_go_on_and_nothing_of_theirs_is_lost_or_seen_twice(
    empty: str, admin: sa.Connection, fresh: sa.Connection, name: str
) -> None:
    shape = SHAPES[name].with_keys() if name == "bare" else SHAPES[name]
    shape.create(admin)
    shape.fill(admin, documents=300, edges=400)
    with writers(empty, shape) as committed, dj.connect(empty) as journal:
        time.sleep(0.5)
        before = list(committed)
        adopt(empty, batch_size=20, pause=0.02, tries=300, lock_timeout="200ms", content_columns=["Body"] if name == "bare" else [])
        assert all(later > earlier for earlier, later in zip(before, committed, strict=True)), "a writer was held all the time"
        copy = Copy(journal)
        ends = time.monotonic() + 1
        while time.monotonic() < ends:
            copy.follow()
    with dj.connect(empty) as journal:
        copy.journal = journal
        copy.follow()
        for of, resource_key_id in journal.resources().items():
            assert copy.documents[of] == {c.document_id: c.change_version for c in expected_changes(admin, resource_key_id)}
    assert_as_installed(admin, fresh, shape)
    assert_sound(empty, admin)


@pytest.mark.long
@pytest.mark.acceptance("54")
def test_killed_while_writers_go_on(empty: str, admin: sa.Connection, fresh: sa.Connection) -> None:
    shape = SHAPES["versions and names"]
    shape.create(admin)
    shape.fill(admin, documents=200, edges=200)
    chance = random.Random(9)
    with writers(empty, shape):
        for _ in range(8):
            process = start(empty, 0)
            time.sleep(0.6 + chance.random() * 1.5)
            process.kill()
            process.communicate()
        adopt(empty, tries=300, lock_timeout="200ms")
    assert_as_installed(admin, fresh, shape)
    assert_sound(empty, admin)


RACES = {
    "an unstamped document changes before it is stamped": (
        "schema/adopt_stamps",
        "UPDATE dms.Document SET ContentVersion = -5 WHERE DocumentId = 2",
    ),
    "a document changes before its event": (
        "schema/adopt_document_events",
        "UPDATE dms.Document SET ContentVersion = -5 WHERE DocumentId = 2",
    ),
    "a child is renamed before its event": (
        "schema/adopt_identity_events",
        "UPDATE dms.Document SET IdentityVersion = -5 WHERE DocumentId = 1",
    ),
    "a document goes before its event": ("schema/adopt_document_events", "DELETE FROM dms.Document WHERE DocumentId = 40"),
    "an edge comes before the children's events": (
        "schema/adopt_identity_events",
        "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (3, 1), (5, 1)",
    ),
    "a pair of resources comes before it is looked for": (
        "schema/adopt_dependencies",
        "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (1, 2), (3, 4)",
    ),
}


@pytest.mark.acceptance("54")
@pytest.mark.parametrize(  # each race in one shape; in the other one in the long runs
    ("name", "race"),
    [
        pytest.param(name, race, marks=pytest.mark.long if (number + at) % 2 else ())
        for number, name in enumerate(["versions and names", "ids"])
        for at, race in enumerate(RACES)
    ],
)
def test_a_write_between_a_batch_and_its_statement(
    empty: str, admin: sa.Connection, monkeypatch: pytest.MonkeyPatch, race: str, name: str
) -> None:
    shape = SHAPES[name]
    shape.create(admin)
    shape.fill(admin, documents=40, edges=30)
    commit(admin, "DELETE FROM dms.ReferenceEdge WHERE 40 IN (ParentDocumentId, ChildDocumentId)")
    query, write = RACES[race]

    def act() -> None:  # by a session of its own, with the batch's transaction open
        with sa.create_engine(empty, poolclass=sa.NullPool).connect() as writer:
            commit(writer, "SET lock_timeout = '500ms'")
            try:
                commit(writer, write)
            except exc.OperationalError:  # the batch has locked that row: then there is no race
                writer.rollback()

    interrupting(monkeypatch, query, act)
    adopt(empty)
    assert_sound(empty, admin)


def test_a_document_that_a_writer_stamps_first_is_stamped_once(
    empty: str, admin: sa.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = SHAPES["ids"]
    shape.create(admin)
    shape.fill(admin, documents=20, edges=0)
    change = "UPDATE dms.Document SET ContentVersion = -5, IdentityVersion = -5 WHERE DocumentId = 2"
    with sa.create_engine(empty, poolclass=sa.NullPool).connect() as writer:
        waits: list[threading.Thread] = []

        def act() -> None:  # the writer holds the row; the batch waits for it, and looks again
            writer.exec_driver_sql(change)
            waits.append(threading.Thread(target=lambda: (time.sleep(0.3), writer.commit())))
            waits[0].start()

        interrupting(monkeypatch, "schema/adopt_stamps", act)
        adopt(empty)
        waits[0].join()
    assert commit(admin, "SELECT count(*) FROM dms.DocumentChangeEvent WHERE DocumentId = 2") == [(1,)]
    assert_sound(empty, admin)


def test_a_log_has_a_line_for_each_step(empty: str, admin: sa.Connection) -> None:
    """Where no terminal shows how far it is: cron, systemd, a pipe."""
    SHAPES["bare"].create(admin)
    SHAPES["bare"].fill(admin)
    result = CliRunner().invoke(cli.app, ["adopt", "--url", empty])
    told = [line for line in result.stderr.splitlines() if not line.startswith("note: ")]
    assert result.stdout == f"revision={migrate.newest()} steps={len(told)}\n"
    assert told[-1] == "let readers in"
