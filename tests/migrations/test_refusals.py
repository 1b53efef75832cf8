"""Where an upgrade does not belong (acceptance 57): a clear refusal, and nothing changed."""

from collections.abc import Callable, Iterator

import psycopg
import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.schema import migrate
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


def assert_refused(admin: sa.Connection, url: str | sa.URL, match: str, do: Callable[..., None] = migrate.upgrade) -> None:
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
    """Where it takes over a schema of another role on purpose."""
    commit(admin, "CREATE SCHEMA dms")
    commit(admin, f"GRANT USAGE ON SCHEMA dms TO {installer.username}")
    assert_refused(admin, installer, f"schema dms .role {installer.username} does not own it, postgres does.*--trust 'schema dms'")
    assert_refused(
        admin,
        installer,
        f"role {installer.username} may not create objects in schema dms.*GRANT USAGE, CREATE ON",
        lambda url: migrate.upgrade(url, trust=["schema dms"]),
    )


@pytest.mark.acceptance("57")
def test_a_schema_that_was_created_for_the_role_is_enough(admin: sa.Connection, installer: sa.URL) -> None:
    commit(admin, f"CREATE SCHEMA dms AUTHORIZATION {installer.username}")
    migrate.upgrade(installer)
    with dj.connect(installer) as journal:
        write(journal, document(STUDENT, 1))
        assert len(list(journal.changes(STUDENT))) == 1
    migrate.downgrade(installer, "base")


@pytest.mark.acceptance("57")
def test_a_role_that_may_create_in_the_database_is_enough(admin: sa.Connection, installer: sa.URL) -> None:
    commit(admin, f"GRANT CREATE ON DATABASE {installer.database} TO {installer.username}")
    migrate.upgrade(installer)
    with dj.connect(installer) as journal:
        write(journal, document(STUDENT, 1))
    migrate.downgrade(installer, "base")
    migrate.upgrade(installer)


@pytest.mark.acceptance("57")
def test_another_role_than_the_installing_one_is_refused(admin: sa.Connection, empty: str, installer: sa.URL) -> None:
    migrate.upgrade(empty)
    named = f"schema dms .role {installer.username} does not own it.*table dms.document .role {installer.username} does not own it"
    assert_refused(admin, installer, named, lambda url: migrate.downgrade(url, "base"))
    commit(admin, f"GRANT USAGE, CREATE ON SCHEMA dms TO {installer.username}")
    assert_refused(admin, installer, named, lambda url: migrate.downgrade(url, "base"))


@pytest.mark.acceptance("57")
def test_what_another_role_left_is_not_taken_up(admin: sa.Connection, empty: str, installer: sa.URL) -> None:
    """Triggers run with the rights of who installs them: the table must be that role's own."""
    migrate.upgrade(empty)
    with dj.connect(empty) as journal:
        write(journal, document(STUDENT, 1))
    migrate.downgrade(empty, "base")
    commit(admin, f"GRANT USAGE, CREATE ON SCHEMA dms TO {installer.username}")
    commit(admin, f"GRANT CREATE ON DATABASE {installer.database} TO {installer.username}")
    commit(admin, f"GRANT ALL ON ALL TABLES IN SCHEMA dms TO {installer.username}")
    assert_refused(admin, installer, "does not own|owner")


@pytest.mark.acceptance("57")
def test_a_database_without_a_schema_has_no_journal(empty: str) -> None:
    assert migrate.current(empty) is None
    with dj.connect(empty) as journal:
        for read in (journal.versions, journal.resources, lambda: journal.changes(STUDENT)):
            with pytest.raises(dj.NotInstalled, match=r"the database has no journal.*dmsjournal upgrade"):
                read()


@pytest.mark.acceptance("57")
@pytest.mark.parametrize("revision", ["0001", "0003", "0005"])
def test_an_older_journal_is_named_with_what_it_needs(empty: str, revision: str) -> None:
    migrate.upgrade(empty, revision)
    with dj.connect(empty) as journal, pytest.raises(dj.NotInstalled, match=r"dmsjournal upgrade") as refused:
        journal.versions()
    assert refused.value.needed == migrate.newest()
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
    migrate.upgrade(empty)
    migrate.downgrade(empty, "base")
    migrate.upgrade(empty)
    assert commit(admin, "SELECT * FROM public.alembic_version") == [("their_head",)]
    assert migrate.current(empty) == migrate.newest()


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
    migrate.upgrade(empty)
    migrate.downgrade(empty, "base")
    commit(admin, f"CREATE TABLE dms.{name} (x integer)")
    assert_refused(admin, empty, name.lower())


@pytest.mark.acceptance("57")
def test_a_revision_that_nobody_knows_is_refused(admin: sa.Connection, empty: str) -> None:
    migrate.upgrade(empty)
    assert_refused(admin, empty, "9999", lambda url: migrate.upgrade(url, "9999"))
    commit(admin, "UPDATE dms.alembic_version SET version_num = '0099'")  # a later release's
    assert_refused(admin, empty, "0099.*release that installed it")


@pytest.mark.acceptance("57")
def test_a_database_that_is_not_there_is_told_apart_from_a_wrong_password(empty: str) -> None:
    url = sa.make_url(empty)
    with pytest.raises(dj.DatabaseRefused, match="does not exist"):
        migrate.upgrade(url.set(database="nowhere"))
    with pytest.raises(dj.DatabaseRefused, match="password") as refused:
        migrate.upgrade(url.set(password="wr0ng"))
    assert "wr0ng" not in str(refused.value)
    for away in (url.set(port=1), url.set(host="no.such.host.invalid")):
        with pytest.raises(dj.Unavailable, match="check the host, the port"):
            migrate.upgrade(away)


@pytest.mark.acceptance("57")
def test_an_upgrade_to_a_revision_that_the_database_is_past_is_refused(empty: str) -> None:
    migrate.upgrade(empty)
    with pytest.raises(dj.InvalidRequest, match=r"'0003'.*is at 0007, past it: downgrade"):
        migrate.upgrade(empty, "0003")
    migrate.upgrade(empty, "0007")
    migrate.downgrade(empty, "0003")
    assert migrate.current(empty) == "0003"


def test_an_object_that_is_missing_in_a_migration_is_told_as_such(url: str, connections: list[sa.Connection]) -> None:
    """Not as a journal that is not installed, which an upgrade would mend."""
    commit(connections[0], "DROP VIEW dms.ResourceChange")
    with pytest.raises(dj.MigrationRefused, match=r"lacks what the migration needs \(.*resourcechange.*verify"):
        migrate.downgrade(url, "base")


def test_a_downgrade_names_the_view_that_is_in_its_way(empty: str, admin: sa.Connection) -> None:
    """And not DROP ... CASCADE, the server's own hint."""
    migrate.upgrade(empty)
    commit(admin, "CREATE VIEW public.theirs AS SELECT DocumentId FROM dms.DocumentChangeEvent")
    with pytest.raises(dj.MigrationRefused, match=r"view public\.theirs depends on .*drop that") as told:
        migrate.downgrade(empty, "base")
    assert "CASCADE" not in str(told.value)
