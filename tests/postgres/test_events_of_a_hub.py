"""A rename of a document that very many refer to, told as events: in bounded pages, across kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from tests.feeds import walk
from tests.helpers import PLAN, STUDENT, commit, document, write

ROOT = Path(__file__).parents[2]


def hub(journal: dj.Journal, connection: sa.Connection, referrers: int) -> int:
    """A student that so many plans refer to, then renamed; the version of the rename."""
    write(journal, document(STUDENT, 1), document(PLAN, 0))
    plan = journal.resources()[PLAN]
    commit(connection, f"INSERT INTO dms.Document (ResourceKeyId) SELECT {plan} FROM generate_series(1, {referrers})")
    commit(
        connection,
        "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) "
        f"SELECT DocumentId, 1 FROM dms.Document WHERE ResourceKeyId = {plan} AND DocumentId > 2",
    )
    with journal.write() as tx:
        tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 2})
    return journal.versions().newest


def test_a_page_costs_what_it_holds(journal: dj.Journal, connections: list[sa.Connection]) -> None:
    """Each page inside of the rename is of the size that was asked for, and ends where the next one begins."""
    version = hub(journal, connections[0], 3_000)
    events, pages = walk(
        journal, dj.FeedRequest(dj.EntireCollection(), dj.AfterVersion(version - 1), max_page_size=500, indirect=True)
    )
    assert len({event.event_id for event in events}) == len(events) == 3_001
    assert [len(page.events) for page in pages if page.events] == [500] * 6 + [1]


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.acceptance("77")
def test_two_hundred_thousand_referrers_across_two_kills(
    journal: dj.Journal, connections: list[sa.Connection], url: str, tmp_path: Path
) -> None:
    version = hub(journal, connections[0], 200_000)
    token = journal.feed_start(dj.FeedRequest(start=dj.AfterVersion(version - 1)))
    kept = tmp_path / "token"
    kept.write_text(token)
    command = [
        sys.executable,
        "-m",
        "dmsjournal",
        "feed",
        "--url",
        url,
        "--indirect",
        "--page-size",
        "500",
        "--checkpoint",
        str(kept),
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    seen: list[str] = []
    for lines in (40_000, 60_000, None):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            assert process.stdout is not None
            for number, line in enumerate(process.stdout, 1):
                seen.append(json.loads(line)["event_id"])
                if number == lines:
                    process.send_signal(signal.SIGKILL)
                    break
        assert process.returncode in (0, -signal.SIGKILL)
    repeated = len(seen) - len(set(seen))
    assert len(set(seen)) == 200_001
    assert repeated <= 2 * 3 * 500  # what a killed program had printed, and not kept yet
    assert len(walk(journal, dj.FeedRequest(start=dj.AfterVersion(version - 1)))[0]) == 1  # without `indirect`
