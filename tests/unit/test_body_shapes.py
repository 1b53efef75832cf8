"""The columns that bodies become: whatever documents there are, they hold all of them exactly, or one is refused by name."""

import random
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dmsjournal as dj
from dmsjournal.spark import body_shapes
from dmsjournal.spark.bodies import VARIANT_TYPE
from dmsjournal.spark.body_columns import ToStructs, ToVariants
from dmsjournal.spark.body_shapes import Shape, decoded, fields_of, merged, refuse_rounded
from dmsjournal.spark.body_types import parsed
from dmsjournal.util.exit_codes import PERSON_NEEDED, code_of
from dmsjournal.util.json import json_text
from tests.spark.bodies import kept, of_json

RESOURCE = "Ed-Fi/Student/5.2.0"

NUMBERS = [
    0,
    1,
    -1,
    2**53 + 1,
    -(2**63),
    2**63 - 1,
    Decimal("4.0"),
    Decimal("0.1"),
    Decimal("-7.25"),
    Decimal("123456789.000000001"),
]


def types() -> Any:
    """Shapes of documents: a strategy of values for each field."""
    leaf = st.sampled_from([st.text(max_size=3), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.sampled_from(NUMBERS)])
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            inner.map(lambda of: st.lists(st.none() | of, max_size=3)),
            st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3).map(
                lambda fields: st.fixed_dictionaries({}, optional={name: st.none() | of for name, of in fields.items()})
            ),
        ),
        max_leaves=6,
    )


documents = st.dictionaries(st.sampled_from("defg"), types(), min_size=1, max_size=4).flatmap(
    lambda fields: st.lists(
        st.fixed_dictionaries({}, optional={name: st.none() | of for name, of in fields.items()}), min_size=1, max_size=8
    )
)


def seen(bodies: list[str], chance: random.Random | None = None) -> Shape:
    """What tasks tell of documents, which have their place among them as their id, after a way over the wire."""
    tasks = [Shape() for _ in range(3)]
    for number, body in enumerate(bodies):
        tasks[chance.randrange(3) if chance else 0].see(decoded(body), (number, f"uuid {number}"))
    return merged([msgspec.json.decode(msgspec.json.encode(task), type=Shape) for task in tasks])


@given(documents, documents, st.randoms(use_true_random=False))
def test_columns_hold_what_the_documents_hold(first: list[Any], second: list[Any], chance: random.Random) -> None:
    """Also in a later window, whose documents may have new fields, and types that do not fit any more."""
    texts = [json_text(body).decode() for body in first]
    fields = fields_of(seen(texts), None, RESOURCE)
    assert fields == fields_of(seen(texts, chance), None, RESOURCE)  # whichever task sees what
    if fields is not None:
        rows = ToStructs(fields)(pa.chunked_array([pa.array(texts)])).to_pylist()
        assert [kept(row) for row in rows] == [of_json(text) for text in texts]
    later = [json_text(body).decode() for body in second]
    try:
        grown = fields_of(seen(later, chance), fields, RESOURCE)
    except dj.BodyDoesNotFit as error:
        with pytest.raises(dj.BodyDoesNotFit):  # the document alone is what does not fit
            fields_of(seen([later[error.document_id]]), fields, RESOURCE)
        return
    if fields is not None:
        assert grown is not None
        assert [field.name for field in grown][: len(fields)] == [field.name for field in fields]
    if grown is not None:
        rows = ToStructs(grown)(pa.chunked_array([pa.array(later)])).to_pylist()
        assert [kept(row) for row in rows] == [of_json(text) for text in later]


@pytest.mark.parametrize(
    ("bodies", "types"),
    [
        (["{}", '{"a":null}', '{"a":{}}', '{"b":[]}', '{"b":[{"c":null}]}'], None),
        (['{"a":9223372036854775807,"b":9007199254740993}'], "a bigint, b bigint"),
        (['{"a":9223372036854775808}'], "a decimal(38,0)"),
        (['{"a":-99999999999999999999999999999999999999}'], "a decimal(38,0)"),
        (['{"a":1}', '{"a":0.1}'], "a decimal(38,18)"),
        (['{"a":4.0}'], "a decimal(38,18)"),
        (['{"a":1e3}'], "a decimal(38,18)"),
        (['{"a":1.5000000000000000000000000000000000000000000}'], "a decimal(38,18)"),
        (['{"a":0.0000000000000000000000000000000000001}'], "a decimal(38,37)"),
        (['{"a":1234567890123456789012345.5}'], "a decimal(38,13)"),
        (['{"b":true,"a":"x","c":[["y"]]}'], "a string, b boolean, c array<array<string>>"),
        (["null", '{"a":1}'], "a bigint"),
    ],
)
def test_types_that_nobody_has_given(bodies: list[str], types: str | None) -> None:
    fields = fields_of(seen(bodies), None, RESOURCE)
    assert fields == (None if types is None else parsed(types))
    if fields is not None:
        rows = ToStructs(fields)(pa.chunked_array([pa.array(bodies)])).to_pylist()
        assert [kept(row) for row in rows] == [of_json(body) for body in bodies]


@pytest.mark.parametrize(
    ("had", "body", "field", "says"),
    [
        ("a bigint", '{"a":"7"}', "body.a", "is a string, and the column is bigint"),
        ("a bigint", '{"a":7.5}', "body.a", "is a number with 1 digits after the point, and the column is bigint"),
        ("a bigint", '{"a":9223372036854775808}', "body.a", "is a number of 19 digits, and the column is bigint"),
        ("a decimal(5,2)", '{"a":1000}', "body.a", "with 4 digits before the point, and the column is decimal(5,2)"),
        ("a decimal(5,2)", '{"a":0.125}', "body.a", "with 3 digits after the point, and the column is decimal(5,2)"),
        ("a string", '{"a":true}', "body.a", "is true or false, and the column is string"),
        ("a string", '{"a":{}}', "body.a", "is an object, and the column is string"),
        ("a boolean", '{"a":[]}', "body.a", "is a list, and the column is boolean"),
        ("a array<struct<b: bigint>>", '{"a":[{"b":1},{"b":"x"}]}', "body.a[].b", "is a string"),
        ("a struct<b: string>", '{"a":[]}', "body.a", "is a list, and the column is struct<b: string>"),
        ("a string", '{"b":1,"c":{"d":[1,"2"]}}', "body.c.d[]", "other documents have a string there"),
        ("a string", '{"b":1e40}', "body.b", "with 41 digits before the point and 0 after it, and a decimal has 38"),
        ("a string", '{"b":1e999999}', "body.b", "a decimal has 38"),
        ("a string", '{"b":0.00000000000000000000000000000000000000001}', "body.b", "and 41 after it, and a decimal has 38"),
        ("a string", '{"A":"x"}', "body.A", "a is a column, and names that differ in case alone are one"),
        ("a string", '{"b":{"x":1,"X":2}}', "body.b.x", "X is a column"),
        ("a string", '{"b.c":1}', "body.b.c", "a column's name is not empty and has none of"),
        ("a string", '{"":1}', "body.", "a column's name is not empty"),
        ("a string", '{"b":' + "[" * 200 + "]" * 200 + "}", "body.b" + "[]" * 99, "is nested more than 100 levels deep"),
        ("a string", "[1]", "body", "is a list, and columns are made of an object"),
        ("a string", '"x"', "body", "is a string, and columns are made of an object"),
    ],
)
def test_what_does_not_fit_is_named(had: str, body: str, field: str, says: str) -> None:
    others = ["{}", '{"a":null}']
    with pytest.raises(dj.BodyDoesNotFit) as refused:
        fields_of(seen([*others, body, *others]), parsed(had), RESOURCE)
    error = refused.value
    assert (error.document_id, error.document_uuid, error.resource) == (2, "uuid 2", RESOURCE)
    assert str(error).startswith(f"{error.field} of document 2 (uuid 2) of {RESOURCE} is ")
    assert says in str(error)
    assert error.field == field
    assert code_of(error) == PERSON_NEEDED


def test_fields_that_are_data_are_told_before_they_are_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_shapes, "COLUMNS", 3)
    assert fields_of(seen(['{"a":{"b":1,"c":2}}']), None, RESOURCE) == parsed("a struct<b: bigint, c: bigint>")
    with pytest.raises(dj.BodyDoesNotFit, match="a table has 3 columns at most") as refused:
        fields_of(seen(['{"a":1}', '{"a":1,"b":[{"c":1,"d":2}]}']), None, RESOURCE)
    assert refused.value.document_id == 1


def test_documents_that_differ_among_themselves_are_told_alike() -> None:
    bodies = ['{"a":"x"}', '{"a":"y"}', '{"a":1}']
    with pytest.raises(dj.BodyDoesNotFit) as refused:
        fields_of(seen(bodies, random.Random(1)), None, RESOURCE)
    assert (refused.value.document_id, refused.value.found, refused.value.reason) == (
        2,
        "a number",
        "other documents have a string there",
    )


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ('{"a":[{"b":1e3}]}', "body.a[].b"),
        ('{"a":100000000000000000000000000000000000000}', "body.a"),
        ('{"a":0.000000000000000000000000000000000000001}', "body.a"),
        ('{"a":1.00000000000000000000000000000000000000}', "body.a"),
    ],
)
def test_what_a_variant_would_round_is_refused(body: str, field: str) -> None:
    with pytest.raises(dj.BodyDoesNotFit, match="a VARIANT would round it") as refused:
        refuse_rounded(seen(["[1]", '{"a":"x","b":[1,{}]}', body]), RESOURCE)
    assert (refused.value.document_id, refused.value.field) == (2, field)
    refuse_rounded(
        seen(['{"a":99999999999999999999999999999999999999,"b":0.00000000000000000000000000000000000001}', '{"a":"x"}']), RESOURCE
    )


def test_a_body_that_has_changed_since_is_no_row() -> None:
    to_structs = ToStructs(parsed("a bigint, b array<decimal(5,2)>"))
    for body in (
        '{"a":"x"}',
        '{"a":true}',
        '{"a":1.5}',
        '{"b":[0.125]}',
        '{"b":[99999]}',
        '{"c":1}',
        '{"a":1,"d":{"e":[0]}}',
        "[]",
    ):
        with pytest.raises((ValueError, ArithmeticError)):
            to_structs(pa.chunked_array([pa.array([body])]))
    assert to_structs(pa.chunked_array([pa.array(['{"c":{},"d":[[null]]}', None])])).to_pylist() == [{"a": None, "b": None}, None]


def test_no_variant_has_parts_that_parquet_takes() -> None:
    """Spark leaves the parts of a null VARIANT null, though neither may be."""
    parts = [pa.array([b"v", None, b"w"], pa.binary()), pa.array([b"m", None, b"n"], pa.binary())]
    mask = pa.array([False, True, False])
    of_spark = pa.StructArray.from_arrays(parts, fields=[pa.field(each.name, each.type) for each in VARIANT_TYPE], mask=mask)
    for chunks in ([of_spark], [of_spark[:1], of_spark[1:]]):
        table = pa.table({"body": ToVariants()(pa.chunked_array(chunks))}).cast(pa.schema([("body", VARIANT_TYPE)]))
        file = pa.BufferOutputStream()
        pq.write_table(table, file)
        read = pq.read_table(pa.BufferReader(file.getvalue()))["body"].to_pylist()
        assert read == [{"value": b"v", "metadata": b"m"}, None, {"value": b"w", "metadata": b"n"}]
