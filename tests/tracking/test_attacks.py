"""Attacks on tracking that take no race: chains of rows, names that values and columns swap, settings (acceptance 72, 74, 92)."""

import pytest

import dmsjournal as dj

from .helpers import Sql, fill
from .test_traps import clean, edges


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


@pytest.mark.acceptance("92")
def test_a_key_whose_text_a_rename_changes_is_refused(tracked: str, sql: Sql) -> None:
    sql("CREATE SCHEMA app; CREATE DOMAIN app.relation AS regclass; CREATE TABLE app.a (id app.relation PRIMARY KEY)")
    with dj.connect(tracked) as journal:
        with pytest.raises(
            dj.UnsupportedCapability, match=r"column id of its key is of type app\.relation, whose values read otherwise"
        ):
            journal.track(dj.TrackedTable("app.a"))
        assert journal.tracked() == []
