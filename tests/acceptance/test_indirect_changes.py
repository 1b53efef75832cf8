"""Indirect changes (acceptance 22 to 30): a document changes with the identity of what it refers to."""

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from tests.helpers import (
    DESCRIPTOR,
    EVERYTHING,
    PLAN,
    SCHOOL,
    SECTION,
    STUDENT,
    add_edge,
    change_content,
    change_identity,
    commit,
    document,
    document_events,
    drawn,
    expected_changes,
    identity_events,
    newest,
    refer,
    resource,
    stamps,
    unjournaled,
    write,
)

NEW_EDGE = "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) VALUES ({}, {})"
EDGE = "dms.ReferenceEdge WHERE ParentDocumentId = {} AND ChildDocumentId = {}"


def as_defined(
    journal: dj.Journal, connection: sa.Connection, of: dj.ResourceKey, window: dj.Window = EVERYTHING
) -> list[dj.Change]:
    """The changes that a walk finds, which are those of the definitions."""
    found = list(journal.changes(of, window))
    assert found == expected_changes(connection, journal.resources()[of], window)
    assert found == list(journal.changes(of, window, page_size=1))
    return found


@pytest.mark.acceptance("22")
def test_a_plan_changes_with_the_identity_of_its_student(journal: dj.Journal, connections) -> None:
    student = document(STUDENT, "1")
    student_id, plan_id, _ = write(journal, student, document(PLAN, 1, student), document(PLAN, 2))
    commit(connections[0], "UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = 3")
    while newest(journal) < 98:
        change_content(connections[0], 3)
    assert newest(journal) == 98
    change_content(connections[0], 3)
    change_identity(connections[0], student_id)
    assert newest(journal) == 100
    found = as_defined(journal, connections[0], PLAN, dj.Window(99, 100))
    assert [(change.document_id, change.change_version) for change in found] == [(3, 99), (plan_id, 100)]
    assert stamps(connections[0], plan_id) == (2, 2)  # derived, not stored
    assert [change.document_id for change in as_defined(journal, connections[0], STUDENT, dj.Window(99, 100))] == [student_id]
    assert not as_defined(journal, connections[0], PLAN, dj.Window(1, 98))


@pytest.mark.acceptance("23")
def test_a_plan_does_not_change_with_the_content_of_its_student(journal: dj.Journal, connections) -> None:
    student = document(STUDENT, "1")
    student_id, plan_id = write(journal, student, document(PLAN, 1, student))
    before = journal.derive([plan_id])
    change_content(connections[0], student_id)
    assert not as_defined(journal, connections[0], PLAN, dj.Window(3, 3))
    assert journal.derive([plan_id]) == before


@pytest.mark.acceptance("24")
def test_all_that_refer_to_a_descriptor_change_at_one_version(journal: dj.Journal, connections) -> None:
    descriptor = document(DESCRIPTOR, "uri://ed-fi.org/GradeLevelDescriptor#First")
    descriptor_id, *referring = write(journal, descriptor, *(document(STUDENT, str(n), descriptor) for n in range(10_000)))
    old = dj.Window(1, newest(journal))
    with journal.write() as tx:
        assert tx.rekey(DESCRIPTOR, descriptor.key_values, {"gradeLevelDescriptorId": "uri://ed-fi.org/#1"}) == 1
    new = dj.Window(old.max + 1, newest(journal))
    assert new.min == new.max == 10_002
    found = list(journal.changes(STUDENT, new, page_size=7))
    assert [change.document_id for change in found] == sorted(referring)
    assert {change.change_version for change in found} == {new.max}
    assert found == expected_changes(connections[0], journal.resources()[STUDENT], new)
    assert not list(journal.changes(STUDENT, old))
    assert identity_events(connections[0], descriptor_id) == [new.max]


@pytest.mark.acceptance("25")
def test_a_parent_of_two_changed_children_appears_once_at_the_later_version(journal: dj.Journal, connections) -> None:
    children = [document(STUDENT, "1"), document(SCHOOL, 1), document(STUDENT, "2")]
    ids = write(journal, *children, document(PLAN, 1, *children))
    for child_id in (ids[1], ids[0], ids[1]):
        change_identity(connections[0], child_id)
    for window in (dj.Window(5), EVERYTHING, dj.Window(7, 7)):
        [change] = as_defined(journal, connections[0], PLAN, window)
        assert (change.document_id, change.change_version) == (ids[3], 7)
    for window in (dj.Window(5, 6), dj.Window(1, 4)):
        assert not as_defined(journal, connections[0], PLAN, window)


@pytest.mark.acceptance("25")
def test_a_parent_that_changes_itself_after_its_child_appears_once(journal: dj.Journal, connections) -> None:
    student = document(STUDENT, "1")
    student_id, plan_id = write(journal, student, document(PLAN, 1, student))
    change_identity(connections[0], student_id)
    change_content(connections[0], plan_id)
    assert [change.change_version for change in as_defined(journal, connections[0], PLAN)] == [4]
    change_identity(connections[0], student_id)
    assert [change.change_version for change in as_defined(journal, connections[0], PLAN)] == [5]


@pytest.mark.acceptance("26")
def test_an_edge_that_comes_or_goes_stamps_its_parent(journal: dj.Journal, connections) -> None:
    connection = connections[0]
    child, parent = write(journal, document(STUDENT, "1"), document(PLAN, 1))
    derived = [journal.derive([parent])[parent].change_version]

    def note() -> None:
        derived.append(journal.derive([parent])[parent].change_version)
        assert [change.change_version for change in as_defined(journal, connection, PLAN)] == derived[-1:]
        assert not unjournaled(connection)

    add_edge(connection, parent, child)
    note()
    change_identity(connection, child)
    note()
    commit(connection, f"DELETE FROM {EDGE.format(parent, child)}")  # without a stamp it would fall to 3
    note()
    assert derived == [2, 3, 4, 5]
    assert stamps(connection, parent) == (5, 2)
    assert stamps(connection, child) == (1, 4)


@pytest.mark.acceptance("26")
def test_a_repointed_edge_stamps_the_parent_it_leaves_and_the_one_it_comes_to(journal: dj.Journal, connections) -> None:
    connection = connections[0]
    one, two, p, q = write(journal, document(STUDENT, "1"), document(STUDENT, "2"), document(PLAN, 1), document(PLAN, 2))
    add_edge(connection, p, one)  # 5
    change_identity(connection, two)  # 6
    commit(connection, f"UPDATE dms.ReferenceEdge SET ChildDocumentId = {two} WHERE ParentDocumentId = {p}")
    assert stamps(connection, p) == (7, 3)
    change_identity(connection, two)  # 8
    commit(connection, f"UPDATE dms.ReferenceEdge SET ParentDocumentId = {q} WHERE ParentDocumentId = {p}")
    assert {stamps(connection, p)[0], stamps(connection, q)[0]} == {9, 10}
    assert commit(connection, "SELECT ParentResourceKeyId FROM dms.ReferenceEdge") == [(journal.resources()[PLAN],)]
    assert {change.change_version for change in as_defined(journal, connection, PLAN)} == {9, 10}


@pytest.mark.acceptance("26")
def test_edges_swapped_in_one_statement_stamp_both_parents(journal: dj.Journal, connections) -> None:
    connection = connections[0]
    one, two, p, q = write(journal, document(STUDENT, "1"), document(STUDENT, "2"), document(PLAN, 1), document(PLAN, 2))
    add_edge(connection, p, one)
    add_edge(connection, q, two)
    swapped = f"CASE ChildDocumentId WHEN {one} THEN {two} ELSE {one} END"
    commit(connection, f"UPDATE dms.ReferenceEdge SET ChildDocumentId = {swapped}")
    assert {stamps(connection, p)[0], stamps(connection, q)[0]} == {7, 8}
    assert len(as_defined(journal, connection, PLAN, dj.Window(7))) == 2


@pytest.mark.acceptance("26")
def test_an_edge_within_the_transaction_that_stamped_its_parent_costs_no_second_stamp(journal: dj.Journal, connections) -> None:
    connection = connections[0]
    student_id, plan_id = write(journal, document(STUDENT, "1"), document(PLAN, 1))
    with connection.begin():
        connection.exec_driver_sql(f"UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = {plan_id}")
        connection.exec_driver_sql(NEW_EDGE.format(plan_id, student_id))
    assert document_events(connection, plan_id) == [(2, "insert"), (3, "update")]


@pytest.mark.acceptance("26")
def test_a_parent_is_stamped_above_a_child_that_was_renamed_after_it(journal: dj.Journal, connections) -> None:
    connection = connections[0]
    student_id, plan_id = write(journal, document(STUDENT, "1"), document(PLAN, 1))
    with connection.begin():
        connection.exec_driver_sql(f"UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = {plan_id}")
        connection.exec_driver_sql(f"UPDATE dms.Document SET IdentityVersion = 0 WHERE DocumentId = {student_id}")
        connection.exec_driver_sql(NEW_EDGE.format(plan_id, student_id))
    assert stamps(connection, student_id) == (1, 4)
    assert stamps(connection, plan_id) == (5, 2)
    assert [change.change_version for change in as_defined(journal, connection, PLAN)] == [5]


@pytest.mark.acceptance("26")
def test_a_rolled_back_stamp_does_not_pass_for_one_of_this_transaction(journal: dj.Journal, connections) -> None:
    connection = connections[0]
    student_id, plan_id = write(journal, document(STUDENT, "1"), document(PLAN, 1))
    with connection.begin():
        savepoint = connection.begin_nested()
        connection.exec_driver_sql(f"UPDATE dms.Document SET ContentVersion = 0 WHERE DocumentId = {plan_id}")
        savepoint.rollback()
        connection.exec_driver_sql(NEW_EDGE.format(plan_id, student_id))
    assert document_events(connection, plan_id) == [(2, "insert"), (4, "update")]
    assert [change.change_version for change in as_defined(journal, connection, PLAN)] == [4]


@pytest.mark.acceptance("26")
def test_references_that_an_upsert_drops_or_adds_change_the_document(journal: dj.Journal, connections) -> None:
    one, two = document(STUDENT, "1"), document(STUDENT, "2")
    ids = write(journal, one, two, document(PLAN, 1, one))
    with journal.write() as tx:
        assert tx.upsert(document(PLAN, 1, two)).outcome == "updated"
    assert [change.change_version for change in as_defined(journal, connections[0], PLAN)] == [4]
    change_identity(connections[0], ids[0])
    assert not as_defined(journal, connections[0], PLAN, dj.Window(5))
    change_identity(connections[0], ids[1])
    assert [change.change_version for change in as_defined(journal, connections[0], PLAN, dj.Window(5))] == [6]


@pytest.mark.acceptance("26")
def test_an_edge_between_resources_that_were_strangers_is_followed(journal: dj.Journal, connections) -> None:
    """A query for R visits the identity events of resources that R refers to: a first edge of its kind makes them so."""
    connection = connections[0]
    school_id, section_id, plan_id = write(journal, document(SCHOOL, 1), document(SECTION, 1), document(PLAN, 1))
    add_edge(connection, section_id, plan_id)
    change_identity(connection, plan_id)
    assert [change.change_version for change in as_defined(journal, connection, SECTION)] == [5]
    commit(connection, f"UPDATE dms.ReferenceEdge SET ChildDocumentId = {school_id}")
    change_identity(connection, school_id)
    assert [change.change_version for change in as_defined(journal, connection, SECTION)] == [7]


@pytest.mark.acceptance("27")
def test_a_reference_inside_a_nested_collection_counts_like_any_other(journal: dj.Journal, connections) -> None:
    student, school = document(STUDENT, "1"), document(SCHOOL, 1)
    body = {"years": [{"terms": [{"schoolReference": {"schoolId": 1}}, {"schoolReference": {"schoolId": 1}}]}]}
    references = [refer(student, identity_component=True), refer(school), refer(school)]
    ids = write(journal, student, school, dj.Document(PLAN, {"graduationPlanId": 1}, body, references))
    change_identity(connections[0], ids[1])
    assert [change.change_version for change in as_defined(journal, connections[0], PLAN)] == [4]
    assert commit(connections[0], "SELECT count(*) FROM dms.ReferenceEdge") == [(2,)]


@pytest.mark.acceptance("28")
def test_deleting_a_referenced_document_is_refused_and_names_a_referrer(journal: dj.Journal, connections) -> None:
    student = document(STUDENT, "1")
    student_id, plan_id = write(journal, student, document(PLAN, 77, student))
    with journal.write() as tx, pytest.raises(dj.ReferencedDocument, match=r"GraduationPlan/5\.2\.0 \{'graduationPlanId': 77\}"):
        tx.delete(STUDENT, student.key_values)
    with pytest.raises(sa.exc.IntegrityError):
        commit(connections[0], f"DELETE FROM dms.Document WHERE DocumentId = {student_id}")
    assert not list(journal.deletes(STUDENT))
    with journal.write() as tx:
        assert tx.delete(PLAN, {"graduationPlanId": 77})
        assert tx.delete(STUDENT, student.key_values)
    assert [delete.document_id for delete in journal.deletes(PLAN)] == [plan_id]
    assert [delete.document_id for delete in journal.deletes(STUDENT)] == [student_id]


@pytest.mark.acceptance("28")
def test_a_document_that_refers_to_itself_can_be_deleted(journal: dj.Journal, connections) -> None:
    itself = dj.Reference(SCHOOL, {"schoolId": 1})
    [school_id] = write(journal, dj.Document(SCHOOL, {"schoolId": 1}, references=[itself]))
    assert [change.change_version for change in as_defined(journal, connections[0], SCHOOL)] == [1]
    change_identity(connections[0], school_id)
    assert [change.change_version for change in as_defined(journal, connections[0], SCHOOL)] == [2]
    with journal.write() as tx:
        assert tx.delete(SCHOOL, {"schoolId": 1})
    assert not as_defined(journal, connections[0], SCHOOL)


@pytest.mark.acceptance("29")
def test_an_etag_is_of_the_set_of_references(journal: dj.Journal) -> None:
    one, two = document(STUDENT, "1"), document(SCHOOL, 1)
    *_, plan_id = write(journal, one, two, document(PLAN, 1, one, two))
    etag = journal.derive([plan_id])[plan_id].etag
    with journal.write() as tx:
        assert tx.upsert(document(PLAN, 1, two, one, two, one)).outcome == "unchanged"
    assert journal.derive([plan_id, plan_id])[plan_id].etag == etag


@pytest.mark.acceptance("29")
def test_an_etag_differs_where_one_identity_version_does(journal: dj.Journal, connections) -> None:
    one, two = document(STUDENT, "1"), document(SCHOOL, 1)
    ids = write(journal, one, two, document(PLAN, 1, one, two))
    seen = [journal.derive(ids)[ids[2]]]
    for child in (ids[0], ids[1], ids[0]):
        change_identity(connections[0], child)
        seen.append(journal.derive(ids)[ids[2]])
    assert len({derived.etag for derived in seen}) == 4
    assert [derived.change_version for derived in seen] == [3, 4, 5, 6]
    assert sorted(derived.last_modified for derived in seen) == [derived.last_modified for derived in seen]
    change_content(connections[0], ids[0])
    assert journal.derive(ids)[ids[2]] == seen[-1]


@pytest.mark.acceptance("29")
def test_derive_tells_each_document_that_exists_once(journal: dj.Journal) -> None:
    ids = write(journal, document(STUDENT, "1"), document(STUDENT, "2"))
    derived = journal.derive([*ids, *ids, 10**15, -1])
    assert list(derived) == ids
    assert derived[ids[0]].last_modified.tzinfo is not None
    assert derived[ids[0]].etag != derived[ids[1]].etag
    assert journal.derive([]) == {}


@pytest.mark.acceptance("30")
def test_an_identity_change_stamps_each_document_whose_identity_contains_it(journal: dj.Journal, connections) -> None:
    school = document(SCHOOL, 1)
    section = dj.Document(SECTION, {"sectionId": "A", "schoolId": 1}, references=[refer(school, identity_component=True)])
    association = dj.Document(
        resource("StudentSectionAssociation"),
        {"studentId": "1", "sectionId": "A", "schoolId": 1},
        references=[refer(section, identity_component=True)],
    )
    merely = document(PLAN, 1, school)
    ids = write(journal, school, section, association, merely)
    with journal.write() as tx:
        assert tx.rekey(SCHOOL, {"schoolId": 1}, {"schoolId": 2}) == 3
    assert [identity_events(connections[0], document_id) for document_id in ids] == [[5], [6], [7], []]
    assert [stamps(connections[0], document_id) for document_id in ids] == [(1, 5), (2, 6), (3, 7), (4, 4)]
    for of, version in ((SCHOOL, 5), (SECTION, 6), (association.resource, 7), (PLAN, 5)):
        [change] = as_defined(journal, connections[0], of, dj.Window(5))
        assert change.change_version == version
    [key_change] = journal.key_changes(association.resource)
    assert key_change.old_key_values == {"studentId": "1", "sectionId": "A", "schoolId": 1}
    assert key_change.new_key_values == {"studentId": "1", "sectionId": "A", "schoolId": 2}
    assert not list(journal.key_changes(PLAN))
    assert drawn(connections[0]) == newest(journal) == 7
