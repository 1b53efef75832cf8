"""Installing, removing and installing again (acceptance 54, 56)."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import astuple
from functools import partial

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.schema import migrate as migrations
from tests.helpers import (
    PLAN,
    SCHOOL,
    STUDENT,
    catalog,
    change_identity,
    commit,
    document,
    drawn,
    expected_changes,
    newest,
    populate,
    write,
)

REVISIONS = ["0001", "0002", "0003", "0004", "0005", "0006", "0007"]


def without_event(connection: sa.Connection) -> list[tuple[int]]:
    """The documents that have no event at their local version (invariant 2)."""
    return commit(
        connection,
        "SELECT DocumentId FROM dms.Document EXCEPT SELECT d.DocumentId FROM dms.Document AS d JOIN dms.DocumentChangeEvent AS e"
        " ON e.DocumentId = d.DocumentId AND e.ChangeVersion = greatest(d.ContentVersion, d.IdentityVersion)",
    )


def assert_as_defined(journal: dj.Journal, connection: sa.Connection) -> None:
    """Every document is in dms.ResourceChange, where it is defined to be, and every walk above the floor finds its part of that."""
    window = dj.Window(journal.versions().oldest)
    everything = []
    for of, resource_key_id in journal.resources().items():
        assert list(journal.changes(of, window)) == expected_changes(connection, resource_key_id, window), of
        everything += [(resource_key_id, *astuple(change)) for change in expected_changes(connection, resource_key_id)]
    view = "SELECT ResourceKeyId, DocumentId, DocumentUuid, ChangeVersion FROM dms.ResourceChange"
    assert sorted(tuple(row) for row in commit(connection, view)) == sorted(everything)


@pytest.mark.acceptance("54")
def test_an_empty_database_is_the_same_after_removal_and_upgrade(empty: str, admin: sa.Connection) -> None:
    migrations.upgrade(empty)
    installed = catalog(admin)
    assert installed["revision"] == [(migrations.newest(),)]
    migrations.downgrade(empty, "base")
    assert migrations.current(empty) is None
    assert {row[0] for row in catalog(admin)["relations"]} == {"dms.alembic_version", "dms.alembic_version_pkc"}
    assert not catalog(admin)["functions"]
    migrations.upgrade(empty)
    assert catalog(admin) == installed
    with dj.connect(empty) as journal:
        assert journal.versions() == dj.ChangeVersions(0, 0)


@pytest.mark.acceptance("54")
def test_one_step_after_the_other_leads_to_the_same(empty: str, admin: sa.Connection, url: str) -> None:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    seen = [catalog(admin)]
    for revision in REVISIONS:
        migrations.upgrade(empty, revision)
        assert migrations.current(empty) == revision
        seen.append(catalog(admin))
    with engine.connect() as at_once:
        assert seen[-1] == catalog(at_once)
    for revision, expected in zip(REVISIONS[-2::-1], seen[-2:0:-1], strict=True):
        migrations.downgrade(empty, revision)
        assert catalog(admin) == expected, revision


@pytest.mark.acceptance("54")
def test_upgrading_what_is_up_to_date_changes_nothing(empty: str, admin: sa.Connection) -> None:
    migrations.upgrade(empty)
    populate(empty)
    before = catalog(admin), drawn(admin)
    migrations.upgrade(empty)
    assert (catalog(admin), drawn(admin)) == before


@pytest.mark.acceptance("54")
@pytest.mark.parametrize(("down_to", "expiries"), [("base", 3), ("0001", 3), ("0002", 3), ("0003", 2), ("0004", 1), ("0005", 0)])
def test_documents_outlive_a_removal_and_have_one_event_each_afterwards(
    empty: str, admin: sa.Connection, down_to: str, expiries: int
) -> None:
    migrations.upgrade(empty)
    populate(empty)
    installed, reached = catalog(admin), drawn(admin)
    documents = commit(admin, "SELECT * FROM dms.Document ORDER BY DocumentId")
    migrations.downgrade(empty, down_to)
    assert commit(admin, "SELECT * FROM dms.Document ORDER BY DocumentId") == documents
    migrations.upgrade(empty)
    assert catalog(admin) == installed
    assert commit(admin, "SELECT * FROM dms.Document ORDER BY DocumentId") == documents
    caught_up, reached = reached, reached + expiries  # each journal that was away expires what came before, by a stamp of its own
    assert drawn(admin) == reached
    repeated = "SELECT ChangeVersion, DocumentId, count(*) FROM dms.DocumentChangeEvent GROUP BY 1, 2 HAVING count(*) > 1"
    assert commit(admin, repeated) == []
    assert not without_event(admin)
    with dj.connect(empty) as journal:
        assert_as_defined(journal, admin)
        assert newest(journal) == reached
        assert (journal.versions().oldest > 0) == (down_to != "0005")  # edges may have changed while nobody stamped their parents
        plans = f"SELECT ChangeVersion FROM dms.ResourceChange WHERE ResourceKeyId = {journal.resources()[PLAN]}"
        assert commit(admin, plans) == [(5,)]  # its student's identity, witnessed by an event that was worked out again
        change_identity(admin, 1)
        write(journal, document(SCHOOL, 3, document(SCHOOL, 2)))
        new = dj.Window(reached + 1)
        assert [change.change_version for change in journal.changes(PLAN, new)] == [reached + 1]
        assert [change.change_version for change in journal.changes(SCHOOL, new)] == [reached + 2]
        assert_as_defined(journal, admin)
        assert not without_event(admin)
        if expiries:  # who had read up to the newest stamp is told, too
            with pytest.raises(dj.CheckpointExpired):
                journal.changes(PLAN, dj.Window(caught_up + 1))
        if down_to in ("base", "0001", "0002", "0003"):  # the tombstones are gone, and the journal says so
            with pytest.raises(dj.CheckpointExpired):
                list(journal.deletes(SCHOOL, dj.Window(1)))
            assert not list(journal.deletes(SCHOOL, dj.Window(reached + 1)))


@pytest.mark.acceptance("54")
@pytest.mark.parametrize("edges", ["came", "went"])
def test_edges_that_came_or_went_while_nobody_stamped_their_parents(empty: str, admin: sa.Connection, edges: str) -> None:
    migrations.upgrade(empty)
    with dj.connect(empty) as journal:
        plan, student = document(PLAN, 1), document(STUDENT, 1)
        write(journal, plan)  # first: its own stamp is below the student's
        write(journal, student)
        if edges == "went":
            write(journal, document(PLAN, 1, student))
            change_identity(admin, 2)
        caught_up = newest(journal)
        migrations.downgrade(empty, "0004")
        change = "DELETE FROM dms.ReferenceEdge" if edges == "went" else "INSERT INTO dms.ReferenceEdge VALUES (1, 2, false, 1)"
        commit(admin, change)
        migrations.upgrade(empty)
        assert_as_defined(journal, admin)
        shown = commit(admin, "SELECT DocumentId FROM dms.ResourceChange ORDER BY 1")
        assert shown == [(1,), (2,)]
        with pytest.raises(dj.CheckpointExpired):
            journal.changes(PLAN, dj.Window(caught_up + 1))


@pytest.mark.acceptance("54")
def test_stamps_go_on_above_documents_that_came_without_the_sequence(empty: str, admin: sa.Connection) -> None:
    migrations.upgrade(empty)
    populate(empty)
    migrations.downgrade(empty, "base")
    commit(admin, "UPDATE dms.Document SET ContentVersion = 500 WHERE DocumentId = 2")  # no trigger: as a restore would
    commit(admin, "SELECT setval('dms.changeversionsequence', 1, false)")
    migrations.upgrade(empty)
    assert drawn(admin) == 503
    assert not without_event(admin)
    with dj.connect(empty) as journal:
        write(journal, document(STUDENT, 9))
        assert newest(journal) == 504


@pytest.mark.acceptance("54")
@pytest.mark.parametrize(("begin", "end"), [*zip(["base", *REVISIONS], REVISIONS, strict=False), ("base", "head")])
def test_a_writer_that_is_at_work_during_an_upgrade_is_journaled(empty: str, admin: sa.Connection, begin: str, end: str) -> None:
    migrations.upgrade(empty)
    populate(empty)
    migrations.downgrade(empty, begin)
    engine = sa.create_engine(empty, poolclass=sa.NullPool)
    with engine.connect() as writer:
        signal = {"base": "ContentVersion = ContentVersion + 100", "0001": "CreatedAt = CreatedAt"}.get(begin, "ContentVersion = 0")
        writer.exec_driver_sql(f"UPDATE dms.Document SET {signal} WHERE DocumentId = 4")
        writer.exec_driver_sql(
            "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, ParentResourceKeyId) SELECT 4, 2, ResourceKeyId"
            " FROM dms.Document WHERE DocumentId = 4"
        )
        upgrading = threading.Thread(target=migrations.upgrade, args=(empty, end), kwargs={"lock_timeout": "60s"})
        upgrading.start()
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        deadline = time.monotonic() + 20
        while upgrading.is_alive() and commit(admin, waiting) == [(0,)] and time.monotonic() < deadline:
            time.sleep(0.02)
        writer.commit()
    upgrading.join()
    assert migrations.current(empty) == (migrations.newest() if end == "head" else end)
    migrations.upgrade(empty)
    assert not without_event(admin)
    with dj.connect(empty) as journal:
        change_identity(admin, 2)
        assert_as_defined(journal, admin)


@pytest.mark.acceptance("56")
@pytest.mark.parametrize("way", ["upgrade", "downgrade"])
def test_a_lock_on_documents_makes_it_give_up_with_nothing_changed(empty: str, admin: sa.Connection, way: str) -> None:
    migrations.upgrade(empty)
    populate(empty)
    migrate = partial(migrations.downgrade, empty, "base")
    if way == "upgrade":
        migrate()
        migrate = partial(migrations.upgrade, empty)
    before, revision = catalog(admin), migrations.current(empty)
    engine = sa.create_engine(empty, poolclass=sa.NullPool)
    with engine.connect() as writer:
        writer.exec_driver_sql("UPDATE dms.Document SET ContentVersion = ContentVersion + 1 WHERE DocumentId = 1")
        began = time.monotonic()
        with pytest.raises(dj.MigrationRefused, match=r"a lock .* is held by another session; nothing was changed"):
            migrate(lock_timeout="300ms")
        assert 0.3 <= time.monotonic() - began < 60
        writer.commit()  # nobody cancelled it
    assert (catalog(admin), migrations.current(empty)) == (before, revision)
    migrate()


@pytest.mark.acceptance("56")
@pytest.mark.parametrize("timeout", ["5 s", "'; DROP SCHEMA dms; --", "", "-1", "5 hours"])
def test_a_lock_timeout_that_is_none_is_refused(empty: str, timeout: str) -> None:
    with pytest.raises(dj.InvalidRequest, match="lock_timeout"):
        migrations.upgrade(empty, lock_timeout=timeout)


def test_threads_migrate_each_its_own_database(postgres_server) -> None:
    """Alembic's `op` is one for the process."""
    with ExitStack() as stack:
        urls = [stack.enter_context(postgres_server.fresh_database()) for _ in range(4)]
        with ThreadPoolExecutor(len(urls)) as threads:
            list(threads.map(migrations.upgrade, urls))
        assert {migrations.current(url) for url in urls} == {migrations.newest()}


@pytest.mark.parametrize("revision", ["", " ", None, 5, "base"])
def test_a_revision_that_no_upgrade_leads_to_is_refused(empty: str, admin: sa.Connection, revision) -> None:
    with pytest.raises(dj.InvalidRequest, match="revision"):
        migrations.upgrade(empty, revision)
    assert commit(admin, "SELECT to_regnamespace('dms')") == [(None,)]


@pytest.mark.acceptance("54")
def test_no_stamp_is_given_again_after_a_removal_without_documents(empty: str, admin: sa.Connection) -> None:
    """All documents were deleted: a consumer still remembers how far it has read."""
    migrations.upgrade(empty)
    populate(empty)
    commit(admin, "DELETE FROM dms.ReferenceEdge")
    commit(admin, "DELETE FROM dms.Document")
    caught_up = drawn(admin)
    migrations.downgrade(empty, "base")
    migrations.upgrade(empty)
    with dj.connect(empty) as journal:
        with pytest.raises(dj.InvalidRequest):
            journal.changes(PLAN, dj.Window(caught_up + 1))  # its resources are gone, too
        write(journal, document(PLAN, 1))
        with pytest.raises(dj.CheckpointExpired):
            journal.changes(PLAN, dj.Window(caught_up + 1))
        assert newest(journal) > caught_up


@pytest.mark.parametrize("installed", [False, True])
def test_removing_what_is_not_there_leaves_a_database_that_can_be_installed_into(empty: str, installed: bool) -> None:
    if installed:
        migrations.upgrade(empty)
        populate(empty)
        migrations.downgrade(empty, "base")
    migrations.downgrade(empty, "base")
    migrations.upgrade(empty)
    assert migrations.current(empty) == migrations.newest()
