"""JSON beyond Python's recursion, in parts, is what the whole would be."""

from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmsjournal.events.cdc import models as cdc
from dmsjournal.events.models import EventModel, _given
from dmsjournal.util import deep_json
from dmsjournal.util import json as exact

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text() | st.decimals(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=30,
)


class Omitting(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    some_value: Any
    left_out: Any = None


@dataclass(frozen=True, slots=True)
class Holder:
    z: Any
    a: Any


def nested(depth: int) -> Any:
    value: Any = []
    for level in range(depth):
        value = {"a": value, "n": level} if level % 2 else [value]
    return value


@given(value=VALUES)
@pytest.mark.parametrize("order", [None, "deterministic"])
def test_parts_are_the_whole(value: Any, order: Any) -> None:
    encode = msgspec.json.Encoder(decimal_format="number", order=order).encode
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deep_json, "_HEIGHT", 1)
        for holder in (value, Holder(value, [value]), Omitting(value), [Omitting(1, value)]):
            assert deep_json.encoded(encode, holder) == encode(holder)


def test_a_model_in_parts_is_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deep_json, "_HEIGHT", 1)
    change = cdc.FieldChange(before={"a": [1, {"b": Decimal("7.20")}]}, after=[{}])
    encode = msgspec.json.Encoder(decimal_format="number", enc_hook=_given).encode
    assert isinstance(change, EventModel)
    assert deep_json.encoded(encode, [change], _given) == encode([change])


def test_what_holds_the_value_is_left_as_it_was() -> None:
    value = {"a": nested(1000)}
    kept = value["a"]
    holder = Holder(value, value)
    deep_json.encoded(msgspec.json.encode, holder)
    assert (holder.z, holder.a) is not None
    assert holder.z is holder.a is value
    assert value["a"] is kept


@pytest.mark.parametrize("depth", [1_400, 5_000, 20_000])
def test_levels_beyond_recursion_come_and_go(depth: int) -> None:
    text = exact.json_text(nested(depth))
    assert text.count(b"[") + text.count(b"{") == depth + 1
    assert exact.json_text(exact.decoded(text)) == text
    assert exact.json_text(exact.plain(Holder(nested(depth), 1))) == b'{"z":' + text + b',"a":1}'


@pytest.mark.parametrize("end", ["", "]" * 4_999, "]" * 5_001])
def test_what_is_no_json_is_refused_at_any_depth(end: str) -> None:
    with pytest.raises(ValueError, match=r"Expecting|Extra data"):
        exact.decoded("[" * 5_000 + end)


def test_numbers_are_exact_in_the_depth() -> None:
    read = partial(deep_json.decoded, parse_int=int, parse_float=Decimal)
    value = read("[" * 5_000 + '7.20, 1e400, "\\ud83d\\ude00"' + "]" * 5_000)
    for _ in range(4_999):
        [value] = value
    assert value == [Decimal("7.20"), Decimal("1e400"), "😀"]
