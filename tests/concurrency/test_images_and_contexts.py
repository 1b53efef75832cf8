"""Options images and context under writers: whose change an image and a context are told of, and nobody waits for nothing.

The races are written down in docs/how-it-works.md, Images and Contexts.
"""

import json
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.schema import migrate

from .mutating import Edit
from .races import Race, Writer

ANYBODYS_STAMP: Edit = ("functions/keep_image.v1", "event.TransactionId = this_transaction\n", "event.TransactionId IS NOT NULL\n")
PRUNED_IS_NEW: Edit = ("functions/keep_image.v1", "AND stamped.version > (\n", "AND stamped.version > -1 + 0 * (\n")
ONLY_JOURNALED: Edit = ("functions/keep_image.v1", "OR event.TransactionId IS NULL AND", "OR false AND")
NOTHING_WAITED: Edit = ("functions/keep_image.v1", "body := waiting;", "NULL;")
WAITS_FOR_BODIES: Edit = ("functions/pair_image.v1", "FOR UPDATE SKIP LOCKED", "FOR UPDATE")
NEVER_PAIRED: Edit = ("functions/pair_image.v1", "WHERE ctid =", "WHERE false AND ctid =")
OPEN_TO_THE_END: Edit = (
    "functions/note_context.v1",
    "SET ThroughVersion = newest WHERE",
    "SET ThroughVersion = 9223372036854775807 WHERE",
)
NEVER_CLOSED: Edit = (
    "functions/close_context.v1",
    "(SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM dms.ChangeVersionSequence)",
    "9223372036854775807",
)


@pytest.fixture
def race(url: str, request: pytest.FixtureRequest) -> Iterator[Race]:
    migrate.upgrade(url, options=["images", "context"])
    race = Race(url, getattr(request, "param", ()))
    yield race
    race.close()


def mutated(*edits: Edit):  # type: ignore[no-untyped-def]
    """Runs the race as shipped, and with edits, with which it must fail."""
    lost = pytest.mark.xfail(strict=True, raises=AssertionError, reason="the race is lost without the rule")
    return pytest.mark.parametrize("race", [(), pytest.param(edits, marks=lost)], indirect=True, ids=["shipped", "mutated"])


def write(writer: Writer, document_id: int, n: int) -> None:
    """A body, alone."""
    writer.sql(
        "INSERT INTO dms.DocumentCache (DocumentId, DocumentJson, Etag, ComputedVersion) VALUES (:id, CAST(:body AS jsonb), '', 0) "
        "ON CONFLICT (DocumentId) DO UPDATE SET DocumentJson = excluded.DocumentJson",
        id=document_id,
        body=json.dumps({"n": n}),
    )


def created(race: Race, n: int = 1) -> int:
    """A document with a body, committed."""
    document_id, _ = race.first.create()
    write(race.first, document_id, n)
    race.first.commit()
    return document_id


def told(race: Race, document_id: int) -> list[tuple[int | None, int | None]]:
    """n before and after, of each event of a document."""
    rows = race.look(
        "SELECT ChangeVersion, DocumentId FROM dms.DocumentChangeEvent WHERE DocumentId = :id UNION ALL "
        "SELECT ChangeVersion, DocumentId FROM dms.DocumentDeleteEvent WHERE DocumentId = :id",
        id=document_id,
    )
    found = race.journal.images([tuple(row) for row in rows])
    return [(image.before and image.before["n"], image.after and image.after["n"]) for image in found.values()]


@mutated(ANYBODYS_STAMP)
def test_a_stamp_of_another_transaction_above_the_floor_is_not_ones_own(race: Race) -> None:
    """session 1  enters, ...................... writes D's body, commits
    session 2           stamps D, commits"""
    document, other = created(race), created(race)
    race.first.touch(other)
    race.second.touch(document)
    race.second.commit()
    write(race.first, document, 2)
    race.first.commit()
    assert told(race, document) == [(None, 1), (1, 1)]
    race.committed(lambda w: w.touch(document))
    assert told(race, document) == [(None, 1), (1, 1), (1, 2)]


@mutated(NOTHING_WAITED)
def test_an_event_takes_over_a_body_that_came_between_it_and_its_own(race: Race) -> None:
    """session 1  writes D's body (2) ................... commits
    session 2            stamps D, writes D's body (3): waits ...... commits"""
    document = created(race)
    write(race.first, document, 2)
    race.second.touch(document)
    waiting = race.second.blocked(lambda: write(race.second, document, 3))
    race.first.commit()
    waiting.result()
    race.second.commit()
    assert told(race, document) == [(None, 1), (1, 3)]


@mutated(WAITS_FOR_BODIES)
def test_whoever_stamps_waits_for_no_body(race: Race) -> None:
    document = created(race)
    race.committed(lambda w: write(w, document, 2))
    write(race.first, document, 3)
    race.second.sql("SET LOCAL lock_timeout = '1s'")
    try:
        race.second.touch(document)
    except sa.exc.OperationalError as error:
        raise AssertionError("it waited") from error
    race.second.commit()
    race.first.commit()
    assert told(race, document) == [(None, 1), (1, 1)]
    race.committed(lambda w: w.touch(document))
    assert told(race, document) == [(None, 1), (1, 1), (1, 3)]


@mutated(NEVER_PAIRED)
def test_a_body_before_its_stamp_in_one_transaction(race: Race) -> None:
    document = created(race)
    write(race.first, document, 2)
    race.first.touch(document)
    race.first.touch(document)
    race.first.delete(document)
    race.first.commit()
    assert told(race, document) == [(None, 1), (1, 2), (2, 2), (2, None)]


STAMP = "UPDATE dms.Document SET ContentVersion = NULL WHERE DocumentId = :id"
BODY = "UPDATE dms.DocumentCache SET DocumentJson = '{\"n\": 2}' WHERE DocumentId = :id"


@mutated(NEVER_PAIRED, ONLY_JOURNALED)
def test_a_body_and_then_its_document_by_one_statement(race: Race) -> None:
    """The image comes before the event is journaled: PostgreSQL runs the statement's own update first, then the other one."""
    document = created(race)
    race.committed(lambda w: w.sql(f"WITH stamped AS ({STAMP}) {BODY}", id=document))
    assert told(race, document) == [(None, 1), (1, 2)]


def test_a_document_and_then_its_body_by_one_statement(race: Race) -> None:
    document = created(race)
    race.committed(lambda w: w.sql(f"WITH written AS ({BODY}) {STAMP}", id=document))
    assert told(race, document) == [(None, 1), (1, 2)]


def test_a_stamp_that_a_savepoint_took_back_has_no_image(race: Race) -> None:
    document = created(race)
    race.first.sql("SAVEPOINT s")
    race.first.touch(document)
    write(race.first, document, 2)
    race.first.sql("ROLLBACK TO SAVEPOINT s")
    write(race.first, document, 3)
    race.first.commit()
    race.committed(lambda w: w.touch(document))
    assert told(race, document) == [(None, 1), (1, 3)]
    assert race.journal.verify().is_clean


@mutated(PRUNED_IS_NEW)
def test_a_setting_that_a_session_wrote_makes_no_image_of_a_pruned_event(race: Race) -> None:
    document = created(race)
    race.journal.prune(through=race.newest())
    race.first.sql("SELECT set_config('dms.entered_at', '0', true)")
    race.first.sql("UPDATE dms.Document SET CreatedAt = CreatedAt WHERE DocumentId = :id", id=document)  # the row is its own now
    write(race.first, document, 2)
    race.first.commit()
    assert race.look("SELECT ChangeVersion FROM dms.DocumentImage").scalars().all() == [2**63 - 1]


def test_a_reader_sees_bodies_and_images_of_one_moment(race: Race) -> None:
    """An event that changed nothing is told by what comes after it: uncommitted, it is not there."""
    document = created(race)
    race.committed(lambda w: w.touch(document))
    race.second.touch(document)
    write(race.second, document, 2)
    assert told(race, document) == [(None, 1), (1, 1)]
    race.second.commit()
    assert told(race, document) == [(None, 1), (1, 1), (1, 2)]


def context(writer: Writer, who: str) -> None:
    writer.sql("SELECT set_config('dmsjournal.context', :said, true)", said=json.dumps({"user": who}))


def users(race: Race) -> list[str | None]:
    """Who is said to have caused each event, oldest first."""
    rows = race.look("SELECT ChangeVersion, DocumentId FROM dms.DocumentChangeEvent ORDER BY 1").all()
    found = race.journal.contexts([tuple(row) for row in rows])
    return [found.get(tuple(row), {}).get("user") for row in rows]


@mutated(OPEN_TO_THE_END)
def test_a_context_ends_where_another_begins(race: Race) -> None:
    context(race.first, "ada")
    document, _ = race.first.create()
    race.second.create()
    context(race.first, "bob")
    race.first.touch(document)
    race.first.sql("SAVEPOINT s")
    context(race.first, "eve")
    race.first.touch(document)
    race.first.sql("ROLLBACK TO SAVEPOINT s")
    race.first.touch(document)
    race.second.commit()
    race.first.commit()
    assert users(race) == ["ada", None, "bob", "bob"]
    ranges = race.look("SELECT AfterVersion, ThroughVersion FROM dms.ChangeContext ORDER BY 1").all()
    assert [tuple(row) for row in ranges] == [(0, 2), (2, race.sequence())]


@mutated(NEVER_CLOSED)
def test_a_transaction_id_that_comes_again_has_no_context_of_before(race: Race) -> None:
    """A dump that is restored into a new cluster keeps the sequence and the rows, and counts transactions from the beginning."""
    context(race.first, "ada")
    race.first.create()
    race.first.commit()
    race.first.create()
    race.first.commit()
    race.look("UPDATE dms.ChangeContext SET TransactionId = (SELECT max(TransactionId) FROM dms.DocumentChangeEvent)")
    assert users(race)[1] is None


def test_a_context_is_told_of_a_prepared_transaction(race: Race) -> None:
    context(race.first, "ada")
    race.first.create()
    race.first.sql("PREPARE TRANSACTION 'told'")
    race.first.rollback()
    race.committed(lambda w: w.create())
    race.look("COMMIT PREPARED 'told'")
    assert users(race) == ["ada", None]


def test_a_context_of_what_stamps_nothing_leaves_nothing(race: Race) -> None:
    document, _ = race.first.create()
    race.first.commit()
    context(race.first, "ada")
    race.first.sql("UPDATE dms.Document SET ContentVersion = ContentVersion WHERE DocumentId = :id", id=document)
    race.first.commit()
    assert race.look("SELECT count(*) FROM dms.ChangeContext").scalar_one() == 0


@pytest.mark.parametrize("option", ["max_dep_identity_version"])
def test_options_go_together(race: Race, option: str) -> None:
    migrate.upgrade(race.url, options=[option])
    with dj.connect(race.url) as journal:
        child, parent = (dj.ResourceKey("Race", name, "1") for name in ("Child", "Parent"))
        with journal.write(dj.Context(user="ada")) as tx:
            tx.upsert(dj.Document(child, {"key": "c"}, {"key": "c"}))
            tx.upsert(dj.Document(parent, {"key": "p"}, references=[dj.Reference(child, {"key": "c"})]))
        with journal.write(dj.Context(user="bob")) as tx:
            tx.rekey(child, {"key": "c"}, {"key": "d"})
        assert users(race) == ["ada", "ada", "bob"]
        assert journal.verify().is_clean
