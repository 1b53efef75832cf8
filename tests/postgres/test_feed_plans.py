"""What a page of the feed reads: bounded, wherever it is, whatever the window, and however much of it is filtered away.

Plans are those of the shipped query as the journal runs it, after begin_page, at once and with a plan for any values; on tables
that were vacuumed and analyzed and on ones that never were.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import dmsjournal as dj
from dmsjournal.database import sql
from dmsjournal.model.windows import HIGHEST_ID
from tests.helpers import in_psycopg
from tests.postgres.test_plans import BEGIN_PAGE, SEEKS, nodes, read

pytestmark = pytest.mark.xdist_group("feed plans")  # one database for all of them

DOCUMENTS = 60_000
QUERY = sql.text_of("postgres", "queries/feed/feed_page")
BIG = {"document", "documentchangeevent", "documentdeleteevent", "keychangeevent", "documentcache"}
TYPES = {
    "after_version": "bigint", "after_id": "bigint", "max_version": "bigint", "page_size": "bigint", "scan_size": "bigint",
    "resource_key_id": "smallint", "document_id": "bigint", "bucket": "bigint", "bucket_count": "bigint",
    "operations": "jsonb", "resource_key_ids": "jsonb", "with_body": "boolean", "with_key": "integer",
}  # fmt: skip

# Resource 1 has one document in a hundred; a third of resource 2's is deleted in the end. Each change is journaled by the triggers.
BUILD = [
    *(f"ALTER TABLE dms.{name} SET (autovacuum_enabled = off)" for name in sorted(BIG)),
    "INSERT INTO dms.ResourceKey VALUES (1, 'Ed-Fi', 'Student', '5.2.0'), (2, 'Ed-Fi', 'Section', '5.2.0')",
    f"""INSERT INTO dms.Document (ResourceKeyId, KeyValues)
        SELECT CASE WHEN n % 100 = 0 THEN 1 ELSE 2 END, jsonb_build_object('id', n) FROM generate_series(1, {DOCUMENTS}) AS n""",
    """INSERT INTO dms.DocumentCache (DocumentId, DocumentJson, Etag, ComputedVersion)
       SELECT DocumentId, '{}', '', 1 FROM dms.Document""",
    "UPDATE dms.Document SET KeyValues = jsonb_build_object('id', -DocumentId) WHERE DocumentId % 2 = 0",
    "DELETE FROM dms.Document WHERE ResourceKeyId = 2 AND DocumentId % 3 = 0",
]


@pytest.fixture(scope="module")
def built(postgres_server) -> Iterator[str]:
    with postgres_server.copy_of_template() as url, psycopg.connect(in_psycopg(url), autocommit=True) as session:
        for statement in BUILD:
            session.execute(statement)
        yield url


@pytest.fixture(scope="module", params=[False, True], ids=["never analyzed", "analyzed"])
def session(built: str, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(in_psycopg(built), autocommit=True, prepare_threshold=None) as session:
        if request.param:
            session.execute("VACUUM ANALYZE")
        yield session


def explain(session: psycopg.Connection[Any], generic: bool, **wanted: object) -> dict[str, Any]:
    binds = dict.fromkeys(TYPES) | {
        "after_version": 0,
        "after_id": HIGHEST_ID,
        "max_version": 10**9,
        "page_size": 100,
        "scan_size": 100,
    }
    binds |= {"with_body": True, "with_key": 1} | wanted
    names = list(TYPES)
    numbered = re.sub(r":(\w+)", lambda bind: f"${names.index(bind[1]) + 1}", QUERY)
    values = ", ".join("NULL" if value is None else f"'{value}'" for value in binds.values())
    with session.transaction():
        session.execute(BEGIN_PAGE)
        session.execute(f"SET LOCAL plan_cache_mode = force_{'generic' if generic else 'custom'}_plan")
        session.execute(f"PREPARE page ({', '.join(TYPES.values())}) AS {numbered}")
        [(found,)] = session.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE page ({values})")
        session.execute("DEALLOCATE page")
    return found[0]["Plan"]


def assert_seeks(plan: dict[str, Any], most: int) -> None:
    """Big tables are reached by index, at most `most` blocks are read, and no row is read to be filtered away."""
    scans = [node for node in nodes(plan) if node.get("Relation Name") in BIG]
    shown = json.dumps(plan)
    assert scans, shown
    assert {node["Node Type"] for node in scans} <= SEEKS, shown
    assert read(plan) <= most, f"{read(plan)} blocks: {shown}"
    assert sum(node.get("Rows Removed by Filter", 0) * node["Actual Loops"] for node in scans) <= 1, shown  # the cursor's own row


PLACES = [0, 1_000, DOCUMENTS // 2, DOCUMENTS + 10_000, DOCUMENTS * 3 // 2 + 5_000, 10**8]


@pytest.mark.parametrize("generic", [False, True], ids=["custom", "generic"])
@pytest.mark.parametrize("after", PLACES)
def test_a_page_reads_its_own_rows_only(session, generic: bool, after: int) -> None:
    plan = explain(session, generic, after_version=after)
    assert_seeks(plan, 100 * 5 * 4 + 200)  # an event's four lookups, each down an index to a row


@pytest.mark.parametrize("generic", [False, True], ids=["custom", "generic"])
@pytest.mark.parametrize("after", PLACES)
def test_a_page_of_a_resource_reads_its_rows_only(session, generic: bool, after: int) -> None:
    for resource in (1, 2):
        assert_seeks(explain(session, generic, after_version=after, resource_key_id=resource), 100 * 5 * 4 + 200)


@pytest.mark.parametrize("generic", [False, True], ids=["custom", "generic"])
def test_a_page_that_is_filtered_away_reads_what_it_looks_at_only(session, generic: bool) -> None:
    for wanted in (
        {"document_id": 10**9},
        {"bucket": 5, "bucket_count": 4},
        {"operations": '["delete"]'},
        {"resource_key_ids": "[7]"},
    ):
        for after in (0, 20_000, 50_000):
            plan = explain(session, generic, after_version=after, scan_size=5_000, **wanted)
            assert_seeks(plan, 600 if plan["Actual Rows"] <= 1 else 600 + 100 * 5 * 4)  # 5,000 rows that lie side by side


def test_pages_of_any_place_cost_the_same(built: str) -> None:
    """Rows looked at, over the whole feed: never more than one page and one row ahead of each journal."""
    with dj.connect(built) as journal:
        request, looked = dj.FeedRequest(dj.PhysicalPartition("1-2"), max_page_size=1_000), []
        page = journal.read_changes(request)
        while not page.idle:
            looked.append(page.diagnostics.rows_scanned)
            page = journal.read_changes(dj.FeedRequest(request.scope, dj.FromToken(page.token), max_page_size=1_000))
    assert max(looked) <= 2 * (4_000 + 1)
    assert sum(looked) < 1.2 * (DOCUMENTS + DOCUMENTS // 2 + DOCUMENTS // 3)
