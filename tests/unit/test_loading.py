"""Lines and files without a database: which documents they hold, and what is wrong with those that hold none."""

import gzip
import json
import pickle
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import dmsjournal as dj
from dmsjournal.write import load

SECTION = dj.ResourceKey("Ed-Fi", "Section", "5.2.0")
FIELDS: dict[str, Any] = {
    "projectName": "Ed-Fi",
    "resourceName": "Section",
    "resourceVersion": "5.2.0",
    "documentUuid": "3cdd5bee-362d-56b0-b45c-2175bd3f2184",
    "identity": {"sectionIdentifier": "S 1", "schoolId": 255901},
    "body": {"availableCredits": 1},
    "references": [{"resourceName": "School", "identity": {"schoolId": 255901}, "identityComponent": True}],
}


def line(**changed: object) -> bytes:
    return json.dumps(FIELDS | changed).encode()


def without(field: str) -> bytes:
    return json.dumps({name: value for name, value in FIELDS.items() if name != field}).encode()


def with_body(body: str) -> bytes:
    return line(body="BODY").replace(b'"BODY"', body.encode())


def test_a_line_is_a_document() -> None:
    document = load.parse(line())
    school = dj.Reference(dj.ResourceKey("Ed-Fi", "School", "5.2.0"), {"schoolId": 255901}, True)
    assert document == dj.Document(
        SECTION,
        {"sectionIdentifier": "S 1", "schoolId": 255901},
        {"availableCredits": 1},
        [school],
        UUID("3cdd5bee-362d-56b0-b45c-2175bd3f2184"),
    )


def test_a_document_without_a_wish_for_a_uuid() -> None:
    assert load.parse(without("documentUuid")).document_uuid is None
    assert load.parse(line(documentUuid=None)).document_uuid is None


def test_numbers_stay_as_written() -> None:
    numbers = '{"a": 7.20, "b": 1e400, "c": 0.1234567890123456789012345, "d": 123456789012345678901234567890}'
    document = load.parse(with_body(numbers))
    assert document.body == {
        "a": Decimal("7.20"),
        "b": Decimal("1E+400"),
        "c": Decimal("0.1234567890123456789012345"),
        "d": 123456789012345678901234567890,
    }
    assert b'"a":7.20' in document.body_json


def test_of_two_values_with_one_name_the_last_wins() -> None:
    assert load.parse(with_body('{"a": 1, "a": 2}')).body == {"a": 2}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"nonsense", "not JSON"),
        (b'{"projectName": "Ed-Fi"', "not JSON"),
        (line() + line(), "not JSON"),
        (b"[]", "Expected `object`, got `array`"),
        (b"17", "Expected `object`, got `int`"),
        *[(without(field), f"missing required field `{field}`") for field in FIELDS if field != "documentUuid"],
        (line(colour="red"), "unknown field `colour`"),
        (line(**{"a\x1b[31m\nb": 1}), r"a\x1b[31m\nb"),
        (line(projectName=1), "$.projectName"),
        (line(resourceVersion=None), "$.resourceVersion"),
        (line(identity=[]), "$.identity"),
        (line(identity={}), "key_values = {}"),
        (line(identity={"a": {}}), "key_values.a"),
        (line(identity={"a": "x" * 9000}), "8192 bytes"),
        (line(body=[]), "$.body"),
        (line(body=None), "$.body"),
        (line(references={}), "$.references"),
        (line(references=[{"resourceName": "School", "identity": {"schoolId": 1}}]), "identityComponent"),
        (line(references=[{"resourceName": "School", "identity": {"schoolId": 1}, "identityComponent": 1}]), "identityComponent"),
        (line(documentUuid="123"), "Invalid UUID"),
        (line(documentUuid=5), "$.documentUuid"),
        (line(resourceName=""), "resource_name = ''"),
        (line(resourceName="N" * 257), "resource_name"),
        (line(resourceName='Student"; DROP TABLE x; --'), "resource_name"),
        (line(body={"a": "\x00"}), "NUL"),
        (line(body={"\x00": 1}), "NUL"),
        (line(identity={"a": "\x00"}), "NUL"),
        (line(body={"a": "\ud800"}), "unpaired surrogate"),
        (line(body={"a": "x\udc00y"}), "unpaired surrogate"),
        (line(body={"\ud83d": 1}), "unpaired surrogate"),
        (with_body('{"a": NaN}'), "not JSON"),
        (with_body('{"a": 1e131072}'), "131072 digits"),
        (with_body('{"a": 1e-16384}'), "131072 digits"),
        (with_body(f'{{"a": {"9" * 5000}}}'), "out of range"),
        (with_body('{"a": ' + "[" * 5000 + "]" * 5000 + "}"), "nested too deeply"),
        (line(body={"a": "né"}).replace(rb"\u00e9", b"\xe9"), "not UTF-8: byte"),
        (line().decode().encode("utf-16"), "not JSON"),
    ],
)
def test_a_bad_line_is_refused_with_its_reason(text: bytes, reason: str) -> None:
    with pytest.raises(dj.InvalidRequest) as caught:
        load.parse(text)
    assert reason in str(caught.value)
    assert str(caught.value).isprintable()


def test_half_a_surrogate_pair_is_told_from_both_halves_and_from_a_backslash() -> None:
    assert load.parse(with_body(r'{"a": "\ud83d\ude00", "b": "\\ud800"}')).body == {"a": "😀", "b": r"\ud800"}


def test_a_bad_line_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(load.BadLine(7, "it is not JSON", "{")))
    assert (error.line_number, error.reason, error.text) == (7, "it is not JSON", "{")
    assert str(error) == "line 7: it is not JSON"


def numbered(lines: Iterable[bytes]) -> list[tuple[int, bytes]]:
    return list(load._numbered(lines))


def test_blank_lines_are_skipped_and_counted_and_a_bom_is_no_part_of_the_first() -> None:
    assert numbered([b"\xef\xbb\xbf{}\n", b"\n", b" \t\r\n", b"{}\r\n"]) == [(1, b"{}\n"), (4, b"{}\r\n")]
    assert numbered([b"\xef\xbb\xbf\n", b"\xef\xbb\xbf{}"]) == [(2, b"\xef\xbb\xbf{}")]


def test_carriage_returns_at_the_ends_are_no_part_of_a_document() -> None:
    assert load.parse(line() + b"\r\n") == load.parse(line())


def read(path: Path) -> list[bytes]:
    with load.opened(path) as lines:
        return list(lines)


@pytest.mark.parametrize("name", ["documents.jsonl", "documents.jsonl.gz", "documents"])
@pytest.mark.parametrize("content", [b"", b"{}", b"{}\n", b"{}\n\n{}\r\n"])
def test_gzip_is_known_by_its_content(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    for stored in (content, gzip.compress(content), gzip.compress(b"") + gzip.compress(content)):
        path.write_bytes(stored)
        assert b"".join(read(path)) == content


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda data: data[:-20], "end too early, after line "),
        (lambda data: data[:5], "end too early, after line 0"),
        (lambda data: data[:2000] + b"\0" * 50 + data[2050:], "damaged after line "),
        (lambda data: data + b"more", "damaged after line "),
    ],
)
def test_damaged_gzip_is_an_error_that_says_how_far_it_went(tmp_path: Path, damage: Any, says: str) -> None:
    path = tmp_path / "documents.jsonl.gz"
    path.write_bytes(damage(gzip.compress("".join(f"{n * 7919 % 10007} {n}\n" for n in range(3000)).encode())))
    with pytest.raises(dj.InvalidRequest, match=says):
        read(path)


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(dj.InvalidRequest, match=f"file = '{path}': it cannot be opened"):
            read(path)


def test_a_line_that_is_too_long_is_passed_over_without_being_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "MAX_LINE", 100)
    path = tmp_path / "documents.jsonl"
    path.write_bytes(b"a\n" + b"x" * 1234 + b"\nb\n" + b"y" * 99 + b"\n" + b"z" * 100 + b"\n" + b"t" * 101)
    found = read(path)
    assert [len(text) for text in found] == [2, 101, 2, 100, 101, 101]
    with pytest.raises(dj.InvalidRequest, match="100 bytes at most"):
        load.parse(found[1])


def test_batches_are_bounded_by_lines_and_by_bytes() -> None:
    assert [len(batch) for batch in load._batches((n, b"{}") for n in range(2500))] == [1000, 1000, 500]
    long = b"x" * (6 * 2**20)
    assert [len(batch) for batch in load._batches((n, long) for n in range(7))] == [3, 3, 1]
    assert list(load._batches([])) == []
