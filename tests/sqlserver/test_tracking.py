"""Tracked tables in T-SQL (acceptance 65 to 75, 87 to 93): rows are documents, foreign keys are references.

One database with option tracking serves all tests of the module: installing it takes a stand-in many seconds. Each test has a schema of its own.
"""

import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from tests.helpers import commit
from tests.sqlserver import grammar
from tests.sqlserver.tracked import Sql, documents, edges, literal, resource, track

# ruff: noqa: E501  # statements, each in one line

pytestmark = pytest.mark.xdist_group("tracking")

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def session(database: str) -> Iterator[sa.Connection]:
    """One session of the installing user for all tests: a stand-in needs seconds to warm each up."""
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with engine.connect() as conn:
        yield conn


@pytest.fixture
def journal(library: dj.Journal, session: sa.Connection, sqlserver_server, request: pytest.FixtureRequest) -> Iterator[dj.Journal]:
    """The journal; afterwards no table is tracked."""
    sqlserver_server.expect(request.node)
    session.rollback()
    yield library
    session.rollback()
    for (table,) in commit(session, "SELECT TableName FROM dms.TrackedTable"):
        commit(session, f"EXEC dms.untrack N'{literal(table)}'")


@pytest.fixture
def sql(session: sa.Connection, journal: dj.Journal) -> Sql:
    """Runs a statement in a transaction of its own; gives its rows. Whatever was left of another test is rolled back."""
    session.rollback()

    def run(statement: str) -> list[Any]:
        try:
            return commit(session, statement)
        except sa.exc.DBAPIError:
            session.rollback()
            raise

    return run


@pytest.fixture
def app(sql: Sql) -> str:
    """The name of a new schema."""
    name = f"app{next(_NUMBERS)}"
    sql(f"CREATE SCHEMA {name}")
    return name


def drawn(sql: Sql) -> int:
    return int(sql("SET NOCOUNT ON; DECLARE @newest bigint; EXEC dms.newest_stamp @newest OUTPUT; SELECT @newest")[0][0])


def clean(journal: dj.Journal) -> bool:
    found = [(finding.code, finding.objects) for finding in journal.verify().findings]
    assert found == []
    return True


@pytest.fixture
def schools(journal: dj.Journal, sql: Sql, app: str) -> str:
    """Schools, their students, and notes on students; the name of each is shown."""
    sql(f"CREATE TABLE {app}.school (id int NOT NULL PRIMARY KEY, name nvarchar(50) NULL, motto nvarchar(50) NULL)")
    sql(
        f"CREATE TABLE {app}.student (number int NOT NULL PRIMARY KEY, name nvarchar(50) NULL, note nvarchar(50) NULL,"
        f" home int NULL REFERENCES {app}.school (id) ON DELETE CASCADE)"
    )
    sql(
        f"CREATE TABLE {app}.remark (id int NOT NULL PRIMARY KEY, student int NULL REFERENCES {app}.student (number) ON DELETE CASCADE,"
        f" teller int NULL REFERENCES {app}.student (number))"
    )
    track(
        sql,
        dj.TrackedTable(f"{app}.school", shows=["name"]),
        dj.TrackedTable(f"{app}.student", shows=["name"]),
        dj.TrackedTable(f"{app}.remark"),
    )
    return app


@pytest.mark.acceptance("65", "66")
def test_what_a_statement_changes_is_told_and_nothing_else(journal: dj.Journal, sql: Sql, schools: str) -> None:
    sql(f"INSERT INTO {schools}.school (id, name, motto) VALUES (1, N'a', N'x'), (2, N'b', N'y')")
    sql(f"INSERT INTO {schools}.student (number, name, home) SELECT n.n, N's', n.n % 2 + 1 FROM (VALUES (1), (2), (3)) AS n (n)")
    before = drawn(sql)
    sql(f"UPDATE {schools}.school SET name = name, id = id")
    sql(f"UPDATE {schools}.school SET motto = N'z' WHERE id = 9")
    sql(f"DELETE FROM {schools}.school WHERE id = 9")
    assert drawn(sql) == before
    sql(f"UPDATE {schools}.school SET motto = N'z'")
    assert drawn(sql) == before + 2
    assert all(content > identity for _, content, identity in documents(sql, schools, "school").values())
    before = drawn(sql)
    sql(f"UPDATE {schools}.school SET name = N'A' WHERE id = 1")
    assert drawn(sql) == before + 1
    students = documents(sql, schools, "student")
    window = dj.Window(min=before + 1)
    assert {change.document_id for change in journal.changes(resource(schools, "student"), window)} == {students[2][0]}
    assert [change.document_id for change in journal.changes(resource(schools, "school"), window)] == [
        documents(sql, schools, "school")[1][0]
    ]
    sql(f"UPDATE {schools}.student SET home = 1 WHERE number = 1")
    assert (students[1][0], documents(sql, schools, "school")[1][0]) in edges(sql)
    assert len(edges(sql)) == 3
    assert clean(journal)


@pytest.mark.acceptance("68", "70")
def test_cascades_leave_a_tombstone_for_each_row(journal: dj.Journal, sql: Sql, schools: str) -> None:
    sql(f"INSERT INTO {schools}.school (id) VALUES (1), (2), (3)")
    sql(f"INSERT INTO {schools}.student (number, home) VALUES (1, 1), (2, 1), (3, 2), (4, NULL)")
    sql(f"INSERT INTO {schools}.remark (id, student) VALUES (1, 1), (2, 1), (3, 2), (4, 3), (5, 4)")
    sql(f"UPDATE {schools}.remark SET teller = 4 WHERE student = 4")
    both = documents(sql, schools, "remark")[5][0]
    sql(f"UPDATE {schools}.remark SET teller = NULL WHERE id = 5")
    assert [child for parent, child in edges(sql) if parent == both] == [documents(sql, schools, "student")[4][0]]
    sql(f"DELETE FROM {schools}.school WHERE id IN (1, 2)")
    assert documents(sql, schools, "school").keys() == {3}
    assert documents(sql, schools, "student").keys() == {4}
    assert documents(sql, schools, "remark").keys() == {5}
    names = ("school", "student", "remark")
    gone = {name: sorted(key for d in journal.deletes(resource(schools, name)) for key in d.key_values.values()) for name in names}
    assert gone == {"school": [1, 2], "student": [1, 2, 3], "remark": [1, 2, 3, 4]}
    assert clean(journal)


@pytest.mark.acceptance("67")
def test_a_key_that_cascades(journal: dj.Journal, sql: Sql, app: str) -> None:
    sql(f"CREATE TABLE {app}.a (id int NOT NULL PRIMARY KEY)")
    sql(f"CREATE TABLE {app}.b (id int NOT NULL PRIMARY KEY, a int NULL REFERENCES {app}.a (id) ON UPDATE CASCADE)")
    track(sql, dj.TrackedTable(f"{app}.a"), dj.TrackedTable(f"{app}.b"))
    sql(f"INSERT INTO {app}.a (id) VALUES (1), (2), (3)")
    sql(f"INSERT INTO {app}.b (id, a) VALUES (1, 1), (2, 1), (3, 2)")
    before, first = documents(sql, app, "b"), documents(sql, app, "a")
    sql(f"UPDATE {app}.a SET id = 11 WHERE id = 1")
    assert documents(sql, app, "a")[11][0] == first[1][0]
    assert edges(sql) == {(before[1][0], first[1][0]), (before[2][0], first[1][0]), (before[3][0], first[2][0])}
    assert clean(journal)


@pytest.mark.acceptance("68")
def test_set_null_changes_what_referred(journal: dj.Journal, sql: Sql, app: str) -> None:
    sql(f"CREATE TABLE {app}.a (id int NOT NULL PRIMARY KEY)")
    sql(f"CREATE TABLE {app}.b (id int NOT NULL PRIMARY KEY, a int NULL REFERENCES {app}.a (id) ON DELETE SET NULL)")
    track(sql, dj.TrackedTable(f"{app}.a"), dj.TrackedTable(f"{app}.b"))
    sql(f"INSERT INTO {app}.a (id) VALUES (1), (2)")
    sql(f"INSERT INTO {app}.b (id, a) VALUES (1, 1), (2, 1), (3, 2)")
    before = documents(sql, app, "b")
    sql(f"DELETE FROM {app}.a WHERE id = 1")
    after = documents(sql, app, "b")
    assert after[1][1] > before[1][1]
    assert after[3] == before[3]
    assert edges(sql) == {(before[3][0], documents(sql, app, "a")[2][0])}
    assert clean(journal)


@pytest.mark.acceptance("67", "89")
def test_changed_keys_are_paired_by_another_unique_key(journal: dj.Journal, sql: Sql, app: str) -> None:
    sql(f"CREATE TABLE {app}.a (id int NOT NULL PRIMARY KEY, code nvarchar(9) NOT NULL UNIQUE, note nvarchar(9) NULL)")
    sql(f"CREATE TABLE {app}.b (id int NOT NULL PRIMARY KEY, note nvarchar(9) NULL)")
    track(sql, dj.TrackedTable(f"{app}.a"), dj.TrackedTable(f"{app}.b"))
    sql(f"INSERT INTO {app}.a (id, code) VALUES (1, N'a'), (2, N'b'), (3, N'c')")
    sql(f"INSERT INTO {app}.b (id) VALUES (1), (2), (3)")
    before = documents(sql, app, "a")
    sql(f"UPDATE {app}.a SET id = 13 - id")
    after = documents(sql, app, "a")
    assert {key: row[0] for key, row in after.items()} == {13 - key: row[0] for key, row in before.items()}
    assert len(list(journal.key_changes(resource(app, "a")))) == 3
    sql(f"UPDATE {app}.a SET id = id, note = N'x' WHERE id = 12")
    assert len(list(journal.key_changes(resource(app, "a")))) == 3
    single = documents(sql, app, "b")[1][0]
    sql(f"UPDATE {app}.b SET id = 9 WHERE id = 1")
    assert documents(sql, app, "b")[9][0] == single
    others = {row[0] for row in documents(sql, app, "b").values()}
    sql(f"UPDATE {app}.b SET id = id + 100")  # nothing pairs them: deletes and creates
    assert documents(sql, app, "b").keys() == {102, 103, 109}
    assert {delete.document_id for delete in journal.deletes(resource(app, "b"))} == others
    assert clean(journal)


@pytest.mark.acceptance("67", "89")
def test_a_key_that_a_trigger_sees_first_keeps_its_document(journal: dj.Journal, sql: Sql, app: str) -> None:
    """The race within a statement: what refers to the row makes a document for its new key before the row's own comes there."""
    sql(f"CREATE TABLE {app}.a (id int NOT NULL PRIMARY KEY)")
    sql(f"CREATE TABLE {app}.b (id int NOT NULL PRIMARY KEY, a int NULL REFERENCES {app}.a (id))")
    sql(f"CREATE TRIGGER {app}.aa_first ON {app}.a AFTER UPDATE AS INSERT INTO {app}.b (id, a) SELECT id, id FROM inserted")
    track(sql, dj.TrackedTable(f"{app}.a"), dj.TrackedTable(f"{app}.b"))
    sql(f"INSERT INTO {app}.a (id) VALUES (1)")
    before = documents(sql, app, "a")[1][0]
    sql(f"UPDATE {app}.a SET id = 2")
    after = documents(sql, app, "a")
    assert {key: row[0] for key, row in after.items()} == {2: before}
    assert edges(sql) == {(documents(sql, app, "b")[2][0], before)}
    assert clean(journal)


@pytest.mark.acceptance("67", "68")
def test_a_row_takes_the_key_of_one_that_its_statement_deletes(journal: dj.Journal, sql: Sql, app: str) -> None:
    sql(f"CREATE TABLE {app}.a (id int NOT NULL PRIMARY KEY)")
    track(sql, dj.TrackedTable(f"{app}.a"))
    sql(f"INSERT INTO {app}.a (id) VALUES (2), (1)")
    before = documents(sql, app, "a")
    sql(
        f"""MERGE {app}.a AS t USING (VALUES (2), (1)) AS w (i) ON t.id = w.i
            WHEN MATCHED AND t.id = 2 THEN DELETE WHEN MATCHED THEN UPDATE SET id = 2;"""
    )
    assert {key: row[0] for key, row in documents(sql, app, "a").items()} == {2: before[1][0]}
    assert [delete.document_id for delete in journal.deletes(resource(app, "a"))] == [before[2][0]]
    assert clean(journal)


@pytest.mark.acceptance("75")
def test_a_shown_column_that_is_renamed_stays_shown_whatever_is_renewed_first(journal: dj.Journal, sql: Sql, schools: str) -> None:
    """Its view is dropped first, which holds the column's name."""
    kept = sql(f"SELECT TrackedTableId FROM dms.TrackedTable WHERE TableName = N'{schools}.school'")[0][0]
    sql(f"DROP VIEW dms.tracked_{kept}")
    sql(f"EXEC sp_rename N'{schools}.school.name', N'full_name', N'COLUMN'")
    journal.renew_tracking(f"{schools}.student")
    journal.renew_tracking(f"{schools}.school")
    assert next(one.shows for one in journal.tracked() if one.table == f"{schools}.school") == ("full_name", "id")
    assert clean(journal)


KEYS = {  # by column: type, a value in T-SQL, how it reads
    "big": ("bigint", "9223372036854775807", 9223372036854775807),
    "dec": ("decimal(20, 4)", "12345678901234.5000", 12345678901234.5),
    "whole": ("decimal(9, 2)", "100.00", 100),
    "flag": ("bit", "1", True),
    "uuid": ("uniqueidentifier", "'6F9619FF-8B86-D011-B42D-00C04FC964FF'", "6f9619ff-8b86-d011-b42d-00c04fc964ff"),
    "day": ("date", "'2026-01-02'", "2026-01-02"),
    "at": ("datetime2(3)", "'2026-01-02T03:04:05.120'", "2026-01-02T03:04:05.12"),
    "clock": ("time(0)", "'03:04:00'", "03:04:00"),
    "text": ("varchar(40)", "'x.y'", "x.y"),
    "padded": ("char(5)", "'ab'", "ab"),
    "name": ("nvarchar(40)", "N'x y'", "x y"),
}
ESCAPED = {
    "bin": ("varbinary(9)", "0x00FF10", "AP8Q"),
    "name": ("nvarchar(40)", "N'größer / \"x\\'", 'größer / "x\\'),
    "zoned": ("datetimeoffset(0)", "'2026-01-02T03:04:05+02:00'", "2026-01-02T01:04:05+00:00"),
}


@pytest.mark.acceptance("71", "88")
@pytest.mark.parametrize("keys", [KEYS, ESCAPED], ids=["plain", "escaped"])
def test_a_key_of_each_type_reads_exactly_and_finds_its_row(journal: dj.Journal, sql: Sql, app: str, keys: dict[str, Any]) -> None:
    columns = ", ".join(f"[{name}] {of} NOT NULL" for name, (of, _, _) in keys.items())
    sql(f"CREATE TABLE {app}.a ({columns}, note nvarchar(9) NULL, PRIMARY KEY ({', '.join(f'[{name}]' for name in keys)}))")
    sql(f"INSERT INTO {app}.a VALUES ({', '.join(value for _, value, _ in keys.values())}, NULL)")
    track(sql, dj.TrackedTable(f"{app}.a"))
    read = {name: value for name, (_, _, value) in keys.items()}
    [(key, (document_id, _, _))] = documents(sql, app, "a").items()
    assert key == tuple(read[name] for name in sorted(read))
    sql(f"SET DATEFORMAT dmy; UPDATE {app}.a SET note = N'x'; SET DATEFORMAT mdy")
    assert documents(sql, app, "a")[key][0] == document_id
    assert [stored.body for stored in journal.documents([document_id]).values()] == [read | {"note": "x"}]
    assert clean(journal)
    sql(f"DELETE FROM {app}.a")
    assert [d.key_values for d in journal.deletes(resource(app, "a"))] == [read]


@pytest.mark.acceptance("71")
def test_names_are_quoted(journal: dj.Journal, sql: Sql, app: str) -> None:
    sql(
        f"CREATE TABLE {app}.[Order 'one'] ([the id] int NOT NULL, [a.b] nvarchar(9) NOT NULL, [größe] int NULL, PRIMARY KEY ([a.b], [the id]))"
    )
    sql(f"INSERT INTO {app}.[Order 'one'] VALUES (1, N'x', 2)")
    track(sql, dj.TrackedTable(f"{app}.[Order 'one']", resource(app, "order"), shows=["größe"]))
    before = documents(sql, app, "order")["x", 1]
    sql(f"UPDATE {app}.[Order 'one'] SET [größe] = 3")
    assert documents(sql, app, "order")["x", 1][2] > before[2]
    [one] = journal.tracked()
    assert (one.key, one.shows, one.state) == (("a.b", "the id"), ("a.b", "größe", "the id"), None)
    assert clean(journal)


@pytest.mark.acceptance("87")
def test_a_foreign_key_that_is_written_otherwise_finds_its_row(journal: dj.Journal, sql: Sql, app: str) -> None:
    sql(f"CREATE TABLE {app}.a (id nvarchar(9) NOT NULL PRIMARY KEY, name nvarchar(9) NULL)")
    sql(f"CREATE TABLE {app}.b (id int NOT NULL PRIMARY KEY, a nvarchar(9) NULL REFERENCES {app}.a (id))")
    track(sql, dj.TrackedTable(f"{app}.a", shows=["name"]), dj.TrackedTable(f"{app}.b"))
    sql(f"INSERT INTO {app}.a (id) VALUES (N'ABC')")
    sql(f"INSERT INTO {app}.b (id, a) VALUES (1, N'abc')")
    [child], [parent] = documents(sql, app, "a").values(), documents(sql, app, "b").values()
    assert edges(sql) == {(parent[0], child[0])}
    sql(f"UPDATE {app}.a SET id = N'Abc'")
    assert documents(sql, app, "a")["Abc"][0] == child[0]
    assert [change.new_key_values for change in journal.key_changes(resource(app, "a"))] == [{"id": "Abc"}]
    assert clean(journal)


@pytest.mark.acceptance("72")
def test_a_fill_goes_on_where_it_stopped(journal: dj.Journal, sql: Sql, app: str) -> None:
    sql(f"CREATE TABLE {app}.a (x int NOT NULL, y nvarchar(9) NOT NULL, PRIMARY KEY (x, y))")
    sql(
        f"CREATE TABLE {app}.b (id int NOT NULL PRIMARY KEY, x int NULL, y nvarchar(9) NULL, FOREIGN KEY (x, y) REFERENCES {app}.a (x, y))"
    )
    values = ", ".join(f"({n // 3}, N'{n % 3}')" for n in range(150))
    sql(f"INSERT INTO {app}.a (x, y) VALUES {values}")
    sql(f"INSERT INTO {app}.b (id, x, y) SELECT x * 3 + CAST(y AS int), x, y FROM {app}.a")
    sql(f"EXEC dms.track N'{app}.b', N'{app}'")
    sql(f"EXEC dms.fill_tracked N'{app}.b', 1")
    assert len(documents(sql, app, "b")) == 64
    sql(f"DELETE FROM {app}.b WHERE id = 149")
    sql(f"INSERT INTO {app}.b (id) VALUES (150)")
    sql(f"UPDATE {app}.b SET x = NULL WHERE id = 120")  # a row that the fill has not reached
    assert {120, 150} < documents(sql, app, "b").keys()
    seen: list[tuple[str, int, int]] = []
    journal.renew_tracking(f"{app}.b", blocks=1, progress=lambda _, walk, done, total, made: seen.append((walk, done, total)))
    assert documents(sql, app, "b").keys() == set(range(150)) - {149} | {150}
    assert seen[-1][0] == "documents"
    assert all(done <= total for _, done, total in seen)
    assert all(one.is_filled for one in journal.tracked())
    assert clean(journal)


@pytest.mark.acceptance("70")
def test_a_foreign_key_of_two_columns(journal: dj.Journal, sql: Sql, app: str) -> None:
    sql(f"CREATE TABLE {app}.a (x int NOT NULL, y nvarchar(9) NOT NULL, PRIMARY KEY (x, y))")
    sql(
        f"CREATE TABLE {app}.b (id int NOT NULL PRIMARY KEY, x int NULL, y nvarchar(9) NULL, FOREIGN KEY (x, y) REFERENCES {app}.a (x, y))"
    )
    sql(f"INSERT INTO {app}.a (x, y) VALUES (1, N'p'), (1, N'q')")
    track(sql, dj.TrackedTable(f"{app}.b"), dj.TrackedTable(f"{app}.a"))
    sql(f"EXEC dms.fill_table N'{app}.b'")  # once more: it has edges now
    sql(f"INSERT INTO {app}.b (id, x, y) VALUES (1, 1, N'q'), (2, 1, NULL)")
    assert edges(sql) == {(documents(sql, app, "b")[1][0], documents(sql, app, "a")[1, "q"][0])}
    assert clean(journal)


def test_a_row_that_refers_to_one_that_no_fill_has_reached(journal: dj.Journal, sql: Sql, app: str) -> None:
    sql(f"CREATE TABLE {app}.a (id int NOT NULL PRIMARY KEY, boss int NULL REFERENCES {app}.a (id))")
    sql(f"CREATE TABLE {app}.b (id int NOT NULL PRIMARY KEY, a int NULL REFERENCES {app}.a (id))")
    sql(f"INSERT INTO {app}.a (id, boss) VALUES (1, NULL), (2, 1), (3, 3)")
    for table in ("a", "b"):
        sql(f"EXEC dms.track N'{app}.{table}', N'{app}'")
    sql(f"INSERT INTO {app}.b (id, a) VALUES (1, 2)")
    assert documents(sql, app, "a").keys() == {2}
    assert len(edges(sql)) == 1
    journal.renew_tracking(f"{app}.a")
    found = {row[0]: key for key, row in documents(sql, app, "a").items()}
    assert {(found[p], found[c]) for p, c in edges(sql) if p in found} == {(2, 1), (3, 3)}
    assert sql("SELECT COUNT(*) FROM dms.TrackedLate") == [(0,)]
    assert clean(journal)


REFUSED = {
    "it is a view": "CREATE VIEW {0}.x AS SELECT 1 AS id",
    "it has no primary key": "CREATE TABLE {0}.x (id int NOT NULL)",
    "which JSON cannot hold exactly": "CREATE TABLE {0}.x (id float NOT NULL PRIMARY KEY)",
    "has two dollar signs": "CREATE TABLE {0}.x (id int NOT NULL PRIMARY KEY, [$id$] int NULL)",
    "it has 1023 columns": "CREATE TABLE {0}.x (id int NOT NULL PRIMARY KEY, "
    + ", ".join(f"c{n} int NULL" for n in range(1022))
    + ")",
    "is not there": "SELECT 1 AS one",
}


@pytest.mark.acceptance("92")
@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_tracked_is_refused_by_name(journal: dj.Journal, sql: Sql, app: str, reason: str) -> None:
    sql(REFUSED[reason].format(app))
    with pytest.raises((dj.InvalidRequest, dj.UnsupportedCapability), match=reason) as refused:
        journal.track(dj.TrackedTable(f"{app}.x"))
    assert f"{app}.x" in str(refused.value)
    assert journal.tracked() == []


def test_what_is_asked_for_wrongly_is_refused(journal: dj.Journal, sql: Sql, schools: str) -> None:
    with pytest.raises(dj.InvalidRequest, match="is tracked already"):
        journal.track(dj.TrackedTable(f"{schools}.school"))
    journal.untrack(f"{schools}.remark")
    with pytest.raises(dj.InvalidRequest, match=r"has no column nope\. Its columns are"):
        journal.track(dj.TrackedTable(f"{schools}.remark", shows=["nope"]))
    with pytest.raises(dj.InvalidRequest, match="is that of table"):
        journal.track(dj.TrackedTable(f"{schools}.remark", resource(schools, "school")))
    with pytest.raises(dj.InvalidRequest, match=rf"table = 'other.remark': .* Is it .*\b{schools}.remark.*\? Name it"):
        journal.track(dj.TrackedTable("other.remark"))
    with pytest.raises(dj.InvalidRequest, match="is not tracked"):
        journal.untrack(f"{schools}.remark")
    with pytest.raises(dj.UnsupportedCapability, match="has no use for trust"):
        journal.track(dj.TrackedTable(f"{schools}.remark", trust=True))
    with pytest.raises(dj.InvalidRequest, match="lock_timeout"):
        journal.track(dj.TrackedTable(f"{schools}.remark"), lock_timeout="soon")


@pytest.mark.acceptance("59", "74")
def test_what_came_past_the_triggers_is_found_and_repaired(journal: dj.Journal, sql: Sql, schools: str) -> None:
    sql(f"INSERT INTO {schools}.school (id) VALUES (1), (2)")
    sql(f"INSERT INTO {schools}.student (number, home) VALUES (1, 1), (2, 2), (3, NULL)")
    names = sql("SELECT name, OBJECT_NAME(parent_id) FROM sys.triggers WHERE name LIKE N'zz[_]dmsjournal[_]%'")
    students = [name for name, table in names if table == "student"]
    for name in students:
        sql(f"DISABLE TRIGGER {schools}.{name} ON {schools}.student")
    assert {finding.code for finding in journal.verify().findings} == {"tracking-altered"}
    assert "is disabled" in (next(one.state for one in journal.tracked() if one.table == f"{schools}.student") or "")
    sql(f"INSERT INTO {schools}.student (number, home) VALUES (9, 1)")
    sql(f"DELETE FROM {schools}.student WHERE number = 3")
    sql(f"UPDATE {schools}.student SET home = 1 WHERE number = 2")
    for name in students:
        sql(f"ENABLE TRIGGER {schools}.{name} ON {schools}.student")
    found = {finding.code: finding.count for finding in journal.verify().findings}
    assert found == {"row-undocumented": 1, "document-rowless": 1, "reference-differs": 1}
    last = drawn(sql)
    assert journal.repair().left.is_clean
    assert documents(sql, schools, "student").keys() == {1, 2, 9}
    assert documents(sql, schools, "student")[1][1] > last, "what may have changed unseen is stamped"
    sql(f"DROP TRIGGER {schools}.{students[0]}")
    assert {finding.code for finding in journal.verify().findings} == {"tracking-altered"}
    journal.renew_tracking(f"{schools}.student")
    assert clean(journal)


@pytest.mark.acceptance("74")
def test_a_column_that_is_added_is_named_and_renewed(journal: dj.Journal, sql: Sql, schools: str) -> None:
    sql(f"INSERT INTO {schools}.school (id) VALUES (1)")
    sql(f"ALTER TABLE {schools}.school ADD more nvarchar(9) NULL")
    sql(f"UPDATE {schools}.school SET more = N'unseen'")
    assert next(one.state for one in journal.tracked() if one.table == f"{schools}.school") is not None
    status = journal.status().tracked
    assert status is not None
    assert {one.table: one.is_whole for one in status} == dict.fromkeys(
        (f"{schools}.remark", f"{schools}.school", f"{schools}.student"), True
    )
    journal.renew_tracking(f"{schools}.school")
    last = drawn(sql)
    sql(f"UPDATE {schools}.school SET more = N'seen'")
    assert drawn(sql) == last + 1
    assert clean(journal)


@pytest.mark.acceptance("75")
def test_untrack_leaves_tombstones_or_documents(journal: dj.Journal, sql: Sql, schools: str) -> None:
    sql(f"INSERT INTO {schools}.school (id) VALUES (1)")
    sql(f"INSERT INTO {schools}.student (number, home) VALUES (1, 1)")
    journal.untrack(f"{schools}.student", keep_documents=True)
    sql(f"INSERT INTO {schools}.student (number, home) VALUES (2, 1)")
    sql(f"DELETE FROM {schools}.student WHERE number = 1")
    assert documents(sql, schools, "student").keys() == {1}
    journal.track(dj.TrackedTable(f"{schools}.student", shows=["name"]))
    assert documents(sql, schools, "student").keys() == {2}
    journal.untrack(f"{schools}.school")
    assert [d.key_values for d in journal.deletes(resource(schools, "school"))] == [{"id": 1}]
    sql(f"DELETE FROM {schools}.school")
    assert edges(sql) == set()
    assert clean(journal)


def test_writing_a_tracked_resource_is_refused_and_its_bodies_are_read(journal: dj.Journal, sql: Sql, app: str) -> None:
    sql(
        f"CREATE TABLE {app}.a (id int NOT NULL PRIMARY KEY, note nvarchar(max) NULL, at datetime2(0) NULL, price decimal(9, 2) NULL,"
        " big bigint NULL, yes bit NULL, total AS (id + 1))"
    )
    track(sql, dj.TrackedTable(f"{app}.a"))
    sql(
        f"INSERT INTO {app}.a (id, note, at, price, big, yes) VALUES (1, N'x\"y\\z', '2026-01-02', 1.50, 9007199254740993, 0), (2, NULL, NULL, NULL, NULL, NULL)"
    )
    [first, second] = sorted(documents(sql, app, "a").values())
    with journal.write() as tx, pytest.raises(dj.InvalidRequest, match=rf"{app}\.a"):
        tx.upsert(dj.Document(resource(app, "a"), {"id": 2}, {}))
    bodies = {number: stored.body for number, stored in journal.documents([first[0], second[0]]).items()}
    none = dict.fromkeys(("note", "at", "price", "big", "yes"))
    assert bodies == {
        first[0]: {
            "id": 1,
            "note": 'x"y\\z',
            "at": "2026-01-02T00:00:00",
            "price": 1.5,
            "big": 9007199254740993,
            "yes": False,
            "total": 2,
        },
        second[0]: {"id": 2, **none, "total": 3},
    }
    last = drawn(sql)
    sql(f"UPDATE {app}.a SET note = N'X\"y\\z' WHERE id = 1")
    assert drawn(sql) == last + 1, "a letter in another case is a change, whatever the collation"


def test_bodies_are_kept_where_asked_for(journal: dj.Journal, sql: Sql, app: str) -> None:
    sql(f"CREATE TABLE {app}.a (id int NOT NULL PRIMARY KEY, note nvarchar(9) NULL)")
    sql(f"INSERT INTO {app}.a (id, note) VALUES (1, N'x')")
    journal.track(dj.TrackedTable(f"{app}.a", bodies=True))
    kept = "SELECT c.DocumentJson FROM dms.DocumentCache AS c ORDER BY c.DocumentId"
    assert sql(kept) == [('{"id":1,"note":"x"}',)]
    sql(f"UPDATE {app}.a SET note = N'y'")
    sql(f"INSERT INTO {app}.a (id, note) VALUES (2, NULL)")
    assert sql(kept) == [('{"id":1,"note":"y"}',), ('{"id":2,"note":null}',)]
    sql(f"UPDATE {app}.a SET id = 3 WHERE id = 1")
    assert sql(kept) == [('{"id":3,"note":"y"}',), ('{"id":2,"note":null}',)]
    assert clean(journal)
    sql(f"DELETE FROM {app}.a")
    assert sql(kept) == []


def test_a_renewal_takes_a_new_column_into_kept_bodies(journal: dj.Journal, sql: Sql, app: str) -> None:
    sql(f"CREATE TABLE {app}.a (id int NOT NULL PRIMARY KEY, note nvarchar(9) NULL)")
    sql(f"INSERT INTO {app}.a (id, note) VALUES (1, N'x')")
    journal.track(dj.TrackedTable(f"{app}.a", bodies=True))
    sql(f"ALTER TABLE {app}.a ADD more int NOT NULL DEFAULT 7")  # every row reads otherwise, and none was written
    last = drawn(sql)
    journal.renew_tracking(f"{app}.a")
    assert sql("SELECT c.DocumentJson FROM dms.DocumentCache AS c") == [('{"id":1,"note":"x","more":7}',)]
    assert drawn(sql) > last
    assert clean(journal)
    last = drawn(sql)
    journal.renew_tracking(f"{app}.a")
    assert drawn(sql) == last, "nothing has changed since"


def test_two_references_of_a_row_that_change_places(journal: dj.Journal, sql: Sql, app: str) -> None:
    """An edge says whether its reference is part of the key, after the change as well; `verify` compares that."""
    sql(f"CREATE TABLE {app}.a (id int NOT NULL PRIMARY KEY)")
    sql(f"CREATE TABLE {app}.b (x int NOT NULL PRIMARY KEY REFERENCES {app}.a, y int NULL REFERENCES {app}.a)")
    sql(f"INSERT INTO {app}.a (id) VALUES (1), (2)")
    sql(f"INSERT INTO {app}.b (x, y) VALUES (1, 2)")
    track(sql, dj.TrackedTable(f"{app}.a"), dj.TrackedTable(f"{app}.b"))
    sql(f"UPDATE {app}.b SET x = 2, y = 1")
    flags = """SELECT JSON_VALUE(c.KeyValues, '$.id'), CAST(e.IsIdentityComponent AS int) FROM dms.ReferenceEdge AS e
               INNER JOIN dms.Document AS c ON c.DocumentId = e.ChildDocumentId ORDER BY 1"""
    assert sql(flags) == [("1", 0), ("2", 1)]
    assert clean(journal)
    sql("UPDATE dms.ReferenceEdge SET IsIdentityComponent = 1 - IsIdentityComponent")
    assert [found.code for found in journal.verify().findings] == ["reference-differs"]
    journal.repair()
    assert sql(flags) == [("1", 0), ("2", 1)]


def test_the_first_reference_is_noted_before_it_is_written(journal: dj.Journal, sql: Sql, app: str) -> None:
    """Else its writer would keep the writers of all others waiting until its transaction ends."""
    sql(f"CREATE TABLE {app}.a (id int NOT NULL PRIMARY KEY)")
    sql(f"CREATE TABLE {app}.b (id int NOT NULL PRIMARY KEY, a int NULL REFERENCES {app}.a)")
    track(sql, dj.TrackedTable(f"{app}.b"), dj.TrackedTable(f"{app}.a"))
    noted = """SELECT p.TableName, c.TableName FROM dms.ResourceDependency AS n
               INNER JOIN dms.TrackedTable AS p ON p.ResourceKeyId = n.ParentResourceKeyId
               INNER JOIN dms.TrackedTable AS c ON c.ResourceKeyId = n.ChildResourceKeyId"""
    assert sql(noted) == [(f"{app}.b", f"{app}.a")]


def test_a_primary_key_that_is_made_anew(journal: dj.Journal, sql: Sql, app: str) -> None:
    """A column keeps its name in the key values, whatever its place in the key is."""
    sql(f"CREATE TABLE {app}.a (x int NOT NULL, y int NOT NULL, CONSTRAINT pk_of_a PRIMARY KEY (x, y))")
    sql(f"INSERT INTO {app}.a (x, y) VALUES (1, 2), (2, 1)")
    track(sql, dj.TrackedTable(f"{app}.a"))
    sql(f"ALTER TABLE {app}.a DROP CONSTRAINT pk_of_a")
    sql(f"ALTER TABLE {app}.a ADD CONSTRAINT pk_of_a PRIMARY KEY (y, x)")
    journal.renew_tracking(f"{app}.a")
    kept = "SELECT JSON_VALUE(d.KeyValues, '$.x'), JSON_VALUE(d.KeyValues, '$.y') FROM dms.Document AS d ORDER BY 1"
    assert sql(kept) == [("1", "2"), ("2", "1")]
    assert clean(journal)


def test_only_named_columns_are_watched(journal: dj.Journal, sql: Sql, app: str) -> None:
    sql(f"CREATE TABLE {app}.a (id int NOT NULL PRIMARY KEY, seen int NULL, note int NULL)")
    track(sql, dj.TrackedTable(f"{app}.a", columns=["note"]))
    sql(f"INSERT INTO {app}.a (id) VALUES (1)")
    last = drawn(sql)
    sql(f"UPDATE {app}.a SET seen = 1")
    assert drawn(sql) == last
    sql(f"UPDATE {app}.a SET note = 1")
    assert drawn(sql) == last + 1


@pytest.mark.acceptance("21")
def test_a_trigger_that_writes_the_row_again_does_no_harm(journal: dj.Journal, sql: Sql, app: str) -> None:
    sql(f"CREATE TABLE {app}.a (id int NOT NULL PRIMARY KEY, note nvarchar(9) NULL)")
    sql(
        f"CREATE TRIGGER {app}.again ON {app}.a AFTER INSERT AS"
        f" UPDATE t SET id = t.id + 100, note = N'late' FROM {app}.a AS t INNER JOIN inserted AS new ON new.id = t.id WHERE new.id < 10"
    )
    track(sql, dj.TrackedTable(f"{app}.a"))
    sql(f"INSERT INTO {app}.a (id) VALUES (1), (2), (50)")
    assert documents(sql, app, "a").keys() == {101, 102, 50}
    assert clean(journal)


def test_a_session_that_counts_rows_writes_as_any_other(journal: dj.Journal, sql: Sql, schools: str) -> None:
    sql(f"SET ROWCOUNT 2; INSERT INTO {schools}.school (id) SELECT n.n FROM (VALUES (1), (2)) AS n (n); SET ROWCOUNT 0")
    sql(
        f"SET QUOTED_IDENTIFIER OFF; SET ROWCOUNT 2; UPDATE {schools}.school SET motto = N'x'; SET ROWCOUNT 0; SET QUOTED_IDENTIFIER ON"
    )
    assert all(content > identity for _, content, identity in documents(sql, schools, "school").values())
    sql(f"INSERT INTO {schools}.student (number, home) VALUES (1, 1), (2, 1), (3, 1)")
    sql(f"SET ROWCOUNT 2; DELETE FROM {schools}.student; SET ROWCOUNT 0")
    assert len(documents(sql, schools, "student")) == 1
    assert clean(journal)


def test_the_identity_of_a_row_is_its_program_s(journal: dj.Journal, sql: Sql, app: str) -> None:
    sql(f"CREATE TABLE {app}.a (id int IDENTITY (500, 1) NOT NULL PRIMARY KEY, note int NULL)")
    track(sql, dj.TrackedTable(f"{app}.a"))
    insert = f"SET NOCOUNT ON; INSERT INTO {app}.a (note) VALUES (1)"
    assert sql(f"{insert}; SELECT SCOPE_IDENTITY(); SET NOCOUNT OFF") == [(500,)]
    assert documents(sql, app, "a").keys() == {500}


def test_the_last_identity_of_the_session_is_its_program_s(journal: dj.Journal, sql: Sql, app: str) -> None:
    sql(f"CREATE TABLE {app}.a (id int IDENTITY (7000000, 1) NOT NULL PRIMARY KEY, note int NULL)")
    track(sql, dj.TrackedTable(f"{app}.a"))
    insert = f"SET NOCOUNT ON; INSERT INTO {app}.a (note) VALUES (1)"
    assert sql(f"{insert}; SELECT @@IDENTITY; SET NOCOUNT OFF") == [(7_000_000,)]  # no stamp has come so far


@pytest.mark.acceptance("65")
def test_merge_on_a_tracked_table(journal: dj.Journal, sql: Sql, schools: str) -> None:
    sql(f"INSERT INTO {schools}.school (id, name) VALUES (1, N'a'), (2, N'b')")
    sql(
        f"""MERGE {schools}.school AS t USING (VALUES (1, N'A'), (2, NULL), (3, N'c')) AS w (id, name) ON t.id = w.id
            WHEN MATCHED AND w.name IS NULL THEN DELETE
            WHEN MATCHED THEN UPDATE SET name = w.name
            WHEN NOT MATCHED THEN INSERT (id, name) VALUES (w.id, w.name);"""
    )
    assert documents(sql, schools, "school").keys() == {1, 3}
    assert clean(journal)


def test_a_plan_prints_what_would_run_and_keeps_nothing(journal: dj.Journal, sql: Sql, app: str, scriptdom) -> None:
    """The generated text is parsed by Microsoft's grammar, as the shipped files are."""
    sql(
        f"CREATE TABLE {app}.a (id int IDENTITY (1, 1) NOT NULL PRIMARY KEY, code nvarchar(9) NOT NULL UNIQUE, doc xml NULL, bin varbinary(max) NULL)"
    )
    sql(
        f"CREATE TABLE {app}.b (x nvarchar(9) NOT NULL, y datetimeoffset NOT NULL, z varbinary(9) NOT NULL, a int NULL REFERENCES {app}.a (id),"
        f" boss int NULL REFERENCES {app}.a (id), PRIMARY KEY (x, y, z))"
    )
    plans = journal.tracking_plan(
        dj.TrackedTable(f"{app}.a", shows=["code"], bodies=True), dj.TrackedTable(f"{app}.b", bodies=True)
    )
    assert [plan.tracked.table for plan in plans] == [f"{app}.a", f"{app}.b"]
    assert plans[1].tracked.refers_to == (f"{app}.a",)
    assert journal.tracked() == []
    statements = [statement for plan in plans for statement in plan.statements]
    assert len(statements) == 22
    for parsed in grammar.parse(
        scriptdom, [batch for number, text in enumerate(statements) for batch in grammar.split(f"generated {number}", text)]
    ):
        assert parsed.tree is not None
        found = [
            *grammar.problems(parsed),
            *grammar.next_value_problems(parsed),
            *grammar.unqualified_names(parsed),
            *grammar.server_problems(parsed),
        ]
        assert [str(problem) for problem in found] == []


def with_rowversion(sql: Sql) -> None:
    """A stand-in has to be asked for the type."""
    if sql("SELECT SERVERPROPERTY('Babelfish')") != [(None,)]:
        sql("EXEC sys.sp_babelfish_configure 'escape_hatch_rowversion', 'ignore'")


def told(sql: Sql, statement: str) -> int:
    """How many stamps a statement draws."""
    before = drawn(sql)
    sql(statement)
    return drawn(sql) - before


@pytest.mark.acceptance("65")
@pytest.mark.parametrize(
    ("of", "old", "new"),
    [
        ("varchar(8000)", "REPLICATE('a', 7000)", "REPLICATE('a', 6999) + 'b'"),
        ("varchar(8000)", "'ab'", "'ab '"),
        ("nvarchar(4000)", "REPLICATE(N'a', 4000)", "REPLICATE(N'a', 3999) + N'b'"),
        ("varchar(max)", "REPLICATE(CAST('a' AS varchar(max)), 9000)", "REPLICATE(CAST('a' AS varchar(max)), 8999) + 'b'"),
        ("sql_variant", "CAST(N'abc' AS nvarchar(9))", "CAST(N'ABC' AS nvarchar(9))"),
        ("sql_variant", "CAST(1 AS int)", "CAST(1 AS bigint)"),
        ("float", "CAST(0 AS float)", "-CAST(0 AS float)"),
        ("varbinary(9)", "0x01", "0x0100"),
    ],
)
def test_a_change_of_what_is_stored_is_told_whatever_compares_equal(
    journal: dj.Journal, sql: Sql, app: str, of: str, old: str, new: str
) -> None:
    sql(f"CREATE TABLE {app}.a (id int NOT NULL PRIMARY KEY, what {of} NULL)")
    track(sql, dj.TrackedTable(f"{app}.a"))
    sql(f"INSERT INTO {app}.a (id, what) VALUES (1, {old})")
    assert told(sql, f"UPDATE {app}.a SET what = {new}") == 1
    assert told(sql, f"UPDATE {app}.a SET what = {new}") == 0


@pytest.mark.acceptance("67", "89")
def test_a_unique_rowversion_pairs_no_rows(journal: dj.Journal, sql: Sql, app: str) -> None:
    """The server writes it anew with each update, and no statement names it."""
    with_rowversion(sql)
    sql(f"CREATE TABLE {app}.a (id int NOT NULL PRIMARY KEY, code int NOT NULL, note int NULL, version rowversion NOT NULL)")
    sql(f"CREATE UNIQUE INDEX by_version ON {app}.a (version, code)")
    track(sql, dj.TrackedTable(f"{app}.a"))
    sql(f"INSERT INTO {app}.a (id, code) VALUES (1, 1), (2, 2), (3, 3)")
    before = documents(sql, app, "a")
    sql(f"UPDATE {app}.a SET id = id, note = 1")
    after = documents(sql, app, "a")
    assert {key: row[0] for key, row in after.items()} == {key: row[0] for key, row in before.items()}
    assert list(journal.deletes(resource(app, "a"))) == []
    assert clean(journal)


@pytest.mark.acceptance("67", "89")
def test_a_computed_column_in_the_key(journal: dj.Journal, sql: Sql, app: str) -> None:
    """UPDATE() of a computed column is refused by the server (2114): a statement that writes its inputs writes the key."""
    sql(f"CREATE TABLE {app}.a (x int NOT NULL, note int NULL, twice AS (x * 2) PERSISTED NOT NULL, PRIMARY KEY (twice))")
    track(sql, dj.TrackedTable(f"{app}.a"))
    written = sql(
        "SELECT o.statement FROM dms.TrackedTable AS t CROSS APPLY dms.tracking_of(t.TrackedTableId) AS o WHERE o.place = 10"
    )[0][0]
    assert "UPDATE([twice])" not in written
    sql(f"INSERT INTO {app}.a (x) VALUES (1), (2)")
    before = documents(sql, app, "a")
    sql(f"UPDATE {app}.a SET x = 9 WHERE x = 1")
    assert documents(sql, app, "a")[18][0] == before[2][0]
    sql(f"UPDATE {app}.a SET note = 1")
    assert documents(sql, app, "a").keys() == {4, 18}
    assert clean(journal)


def test_a_key_of_long_text(journal: dj.Journal, sql: Sql, app: str) -> None:
    """The server takes a key of a type that is longer than a key may be: values decide."""
    sql(f"CREATE TABLE {app}.a (id varchar(5000) NOT NULL PRIMARY KEY, note int NULL)")
    sql(f"INSERT INTO {app}.a (id) VALUES ('x'), ('y')")
    track(sql, dj.TrackedTable(f"{app}.a"))
    assert documents(sql, app, "a").keys() == {"x", "y"}
    written = " ".join(
        row[0] for row in sql("SELECT o.statement FROM dms.TrackedTable AS t CROSS APPLY dms.tracking_of(t.TrackedTableId) AS o")
    )
    assert "nvarchar(5000)" not in written
    assert clean(journal)


def test_a_fill_keeps_its_place_in_the_column_s_code_page(journal: dj.Journal, sql: Sql, app: str) -> None:
    """A variable of type varchar has the database's code page, which may lack what the key's has: the fill would not come further."""
    sql(f"CREATE TABLE {app}.a (id varchar(40) COLLATE Latin1_General_CI_AS NOT NULL PRIMARY KEY)")
    track(sql, dj.TrackedTable(f"{app}.a"))
    fill = sql(
        "SELECT o.statement FROM dms.TrackedTable AS t CROSS APPLY dms.tracking_of(t.TrackedTableId) AS o WHERE o.place = 5"
    )[0][0]
    assert "@K1 nvarchar(40)" in fill
    assert "@K1 varchar" not in fill
    sql(f"EXEC dms.renew_tracking N'{app}.a'")
    sql(
        f"INSERT INTO {app}.a (id) SELECT CONCAT('k', s.value) FROM STRING_SPLIT('{','.join(str(n) for n in range(150))}', ',') AS s"
    )
    sql(f"EXEC dms.untrack N'{app}.a', 1")
    sql("DELETE FROM dms.Document")
    journal.track(dj.TrackedTable(f"{app}.a"), blocks=1)
    assert len(documents(sql, app, "a")) == 150


@pytest.mark.acceptance("65")
def test_a_computed_column_that_is_named_is_watched(journal: dj.Journal, sql: Sql, app: str) -> None:
    sql(f"CREATE TABLE {app}.a (id int NOT NULL PRIMARY KEY, price int NULL, pieces int NULL, total AS (price * pieces) PERSISTED)")
    track(sql, dj.TrackedTable(f"{app}.a", columns=["total"]))
    sql(f"INSERT INTO {app}.a (id, price, pieces) VALUES (1, 2, 3)")
    assert told(sql, f"UPDATE {app}.a SET price = 3, pieces = 2") == 0
    assert told(sql, f"UPDATE {app}.a SET price = 4") == 1


@pytest.mark.acceptance("75")
def test_documents_with_values_of_another_type_are_taken_up(journal: dj.Journal, sql: Sql, app: str) -> None:
    """What the key of a kept document cannot be any more has no row."""
    sql(f"CREATE TABLE {app}.a (id nvarchar(40) NOT NULL PRIMARY KEY, at nvarchar(40) NULL)")
    track(sql, dj.TrackedTable(f"{app}.a"))
    sql(f"INSERT INTO {app}.a (id) VALUES (N'x'), (N'1')")
    journal.untrack(f"{app}.a", keep_documents=True)
    sql(f"DROP TABLE {app}.a")
    sql(f"CREATE TABLE {app}.a (id int NOT NULL PRIMARY KEY)")
    sql(f"INSERT INTO {app}.a (id) VALUES (1)")
    track(sql, dj.TrackedTable(f"{app}.a"))
    assert documents(sql, app, "a").keys() == {1}
    assert clean(journal)


def test_bodies_of_a_row_with_a_rowversion(journal: dj.Journal, sql: Sql, app: str) -> None:
    """An update that changes nothing that is watched leaves what is kept as it should be."""
    with_rowversion(sql)
    sql(f"CREATE TABLE {app}.a (id int NOT NULL PRIMARY KEY, note int NULL, version rowversion NOT NULL)")
    track(sql, dj.TrackedTable(f"{app}.a", bodies=True))
    sql(f"INSERT INTO {app}.a (id, note) VALUES (1, 2)")
    sql(f"UPDATE {app}.a SET note = note")
    assert clean(journal)


def test_triggers_look_up_documents_as_they_are_now(journal: dj.Journal, sql: Sql, schools: str) -> None:
    """A writer in SNAPSHOT isolation does not see a document that a fill has made since: an UPDATE of it would change no row."""
    sql(f"CREATE TABLE {schools}.kept (id int NOT NULL PRIMARY KEY)")
    track(sql, dj.TrackedTable(f"{schools}.kept", bodies=True))
    written = sql(
        "SELECT o.name, o.kind, o.statement FROM dms.TrackedTable AS t CROSS APPLY dms.tracking_of(t.TrackedTableId) AS o"
    )
    asked = {
        name: statement for name, kind, statement in written if kind == "trigger" or name.endswith(("_ensure", "_keep", "_edges"))
    }
    asked["remove_tracked"] = sql(
        "SELECT m.definition FROM sys.sql_modules AS m WHERE m.object_id = OBJECT_ID(N'dms.remove_tracked')"
    )[0][0]
    assert len(asked) > 12
    past = re.compile(
        r"(?:FROM|JOIN) dms\.(?:Document|ReferenceEdge|DocumentCache|TrackedLate) AS \w+(?! WITH \(READCOMMITTEDLOCK\))\b.*"
    )
    assert {name: past.findall(statement) for name, statement in asked.items() if past.search(statement)} == {}


def test_a_table_of_another_database_is_not_taken_for_one_of_this(journal: dj.Journal, sql: Sql, schools: str) -> None:
    """Copies of a database have the same object ids."""
    journal.untrack(f"{schools}.remark")
    with pytest.raises(dj.InvalidRequest, match="is not there"):
        journal.track(dj.TrackedTable(f"master.{schools}.remark"))
    journal.track(dj.TrackedTable(f"{sql('SELECT DB_NAME()')[0][0]}.{schools}.remark"))
    assert f"{schools}.remark" in [one.table for one in journal.tracked()]


def test_a_copy_of_a_table_with_its_triggers_is_not_taken_for_it(journal: dj.Journal, sql: Sql, schools: str) -> None:
    """As a tool makes that scripts one schema into another."""
    [name] = [
        row[0]
        for row in sql(
            f"SELECT name FROM sys.triggers WHERE parent_id = OBJECT_ID(N'{schools}.school') AND name LIKE N'%[_]insert'"
        )
    ]
    for schema in (f"a{schools}", f"z{schools}"):
        sql(f"CREATE SCHEMA {schema}")
        sql(f"CREATE TABLE {schema}.school (id int NOT NULL PRIMARY KEY)")
        sql(f"CREATE TRIGGER {schema}.{name} ON {schema}.school AFTER INSERT AS SELECT 1 AS one")
    assert {one.table for one in journal.tracked()} == {f"{schools}.{table}" for table in ("school", "student", "remark")}
    assert clean(journal)
    for schema in (f"a{schools}", f"z{schools}"):
        sql(f"DROP TABLE {schema}.school")
