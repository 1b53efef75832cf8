"""Plans of the functions that track tables: none is dear enough for a server with LLVM to compile it at each call."""

import json
from collections.abc import Callable
from typing import Any

import psycopg

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
