"""Mutations of the shipped SQL as data, and how one is applied to a database."""

import re

import pytest
import sqlalchemy as sa

from dmsjournal.database import sql

GATE = 7_001  # an advisory lock of the tests' own, far from the journal's

Edit = tuple[str, str, str]  # a file of sql/postgres/, a text in it, and what stands there instead


def edited(*edits: Edit) -> dict[str, str]:
    """The texts of the files with the edits. Each must find its text, in what the edits before it left."""
    texts: dict[str, str] = {}
    for name, old, new in edits:
        text = texts.get(name) or sql.text_of("postgres", name)
        assert old in text, f"{name} no longer holds {old!r}"
        texts[name] = text.replace(old, new)
    return texts


def apply(url: str, *edits: Edit) -> None:
    """Creates the edited functions and views anew; queries are not the database's."""
    texts = edited(*(edit for edit in edits if edit[0].startswith(("functions/", "views/"))))
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as conn:
        for text in texts.values():
            replaced, times = re.subn(r"^CREATE (?:OR REPLACE )?(FUNCTION|VIEW)", r"CREATE OR REPLACE \1", text, flags=re.MULTILINE)
            assert times == 1
            conn.execution_options(no_parameters=True).exec_driver_sql(replaced)


def apply_to_queries(patch: pytest.MonkeyPatch, *edits: Edit) -> None:
    """Has the program run the edited queries, and an adoption the edited files."""
    texts = edited(*(edit for edit in edits if not edit[0].startswith(("functions/", "views/"))))
    shipped, text_of = sql.query, sql.text_of

    def query(engine: str, name: str) -> sa.TextClause:
        text = texts.get(f"queries/{name}")
        return shipped(engine, name) if text is None else sa.text(text)

    patch.setattr(sql, "query", query)
    patch.setattr(sql, "text_of", lambda engine, name: texts.get(name) or text_of(engine, name))


# Where a race needs a session to stand still between two steps of a function, the function is made with a gate there: an advisory
# lock that the test holds while the gate is closed.
_WAIT = f"PERFORM pg_catalog.pg_advisory_xact_lock_shared({GATE});"

HORIZON_BEHIND_A_GATE: Edit = ("functions/horizon.v1", "    newest := (SELECT", f"    {_WAIT}\n    newest := (SELECT")
HORIZON_WITH_A_GATE: Edit = ("functions/horizon.v1", "    held := (SELECT", f"    {_WAIT}\n    held := (SELECT")
ENTER_CHANGE_WITH_A_GATE: Edit = (
    "functions/enter_change.v1",
    "    IF pg_catalog.length",
    f"    IF pg_catalog.current_setting('race.gate', true) IS NULL THEN {_WAIT} END IF;\n    IF pg_catalog.length",
)
