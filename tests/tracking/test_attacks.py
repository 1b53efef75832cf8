"""Attacks on tracking that take no race: chains of rows, names that values and columns swap, settings (acceptance 72, 74, 92)."""

import pytest

import dmsjournal as dj

from .helpers import Sql, fill, track
from .test_traps import clean, documents, edges, stamp


@pytest.mark.acceptance("72")
@pytest.mark.parametrize("first", ["the fill", "a writer"])
def test_rows_that_refer_to_each_other_in_a_long_chain(tracked: str, sql: Sql, first: str) -> None:
    """A document for each row behind the first one, without a call within a call for each: the server's stack has an end."""
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY, next int REFERENCES app.a, note text)")
    sql("ALTER TABLE app.a ALTER COLUMN note SET STORAGE PLAIN")  # a block a row
    sql("INSERT INTO app.a SELECT g, CASE WHEN g < 80 THEN g + 1 END, repeat('x', 7000) FROM generate_series(1, 80) AS g")
    sql("SELECT dms.track('app.a', 'App', 'a')")
    sql("SET max_stack_depth = '400kB'")
    if first == "a writer":
        sql("UPDATE app.a SET note = 'x' WHERE id = 1")
        assert len(edges(sql)) == 79
    else:
        sql("SELECT dms.tracked_1_fill(0, 1)")
    fill(sql, "a")
    assert len(edges(sql)) == 79
    assert clean(tracked)


@pytest.mark.acceptance("74")
@pytest.mark.parametrize(
    ("renamed", "told"),
    [
        ({"l": "xl", "m": "l", "s": "m"}, "column id has no value s any more"),
        ({"s": "x", "m": "s", "x": "m"}, "column id has values that changed their names"),
    ],
)
def test_values_of_an_enum_key_that_take_each_other_s_names(tracked: str, sql: Sql, renamed: dict[str, str], told: str) -> None:
    """Each key is another row's now: the renewal tells it."""
    sql("CREATE SCHEMA app; CREATE TYPE app.size AS ENUM ('s', 'm', 'l'); CREATE TABLE app.a (id app.size PRIMARY KEY, n int)")
    track(sql, "a")
    sql("INSERT INTO app.a VALUES ('s', 1), ('m', 2), ('l', 3)")
    for old, new in renamed.items():
        sql(f"ALTER TYPE app.size RENAME VALUE '{old}' TO '{new}'")
    last = stamp(sql)
    with dj.connect(tracked) as journal:
        assert [one.state for one in journal.tracked()] == [told]
        journal.renew_tracking()
    assert all(row[1] > last for row in documents(sql, "a").values())
    assert clean(tracked)


@pytest.mark.acceptance("74")
def test_key_columns_that_take_each_other_s_names(tracked: str, sql: Sql) -> None:
    """Until the renewal the triggers take a row for another one: it stamps both."""
    sql("CREATE SCHEMA app; CREATE TABLE app.a (x int, y int, note text, PRIMARY KEY (x, y))")
    track(sql, "a")
    sql("INSERT INTO app.a VALUES (1, 2), (2, 1)")
    for old, new in (("x", "z"), ("y", "x"), ("z", "y")):
        sql(f"ALTER TABLE app.a RENAME COLUMN {old} TO {new}")
    last = stamp(sql)
    sql("UPDATE app.a SET note = 'changed' WHERE x = 2")
    with dj.connect(tracked) as journal:
        assert "tracking-failing" in {found.code for found in journal.verify().findings}
        journal.renew_tracking()
    assert all(row[1] > last for row in documents(sql, "a").values())
    assert clean(tracked)


@pytest.mark.acceptance("74")
@pytest.mark.parametrize("renewed", ["app.a", "app.b"])
@pytest.mark.parametrize(
    "altered",
    [
        "ALTER TABLE app.a ADD COLUMN n int DEFAULT 5",
        "ALTER TABLE app.a RENAME COLUMN note TO noted",
        "ALTER TYPE app.size RENAME VALUE 's' TO 'small'",
    ],
)
def test_bodies_are_kept_anew_where_a_table_was_altered(tracked: str, sql: Sql, altered: str, renewed: str) -> None:
    """Also where a table that refers to it is renewed."""
    sql("CREATE SCHEMA app; CREATE TYPE app.size AS ENUM ('s'); CREATE TABLE app.a (id int PRIMARY KEY, note text, size app.size)")
    sql("CREATE TABLE app.b (id int PRIMARY KEY, a int REFERENCES app.a)")
    track(sql, "a", "b", bodies=True)
    sql("INSERT INTO app.a VALUES (1, 'x', 's')")
    sql(altered)
    last = stamp(sql)
    with dj.connect(tracked) as journal:
        assert "tracking-outdated" in {found.code for found in journal.verify().findings}
        journal.renew_tracking(renewed)
    assert stamp(sql) > last, "consumers are told"
    assert clean(tracked)


@pytest.mark.acceptance("74")
def test_a_session_that_quotes_every_name_sees_the_same(tracked: str, sql: Sql) -> None:
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY)")
    sql("CREATE TABLE app.b (id int PRIMARY KEY, a int REFERENCES app.a)")
    sql("SET quote_all_identifiers = on")
    track(sql, "a")
    sql("RESET quote_all_identifiers")
    track(sql, "b")
    sql("INSERT INTO app.a VALUES (1); INSERT INTO app.b VALUES (1, 1)")
    for setting in ("on", "off"):
        sql(f"SET quote_all_identifiers = {setting}")
        assert sql("SELECT * FROM dms.check_tracking()") == []
        assert sql("SELECT table_name FROM dms.tracked_tables() ORDER BY 1") == [("app.a",), ("app.b",)]
    assert clean(tracked)


@pytest.mark.acceptance("92")
def test_a_key_whose_text_a_rename_changes_is_refused(tracked: str, sql: Sql) -> None:
    sql("CREATE SCHEMA app; CREATE DOMAIN app.relation AS regclass; CREATE TABLE app.a (id app.relation PRIMARY KEY)")
    with dj.connect(tracked) as journal:
        with pytest.raises(
            dj.UnsupportedCapability, match=r"column id of its key is of type app\.relation, whose values read otherwise"
        ):
            journal.track(dj.TrackedTable("app.a"))
        assert journal.tracked() == []
