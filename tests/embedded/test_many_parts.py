"""A server whose lock table is small: a migration of thousands of parts does not fit, and says what to set."""

import os

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.schema import migrate
from dmsjournal.testing.embedded import EmbeddedPostgres
from tests.helpers import commit

SMALL = {"fsync": "off", "max_connections": "10", "max_locks_per_transaction": "10", "max_prepared_transactions": "0"}
MADE = """DO $$ BEGIN FOR part IN {0}..{0} + 49 LOOP
    EXECUTE concat('CREATE TABLE dms.part_', part, ' PARTITION OF dms.DocumentChangeEvent',
                   ' FOR VALUES FROM (', part, ') TO (', part + 1, ')');
END LOOP; END $$"""


def test_a_migration_that_takes_too_many_locks_says_what_to_set() -> None:
    """It fails each time, so it is not called safe to try again."""
    with EmbeddedPostgres(settings=SMALL, bin_dir=os.environ.get("DMSJOURNAL_TEST_POSTGRES_BIN")) as server:
        url = server.url()
        migrate.upgrade(url, options=["partitions"])
        with sa.create_engine(url, poolclass=sa.NullPool).connect() as admin:
            for first in range(1_000_000, 1_000_000 + 2_000, 50):
                commit(admin, MADE.format(first))
        with pytest.raises(
            dj.MigrationRefused, match=r"more locks than the server.*nothing was changed.*max_locks_per_transaction"
        ) as told:
            migrate.downgrade(url, without=["partitions"])
        assert "try again" not in str(told.value)
        refused = pytest.raises(dj.Unavailable, match=r"shared memory: try again.*max_locks_per_transaction")
        with dj.connect(url) as journal, refused, journal.database.session() as session:
            session.conn.exec_driver_sql("LOCK TABLE dms.DocumentChangeEvent")
