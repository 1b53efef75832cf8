"""Traps of tracking on PostgreSQL, each by plain SQL (acceptance 65 to 71, 74, 87 to 93)."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

import dmsjournal as dj

from .helpers import Sql, fill, track

Connect = Callable[..., psycopg.Connection[Any]]


def documents(sql: Sql, resource: str) -> dict[str, tuple[int, int, int]]:
    """Key values as text: (DocumentId, ContentVersion, IdentityVersion)."""
    rows = sql(
        """SELECT d.KeyValues::text, d.DocumentId, d.ContentVersion, d.IdentityVersion FROM dms.Document AS d
           JOIN dms.ResourceKey AS r USING (ResourceKeyId) WHERE r.ResourceName = %s""",
        resource,
    )
    assert len({row[0] for row in rows}) == len(rows)
    return {row[0]: tuple(row[1:]) for row in rows}


def edges(sql: Sql) -> set[tuple[int, int]]:
    return {tuple(row) for row in sql("SELECT ParentDocumentId, ChildDocumentId FROM dms.ReferenceEdge")}


def clean(tracked: str) -> bool:
    with dj.connect(tracked) as journal:
        found = journal.verify()
    assert found.is_clean, found.findings
    return True


def stamp(sql: Sql) -> int:
    return int(sql("SELECT coalesce(pg_sequence_last_value('dms.changeversionsequence'), 0)")[0][0])


@pytest.mark.acceptance("66")
def test_a_shown_column_is_an_identity_change_and_an_equal_value_is_none(tracked: str, sql: Sql) -> None:
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY, name text, note text, body json, place point)")
    sql("CREATE TABLE app.b (id int PRIMARY KEY, a int REFERENCES app.a)")
    sql("INSERT INTO app.a VALUES (1, 'n', 'x', '{\"k\": 1}', '(1,2)'); INSERT INTO app.b VALUES (1, 1)")
    track(sql, "a", "b", shows={"a": ["name"]})
    before, last = documents(sql, "a"), stamp(sql)
    for same in ("name = name, body = '{\"k\": 1}', place = '(1,2)'", "note = 'x'"):
        sql(f"UPDATE app.a SET {same}")
    assert (documents(sql, "a"), stamp(sql)) == (before, last)
    for changed in ("note = 'y'", "body = '{\"k\": 2}'", "place = '(1,3)'"):
        sql(f"UPDATE app.a SET {changed}")
        last += 1
        assert documents(sql, "a")['{"id": 1}'][1:] == (last, 2 - 1)
    b = documents(sql, "b")
    sql("UPDATE app.a SET name = 'm'")
    assert documents(sql, "a")['{"id": 1}'][1:] == (last + 1, last + 1)
    assert documents(sql, "b") == b, "no referring row is written"
    with dj.connect(tracked) as journal:
        [change] = journal.changes(dj.ResourceKey("App", "b", "1"), dj.Window(min=last + 1))
        assert change.change_version == last + 1
    assert clean(tracked)


@pytest.mark.acceptance("68")
def test_a_cascade_over_three_tables_leaves_a_tombstone_a_row(tracked: str, sql: Sql) -> None:
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY)")
    sql("CREATE TABLE app.b (id int PRIMARY KEY, a int REFERENCES app.a ON DELETE CASCADE)")
    sql(
        "CREATE TABLE app.c (id int PRIMARY KEY, b int REFERENCES app.b ON DELETE CASCADE, a int REFERENCES "
        "app.a ON DELETE SET NULL)"
    )
    sql("INSERT INTO app.a VALUES (1), (2); INSERT INTO app.b VALUES (1, 1), (2, 1), (3, 2)")
    sql("INSERT INTO app.c VALUES (1, 1, 1), (2, 2, 1), (3, 3, 1)")
    track(sql, "a", "b", "c")
    last = stamp(sql)
    sql("DELETE FROM app.a WHERE id = 1")
    rows = sql(
        "SELECT r.ResourceName, count(*) FROM dms.DocumentDeleteEvent JOIN dms.ResourceKey AS r USING (ResourceKeyId) GROUP BY 1"
    )
    assert {tuple(row) for row in rows} == {("a", 1), ("b", 2), ("c", 2)}
    [(_, (document_id, content, _identity))] = documents(sql, "c").items()
    assert content > last, "the row that lost its reference has changed"
    assert {child for parent, child in edges(sql) if parent == document_id} == {documents(sql, "b")['{"id": 3}'][0]}
    assert clean(tracked)


@pytest.mark.acceptance("69")
def test_a_referring_row_may_come_before_a_deferred_reference(tracked: str, sql: Sql, connect: Connect) -> None:
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY, name text)")
    sql("CREATE TABLE app.b (id int PRIMARY KEY, a int REFERENCES app.a DEFERRABLE INITIALLY DEFERRED)")
    track(sql, "a", "b", shows={"a": ["name"]})
    other = connect(autocommit=False)
    other.execute("INSERT INTO app.b VALUES (1, 7)")
    other.execute("INSERT INTO app.a VALUES (7, 'n')")
    other.commit()
    a, b = documents(sql, "a")['{"id": 7}'][0], documents(sql, "b")['{"id": 1}'][0]
    assert edges(sql) == {(b, a)}
    other.execute("DELETE FROM app.a")
    other.execute("INSERT INTO app.a VALUES (7, 'again')")
    other.commit()
    assert edges(sql) == {(b, documents(sql, "a")['{"id": 7}'][0])}
    assert clean(tracked)


@pytest.mark.acceptance("69")
def test_another_session_may_bring_the_row_of_a_deferred_reference(tracked: str, sql: Sql, connect: Connect) -> None:
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY)")
    sql("CREATE TABLE app.b (id int PRIMARY KEY, a int REFERENCES app.a DEFERRABLE INITIALLY DEFERRED)")
    track(sql, "a", "b")
    other = connect(autocommit=False)
    other.execute("INSERT INTO app.b VALUES (1, 7), (2, NULL)")
    other.execute("UPDATE app.b SET a = 8 WHERE id = 2")
    sql("INSERT INTO app.a VALUES (7), (8)")
    other.commit()
    a, b = documents(sql, "a"), documents(sql, "b")
    assert edges(sql) == {(b[f'{{"id": {n}}}'][0], a[f'{{"id": {n + 6}}}'][0]) for n in (1, 2)}
    assert sql("SELECT count(*) FROM dms.TrackedLate") == [(0,)]
    assert clean(tracked)


@pytest.mark.acceptance("70")
def test_two_references_to_one_row_are_one_edge(tracked: str, sql: Sql) -> None:
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY)")
    sql("CREATE TABLE app.b (id int PRIMARY KEY, x int REFERENCES app.a, y int REFERENCES app.a)")
    track(sql, "a", "b")
    sql("INSERT INTO app.a VALUES (1), (2); INSERT INTO app.b VALUES (1, 1, 1)")
    first, second = (documents(sql, "a")[f'{{"id": {number}}}'][0] for number in (1, 2))
    parent = documents(sql, "b")['{"id": 1}'][0]
    assert edges(sql) == {(parent, first)}
    sql("UPDATE app.b SET y = 2")
    assert edges(sql) == {(parent, first), (parent, second)}
    sql("UPDATE app.b SET x = 2")
    assert edges(sql) == {(parent, second)}
    assert clean(tracked)


ODD = 'App."we ird.\'né""x"'
TYPES = {
    "bigint": "9007199254740993",
    "numeric": "12345678901234567890.10",
    "uuid": "'0123456789abcdef0123456789abcdef'",
    "timestamptz": "'2026-01-02 03:04:05.678901+02'",
    "date": "'2026-01-02'",
    "bytea": r"'\x00ff10'",
    '"App"."Mood"': "'sad'",
    "interval": "'1 day 02:03:04'",
    "text": "'née \"x\" \\ y'",
    "inet": "'10.0.0.1/8'",
    "boolean": "true",
    "char(5)": "'abc'",
    "bit(3)": "B'101'",
    "varchar(4)": "'abcd'",
}


@pytest.mark.acceptance("71", "88")
def test_names_and_types_of_any_kind(tracked: str, sql: Sql, connect: Connect) -> None:
    sql('CREATE SCHEMA "App"; CREATE TYPE "App"."Mood" AS ENUM (\'sad\', \'glad\'); CREATE SCHEMA "$body$ %s {x}"')
    one = connect(options="-c TimeZone=Asia/Tokyo -c DateStyle=German -c IntervalStyle=iso_8601 -c bytea_output=escape")
    for number, (kind, value) in enumerate(TYPES.items()):
        table, column = f'"$body$ %s {{x}}"."T {number} ""é"".$body$"', '"Ké y.""%s"'
        sql(f'CREATE TABLE {table} (gone int, {column} {kind} PRIMARY KEY, "Select" text)')
        sql(f"ALTER TABLE {table} DROP COLUMN gone")
        sql(f"INSERT INTO {table} VALUES ({value}, 'x')")
        sql("SELECT dms.track(%s, project => 'Odd', resource => %s)", table, kind)
        fill(sql, table)
        [(key, before)] = documents(sql, kind).items()
        one.execute(f"UPDATE {table} SET \"Select\" = 'y'")
        assert [(key, before[0])] == [(k, row[0]) for k, row in documents(sql, kind).items()], kind
        if kind not in ("bytea", "timestamptz", "numeric"):
            values = f"SELECT KeyValues ->> 'Ké y.\"%s' FROM dms.Document WHERE DocumentId = {before[0]}"
            assert sql(f"SELECT {column}::text FROM {table}") == sql(values), (kind, key)
        one.execute(f"DELETE FROM {table}")
        assert documents(sql, kind) == {}, kind
    assert clean(tracked)


@pytest.mark.acceptance("87")
def test_a_key_that_is_written_otherwise_is_the_same_row(tracked: str, sql: Sql) -> None:
    sql("CREATE SCHEMA app; CREATE EXTENSION citext")
    for table, kind, one, other in (
        ("t", "public.citext", "'ABC'", "'abc'"),
        ("i", "interval", "'1 day'", "'24 hours'"),
        ("n", "numeric", "1.0", "1.00"),
        ("c", "char(5)", "'a '", "'a'"),
    ):
        sql(
            f"CREATE TABLE app.{table} (k {kind} PRIMARY KEY, name text); CREATE TABLE app.{table}2 (id int PRIMARY KEY,"
            f" k {kind} REFERENCES app.{table})"
        )
        track(sql, table, f"{table}2", shows={table: ["name"]})
        sql(f"INSERT INTO app.{table} VALUES ({one}, 'x'); INSERT INTO app.{table}2 VALUES (1, {other})")
        [(child, _, _)], [(parent, _, _)] = documents(sql, table).values(), documents(sql, f"{table}2").values()
        assert (parent, child) in edges(sql)
        before = stamp(sql)
        sql(f"UPDATE app.{table} SET name = 'y' WHERE k = {other}")
        with dj.connect(tracked) as journal:
            assert [c.document_id for c in journal.changes(dj.ResourceKey("App", f"{table}2", "1"), dj.Window(min=before + 1))] == [
                parent
            ]
        sql(f"UPDATE app.{table} SET k = {other}")
        assert {row[0] for row in documents(sql, table).values()} == {child}
    assert clean(tracked)


@pytest.mark.acceptance("67", "89")
def test_rows_swap_their_keys_in_one_statement(tracked: str, sql: Sql) -> None:
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY DEFERRABLE, code int UNIQUE, note text)")
    sql("CREATE TABLE app.b (id int PRIMARY KEY, a int REFERENCES app.a (code))")
    sql("INSERT INTO app.a SELECT g, g, g FROM generate_series(1, 5) AS g; INSERT INTO app.b VALUES (1, 1), (2, 2)")
    track(sql, "a", "b")
    names = {f'{{"id": {number}}}': number for number in range(1, 7)}
    before = {names[key]: row[0] for key, row in documents(sql, "a").items()}
    sql("UPDATE app.a SET id = 3 - id WHERE id IN (1, 2)")
    after = {names[key]: row[0] for key, row in documents(sql, "a").items()}
    assert after == before | {1: before[2], 2: before[1]}
    sql("UPDATE app.a SET id = id + 1")
    assert {names[key]: row[0] for key, row in documents(sql, "a").items()} == {key + 1: row for key, row in after.items()}
    with dj.connect(tracked) as journal:
        found = {change.document_id: change for change in journal.key_changes(dj.ResourceKey("App", "a", "1"))}
        assert {key: found[row].new_key_values["id"] for key, row in before.items() if key != 2} == {1: 3, 3: 4, 4: 5, 5: 6}
    assert clean(tracked)


@pytest.mark.acceptance("90")
def test_statements_on_partitions_and_rows_that_move(tracked: str, sql: Sql) -> None:
    sql("CREATE SCHEMA app; CREATE TABLE app.p (id int, part int, note text, PRIMARY KEY (id, part)) PARTITION BY LIST (part)")
    sql("CREATE TABLE app.p1 PARTITION OF app.p FOR VALUES IN (1); CREATE TABLE app.p2 PARTITION OF app.p FOR VALUES IN (2)")
    track(sql, "p")
    sql("INSERT INTO app.p VALUES (1, 1, 'x'), (2, 2, 'x'); INSERT INTO app.p1 VALUES (3, 1, 'x')")
    assert len(documents(sql, "p")) == 3
    moved = documents(sql, "p")['{"id": 1, "part": 1}'][0]
    sql("UPDATE app.p1 SET note = 'y'")
    sql("UPDATE app.p SET part = 2 WHERE id = 1")
    assert documents(sql, "p")['{"id": 1, "part": 2}'][0] == moved
    sql("UPDATE app.p SET part = 3 - part")
    assert documents(sql, "p").keys() == {'{"id": 1, "part": 1}', '{"id": 2, "part": 1}', '{"id": 3, "part": 2}'}
    sql("DELETE FROM app.p2; TRUNCATE app.p1")
    assert documents(sql, "p") == {}
    assert clean(tracked)
    sql("CREATE TABLE app.p3 PARTITION OF app.p FOR VALUES IN (3); CREATE TABLE app.p4 (LIKE app.p INCLUDING ALL)")
    sql("INSERT INTO app.p3 VALUES (9, 3, 'unseen'); INSERT INTO app.p4 VALUES (8, 4, 'unseen')")
    sql("ALTER TABLE app.p ATTACH PARTITION app.p4 FOR VALUES IN (4)")
    with dj.connect(tracked) as journal:
        found = {finding.code for finding in journal.verify().findings}
        assert found == {"tracking-altered", "row-undocumented"}
        assert "app.p3" in (journal.tracked()[0].state or "")
        journal.renew_tracking("app.p")
    assert documents(sql, "p").keys() == {'{"id": 9, "part": 3}', '{"id": 8, "part": 4}'}
    assert clean(tracked)
    sql("ALTER TABLE app.p DETACH PARTITION app.p3")
    with dj.connect(tracked) as journal:
        assert "document-rowless" in {finding.code for finding in journal.verify().findings}
        journal.repair()
    assert documents(sql, "p").keys() == {'{"id": 8, "part": 4}'}
    assert clean(tracked)


@pytest.mark.acceptance("90")
def test_an_inheriting_table_is_a_part_of_its_parent(tracked: str, sql: Sql) -> None:
    sql(
        "CREATE SCHEMA app; CREATE TABLE app.p (id int PRIMARY KEY, note text); CREATE TABLE app.q (extra int,"
        " PRIMARY KEY (id)) INHERITS (app.p)"
    )
    track(sql, "p")
    sql("INSERT INTO app.q VALUES (1, 'x', 2); INSERT INTO app.p VALUES (2, 'x')")
    assert documents(sql, "p").keys() == {'{"id": 1}', '{"id": 2}'}
    before = documents(sql, "p")
    sql("UPDATE app.q SET note = 'y', id = 5")
    assert documents(sql, "p")['{"id": 5}'][0] == before['{"id": 1}'][0]
    sql("UPDATE app.p SET note = 'z'; DELETE FROM app.q")
    assert documents(sql, "p").keys() == {'{"id": 2}'}
    assert clean(tracked)


REFUSED = {
    "it is a view": "CREATE VIEW app.x AS SELECT 1 AS id",
    "it is a materialized view": "CREATE MATERIALIZED VIEW app.x AS SELECT 1 AS id",
    "it is UNLOGGED": "CREATE UNLOGGED TABLE app.x (id int PRIMARY KEY)",
    "it has no primary key": "CREATE TABLE app.x (id int)",
    "column id of its key may be null": "CREATE TABLE app.x (id int CONSTRAINT u UNIQUE)",
    "JSON cannot hold exactly": "CREATE TABLE app.x (id float8 PRIMARY KEY)",
    "it is a partition of app.whole": "CREATE TABLE app.whole (id int PRIMARY KEY) PARTITION BY LIST (id); "
    "CREATE TABLE app.x PARTITION OF app.whole FOR VALUES IN (1)",
    "is not there": "SELECT 1",
    "it is a foreign table": "CREATE FOREIGN DATA WRAPPER nothing; CREATE SERVER s FOREIGN DATA WRAPPER nothing; "
    "CREATE FOREIGN TABLE app.x (id int) SERVER s",
    "subscription sub fills it": "CREATE TABLE app.x (id int PRIMARY KEY); CREATE SUBSCRIPTION sub CONNECTION 'dbname=none' "
    "PUBLICATION p WITH (connect = false); INSERT INTO pg_subscription_rel SELECT oid, 'app.x'::regclass, 'i' FROM pg_subscription",
}


@pytest.mark.acceptance("92")
@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_tracked_is_refused_by_name(tracked: str, sql: Sql, reason: str) -> None:
    sql("CREATE SCHEMA app")
    for statement in REFUSED[reason].split("; "):
        if "INSERT INTO pg_subscription_rel" in statement:
            sql("SET allow_system_table_mods = on")
        sql(statement)
    with dj.connect(tracked) as journal:
        with pytest.raises((dj.InvalidRequest, dj.UnsupportedCapability), match=reason) as refused:
            journal.track(dj.TrackedTable("app.x", key="u" if "may be null" in reason else None))
        assert "app.x" in str(refused.value)
        assert journal.tracked() == []
    if "sub fills" in reason:
        sql("ALTER SUBSCRIPTION sub SET (slot_name = NONE)")
        sql("DROP SUBSCRIPTION sub")


@pytest.mark.acceptance("92")
def test_a_temporary_table_is_refused(tracked: str, sql: Sql) -> None:
    sql("CREATE TEMPORARY TABLE x (id int PRIMARY KEY)")
    with pytest.raises(psycopg.Error, match="it is temporary"):
        sql("SELECT dms.track('pg_temp.x')")


@pytest.mark.acceptance("93")
def test_long_names_and_tables_that_move(tracked: str, sql: Sql) -> None:
    sql("CREATE SCHEMA app; CREATE SCHEMA other; CREATE ROLE movedowner; GRANT USAGE ON SCHEMA app, other TO movedowner")
    long = "t" * 62
    sql(
        f"CREATE TABLE app.{long}a (id int PRIMARY KEY, note text); CREATE TABLE app.{long}b (id int PRIMARY KEY,"
        f" a int REFERENCES app.{long}a)"
    )
    track(sql, f"{long}a", f"{long}b")
    sql(
        f"ALTER TABLE app.{long}a RENAME TO short; ALTER TABLE app.short SET SCHEMA other; ALTER TABLE "
        f"other.short OWNER TO movedowner"
    )
    try:
        sql(f"INSERT INTO other.short VALUES (1); INSERT INTO app.{long}b VALUES (1, 1); UPDATE other.short SET note = 'x'")
        [(child, content, identity)] = documents(sql, f"{long}a").values()
        assert content > identity
        assert {c for _, c in edges(sql)} == {child}
        with dj.connect(tracked) as journal:
            assert {one.table for one in journal.tracked()} == {"other.short", f"app.{long}b"}
    finally:
        sql("DROP TABLE other.short CASCADE; DROP OWNED BY movedowner; DROP ROLE movedowner")


@pytest.mark.acceptance("74")
def test_what_alter_table_does_is_named_and_renewed(tracked: str, sql: Sql) -> None:
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY, name text, note text, gone text)")
    track(sql, "a", shows={"a": ["name"]})
    sql("INSERT INTO app.a VALUES (1, 'n', 'x', 'y')")
    [(document_id, _, _)] = documents(sql, "a").values()
    sql("ALTER TABLE app.a ADD COLUMN more text; ALTER TABLE app.a DROP COLUMN gone")
    sql("ALTER TABLE app.a RENAME COLUMN note TO noted")
    last = stamp(sql)
    sql("UPDATE app.a SET more = 'new'")
    assert stamp(sql) == last + 1, "a new column is watched at once"
    with dj.connect(tracked) as journal:
        [one] = journal.tracked()
        assert (one.state or "").split("; ") == ["column gone is gone", "column more is new", "column noted was note"]
        sql("ALTER TABLE app.a RENAME COLUMN name TO title")
        with pytest.raises(psycopg.errors.UndefinedColumn, match="dmsjournal track --renew"):
            sql("UPDATE app.a SET noted = 'z'")
        [one] = journal.renew_tracking("app.a")
        assert (one.state, one.shows) == (None, ("id", "title"))
        sql("UPDATE app.a SET noted = 'z'")
        for statement in (
            "DROP TRIGGER zz_dmsjournal_1_update ON app.a",
            "ALTER TABLE app.a DISABLE TRIGGER zz_dmsjournal_1_update",
        ):
            sql(statement)
            sql("UPDATE app.a SET noted = 'unseen'")
            assert {finding.code for finding in journal.verify().findings} == {"tracking-altered"}
            last = stamp(sql)
            assert journal.repair().left.is_clean
            assert documents(sql, "a")['{"id": 1}'][1] > last, "what may have changed unseen is stamped"
    assert documents(sql, "a")['{"id": 1}'][0] == document_id


@pytest.mark.acceptance("59", "74")
def test_rows_that_came_past_the_triggers_are_found_and_repaired(tracked: str, sql: Sql) -> None:
    sql(
        "CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY); CREATE TABLE app.b (id int PRIMARY KEY, "
        "a int REFERENCES app.a)"
    )
    sql("INSERT INTO app.a VALUES (1), (2); INSERT INTO app.b VALUES (1, 1), (2, 2)")
    track(sql, "a", "b")
    sql(
        "SET session_replication_role = replica; DELETE FROM app.b WHERE id = 2; UPDATE app.b SET a = 2; "
        "INSERT INTO app.a VALUES (3)"
    )
    sql("SET session_replication_role = origin")
    with dj.connect(tracked) as journal:
        found = {finding.code: finding.count for finding in journal.verify().findings}
        assert found == {"row-undocumented": 1, "document-rowless": 1, "reference-differs": 1}
        assert journal.repair().left.is_clean
    assert len(edges(sql)) == 1


@pytest.mark.acceptance("75")
def test_untrack_leaves_tombstones_or_documents(tracked: str, sql: Sql) -> None:
    sql(
        "CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY, note text); CREATE TABLE app.b (id int "
        "PRIMARY KEY, a int REFERENCES app.a)"
    )
    sql("INSERT INTO app.a VALUES (1, 'x'); INSERT INTO app.b VALUES (1, 1)")
    track(sql, "a", "b")
    with dj.connect(tracked) as journal:
        journal.untrack("app.b", keep_documents=True)
        sql("UPDATE app.b SET a = NULL; INSERT INTO app.b VALUES (2, 1)")
        journal.track(dj.TrackedTable("app.b", dj.ResourceKey("App", "b", "1")))
        assert documents(sql, "b").keys() == {'{"id": 1}', '{"id": 2}'}
        assert len(edges(sql)) == 1
        journal.untrack("app.a")
        assert [delete.key_values for delete in journal.deletes(dj.ResourceKey("App", "a", "1"))] == [{"id": 1}]
        sql("UPDATE app.a SET note = 'free'; DELETE FROM app.b; DELETE FROM app.a")
        assert [one.table for one in journal.tracked()] == ["app.b"]
    assert clean(tracked)


def test_writing_a_tracked_resource_is_refused_and_its_bodies_are_read(tracked: str, sql: Sql) -> None:
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY, note text)")
    track(sql, "a")
    sql("INSERT INTO app.a VALUES (1, 'x')")
    resource = dj.ResourceKey("App", "a", "1")
    with dj.connect(tracked) as journal:
        journal.versions()
        with journal.write() as tx, pytest.raises(dj.InvalidRequest, match=r"app\.a"):
            tx.upsert(dj.Document(resource, {"id": 2}, {}))
        with journal.write() as tx, pytest.raises(dj.InvalidRequest, match=r"app\.a"):
            tx.delete(resource, {"id": 1})
        [stored] = journal.documents([documents(sql, "a")['{"id": 1}'][0]]).values()
        assert stored.body == {"id": 1, "note": "x"}


def test_bodies_are_kept_where_asked_for(tracked: str, sql: Sql) -> None:
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY, note text, at timestamptz, tags text[])")
    sql("INSERT INTO app.a VALUES (1, 'x', '2026-01-02 03:04:05+00', '{a,b}')")
    track(sql, "a", bodies=True)
    wanted = {"id": 1, "note": "x", "at": "2026-01-02T03:04:05+00:00", "tags": ["a", "b"]}
    assert sql("SELECT DocumentJson FROM dms.DocumentCache") == [(wanted,)]
    sql("UPDATE app.a SET note = 'y'; INSERT INTO app.a VALUES (2, 'z')")
    assert [row[0]["note"] for row in sql("SELECT DocumentJson FROM dms.DocumentCache ORDER BY DocumentId")] == ["y", "z"]
    sql("UPDATE app.a SET id = 3 WHERE id = 1")
    assert sql("SELECT DocumentJson ->> 'id' FROM dms.DocumentCache ORDER BY DocumentId") == [("3",), ("2",)]
    sql("DELETE FROM app.a")
    assert sql("SELECT count(*) FROM dms.DocumentCache") == [(0,)]
    assert clean(tracked)


@pytest.mark.acceptance("73")
def test_a_writer_has_no_right_on_the_journal(tracked: str, sql: Sql, connect: Connect) -> None:
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY, note text)")
    track(sql, "a")
    sql(
        "CREATE ROLE trackedwriter; GRANT USAGE ON SCHEMA app TO trackedwriter; GRANT SELECT, INSERT, UPDATE,"
        " DELETE ON app.a TO trackedwriter"
    )
    sql("CREATE SCHEMA evil; GRANT ALL ON SCHEMA evil TO trackedwriter")
    try:
        for path in ("''", "evil, public, pg_catalog"):
            writer = connect()
            writer.execute("SET ROLE trackedwriter")
            writer.execute(f"SET search_path = {path}")
            if path != "''":
                writer.execute(
                    "CREATE FUNCTION evil.jsonb_build_object(text, int) RETURNS pg_catalog.jsonb"
                    " LANGUAGE sql AS 'SELECT NULL::pg_catalog.jsonb'"
                )
            writer.execute("INSERT INTO app.a VALUES (1, 'x')")
            writer.execute("UPDATE app.a SET note = 'y'")
            assert len(documents(sql, "a")) == 1
            writer.execute("DELETE FROM app.a")
            for forged in (
                "INSERT INTO dms.Document (ResourceKeyId) VALUES (1)",
                "SELECT dms.tracked_1_remove('{1}')",
                "SELECT dms.track('app.a')",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    writer.execute(forged)
            with pytest.raises(psycopg.Error):
                writer.execute(
                    "CREATE TEMPORARY TABLE f (id int); CREATE TRIGGER t AFTER INSERT ON f REFERENCING NEW TABLE AS inserted "
                    "FOR EACH STATEMENT EXECUTE FUNCTION dms.tracked_1_insert()"
                )
        assert clean(tracked)
    finally:
        sql("DROP SCHEMA evil CASCADE; DROP OWNED BY trackedwriter; DROP ROLE trackedwriter")


def test_a_table_of_a_less_trusted_owner_needs_trust(tracked: str, sql: Sql) -> None:
    sql(
        "CREATE ROLE trackedowner; CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY); ALTER TABLE "
        "app.a OWNER TO trackedowner"
    )
    try:
        with dj.connect(tracked) as journal:
            with pytest.raises(dj.UnsupportedCapability, match="belongs to role trackedowner"):
                journal.track(dj.TrackedTable("app.a"))
            journal.track(dj.TrackedTable("app.a", trust=True))
            journal.untrack("app.a")
    finally:
        sql("DROP TABLE app.a; DROP ROLE trackedowner")


@pytest.mark.acceptance("75")
def test_a_shown_column_that_is_renamed_stays_shown_whatever_is_renewed_first(tracked: str, sql: Sql) -> None:
    sql("CREATE SCHEMA app; CREATE TABLE app.b (id int PRIMARY KEY, name text)")
    sql("CREATE TABLE app.a (id int PRIMARY KEY, b int REFERENCES app.b)")
    track(sql, "a", "b", shows={"b": ["name"]})
    sql("INSERT INTO app.b VALUES (1, 'x'); INSERT INTO app.a VALUES (1, 1)")
    sql("ALTER TABLE app.b RENAME COLUMN name TO full_name")
    for table in ("a", "b"):
        sql("SELECT dms.renew_tracking(%s)", f"app.{table}")
        fill(sql, table)
    last = stamp(sql)
    sql("UPDATE app.b SET full_name = 'y'")
    with dj.connect(tracked) as journal:
        assert [one.shows for one in journal.tracked() if one.table == "app.b"] == [("full_name", "id")]
        assert len(list(journal.changes(dj.ResourceKey("App", "a", "1"), dj.Window(min=last + 1)))) == 1
    assert clean(tracked)


@pytest.mark.acceptance("71", "92")
def test_virtual_columns_change_with_what_they_are_computed_from(tracked: str, sql: Sql) -> None:
    if int(sql("SHOW server_version_num")[0][0]) < 180000:
        pytest.skip("virtual columns come with PostgreSQL 18")
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY, x int, v int GENERATED ALWAYS AS (x * 2) VIRTUAL)")
    for given in ({"shows": {"a": ["v"]}}, {"columns": ["v"]}):
        with pytest.raises(psycopg.Error, match=r"column v of table app\.a is generated and virtual"):
            track(sql, "a", **given)
    track(sql, "a", bodies=True)
    sql("INSERT INTO app.a VALUES (1, 1)")
    last = stamp(sql)
    sql("UPDATE app.a SET x = x")
    assert stamp(sql) == last
    sql("UPDATE app.a SET x = 2")
    assert stamp(sql) == last + 1
    assert sql("SELECT DocumentJson ->> 'v' FROM dms.DocumentCache") == [("4",)]
    sql("ALTER TABLE app.a ADD COLUMN w int GENERATED ALWAYS AS (x + 1)")
    sql("SELECT dms.renew_tracking('app.a')")
    fill(sql, "a")
    sql("UPDATE app.a SET x = 3")
    assert clean(tracked)


@pytest.mark.acceptance("71")
def test_the_owner_of_a_partitioned_table_makes_and_attaches_partitions(tracked: str, sql: Sql) -> None:
    """Who makes one needs the right to run the trigger function that comes with it."""
    owner = f"owner_{sql('SELECT current_database()')[0][0]}"
    sql(f"CREATE ROLE {owner}; CREATE SCHEMA app; GRANT ALL ON SCHEMA app TO {owner}")
    sql("CREATE TABLE app.a (id int PRIMARY KEY) PARTITION BY RANGE (id)")
    sql("CREATE TABLE app.a1 PARTITION OF app.a FOR VALUES FROM (0) TO (10)")
    sql(f"ALTER TABLE app.a OWNER TO {owner}; ALTER TABLE app.a1 OWNER TO {owner}")
    try:
        track(sql, "a", trust=True)
        sql(f"SET ROLE {owner}")
        sql(
            "CREATE TABLE app.a2 PARTITION OF app.a FOR VALUES FROM (10) TO (20); CREATE TABLE app.a3 (id int NOT NULL PRIMARY KEY)"
        )
        sql("ALTER TABLE app.a ATTACH PARTITION app.a3 FOR VALUES FROM (20) TO (30)")
        sql("INSERT INTO app.a VALUES (1), (11), (21); UPDATE app.a SET id = id + 1")
        sql("RESET ROLE")
        assert documents(sql, "a").keys() == {'{"id": 2}', '{"id": 12}', '{"id": 22}'}
    finally:
        sql(f"RESET ROLE; DROP OWNED BY {owner} CASCADE; DROP ROLE {owner}")


@pytest.mark.acceptance("75")
def test_a_table_that_is_dropped_with_its_view_is_untracked_and_its_neighbours_go_on(tracked: str, sql: Sql) -> None:
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY)")
    sql("CREATE TABLE app.b (id int PRIMARY KEY, a int REFERENCES app.a)")
    track(sql, "a", "b")
    sql("INSERT INTO app.a VALUES (1); INSERT INTO app.b VALUES (1, 1)")
    sql("DROP TABLE app.a CASCADE")
    with pytest.raises(psycopg.errors.UndefinedTable, match=r"dms\.tracked_1"):
        sql("INSERT INTO app.b VALUES (2, NULL)")
    sql("SELECT dms.untrack('app.a')")
    sql("INSERT INTO app.b VALUES (2, NULL)")
    assert (documents(sql, "a"), edges(sql)) == ({}, set())
    assert clean(tracked)


@pytest.mark.acceptance("70")
@pytest.mark.parametrize(("key_first", "other"), [("aa", "zz"), ("zz", "aa")])
def test_a_row_that_refers_twice_to_another_refers_by_its_key(tracked: str, sql: Sql, key_first: str, other: str) -> None:
    """Whatever the foreign keys are called."""
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY)")
    by_key, by_other = f"CONSTRAINT {key_first} REFERENCES app.a", f"CONSTRAINT {other} REFERENCES app.a"
    sql(f"CREATE TABLE app.b (id int PRIMARY KEY {by_key}, a int {by_other})")
    track(sql, "a", "b")
    sql("INSERT INTO app.a VALUES (1); INSERT INTO app.b VALUES (1, 1)")
    assert sql("SELECT IsIdentityComponent FROM dms.ReferenceEdge") == [(True,)]


@pytest.mark.acceptance("87")
@pytest.mark.parametrize(
    ("key", "reference", "referred", "written"),
    [
        ("char(5)", "text", "x", "x "),
        ("char(5)", "varchar(9)", "x", "x"),
        ("varchar(9)", "text", "x", "x"),
        ('text COLLATE "C"', 'text COLLATE "POSIX"', "x", "x"),
        ("bigint", "smallint", "7", "7"),
        ("numeric", "int", "7.0", "7"),
    ],
)
def test_a_foreign_key_of_another_type_or_collation_finds_its_row(
    tracked: str, sql: Sql, key: str, reference: str, referred: str, written: str
) -> None:
    """As the constraint compares them, and not as the parser would."""
    sql(f"CREATE SCHEMA app; CREATE TABLE app.a (id {key} PRIMARY KEY, name text)")
    sql(f"CREATE TABLE app.b (id int PRIMARY KEY, a {reference} REFERENCES app.a)")
    sql(f"INSERT INTO app.a VALUES ('{referred}'); INSERT INTO app.b VALUES (1, '{written}')")
    track(sql, "a", "b", shows={"a": ["name"]})
    sql(f"INSERT INTO app.b VALUES (2, '{written}')")
    [child] = [row[0] for row in documents(sql, "a").values()]
    assert edges(sql) == {(row[0], child) for row in documents(sql, "b").values()}
    sql("UPDATE app.b SET a = NULL WHERE id = 1")
    assert len(edges(sql)) == 1
    assert clean(tracked)


@pytest.mark.acceptance("74")
@pytest.mark.parametrize(
    "altered",
    [
        "ALTER TABLE app.b ADD COLUMN other int REFERENCES app.a",
        "ALTER TABLE app.a RENAME COLUMN code TO number",
        "ALTER TABLE app.b RENAME COLUMN id TO number",
    ],
)
def test_verify_names_a_table_that_was_altered_and_looks_at_the_others(tracked: str, sql: Sql, altered: str) -> None:
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY, code int UNIQUE); CREATE TABLE app.z (id int PRIMARY KEY)")
    sql("CREATE TABLE app.b (id int PRIMARY KEY, a int REFERENCES app.a (code))")
    track(sql, "a", "b", "z")
    sql("INSERT INTO app.a VALUES (1, 1); INSERT INTO app.b VALUES (1, 1)")
    sql("SET session_replication_role = replica; INSERT INTO app.z VALUES (1); SET session_replication_role = origin")
    sql(altered)
    with dj.connect(tracked) as journal:
        known = {"tracking-altered", "tracking-failing", "tracking-outdated", "row-undocumented"}
        assert {found.code for found in journal.verify().findings} <= known
        assert "row-undocumented" in {found.code for found in journal.verify().findings}
        journal.renew_tracking()
    assert clean(tracked)


@pytest.mark.acceptance("70")
@pytest.mark.parametrize("statement", ["INSERT INTO app.b VALUES (2, 7)", "UPDATE app.b SET a = 7"])
def test_a_row_of_a_partitioned_table_that_a_snapshot_does_not_see(
    tracked: str, sql: Sql, connect: Connect, statement: str
) -> None:
    """The server checks the key of a partitioned table by what is there now: it takes what the transaction cannot read."""
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY) PARTITION BY RANGE (id)")
    sql("CREATE TABLE app.a1 PARTITION OF app.a FOR VALUES FROM (0) TO (10)")
    sql("CREATE TABLE app.b (id int PRIMARY KEY, a int REFERENCES app.a)")
    track(sql, "a", "b")
    sql("INSERT INTO app.b VALUES (1, NULL)")
    conn = connect(autocommit=False)
    conn.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    conn.execute("SELECT FROM app.b")
    sql("INSERT INTO app.a VALUES (7)")
    with pytest.raises(psycopg.errors.SerializationFailure, match="refers to one that another transaction has inserted since"):
        conn.execute(statement)
    conn.rollback()
    conn.execute(statement)
    conn.commit()
    assert len(edges(sql)) == 1
    assert clean(tracked)


@pytest.mark.acceptance("74")
@pytest.mark.parametrize(
    ("altered", "told", "written"),
    [
        ("ALTER TABLE app.a RENAME COLUMN id TO number", "column number was id", "UPDATE app.a SET name = name"),
        ("ALTER TABLE app.a RENAME COLUMN name TO title", "column title was name", "UPDATE app.a SET title = 'z'"),
        ("ALTER TABLE app.a DROP COLUMN name", "column name is gone", "UPDATE app.a SET other = 1"),
        ("ALTER TABLE app.b RENAME COLUMN a TO a_id", "column a_id was a", "UPDATE app.b SET id = 2"),
    ],
)
def test_status_gives_the_alarm_where_writes_fail(tracked: str, sql: Sql, altered: str, told: str, written: str) -> None:
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY, name text, other int)")
    sql("CREATE TABLE app.b (id int PRIMARY KEY, a int REFERENCES app.a)")
    track(sql, "a", "b", shows={"a": ["name"]})
    sql("INSERT INTO app.a VALUES (1, 'x', 0); INSERT INTO app.b VALUES (1, 1)")
    sql(altered)
    with pytest.raises(psycopg.errors.UndefinedColumn):
        sql(written)
    with dj.connect(tracked) as journal:
        problems = [problem for one in journal.status().tracked or () if not one.is_whole for problem in one.problems]
        assert f"{told}: writes of the table fail until dmsjournal track --renew" in problems
        assert "tracking-failing" in {found.code for found in journal.verify().findings}
        journal.renew_tracking()
    sql(written)
    assert clean(tracked)


@pytest.mark.acceptance("74")
def test_an_enum_whose_value_is_renamed_is_a_key(tracked: str, sql: Sql) -> None:
    """Rows go on under the new key; what was written before the renewal is told by it."""
    sql("CREATE SCHEMA app; CREATE TYPE app.size AS ENUM ('s', 'm', 'l'); CREATE TABLE app.a (id app.size PRIMARY KEY, n int)")
    sql("CREATE TABLE app.b (id int PRIMARY KEY, a app.size REFERENCES app.a)")
    track(sql, "a", "b")
    sql("INSERT INTO app.a VALUES ('s'), ('m'), ('l'); INSERT INTO app.b VALUES (1, 's'), (2, 'm')")
    assert clean(tracked)
    sql("ALTER TYPE app.size RENAME VALUE 's' TO 'small'; ALTER TYPE app.size RENAME VALUE 'l' TO 'large'")
    sql("UPDATE app.a SET n = 1; INSERT INTO app.b VALUES (3, 'small'); DELETE FROM app.a WHERE id = 'large'")
    with dj.connect(tracked) as journal:
        [state] = [one.state for one in journal.tracked() if one.table == "app.a"]
        assert state == "column id has no value s, l any more"
        codes = {found.code for found in journal.verify().findings}
        assert {"tracking-outdated", "document-rowless"} <= codes
        journal.renew_tracking()
    assert clean(tracked)
    assert sorted(documents(sql, "a")) == ['{"id": "m"}', '{"id": "small"}']
    assert len(edges(sql)) == 3
    sql("ALTER TYPE app.size ADD VALUE 'xl'")
    with dj.connect(tracked) as journal:
        assert [one.state for one in journal.tracked()] == [None, None]


@pytest.mark.acceptance("70")
@pytest.mark.parametrize("written", ["INSERT INTO app.b VALUES (1, 7)", "UPDATE app.b SET a = 7"])
def test_a_late_reference_of_a_session_that_defers_one_constraint_alone(tracked: str, sql: Sql, written: str) -> None:
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY)")
    sql("CREATE TABLE app.b (id int PRIMARY KEY, a int CONSTRAINT late REFERENCES app.a DEFERRABLE INITIALLY DEFERRED)")
    track(sql, "a", "b")
    if written.startswith("UPDATE"):
        sql("INSERT INTO app.b VALUES (1, NULL)")
    sql("BEGIN; SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS app.late DEFERRED")
    sql(written)
    sql("SET session_replication_role = replica; INSERT INTO app.a VALUES (7); SET session_replication_role = origin")
    sql("COMMIT")
    assert len(edges(sql)) == 1
