"""What telling the effects of events touches: what refers to a renamed document, up to a bound, and a transaction's contexts."""

import json
from collections.abc import Iterator

import psycopg
import pytest
import sqlalchemy as sa

from dmsjournal.database import postgres, sql
from dmsjournal.schema import migrate
from tests.helpers import in_psycopg
from tests.postgres.test_image_plans import walked

DOCUMENTS, PARENTS, ROUNDS, ASKED = 2_000, 1_500, 10, 50
CAUSE = '{"cause": {"document_uuid": "%s", "reason": "x"}}'


@pytest.fixture
def session(url: str) -> Iterator[psycopg.Connection]:
    """Documents that changed in transactions of a thousand; one that others refer to, renamed; a cause in each transaction."""
    migrate.upgrade(url, options=["context"])
    with psycopg.connect(in_psycopg(url), autocommit=True) as session:
        session.execute("INSERT INTO dms.ResourceKey VALUES (1, 'Ed-Fi', 'Student', '5.2.0')")
        session.execute(f"INSERT INTO dms.Document (ResourceKeyId) SELECT 1 FROM generate_series(1, {DOCUMENTS})")
        session.execute(
            "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) "
            f"SELECT DocumentId, 1 FROM dms.Document WHERE DocumentId BETWEEN 2 AND {PARENTS + 1}"
        )
        session.execute("UPDATE dms.Document SET IdentityVersion = NULL WHERE DocumentId = 1")
        for n in range(ROUNDS):
            with session.transaction():
                [uuid] = session.execute("SELECT DocumentUuid FROM dms.Document WHERE DocumentId = %s", [DOCUMENTS - n]).fetchone()
                session.execute("SELECT set_config('dmsjournal.context', '{}', true)")
                session.execute("UPDATE dms.Document SET ContentVersion = NULL WHERE DocumentId > %s", [PARENTS + 1])
                session.execute("SELECT set_config('dmsjournal.context', %s, true)", [CAUSE % uuid])
                session.execute("UPDATE dms.Document SET ContentVersion = NULL WHERE DocumentId = %s", [PARENTS + 100])
        yield session


def explained(session: psycopg.Connection, name: str, where: str, **binds: int) -> tuple[dict, dict[str, str], int]:
    """The plan of a query about up to 50 events, the kinds of scans by table, and the blocks touched."""
    columns = "ChangeVersion, event.DocumentId, TransactionId, DocumentUuid"
    events = session.execute(
        f"SELECT {columns} FROM dms.DocumentChangeEvent AS event JOIN dms.Document AS document USING (DocumentId) "
        f"WHERE {where} ORDER BY ChangeVersion DESC LIMIT {ASKED}"
    ).fetchall()
    rows = json.dumps(
        [dict(zip(("change_version", "document_id", "transaction_id", "document_uuid"), row, strict=True)) for row in events],
        default=str,
    )
    query = sa.text(sql.text_of("postgres", f"queries/{name}")).bindparams(rows=rows, **binds)
    text = postgres.literal(query)
    with session.transaction():
        session.execute(sql.text_of("postgres", "queries/database/begin_page"))
        [[[plan]]] = session.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {text}").fetchall()
    scans = {node["Relation Name"]: node["Node Type"] for node in walked(plan["Plan"]) if "Relation Name" in node}
    return plan["Plan"], scans, plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"]


@pytest.mark.parametrize("analyzed", [True, False])
def test_references_are_looked_at_up_to_a_bound(session: psycopg.Connection, analyzed: bool) -> None:
    if analyzed:
        session.execute("VACUUM ANALYZE")
    plan, scans, blocks = explained(
        session, "feed/effects_indirect", "DocumentId = 1 AND Operation = 'update'", looked=100, most=10
    )
    assert plan["Actual Rows"] == 10
    assert set(scans.values()) <= {"Index Scan", "Index Only Scan"}, scans
    assert blocks <= 10 * 100, blocks


@pytest.mark.parametrize("analyzed", [True, False])
def test_events_that_renamed_nothing_cost_a_lookup(session: psycopg.Connection, analyzed: bool) -> None:
    if analyzed:
        session.execute("VACUUM ANALYZE")
    plan, _, blocks = explained(session, "feed/effects_indirect", f"DocumentId > {PARENTS + 1}", looked=100, most=10)
    assert plan["Actual Rows"] == 0
    assert blocks <= 5 * ASKED, blocks


@pytest.mark.parametrize("analyzed", [True, False])
def test_a_transactions_contexts_are_read_once(session: psycopg.Connection, analyzed: bool) -> None:
    if analyzed:
        session.execute("VACUUM ANALYZE")
    plan, scans, blocks = explained(session, "feed/effects_caused", f"DocumentId > {DOCUMENTS - 20}", most=10)
    assert plan["Actual Rows"] >= 1
    assert set(scans.values()) <= {"Index Scan", "Index Only Scan"}, scans
    assert blocks <= 10 * ASKED, blocks
