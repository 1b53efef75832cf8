"""Option max_dep_identity_version under writers: what is stored is what is derived, and nobody waits for nothing.

The races are written down in docs/how-it-works.md, The stored maximum.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.schema import fill, migrate
from tests.helpers import STUDENT, commit, document, write

from .races import CHILD, PARENT, Race

OPTION = "max_dep_identity_version"


@pytest.fixture
def race(url: str) -> Iterator[Race]:
    migrate.upgrade(url, options=[OPTION])
    race = Race(url)
    yield race
    race.close()


def pending(race: Race) -> int:
    return int(race.look("SELECT count(*) FROM dms.MaxDepIdentityPending").scalar_one())


def commit_in_turn(race: Race, writer, then) -> None:  # type: ignore[no-untyped-def]
    """Commits a writer that may have to wait for another one, which commits next."""
    try:
        waiting = race.blocked(writer.commit, writer.pid)
    except AssertionError:  # it waited for nobody
        then.commit()
    else:
        then.commit()
        waiting.result()


def test_an_edge_that_is_not_committed_when_its_child_is_renamed(race: Race) -> None:
    """Neither session sees the other's row: the rename's commit waits for the edge's."""
    (parent, _), (child, _) = race.committed(lambda w: w.create(), lambda w: w.create(CHILD))
    race.first.refer(parent, child)
    race.second.rename(child, "renamed")
    commit_in_turn(race, race.second, race.first)
    assert race.wrongly_stored() == []
    assert race.missed() == {}
    assert pending(race) == 0


def test_an_edge_that_comes_while_a_rename_is_open(race: Race) -> None:
    (parent, _), (child, _) = race.committed(lambda w: w.create(), lambda w: w.create(CHILD))
    race.first.touch(parent)
    race.second.rename(child, "renamed")
    race.first.refer(parent, child)  # it does not wait, and does not see the new stamp
    race.first.commit()
    race.second.commit()
    assert race.wrongly_stored() == []
    assert race.missed() == {}


def test_an_edge_that_goes_while_its_parent_is_to_be_raised(race: Race) -> None:
    """The rename has found the edge, and waits for the parent, whose own session removes the edge without another stamp."""
    (parent, _), (child, _) = race.committed(lambda w: w.create(), lambda w: w.create(CHILD))
    race.committed(lambda w: w.refer(parent, child))
    race.first.touch(parent)
    race.second.rename(child, "renamed")
    waiting = race.blocked(race.second.commit, race.second.pid)
    race.first.unrefer(parent, child)
    race.first.commit()
    waiting.result()
    assert race.wrongly_stored() == []
    assert race.missed() == {}


@pytest.mark.parametrize("isolation", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_rename_whose_snapshot_is_older_than_an_edge_is_left_to_the_next_one(race: Race, isolation: str) -> None:
    (parent, _), (child, _), (other, _) = race.committed(lambda w: w.create(), lambda w: w.create(CHILD), lambda w: w.create(CHILD))
    writer = race.writer(isolation)
    writer.value("SELECT count(*) FROM dms.ReferenceEdge")
    race.committed(lambda w: w.refer(parent, child))
    writer.rename(child, "renamed")
    writer.commit()
    assert race.missed() == {}  # the page goes by the children
    assert pending(race) == 1
    race.committed(lambda w: w.rename(other, "renamed"))
    assert pending(race) == 0
    assert race.wrongly_stored() == []
    assert race.missed() == {}


@pytest.mark.parametrize("when", ["when it commits", "at once"])
def test_renames_of_children_of_the_same_parents_do_not_deadlock(race: Race, when: str) -> None:
    """Each session locks what the other one has next, unless parents are locked at the end, together and in order."""
    (low, _), (high, _), *children = race.committed(lambda w: w.create(), lambda w: w.create(), *[lambda w: w.create(CHILD)] * 4)
    a, b, c, d = (i for i, _ in children)
    race.committed(lambda w: w.refer(high, a), lambda w: w.refer(low, b), lambda w: w.refer(low, c), lambda w: w.refer(high, d))
    if when == "at once":
        for writer in (race.first, race.second):
            writer.sql("SET CONSTRAINTS ALL IMMEDIATE")
    race.first.rename(a, "a")
    race.second.rename(c, "c")
    if when == "at once":
        waiting = race.first.blocked(lambda: race.first.rename(b, "b"))

        def meet() -> None:
            race.second.rename(d, "d")
            waiting.result()

        with pytest.raises(sa.exc.OperationalError, match="deadlock"):
            meet()
        return
    race.first.rename(b, "b")
    race.second.rename(d, "d")
    race.first.commit()
    race.second.commit()
    assert race.wrongly_stored() == []
    assert race.missed() == {}


def test_two_renames_that_commit_together_raise_one_parent_to_the_newer(race: Race) -> None:
    (parent, _), (a, _), (b, _) = race.committed(lambda w: w.create(), lambda w: w.create(CHILD), lambda w: w.create(CHILD))
    race.committed(lambda w: w.refer(parent, a), lambda w: w.refer(parent, b))
    holder = race.writer()
    holder.sql("SELECT FROM dms.Document WHERE DocumentId = :id FOR UPDATE", id=parent)
    race.first.rename(a, "a")
    race.second.rename(b, "b")
    first = race.blocked(race.first.commit, race.first.pid)
    second = race.blocked(race.second.commit, race.second.pid)
    holder.rollback()
    first.result()
    second.result()
    assert race.wrongly_stored() == []
    assert race.missed() == {}


def test_raising_a_parent_is_no_change_of_it(race: Race) -> None:
    (parent, _), (child, _) = race.committed(lambda w: w.create(), lambda w: w.create(CHILD))
    race.committed(lambda w: w.refer(parent, child))
    before = race.sequence(), race.first.local(parent)
    race.first.rollback()
    stamp = race.committed(lambda w: w.rename(child, "renamed"))[0]
    assert (race.sequence(), race.first.local(parent)) == (before[0] + 1, before[1])
    race.first.rollback()
    assert race.look("SELECT MaxDepIdentityVersion FROM dms.Document WHERE DocumentId = :id", id=parent).scalar_one() == stamp
    assert race.look("SELECT count(*) FROM dms.DocumentChangeEvent WHERE ChangeVersion = :v", v=stamp).scalar_one() == 1


@pytest.mark.parametrize("written", ["999999", "NULL", "-5", "0"])
def test_a_value_that_a_caller_writes_is_not_kept(race: Race, written: str) -> None:
    (parent, _), (child, _) = race.committed(lambda w: w.create(), lambda w: w.create(CHILD))
    race.committed(lambda w: w.refer(parent, child), lambda w: w.rename(child, "renamed"))
    race.committed(lambda w: w.sql(f"UPDATE dms.Document SET MaxDepIdentityVersion = {written}"))
    if written != "NULL":
        insert = f"INSERT INTO dms.Document (ResourceKeyId, MaxDepIdentityVersion) VALUES ({race.ids[PARENT]}, {written})"
        race.committed(lambda w: w.sql(insert))
    assert race.wrongly_stored() == []
    assert race.missed() == {}


def test_a_savepoint_that_is_rolled_back_raises_nothing(race: Race) -> None:
    (parent, _), (child, _) = race.committed(lambda w: w.create(), lambda w: w.create(CHILD))
    race.committed(lambda w: w.refer(parent, child))
    race.first.sql("SAVEPOINT s")
    race.first.rename(child, "never")
    race.first.sql("ROLLBACK TO s")
    race.first.commit()
    assert pending(race) == 0
    assert race.wrongly_stored() == []


def test_a_prepared_rename_has_raised_its_parents(race: Race) -> None:
    (parent, _), (child, _) = race.committed(lambda w: w.create(), lambda w: w.create(CHILD))
    race.committed(lambda w: w.refer(parent, child))
    race.first.rename(child, "renamed")
    race.first.sql("PREPARE TRANSACTION 'rename'")
    race.look("COMMIT PREPARED 'rename'")
    assert pending(race) == 0
    assert race.wrongly_stored() == []
    assert race.missed() == {}


def test_a_document_that_refers_to_itself(race: Race) -> None:
    (document, _) = race.committed(lambda w: w.create())[0]
    race.committed(lambda w: w.refer(document, document), lambda w: w.rename(document, "renamed"))
    assert race.wrongly_stored() == []
    assert race.missed() == {}


def test_a_rename_during_the_fill_is_not_lost(url: str) -> None:
    """The option comes to documents that are there; a batch waits for nobody but the writers of what it raises."""
    race = Race(url)
    try:
        made = race.committed(*[lambda w: w.create(CHILD)] * 3, *[lambda w: w.create()] * 9)
        children, parents = [i for i, _ in made[:3]], [i for i, _ in made[3:]]
        for number, parent in enumerate(parents):
            race.committed(lambda w, p=parent, c=children[number % 3]: w.refer(p, c))
        race.committed(lambda w: w.rename(children[0], "before"))
        migrate.upgrade(url, options=[OPTION])
        assert pending(race) == 1
        race.journal = type(race.journal)(race.engine)  # knows the option
        race.reader.journal = race.journal
        assert race.missed() == {}
        race.look("SELECT dms.fill_max_dep(5)")
        race.first.rename(children[1], "meanwhile")  # of parents that are filled, and of ones that are not
        race.look("SELECT dms.fill_max_dep(3)")
        race.first.commit()
        race.committed(lambda w: w.rename(children[2], "meanwhile"))
        assert race.missed() == {}
        assert pending(race) == 1
        assert fill.fill(url, OPTION, batch_size=2) == 12 - 8
        assert pending(race) == 0
        assert race.wrongly_stored() == []
        assert race.missed() == {}
    finally:
        race.close()


def test_a_fill_that_was_killed_while_it_built_its_index_heals_by_running_again(url: str) -> None:
    """The build waits for a transaction that has written a document; its session is ended there, and the server keeps an index
    that it never uses. The next fill must not take it for made."""
    with dj.connect(url) as journal:
        write(journal, document(STUDENT, 1))
    migrate.upgrade(url, options=[OPTION])
    name = "IX_Document_MaxDepIdentityVersion"
    valid = f"SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('dms.{name}')"
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as writer, engine.connect() as admin, ThreadPoolExecutor(1) as threads:
        writer.exec_driver_sql("UPDATE dms.Document SET ContentVersion = -1")
        filling = threads.submit(fill.fill, url, OPTION)
        building = "SELECT pid FROM pg_stat_progress_create_index WHERE relid = 'dms.Document'::regclass AND phase LIKE 'waiting%%'"
        while not (found := commit(admin, building)):
            assert not filling.done()
        commit(admin, f"SELECT pg_terminate_backend({found[0][0]})")
        with pytest.raises(dj.Unavailable):
            filling.result()
        writer.rollback()
        assert commit(admin, valid) == [(False,)]
        fill.fill(url, OPTION)
        assert commit(admin, valid) == [(True,)]
    with dj.connect(url) as journal:
        assert journal.verify().is_clean
