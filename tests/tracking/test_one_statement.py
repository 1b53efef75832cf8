"""A statement may change a row twice, move keys between rows, and be seen half done by others' triggers (acceptance 65 to 70)."""

import pytest

from .helpers import Sql, track
from .test_traps import clean, documents, edges, stamp

A = "CREATE TABLE app.a (id int PRIMARY KEY, code int UNIQUE, note text);"
B = "CREATE TABLE app.b (n int PRIMARY KEY, a int REFERENCES app.a ON UPDATE CASCADE);"
LOGS = """CREATE FUNCTION app.log() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {} RETURN NULL; END $$;
CREATE TRIGGER log AFTER UPDATE ON app.a FOR EACH {} EXECUTE FUNCTION app.log();"""


def created(sql: Sql, ddl: str, *names: str) -> None:
    sql("CREATE SCHEMA app")
    sql(ddl)
    track(sql, *names)


SEEN_HALF_DONE = {
    "a query of the statement": ("", "WITH u AS (UPDATE app.a SET id = 2 WHERE id = 1) INSERT INTO app.b VALUES (1, 2)"),
    "a row's trigger that refers to it": (LOGS.format("INSERT INTO app.b VALUES (1, NEW.id);", "ROW"), "UPDATE app.a SET id = 2"),
    "a row's trigger that writes it": (
        LOGS.format("IF NEW.note IS NULL THEN UPDATE app.a SET note = 'x' WHERE id = NEW.id; END IF;", "ROW"),
        "UPDATE app.a SET id = 2",
    ),
    "a statement's trigger": (LOGS.format("INSERT INTO app.b SELECT 1, id FROM app.a;", "STATEMENT"), "UPDATE app.a SET id = 2"),
}


@pytest.mark.acceptance("67", "89")
@pytest.mark.parametrize("what", SEEN_HALF_DONE)
def test_a_key_that_something_sees_before_the_statement_ends_keeps_its_document(tracked: str, sql: Sql, what: str) -> None:
    """The race within a statement: a document is made for the new key before the row's own comes there."""
    ddl, statement = SEEN_HALF_DONE[what]
    created(sql, A + B + ddl, "a", "b")
    sql("INSERT INTO app.a VALUES (1)")
    [before] = documents(sql, "a").values()
    sql(statement)
    [(key, after)] = documents(sql, "a").items()
    assert (key, after[0]) == ('{"id": 2}', before[0])
    assert edges(sql) == {(row[0], before[0]) for row in documents(sql, "b").values()}
    assert clean(tracked)


@pytest.mark.acceptance("67")
def test_a_key_that_a_row_s_trigger_changes_once_more_leaves_no_document_behind(tracked: str, sql: Sql) -> None:
    created(sql, A + LOGS.format("IF NEW.id < 10 THEN UPDATE app.a SET id = id + 10 WHERE id = NEW.id; END IF;", "ROW"), "a")
    sql("INSERT INTO app.a VALUES (1)")
    sql("UPDATE app.a SET id = 2")
    assert documents(sql, "a").keys() == {'{"id": 12}'}
    assert clean(tracked)


@pytest.mark.acceptance("67", "68")
@pytest.mark.parametrize(
    "statement",
    [
        "MERGE INTO app.a AS t USING (VALUES (2), (1)) AS w (i) ON t.id = w.i"
        " WHEN MATCHED AND t.id = 2 THEN DELETE WHEN MATCHED THEN UPDATE SET id = 2",
        "WITH gone AS (DELETE FROM app.a WHERE id = 2 RETURNING 1) UPDATE app.a SET id = 2 FROM gone WHERE id = 1",
    ],
)
def test_a_row_takes_the_key_of_one_that_its_statement_deletes(tracked: str, sql: Sql, statement: str) -> None:
    created(sql, A, "a")
    sql("INSERT INTO app.a (id) VALUES (2), (1)")
    before = documents(sql, "a")
    sql(statement)
    stones = "SELECT DocumentId FROM dms.DocumentDeleteEvent ORDER BY 1"
    assert {key: row[0] for key, row in documents(sql, "a").items()} == {'{"id": 2}': before['{"id": 1}'][0]}
    assert sql(stones) == [(before['{"id": 2}'][0],)]
    assert clean(tracked)
    sql("UPDATE app.a SET note = 'x'; DELETE FROM app.a")
    assert sql(stones) == sorted((row[0],) for row in before.values())
    assert clean(tracked)


@pytest.mark.acceptance("67")
def test_a_row_comes_under_a_key_that_its_statement_vacates(tracked: str, sql: Sql) -> None:
    created(sql, A, "a")
    sql("INSERT INTO app.a (id) VALUES (1), (2)")
    before = documents(sql, "a")
    sql("WITH moved AS (UPDATE app.a SET id = id + 10 RETURNING id) INSERT INTO app.a (id) SELECT 1 FROM moved LIMIT 1")
    after = documents(sql, "a")
    assert after.keys() == {'{"id": 1}', '{"id": 11}', '{"id": 12}'}
    assert [after[f'{{"id": 1{n}}}'][0] for n in (1, 2)] == [before[f'{{"id": {n}}}'][0] for n in (1, 2)]
    assert clean(tracked)


@pytest.mark.acceptance("66")
def test_a_row_that_a_statement_and_its_cascade_change_is_told(tracked: str, sql: Sql) -> None:
    """The race within a statement: the row itself is written first, unchanged, and then by a cascade of another row's change."""
    created(
        sql, "CREATE TABLE app.a (id int PRIMARY KEY, code text UNIQUE, up text REFERENCES app.a (code) ON UPDATE CASCADE)", "a"
    )
    sql("INSERT INTO app.a VALUES (1, 'x', NULL), (2, 'y', 'x')")
    before = documents(sql, "a")
    sql("UPDATE app.a AS t SET code = w.c FROM (VALUES (1, 'X'), (2, 'y')) AS w (i, c) WHERE t.id = w.i")
    assert documents(sql, "a")['{"id": 2}'][1] > before['{"id": 2}'][1]
    before, last = documents(sql, "a"), stamp(sql)
    sql("UPDATE app.a SET code = code, up = up")
    assert (documents(sql, "a"), stamp(sql)) == (before, last)
    assert clean(tracked)


@pytest.mark.acceptance("66", "68")
@pytest.mark.parametrize(
    ("action", "statement"),
    [("ON UPDATE CASCADE", "UPDATE app.a SET id = 101, code = 101"), ("ON DELETE SET NULL", "DELETE FROM app.a")],
)
def test_two_cascades_change_what_a_row_shows(tracked: str, sql: Sql, action: str, statement: str) -> None:
    sql("CREATE SCHEMA app")
    sql(A + f"CREATE TABLE app.b (id int PRIMARY KEY, x int REFERENCES app.a {action}, y int REFERENCES app.a (code) {action})")
    track(sql, "a", "b", shows={"b": ["y"]})
    sql("INSERT INTO app.a VALUES (1, 1); INSERT INTO app.b VALUES (1, 1, 1)")
    [before] = documents(sql, "b").values()
    sql(statement)
    [after] = documents(sql, "b").values()
    assert min(after[1], after[2]) > before[1]
    assert clean(tracked)


@pytest.mark.acceptance("70")
def test_a_referred_value_passes_to_another_row(tracked: str, sql: Sql) -> None:
    created(sql, A + "CREATE TABLE app.b (id int PRIMARY KEY, a int REFERENCES app.a (code));", "a", "b")
    sql("INSERT INTO app.a VALUES (1, 1); INSERT INTO app.b VALUES (1, 1)")
    sql(
        "MERGE INTO app.a AS t USING (VALUES (1, 1), (2, 1)) AS w (i, c) ON t.id = w.i"
        " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, code) VALUES (w.i, w.c)"
    )
    assert edges(sql) == {(documents(sql, "b")['{"id": 1}'][0], documents(sql, "a")['{"id": 2}'][0])}
    assert clean(tracked)


@pytest.mark.acceptance("68", "72")
def test_a_row_that_goes_beside_one_that_no_fill_has_reached_leaves_its_tombstone(tracked: str, sql: Sql) -> None:
    sql("CREATE SCHEMA app")
    references = "x int REFERENCES app.a ON DELETE SET NULL, y int REFERENCES app.a ON DELETE CASCADE"
    sql(A + f"CREATE TABLE app.b (id int PRIMARY KEY, {references})")
    sql("INSERT INTO app.a VALUES (1); INSERT INTO app.b VALUES (1, 1, NULL)")
    sql("SELECT dms.track('app.a', 'App', 'a'), dms.track('app.b', 'App', 'b'), dms.fill_table('app.a')")
    sql("INSERT INTO app.b VALUES (2, 1, 1)")
    second = documents(sql, "b")['{"id": 2}'][0]
    sql("DELETE FROM app.a")
    assert sql("SELECT DocumentId FROM dms.DocumentDeleteEvent WHERE DocumentId = %s", second) == [(second,)]
    sql("SELECT dms.fill_table('app.b')")
    assert documents(sql, "b").keys() == {'{"id": 1}'}
    assert clean(tracked)


@pytest.mark.acceptance("67", "68")
def test_a_row_takes_a_deferrable_key_before_its_holder_is_deleted(tracked: str, sql: Sql) -> None:
    created(sql, "CREATE TABLE app.a (id int PRIMARY KEY DEFERRABLE, note text);", "a")
    sql("INSERT INTO app.a VALUES (1, 'one'), (3, 'three')")
    before = documents(sql, "a")
    sql("BEGIN; SET CONSTRAINTS ALL DEFERRED; UPDATE app.a SET id = 3 WHERE note = 'one'")
    sql("DELETE FROM app.a WHERE note = 'three'; COMMIT")
    [(key, (left, *_))] = documents(sql, "a").items()
    assert key == '{"id": 3}'
    [(gone,)] = sql("SELECT DocumentId FROM dms.DocumentDeleteEvent")
    assert {left, gone} == {row[0] for row in before.values()}, "the one that is left may be the other row's"
    assert clean(tracked)


@pytest.mark.acceptance("67")
def test_a_row_passes_by_a_key_that_another_one_has_left(tracked: str, sql: Sql) -> None:
    """Cascades of one statement: a row's key is for a while what another's was. Each row has a document, maybe a new one."""
    created(
        sql,
        "CREATE TABLE app.o (id int PRIMARY KEY, next int);"
        "CREATE TABLE app.l (o int REFERENCES app.o ON UPDATE CASCADE, n int, PRIMARY KEY (o, n));"
        "CREATE FUNCTION app.move() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " IF NEW.next IS NOT NULL THEN UPDATE app.o SET id = NEW.next, next = NULL WHERE id = NEW.id; END IF; RETURN NULL; END $$;"
        "CREATE TRIGGER move AFTER UPDATE ON app.o FOR EACH ROW EXECUTE FUNCTION app.move();",
        "o",
        "l",
    )
    sql("INSERT INTO app.o VALUES (1), (5); INSERT INTO app.l VALUES (1, 1), (5, 1)")
    sql("UPDATE app.o SET id = w.k, next = w.n FROM (VALUES (1, 2, NULL), (5, 1, 9)) AS w (i, k, n) WHERE id = w.i")
    assert documents(sql, "l").keys() == {'{"n": 1, "o": 2}', '{"n": 1, "o": 9}'}
    assert clean(tracked)
