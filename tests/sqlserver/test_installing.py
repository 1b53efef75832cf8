"""Installing, removing and installing again on SQL Server (acceptance 54 to 57): online, and the script batch by batch."""

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.database import sql
from dmsjournal.schema import migrate
from tests.helpers import (
    PLAN,
    change_identity,
    commit,
    document_events,
    drawn,
    expected_changes,
    newest,
    populate,
    unjournaled,
)

from .conftest import catalog


def run(url: str, script: str) -> None:
    """Runs a script as `sqlcmd -b` does: batch by batch, in one session, to the first error."""
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as session:
        for batch in sql.batches(script):
            migrate.run_batch(session, batch)


def assert_as_defined(journal: dj.Journal, connection: sa.Connection) -> None:
    window = dj.Window(journal.versions().oldest)
    for of, resource_key_id in journal.resources().items():
        assert list(journal.changes(of, window)) == expected_changes(connection, resource_key_id, window), of


@pytest.mark.acceptance("54")
def test_an_empty_database_is_the_same_after_removal_and_upgrade(empty: str, admin: sa.Connection) -> None:
    migrate.upgrade(empty)
    installed = catalog(admin)
    assert installed["revision"] == [(migrate.newest("sqlserver"),)]
    assert len(installed["triggers"]) == 3
    migrate.downgrade(empty, "base")
    assert migrate.current(empty) is None
    assert {name for name, _ in catalog(admin)["objects"]} == {"alembic_version"}
    migrate.upgrade(empty)
    assert catalog(admin) == installed
    with dj.connect(empty) as journal:
        assert journal.versions() == dj.ChangeVersions(0, 0)


@pytest.mark.acceptance("54")
def test_documents_outlive_a_removal_and_have_one_event_each_afterwards(empty: str, admin: sa.Connection) -> None:
    migrate.upgrade(empty)
    populate(empty)
    installed, reached = catalog(admin), drawn(admin)
    documents = commit(admin, "SELECT * FROM dms.Document ORDER BY DocumentId")
    migrate.downgrade(empty, "base")
    assert commit(admin, "SELECT * FROM dms.Document ORDER BY DocumentId") == documents
    migrate.upgrade(empty)
    assert catalog(admin) == installed
    assert commit(admin, "SELECT * FROM dms.Document ORDER BY DocumentId") == documents
    assert [len(document_events(admin, document[0])) for document in documents] == [1, 1, 1]
    assert unjournaled(admin) == []
    assert drawn(admin) > reached  # each journal that was away expires what came before, by a stamp of its own
    with dj.connect(empty) as journal:
        assert_as_defined(journal, admin)
        with pytest.raises(dj.CheckpointExpired):
            journal.changes(PLAN, dj.Window(reached + 1))
        reached = newest(journal)
        change_identity(admin, 1)
        assert [change.change_version for change in journal.changes(PLAN, dj.Window(reached + 1))] == [reached + 1]
        assert_as_defined(journal, admin)


@pytest.mark.acceptance("54")
def test_one_step_after_the_other_leads_to_the_same(empty: str, admin: sa.Connection) -> None:
    revisions = ["0001", "0002", "0003", "0004", "0005", "0006", "0007"]
    seen = []
    for revision in revisions:
        migrate.upgrade(empty, revision)
        assert migrate.current(empty) == revision
        seen.append(catalog(admin))
    for revision, expected in zip(revisions[-2::-1], seen[-2::-1], strict=True):
        migrate.downgrade(empty, revision)
        assert catalog(admin) == expected, revision
    migrate.downgrade(empty, "base")
    migrate.upgrade(empty)
    assert catalog(admin) == seen[-1]


@pytest.mark.acceptance("54", "55")
def test_the_scripts_install_remove_and_install_again(empty: str, admin: sa.Connection) -> None:
    migrate.upgrade(empty)
    installed = catalog(admin)
    migrate.downgrade(empty, "base")
    run(empty, migrate.script("sqlserver"))
    assert catalog(admin) == installed
    assert migrate.current(empty) == migrate.newest("sqlserver")
    populate(empty)
    run(empty, migrate.script("sqlserver", "head:base", down=True))
    assert migrate.current(empty) is None
    assert commit(admin, "SELECT COUNT(*) FROM dms.Document") == [(3,)]
    run(empty, migrate.script("sqlserver"))
    assert catalog(admin) == installed
    assert unjournaled(admin) == []
    with dj.connect(empty) as journal:
        assert_as_defined(journal, admin)


@pytest.mark.acceptance("55")
@pytest.mark.parametrize("stops", [True, False])
def test_a_script_that_fails_leaves_nothing(empty: str, admin: sa.Connection, stops: bool) -> None:
    """Also where it goes on after the error, as `sqlcmd` does without -b."""
    commit(admin, "CREATE SCHEMA dms")
    commit(admin, "CREATE TABLE dms.other (n integer)")
    before = catalog(admin)
    engine = sa.create_engine(empty, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    errors = []
    with engine.connect() as session:
        for batch in sql.batches(migrate.script("sqlserver")):
            try:
                migrate.run_batch(session, batch)
            except sa.exc.DBAPIError as error:
                errors.append(str(error))
                if stops:
                    break
    assert "another application: other" in errors[0]
    assert catalog(admin) == before


@pytest.mark.acceptance("57")
def test_another_application_s_schema_is_refused(empty: str, admin: sa.Connection) -> None:
    commit(admin, "CREATE SCHEMA dms")
    commit(admin, "CREATE TABLE dms.other (n integer)")
    before = catalog(admin)
    with pytest.raises(dj.MigrationRefused, match=r"objects of another application: other; nothing was changed"):
        migrate.upgrade(empty)
    assert catalog(admin) == before


@pytest.mark.acceptance("57")
def test_a_database_without_a_journal_says_how_to_install_it(empty: str) -> None:
    assert migrate.current(empty) is None
    with dj.connect(empty) as journal, pytest.raises(dj.NotInstalled, match=r"the database has no journal.*dmsjournal upgrade"):
        journal.versions()
    migrate.upgrade(empty, "0003")
    with dj.connect(empty) as journal, pytest.raises(dj.NotInstalled) as refused:
        journal.versions()
    assert (refused.value.found, refused.value.needed) == ("0003", "0007")


@pytest.mark.acceptance("56")
def test_a_lock_on_documents_makes_it_give_up_with_nothing_changed(empty: str, admin: sa.Connection) -> None:
    migrate.upgrade(empty)
    populate(empty)
    before = catalog(admin)
    engine = sa.create_engine(empty, poolclass=sa.NullPool)
    with engine.connect() as writer:
        writer.exec_driver_sql("UPDATE dms.Document SET ContentVersion = -1 WHERE DocumentId = 1")
        with pytest.raises(dj.MigrationRefused, match=r"lock .* is held by another session; nothing was changed"):
            migrate.downgrade(empty, "base", lock_timeout="300ms")
        writer.commit()  # nobody cancelled it
    assert catalog(admin) == before
    migrate.downgrade(empty, "base")
