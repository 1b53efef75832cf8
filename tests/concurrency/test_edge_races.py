"""Edges that come and go while others write their ends (acceptance 25, 25b, 26)."""

import pytest
import sqlalchemy as sa

from .races import CHILD, PARENT, Race


def derived(race: Race, document_id: int) -> int:
    return race.journal.derive([document_id])[document_id].change_version


def view(race: Race, document_id: int) -> int:
    """The version that the set shape gives; the document must be in it, once."""
    found = race.look("SELECT ChangeVersion FROM dms.ResourceChange WHERE DocumentId = :id", id=document_id).scalars().all()
    assert len(found) == 1, found
    return int(found[0])


@pytest.mark.acceptance("25")
@pytest.mark.parametrize("commits_first", ["older", "newer"])
def test_two_children_change_and_the_parent_appears_once_at_the_later_version(race: Race, commits_first: str) -> None:
    (parent, _), (a, _), (b, _) = race.committed(lambda w: w.create(), lambda w: w.create(CHILD), lambda w: w.create(CHILD))
    race.committed(lambda w: w.refer(parent, a), lambda w: w.refer(parent, b))
    race.reader.step()
    race.first.rename(a, "a")
    newer = race.second.rename(b, "b")
    for writer in [race.first, race.second] if commits_first == "older" else [race.second, race.first]:
        writer.commit()
    assert race.reader.step() == [parent]
    assert race.reader.seen[parent] == newer == view(race, parent)
    assert race.missed() == {}


@pytest.mark.acceptance("25b")
def test_a_child_created_between_the_parent_and_its_edge(race: Race) -> None:
    """The child's first identity stamp is above the parent's, and no event is there to witness it."""
    race.committed(lambda w: w.create())
    race.reader.step()
    parent, before = race.first.create()
    child, between = race.second.create(CHILD)
    race.second.commit()
    assert before < between
    race.first.refer(parent, child)
    race.first.commit()
    assert race.missed() == {}
    assert race.reader.seen[parent] == view(race, parent) == derived(race, parent)


@pytest.mark.acceptance("25b")
@pytest.mark.parametrize("way", ["drop", "re-point"])
def test_an_edge_dropped_after_the_child_was_renamed_by_another_session(race: Race, way: str) -> None:
    (parent, _), (child, _), (other, _) = race.committed(lambda w: w.create(), lambda w: w.create(CHILD), lambda w: w.create(CHILD))
    race.committed(lambda w: w.refer(parent, child))
    race.reader.step()
    race.first.touch(parent)
    renamed = race.second.rename(child, "renamed")
    race.second.commit()
    assert derived(race, parent) == renamed  # for everybody but the first session
    left = race.first.unrefer(parent, child) if way == "drop" else race.first.repoint(parent, child, to=other)
    race.first.commit()
    assert left > renamed
    assert race.missed() == {}
    assert race.reader.seen[parent] == view(race, parent) == derived(race, parent) == left


@pytest.mark.acceptance("25b")
def test_an_edge_repointed_to_a_child_created_meanwhile(race: Race) -> None:
    (parent, _), (child, _) = race.committed(lambda w: w.create(), lambda w: w.create(CHILD))
    race.committed(lambda w: w.refer(parent, child))
    race.reader.step()
    race.first.touch(parent)
    newer, stamp = race.second.create(CHILD)
    race.second.commit()
    assert race.first.repoint(parent, child, to=newer) > stamp
    race.first.commit()
    assert race.missed() == {}
    assert race.reader.seen[parent] == view(race, parent)


@pytest.mark.acceptance("25b")
def test_a_rename_that_is_not_committed_when_the_edge_comes(race: Race) -> None:
    """The edge's writer cannot see the new identity stamp; the rename's event witnesses it."""
    (parent, _), (child, _) = race.committed(lambda w: w.create(), lambda w: w.create(CHILD))
    race.reader.step()
    race.first.touch(parent)
    renamed = race.second.rename(child, "renamed")
    race.first.refer(parent, child)
    race.first.commit()
    race.reader.step()
    race.second.commit()
    assert race.missed() == {}
    assert race.reader.seen[parent] == renamed == view(race, parent)


@pytest.mark.acceptance("26")
def test_an_edge_that_comes_or_goes_is_a_change_of_its_parent(race: Race) -> None:
    (child, _), (parent, _) = race.committed(lambda w: w.create(CHILD), lambda w: w.create())
    for call in (lambda w: w.refer(parent, child), lambda w: w.unrefer(parent, child)):
        race.reader.step()
        race.committed(call)
        assert race.reader.step() == [parent]
    assert race.missed() == {}


@pytest.mark.acceptance("26")
def test_an_edge_stamps_its_parent_once_a_transaction(race: Race) -> None:
    (parent, _), *children = race.committed(lambda w: w.create(), *[lambda w: w.create(CHILD)] * 3)
    race.reader.step()
    before = race.sequence()
    stamps = {race.first.refer(parent, child) for child, _ in children}
    race.first.commit()
    assert stamps == {before + 1} == {race.sequence()}
    assert race.reader.step() == [parent]
    race.committed(lambda w: w.unrefer(parent, children[0][0]))
    assert race.reader.step() == [parent]
    assert race.missed() == {}


@pytest.mark.acceptance("26")
@pytest.mark.parametrize("isolation", ["READ COMMITTED", "REPEATABLE READ"])
def test_a_stamp_of_another_transaction_above_the_floor_is_not_ones_own(race: Race, isolation: str) -> None:
    """The parent was stamped after this transaction entered, by somebody else."""
    (parent, _), (child, _), (other, _) = race.committed(lambda w: w.create(), lambda w: w.create(CHILD), lambda w: w.create())
    race.reader.step()
    writer = race.writer(isolation)
    writer.touch(other)
    newer = race.second.touch(parent)
    race.second.commit()
    try:
        assert writer.refer(parent, child) > newer
        writer.commit()
    except sa.exc.OperationalError:
        assert isolation == "REPEATABLE READ"  # its snapshot is older than the parent: refused
        writer.rollback()
    race.second.touch(child)
    race.second.commit()
    assert race.missed() == {}


@pytest.mark.acceptance("26")
def test_an_edge_that_moves_stamps_both_of_its_parents(race: Race) -> None:
    (left, _), (right, _), (child, _) = race.committed(lambda w: w.create(), lambda w: w.create(), lambda w: w.create(CHILD))
    race.committed(lambda w: w.refer(left, child))
    race.reader.step()
    race.committed(lambda w: w.sql("UPDATE dms.ReferenceEdge SET ParentDocumentId = :right", right=right))
    assert sorted(race.reader.step()) == [left, right]
    assert race.missed() == {}


@pytest.mark.acceptance("26")
def test_edges_of_one_parent_by_two_sessions(race: Race) -> None:
    (parent, _), (a, _), (b, _) = race.committed(lambda w: w.create(), lambda w: w.create(CHILD), lambda w: w.create(CHILD))
    race.committed(lambda w: w.refer(parent, a), lambda w: w.unrefer(parent, a))  # the pair of resources is known
    race.reader.step()
    stamp = race.first.refer(parent, a)
    waiting = race.second.blocked(lambda: race.second.refer(parent, b))
    race.first.commit()
    assert waiting.result() > stamp
    assert race.reader.step() == [parent]
    race.second.commit()
    assert race.reader.step() == [parent]
    assert race.missed() == {}


@pytest.mark.acceptance("28")
@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_a_child_deleted_while_its_first_edge_comes(race: Race, ends: str) -> None:
    (parent, _), (child, _) = race.committed(lambda w: w.create(), lambda w: w.create(CHILD))
    race.first.refer(parent, child)
    waiting = race.second.blocked(lambda: race.second.delete(child))
    getattr(race.first, ends)()
    if ends == "commit":
        with pytest.raises(sa.exc.IntegrityError):
            waiting.result()
        race.second.rollback()
        assert race.journal.derive([child])
    else:
        assert waiting.result() == race.sequence()
        race.second.commit()
    assert race.missed() == {}


@pytest.mark.acceptance("28")
def test_an_edge_to_a_child_that_is_being_deleted(race: Race) -> None:
    (parent, _), (child, _) = race.committed(lambda w: w.create(), lambda w: w.create(CHILD))
    race.reader.step()
    race.first.delete(child)
    waiting = race.second.blocked(lambda: race.second.refer(parent, child))
    race.first.commit()
    with pytest.raises(sa.exc.IntegrityError):
        waiting.result()
    race.second.rollback()
    assert race.reader.step() == []
    assert race.missed() == {}


@pytest.mark.acceptance("45")
def test_a_parent_deleted_while_an_edge_of_it_comes(race: Race) -> None:
    (parent, _), (child, _) = race.committed(lambda w: w.create(), lambda w: w.create(CHILD))
    race.reader.step()
    stamp = race.first.refer(parent, child)
    waiting = race.second.blocked(lambda: race.second.delete(parent))
    race.first.commit()
    assert waiting.result() > stamp
    race.second.commit()
    race.reader.step()
    assert race.reader.deleted == {parent}
    assert race.look("SELECT count(*) FROM dms.ReferenceEdge").scalar_one() == 0
    assert race.committed(lambda w: w.delete(child))


@pytest.mark.acceptance("28")
def test_a_document_that_refers_to_itself_can_be_deleted_after_a_restore(race: Race) -> None:
    """A restore adds the constraints by name, the child's first; which is checked first must not depend on that."""
    constraints = race.look(
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE contype = 'f' AND conrelid = 'dms.referenceedge'::regclass ORDER BY conname"
    ).all()
    for name, _ in constraints:
        race.look(f"ALTER TABLE dms.ReferenceEdge DROP CONSTRAINT {name}")
    for name, definition in constraints:  # as pg_dump orders them
        race.look(f"ALTER TABLE dms.ReferenceEdge ADD CONSTRAINT {name} {definition}")
    document, _ = race.committed(lambda w: w.create())[0]
    race.committed(lambda w: w.refer(document, document))
    race.committed(lambda w: w.delete(document))
    race.reader.step()
    assert race.reader.deleted == {document}


@pytest.mark.acceptance("24")
def test_a_first_edge_between_two_resources_is_found_whoever_writes_it(race: Race) -> None:
    """The pair of resources is recorded by the first session, which rolls back while the second one waits to record it too."""
    (a, _), (b, _), (child, _) = race.committed(lambda w: w.create(), lambda w: w.create(), lambda w: w.create(CHILD))
    race.first.refer(a, child)
    waiting = race.second.blocked(lambda: race.second.refer(b, child))
    race.first.rollback()
    waiting.result()
    race.second.commit()
    race.reader.step()
    race.committed(lambda w: w.rename(child, "renamed"))
    assert race.reader.step() == [b]
    pairs = race.look("SELECT ParentResourceKeyId, ChildResourceKeyId FROM dms.ResourceDependency").all()
    assert pairs == [(race.ids[PARENT], race.ids[CHILD])]
    assert race.missed() == {}
