"""A page of option max_dep_identity_version is one range of one index, wherever it is and whatever the window."""

import json
import re
from typing import Any

import psycopg

from dmsjournal.database import sql
from dmsjournal.schema import migrate
from tests.helpers import in_psycopg

DOCUMENTS, PAGE = 20_000, 501


def scans(plan: dict[str, Any]) -> list[dict[str, Any]]:
    below = [scan for child in plan.get("Plans", []) for scan in scans(child)]
    return [plan, *below] if plan.get("Relation Name") == "document" else below


def test_a_page_reads_its_own_rows_only(url: str) -> None:
    migrate.upgrade(url, options=["max_dep_identity_version"])
    query = re.sub(r":(\w+)", r"%(\1)s", sql.text_of("postgres", "queries/read/change_page_stored"))
    with psycopg.connect(in_psycopg(url), autocommit=True, prepare_threshold=None) as session:
        session.execute("INSERT INTO dms.ResourceKey VALUES (1, 'Ed-Fi', 'Child', '1'), (2, 'Ed-Fi', 'Parent', '1')")
        session.execute(
            f"INSERT INTO dms.Document (DocumentId, ResourceKeyId) SELECT n, 1 + n % 2 FROM generate_series(1, {DOCUMENTS}) AS n"
        )
        session.execute(
            "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) SELECT n, 2 FROM generate_series(3, 9999, 2) AS n"
        )
        session.execute("UPDATE dms.Document SET IdentityVersion = NULL WHERE DocumentId = 2")
        for statistics in ("SELECT", "VACUUM ANALYZE"):
            session.execute(statistics)
            for after in ((0, 0), (DOCUMENTS // 2, 0), (2**40, 0)):
                binds = {"resource_key_id": 2, "after_version": after[0], "after_id": after[1]}
                binds |= {"max_version": 2**41, "page_size": PAGE}
                with session.transaction():
                    session.execute(sql.text_of("postgres", "queries/database/begin_page"))
                    explained = session.execute("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + query, binds).fetchone()
                assert explained is not None
                plan = explained[0][0]["Plan"]
                found, shown = scans(plan), json.dumps(plan)
                assert {scan["Index Name"] for scan in found} == {"ix_document_maxdepidentityversion"}, shown
                assert sum(scan.get("Rows Removed by Filter", 0) for scan in found) == 0, shown
                assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= 2 * PAGE + 50, shown
