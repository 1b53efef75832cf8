"""What readers pay for what a writer makes cheaply (acceptance 41, 109; docs/dba/costs.md), counted in blocks and rows.

Each statement is the shipped one, as the journal runs it: planned for its values, and with a plan for any values.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.database import sql
from dmsjournal.model.windows import LOWEST_ID
from tests.helpers import expected_changes, in_psycopg
from tests.postgres.test_plans import SEEKS, nodes, read

pytestmark = pytest.mark.xdist_group("hubs")  # one database for all of them

HUB, PARENT, WIDE, PART, MANY, FIRST_OF_MANY, RESOURCES = 1, 2, 3, 4, 5, 100, 200
PARENTS, RENAMES, PARTS, DEAD, PAGE = 2_000, 60, 2_000, 10_000, 501
PARENT_KEY = dj.ResourceKey("Ed-Fi", f"Resource{PARENT}", "5.2.0")
RENAME = "UPDATE dms.Document SET IdentityVersion = 0 WHERE DocumentId = 1"

# Document 1 is the hub; from 10,001 its parents; 2 is wide: it refers to 2,000 parts from 20,001; 3 refers to a document of each of
# 200 resources, from 30,001.
BUILD = [
    *(
        f"ALTER TABLE dms.{table} SET (autovacuum_enabled = off)"
        for table in ("Document", "ReferenceEdge", "DocumentChangeEvent", "IdentityChangeEvent", "ResourceDependency")
    ),
    f"""INSERT INTO dms.ResourceKey SELECT n, 'Ed-Fi', 'Resource' || n, '5.2.0'
        FROM (SELECT generate_series(1, 5) UNION ALL
              SELECT generate_series({FIRST_OF_MANY}, {FIRST_OF_MANY + RESOURCES - 1})) AS v (n)""",
    f"INSERT INTO dms.Document (DocumentId, ResourceKeyId) VALUES (1, {HUB}), (2, {WIDE}), (3, {MANY})",
    f"INSERT INTO dms.Document (DocumentId, ResourceKeyId) SELECT 10000 + n, {PARENT} FROM generate_series(1, {PARENTS}) AS n",
    f"INSERT INTO dms.Document (DocumentId, ResourceKeyId) SELECT 20000 + n, {PART} FROM generate_series(1, {PARTS}) AS n",
    f"""INSERT INTO dms.Document (DocumentId, ResourceKeyId)
        SELECT 30000 + n, {FIRST_OF_MANY - 1} + n FROM generate_series(1, {RESOURCES}) AS n""",
    f"""INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId)
        SELECT 10000 + n, 1 FROM generate_series(1, {PARENTS}) AS n
        UNION ALL SELECT 2, 20000 + n FROM generate_series(1, {PARTS}) AS n
        UNION ALL SELECT 3, 30000 + n FROM generate_series(1, {RESOURCES}) AS n""",
]


@dataclass
class Built:
    """A database, and the versions that its parts begin and end at."""

    url: str
    session: psycopg.Connection[Any]
    dead: tuple[int, int]  # 10,000 renames of the hub
    once: int  # one rename of it
    often: tuple[int, int]  # 60 renames of it
    parts: tuple[int, int]  # one rename of each part, in the order in which an index has the wide document's references
    many: tuple[int, int]  # 20 renames of what document 3 refers to, each of 200
    costs: dict[str, int]  # blocks, by question, when the hub had been renamed once


def newest(session: psycopg.Connection[Any]) -> int:
    [(value,)] = session.execute("SELECT pg_sequence_last_value('dms.changeversionsequence')").fetchall()
    return int(value)


@pytest.fixture(scope="module")
def built(postgres_server) -> Iterator[Built]:
    with (
        postgres_server.copy_of_template() as url,
        psycopg.connect(in_psycopg(url), autocommit=True, prepare_threshold=None) as session,
    ):
        for statement in BUILD:
            session.execute(statement)
        session.execute("VACUUM ANALYZE")
        before = newest(session)  # a transaction each 100: one of all would leave as many row versions for each lookup to pass
        session.execute(
            f"""DO $$ BEGIN FOR n IN 1..{DEAD} LOOP
                {RENAME}; IF n % 100 = 0 THEN COMMIT; END IF; END LOOP; END $$"""
        )
        dead = (before + 1, newest(session))
        session.execute(RENAME)
        once = newest(session)
        costs = {f"{name}, {kept}": asked(session, name, (once, once), kept) for name in QUESTIONS for kept in (False, True)}
        for _ in range(RENAMES):
            session.execute(RENAME)
        often = (once + 1, newest(session))
        for n in range(PARTS):
            session.execute(f"UPDATE dms.Document SET IdentityVersion = 0 WHERE DocumentId = {20001 + n}")
        parts = (often[1] + 1, newest(session))
        for _ in range(20):
            session.execute("UPDATE dms.Document SET IdentityVersion = 0 WHERE DocumentId > 30000")
        yield Built(url, session, dead, once, often, parts, (parts[1] + 1, newest(session)), costs)


def explained(
    session: psycopg.Connection[Any], text: str, binds: dict[str, Any], kept: bool, begin: str = "database/begin_page"
) -> dict[str, Any]:
    """The plan of a statement, with what it read."""
    explain = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "
    text = re.sub(r"--[^\n]*", "", text)
    with session.transaction():
        session.execute(re.sub(r"--[^\n]*", "", sql.text_of("postgres", f"queries/{begin}")))
        if kept:  # whatever the session says of plans: one for any values
            session.execute("SET LOCAL plan_cache_mode = force_generic_plan")
            names = list(binds)
            numbered = re.sub(r"(?<!:):(\w+)", lambda bind: f"${names.index(bind[1]) + 1}", text)
            session.execute(f"PREPARE kept AS {numbered}")
            values = sa.text(", ".join(f":{name}" for name in names)).bindparams(**binds)
            literal = str(values.compile(dialect=session_dialect(), compile_kwargs={"literal_binds": True}))
            [(found,)] = session.execute(f"{explain}EXECUTE kept ({literal})".replace("%", "%%"), {}).fetchall()
            session.execute("DEALLOCATE kept")
        else:
            [(found,)] = session.execute(explain + re.sub(r"(?<!:):(\w+)", r"%(\1)s", text.replace("%", "%%")), binds).fetchall()
    plan: dict[str, Any] = found[0]["Plan"]
    return plan


def session_dialect() -> sa.Dialect:
    return sa.create_engine("postgresql+psycopg://").dialect


def page_binds(resource: int, after: tuple[int, int], last: int, size: int = PAGE) -> dict[str, Any]:
    return {"resource_key_id": resource, "after_version": after[0], "after_id": after[1], "max_version": last, "page_size": size}


def pages(
    session: psycopg.Connection[Any], resource: int, window: tuple[int, int], kept: bool, *, through_first: bool = False
) -> Iterator[dict[str, Any]]:
    """The plans of a walk; `through_first`: up to the page that has the first change."""
    after: tuple[int, int] | None = (window[0], LOWEST_ID)
    query = re.sub(r":(\w+)", r"%(\1)s", re.sub(r"--[^\n]*", "", sql.text_of("postgres", "queries/read/change_page")))
    while after is not None:
        binds = page_binds(resource, after, window[1])
        yield explained(session, sql.text_of("postgres", "queries/read/change_page"), binds, kept)
        rows = session.execute(
            query, binds
        ).fetchall()  # floor, scanned_version, scanned_id, change_version, document_id, document_uuid
        if through_first and rows[0][4] is not None:
            return
        after = None if rows[0][1] is None else (rows[0][1], rows[0][2])


VIEW = """SELECT * FROM dms.ResourceChange
          WHERE ResourceKeyId = CAST(:resource_key_id AS smallint) AND ChangeVersion BETWEEN :first AND :last"""
QUESTIONS = ["first change", "all pages", "set", "count", "part", "plan", "plan of one", "marks", "effects"]


def asked(session: psycopg.Connection[Any], name: str, window: tuple[int, int], kept: bool) -> int:
    """The blocks that an answer about the hub's parents touches."""
    first, last = window
    ranges = json.dumps([{"range": 0, "first": first, "last": last}])
    events = [
        {"change_version": version, "document_id": 1, "transaction_id": transaction}
        for version, transaction in session.execute(
            "SELECT ChangeVersion, TransactionId FROM dms.DocumentChangeEvent "
            "WHERE DocumentId = 1 AND ChangeVersion BETWEEN %s AND %s",
            window,
        )
    ]
    part = {
        "first_version": first,
        "last_version": last,
        "from_id": LOWEST_ID,
        "through_id": 2**63 - 1,
        "with_keys": 0,
        "with_bodies": 0,
    }
    looks = {"ranges": ranges, "most_events": 5_000, "most_parents": 100_000}
    questions: dict[str, tuple[str, dict[str, Any]]] = {
        "count": ("read/count_changes", {"resource_key_id": PARENT, "min_version": first, "max_version": last}),
        "part": ("read/part_changes", {"resource_key_ids": f"[{PARENT}]"} | part),
        "plan": ("read/plan_identities", looks),
        "plan of one": ("read/plan_identities_of", looks | {"resource_key_ids": f"[{PARENT}]"}),
        "marks": ("read/plan_version", {"resource_key_ids": f"[{PARENT}]", "version": last, "step": 1_000}),
        "effects": ("feed/effects_indirect", {"rows": json.dumps(events), "looked": 10_000, "most": 100}),
    }
    if name in ("first change", "all pages"):
        return sum(map(read, pages(session, PARENT, window, kept, through_first=name == "first change")))
    if name == "set":
        return read(explained(session, VIEW, {"resource_key_id": PARENT, "first": first, "last": last}, kept, "read/part_settings"))
    query, binds = questions[name]
    return read(explained(session, sql.text_of("postgres", f"queries/{query}"), binds, kept))


@pytest.mark.acceptance("109")
@pytest.mark.parametrize("kept", [False, True], ids=["planned once", "prepared"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_hub_that_was_renamed_often_costs_what_it_costs_after_one_rename(built: Built, name: str, kept: bool) -> None:
    """2,000 parents: 60 renames would be 120,000 contributions, of which 2,000 live. An overtaken rename costs its own lookups."""
    after = asked(built.session, name, built.often, kept)
    assert after <= 1.2 * built.costs[f"{name}, {kept}"] + 15 * RENAMES, (after, built.costs)


@pytest.mark.acceptance("109")
def test_no_parent_is_missed_or_told_twice(built: Built) -> None:
    engine = sa.create_engine(built.url, poolclass=sa.NullPool)
    with dj.connect(built.url) as journal, engine.connect() as connection:
        for window in (dj.Window(built.once, built.often[1]), dj.Window(*built.often), dj.Window(built.often[1])):
            expected = expected_changes(connection, PARENT, window)
            assert len(expected) == PARENTS
            for size in (7, 500, 10_000):
                assert list(journal.changes(PARENT_KEY, window, size)) == expected


@pytest.mark.acceptance("41", "109")
@pytest.mark.parametrize("kept", [False, True], ids=["planned once", "prepared"])
def test_ten_thousand_dead_identity_events_in_a_row_are_passed_with_bounded_work(built: Built, kept: bool) -> None:
    """Each has 2,000 parents."""
    plans = list(pages(built.session, PARENT, built.dead, kept))
    assert len(plans) <= DEAD // (PAGE - 1) + 2
    for plan in plans:
        looked = {node["Node Type"] for node in nodes(plan) if node.get("Relation Name") in ("referenceedge", "document")}
        assert looked <= SEEKS
        assert read(plan) <= 8 * PAGE, json.dumps(plan)


@pytest.mark.parametrize("kept", [False, True], ids=["planned once", "prepared"])
def test_the_references_of_a_document_are_looked_at_once_a_page(built: Built, kept: bool) -> None:
    """2,000 contributions of one document, each overtaken by the child behind those before it: looked at for each of them, that
    is half a million lookups a page."""
    costs = [read(plan) for plan in pages(built.session, WIDE, built.parts, kept)]
    assert len(costs) >= PARTS // PAGE
    assert max(costs) <= 5 * PARTS + 12 * PAGE, costs


@pytest.mark.parametrize("kept", [False, True], ids=["planned once", "prepared"])
def test_a_page_of_one_that_refers_to_many_resources_scans_a_page_of_events(built: Built, kept: bool) -> None:
    """200 resources with 20 events each, of which a page needs 501."""
    plans = list(pages(built.session, MANY, built.many, kept))
    assert len(plans) <= 20 * RESOURCES // (PAGE - 1) + 2
    for plan in plans:
        events = [node for node in nodes(plan) if node.get("Relation Name") == "identitychangeevent"]
        assert sum(node["Actual Rows"] * node["Actual Loops"] for node in events) <= PAGE, json.dumps(plan)
        assert read(plan) <= 12 * PAGE
    look = {
        "ranges": json.dumps(
            [{"range": n, "first": built.many[0] + 40 * n, "last": built.many[0] + 40 * n + 39} for n in range(100)]
        )
    }
    binds = look | {"most_events": 1, "most_parents": 10, "resource_key_ids": f"[{MANY}]"}
    assert read(explained(built.session, sql.text_of("postgres", "queries/read/plan_identities_of"), binds, kept)) <= 100 * 20
