"""JSON, exact: numbers keep their digits, and what is nested thousands deep is read and written too."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import msgspec


def json_text(value: object) -> bytes:
    """A value as JSON. Decimals are written as the numbers they are."""
    return encoded(_ENCODER.encode, value)


def plain(value: object) -> Any:
    """A dataclass and what it holds as dicts, lists, texts and numbers, nested however deep; a Decimal stays one."""

    def converted() -> Any:
        return msgspec.to_builtins(value, builtin_types=(Decimal,))

    try:
        return converted()
    except RecursionError:
        return in_a_deep_thread(converted)


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


def encoded(encode: Callable[[Any], bytes], value: Any) -> bytes:
    """The value as JSON, nested however deep: what a database holds, another program may have written."""
    try:
        return encode(value)
    except RecursionError:
        return bytes(in_a_deep_thread(lambda: encode(value)))


def decoded(text: str | bytes) -> Any:
    """A JSON value of the database's. Numbers that are not whole are Decimals, and so are those with thousands of digits."""
    return _decoded(text, _DECODER, Decimal)


def _decoded(text: str | bytes, decoder: msgspec.json.Decoder[Any], number: Callable[[str], Any]) -> Any:
    try:
        return decoder.decode(text)
    except (msgspec.DecodeError, RecursionError):  # what a database holds, another program may have written: it must be readable
        return in_a_deep_thread(lambda: json.loads(text, parse_int=_whole_number, parse_float=number))


def _whole_number(text: str) -> int | Decimal:
    return int(text) if len(text) <= _INT_DIGITS else Decimal(text)


def in_a_deep_thread(work: Callable[[], Any]) -> Any:
    """What the work returns, done with a stack for values that are nested thousands deep."""
    before = threading.stack_size(_STACK_BYTES)
    try:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(_with_recursion, work).result()
    finally:
        threading.stack_size(before)


def _with_recursion(work: Callable[[], Any]) -> Any:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _DEPTH))
    try:
        return work()
    finally:
        sys.setrecursionlimit(limit)


_INT_DIGITS = 4_000  # of Python's own limit, 4,300
_DEPTH = 50_000  # what PostgreSQL's own stack allows is far less
_STACK_BYTES = 256 * 1024 * 1024
