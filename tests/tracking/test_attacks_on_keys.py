"""Attacks on tracking by keys that are equal and written otherwise, and by parts of a table (acceptance 66, 74, 87, 92)."""

import psycopg
import pytest

import dmsjournal as dj

from .helpers import Sql, fill, track
from .test_open_writers import Connect
from .test_traps import clean, documents, edges

EQUAL = [("public.citext", "a", "A"), ("interval", "1 day", "24:00:00")]


def tombstones(sql: Sql) -> list[int]:
    return [row[0] for row in sql("SELECT DocumentId FROM dms.DocumentDeleteEvent ORDER BY 1")]


@pytest.mark.acceptance("87")
@pytest.mark.parametrize(("kind", "one", "other"), EQUAL)
@pytest.mark.parametrize(
    "statement",
    [
        "WITH gone AS (DELETE FROM app.a RETURNING 1) INSERT INTO app.a SELECT '{other}' FROM gone",
        "MERGE INTO app.a AS t USING (VALUES (CAST('{one}' AS {kind})), (NULL)) AS w (k) ON t.k = w.k"
        " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES ('{other}')",
    ],
)
def test_a_row_comes_under_an_equal_key_that_its_statement_deletes(
    tracked: str, sql: Sql, kind: str, one: str, other: str, statement: str
) -> None:
    """The key that is written otherwise is another document: the first one leaves its tombstone."""
    sql(f"CREATE SCHEMA app; CREATE EXTENSION citext; CREATE TABLE app.a (k {kind} PRIMARY KEY)")
    track(sql, "a")
    sql(f"INSERT INTO app.a VALUES ('{one}')")
    [(gone, *_)] = documents(sql, "a").values()
    sql(statement.format(kind=kind, one=one, other=other))
    assert documents(sql, "a").keys() == {f'{{"k": "{other}"}}'}
    assert tombstones(sql) == [gone]
    assert clean(tracked)


@pytest.mark.acceptance("59", "87")
@pytest.mark.parametrize(("kind", "one", "other"), EQUAL)
def test_a_key_that_became_an_equal_one_past_the_triggers_is_found_and_repaired(
    tracked: str, sql: Sql, kind: str, one: str, other: str
) -> None:
    sql(f"CREATE SCHEMA app; CREATE EXTENSION citext; CREATE TABLE app.a (k {kind} PRIMARY KEY)")
    track(sql, "a")
    sql(f"INSERT INTO app.a VALUES ('{one}')")
    sql(f"SET session_replication_role = replica; UPDATE app.a SET k = '{other}'; RESET session_replication_role")
    with dj.connect(tracked) as journal:
        assert {found.code for found in journal.verify().findings} == {"row-undocumented", "document-rowless"}
        assert journal.repair().left.is_clean
    assert documents(sql, "a").keys() == {f'{{"k": "{other}"}}'}


@pytest.mark.acceptance("87")
def test_two_rows_have_equal_keys_for_a_while(tracked: str, sql: Sql) -> None:
    """Under a deferrable key: each has its document, by the key as it is written."""
    sql("CREATE SCHEMA app; CREATE EXTENSION citext; CREATE TABLE app.a (k public.citext PRIMARY KEY DEFERRABLE, n int)")
    track(sql, "a")
    sql("INSERT INTO app.a VALUES ('a', 1)")
    [(first, *_)] = documents(sql, "a").values()
    sql("BEGIN; SET CONSTRAINTS ALL DEFERRED; INSERT INTO app.a VALUES ('A', 2)")
    assert documents(sql, "a").keys() == {'{"k": "a"}', '{"k": "A"}'}
    before = documents(sql, "a")
    sql("UPDATE app.a SET n = n + 10")
    after = documents(sql, "a")
    assert all(after[key][1] > before[key][1] for key in before)
    sql("DELETE FROM app.a WHERE n = 11; COMMIT")
    assert documents(sql, "a").keys() == {'{"k": "A"}'}
    assert tombstones(sql) == [first]
    assert clean(tracked)


@pytest.mark.acceptance("75")
def test_documents_that_were_kept_have_keys_of_the_type_of_before(tracked: str, sql: Sql) -> None:
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY)")
    track(sql, "a")
    sql("INSERT INTO app.a VALUES (1)")
    sql("SELECT dms.untrack('app.a', keep_documents => true)")
    sql("ALTER TABLE app.a ALTER COLUMN id TYPE text")
    track(sql, "a")
    assert documents(sql, "a").keys() == {'{"id": "1"}'}
    assert len(tombstones(sql)) == 1
    assert clean(tracked)


@pytest.mark.acceptance("74")
def test_a_key_that_a_statement_on_a_new_partition_changes_is_no_other_statement_s(
    tracked: str, sql: Sql, connect: Connect
) -> None:
    """A new partition has the trigger a row, and none a statement: what the one notes, no later statement may take for its own."""
    sql("CREATE SCHEMA app; CREATE TABLE app.p (id int, part int, note text, PRIMARY KEY (id, part)) PARTITION BY LIST (part)")
    sql("CREATE TABLE app.p1 PARTITION OF app.p FOR VALUES IN (1)")
    sql("CREATE TABLE app.b (id int PRIMARY KEY, x int, y int, FOREIGN KEY (x, y) REFERENCES app.p)")
    track(sql, "p", "b")
    sql("CREATE TABLE app.p2 PARTITION OF app.p FOR VALUES IN (2); INSERT INTO app.p VALUES (1, 1), (9, 2)")
    sql("UPDATE app.p2 SET id = 10")
    sql("SELECT dms.renew_tracking('app.p')")
    fill(sql, "p")
    sql("INSERT INTO app.b VALUES (1, 10, 2)")
    before = documents(sql, "p")
    assert before.keys() == {'{"id": 1, "part": 1}', '{"id": 10, "part": 2}'}
    connect().execute("UPDATE app.p SET note = 'x' WHERE id = 1")
    assert {key: row[0] for key, row in documents(sql, "p").items()} == {key: row[0] for key, row in before.items()}
    assert len(edges(sql)) == 1
    assert sql("SELECT count(*) FROM dms.TrackedRekey") == [(0,)]
    assert clean(tracked)


@pytest.mark.acceptance("66")
def test_a_statement_passes_by_the_keys_that_others_have_changed(tracked: str, sql: Sql, connect: Connect) -> None:
    """While an old snapshot keeps the dead rows of many key changes, a statement reads none of them."""
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY); INSERT INTO app.a SELECT generate_series(1, 500)")
    track(sql, "a")
    reader = connect(autocommit=False)
    reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    reader.execute("SELECT FROM app.a")
    sql("UPDATE app.a SET id = id + 1000")

    def read() -> int:
        sql("SELECT pg_stat_force_next_flush()")
        return int(sql("SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'pk_trackedrekey'")[0][0])

    before = read()
    sql("INSERT INTO app.a VALUES (1)")
    assert read() - before < 10


PARTS = {
    "UNLOGGED": "CREATE UNLOGGED TABLE app.q PARTITION OF app.p FOR VALUES IN (1)",
    "UNLOGGED: a crash": "CREATE UNLOGGED TABLE app.q () INHERITS (app.p)",
    "temporary": "CREATE TEMPORARY TABLE q () INHERITS (app.p)",
    "a foreign table": "CREATE FOREIGN DATA WRAPPER nothing; CREATE SERVER s FOREIGN DATA WRAPPER nothing;"
    " CREATE FOREIGN TABLE app.q () INHERITS (app.p) SERVER s",
    "subscription sub fills it": "CREATE TABLE app.q () INHERITS (app.p); CREATE SUBSCRIPTION sub CONNECTION 'dbname=none'"
    " PUBLICATION p WITH (connect = false); SET allow_system_table_mods = on;"
    " INSERT INTO pg_subscription_rel SELECT oid, 'app.q'::regclass, 'i' FROM pg_subscription",
}


@pytest.mark.acceptance("92")
@pytest.mark.parametrize("reason", PARTS)
@pytest.mark.parametrize("is_there", [True, False])
def test_a_part_that_cannot_be_tracked_is_refused_or_named(tracked: str, sql: Sql, reason: str, is_there: bool) -> None:
    """Also a table by INHERITS, and after the table is tracked: `verify` names it."""
    kind = " PARTITION BY LIST (id)" if "PARTITION OF" in PARTS[reason] else ""
    sql(f"CREATE SCHEMA app; CREATE TABLE app.p (id int PRIMARY KEY){kind}")
    for statement in PARTS[reason].split("; ") if is_there else ():
        sql(statement)
    try:
        if is_there:
            with pytest.raises(psycopg.Error, match=reason):
                sql("SELECT dms.track('app.p')")
            return
        track(sql, "p")
        for statement in PARTS[reason].split("; "):
            sql(statement)
        [(told,)] = sql("SELECT name FROM dms.check_tracking() WHERE code = 'tracking-refused'")
        assert reason in told
        with pytest.raises(psycopg.Error, match=reason):
            sql("SELECT dms.renew_tracking('app.p')")
    finally:
        if "sub fills" in reason:
            sql("ALTER SUBSCRIPTION sub SET (slot_name = NONE)")
            sql("DROP SUBSCRIPTION sub")
