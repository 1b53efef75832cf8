"""Commits in another order than the stamps (acceptance 31 to 34, 36, 38)."""

import pytest
import sqlalchemy as sa

import dmsjournal as dj

from .mutating import ENTER_CHANGE_WITH_A_GATE, HORIZON_BEHIND_A_GATE, HORIZON_WITH_A_GATE
from .races import CHILD, PARENT, Race, Reader


@pytest.mark.acceptance("31")
def test_newest_stays_below_a_stamp_that_is_not_committed(race: Race) -> None:
    (a, _), (b, _) = race.committed(lambda w: w.create(), lambda w: w.create())
    race.reader.step()
    lower, higher = race.first.touch(a), race.second.touch(b)
    race.second.commit()
    assert race.newest() < lower
    race.reader.step()
    assert b not in {i for i, version in race.reader.seen.items() if version == higher}  # it waits with the other one
    race.first.commit()
    assert race.newest() == higher
    assert race.reader.step() == [a, b]
    assert race.missed() == {}


@pytest.mark.acceptance("31")
def test_a_delete_that_is_not_committed_holds_newest(race: Race) -> None:
    (a, _), (b, _) = race.committed(lambda w: w.create(), lambda w: w.create())
    race.reader.step()
    tombstone, higher = race.first.delete(a), race.second.touch(b)
    race.second.commit()
    assert race.newest() < tombstone
    race.reader.step()
    race.first.commit()
    race.reader.step()
    assert race.reader.deleted == {a}
    assert race.newest() == higher


@pytest.mark.acceptance("31")
@pytest.mark.parametrize("way", ["insert", "merge", "copy", "on conflict"])
def test_an_insert_that_is_not_committed_holds_newest(race: Race, way: str) -> None:
    document, _ = race.committed(lambda w: w.create())[0]
    race.reader.step()
    values = {"r": race.ids[PARENT]}
    if way == "insert":
        race.first.create()
    elif way == "merge":
        race.first.sql(
            "MERGE INTO dms.Document AS d USING (SELECT 0 AS id) AS s ON d.DocumentId = s.id "
            "WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN INSERT (ResourceKeyId) VALUES (CAST(:r AS smallint))",
            **values,
        )
    elif way == "copy":
        cursor = race.first.conn.connection.cursor()
        with cursor.copy("COPY dms.Document (ResourceKeyId) FROM STDIN") as copy:  # type: ignore[attr-defined]
            copy.write_row((race.ids[PARENT],))
    else:
        on_conflict = "ON CONFLICT (DocumentUuid) DO UPDATE SET ContentVersion = NULL"
        race.first.sql(f"INSERT INTO dms.Document (ResourceKeyId) VALUES (:r) {on_conflict}", **values)
    lower = race.first.value("SELECT max(ContentVersion) FROM dms.Document")
    race.second.touch(document)
    race.second.commit()
    race.reader.step()
    assert race.reader.passed < lower
    race.first.commit()
    assert race.missed() == {}


@pytest.mark.acceptance("31")
def test_an_edge_that_is_not_committed_holds_newest(race: Race) -> None:
    (a, _), (b, _), (child, _) = race.committed(lambda w: w.create(), lambda w: w.create(), lambda w: w.create(CHILD))
    race.reader.step()
    lower = race.first.refer(a, child)
    race.second.touch(b)
    race.second.commit()
    race.reader.step()
    assert race.reader.passed < lower
    race.first.commit()
    assert race.missed() == {}


@pytest.mark.acceptance("31")
@pytest.mark.parametrize("ends_first", [0, 1, 2, 3, 4])
def test_newest_is_below_the_lowest_of_many_open_writers(race: Race, ends_first: int) -> None:
    ids = [i for i, _ in race.committed(*[lambda w: w.create()] * 5)]
    writers = [race.writer() for _ in ids]
    stamps = [writer.touch(i) for writer, i in zip(writers, ids, strict=True)]
    order = [ends_first, *(n for n in (4, 2, 0, 3, 1) if n != ends_first)]
    open_stamps = set(stamps)
    for n in order:
        writers[n].commit()
        open_stamps.discard(stamps[n])
        race.reader.step()
        assert race.reader.passed == (min(open_stamps) - 1 if open_stamps else max(stamps))
    assert race.missed() == {}


@pytest.mark.acceptance("31")
def test_newest_does_not_fall_when_a_session_writes_again(race: Race) -> None:
    document, _ = race.committed(lambda w: w.create())[0]
    for _ in range(3):
        newest = race.look("SELECT dms.horizon()").scalar_one()
        race.first.touch(document)
        assert race.look("SELECT dms.horizon()").scalar_one() == newest
        race.first.commit()


@pytest.mark.acceptance("32")
def test_a_rollback_leaves_a_gap_that_stops_nobody(race: Race) -> None:
    (a, _), (b, _) = race.committed(lambda w: w.create(), lambda w: w.create())
    lower, higher = race.first.touch(a), race.second.touch(b)
    race.second.commit()
    race.first.rollback()
    assert race.newest() == higher
    race.reader.step()
    assert race.reader.seen[b] == higher
    assert race.reader.seen[a] < lower
    gap = race.first.touch(a)
    race.first.rollback()
    assert race.newest() == gap  # a stamp that was rolled back is passed, even as the last one
    assert race.reader.step() == []
    assert race.missed() == {}


@pytest.mark.acceptance("33")
def test_what_is_not_of_the_journal_does_not_hold_newest(race: Race, postgres_server) -> None:  # type: ignore[no-untyped-def]
    race.look("CREATE TABLE other (n integer)")
    race.committed(lambda w: w.create())
    others, read_only, unchanged = race.writer(), race.writer(), race.writer()
    others.sql("INSERT INTO other VALUES (1)")
    read_only.sql("SET TRANSACTION READ ONLY")
    read_only.sql("SELECT * FROM dms.Document")
    unchanged.sql("UPDATE dms.Document SET KeyValues = KeyValues, ContentVersion = ContentVersion")
    race.look("SELECT pg_advisory_lock(3), pg_advisory_lock_shared(17482, 1)")  # another application's
    with postgres_server.copy_of_template() as other_url:
        elsewhere = Race(other_url)  # its writer's floor is 0, in its own database
        try:
            elsewhere.first.create()
            _, stamp = race.second.create()
            race.second.commit()
            assert race.newest() == stamp
            assert elsewhere.newest() == 0
        finally:
            elsewhere.close()


@pytest.mark.acceptance("34")
@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_a_prepared_transaction_holds_newest_until_it_ends(race: Race, end: str) -> None:
    (a, _), (b, _) = race.committed(lambda w: w.create(), lambda w: w.create())
    race.reader.step()
    lower = race.first.touch(a)
    race.first.sql("PREPARE TRANSACTION 'race'")
    race.first.conn.close()  # its session is gone
    higher = race.second.touch(b)
    race.second.commit()
    race.reader.step()
    assert race.reader.passed < lower
    race.look(f"{end} PREPARED 'race'")
    assert race.newest() == higher
    assert race.missed() == {}
    assert race.reader.seen[a] == lower if end == "COMMIT" else race.reader.seen[a] < lower


@pytest.mark.acceptance("36")
@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_the_horizon_is_refused_in_an_older_snapshot(race: Race, level: str) -> None:
    reader = race.writer(level)
    reader.sql("SELECT FROM dms.Document")  # the snapshot
    (document, _) = race.committed(lambda w: w.create())[0]
    with pytest.raises(sa.exc.DBAPIError) as refused:
        reader.value("SELECT dms.horizon()")
    assert refused.value.orig.sqlstate == "DJ001"  # type: ignore[union-attr]
    reader.rollback()
    assert race.reader.step() == [document]


@pytest.mark.acceptance("36")
def test_the_horizon_is_not_older_than_the_page(race: Race) -> None:
    """A reader whose page has an older snapshot than its horizon passes over what was committed in between."""
    reader = race.writer("REPEATABLE READ")
    reader.sql("SELECT FROM dms.Document")
    document, stamp = race.committed(lambda w: w.create())[0]
    try:
        passed = reader.value("SELECT dms.horizon()")
    except sa.exc.DBAPIError:
        return  # refused: nothing is passed over
    found = reader.sql("SELECT DocumentId FROM dms.ResourceChange WHERE ChangeVersion <= :passed", passed=passed).scalars().all()
    assert document in found or passed < stamp


@pytest.mark.acceptance("36")
def test_a_page_holds_what_was_committed_while_its_horizon_was_read(race: Race) -> None:
    race.edit(HORIZON_BEHIND_A_GATE)
    with race.closed_gate():
        reading = race.blocked(lambda: race.journal.change_page(PARENT))
        document, stamp = race.committed(lambda w: w.create())[0]
    page = reading.result()
    assert document in {change.document_id for change in page.items} or page.through < stamp


@pytest.mark.acceptance("36")
@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_the_api_reads_committed_whatever_the_databases_default(race: Race, level: str) -> None:
    database = race.look("SELECT current_database()").scalar_one()
    race.look(f"ALTER DATABASE {database} SET default_transaction_isolation = '{level}'")
    race.look(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    journal = dj.connect(race.url)
    try:
        reader = Reader(journal)
        (a, _), (b, _) = race.committed(lambda w: w.create(), lambda w: w.create())
        assert reader.step() == [a, b]
        race.committed(lambda w: w.touch(a))
        assert reader.step() == [a]
        race.look(f"ALTER DATABASE {database} RESET default_transaction_read_only")
        journal.close()
        with journal.write() as tx:
            tx.upsert(dj.Document(PARENT, {"key": 1}))
        assert len(reader.step()) == 1
    finally:
        journal.close()


@pytest.mark.acceptance("38")
def test_neither_of_two_statements_is_visible_before_the_commit(race: Race) -> None:
    race.committed(lambda w: w.create())
    race.reader.step()
    a, _ = race.first.create()
    assert race.reader.step() == []
    race.second.create()
    race.second.commit()
    assert race.reader.step() == []
    b, _ = race.first.create()
    assert race.reader.step() == []
    race.first.commit()
    assert {a, b} <= set(race.reader.step())


def test_newest_reads_the_sequence_before_the_locks(race: Race) -> None:
    """A writer enters, and another one commits, while the horizon is read, between its two looks."""
    (a, _), (b, _) = race.committed(lambda w: w.create(), lambda w: w.create())
    race.reader.step()
    race.edit(HORIZON_WITH_A_GATE)
    with race.closed_gate():
        reading = race.blocked(race.newest)
        lower = race.first.touch(a)
        race.second.touch(b)
        race.second.commit()
    assert reading.result() < lower
    race.first.commit()


@pytest.mark.acceptance("40")
@pytest.mark.parametrize("walker", ["the same journal", "another program's"])
def test_a_walk_goes_to_its_end_when_a_writer_enters_late(race: Race, walker: str) -> None:
    """A writer reads the sequence, and takes its lock when others have passed it: the walk's window stays whole."""
    race.edit(ENTER_CHANGE_WITH_A_GATE)
    with race.closed_gate():
        late = race.first.blocked(race.first.create)
        race.second.sql("SELECT set_config('race.gate', 'open', false)")
        for _ in range(5):
            race.second.create()
            race.second.commit()
        window = dj.Window(1, race.newest())
        walk = race.journal.changes(PARENT, window, page_size=2)
        found = [next(walk)]
    late.result()
    if walker == "the same journal":
        found += walk
    else:
        with dj.connect(race.url) as other:
            walk = other.changes(PARENT, window, page_size=2)
            found = list(walk)
            if walk.cut:  # it says so: the caller goes on after `through`
                race.first.commit()
                found += other.changes(PARENT, dj.Window(walk.through + 1, window.max))
    assert len(found) == 5


@pytest.mark.acceptance("40")
def test_newest_does_not_fall_when_a_writer_enters_late(race: Race) -> None:
    """Whoever has passed a version never hears of an older one as the newest."""
    race.edit(ENTER_CHANGE_WITH_A_GATE)
    with race.closed_gate():
        late = race.first.blocked(race.first.create)
        race.second.sql("SELECT set_config('race.gate', 'open', false)")
        race.second.create()
        race.second.commit()
        newest = race.look("SELECT dms.horizon()").scalar_one()
    late.result()
    assert race.look("SELECT dms.horizon()").scalar_one() >= newest
