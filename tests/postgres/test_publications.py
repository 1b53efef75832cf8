"""Logical replication out of the database: each table of ours can be published with all of its changes.

A table without a replica identity takes inserts only, once a publication has it (55000).
"""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.schema import migrate
from tests.helpers import PLAN, STUDENT, commit, document, write
from tests.postgres.test_planted_names import INSTALLING, OPTIONS, PRUNING, invoke, write_everything


@pytest.fixture
def url(postgres_server) -> Iterator[str]:
    with postgres_server.fresh_database() as url:
        yield url


@pytest.mark.parametrize("published", ["FOR ALL TABLES", "FOR TABLES IN SCHEMA dms"])
def test_every_command_runs_where_all_tables_are_published(url: str, connections: list[sa.Connection], published: str) -> None:
    commit(connections[0], "CREATE SCHEMA dms")
    commit(connections[0], f"CREATE PUBLICATION everything {published}")
    migrate.upgrade(url, options=OPTIONS)
    write_everything(url)
    for arguments in (*PRUNING, *INSTALLING, ("downgrade", "base")):
        invoke(url, *arguments)


def test_a_rename_that_stays_pending_is_taken_up_by_the_next(url: str, connections: list[sa.Connection]) -> None:
    """Option max_dep_identity_version: a REPEATABLE READ transaction leaves its row, another one deletes it."""
    migrate.upgrade(url, options=["max_dep_identity_version"])
    commit(connections[0], "CREATE PUBLICATION everything FOR ALL TABLES")
    with dj.connect(url) as journal:
        student, other = document(STUDENT, 1), document(STUDENT, 2)
        write(journal, student, other, document(PLAN, 1, student))
        rename = "UPDATE dms.Document SET IdentityVersion = -1 WHERE DocumentId = {}"
        commit(connections[0], f"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; {rename.format(1)}")
        pending = "SELECT count(*) FROM dms.MaxDepIdentityPending"
        assert commit(connections[0], pending) == [(1,)]
        commit(connections[0], rename.format(2))
        assert commit(connections[0], pending) == [(0,)]


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE dms.MaxDepIdentityPending REPLICA IDENTITY DEFAULT",
        "ALTER TABLE dms.Document REPLICA IDENTITY NOTHING",
        "ALTER TABLE dms.DocumentDeleteEvent_default REPLICA IDENTITY NOTHING",
    ],
)
def test_verify_names_a_table_without_a_replica_identity(url: str, connections: list[sa.Connection], statement: str) -> None:
    migrate.upgrade(url, options=OPTIONS)
    with dj.connect(url) as journal:
        assert journal.verify().is_clean
        commit(connections[0], statement)
        [finding] = journal.verify().findings
        assert finding.code == "table-altered"
        assert "has no replica identity" in str(finding.objects[0])
