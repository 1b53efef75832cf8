"""JSON, exact: numbers keep their digits, and what is nested thousands deep is read and written too."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec

from dmsjournal.util import deep_json


def json_text(value: object) -> bytes:
    """A value as JSON. Decimals are written as the numbers they are."""
    return encoded(_ENCODER.encode, value)


def plain(value: object) -> Any:
    """A dataclass and what it holds as dicts, lists, texts and numbers, nested however deep; a Decimal stays one."""
    try:
        return msgspec.to_builtins(value, builtin_types=(Decimal,))
    except RecursionError:
        return decoded(json_text(value))


def rows(values: object) -> str:
    """Rows as a JSON parameter, which both engines read as a set."""
    return json_text(values).decode("utf-8")


def canonical_json(text: bytes) -> bytes:
    """JSON with names in order, no blanks, and numbers without the zeros at their ends: equal where a database compares equal."""
    return encoded(_IN_ORDER.encode, _decoded(text, _CANONICAL, _canonical_number))


def _canonical_number(text: str) -> int | Decimal:
    number = Decimal(text)
    if not -_INT_DIGITS < number.adjusted() < _INT_DIGITS:
        return number
    return int(number) if number == number.to_integral_value() else Decimal(format(number, "f").rstrip("0"))


_ENCODER = msgspec.json.Encoder(decimal_format="number")
_IN_ORDER = msgspec.json.Encoder(decimal_format="number", order="deterministic")
_CANONICAL = msgspec.json.Decoder(float_hook=_canonical_number)
_DECODER = msgspec.json.Decoder(float_hook=Decimal)  # 7.20 stays 7.20


def encoded(encode: Callable[[Any], bytes], value: Any, hook: deep_json.Hook | None = None) -> bytes:
    """The value as JSON, nested however deep: what a database holds, another program may have written.

    `hook` is the encoder's own for values that are none of JSON's.
    """
    try:
        return encode(value)
    except RecursionError:
        return deep_json.encoded(encode, value, hook)


def decoded(text: str | bytes) -> Any:
    """A JSON value of the database's. Numbers that are not whole are Decimals, and so are those with thousands of digits."""
    return _decoded(text, _DECODER, Decimal)


def _decoded(text: str | bytes, decoder: msgspec.json.Decoder[Any], number: Callable[[str], Any]) -> Any:
    try:
        return decoder.decode(text)
    except (msgspec.DecodeError, RecursionError):  # what a database holds, another program may have written: it must be readable
        return deep_json.decoded(text, _whole_number, number)


def _whole_number(text: str) -> int | Decimal:
    return int(text) if len(text) <= _INT_DIGITS else Decimal(text)


_INT_DIGITS = 4_000  # of Python's own limit, 4,300
