"""What a page reads (acceptance 41, docs/how-it-works.md, Paging): as much as it holds, wherever it is and whatever the window.

Plans are those of the shipped query as the journal runs it, after begin_page, at once and as a prepared statement that has been run
often enough for a plan to be kept; on tables that were vacuumed and analyzed and on ones that never were.
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
from tests.helpers import PLAN, expected_changes, in_psycopg

pytestmark = pytest.mark.xdist_group("plans")  # one database for all of them

PLANS, DESCRIPTORS, DEAD = 100_000, 1_000, 10_000
PAGE = 501  # rows a page of 500 scans
BIG = {"document", "documentchangeevent", "referenceedge", "identitychangeevent"}
SEEKS = {"Index Scan", "Index Only Scan"}
QUERY = sql.text_of("postgres", "queries/read/change_page")
BEGIN_PAGE = sql.text_of("postgres", "queries/database/begin_page")

# Resource 1 are descriptors, 2 are plans: each refers to one of the first 500 descriptors, and all of them to the last one.
BUILD = [
    "ALTER TABLE dms.Document SET (autovacuum_enabled = off)",
    "ALTER TABLE dms.ReferenceEdge SET (autovacuum_enabled = off)",
    "ALTER TABLE dms.DocumentChangeEvent SET (autovacuum_enabled = off)",
    "ALTER TABLE dms.IdentityChangeEvent SET (autovacuum_enabled = off)",
    "ALTER TABLE dms.ResourceDependency SET (autovacuum_enabled = off)",
    "INSERT INTO dms.ResourceKey VALUES (1, 'Ed-Fi', 'Descriptor', '5.2.0'), (2, 'Ed-Fi', 'GraduationPlan', '5.2.0')",
    f"INSERT INTO dms.Document (DocumentId, ResourceKeyId) SELECT n, 1 FROM generate_series(1, {DESCRIPTORS}) AS n",
    f"INSERT INTO dms.Document (DocumentId, ResourceKeyId) SELECT 10000 + n, 2 FROM generate_series(1, {PLANS}) AS n",
    f"""INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId)
        SELECT 10000 + n, c FROM generate_series(1, {PLANS}) AS n, LATERAL (VALUES (1 + n % 500), ({DESCRIPTORS})) AS v (c)""",
    # 10,000 dead contributions in a row: one plan, again and again; then 500 dead identity events, each of 200 parents
    f"""DO $$ BEGIN FOR n IN 1..{DEAD} LOOP
        UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = 10001; END LOOP; END $$""",
    "UPDATE dms.Document SET IdentityVersion = 0 WHERE DocumentId <= 500",
    "UPDATE dms.Document SET IdentityVersion = 0 WHERE DocumentId <= 500",
    f"UPDATE dms.Document SET IdentityVersion = 0 WHERE DocumentId = {DESCRIPTORS}",  # the last one: a version of all plans
]


@dataclass
class Big:
    """A database, and the versions that its parts begin at."""

    url: str
    session: psycopg.Connection[Any]
    analyzed: bool
    updates: int  # 100,000 updates of plans, by their edges, overtaken by the last version
    dead: int  # 10,000 updates of one plan
    identities: int  # 500 identity events, each overtaken by one of the next 500
    last: int  # one identity event, which all plans refer to


@pytest.fixture(scope="module")
def built(postgres_server) -> Iterator[tuple[str, list[int]]]:
    with postgres_server.copy_of_template() as url, psycopg.connect(in_psycopg(url), autocommit=True) as session:
        reached = []
        for statement in BUILD:
            session.execute(statement)
            reached.append(session.execute("SELECT pg_sequence_last_value('dms.changeversionsequence')").fetchone()[0])
        yield url, reached


@pytest.fixture(scope="module", params=[False, True], ids=["never analyzed", "analyzed"])
def big(built, request: pytest.FixtureRequest) -> Iterator[Big]:
    url, reached = built
    with psycopg.connect(in_psycopg(url), autocommit=True, prepare_threshold=None) as session:
        if request.param:
            session.execute("VACUUM ANALYZE")
        created, updated, dead = reached[-6], reached[-5], reached[-4]
        yield Big(url, session, request.param, created + 1, updated + 1, dead + 1, reached[-1])


BINDS = ["resource_key_id", "after_version", "after_id", "max_version", "page_size"]


def explain(big: Big, after: tuple[int, int], through: int, *, kept: bool = False, page_size: int = PAGE) -> dict[str, Any]:
    """The plan of a page of plans, with what it read."""
    values = dict(zip(BINDS, (2, *after, through, page_size), strict=True))
    explained = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "
    with big.session.transaction():
        big.session.execute(BEGIN_PAGE)
        if kept:
            numbered = re.sub(r":(\w+)", lambda bind: f"${BINDS.index(bind[1]) + 1}", QUERY)
            big.session.execute(f"PREPARE page (smallint, bigint, bigint, bigint, bigint) AS {numbered}")
            page = f"EXECUTE page ({', '.join(map(str, values.values()))})"
            for _ in range(6):  # from the sixth on, the server may keep a plan for any values
                big.session.execute(page)
            [(found,)] = big.session.execute(explained + page)
            big.session.execute("DEALLOCATE page")
        else:
            [(found,)] = big.session.execute(explained + re.sub(r":(\w+)", r"%(\1)s", QUERY), values, prepare=False)
    return found[0]["Plan"]


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def read(plan: dict[str, Any]) -> int:
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


def assert_seeks(plan: dict[str, Any]) -> None:
    """Big tables are reached by index, nothing is read to be filtered away, and no more rows come up than the page can hold."""
    scans = [node for node in nodes(plan) if node.get("Relation Name") in BIG]
    shown = json.dumps(plan)
    assert scans, shown
    assert {node["Node Type"] for node in scans} <= SEEKS, shown
    assert sum(node.get("Rows Removed by Filter", 0) * node["Actual Loops"] for node in scans) <= PAGE, shown
    assert sum(node["Actual Rows"] * node["Actual Loops"] for node in scans) <= 12 * PAGE, shown
    assert read(plan) <= 20 * PAGE, shown  # a contribution: its document, its edges, its two children, each down an index


PLANNED = pytest.mark.parametrize("kept", [False, True], ids=["planned once", "prepared"])


@pytest.mark.acceptance("41")
@PLANNED
def test_a_page_of_own_events_seeks_and_does_not_know_the_window(big: Big, kept: bool) -> None:
    costs = {}
    for size in (10_000, 200_000):
        plan = explain(big, (big.updates, 0), big.updates + size - 1 if size < 100_000 else big.last, kept=kept)
        assert_seeks(plan)
        costs[size] = read(plan)
    assert costs[200_000] <= 1.2 * costs[10_000] + 20, costs
    middle = read(explain(big, (big.updates + 50_000, 0), big.last, kept=kept))
    assert middle <= 1.2 * costs[10_000] + 20, (middle, costs)


@pytest.mark.acceptance("41")
@PLANNED
@pytest.mark.parametrize("position", [0, 50_000, 99_400])
def test_a_cursor_inside_one_version_of_all_plans_seeks(big: Big, kept: bool, position: int) -> None:
    plan = explain(big, (big.last, 10_000 + position), big.last, kept=kept)
    assert_seeks(plan)
    first = explain(big, (big.last, 0), big.last, kept=kept)
    assert read(plan) <= 1.1 * read(first) + 20


@pytest.mark.acceptance("41")
@PLANNED
def test_a_page_of_dead_contributions_seeks(big: Big, kept: bool) -> None:
    for begin in (big.dead, big.dead + DEAD // 2):
        plan = explain(big, (begin, 0), begin + DEAD // 2 - 1, kept=kept)
        assert_seeks(plan)


@pytest.mark.acceptance("41")
@PLANNED
def test_a_page_of_identity_events_stops_at_its_size(big: Big, kept: bool) -> None:
    """1,000 events of 200 parents each: a page needs three of them, and reads no parents of the others."""
    plan = explain(big, (big.identities, 0), big.last - 1, kept=kept)
    assert_seeks(plan)


@pytest.mark.acceptance("41")
@PLANNED
def test_the_end_of_the_journal_is_cheap(big: Big, kept: bool) -> None:
    for after, through in (((big.last, 2**62), big.last), ((big.last + 1, 0), big.last + 1), ((0, 0), 0)):
        assert read(explain(big, after, through, kept=kept)) <= 100


@pytest.mark.acceptance("41")
def test_the_horizon_above_the_last_event_is_cheap(big: Big) -> None:
    """Where the last stamps were rolled back there is no event to find. From the sixth call on a session keeps a plan of it."""
    with big.session.transaction(force_rollback=True):
        big.session.execute("INSERT INTO dms.Document (DocumentId, ResourceKeyId) VALUES (2000000, 1)")
    costs = []
    for _ in range(8):
        [(found,)] = big.session.execute("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT dms.horizon()")
        costs.append(read(found[0]["Plan"]))
    assert max(costs[1:]) <= 50, costs  # the first one reads catalogs, too


@pytest.mark.acceptance("39", "41")
def test_a_big_walk_is_the_definitions(big: Big) -> None:
    engine = sa.create_engine(big.url, poolclass=sa.NullPool)
    with dj.connect(big.url) as journal, engine.connect() as connection:
        if not big.analyzed:  # once is enough
            expected = expected_changes(connection, 2)
            assert list(journal.changes(PLAN, dj.Window(big.last - 500), page_size=5_000)) == expected
            assert len(expected) == PLANS
            assert {change.change_version for change in expected} == {big.last}
        calls, after = 0, None
        while calls == 0 or after is not None:  # nothing in it lives: each call goes on by its size
            page = journal.change_page(PLAN, dj.Window(big.dead, big.dead + DEAD - 1), after, limit=500)
            assert not page.items
            calls, after = calls + 1, page.next
        assert calls <= DEAD // 500 + 1


@pytest.mark.parametrize("name", ["read/deletes", "read/key_changes", "read/derive", "write/find_documents"])
def test_other_queries_seek_too(big: Big, name: str) -> None:
    binds = {
        "read/deletes": {"resource_key_id": 2, "after_version": 0, "max_version": big.last, "page_size": 500, "with_key": 1},
        "read/key_changes": {
            "resource_key_id": 2,
            "min_version": 0,
            "after_version": 0,
            "max_version": big.last,
            "page_size": 500,
            "with_key": 1,
        },
        "read/derive": {"document_ids": json.dumps([*range(10_001, 10_101)])},
        "write/find_documents": {
            "rows": json.dumps([{"ordinal": n, "resource_key_id": 2, "key_values": {"n": n}} for n in range(100)])
        },
    }[name]
    query = re.sub(r":(\w+)", r"%(\1)s", sql.text_of("postgres", f"queries/{name}").replace("%", "%%"))
    [(found,)] = big.session.execute("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + query, binds, prepare=False)
    scans = [node for node in nodes(found[0]["Plan"]) if node.get("Relation Name") in BIG]
    assert {node["Node Type"] for node in scans} <= SEEKS | {"Bitmap Heap Scan"}
    assert read(found[0]["Plan"]) <= 3_000


def test_a_page_of_a_subscriptions_snapshot_seeks(big: Big) -> None:
    """A range of an index and a lookup of each document's body, after begin_page as the subscription runs it."""
    plan = explained(big, "events/document_rows", {"resource_key_id": 2, "after_id": 10_000, "page_size": 500})
    scans = [node for node in nodes(plan) if node.get("Relation Name") in BIG | {"documentcache"}]
    assert {node["Node Type"] for node in scans} <= SEEKS
    assert plan["Actual Rows"] == 500
    assert read(plan) <= 3_000


def test_the_search_for_reused_keys_seeks(big: Big) -> None:
    """A lookup by key for each tombstone, however many documents and tombstones there are."""
    with big.session.transaction(force_rollback=True):
        big.session.execute(
            """INSERT INTO dms.DocumentDeleteEvent
               SELECT n, n, gen_random_uuid(), 1, now(), 2, jsonb_build_object('n', n) FROM generate_series(1, 20000) AS n"""
        )
        big.session.execute(
            "UPDATE dms.Document SET KeyValues = jsonb_build_object('n', DocumentId) WHERE DocumentId BETWEEN 10001 AND 10050"
        )
        binds = {"versions": json.dumps([*range(10_001, 10_101)]), "max_version": 10**12}
        plan = explained(big, "read/reused_keys", binds)
    scans = [node for node in nodes(plan) if node.get("Relation Name") in BIG | {"documentdeleteevent"}]
    assert {node["Node Type"] for node in scans} <= SEEKS | {"Bitmap Heap Scan"}
    assert plan["Actual Rows"] == 50
    assert read(plan) <= 3_000


def test_the_search_for_renamed_children_seeks(big: Big) -> None:
    """What a page's documents refer to, and the key changes of that: not the tables."""
    with big.session.transaction(force_rollback=True):
        big.session.execute(
            """INSERT INTO dms.DocumentCache (DocumentId, DocumentJson, Etag, ComputedVersion)
               SELECT 10000 + n, '{}', '', 0 FROM generate_series(1, 5000) AS n"""
        )
        big.session.execute("UPDATE dms.Document SET KeyValues = jsonb_build_object('n', DocumentId) WHERE DocumentId <= 1000")
        big.session.execute("UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId BETWEEN 10002 AND 10101")  # of these keys
        big.session.execute("UPDATE dms.Document SET KeyValues = jsonb_build_object('n', -DocumentId) WHERE DocumentId <= 1000")
        plan = explained(big, "read/renamed_children", {"document_ids": json.dumps([*range(10_002, 10_102)])})
    scans = [node for node in nodes(plan) if node.get("Relation Name") in BIG | {"documentcache", "keychangeevent"}]
    assert {node["Node Type"] for node in scans} <= SEEKS | {"Bitmap Heap Scan"}
    assert plan["Actual Rows"] == 200  # each refers to two
    costs = {(node.get("Node Type"), node.get("Relation Name"), node.get("Index Name")): read(node) for node in nodes(plan)}
    assert read(plan) <= 8_000, costs


@pytest.mark.parametrize("name", ["documents", "edges", "events", "tombstones"])
def test_a_batch_of_verify_seeks(big: Big, name: str) -> None:
    """Ranges of primary keys and lookups: no statement of verify reads all of a table, whatever its size."""
    again = {"again_from": 1, "again_through": 0, "rewound_through": None, "rewound_at": None}
    after = 10_000 if name in ("documents", "edges") else big.dead
    binds = {"after": after, "last": after + 1_000} | (again if name in ("documents", "tombstones") else {})
    query = re.sub(r"(?<!:):(\w+)", r"%(\1)s", sql.text_of("postgres", f"queries/operate/verify_{name}").replace("%", "%%"))
    [(found,)] = big.session.execute("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + query, binds, prepare=False)
    scans = [node for node in nodes(found[0]["Plan"]) if node.get("Relation Name") in BIG]
    assert scans or name == "tombstones"
    assert {node["Node Type"] for node in scans} <= SEEKS | {"Bitmap Heap Scan"}


@pytest.mark.parametrize(
    ("name", "most", "ranges"),  # the first look of the planner, and its last
    [
        ("read/plan_events", 10_000, 1),
        ("read/plan_events", 8, 8_000),
        ("read/plan_identities", 5_000, 1),
        ("read/plan_identities", 1, 8_000),
    ],
)
@pytest.mark.parametrize("of", ["", "_of"])
def test_a_plan_seeks_and_does_not_know_the_window(big: Big, name: str, of: str, most: int, ranges: int) -> None:
    """What it reads goes by how much it may look at; the second window has ten times the events of the first."""
    costs = []
    for first in (big.dead, 0):
        width = (big.last - first) // ranges
        asked = [{"range": n, "first": first + n * width, "last": first + (n + 1) * width - 1} for n in range(ranges)]
        binds = {"ranges": json.dumps(asked), "most_events": most, "step": 8, "most_parents": 10, "resource_key_ids": "[1, 2]"}
        plan = explained(big, f"{name}{of}", binds)
        scans = [node for node in nodes(plan) if node.get("Relation Name") in BIG]
        assert {node["Node Type"] for node in scans} <= SEEKS
        costs.append(read(plan))
    assert max(costs) <= 20 * most * ranges, costs


def test_the_marks_of_a_version_read_that_version_only(big: Big) -> None:
    for version, documents in ((big.last, PLANS), (big.updates, 1)):
        plan = explained(big, "read/plan_version", {"resource_key_ids": "[2]", "version": version, "step": 1_000})
        scans = [node for node in nodes(plan) if node.get("Relation Name") in BIG]
        assert sum(node["Actual Rows"] * node["Actual Loops"] for node in scans) <= 2 * documents + 10
        assert read(plan) <= documents + 100


@pytest.mark.parametrize("resources", [[2], None], ids=["one", "all"])
def test_an_interior_part_of_a_version_is_a_range_of_an_index(big: Big, resources: list[int] | None) -> None:
    """A hundredth of the documents of one version costs a hundredth, wherever it lies."""
    with dj.connect(big.url) as journal:
        plan = journal.plan(PLAN if resources else None, dj.Window(big.last), parts=100)
    assert len(plan.parts) == 100
    for part in (plan.parts[1], plan.parts[50], plan.parts[-2]):
        [piece] = part.pieces()
        query = """SELECT * FROM dms.ResourceChange WHERE ChangeVersion = %(first)s AND DocumentId > %(after_id)s
                   AND DocumentId <= %(through_id)s AND ResourceKeyId = ANY (%(ids)s)"""
        binds = {"first": piece.first, "after_id": piece.after_id, "through_id": piece.through_id}
        [(found,)] = big.session.execute(
            "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + query, binds | {"ids": [*plan.resources.values()]}, prepare=False
        )
        assert found[0]["Plan"]["Actual Rows"] == part.events == PLANS // 100
        scans = [node for node in nodes(found[0]["Plan"]) if node.get("Relation Name") in BIG]
        assert sum(node.get("Rows Removed by Filter", 0) * node["Actual Loops"] for node in scans) <= 4 * part.events
        assert read(found[0]["Plan"]) <= 25 * part.events, json.dumps(found)


def explained(big: Big, name: str, binds: dict[str, Any]) -> dict[str, Any]:
    """The plan of a planner's query, as the journal runs it."""
    query = re.sub(r":(\w+)", r"%(\1)s", sql.text_of("postgres", f"queries/{name}").replace("%", "%%"))
    with big.session.transaction():
        big.session.execute(BEGIN_PAGE)
        [(found,)] = big.session.execute("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + query, binds, prepare=False)
    return found[0]["Plan"]
