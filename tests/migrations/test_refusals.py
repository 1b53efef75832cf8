"""Where an upgrade does not belong (acceptance 57): a clear refusal, and nothing changed."""

from collections.abc import Callable, Iterator

import psycopg
import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal import migrating
from tests.helpers import STUDENT, catalog, commit, document, in_psycopg, write


@pytest.fixture
def installer(empty: str) -> Iterator[sa.URL]:
    """The URL of a role that may connect to the empty database, and nothing more."""
    with psycopg.connect(in_psycopg(empty), autocommit=True) as admin:
        name = f"installer_{admin.info.dbname}"
        admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'secret'")
        yield sa.make_url(empty).set(username=name, password="secret")
        admin.execute(f"DROP OWNED BY {name} CASCADE")
        admin.execute(f"DROP ROLE {name}")


def assert_refused(admin: sa.Connection, url: str | sa.URL, match: str, do: Callable[..., None] = migrating.upgrade) -> None:
    before = catalog(admin)
    with pytest.raises(dj.MigrationRefused, match=match) as refused:
        do(url)
    assert "nothing was changed" in str(refused.value)
    assert "secret" not in str(refused.value)
    assert catalog(admin) == before


@pytest.mark.acceptance("57")
def test_a_role_that_may_not_create_a_schema_is_told_what_to_grant(admin: sa.Connection, installer: sa.URL) -> None:
    assert_refused(admin, installer, f"role {installer.username} may not create schema dms.*GRANT CREATE ON DATABASE")


@pytest.mark.acceptance("57")
def test_a_role_that_may_not_create_in_the_schema_is_told_what_to_grant(admin: sa.Connection, installer: sa.URL) -> None:
    commit(admin, "CREATE SCHEMA dms")
    commit(admin, f"GRANT USAGE ON SCHEMA dms TO {installer.username}")
    assert_refused(admin, installer, f"role {installer.username} may not create objects in schema dms.*GRANT USAGE, CREATE ON")


@pytest.mark.acceptance("57")
def test_a_schema_that_was_created_for_the_role_is_enough(admin: sa.Connection, installer: sa.URL) -> None:
    commit(admin, f"CREATE SCHEMA dms AUTHORIZATION {installer.username}")
    migrating.upgrade(installer)
    with dj.connect(installer) as journal:
        write(journal, document(STUDENT, 1))
        assert len(list(journal.changes(STUDENT))) == 1
    migrating.downgrade(installer, "base")


@pytest.mark.acceptance("57")
def test_a_role_that_may_create_in_the_database_is_enough(admin: sa.Connection, installer: sa.URL) -> None:
    commit(admin, f"GRANT CREATE ON DATABASE {installer.database} TO {installer.username}")
    migrating.upgrade(installer)
    with dj.connect(installer) as journal:
        write(journal, document(STUDENT, 1))
    migrating.downgrade(installer, "base")
    migrating.upgrade(installer)


@pytest.mark.acceptance("57")
def test_another_role_than_the_installing_one_is_refused(admin: sa.Connection, empty: str, installer: sa.URL) -> None:
    migrating.upgrade(empty)
    assert_refused(admin, installer, "may not create objects in schema dms", lambda url: migrating.downgrade(url, "base"))
    commit(admin, f"GRANT USAGE, CREATE ON SCHEMA dms TO {installer.username}")
    assert_refused(admin, installer, ".", lambda url: migrating.downgrade(url, "base"))


@pytest.mark.acceptance("57")
def test_what_another_role_left_is_not_taken_up(admin: sa.Connection, empty: str, installer: sa.URL) -> None:
    """Triggers run with the rights of who installs them: the table must be that role's own."""
    migrating.upgrade(empty)
    with dj.connect(empty) as journal:
        write(journal, document(STUDENT, 1))
    migrating.downgrade(empty, "base")
    commit(admin, f"GRANT USAGE, CREATE ON SCHEMA dms TO {installer.username}")
    commit(admin, f"GRANT CREATE ON DATABASE {installer.database} TO {installer.username}")
    commit(admin, f"GRANT ALL ON ALL TABLES IN SCHEMA dms TO {installer.username}")
    assert_refused(admin, installer, "does not own|owner")


@pytest.mark.acceptance("57")
def test_a_database_without_a_schema_has_no_journal(empty: str) -> None:
    assert migrating.current(empty) is None
    with dj.connect(empty) as journal:
        for read in (journal.versions, journal.resources, lambda: journal.changes(STUDENT)):
            with pytest.raises(dj.NotInstalled, match=r"the database has no journal.*dmsjournal upgrade"):
                read()


@pytest.mark.acceptance("57")
@pytest.mark.parametrize("revision", ["0001", "0003", "0005"])
def test_an_older_journal_is_named_with_what_it_needs(empty: str, revision: str) -> None:
    migrating.upgrade(empty, revision)
    with dj.connect(empty) as journal, pytest.raises(dj.NotInstalled, match=r"dmsjournal upgrade") as refused:
        journal.versions()
    assert refused.value.needed == migrating.newest()
    assert refused.value.found == revision


@pytest.mark.acceptance("57")
def test_a_foreign_alembic_version_in_dms_is_refused(admin: sa.Connection, empty: str) -> None:
    commit(admin, "CREATE SCHEMA dms")
    commit(admin, "CREATE TABLE dms.alembic_version (version_num varchar(32) PRIMARY KEY)")
    assert_refused(admin, empty, "objects of another application: alembic_version")
    commit(admin, "INSERT INTO dms.alembic_version VALUES ('0006')")
    assert_refused(admin, empty, "objects of another application: alembic_version")
    assert commit(admin, "SELECT * FROM dms.alembic_version") == [("0006",)]


@pytest.mark.acceptance("57")
def test_a_foreign_alembic_version_in_public_is_left_alone(admin: sa.Connection, empty: str) -> None:
    commit(admin, "CREATE TABLE public.alembic_version (version_num varchar(32) PRIMARY KEY)")
    commit(admin, "INSERT INTO public.alembic_version VALUES ('their_head')")
    migrating.upgrade(empty)
    migrating.downgrade(empty, "base")
    migrating.upgrade(empty)
    assert commit(admin, "SELECT * FROM public.alembic_version") == [("their_head",)]
    assert migrating.current(empty) == migrating.newest()


@pytest.mark.acceptance("57")
@pytest.mark.parametrize(
    "foreign",
    [
        "TABLE dms.Document (x integer)",
        "TABLE dms.theirs (x integer)",
        "VIEW dms.theirs AS SELECT 1",
        "MATERIALIZED VIEW dms.theirs AS SELECT 1",
        "SEQUENCE dms.ChangeVersionSequence",
        "FUNCTION dms.theirs() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "PROCEDURE dms.theirs() LANGUAGE sql AS 'SELECT 1'",
        "TABLE dms.theirs (x integer) PARTITION BY RANGE (x)",
        "TYPE dms.document AS ENUM ('theirs')",
        "DOMAIN dms.journalfloor AS integer",
        "TYPE dms.document AS (theirs integer)",
    ],
)
def test_objects_of_another_application_are_refused_by_name(admin: sa.Connection, empty: str, foreign: str) -> None:
    commit(admin, "CREATE SCHEMA dms")
    commit(admin, f"CREATE {foreign}")
    assert_refused(admin, empty, foreign.partition("dms.")[2].split()[0].strip("()").lower())


@pytest.mark.acceptance("57")
@pytest.mark.parametrize("name", ["Document", "JournalFloor", "ReferenceEdge"])
def test_objects_that_came_after_a_removal_are_refused_by_name(admin: sa.Connection, empty: str, name: str) -> None:
    migrating.upgrade(empty)
    migrating.downgrade(empty, "base")
    commit(admin, f"CREATE TABLE dms.{name} (x integer)")
    assert_refused(admin, empty, name.lower())


@pytest.mark.acceptance("57")
def test_a_revision_that_nobody_knows_is_refused(admin: sa.Connection, empty: str) -> None:
    migrating.upgrade(empty)
    assert_refused(admin, empty, "9999", lambda url: migrating.upgrade(url, "9999"))
    commit(admin, "UPDATE dms.alembic_version SET version_num = '0099'")  # a later release's
    assert_refused(admin, empty, "0099.*release that installed it")


@pytest.mark.acceptance("57")
def test_a_database_that_is_not_there_is_told_apart_from_a_wrong_password(empty: str) -> None:
    url = sa.make_url(empty)
    with pytest.raises(dj.DatabaseRefused, match="does not exist"):
        migrating.upgrade(url.set(database="nowhere"))
    with pytest.raises(dj.DatabaseRefused, match="password") as refused:
        migrating.upgrade(url.set(password="wr0ng"))
    assert "wr0ng" not in str(refused.value)
    for away in (url.set(port=1), url.set(host="no.such.host.invalid")):
        with pytest.raises(dj.Unavailable, match="check the host, the port"):
            migrating.upgrade(away)


@pytest.mark.acceptance("57")
def test_an_upgrade_to_a_revision_that_the_database_is_past_is_refused(empty: str) -> None:
    migrating.upgrade(empty)
    with pytest.raises(dj.InvalidRequest, match=r"'0003'.*is at 0007, past it: downgrade"):
        migrating.upgrade(empty, "0003")
    migrating.upgrade(empty, "0007")
    migrating.downgrade(empty, "0003")
    assert migrating.current(empty) == "0003"


def test_an_object_that_is_missing_in_a_migration_is_told_as_such(url: str, connections: list[sa.Connection]) -> None:
    """Not as a journal that is not installed, which an upgrade would mend."""
    commit(connections[0], "DROP VIEW dms.ResourceChange")
    with pytest.raises(dj.MigrationRefused, match=r"lacks what the migration needs \(.*resourcechange.*verify"):
        migrating.downgrade(url, "base")
