"""Statements of few rows and of many: a large insert makes its edges by another statement than a small one (docs/dba/track.md)."""

import pytest

from .helpers import Sql, track
from .test_traps import clean, edges

ROWS = [3, 300]
EXPECTED = """SELECT DISTINCT d.DocumentId, c.DocumentId
FROM app.b AS r
JOIN dms.Document AS d ON d.KeyValues = jsonb_build_object('n', r.n)
LEFT JOIN app.a AS s ON s.code = r."100%"
CROSS JOIN LATERAL (VALUES (jsonb_build_object('id', r.a)), (jsonb_build_object('id', s.id)), (jsonb_build_object('n', r.up))
) AS k (key)
JOIN dms.Document AS c ON c.KeyValues = k.key"""


@pytest.fixture
def tables(sql: Sql) -> None:
    sql("CREATE SCHEMA app")
    sql("CREATE TABLE app.a (id int PRIMARY KEY, code text UNIQUE)")
    sql(
        "CREATE TABLE app.b"
        ' (n int PRIMARY KEY, a int REFERENCES app.a, "100%" text REFERENCES app.a (code), up int REFERENCES app.b)'
    )


@pytest.mark.acceptance("65")
@pytest.mark.parametrize("rows", ROWS)
def test_rows_refer_to_one_row_twice_to_each_other_and_to_rows_without_documents(
    tracked: str, sql: Sql, tables: None, rows: int
) -> None:
    sql("INSERT INTO app.a SELECT i, 'c' || i FROM generate_series(1, 5) AS i")  # no fill reaches them yet
    sql("SELECT dms.track('app.a', 'App', 'a'), dms.track('app.b', 'App', 'b')")
    sql(
        "INSERT INTO app.b SELECT n, 1 + n %% 5, CASE WHEN n %% 2 = 0 THEN 'c' || 1 + n %% 5 END, nullif(n - 1, 0)"
        " FROM generate_series(1, %s) AS n",
        rows,
    )
    found = edges(sql)
    assert found == set(sql(EXPECTED))
    assert len(found) == 2 * rows - 1
    sql("SELECT dms.fill_table('app.a'), dms.fill_table('app.b')")
    assert (edges(sql), clean(tracked)) == (found, True)


@pytest.mark.acceptance("65", "67")
@pytest.mark.parametrize("rows", ROWS)
def test_rows_that_change_as_soon_as_they_have_documents(tracked: str, sql: Sql, tables: None, rows: int) -> None:
    """A trigger on dms.Document writes the new rows again: their edges are there before the insert makes them."""
    track(sql, "a", "b")
    sql("INSERT INTO app.a SELECT i, 'c' || i FROM generate_series(1, 2) AS i")
    sql(
        "CREATE FUNCTION app.move() RETURNS trigger LANGUAGE plpgsql"
        " AS 'BEGIN UPDATE app.b SET a = 2 WHERE a = 1; RETURN NULL; END'"
    )
    sql("CREATE TRIGGER move AFTER INSERT ON dms.Document FOR EACH STATEMENT EXECUTE FUNCTION app.move()")
    sql("INSERT INTO app.b SELECT n, 1, 'c2', NULL FROM generate_series(1, %s) AS n", rows)
    sql("DROP TRIGGER move ON dms.Document")
    assert edges(sql) == set(sql(EXPECTED))
    assert len(edges(sql)) == rows
    assert clean(tracked)
