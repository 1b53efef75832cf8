"""Bodies that show other documents' keys, after these have changed (docs/how-it-works.md, References in bodies)."""

from collections.abc import Mapping
from typing import Any

import pytest

import dmsjournal as dj
from tests.helpers import DESCRIPTOR, PLAN, SCHOOL, SECTION, STUDENT, newest, refer, write

ENROLMENT = dj.ResourceKey("Ed-Fi", "StudentSchoolAssociation", "5.2.0")


def student(key: object) -> dj.Document:
    return dj.Document(STUDENT, {"studentUniqueId": key}, {"studentUniqueId": key, "firstName": "Ada"})


def school(key: object) -> dj.Document:
    return dj.Document(SCHOOL, {"schoolId": key}, {"schoolId": key})


def enrolment(of: object, at: object) -> dj.Document:
    """What contains a student and a school in its key."""
    body = {"studentReference": {"studentUniqueId": of}, "schoolReference": {"schoolId": at}, "entryDate": "2026-08-25"}
    contained = [refer(student(of), identity_component=True), refer(school(at), identity_component=True)]
    return dj.Document(ENROLMENT, {"studentUniqueId": of, "schoolId": at}, body, contained)


def plan(key: object, *students: object) -> dj.Document:
    """What merely refers to students."""
    body = {"students": [{"studentReference": {"studentUniqueId": each}} for each in students], "note": "1"}
    return dj.Document(PLAN, {"graduationPlanId": key}, body, [refer(student(each)) for each in students])


def rekey(journal: dj.Journal, of: dj.ResourceKey, old: Mapping[str, object], new: Mapping[str, object]) -> None:
    with journal.write() as tx:
        tx.rekey(of, old, new)


def rename(journal: dj.Journal, old: object, new: object) -> None:
    rekey(journal, STUDENT, {"studentUniqueId": old}, {"studentUniqueId": new})


def shown(journal: dj.Journal, document_id: int, *, current: bool = True) -> Any:
    return journal.documents([document_id], current_references=current)[document_id].body


def students_of(journal: dj.Journal, document_id: int, *, current: bool = True) -> list[object]:
    body = shown(journal, document_id, current=current)
    return [each["studentReference"]["studentUniqueId"] for each in body["students"]]


def test_a_body_follows_what_its_own_key_contains(journal: dj.Journal) -> None:
    """The stored body: for every reader, and whatever is pruned afterwards."""
    *_, enrolled = write(journal, student("1"), school(7), enrolment("1", 7))
    rename(journal, "1", "2")
    rekey(journal, SCHOOL, {"schoolId": 7}, {"schoolId": 8})
    body = {"studentReference": {"studentUniqueId": "2"}, "schoolReference": {"schoolId": 8}, "entryDate": "2026-08-25"}
    assert shown(journal, enrolled, current=False) == shown(journal, enrolled) == body
    journal.prune(through=newest(journal))
    assert shown(journal, enrolled) == body
    with journal.write() as tx:  # the etag is that of the body
        assert tx.upsert(enrolment("2", 8)).outcome == "unchanged"


def test_a_body_follows_through_what_lies_between(journal: dj.Journal) -> None:
    """A section's key contains a school's; a plan contains the section's, and shows both."""
    section_key = {"sectionIdentifier": "a", "schoolId": 7}
    section = dj.Document(SECTION, section_key, {"schoolReference": {"schoolId": 7}}, [refer(school(7), identity_component=True)])
    body = {"sections": [{"sectionReference": dict(section_key)}, {"other": 7}]}
    holder = dj.Document(PLAN, {"planId": 1} | section_key, body, [refer(section, identity_component=True)])
    _, section_id, plan_id = write(journal, school(7), section, holder)
    rekey(journal, SCHOOL, {"schoolId": 7}, {"schoolId": 8})
    assert shown(journal, section_id, current=False) == {"schoolReference": {"schoolId": 8}}
    assert shown(journal, plan_id, current=False) == {
        "sections": [{"sectionReference": {"sectionIdentifier": "a", "schoolId": 8}}, {"other": 7}]
    }


def test_what_merely_refers_is_not_written_and_is_shown_with_the_keys_of_now(journal: dj.Journal) -> None:
    *_, plan_id = write(journal, student("1"), student("5"), plan(1, "1", "5"))
    for old, new in (("1", "2"), ("2", "3")):
        rename(journal, old, new)
        assert students_of(journal, plan_id, current=False) == ["1", "5"]
        assert students_of(journal, plan_id) == [new, "5"]
    rename(journal, "3", "1")
    assert students_of(journal, plan_id) == ["1", "5"]
    assert shown(journal, plan_id)["note"] == "1"


def test_keys_that_were_swapped(journal: dj.Journal) -> None:
    first, *_, plan_id = write(journal, student("1"), student("2"), plan(1, "1", "2"))
    for old, new in (("1", "x"), ("2", "1"), ("x", "2")):
        rename(journal, old, new)
    assert journal.documents([first])[first].key_values == {"studentUniqueId": "2"}
    assert students_of(journal, plan_id) == ["2", "1"]


def test_a_key_that_another_child_is_given_is_that_child_s(journal: dj.Journal) -> None:
    """A body that was rewritten says of which stamp it is."""
    both = {"a": {"studentReference": {"studentUniqueId": "1"}}, "b": {"studentReference": {"studentUniqueId": "2"}}}
    contained = [refer(student("1"), identity_component=True), refer(student("2"), identity_component=True)]
    *_, pair = write(journal, student("1"), student("2"), dj.Document(PLAN, {"first": "1", "second": "2"}, both, contained))
    rename(journal, "1", "9")
    rename(journal, "2", "1")
    now = {"a": {"studentReference": {"studentUniqueId": "9"}}, "b": {"studentReference": {"studentUniqueId": "1"}}}
    assert shown(journal, pair, current=False) == shown(journal, pair) == now


def test_a_writer_that_read_before_a_rename_and_stamped_after_it(journal: dj.Journal) -> None:
    *_, plan_id = write(journal, student("1"), plan(1, "1"))
    rename(journal, "1", "2")
    late = plan(1, "1")
    with journal.write() as tx:
        tx.upsert(dj.Document(late.resource, late.key_values, {**late.body, "late": True}, [refer(student("2"))]))
    assert students_of(journal, plan_id, current=False) == ["1"]
    assert students_of(journal, plan_id) == ["2"]
    write(journal, student("1"))  # now there is such a document
    assert students_of(journal, plan_id) == ["1"]


def test_after_a_prune_the_only_reference_of_its_kind_follows(journal: dj.Journal) -> None:
    *_, one, two = write(journal, student("1"), student("2"), plan(1, "1"), plan(2, "1", "2"))
    rename(journal, "1", "3")
    journal.prune(through=newest(journal))
    assert students_of(journal, one) == ["3"]
    assert students_of(journal, two) == ["1", "2"]  # which of them it was is not known any more
    rename(journal, "3", "4")
    assert students_of(journal, one) == ["4"]


@pytest.mark.parametrize("old", [{"uri": "uri://ed-fi.org/GradeLevelDescriptor#A"}, {"namespace": "uri://a", "codeValue": "A"}])
def test_a_descriptor_is_shown_by_its_uri(journal: dj.Journal, old: dict[str, str]) -> None:
    new = {name: value.removesuffix("A") + "B" if value.endswith("A") else value for name, value in old.items()}
    was, now = (key["uri"] if "uri" in key else f"{key['namespace']}#{key['codeValue']}" for key in (old, new))
    grade = dj.Document(DESCRIPTOR, old, {"codeValue": "A"})
    body = {"gradeLevelDescriptor": was, "all": [{"levels": [was, "C"]}], "codeValue": "A"}
    grade_id, plan_id = write(journal, grade, dj.Document(PLAN, {"graduationPlanId": 1}, body, [refer(grade)]))
    rekey(journal, DESCRIPTOR, old, new)
    assert shown(journal, plan_id) == {"gradeLevelDescriptor": now, "all": [{"levels": [now, "C"]}], "codeValue": "A"}
    assert shown(journal, grade_id)["codeValue"] == new.get("codeValue", "A")
    journal.prune(through=newest(journal))
    assert shown(journal, plan_id)["gradeLevelDescriptor"] == now


def test_a_document_without_a_body_or_without_references_is_as_it_was(journal: dj.Journal, connections) -> None:
    ids = write(journal, student("1"), plan(1, "1"), school(1))
    with connections[0].begin():
        connections[0].exec_driver_sql(f"DELETE FROM dms.DocumentCache WHERE DocumentId = {ids[1]}")
    rename(journal, "1", "2")
    assert journal.documents(ids, current_references=True) == journal.documents(ids)
    assert journal.documents([], current_references=True) == {}
    with pytest.raises(dj.InvalidRequest, match="current_references"):
        journal.documents(ids, current_references=1)
