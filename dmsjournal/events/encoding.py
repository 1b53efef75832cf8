"""JSON as events are written: numbers exact, whatever is no JSON refused. Reading is `statements.decoded`."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any, Literal

import msgspec

from dmsjournal.util.json import encoded

Hook = Callable[[Any], Any]


def encoder(hook: Hook | None = None, *, in_order: bool = False) -> Callable[[Any], bytes]:
    """A function that writes a value as JSON, nested however deep. `hook` gives a JSON value for what is none.

    `in_order`: names in their order, so that equal documents are equal texts.
    """
    order: Literal["deterministic"] | None = "deterministic" if in_order else None
    return partial(encoded, msgspec.json.Encoder(decimal_format="number", enc_hook=hook, order=order).encode, hook=hook)


def checked_json(value: Any) -> Any:
    """The value, if JSON can hold it as it is. Raises ValueError for NaN, infinity, unpaired surrogates, other types.

    Whole numbers are exact at any size, others are Decimals or floats.
    """
    rest = [value]
    while rest:  # no recursion: a document may be nested thousands deep
        match rest.pop():
            case None | bool() | int():
                pass
            case str() as text:
                _check_text(text)
            case float() as number if math.isfinite(number):
                pass
            case Decimal() as decimal if decimal.is_finite():
                pass
            case list() | tuple() as items:
                rest.extend(items)
            case dict() as members:
                for name in members:
                    if not isinstance(name, str):
                        raise ValueError(f"a name in JSON is text, not {type(name).__name__}")
                    _check_text(name)
                rest.extend(members.values())
            case other:
                raise ValueError(f"{type(other).__name__} is no value of JSON's")
    return value


def _check_text(text: str) -> None:
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError("an unpaired surrogate is no character") from error
