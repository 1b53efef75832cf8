"""Where a body shows a document's key, and where it only seems to."""

from typing import Any

import pytest

from dmsjournal.model.references import Renamed, with_new_keys

STUDENT = Renamed("Student", {"studentUniqueId": "1"}, {"studentUniqueId": "2"})
SCHOOL = Renamed("School", {"schoolId": 1}, {"schoolId": 2})
SECTION = Renamed("Section", {"sectionIdentifier": "a", "schoolId": 1}, {"sectionIdentifier": "b", "schoolId": 1})
LOST = Renamed("Student", None, {"studentUniqueId": "2"})


@pytest.mark.parametrize(
    ("renamed", "body", "expected"),
    [
        (
            STUDENT,
            {"studentReference": {"studentUniqueId": "1", "link": {"rel": "1"}}},
            {"studentUniqueId": "2", "link": {"rel": "1"}},
        ),
        (STUDENT, {"studentReference": {"studentUniqueId": 1}}, None),  # another value
        (STUDENT, {"otherReference": {"uniqueId": "3"}}, None),
        (SCHOOL, {"programReference": {"homeSchoolId": 1.0}}, {"homeSchoolId": 2}),
        (SCHOOL, {"programReference": {"schoolId": True}}, None),
        (SCHOOL, {"educationOrganizationReference": {"educationOrganizationId": 1}}, {"educationOrganizationId": 2}),
        (SCHOOL, {"address": {"number": 1}}, None),  # no reference
        (SCHOOL, {"aReference": {"x": 1, "y": 1}}, None),  # which of the two
        (SECTION, {"sectionReference": {"sectionIdentifier": "a", "schoolId": 1}}, {"sectionIdentifier": "b", "schoolId": 1}),
        (SECTION, {"sectionReference": {"sectionIdentifier": "a", "schoolId": 3}}, None),  # another school's section
        (SECTION, {"sectionReference": {"sectionIdentifier": "a"}}, None),
        (LOST, {"studentReference": {"studentUniqueId": "0"}}, {"studentUniqueId": "2"}),
        (LOST, {"studentReference": {"other": "0"}}, None),
        (LOST, {"student": {"studentUniqueId": "0"}}, None),
    ],
)
def test_one_reference(renamed: Renamed, body: dict[str, Any], expected: object) -> None:
    before = repr(body)
    found = with_new_keys(body, [renamed])
    [name] = body
    assert found == (body if expected is None else {name: expected})
    assert (found is body) == (expected is None)
    assert repr(body) == before


def test_a_body_that_shows_the_name_does_not_follow_by_the_value() -> None:
    body = {"schoolReference": {"schoolId": 1}, "educationOrganizationReference": {"educationOrganizationId": 1}}
    assert with_new_keys(body, [SCHOOL]) == body | {"schoolReference": {"schoolId": 2}}


def test_two_that_fit_by_value_or_by_names_are_left() -> None:
    for renamed, body in (
        (SCHOOL, {"aReference": {"x": 1}, "bReference": {"y": 1}}),
        (LOST, {"all": [{"studentReference": {"studentUniqueId": "0"}}, {"studentReference": {"studentUniqueId": "4"}}]}),
    ):
        assert with_new_keys(body, [renamed]) is body


def test_values_at_the_top_are_a_reference_by_their_names_alone() -> None:
    assert with_new_keys({"studentUniqueId": "1", "x": "1"}, [STUDENT]) == {"studentUniqueId": "2", "x": "1"}
    assert with_new_keys({"x": "1"}, [STUDENT]) == {"x": "1"}


def test_all_are_found_before_any_is_changed() -> None:
    there = Renamed("Student", {"studentUniqueId": "2"}, {"studentUniqueId": "1"})
    body = {"all": [{"studentReference": {"studentUniqueId": each}} for each in "12"]}
    assert with_new_keys(body, [STUDENT, there]) == {"all": [{"studentReference": {"studentUniqueId": each}} for each in "21"]}


def test_a_body_of_many_levels_needs_no_stack() -> None:
    body: dict[str, Any] = {"studentReference": {"studentUniqueId": "1"}}
    for _ in range(490):
        body = {"a": [body]} if _ % 2 else {"b": body}
    found: Any = with_new_keys(body, [STUDENT])
    while "studentReference" not in found:
        [found] = found.values()
        found = found[0] if isinstance(found, list) else found
    assert found == {"studentReference": {"studentUniqueId": "2"}}
