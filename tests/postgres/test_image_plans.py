"""What reading images and contexts touches: a few blocks an event, wherever it is and however many there are."""

import json
from collections.abc import Iterator

import psycopg
import pytest
import sqlalchemy as sa

from dmsjournal.database import sql
from dmsjournal.schema import migrate
from tests.helpers import in_psycopg

DOCUMENTS, ROUNDS, ASKED = 2_000, 10, 50


@pytest.fixture
def session(url: str) -> Iterator[psycopg.Connection]:
    """Each document changed 10 times, in transactions of 2,000, its body only every second time."""
    migrate.upgrade(url, options=["images", "context"])
    with psycopg.connect(in_psycopg(url), autocommit=True) as session:
        session.execute("INSERT INTO dms.ResourceKey VALUES (1, 'Ed-Fi', 'Student', '5.2.0')")
        session.execute(f"INSERT INTO dms.Document (ResourceKeyId) SELECT 1 FROM generate_series(1, {DOCUMENTS})")
        session.execute(
            "INSERT INTO dms.DocumentCache (DocumentId, DocumentJson, Etag, ComputedVersion) "
            "SELECT DocumentId, '{}', '', 0 FROM dms.Document"
        )
        for n in range(ROUNDS):
            with session.transaction():
                session.execute("SELECT set_config('dmsjournal.context', %s, true)", [f'{{"user": "{n}"}}'])
                session.execute("UPDATE dms.Document SET ContentVersion = NULL")
                if n % 2:
                    session.execute("UPDATE dms.DocumentCache SET DocumentJson = jsonb_build_object('n', %s::int)", [n])
        session.execute("DELETE FROM dms.Document WHERE DocumentId > %s", [DOCUMENTS // 2])
        yield session


@pytest.mark.parametrize("analyzed", [True, False])
@pytest.mark.parametrize("name", ["images", "contexts"])
def test_an_event_is_looked_up_by_key(session: psycopg.Connection, name: str, analyzed: bool) -> None:
    if analyzed:
        session.execute("VACUUM ANALYZE")
    every = "SELECT ChangeVersion, DocumentId FROM dms.DocumentChangeEvent ORDER BY ChangeVersion"
    events = session.execute(f"{every} OFFSET {DOCUMENTS * ROUNDS // 2} LIMIT {ASKED}").fetchall()
    rows = json.dumps([{"change_version": version, "document_id": document_id} for version, document_id in events])
    query = str(sa.text(sql.text_of("postgres", f"queries/read/{name}"))).replace(":rows", "%s")
    [[[plan]]] = session.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query}", [rows]).fetchall()
    nodes = list(walked(plan["Plan"]))
    scanned = {node["Relation Name"]: node["Node Type"] for node in nodes if "Relation Name" in node}
    small = {"documentimagefloor", "imageexclusion", "changecontext"} if name == "images" else {"changecontext"}
    assert {scanned[relation] for relation in scanned.keys() - small} <= {"Index Scan", "Index Only Scan"}, scanned
    large = [node for node in nodes if node.get("Relation Name") not in small]
    assert sum(node.get("Rows Removed by Filter", 0) for node in large) == 0, plan
    blocks = plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"]
    assert blocks <= 20 * ASKED, blocks
    assert plan["Plan"]["Actual Rows"] == ASKED


def walked(node: dict) -> Iterator[dict]:
    yield node
    for child in node.get("Plans", ()):
        yield from walked(child)
