"""Verify and repair (acceptance 59): what bypassed the triggers is named exactly, and a consumer of before sees it repaired."""

import contextlib

import pytest

import dmsjournal as dj
from dmsjournal.operate.findings import MEANINGS
from tests.consumer import (
    GAP,
    GONE_ID,
    NEW_ID,
    PLAN_ID,
    SCHOOL_ID,
    SECTION_ID,
    STUDENT_ID,
    Consumer,
    found,
    past_triggers,
    repaired,
    set_back,
)
from tests.helpers import SCHOOL, SECTION, STUDENT, change_content, commit, document, drawn, write


def test_what_is_written_in_the_usual_ways_is_clean(consumer: Consumer) -> None:
    verification = consumer.journal.verify()
    assert verification.is_clean
    assert (verification.documents, verification.edges, verification.tombstones) == (4, 1, 1)
    assert verification.events == 8
    assert consumer.journal.repair() == dj.Repair(verification, verification)


DOCUMENT = "INSERT INTO dms.Document (ResourceKeyId, ContentVersion, IdentityVersion) SELECT ResourceKeyId"
OF_SECTION = f"FROM dms.Document WHERE DocumentId = {SECTION_ID}"


@pytest.mark.acceptance("59")
@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        pytest.param(f"{DOCUMENT}, 0, 0 {OF_SECTION}", {"document-unstamped": [NEW_ID]}, id="inserted without stamps"),
        pytest.param(f"{DOCUMENT}, 1, 1 {OF_SECTION}", {"document-unjournaled": [NEW_ID]}, id="inserted with another's stamps"),
        pytest.param(
            f"{DOCUMENT}, 5000, 5000 {OF_SECTION}", {"document-above-sequence": [NEW_ID]}, id="inserted with stamps to come"
        ),
        pytest.param(
            f"{DOCUMENT}, 0, 1 {OF_SECTION}", {"document-unstamped": [NEW_ID], "document-unjournaled": [NEW_ID]}, id="both"
        ),
        pytest.param(
            f"UPDATE dms.Document SET ContentVersion = 2 WHERE DocumentId = {SECTION_ID}",
            {"document-unjournaled": [SECTION_ID]},
            id="a stamp written",
        ),
        pytest.param(
            f"UPDATE dms.Document SET KeyValues = '{{\"schoolId\":9}}' WHERE DocumentId = {SCHOOL_ID}",
            {"key-unjournaled": [SCHOOL_ID]},
            id="renamed",
        ),
        pytest.param(f"DELETE FROM dms.Document WHERE DocumentId = {SCHOOL_ID}", {"document-vanished": [SCHOOL_ID]}, id="deleted"),
        pytest.param(
            "UPDATE dms.ReferenceEdge SET ParentResourceKeyId = 99", {"edge-misfiled": [f"{PLAN_ID}->{STUDENT_ID}"]}, id="misfiled"
        ),
    ],
)
def test_what_no_trigger_saw_is_named_and_healed(consumer: Consumer, statement: str, expected: dict[str, list[int | str]]) -> None:
    past_triggers(consumer.connection, statement)
    repaired(consumer, expected)


@pytest.mark.acceptance("59")
def test_all_of_it_at_once_is_named_and_healed(consumer: Consumer) -> None:
    """Several things of one document, and of one edge, are healed together and by one run."""
    write(consumer.journal, document(STUDENT, 7), document(SCHOOL, 7))
    consumer.catch_up()
    past_triggers(
        consumer.connection,
        f"UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = {PLAN_ID}",
        f"UPDATE dms.Document SET KeyValues = '{{\"schoolId\":9}}' WHERE DocumentId = {SCHOOL_ID}",
        f"DELETE FROM dms.Document WHERE DocumentId = {SECTION_ID}",
        "UPDATE dms.ReferenceEdge SET ParentResourceKeyId = 99",
        "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, ParentResourceKeyId) "
        f"SELECT DocumentId, {NEW_ID}, ResourceKeyId FROM dms.Document WHERE DocumentId = {SCHOOL_ID}",
        "DELETE FROM dms.ResourceDependency",
        f"DELETE FROM dms.DocumentChangeEvent WHERE DocumentId = {NEW_ID + 1}",
        f"DELETE FROM dms.IdentityChangeEvent WHERE DocumentId = {STUDENT_ID}",
        f"UPDATE dms.DocumentDeleteEvent SET ChangeVersion = {GAP}",
    )
    expected: dict[str, list[int | str]] = {
        "document-unstamped": [PLAN_ID],
        "document-unjournaled": [NEW_ID + 1],
        "identity-unjournaled": [STUDENT_ID],
        "key-unjournaled": [SCHOOL_ID],
        "document-vanished": [SECTION_ID],
        "tombstone-too-low": [GONE_ID],
        "edge-misfiled": [f"{PLAN_ID}->{STUDENT_ID}"],
        "edge-unstamped": [f"{SCHOOL_ID}->{NEW_ID}"],
        "dependency-missing": [f"{PLAN_ID}->{STUDENT_ID}", f"{SCHOOL_ID}->{NEW_ID}"],
    }
    repaired(consumer, expected, expires=True)


@pytest.mark.acceptance("59")
def test_a_renaming_that_no_trigger_saw_becomes_a_key_change(consumer: Consumer) -> None:
    before = consumer.passed
    past_triggers(consumer.connection, f"UPDATE dms.Document SET KeyValues = '{{\"schoolId\":9}}' WHERE DocumentId = {SCHOOL_ID}")
    consumer.journal.repair()
    [change] = consumer.journal.key_changes(SCHOOL, dj.Window(before + 1))
    assert (change.document_id, change.old_key_values, change.new_key_values) == (SCHOOL_ID, {"schoolId": 3}, {"schoolId": 9})


@pytest.mark.acceptance("59")
def test_a_delete_that_no_trigger_saw_has_the_tombstone_that_the_last_key_change_tells(consumer: Consumer) -> None:
    [uuid] = [change.document_uuid for change in consumer.journal.changes(SCHOOL)]
    past_triggers(consumer.connection, f"DELETE FROM dms.Document WHERE DocumentId = {SCHOOL_ID}")
    consumer.journal.repair()
    tombstone = list(consumer.journal.deletes(SCHOOL, dj.Window(consumer.passed + 1)))
    assert [(t.document_id, t.document_uuid, t.key_values) for t in tombstone] == [(SCHOOL_ID, uuid, {"schoolId": 3})]


@pytest.mark.acceptance("59")
def test_a_delete_whose_uuid_nothing_tells_expires_the_tombstones(consumer: Consumer) -> None:
    past_triggers(consumer.connection, f"DELETE FROM dms.Document WHERE DocumentId = {SECTION_ID}")
    repaired(consumer, {"document-vanished": [SECTION_ID]}, expires=True)


@pytest.mark.acceptance("59")
def test_an_edge_that_no_trigger_saw_stamps_its_parent(consumer: Consumer) -> None:
    write(consumer.journal, document(STUDENT, 7))
    consumer.catch_up()
    past_triggers(
        consumer.connection,
        "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, ParentResourceKeyId) "
        f"SELECT DocumentId, {NEW_ID}, ResourceKeyId FROM dms.Document WHERE DocumentId IN ({PLAN_ID}, {SECTION_ID})",
    )
    edges: list[int | str] = [f"{PLAN_ID}->{NEW_ID}", f"{SECTION_ID}->{NEW_ID}"]
    repaired(consumer, {"edge-unstamped": edges, "dependency-missing": edges[1:]})


@pytest.mark.acceptance("59")
def test_a_pair_of_resources_that_is_not_known_is_recorded(consumer: Consumer) -> None:
    commit(consumer.connection, "DELETE FROM dms.ResourceDependency")
    with consumer.journal.write() as tx:  # the plan changes, and no page says so
        tx.rekey(STUDENT, {"studentId": 2}, {"studentId": 3})
    consumer.catch_up()
    assert consumer.copy != consumer.everything()
    repaired(consumer, {"dependency-missing": [f"{PLAN_ID}->{STUDENT_ID}"]})


@pytest.mark.acceptance("59")
@pytest.mark.parametrize(
    ("statement", "expected", "expires"),
    [
        (f"DELETE FROM dms.DocumentChangeEvent WHERE DocumentId = {SCHOOL_ID}", {"document-unjournaled": [SCHOOL_ID]}, False),
        (
            f"UPDATE dms.DocumentChangeEvent SET ResourceKeyId = 1 WHERE DocumentId = {SCHOOL_ID}",
            {"document-unjournaled": [SCHOOL_ID]},
            False,
        ),
        (f"DELETE FROM dms.IdentityChangeEvent WHERE DocumentId = {STUDENT_ID}", {"identity-unjournaled": [STUDENT_ID]}, False),
        ("DELETE FROM dms.DocumentDeleteEvent", {"document-vanished": [GONE_ID]}, True),
        (f"UPDATE dms.DocumentDeleteEvent SET ChangeVersion = {GAP}", {"tombstone-too-low": [GONE_ID]}, False),
        ("DELETE FROM dms.JournalFloor WHERE Journal = 'KeyChangeEvent'", {"floor-missing": ["KeyChangeEvent"]}, True),
        (
            "UPDATE dms.JournalFloor SET ChangeVersion = 2, PrunedAt = '2026-01-01' WHERE Journal = 'DocumentChangeEvent'",
            {"floor-contradicted": ["DocumentChangeEvent"]},
            False,
        ),
    ],
)
def test_what_was_done_to_the_journals_is_named_and_healed(
    consumer: Consumer, statement: str, expected: dict[str, list[int | str]], expires: bool
) -> None:
    commit(consumer.connection, statement)
    repaired(consumer, expected, expires=expires)


@pytest.mark.acceptance("59")
def test_the_last_of_two_key_changes_that_was_deleted_is_told_by_the_first(consumer: Consumer) -> None:
    with consumer.journal.write() as tx:
        tx.rekey(SCHOOL, {"schoolId": 3}, {"schoolId": 4})
    commit(consumer.connection, f"DELETE FROM dms.KeyChangeEvent WHERE ChangeVersion = {drawn(consumer.connection)}")
    repaired(consumer, {"key-unjournaled": [SCHOOL_ID]})


@pytest.mark.acceptance("59")
def test_a_document_that_comes_back_unseen_is_stamped(consumer: Consumer) -> None:
    write(consumer.journal, document(SCHOOL, 8))
    stamps = commit(consumer.connection, f"SELECT ContentVersion, DocumentUuid FROM dms.Document WHERE DocumentId = {NEW_ID}")
    with consumer.journal.write() as tx:
        tx.delete(SCHOOL, {"schoolId": 8})
    consumer.catch_up()
    [(version, uuid)] = stamps
    kept = f"DocumentId, DocumentUuid, ResourceKeyId, ContentVersion, IdentityVersion) SELECT {NEW_ID}, '{uuid}', ResourceKeyId"
    of_school = f"FROM dms.Document WHERE DocumentId = {SCHOOL_ID}"
    is_sqlserver = consumer.connection.dialect.name == "mssql"
    allow = "SET IDENTITY_INSERT dms.Document ON;" if is_sqlserver else ""
    past_triggers(consumer.connection, f"{allow} INSERT INTO dms.Document ({kept}, {version}, {version} {of_school}")
    if is_sqlserver:
        commit(consumer.connection, "SET IDENTITY_INSERT dms.Document OFF")
    repaired(consumer, {"document-below-tombstone": [NEW_ID]})


@pytest.mark.acceptance("59")
def test_a_sequence_that_was_set_back_is_raised(consumer: Consumer) -> None:
    newest = drawn(consumer.connection)
    set_back(consumer.connection, newest - 2)  # below the school's rename and the tombstone
    journals = ["DocumentChangeEvent", "DocumentDeleteEvent", "IdentityChangeEvent", "KeyChangeEvent"]
    repaired(consumer, {"sequence-behind": journals, "document-above-sequence": [SCHOOL_ID]})
    assert drawn(consumer.connection) == newest + 1


@pytest.mark.acceptance("59")
@pytest.mark.parametrize("writes", [1, 3, 8])
def test_stamps_that_were_given_again_become_new_ones(consumer: Consumer, writes: int) -> None:
    """One write lets the sequence stay behind, eight lead it past the stamps that it gave before."""
    newest = drawn(consumer.connection)
    write(consumer.journal, *(document(SECTION, n) for n in range(20, 26)))
    consumer.catch_up()
    set_back(consumer.connection, newest)
    for n in range(writes):
        change_content(consumer.connection, (SECTION_ID, PLAN_ID, SCHOOL_ID)[n % 3])
    codes = found(consumer.journal.verify())
    assert set(codes["stamp-given-again"]) >= sharing_a_stamp(consumer)
    if writes == 8:  # the sequence is not behind: only two of one stamp tell
        assert set(codes["stamp-given-again"]) == sharing_a_stamp(consumer)
    assert consumer.journal.repair().left.is_clean
    consumer.passed = newest + 6  # it has passed what was given the second time
    consumer.catch_up()
    assert consumer.copy == consumer.everything()
    assert {SECTION_ID, PLAN_ID, SCHOOL_ID} & set(consumer.told) >= set((SECTION_ID, PLAN_ID, SCHOOL_ID)[:writes])


@pytest.mark.acceptance("59")
@pytest.mark.parametrize("writes", [0, 6])
def test_a_tombstone_that_was_given_again_gets_a_new_stamp(consumer: Consumer, writes: int) -> None:
    newest = drawn(consumer.connection)
    write(consumer.journal, *(document(STUDENT, n) for n in range(20, 26)))
    consumer.catch_up()
    set_back(consumer.connection, newest)
    with consumer.journal.write() as tx:
        tx.delete(SECTION, {"sectionId": 1})
    for _ in range(writes):  # six lead the sequence past what it gave before
        change_content(consumer.connection, PLAN_ID)
    assert f"tombstone {newest + 1}" in found(consumer.journal.verify())["stamp-given-again"]
    assert consumer.journal.repair().left.is_clean
    consumer.passed = newest + 6
    consumer.catch_up()
    assert consumer.copy == consumer.everything()
    assert SECTION_ID in consumer.told


def sharing_a_stamp(consumer: Consumer) -> set[int]:
    """The documents one of whose stamps has an event of another document."""
    events = commit(consumer.connection, "SELECT ChangeVersion, DocumentId FROM dms.DocumentChangeEvent")
    documents = commit(consumer.connection, "SELECT DocumentId, ContentVersion, IdentityVersion FROM dms.Document")
    return {i for i, content, identity in documents for version, j in events if j != i and version in (content, identity)}


@pytest.mark.acceptance("59")
def test_a_stamp_that_was_given_again_for_a_gap_is_told_by_its_time(consumer: Consumer) -> None:
    """What was rolled back is given to another document after the sequence was set back: no two share a stamp."""
    newest = drawn(consumer.connection)
    with contextlib.suppress(KeyError), consumer.journal.write() as tx:
        tx.upsert_many(document(SECTION, n) for n in range(20, 26))
        raise KeyError
    change_content(consumer.connection, PLAN_ID)
    consumer.catch_up()
    assert consumer.passed == newest + 7
    set_back(consumer.connection, newest)
    change_content(consumer.connection, SECTION_ID)
    named = found(consumer.journal.verify())
    assert named["stamp-given-again"] == [SECTION_ID]
    assert sharing_a_stamp(consumer) == set()
    consumer.catch_up()
    assert consumer.told == []
    assert consumer.journal.repair().left.is_clean
    consumer.catch_up()
    assert consumer.told == [SECTION_ID]


def test_a_consumer_that_is_ahead_is_named_and_left_alone(consumer: Consumer) -> None:
    commit(consumer.connection, "INSERT INTO dms.ChangeConsumer (Name, ChangeVersion, DocumentId) VALUES ('late', 1000, 0)")
    assert found(consumer.journal.verify()) == {"consumer-ahead": ["late"]}
    assert found(consumer.journal.repair().left) == {"consumer-ahead": ["late"]}


@pytest.mark.parametrize("sample", [0, -1, 1.5, "all", True, float("nan")])
def test_a_sample_that_is_no_part_is_refused(journal: dj.Journal, sample: object) -> None:
    with pytest.raises(dj.InvalidRequest, match="above 0 and at most 1"):
        journal.verify(sample=sample)  # type: ignore[arg-type]


def test_a_sample_looks_at_a_part(journal: dj.Journal, connections, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmsjournal.operate.verify._SAMPLED_BATCH", 2)
    ids = write(journal, *(document(SECTION, n) for n in range(20)))
    past_triggers(connections[0], "UPDATE dms.Document SET ContentVersion = 0")
    seen = journal.verify(sample=0.2)
    assert (seen.documents, seen.events, seen.sample) == (4, 4, 0.2)
    [finding] = seen.findings
    assert (finding.code, finding.count) == ("document-unstamped", 4)
    assert set(finding.objects) < set(ids)
    assert journal.verify(sample=1).documents == 20
    assert journal.verify(sample=0.0001).documents == 2, "a sample looks at something"


def test_many_are_counted_and_a_hundred_are_named(journal: dj.Journal, connections) -> None:
    write(journal, *(document(SECTION, n) for n in range(120)))
    past_triggers(connections[0], "UPDATE dms.Document SET ContentVersion = 0")
    rows: list[tuple[str, int]] = []
    [finding] = journal.verify(progress=lambda walk, count: rows.append((walk, count))).findings
    assert (finding.count, len(finding.objects)) == (120, 100)
    assert rows == [("documents", 120), ("events", 120)]
    assert finding.meaning == MEANINGS["document-unstamped"].meaning
    assert journal.repair().left.is_clean
