"""Plans of the functions that track tables: none is dear enough for a server with LLVM to compile it at each call.

Those of an insert of one row are kept, those of many rows are made for them."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

JIT_ABOVE_COST = 100_000  # PostgreSQL's default
SETTINGS = [
    "jit = on",
    "auto_explain.log_min_duration = 0",
    "auto_explain.log_nested_statements = on",
    "auto_explain.log_level = notice",
    "auto_explain.log_format = json",
    "auto_explain.log_settings = on",
]
STEPS = [
    "SELECT dms.track('app.a', shows => ARRAY['name']::name[])",
    "SELECT dms.track('app.b')",
    "SELECT * FROM dms.fill_tracked('app.a')",
    "SELECT dms.fill_table('app.a')",
    "SELECT dms.fill_table('app.b')",
    "SELECT * FROM dms.tracked_tables()",
    "SELECT * FROM dms.check_tracking()",
    "SELECT dms.is_readable(t.TrackedTableId) FROM dms.TrackedTable AS t",
    "SELECT dms.renew_tracking('app.a')",
    "UPDATE app.a SET name = 'Eve'",
    "SELECT dms.untrack('app.b')",
]


def test_no_plan_of_tracking_is_compiled(connect: Callable[..., psycopg.Connection[Any]]) -> None:
    """To compile the plan of tracked_owners took 1 to 4 s, and each batch of a fill calls it."""
    conn, told = connect(), []
    conn.execute("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY, name text)")
    conn.execute("CREATE TABLE app.b (id int PRIMARY KEY, a int REFERENCES app.a)")
    conn.execute("INSERT INTO app.a SELECT i, 'n' FROM generate_series(1, 10) AS i; INSERT INTO app.b SELECT id, id FROM app.a")
    conn.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
    conn.execute("LOAD 'auto_explain'")
    for setting in SETTINGS:
        conn.execute(f"SET {setting}")
    for step in STEPS:
        conn.execute(step)
    plans = [json.loads(text[text.index("{") :]) for text in told if "plan:" in text]
    dear = [plan for plan in plans if plan["Plan"]["Total Cost"] > JIT_ABOVE_COST]
    compiled = [plan["Query Text"][:200] for plan in dear if plan.get("Settings", {}).get("jit") != "off"]
    assert (len(dear) > 0, compiled) == (True, [])


def explained(conn: psycopg.Connection[Any], **settings: str) -> list[Any]:
    """A list that gets the plan of each statement, also of nested ones."""
    plans: list[Any] = []

    def note(notice: psycopg.errors.Diagnostic) -> None:
        text = notice.message_primary or ""
        if "plan:" in text:
            plans.append(json.loads(text[text.index("{") :]))

    conn.add_notice_handler(note)
    conn.execute("LOAD 'auto_explain'")
    for setting in (*SETTINGS, *(f"auto_explain.{name} = {value}" for name, value in settings.items())):
        conn.execute(f"SET {setting}")
    return plans


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", []):
        yield from nodes(part)


def referring(conn: psycopg.Connection[Any]) -> None:
    """b refers to each of two rows of a, and to one of c."""
    conn.execute("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY); CREATE TABLE app.c (id int PRIMARY KEY)")
    conn.execute("CREATE TABLE app.b (id int PRIMARY KEY, a int REFERENCES app.a, c int REFERENCES app.c, note text)")
    conn.execute("SELECT dms.track('app.a'), dms.track('app.b'), dms.track('app.c')")
    conn.execute("INSERT INTO app.a VALUES (0), (1); INSERT INTO app.c VALUES (0)")
    conn.execute("INSERT INTO app.b SELECT -n, n % 2, 0 FROM generate_series(1, 1000) AS n; ANALYZE")


SINGLE = {
    "insert": "INSERT INTO app.b VALUES (%s, 0, 0)",
    "update of a reference": "UPDATE app.b SET a = 1 - a WHERE id = -1 - %s",
    "update of a row": "UPDATE app.b SET note = clock_timestamp()::text WHERE id = -1 - %s",
    "delete": "DELETE FROM app.b WHERE id = -1 - %s",
}


@pytest.mark.parametrize("what", SINGLE)
def test_a_statement_of_one_row_is_not_planned_anew(connect: Callable[..., psycopg.Connection[Any]], what: str) -> None:
    """A plan for its own documents seems cheaper than the kept one, which reckons with ten, or with those of a large statement."""
    conn = connect()
    referring(conn)
    conn.execute("INSERT INTO app.b SELECT n, n % 2, 0 FROM generate_series(1001, 1500) AS n")
    plans = explained(conn, log_verbose="on")
    for number in range(8):
        plans.clear()
        conn.execute(SINGLE[what], [number])
    texts = [json.dumps(plan["Plan"]) for plan in plans]
    assert (any("$" in text for text in texts), [text for text in texts if "'{" in text]) == (True, [])


def test_a_large_insert_looks_up_what_it_refers_to_once(connect: Callable[..., psycopg.Connection[Any]]) -> None:
    """Whatever plan the session has kept of inserts of single rows."""
    conn = connect()
    referring(conn)
    for number in range(8):
        conn.execute("INSERT INTO app.b VALUES (%s, 0, 0)", [number])
    plans = explained(conn, log_analyze="on", log_timing="off", log_parameter_max_length="0")
    conn.execute("INSERT INTO app.b SELECT n, n % 2, 0 FROM generate_series(1001, 1500) AS n")
    (made,) = [plan for plan in plans if '"dmsjournal row"' in plan["Query Text"]]
    lookups = {
        name: sum(node["Actual Loops"] for node in nodes(made["Plan"]) if node.get("Relation Name") == name) for name in "ac"
    }
    assert lookups == {"a": 2, "c": 1}
