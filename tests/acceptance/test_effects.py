"""Effects: what else changed because of an event (docs/how-it-works.md, Effects)."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.feed import effects
from dmsjournal.schema import migrate
from tests.feeds import walk
from tests.helpers import PLAN, SCHOOL, SECTION, STUDENT, add_edge, change_content, document, newest, refer, write

ADA = dj.Context(user="ada", trigger="api_delete")


@pytest.fixture
def told(url: str) -> Iterator[dj.Journal]:
    migrate.upgrade(url, options=["context"])
    with dj.connect(url) as journal:
        yield journal


def effects_of(journal: dj.Journal, limit: int = 100) -> dict[int, dj.Effects]:
    """By the event's version."""
    return {place[0]: found for place, found in journal.effects(walk(journal, dj.FeedRequest())[0], limit).items()}


def ids(found: list[dj.Effect]) -> list[int]:
    return [effect.document_id for effect in found]


def rename(journal: dj.Journal, old: int, new: int) -> int:
    """Gives a student another key; returns the version of its event."""
    with journal.write() as tx:
        tx.rekey(STUDENT, {"studentId": old}, {"studentId": new})
    return newest(journal)


def test_a_rename_has_the_documents_that_refer_to_it(journal: dj.Journal) -> None:
    student = document(STUDENT, 1)
    [_, plan, other, _] = write(journal, student, document(PLAN, 1, student), document(PLAN, 2, student), document(PLAN, 3))
    version = rename(journal, 1, 2)
    found = effects_of(journal)
    assert list(found) == [version]
    listed = found[version]
    assert [(e.document_id, e.resource, e.reason, e.change_version) for e in listed.updated] == [
        (plan, PLAN, "referenced_identity_changed", None),
        (other, PLAN, "referenced_identity_changed", None),
    ]
    uuids = {event.key.document_id: event.key.document_uuid for event in walk(journal, dj.FeedRequest())[0]}
    assert [e.document_uuid for e in listed.updated] == [uuids[plan], uuids[other]]
    assert (listed.deleted, listed.truncated) == ([], 0)


def test_what_was_written_since_is_told_by_its_own_event_and_what_came_since_not_at_all(
    journal: dj.Journal, connection: sa.Connection
) -> None:
    student = document(STUDENT, 1)
    [first, plan, other, late] = write(journal, student, document(PLAN, 1, student), document(PLAN, 2, student), document(PLAN, 3))
    version = rename(journal, 1, 2)
    add_edge(connection, late, first)
    change_content(connection, other)
    assert ids(effects_of(journal)[version].updated) == [plan]
    again = rename(journal, 2, 3)
    found = effects_of(journal)
    assert version not in found  # the later rename overtook it, and lists what it listed
    assert ids(found[again].updated) == [plan, other, late]
    with journal.write() as tx:
        tx.delete(PLAN, {"graduationPlanId": 1})
    assert ids(effects_of(journal)[again].updated) == [other, late]
    assert version not in effects_of(journal)


def test_what_the_renames_own_transaction_wrote_counts(journal: dj.Journal) -> None:
    """A plan whose identity contains the student's is stamped with it, before or after it."""
    student = document(STUDENT, 1)
    plan = dj.Document(PLAN, {"studentId": 1, "n": 1}, {}, [refer(student, identity_component=True)])
    [_, plan_id] = write(journal, student, plan)
    version = rename(journal, 1, 2)
    assert ids(effects_of(journal)[version - 1].updated) == [plan_id]


def test_effects_are_bounded_and_the_rest_is_counted(journal: dj.Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    student = document(STUDENT, 1)
    with journal.write() as tx:
        tx.upsert_many([student, *(document(PLAN, n, student) for n in range(25))])
    version = rename(journal, 1, 2)
    found = effects_of(journal, limit=10)[version]
    assert (len(found.updated), found.truncated) == (10, 15)
    assert len(effects_of(journal, limit=25)[version].updated) == 25
    monkeypatch.setattr(effects, "_LOOKED", 20)
    found = effects_of(journal, limit=10)[version]
    assert (len(found.updated), found.truncated) == (10, 10)


def test_a_document_that_refers_to_itself_is_no_effect_of_itself(journal: dj.Journal, connection: sa.Connection) -> None:
    [student] = write(journal, document(STUDENT, 1))
    add_edge(connection, student, student)
    rename(journal, 1, 2)
    assert effects_of(journal) == {}


def test_a_cascade_is_told_of_the_delete_that_caused_it(told: dj.Journal) -> None:
    school, student = document(SCHOOL, 1), document(STUDENT, 1)
    section = document(SECTION, 1, school)
    [school_id, _, section_id, plan_id, _] = write(
        told, school, student, section, document(PLAN, 1, section, student), document(PLAN, 2, student)
    )
    with told.write(ADA) as tx:
        tx.upsert(document(STUDENT, 1, body={"n": 1}))  # has nothing to do with it
        tx.delete(SCHOOL, {"schoolId": 1}, cascade=True)
        tx.upsert(document(STUDENT, 1, body={"n": 2}))
    events, _ = walk(told, dj.FeedRequest())
    deletes = {event.key.document_id: event for event in events if event.type == "DELETE"}
    found = effects_of(told)
    assert list(found) == [deletes[school_id].change_version]
    [listed] = found.values()
    assert [(e.document_id, e.resource, e.reason, e.document_uuid, e.change_version) for e in listed.deleted] == [
        (each, of, "parent_deleted", deletes[each].key.document_uuid, deletes[each].change_version)
        for each, of in ((plan_id, PLAN), (section_id, SECTION))
    ]
    assert (listed.updated, listed.truncated) == ([], 0)
    one = effects_of(told, limit=1)[deletes[school_id].change_version]
    assert (ids(one.deleted), one.truncated) == ([plan_id], 1)


def test_a_transaction_without_a_context_keeps_its_cascade_apart_from_what_it_wrote_before(told: dj.Journal) -> None:
    student = document(STUDENT, 1)
    [student_id, plan] = write(told, student, document(PLAN, 1, student))
    with told.write() as tx:
        tx.upsert(document(SCHOOL, 1))
        tx.delete(STUDENT, {"studentId": 1}, cascade=True)
    events, _ = walk(told, dj.FeedRequest())
    assert [(event.key.document_id, (event.context or {}).get("trigger")) for event in events[2:]] == [
        (plan + 1, None),
        (plan, "cascade_delete"),
        (student_id, None),
    ]
    [listed] = effects_of(told).values()
    assert ids(listed.deleted) == [plan]


def test_what_a_writer_says_was_caused_by_a_document_is_its_effect(told: dj.Journal) -> None:
    school, student = document(SCHOOL, 1, body={"students": 1}), document(STUDENT, 1)
    [school_id, student_id, plan_id] = write(told, school, student, document(PLAN, 1, student))
    with told.write(ADA) as tx:
        with tx.caused_by(STUDENT, {"studentId": 1}, reason="a student less"):
            tx.upsert(document(SCHOOL, 1, body={"students": 0}))
            tx.upsert(document(SCHOOL, 2))  # a creation is no effect on anything
        tx.delete(STUDENT, {"studentId": 1}, cascade=True)
        tx.upsert(document(SECTION, 1))
    events, _ = walk(told, dj.FeedRequest())
    [gone] = [event for event in events if event.type == "DELETE" and event.key.document_id == student_id]
    found = effects_of(told)
    assert list(found) == [gone.change_version]
    listed = found[gone.change_version]
    assert [(e.document_id, e.reason) for e in listed.updated] == [(school_id, "a student less")]
    assert [(e.document_id, e.reason) for e in listed.deleted] == [(plan_id, "parent_deleted")]
    users = {(event.context or {}).get("user") for event in events[3:]}
    assert users == {"ada"}


def test_neither_the_cause_itself_nor_what_others_write_meanwhile_is_an_effect(told: dj.Journal, connection: sa.Connection) -> None:
    [student, _, section, plan] = write(told, document(STUDENT, 1), document(SCHOOL, 1), document(SECTION, 1), document(PLAN, 1))
    with told.write() as tx, tx.caused_by(STUDENT, {"studentId": 1}, reason="x"):
        tx.upsert(document(SCHOOL, 1, body={"n": 1}))
        change_content(connection, plan)  # another session's, between two stamps of this one
        tx.upsert(document(STUDENT, 1, body={"n": 1}))
        tx.upsert(document(SECTION, 1, body={"n": 1}))
    events, _ = walk(told, dj.FeedRequest())
    found = told.effects(events)
    assert list(found) == [(event.change_version, student) for event in events[4:] if event.key.document_id == student]
    [listed] = found.values()
    assert ids(listed.updated) == [student + 1, section]


def test_causes_nest_and_end(told: dj.Journal) -> None:
    [student, school] = write(told, document(STUDENT, 1), document(SCHOOL, 1))
    with told.write() as tx:
        with tx.caused_by(STUDENT, {"studentId": 1}, reason="one"):
            tx.upsert(document(PLAN, 1))
            with tx.caused_by(SCHOOL, {"schoolId": 1}, reason="two"):
                tx.upsert(document(PLAN, 1, body={"n": 1}))
            tx.upsert(document(PLAN, 2))
            tx.upsert(document(PLAN, 2, body={"n": 1}))
        tx.upsert(document(STUDENT, 1, body={"n": 1}))
        tx.upsert(document(SCHOOL, 1, body={"n": 1}))
        tx.upsert(document(PLAN, 3))
        tx.upsert(document(PLAN, 3, body={"n": 1}))
    events, _ = walk(told, dj.FeedRequest())
    of = {place: found for place, found in told.effects(events).items()}
    causes = {event.key.document_id: (event.change_version, event.key.document_id) for event in events}
    assert ids(of[causes[student]].updated) == [school + 2]
    assert ids(of[causes[school]].updated) == [school + 1]
    assert [e.reason for e in of[causes[school]].updated] == ["two"]


def test_a_cause_must_be_there_and_short(told: dj.Journal) -> None:
    write(told, document(STUDENT, 1))
    with told.write() as tx:
        with pytest.raises(dj.InvalidRequest, match="has no document"), tx.caused_by(STUDENT, {"studentId": 2}, reason="x"):
            pass
        for wrong in ("", "x" * 101, "\U0001f600" * 26, 7):
            with pytest.raises(dj.InvalidRequest, match="reason"), tx.caused_by(STUDENT, {"studentId": 1}, reason=wrong):  # type: ignore[arg-type]
                pass
        with tx.caused_by(STUDENT, {"studentId": 1}, reason="\U0001f600" * 25):
            tx.upsert(document(SCHOOL, 1))


def test_without_the_option_a_cause_is_refused_and_a_cascade_is_not_told(journal: dj.Journal) -> None:
    student = document(STUDENT, 1)
    write(journal, student, document(PLAN, 1, student))
    with (
        pytest.raises(dj.UnsupportedCapability, match="--with context"),
        journal.write() as tx,
        tx.caused_by(STUDENT, {"studentId": 1}, reason="x"),
    ):
        pass
    with journal.write() as tx:
        tx.delete(STUDENT, {"studentId": 1}, cascade=True)
    assert effects_of(journal) == {}


def test_a_context_of_any_shape_is_no_cause(told: dj.Journal, connection: sa.Connection) -> None:
    from tests.acceptance.test_contexts import say

    write(told, document(STUDENT, 1))
    for cause in ("7", "null", '"x"', "[1]", '{"document_uuid": 7}', '{"document_uuid": "no uuid", "reason": {}}'):
        with connection.begin():
            say(connection, f'{{"cause": {cause}}}')
            connection.exec_driver_sql("UPDATE dms.Document SET ContentVersion = ContentVersion + 1")
    assert effects_of(told) == {}
    assert len(walk(told, dj.FeedRequest())[0]) == 7


def test_an_event_that_was_pruned_is_an_error(journal: dj.Journal) -> None:
    student = document(STUDENT, 1)
    write(journal, student, document(PLAN, 1, student))
    rename(journal, 1, 2)
    events, _ = walk(journal, dj.FeedRequest())
    journal.prune(through=2)
    assert journal.effects(events[2:])
    with pytest.raises(dj.CheckpointExpired):
        journal.effects(events)


@pytest.mark.parametrize(("events", "limit"), [([7], 1), ([(1, 1)], 1), ([], 0), ([], 1001)])
def test_what_is_no_event_of_the_feed_is_refused(journal: dj.Journal, events: list[dj.FeedEvent], limit: int) -> None:
    with pytest.raises(dj.InvalidRequest):
        journal.effects(events, limit)
