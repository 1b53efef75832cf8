"""Stamps that are drawn early, given back, or not given at all (acceptance 16 and 18)."""

import itertools

import pytest
import sqlalchemy as sa

from .races import CHILD, Race


def identity_version(race: Race, document_id: int) -> int:
    return int(race.look("SELECT IdentityVersion FROM dms.Document WHERE DocumentId = :id", id=document_id).scalar_one())


def is_held(race: Race) -> bool:
    return race.newest() < race.sequence()


@pytest.mark.acceptance("16")
@pytest.mark.parametrize("column", ["ContentVersion", "IdentityVersion"])
def test_a_stamp_that_a_caller_drew_early_is_never_kept(race: Race, column: str) -> None:
    document, _ = race.committed(lambda w: w.create())[0]
    race.reader.step()
    early = race.first.value("SELECT nextval('dms.changeversionsequence')")
    between = race.second.touch(document)
    race.second.commit()
    race.reader.step()
    assert race.reader.seen[document] == between
    row = race.first.sql(
        f"UPDATE dms.Document SET {column} = :early WHERE DocumentId = :id RETURNING {column} AS stamp", early=early, id=document
    ).one()
    race.first.commit()
    assert row.stamp > between > early
    assert race.reader.step() == [document]
    assert race.missed() == {}
    events = race.look("SELECT count(*) FROM dms.DocumentChangeEvent WHERE DocumentId = :id", id=document).scalar_one()
    assert events == 3


@pytest.mark.acceptance("16")
def test_a_stamp_of_another_document_is_never_kept(race: Race) -> None:
    """The stamp is drawn before the reader's window ends, and written after it."""
    (a, _), (b, _) = race.committed(lambda w: w.create(), lambda w: w.create())
    race.reader.step()
    early = race.first.value("SELECT nextval('dms.changeversionsequence')")
    race.second.touch(b)
    race.second.commit()
    race.reader.step()
    assert race.reader.passed > early
    race.first.sql("UPDATE dms.Document SET ContentVersion = :early WHERE DocumentId = :id", early=early, id=a)
    race.first.commit()
    assert race.missed() == {}


@pytest.mark.acceptance("16")
def test_a_stamp_is_drawn_under_the_row_lock(race: Race) -> None:
    """Whoever waits for the row draws after whoever had it: else the local version would fall."""
    document, _ = race.committed(lambda w: w.create())[0]
    held = race.first.touch(document)
    waiting = race.second.blocked(lambda: race.second.touch(document))
    drawn = [race.writer() for _ in range(2)]
    for writer in drawn:
        writer.create()
        writer.commit()
    race.first.commit()
    assert waiting.result() > held + len(drawn)
    race.second.commit()
    assert race.missed() == {}


@pytest.mark.acceptance("16")
def test_a_repeatable_read_writer_keeps_the_order_or_is_refused(race: Race) -> None:
    (a, _), (b, _) = race.committed(lambda w: w.create(), lambda w: w.create())
    old = race.writer("REPEATABLE READ")
    old.sql("SELECT FROM dms.Document")
    newer = race.committed(lambda w: w.touch(a))[0]
    race.reader.step()
    assert old.touch(b) > newer
    with pytest.raises(sa.exc.OperationalError, match="could not serialize"):
        old.touch(a)
    old.rollback()
    assert race.missed() == {}


@pytest.mark.acceptance("18")
@pytest.mark.parametrize("content_first", [True, False])
def test_a_savepoint_that_is_rolled_back_forgets_its_stamp(race: Race, content_first: bool) -> None:
    document, _ = race.committed(lambda w: w.create(key=0))[0]
    before = race.first.local(document), identity_version(race, document)
    calls = [lambda: race.first.touch(document), lambda: race.first.rename(document, 1)]
    race.first.sql("SAVEPOINT s")
    calls[not content_first]()
    race.first.sql("ROLLBACK TO s")
    assert not is_held(race)
    kept = calls[content_first]()
    assert is_held(race)
    race.first.commit()
    assert kept > before[0]
    assert race.newest() == race.sequence()
    assert race.missed() == {}


def _programs() -> list[tuple[str, ...]]:
    """All orders of a few steps that end what they begin."""
    steps = ["write", "save", "write", "roll back", "save", "write", "release", "roll back"]
    programs = set()
    for length in range(2, 5):
        for program in itertools.permutations(steps, length):
            depth = 0
            for step in program:
                depth += (step == "save") - (step == "release")
                if depth < 0 or (step == "roll back" and depth == 0):
                    break
            else:
                if "save" in program and "write" in program:
                    programs.add(program)
    return sorted(programs)


@pytest.mark.acceptance("18")
def test_newest_is_held_exactly_while_a_stamp_stands(race: Race) -> None:
    """Savepoints in every order: each program runs in a transaction of its own, and after each step newest is asked for."""
    documents = [i for i, _ in race.committed(*[lambda w: w.create()] * 3)]
    race.reader.step()
    programs = _programs()
    assert len(programs) > 20
    for number, program in enumerate(programs):
        standing: list[list[int]] = [[]]  # the stamps that stand, by depth of savepoint
        for step in program:
            if step == "write":
                standing[-1].append(race.first.touch(documents[len(standing) - 1]))
            elif step == "save":
                race.first.sql("SAVEPOINT s")
                standing.append([])
            elif step == "release":
                race.first.sql("RELEASE s")
                released = standing.pop()
                standing[-1] += released
            else:
                race.first.sql("ROLLBACK TO s")
                standing[-1] = []
            stamps = [stamp for level in standing for stamp in level]
            newest = race.newest()
            if stamps:
                assert newest < min(stamps), (program, step)
            else:
                assert newest == race.sequence(), (program, step)
        last = {documents[0]: race.first.local(documents[0])}
        if number % 2:
            race.first.commit()
        else:
            race.first.rollback()
            last = {}
        assert race.newest() == race.sequence()
        race.reader.step()
        assert all(race.reader.seen[i] == version for i, version in last.items())
    assert race.missed() == {}


@pytest.mark.acceptance("18")
def test_a_released_savepoint_keeps_its_hold(race: Race) -> None:
    (a, _), (b, _) = race.committed(lambda w: w.create(), lambda w: w.create())
    race.first.sql("SAVEPOINT s")
    stamp = race.first.touch(a)
    race.first.sql("RELEASE s")
    race.second.touch(b)
    race.second.commit()
    assert race.newest() < stamp
    race.first.sql("SAVEPOINT t")
    race.first.sql("ROLLBACK TO t")
    assert race.newest() < stamp
    race.first.commit()
    assert race.newest() == race.sequence()
    assert race.missed() == {}


@pytest.mark.acceptance("18")
def test_an_exception_block_is_a_savepoint(race: Race) -> None:
    document, _ = race.committed(lambda w: w.create())[0]
    race.first.sql(
        """DO $$ BEGIN
            UPDATE dms.Document SET ContentVersion = NULL;
            RAISE division_by_zero;
        EXCEPTION WHEN division_by_zero THEN NULL; END $$"""
    )
    assert not is_held(race)
    stamp = race.first.touch(document)
    assert race.newest() < stamp
    race.first.commit()
    assert race.missed() == {}


@pytest.mark.acceptance("17")
def test_a_setting_that_a_session_wrote_hides_no_writer(race: Race) -> None:
    """The session writes that it entered at the newest version, which it did not."""
    (a, _), (b, _) = race.committed(lambda w: w.create(), lambda w: w.create())
    race.reader.step()
    race.first.sql("SELECT set_config('dms.entered_at', :newest, false)", newest=str(race.sequence()))
    race.first.commit()
    lower = race.first.touch(a)
    race.second.touch(b)
    race.second.commit()
    race.reader.step()
    assert race.reader.passed < lower
    race.first.commit()
    assert race.missed() == {}


@pytest.mark.acceptance("17")
def test_a_setting_that_hides_a_delete_does_not(race: Race) -> None:
    (a, _), (b, _) = race.committed(lambda w: w.create(), lambda w: w.create())
    race.reader.step()
    race.first.sql("SELECT set_config('dms.entered_at', :newest, false)", newest=str(race.sequence()))
    race.first.commit()
    lower = race.first.delete(a)
    race.second.touch(b)
    race.second.commit()
    race.reader.step()
    assert race.reader.passed < lower
    race.first.commit()
    race.reader.step()
    assert race.reader.deleted == {a}


@pytest.mark.acceptance("17")
@pytest.mark.parametrize("written", ["1000", "-5"])
@pytest.mark.parametrize("operation", ["touch", "delete"])
def test_a_setting_that_no_transaction_can_have_is_refused(race: Race, operation: str, written: str) -> None:
    """Above the sequence its lock would let newest pass the stamps that are drawn below it, below 0 it would be nobody's lock."""
    (a, _), (b, _) = race.committed(lambda w: w.create(), lambda w: w.create())
    race.reader.step()
    race.first.sql(f"SELECT set_config('dms.entered_at', '{written}', true)")
    code = None
    try:
        stamp = getattr(race.first, operation)(a)
    except sa.exc.DBAPIError as error:
        code = error.orig.sqlstate  # type: ignore[union-attr]
    else:
        race.second.touch(b)
        race.second.commit()
        race.reader.step()
        assert race.reader.passed < stamp
    assert code == "DJ003"


@pytest.mark.acceptance("17")
def test_a_setting_that_is_taken_back_in_time_is_refused(race: Race) -> None:
    """The lock is taken on what the setting says before the statement; what it says afterwards is another matter."""
    race.committed(lambda w: w.create())
    race.first.sql("SELECT set_config('dms.entered_at', '1000', true)")
    rewrite = "CASE WHEN set_config('dms.entered_at', '0', true) IS NOT NULL THEN 1 END"
    code = None
    try:
        race.first.sql(f"INSERT INTO dms.Document (ResourceKeyId) SELECT {rewrite}")
    except sa.exc.DBAPIError as error:
        code = error.orig.sqlstate  # type: ignore[union-attr]
    assert code == "DJ003"


@pytest.mark.acceptance("17")
def test_a_setting_that_is_written_by_returning_hides_no_event(race: Race) -> None:
    document, _ = race.committed(lambda w: w.create())[0]
    race.reader.step()
    race.first.sql(
        "UPDATE dms.Document SET ContentVersion = NULL WHERE DocumentId = :id RETURNING set_config('dms.entered_at', '1000', true)",
        id=document,
    )
    race.first.commit()
    assert race.missed() == {}


@pytest.mark.acceptance("17")
def test_a_setting_that_is_written_after_a_stamp_hides_no_edge(race: Race) -> None:
    """The session claims to have entered before the parent's last stamp, so that the stamp looks like its own."""
    (child, _), (parent, _) = race.committed(lambda w: w.create(CHILD), lambda w: w.create())
    race.reader.step()
    race.first.sql("SELECT set_config('dms.entered_at', '0', true)")
    race.first.refer(parent, child)
    race.first.commit()
    assert race.reader.step() == [parent]
    assert race.missed() == {}
