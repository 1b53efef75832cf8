"""No command waits for a lock for ever, and the error names who holds it."""

from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.schema import migrate
from tests.helpers import STUDENT, commit, document, write

SOON = {"options": "-c lock_timeout=200ms"}


@pytest.fixture
def holder(url: str) -> Iterator[sa.Connection]:
    engine = sa.create_engine(url, poolclass=sa.NullPool, connect_args={"application_name": "nightly"})
    with engine.connect() as connection:
        yield connection


def test_every_connection_of_ours_has_a_lock_timeout_unless_somebody_set_one(journal: dj.Journal, url: str, connections) -> None:
    def shown(url: str | sa.URL) -> object:
        with dj.connect(url) as db, db.database.session() as session:
            return session.conn.exec_driver_sql("SHOW lock_timeout").scalar()

    assert shown(url) == "30s"
    assert shown(sa.make_url(url).update_query_dict({"options": "-c lock_timeout=7s"})) == "7s"
    database = sa.make_url(url).database
    commit(connections[0], f"ALTER DATABASE {database} SET lock_timeout = '3s'")
    assert shown(url) == "3s"


@pytest.mark.parametrize(
    "command",
    [
        lambda db: db.status(),
        lambda db: db.prune(1),
        lambda db: db.consumers.list(),
        lambda db: db.consumers.register("new"),
        lambda db: db.consumers.advance("warehouse", 2),
        lambda db: db.consumers.drop("warehouse"),
        lambda db: db.verify(),
    ],
    ids=["status", "prune", "list", "register", "advance", "drop", "verify"],
)
def test_a_locked_table_of_consumers_stalls_nobody_for_ever(
    journal: dj.Journal, url: str, holder: sa.Connection, command: Callable[[dj.Journal], object]
) -> None:
    write(journal, document(STUDENT, 1), document(STUDENT, 2))
    journal.consumers.register("warehouse", 1)
    holder.exec_driver_sql("LOCK TABLE dms.ChangeConsumer IN ACCESS EXCLUSIVE MODE")
    pid = holder.exec_driver_sql("SELECT pg_backend_pid()").scalar()
    with dj.connect(sa.make_url(url).update_query_dict(SOON)) as db, pytest.raises(dj.Unavailable) as refused:
        command(db)
    message = str(refused.value)
    assert f"session {pid} of postgres (nightly, on 127.0.0.1): AccessExclusive on dms.changeconsumer" in message
    assert "docs/dba/locks.md" in message


def test_an_advisory_lock_of_our_key_space_is_named_too(journal: dj.Journal, url: str, holder: sa.Connection) -> None:
    """Any role of the database may take one: it can hold a writer up, no longer than the lock timeout, and is named."""
    holder.exec_driver_sql("SELECT count(pg_advisory_lock(1146768490, stripe)) FROM generate_series(0, 255) AS stripe")
    with (
        dj.connect(sa.make_url(url).update_query_dict(SOON)) as db,
        pytest.raises(dj.Unavailable, match=r"of postgres \(nightly, on 127\.0\.0\.1\): advisory lock 1146768490, "),
    ):
        write(db, document(STUDENT, 1))


def test_a_row_lock_is_waited_for_no_longer(journal: dj.Journal, url: str, holder: sa.Connection) -> None:
    write(journal, document(STUDENT, 1))
    journal.consumers.register("warehouse", 0)
    holder.exec_driver_sql("SELECT FROM dms.ChangeConsumer FOR UPDATE")
    with dj.connect(sa.make_url(url).update_query_dict(SOON)) as db, pytest.raises(dj.Unavailable) as refused:
        db.consumers.advance("warehouse", 1)
    assert "RowShare on dms.changeconsumer" in str(refused.value)


def test_a_migration_names_who_holds_its_lock(journal: dj.Journal, url: str, holder: sa.Connection) -> None:
    holder.exec_driver_sql("LOCK TABLE dms.Document IN ROW EXCLUSIVE MODE")
    with pytest.raises(dj.MigrationRefused, match=r"of postgres \(nightly, .*RowExclusive on dms\.document"):
        migrate.upgrade(url, options=["images"], lock_timeout="200ms")
