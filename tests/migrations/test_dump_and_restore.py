"""A dump and what is restored from it (acceptance 58): pg_dump's search_path is empty, and transaction ids may come again."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.schema import migrate
from dmsjournal.testing.embedded import EmbeddedPostgres
from tests.adoptions import adopt
from tests.helpers import (
    PLAN,
    SCHOOL,
    STUDENT,
    add_edge,
    catalog,
    change_content,
    change_identity,
    commit,
    document,
    drawn,
    expected_changes,
    newest,
    stamps,
    unjournaled,
    write,
)
from tests.older import other_binaries


@pytest.fixture(params=["plain", "custom", "plain with partitions", "custom with partitions"])
def restored(request: pytest.FixtureRequest, journal: dj.Journal, url: str, empty: str, program, tmp_path: Path) -> Iterator[str]:
    """The URL of a database that holds a dump of the one of `journal`."""
    form, _, options = request.param.partition(" with ")
    if options:
        migrate.upgrade(url, options=[options])
        journal.partitions.ensure(versions=4, ahead=1)
    student = document(STUDENT, 1, body={"name": "Ñandú"})
    write(journal, student, document(PLAN, 1, student), document(SCHOOL, 1), document(SCHOOL, 2))
    with journal.write() as tx:
        tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 2})
        tx.delete(SCHOOL, {"schoolId": 2})
    dump = str(tmp_path / "dump")
    program("pg_dump", url, f"--format={form}", f"--file={dump}")
    if form == "plain":
        program("psql", empty, "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--single-transaction", f"--file={dump}")
    else:
        program("pg_restore", empty, "--exit-on-error", "--jobs=2", f"--dbname={sa.make_url(empty).database}", dump)
    return empty


@pytest.mark.acceptance("83")
@pytest.mark.parametrize("options", [[], ["context", "images", "max_dep_identity_version", "partitions"]], ids=["", "with options"])
def test_a_dump_without_comments_is_known_as_ours(url: str, empty: str, program, tmp_path: Path, options: list[str]) -> None:
    """Its objects say what it is, and their owner that it is ours: each command of the installing role goes on."""
    migrate.upgrade(url, options=options)
    with dj.connect(url) as journal:
        write(journal, document(SCHOOL, 1))
    dump = str(tmp_path / "dump")
    program("pg_dump", url, "--no-comments", f"--file={dump}")
    program("psql", empty, "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--single-transaction", f"--file={dump}")
    with dj.connect(empty) as copy:
        assert copy.verify().is_clean
        assert migrate.upgrade(empty).options == tuple(options)
        if options:
            migrate.downgrade(empty, without=options)
    with dj.connect(empty) as copy:
        assert copy.verify().is_clean
        assert adopt(empty).steps == []
        migrate.downgrade(empty, "base")
        migrate.upgrade(empty)
        reached = newest(copy)
        write(copy, document(SCHOOL, 2))
        assert copy.verify().is_clean
        assert [change.document_id for change in copy.changes(SCHOOL, dj.Window(reached + 1))] == [2]


@pytest.mark.parametrize("owner", ["postgres", "stranger"])
def test_what_only_looks_like_ours_is_not_taken(empty: str, admin: sa.Connection, owner: str) -> None:
    """Owners decide first. An alembic_version of the role's own without the journal beside it is no installation."""
    commit(admin, "CREATE SCHEMA dms; CREATE TABLE dms.alembic_version (version_num varchar(32) PRIMARY KEY)")
    commit(admin, "INSERT INTO dms.alembic_version VALUES ('0007'); CREATE TABLE dms.Document (DocumentId bigint)")
    if owner == "stranger":
        role = f"stranger_{sa.make_url(empty).database}"
        commit(admin, f"CREATE ROLE {role}; ALTER TABLE dms.alembic_version OWNER TO {role}")
    try:
        expected = "of another application" if owner == "postgres" else "not all of the installing role"
        with pytest.raises(dj.MigrationRefused, match=expected):
            migrate.upgrade(empty)
    finally:
        if owner == "stranger":
            commit(admin, f"DROP OWNED BY {role}; DROP ROLE {role}")


@pytest.mark.acceptance("58")
def test_a_restored_database_reads_and_writes_as_the_old_one(
    journal: dj.Journal, connections, restored: str, admin: sa.Connection
) -> None:
    assert catalog(admin) == catalog(connections[0])
    with dj.connect(restored) as copy:
        assert copy.verify().is_clean
        assert copy.versions() == journal.versions()
        assert copy.resources() == journal.resources()
        for of, resource_key_id in copy.resources().items():
            assert list(copy.changes(of)) == list(journal.changes(of)) == expected_changes(admin, resource_key_id)
            assert list(copy.deletes(of)) == list(journal.deletes(of))
            assert list(copy.key_changes(of)) == list(journal.key_changes(of))
        assert copy.derive([1, 2, 3]) == journal.derive([1, 2, 3])

        reached = newest(copy)
        student_id, plan_id, school_id = 1, 2, 3
        change_content(admin, plan_id)
        change_identity(admin, student_id)
        add_edge(admin, school_id, student_id)
        commit(admin, f"DELETE FROM dms.Document WHERE DocumentId = {plan_id}")
        write(copy, document(SCHOOL, 2), document(PLAN, 2, document(SCHOOL, 2)))
        assert stamps(admin, student_id)[1] == reached + 2
        assert stamps(admin, school_id)[0] == reached + 3
        assert [tombstone.change_version for tombstone in copy.deletes(PLAN)] == [reached + 4]
        assert newest(copy) == drawn(admin) == reached + 6
        assert not unjournaled(admin)
        assert copy.verify().is_clean
        for of, resource_key_id in copy.resources().items():
            assert list(copy.changes(of)) == expected_changes(admin, resource_key_id)
        with pytest.raises(sa.exc.DBAPIError, match="is refused"):
            commit(admin, "TRUNCATE dms.ReferenceEdge")
    migrate.upgrade(restored)  # it is at the newest revision, and known as ours
    migrate.downgrade(restored, "base")
    migrate.upgrade(restored)


@pytest.mark.acceptance("58")
def test_an_edge_stamps_its_parent_where_an_old_transactions_id_comes_again(restored: str, admin: sa.Connection) -> None:
    """In a new cluster transaction ids begin low: one that a restored event carries will be a later transaction's."""
    ours = "UPDATE dms.DocumentChangeEvent SET TransactionId = pg_current_xact_id()::text::bigint"
    entering = "UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = 1"
    for first, statement in (  # of a parent whose stamp is above its children's, which would be a reason of its own
        ("SELECT", "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (3, 2)"),
        (entering, "UPDATE dms.ReferenceEdge SET ChildDocumentId = 1 WHERE ParentDocumentId = 3"),
        (entering, "DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId = 3"),
    ):
        with admin.begin():
            admin.exec_driver_sql(ours)
            admin.exec_driver_sql(first)
            admin.exec_driver_sql(statement)
        assert stamps(admin, 3)[0] == drawn(admin), statement
    with dj.connect(restored) as copy:
        for of, resource_key_id in copy.resources().items():
            assert list(copy.changes(of)) == expected_changes(admin, resource_key_id)


@pytest.mark.acceptance("108")
def test_a_writer_of_another_cluster_hides_no_edge_behind_an_old_transactions_id(
    journal: dj.Journal, url: str, connections, program, postgres_server, tmp_path: Path
) -> None:
    """It waits until the id of a restored event is its own, and writes the setting that says where its transaction began."""
    write(journal, document(STUDENT, 1), document(SCHOOL, 1))
    last = "SELECT TransactionId FROM dms.DocumentChangeEvent WHERE DocumentId = 2"
    [(wanted,)] = commit(connections[0], last)
    dump = str(tmp_path / "dump")
    program("pg_dump", url, "--format=custom", f"--file={dump}")
    with EmbeddedPostgres(settings={"fsync": "off", "autovacuum": "off"}, bin_dir=postgres_server.embedded.bin_dir) as server:
        program("pg_restore", server.url(), "--exit-on-error", "--dbname=postgres", dump)
        engine = sa.create_engine(server.url(), poolclass=sa.NullPool)
        with engine.connect() as other:
            [(now,)] = commit(other, "SELECT pg_current_xact_id()::text::bigint")
            if now >= wanted:  # the dump comes from a cluster that has used few ids: its event gets one that is to come
                wanted = now + 100
                commit(other, f"UPDATE dms.DocumentChangeEvent SET TransactionId = {wanted}")
            used_up = f"pg_current_xact_id()::text::bigint < {wanted - 1}"
            other.connection.driver_connection.autocommit = True  # type: ignore[union-attr]
            other.exec_driver_sql(f"DO $$ BEGIN WHILE {used_up} LOOP COMMIT; END LOOP; END $$")
            other.rollback()
            other.connection.driver_connection.autocommit = False  # type: ignore[union-attr]
            with other.begin():
                assert other.exec_driver_sql("SELECT pg_current_xact_id()::text::bigint").scalar_one() == wanted
                other.exec_driver_sql("SET LOCAL dms.entered_at = '0'")
                other.exec_driver_sql("INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES (2, 1)")
            assert stamps(other, 2) == (3, 2)
            with dj.connect(server.url()) as copy:
                assert [change.document_id for change in copy.changes(SCHOOL, dj.Window(3))] == [2]
                assert copy.verify().is_clean


@pytest.mark.acceptance("58")
def test_an_option_is_dumped_and_restored_with_the_rest(
    journal: dj.Journal, url: str, connections, empty: str, admin: sa.Connection, program, tmp_path: Path
) -> None:
    """Its column, its triggers and its part of the view; a rename in the restored database raises the parents of then and now."""
    migrate.upgrade(url, options=["max_dep_identity_version"])
    student, other = document(STUDENT, 1), document(STUDENT, 2)
    write(journal, student, other, document(PLAN, 1, student))
    change_identity(connections[0], 1)
    newest_child = "SELECT MaxDepIdentityVersion FROM dms.Document WHERE DocumentId = 3"
    kept = commit(connections[0], newest_child)
    dump = str(tmp_path / "dump")
    program("pg_dump", url, "--format=custom", f"--file={dump}")
    program("pg_restore", empty, "--exit-on-error", f"--dbname={sa.make_url(empty).database}", dump)
    assert catalog(admin) == catalog(connections[0])
    assert commit(admin, newest_child) == kept == [(stamps(admin, 1)[1],)]
    assert migrate.installed(empty).options == ("max_dep_identity_version",)
    with dj.connect(empty) as copy:
        assert copy.verify().is_clean
        add_edge(admin, 3, 2)
        change_identity(admin, 2)
        assert commit(admin, newest_child) == [(stamps(admin, 2)[1],)]
        for of, resource_key_id in copy.resources().items():
            assert list(copy.changes(of)) == expected_changes(admin, resource_key_id)
        assert copy.verify().is_clean


@pytest.mark.acceptance("58")
def test_a_dump_of_an_older_server_is_restored_into_a_newer_one(
    postgres_server, program, empty: str, admin: sa.Connection, tmp_path: Path
) -> None:
    """To another major version: triggers and functions are as shipped there, and a consumer goes on."""
    older = other_binaries(postgres_server.embedded.version)
    dump, database = str(tmp_path / "dump"), sa.make_url(empty).database
    with EmbeddedPostgres(settings={"fsync": "off"}, bin_dir=older) as server:
        migrate.upgrade(server.url())
        with dj.connect(server.url()) as old:
            student = document(STUDENT, 1)
            write(old, student, document(PLAN, 1, student), document(SCHOOL, 1))
            with old.write() as tx:
                tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 2})
                tx.delete(SCHOOL, {"schoolId": 1})
            assert old.verify().is_clean
            reached = old.versions().newest
            seen = {of: list(old.changes(of)) for of in old.resources()}
            program("pg_dump", server.url(), "--format=custom", f"--file={dump}")  # the newer server's
            if b"pg_attver" in (older / "pg_dump").read_bytes() and not knows_column_versions(admin):
                refused = program("pg_restore", empty, "--single-transaction", f"--dbname={database}", dump, check=False)
                assert 'unrecognized parameter "pg_attver"' in refused
                program("pg_dump", server.url(), "--format=custom", f"--file={dump}", folder=older)  # docs/dba/restore.md
    program("pg_restore", empty, "--exit-on-error", f"--dbname={database}", dump)
    with dj.connect(empty) as new:
        assert new.versions().newest == reached
        assert {of: list(new.changes(of)) for of in new.resources()} == seen
        assert new.verify().is_clean
        change_identity(admin, 1)
        write(new, document(SCHOOL, 2))
        assert [change.document_id for change in new.changes(PLAN, dj.Window(reached + 1))] == [2]
        assert new.verify().is_clean
        assert newest(new) == reached + 2


def knows_column_versions(admin: sa.Connection) -> bool:
    """Whether a server keeps a version of each column among its options, as the minor releases of November 2026 do."""
    return bool(commit(admin, "SELECT EXISTS (SELECT FROM pg_attribute WHERE attoptions::text ~ 'pg_attver=')")[0][0])
