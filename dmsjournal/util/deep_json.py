"""JSON that is nested thousands deep, beyond what Python's C code may recurse: 1,500 levels in Python 3.12, whatever limit is set.

PostgreSQL stores such values, so every reader must get them through.
"""

from __future__ import annotations

import copy
import json
import json.scanner
import sys
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from typing import Any

import msgspec

Hook = Callable[[Any], Any]


def encoded(encode: Callable[[Any], bytes], value: Any, hook: Hook | None = None) -> bytes:
    """What `encode(value)` would return: the innermost parts are encoded first, and stand as text in the parts around them.

    `hook` is the encoder's own for values that are none of JSON's.
    """
    if (outermost := _copy(value, hook)) is None:
        return encode(value)
    copies = [outermost]
    places: list[tuple[int, Any]] = [(0, None)]  # of each copy: the one that holds it, and under which name
    for place, parent in enumerate(copies):  # it grows while it is read: parents come before what they hold
        for name, child in list(_items(parent)):
            if (made := _copy(child, hook)) is not None:
                _set(parent, name, made)
                copies.append(made)
                places.append((place, name))
    heights = [0] * len(copies)
    for place in range(len(copies) - 1, 0, -1):
        holder, name = places[place]
        if heights[place] >= _HEIGHT:
            _set(copies[holder], name, msgspec.Raw(encode(copies[place])))
            heights[place] = 0
        heights[holder] = max(heights[holder], heights[place] + 1)
    return encode(copies[0])


def decoded(text: str | bytes, parse_int: Hook, parse_float: Hook) -> Any:
    """A JSON value. Raises ValueError for what is none."""
    try:
        return json.loads(text, parse_int=parse_int, parse_float=parse_float)
    except RecursionError:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, _DEPTH))
        try:
            decoder = _Decoder(parse_int=parse_int, parse_float=parse_float)
            return decoder.decode(text if isinstance(text, str) else text.decode("utf-8"))
        finally:
            sys.setrecursionlimit(before)


class _Decoder(json.JSONDecoder):
    """The decoder in Python, which goes as deep as the recursion limit: the one in C has a bound of its own."""

    def __init__(self, parse_int: Hook, parse_float: Hook) -> None:
        super().__init__(parse_int=parse_int, parse_float=parse_float)
        self.scan_once = json.scanner.py_make_scanner(self)  # type: ignore[attr-defined]


def _copy(value: Any, hook: Hook | None) -> Any:
    """A copy of what holds other values, one level deep, as the encoder would write it. None for what holds none."""
    match value:
        case dict():
            return dict(value)
        case list() | tuple():
            return list(value)
        case msgspec.Struct():
            return copy.copy(value)
        case type():
            return None
        case _ if is_dataclass(value):
            return copy.copy(value)
        case _ if hook is not None:
            try:
                return dict(hook(value))
            except (NotImplementedError, TypeError):
                return None
    return None


def _items(holder: Any) -> Iterable[tuple[Any, Any]]:
    match holder:
        case dict():
            return holder.items()
        case list():
            return enumerate(holder)
        case msgspec.Struct():
            return ((name, getattr(holder, name)) for name in holder.__struct_fields__)
    return ((field.name, getattr(holder, field.name)) for field in fields(holder))


def _set(holder: Any, name: Any, value: Any) -> None:
    match holder:
        case dict() | list():
            holder[name] = value
        case msgspec.Struct():
            msgspec.structs.force_setattr(holder, name, value)
        case _:
            object.__setattr__(holder, name, value)  # it is frozen, and the copy is ours


_HEIGHT = 200  # levels that are encoded at once, far below any Python's bound
_DEPTH = 100_000  # frames, two a level: what PostgreSQL's own stack allows is far less
