"""The generated district has the sample's form: what reads the one reads the other."""

import json
import sys
import uuid
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from dmsjournal.demo import district

STATE = {"uri": "uri://ed-fi.org/LearningStandardScopeDescriptor#State"}


@pytest.fixture(scope="module")
def documents() -> list[dict[str, Any]]:
    return [dict(document) for document in district.generate()]


def key(resource: str, identity: object) -> str:
    return f"{resource}|{json.dumps(identity, sort_keys=True, separators=(',', ':'), ensure_ascii=False)}"


def test_the_same_seed_gives_the_same_lines_and_another_one_others() -> None:
    lines = [json.dumps(list(district.generate(20, seed=seed))) for seed in (1, 1, 2)]
    assert lines[0] == lines[1] != lines[2]


@pytest.mark.parametrize("students", [1, 7, 700])
def test_every_document_comes_once_and_after_what_it_references(students: int) -> None:
    seen: set[str] = set()
    for document in district.generate(students):
        own: Any = document
        references = [key(reference["resourceName"], reference["identity"]) for reference in own["references"]]
        assert seen.issuperset(references), own
        assert len(references) == len(set(references)), own
        identity = key(own["resourceName"], own["identity"])
        assert identity not in seen
        seen.add(identity)


def test_fields_are_those_of_the_sample(documents: list[dict[str, Any]]) -> None:
    fields = ["projectName", "resourceName", "resourceVersion", "documentUuid", "identity", "body", "references"]
    assert all(list(document) == fields for document in documents)
    names = {(document["resourceName"], tuple(document["identity"])) for document in documents}
    assert len(names) == len({resource for resource, _ in names})  # the same names in the same order


def test_uuids_are_those_that_the_sample_gives_the_same_identity(documents: list[dict[str, Any]]) -> None:
    namespace = uuid.uuid5(uuid.NAMESPACE_URL, "https://www.ed-fi.org/")
    for document in documents:
        name = key(document["resourceName"], document["identity"])
        assert document["documentUuid"] == str(uuid.uuid5(namespace, name))
    state = next(document for document in documents if document["identity"] == STATE)
    assert state["documentUuid"] == "a800a4f1-cdac-512e-869e-c6ee5fe73044"  # its line in the sample


def test_the_mix_is_about_that_of_the_sample(documents: list[dict[str, Any]]) -> None:
    resources = Counter(document["resourceName"] for document in documents)
    descriptors = {name: count for name, count in resources.items() if name.endswith("Descriptor")}
    assert resources["Student"] == 960
    assert 18 <= len(documents) / 960 <= 24
    assert len(descriptors) >= 36
    assert 200 <= sum(descriptors.values()) <= 999
    assert 4 <= sum(len(document["references"]) for document in documents) / len(documents) <= 5
    parents = Counter(
        key(reference["resourceName"], reference["identity"]) for document in documents for reference in document["references"]
    )
    assert parents[key("LearningStandardScopeDescriptor", STATE)] == resources["LearningStandard"] > 4000


def test_identity_components_carry_the_values_of_the_identity(documents: list[dict[str, Any]]) -> None:
    """A reference is part of the identity when its values are, under whatever name the README gives them."""
    for document in documents:
        values = set(document["identity"].values())
        for reference in document["references"]:
            if reference["identityComponent"]:
                assert values.issuperset(reference["identity"].values()), document
    marked = {document["resourceName"] for document in documents if any_component(document)}
    assert {"CourseOffering", "Section", "StudentSchoolAssociation", "StudentSchoolAttendanceEvent"} <= marked
    assert not {"Student", "LearningStandard", "School"} & marked


def any_component(document: dict[str, Any]) -> bool:
    return any(reference["identityComponent"] for reference in document["references"])


def test_documents_stream() -> None:
    """A district of a million students starts at once and keeps none of the documents."""
    generator: Iterator[object] = district.generate(1_000_000)
    assert len(list(islice(generator, 1000))) == 1000


def test_fewer_than_one_student_is_refused_before_the_first_document() -> None:
    with pytest.raises(ValueError, match="students is 0"):
        district.generate(0)


def test_the_command_writes_json_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["district", "--students", "3", "--seed", "5"])
    district.main()
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line) for line in lines] == list(district.generate(3, seed=5))
