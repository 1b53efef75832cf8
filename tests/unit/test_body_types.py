"""Types of columns as text: what a schema file may say, and what is refused by name."""

from pathlib import Path

import pyarrow as pa
import pytest

import dmsjournal as dj
from dmsjournal.spark import body_types
from dmsjournal.spark.body_types import ddl, leaves, parsed, plain, read, united


def test_types_are_read_as_they_are_written(tmp_path: Path) -> None:
    text = "a string, b: BIGINT, `c` boolean,\n marks array<struct<mark: decimal(5, 2), of array<string>>>"
    found = parsed(text)
    assert found == pa.struct(
        [
            ("a", pa.string()),
            ("b", pa.int64()),
            ("c", pa.bool_()),
            ("marks", pa.list_(pa.field("element", pa.struct([("mark", pa.decimal128(5, 2)), ("of", pa.list_(pa.string()))])))),
        ]
    )
    assert parsed(ddl(found)) == found  # what a message says can be put into a file
    (tmp_path / "student.ddl").write_text(f"{ddl(found)}\n", encoding="utf-8")
    assert read(tmp_path / "student.ddl") == found


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "body has no fields"),
        ("a", "it ends too early"),
        ("a string b string", "',' is missing before 'b'"),
        ("a string, a bigint", "body.a is named twice"),
        ("a string, A bigint", "names that differ in case alone are one"),
        ("a double", "body.a is 'double', which holds no JSON value exactly: write string, boolean, bigint, decimal"),
        ("a array<struct<b: int>>", "body.a[].b is 'int'"),
        ("a decimal(39,2)", "a decimal has 1 to 38 digits"),
        ("a decimal(2,3)", "at most as many after the point"),
        ("a decimal(x,3)", "write decimal(precision, scale)"),
        ("a array<string", "'>' is missing at the end"),
        ("struct<a: string>>", "'>' is too much"),
        ("`a.b` string", "has none of"),
        ("a string, `", "is neither"),
    ],
)
def test_what_is_no_type_is_refused_by_name(text: str, says: str) -> None:
    with pytest.raises(dj.InvalidRequest) as refused:
        parsed(text)
    assert says in str(refused.value)
    assert str(refused.value).startswith("body_schema = ")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"\xe9 string")
    for name, reason in (("none", "No such file"), ("latin", "it is not UTF-8")):
        with pytest.raises(dj.InvalidRequest, match=reason) as refused:
            read(tmp_path / name)
        assert refused.value.value == str(tmp_path / name)


def test_a_table_keeps_its_types_and_takes_new_ones() -> None:
    had = parsed("a bigint, of struct<b: string, more: array<bigint>>")
    assert united(had, None) == had
    assert united(None, had) == had
    given = parsed("c boolean, of struct<d: decimal(5,2)>, a bigint")
    assert united(had, given) == parsed("a bigint, of struct<b: string, more: array<bigint>, d: decimal(5,2)>, c boolean")
    for other, path in (("a string", "body.a"), ("of struct<more: array<string>>", r"body.of.more\[\]"), ("of string", "body.of")):
        with pytest.raises(dj.InvalidRequest, match=f"the table was begun with {path} as "):
            united(had, parsed(other))
    with pytest.raises(dj.InvalidRequest, match="names that differ in case"):
        united(had, parsed("A bigint"))


def test_types_of_libraries_are_the_same_types() -> None:
    of_iceberg = pa.struct([pa.field("a", pa.large_list(pa.field("x", pa.large_string(), False)), metadata={"id": "1"})])
    assert plain(of_iceberg) == parsed("a array<string>")
    assert [*leaves("body", parsed("a array<struct<b: string, c: bigint>>, d boolean"))] == [
        "body.a.list.element.b",
        "body.a.list.element.c",
        "body.d",
    ]
    assert body_types.is_list(pa.list_(pa.string()))
