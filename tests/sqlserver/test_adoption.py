"""Adoption in T-SQL: the journal on document tables that exist already (acceptance 54, 56, 57). See tests/migrations/test_adoption.py.

A stand-in needs a minute for each: one adoption is looked at from many sides.
"""

# ruff: noqa: E501  # statements and messages, each in one line

import random
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import exc
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.database import sql
from dmsjournal.schema import adopt as adoptions
from dmsjournal.schema import migrate
from tests.adoptions import Copy, adopt, interrupting, run_until, writing
from tests.helpers import commit, drawn, expected_changes
from tests.sqlserver.conftest import catalog
from tests.sqlserver.shapes import PUBLISHED, SHAPES, Shape

THEIRS = re.compile(
    r"theirs|theirview|body|note|projectname|resourcename|resourceversion|document_names|document_renamed|document_content|dms_",
    re.I,
)
VERSIONS = "SELECT DocumentId, ContentVersion, IdentityVersion FROM dms.Document WHERE ContentVersion > 0 ORDER BY DocumentId"
shapes = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


@pytest.fixture
def writer(empty: str) -> Iterator[sa.Connection]:
    with sa.create_engine(empty, poolclass=sa.NullPool).connect() as connection:
        yield connection


def made(admin: sa.Connection, name: str, **sizes: int) -> Shape:
    shape = SHAPES[name]
    shape.create(admin)
    shape.fill(admin, **sizes)
    return shape


def faults(admin: sa.Connection) -> list[Any]:
    return commit(admin, sql.text_of("sqlserver", "queries/schema/adopt_faults"))


def assert_sound(url: str, admin: sa.Connection) -> None:
    """Invariants 2 to 4 hold of all documents, and a consumer that begins now reads each where it is defined to be."""
    assert faults(admin) == []
    everything = []
    with dj.connect(url) as journal:
        for of, resource_key_id in journal.resources().items():
            expected = expected_changes(admin, resource_key_id)
            assert sorted(journal.snapshot(of), key=lambda c: (c.change_version, c.document_id)) == expected
            everything += [(resource_key_id, c.document_id, c.change_version) for c in expected]
    view = commit(admin, "SELECT ResourceKeyId, DocumentId, ChangeVersion FROM dms.ResourceChange")
    assert sorted(map(tuple, view)) == sorted(everything)


def assert_as_installed(found: dict[str, list[Any]], fresh: dict[str, list[Any]]) -> None:
    """The schema is a fresh installation's, apart from what is theirs, and from what a stand-in cannot change."""
    bare = [{name: {without_nulls(name, row) for row in rows} for name, rows in of.items()} for of in (fresh, found)]
    for name, expected in bare[0].items():
        assert not expected - bare[1][name], name
        assert all(THEIRS.search(repr(row)) for row in bare[1][name] - expected), (name, bare[1][name] - expected)


def without_nulls(name: str, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Whether a column takes nulls: adopted ones are compared with what the stamping triggers take in assert_sound."""
    return row[:4] + row[5:] if name == "columns" else row


@pytest.fixture(scope="module")
def fresh(sqlserver_server) -> dict[str, list[Any]]:
    """What an installation makes."""
    with sqlserver_server.copy_of_template() as url, sqlserver_server.engine(url).connect() as connection:
        return catalog(connection)


@pytest.mark.acceptance("54")
@shapes
def test_adopted_tables_are_those_of_a_fresh_installation(fresh, empty: str, admin: sa.Connection, shape: Shape) -> None:
    """What is there before, what is there afterwards, both programs that write on, and a removal."""
    made(admin, shape.name)
    rows = commit(admin, "SELECT DocumentId, DocumentUuid FROM dms.Document ORDER BY DocumentId")
    versions = commit(admin, VERSIONS) if "versions" in shape.name else []
    assert len(versions) == {"versions and names": 40, "versions and ids": 20}.get(shape.name, 0)
    steps: list[str] = []
    adoption = adopt(empty, batch_size=15, progress=lambda step, done: steps.append(step.name) if not done else None)
    assert (adoption.revision, [step.name for step in adoption.steps]) == (migrate.newest("sqlserver"), steps)
    assert_as_installed(catalog(admin), fresh)
    assert commit(admin, "SELECT DocumentId, DocumentUuid FROM dms.Document ORDER BY DocumentId") == rows
    assert set(versions) <= set(commit(admin, VERSIONS))
    assert_sound(empty, admin)
    assert adopt(empty) == adoptions.Adoption([], [], migrate.newest("sqlserver"))

    with sa.create_engine(empty, poolclass=sa.NullPool).connect() as later:  # a stand-in's session keeps plans of before
        they_write_on(empty, later, shape)


def they_write_on(url: str, admin: sa.Connection, shape: Shape) -> None:
    """Both programs, before and after a removal."""
    with dj.connect(url) as journal:
        before = journal.versions()
        assert before.oldest == before.newest + 1  # what happened before is not known, and said so
        for of in journal.resources():
            with pytest.raises(dj.CheckpointExpired):
                journal.changes(of, dj.Window(before.newest))
        commit(admin, shape.insert(0).replace("NULL, NULL", "0, 0"))
        commit(admin, "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (1, 3)")
        commit(admin, "UPDATE dms.Document SET IdentityVersion = -1 WHERE DocumentId = 5")
        with journal.write() as tx:
            tx.upsert(dj.Document(dj.ResourceKey("Ed-Fi", "Student", "5.2.0"), {"studentId": 1}, {}))
            tx.upsert(dj.Document(dj.ResourceKey("Ed-Fi", "New", "5.2.0"), {"newId": 1}, {}))
        changed = {c.document_id for of in journal.resources() for c in journal.changes(of, dj.Window(before.newest + 1))}
        [(new,)] = commit(admin, "SELECT MIN(DocumentId) FROM dms.Document WHERE DocumentId > 40")
        assert changed >= {1, 5, new}
    assert_sound(url, admin)
    if "ProjectName" in shape.columns:
        [row] = commit(
            admin, "SELECT TOP (1) ProjectName, ResourceName, ResourceVersion FROM dms.Document ORDER BY DocumentId DESC"
        )
        assert tuple(row) == ("Ed-Fi", "New", "5.2.0")

    reached = drawn(admin)
    migrate.downgrade(url, "base")
    commit(admin, shape.insert(0).replace("NEXT VALUE FOR dms.TheirStamps", "0"))  # nobody stamps it; theirs may be given by ours
    migrate.upgrade(url)
    assert_sound(url, admin)
    commit(admin, shape.insert(1).replace("NULL, NULL", "0, 0"))
    [(newest,)] = commit(admin, "SELECT TOP (1) ContentVersion FROM dms.Document ORDER BY DocumentId DESC")
    assert newest > reached


@pytest.mark.acceptance("54")
def test_names_and_content_of_their_own(empty: str, admin: sa.Connection, writer: sa.Connection) -> None:
    made(admin, "bare", documents=6, edges=4)
    noted = adopt(empty, dry_run=True).notes
    assert any("an UPDATE of only Body is no change" in note.found or "of only body" in note.found for note in noted)
    adopt(empty, content_columns=["Body"])
    with dj.connect(empty) as journal:
        before = journal.versions().newest
        commit(writer, "UPDATE dms.Document SET Body = N'changed' WHERE DocumentId = 2")
        commit(writer, "UPDATE dms.Document SET Body = Body WHERE DocumentId = 4")
        assert [c.document_id for of in journal.resources() for c in journal.changes(of, dj.Window(before + 1))] == [2]
    with pytest.raises(exc.DBAPIError, match="a document cannot change its"):
        commit(writer, "UPDATE dms.Document SET ResourceName = N'Other' WHERE DocumentId = 1")
    writer.rollback()
    commit(
        writer,
        """INSERT INTO dms.Document (DocumentUuid, ProjectName, ResourceName, ResourceVersion)
        VALUES (NEWID(), N'Ed-Fi', N'New', N'1'), (NEWID(), N'Ed-Fi', N'New', N'1'), (NEWID(), N'Ed-Fi', N'Plan', N'5.2.0')""",
    )
    new = "SELECT DISTINCT k.ResourceName, d.ResourceName FROM dms.Document AS d JOIN dms.ResourceKey AS k ON k.ResourceKeyId = d.ResourceKeyId WHERE d.DocumentId > 6"
    assert sorted(map(tuple, commit(admin, new))) == [("New", "New"), ("Plan", "Plan")]
    commit(admin, "ALTER TABLE dms.Document ADD Late int NULL")
    with pytest.raises(exc.DBAPIError, match="does not know each column"):  # rather than lose what is written there
        commit(writer, SHAPES["bare"].insert(0))
    writer.rollback()
    for batch in sql.batches(sql.text_of("sqlserver", "adopt/names")):
        commit(admin, batch)
    commit(
        writer, SHAPES["bare"].insert(0).replace("ResourceVersion)", "ResourceVersion, Late)").replace("N'5.2.0')", "N'5.2.0', 8)")
    )
    assert commit(admin, "SELECT TOP (1) Late FROM dms.Document ORDER BY DocumentId DESC") == [(8,)]
    assert_sound(empty, admin)


def test_versions_that_are_no_stamps_are_replaced_where_it_is_asked_for(empty: str, admin: sa.Connection) -> None:
    made(admin, "versions and names", documents=10, edges=6)
    commit(admin, "UPDATE dms.Document SET IdentityVersion = 1")
    with pytest.raises(dj.AdoptionRefused, match=r"1 values are of several documents, such as 1.*--new-stamps"):
        adopt(empty)
    highest = commit(admin, "SELECT MAX(ContentVersion) FROM dms.Document")[0][0]
    adopt(empty, new_stamps=True)
    assert_sound(empty, admin)
    low = f"SELECT COUNT(*) FROM dms.Document WHERE ContentVersion <= {highest} OR IdentityVersion <= {highest}"
    assert commit(admin, low) == [(0,)]


def test_a_dry_run_changes_nothing_and_prints_the_plan(empty: str, admin: sa.Connection) -> None:
    made(admin, "bare", documents=4, edges=2)
    before = catalog(admin)
    plan = adopt(empty, dry_run=True)
    printed = CliRunner().invoke(cli.app, ["adopt", "--dry-run", "--url", empty])
    assert catalog(admin) == before
    assert printed.exit_code == 0
    assert [line.split("\t") for line in printed.stdout.splitlines()] == [[s.name, s.kind, s.lock, str(s.rows)] for s in plan.steps]
    assert "programs go on writing ProjectName" in printed.stderr
    assert {s.lock for s in plan.steps if s.kind == "online"} <= {"SCH-S", "none"}
    assert {s.lock for s in plan.steps if s.kind == "scan"} <= {"SCH-M", "S"}


# What is in the way

SPOILED = [
    ("ALTER TABLE dms.Document ADD ContentVersion int NOT NULL DEFAULT 0", r"contentversion: its type is int, not bigint"),
    ("UPDATE dms.Document SET DocumentUuid = NULL WHERE DocumentId < 3", "2 documents have none, such as document 1.*NEWID"),
    (
        "UPDATE dms.Document SET DocumentUuid = (SELECT DocumentUuid FROM dms.Document WHERE DocumentId = 4) WHERE DocumentId = 5",
        "1 uuids are of several documents",
    ),
    (
        "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (1, 999)",
        "1 edges have a parent or a child that does not exist, such as 1 to 999.*DELETE FROM dms.ReferenceEdge",
    ),
    ("INSERT INTO dms.ReferenceEdge SELECT TOP (1) * FROM dms.ReferenceEdge", "1 edges are there more than once"),
    (
        "INSERT INTO dms.Document (ResourceKeyId) VALUES (9), (NULL)",
        r"1 ids have no row in dms.ResourceKey, such as 9.*1 documents have none, such as 9",
    ),
    ("CREATE TABLE dms.DocumentChangeEvent (x int)", "dms.documentchangeevent: the name is needed"),
    ("CREATE TABLE dms.alembic_version (version_num varchar(32) PRIMARY KEY)", "dms.alembic_version: the name is needed"),
    ("CREATE PROCEDURE dms.horizon AS SELECT 1", "dms.horizon: the name is needed"),
    ("CREATE INDEX theirs ON dms.Document (ResourceKeyId)", "resourcekeyid: it takes nulls, and theirs.* is on it"),
]
STRUCTURE = [
    ("no names", "ALTER TABLE dms.Document DROP COLUMN ResourceKeyId", "nothing tells a document's resource"),
    ("no resources", "DROP TABLE dms.ResourceKey", "nothing else tells what a ResourceKeyId means"),
    ("a computed column", "ALTER TABLE dms.Document ADD IdentityVersion AS CAST(1 AS bigint)", "it is a computed column"),
]


@pytest.mark.acceptance("57")
def test_all_that_is_in_the_way_comes_in_one_list_with_its_remedy(empty: str, admin: sa.Connection) -> None:
    made(admin, "ids", documents=7, edges=3)
    for statement, _ in SPOILED:
        commit(admin, statement)
    before = catalog(admin)
    printed = CliRunner().invoke(cli.app, ["adopt", "--url", empty])
    assert catalog(admin) == before
    assert printed.exit_code == 5
    for _, expected in SPOILED:
        assert re.search(expected, printed.stderr, re.I | re.S), expected
    assert printed.stderr.count("\n") == len(SPOILED) + 2, printed.stderr  # one spoils twice; the last line counts
    with pytest.raises(dj.InvalidRequest, match="batch_size"):
        adopt(empty, batch_size=2001)


@pytest.mark.acceptance("57")
@pytest.mark.parametrize(("statement", "expected"), [row[1:] for row in STRUCTURE], ids=[row[0] for row in STRUCTURE])
def test_a_shape_that_cannot_be_adopted_is_refused(empty: str, admin: sa.Connection, statement: str, expected: str) -> None:
    made(admin, "ids", documents=2, edges=1)
    commit(admin, statement)
    with pytest.raises(dj.AdoptionRefused, match=expected):
        adopt(empty)


def test_a_sequence_of_another_kind_is_in_the_way(empty: str, admin: sa.Connection) -> None:
    made(admin, "ids", documents=2, edges=1)
    commit(admin, "CREATE SEQUENCE dms.ChangeVersionSequence AS bigint START WITH 1 INCREMENT BY 2 CYCLE")
    with pytest.raises(dj.AdoptionRefused, match=r"it is bigint by 2.*cycling.*INCREMENT BY 1"):
        adopt(empty)


def test_without_documents_there_is_nothing_to_adopt(empty: str) -> None:
    with pytest.raises(dj.MigrationRefused, match=r"no dms\.Document to adopt.*Run dmsjournal upgrade"):
        adopt(empty)
    migrate.upgrade(empty, "0003")
    with pytest.raises(dj.MigrationRefused, match="at revision 0003"):
        adopt(empty)


@pytest.mark.acceptance("54", "56")
def test_it_is_stopped_locked_out_and_run_again(fresh, empty: str, admin: sa.Connection, writer: sa.Connection) -> None:
    made(admin, "versions and ids", documents=20, edges=20)
    run_until(empty, "bring the triggers: from here on every write is journaled")
    writer.exec_driver_sql("UPDATE dms.Document SET CreatedAt = CreatedAt WHERE DocumentId = 1")
    with pytest.raises(dj.Unavailable, match=r"not to be had in 2 tries of 300ms: what was done so far is kept.*run adopt again"):
        adopt(empty, lock_timeout="300ms", tries=2)
    writer.rollback()
    run_until(empty, "stamp and journal all documents")
    with pytest.raises(dj.MigrationRefused, match=r"adoption of dms.Document is on its way.*Run dmsjournal adopt"):
        migrate.upgrade(empty)
    with dj.connect(empty) as journal, pytest.raises(dj.NotInstalled):  # no reader sees a journal that is not filled
        journal.versions()
    run_until(empty, "let readers in")
    adopt(empty)
    assert_as_installed(catalog(admin), fresh)
    assert_sound(empty, admin)


def test_only_one_adopts_at_a_time(empty: str, admin: sa.Connection) -> None:
    made(admin, "ids", documents=4, edges=2)
    refused: list[dj.Unavailable] = []

    def adopt_too(step: adoptions.AdoptionStep, rows: int) -> None:
        if not refused:
            with pytest.raises(dj.Unavailable) as caught:
                adopt(empty, tries=1)
            refused.append(caught.value)

    adopt(empty, progress=adopt_too)
    assert "another adoption is on its way" in str(refused[0].__cause__ or refused[0])


# Writers at work

RACES = {  # each just before the query runs, by a session of its own
    "schema/adopt_stamps": "UPDATE dms.Document SET ContentVersion = -5, IdentityVersion = -5 WHERE DocumentId = 2",
    "schema/adopt_document_events": "UPDATE dms.Document SET ContentVersion = -5 WHERE DocumentId = 4; DELETE FROM dms.Document WHERE DocumentId = 20",
    "schema/adopt_identity_events": "UPDATE dms.Document SET IdentityVersion = -5 WHERE DocumentId = 1; INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (3, 1), (5, 1)",
    "schema/adopt_dependencies": "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (1, 2), (3, 4)",
}


@pytest.mark.acceptance("54")
@pytest.mark.parametrize("name", ["versions and names", "ids"])
def test_a_write_between_a_batch_and_its_statement(
    empty: str, admin: sa.Connection, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    made(admin, name, documents=20, edges=12)
    commit(admin, "DELETE FROM dms.ReferenceEdge WHERE 20 IN (ParentDocumentId, ChildDocumentId)")
    happened: list[str] = []

    def act(query: str) -> None:
        with sa.create_engine(empty, poolclass=sa.NullPool).connect() as writer:
            try:
                commit(writer, f"SET LOCK_TIMEOUT 500; {RACES[query]}")
                happened.append(query)
            except exc.DBAPIError:  # the batch has locked that row: then there is no race
                writer.rollback()

    for query in RACES:
        interrupting(monkeypatch, query, lambda query=query: act(query))
    adopt(empty)
    assert {"schema/adopt_stamps", "schema/adopt_dependencies"} <= set(happened)
    assert_sound(empty, admin)


@contextmanager
def writers(url: str, shape: Shape, count: int = 3) -> Iterator[list[int]]:
    """Sessions that write as their program does, some of it rolled back; how many transactions of each were committed."""

    def statement_of(chance: random.Random) -> str:
        some, other = (
            f"(SELECT TOP (1) DocumentId FROM dms.Document WHERE DocumentId >= {chance.randint(1, 60)})" for _ in range(2)
        )
        return chance.choice(
            [
                shape.insert(0),
                shape.insert(1),
                f"UPDATE dms.Document SET {shape.content} WHERE DocumentId = {some}",
                f"UPDATE dms.Document SET {shape.identity} WHERE DocumentId = {some}",
                f"INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) SELECT {some}, {other}",
                f"DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId = {some}",
                f"DELETE FROM dms.Document WHERE DocumentId = {some}",
            ]
        )

    def is_fault(error: Exception) -> bool:  # not a deadlock, a document that is referred to or gone, an edge that is there
        told = r"cannot insert the value null|invalid column|cannot change its|violates not-null"
        return not isinstance(error, exc.DBAPIError) or bool(re.search(told, str(error), re.I))

    with writing(url, statement_of, is_fault, count) as committed:
        yield committed


@pytest.mark.acceptance("54")
@pytest.mark.parametrize("name", ["versions and names", pytest.param("versions and ids", marks=pytest.mark.long)])
def test_writers_go_on_and_nothing_of_theirs_is_lost_or_seen_twice(fresh, empty: str, admin: sa.Connection, name: str) -> None:
    shape = made(admin, name, documents=60, edges=60)
    with writers(empty, shape) as committed, dj.connect(empty) as journal:
        time.sleep(0.5)
        before = list(committed)
        adopt(empty, batch_size=20, pause=0.02, tries=300, lock_timeout="200ms")
        assert all(later > earlier for earlier, later in zip(before, committed, strict=True)), "a writer was held all the time"
        copy = Copy(journal)
        ends = time.monotonic() + 5
        while time.monotonic() < ends:
            copy.follow()
    with dj.connect(empty) as journal:
        copy.journal = journal
        copy.follow()
        for of, resource_key_id in journal.resources().items():
            assert copy.documents[of] == {c.document_id: c.change_version for c in expected_changes(admin, resource_key_id)}
    assert_as_installed(catalog(admin), fresh)
    assert_sound(empty, admin)


def test_their_journals_and_trigger_are_replaced_and_an_adoption_goes_back(empty: str, admin: sa.Connection) -> None:
    """Ed-Fi's published design: before the triggers, after them, and to the end."""
    PUBLISHED.create(admin)
    PUBLISHED.fill(admin, documents=4, edges=2)
    of_theirs = "SELECT COUNT(*) FROM dms.DocumentChangeEvent{}"
    [(before,)] = commit(admin, of_theirs.format(""))
    noted = " ".join(map(str, adopt(empty, dry_run=True).notes))
    assert "it is kept as dms.documentchangeevent_before_adoption" in noted.lower()
    assert "it is disabled when ours come" in noted
    for step in ("bring the triggers: from here on every write is journaled", "let readers in"):
        run_until(empty, step)
        assert adoptions.abandon(empty)
        commit(admin, PUBLISHED.insert(0))
        before += 1
        assert commit(admin, of_theirs.format("")) == [(before,)]
    adopt(empty)
    commit(admin, PUBLISHED.insert(1))
    assert commit(admin, of_theirs.format("_before_adoption")) == [(before,)]
    assert commit(admin, "SELECT COUNT(*) FROM sys.triggers WHERE name = N'TR_Document_ChangeEvents'") == [(0,)]
    assert_sound(empty, admin)


def test_a_column_that_takes_nulls_again_keeps_its_length_and_collation(empty: str, admin: sa.Connection) -> None:
    """What abandon would run: ALTER COLUMN with a bare nvarchar makes it one character long, in the database's collation."""
    migrate.upgrade(empty)
    commit(admin, sql.text_of("sqlserver", "adopt/begin"))
    for table, column in (("DocumentCache", "DocumentJson"), ("Document", "CreatedAt"), ("ResourceKey", "ResourceVersion")):
        named = f"name FROM sys.columns WHERE object_id = OBJECT_ID(N'dms.{table}') AND LOWER(name) = N'{column.lower()}'"
        commit(admin, f"INSERT INTO dms.AdoptionBefore (Kind, TableName, Name) SELECT N'nullable', N'{table}', {named}")
    [(statement,)] = commit(admin, _what_abandon_runs())
    said = statement.lower()
    assert re.search(r"alter column \[documentjson\] nvarchar\(max\) collate \w+ null;", said)
    assert re.search(r"alter column \[createdat\] datetime2\([67]\) null;", said)
    assert re.search(r"alter column \[resourceversion\] nvarchar\(64\) collate \w+ null;", said)


def _what_abandon_runs() -> str:
    text = sql.text_of("sqlserver", "adopt/abandon")
    text = text[text.index("DECLARE @text") : text.index("IF @text IS NOT NULL")]
    return f"SET NOCOUNT ON; {text} SELECT @text;"
