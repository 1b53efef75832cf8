"""Which fields differ between two JSON documents: their paths, and what they were and are.

A path is the names on the way, joined by dots, with positions of arrays in brackets: `email`, `address.city`, `phones[1].number`.
A name that holds one of `.[]"$` or is empty is quoted as JSON text in brackets: `["a.b"]`, `address["."]`. The whole is `$`.
Two objects are compared name by name, two arrays position by position, anything else as a whole: what is new or gone, or of
another kind, is one path with all that is in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final


class Missing:
    """That a field is not there, which is not the same as null."""

    def __repr__(self) -> str:
        return "MISSING"

    def __copy__(self) -> Missing:
        return self

    def __deepcopy__(self, memo: object) -> Missing:
        return self

    def __reduce__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that is not the same on both sides. MISSING where it is not there at all; None is null."""

    path: str
    before: Any
    after: Any


def differences(before: Any, after: Any) -> Iterator[Difference]:
    """The fields that differ, in the order of `after`, then those that are gone in the order of `before`.

    Numbers are compared by value (1, 1.0 and 1.00 are equal, as in a database), and true is not 1.
    """
    rest = [("", before, after)]
    while rest:  # no recursion: a document may be nested thousands deep
        path, old, new = rest.pop()
        match old, new:
            case dict(), dict():
                names = [*new, *(name for name in old if name not in new)]
                rest += [(_member(path, name), old.get(name, MISSING), new.get(name, MISSING)) for name in reversed(names)]
            case (list() | tuple(), list() | tuple()):
                longest = range(max(len(old), len(new)))
                rest += [(f"{path or '$'}[{at}]", _item(old, at), _item(new, at)) for at in reversed(longest)]
            case _ if not _equal(old, new):
                yield Difference(path or "$", old, new)


def changed(before: Any, after: Any, old_key: Any, new_key: Any) -> tuple[Difference, ...] | None:
    """The fields of a document that an update changed, of its body and of its key; None where nothing is known to have changed.

    A body of None is not known: then the key's fields alone are there. An `old_key` of None did not change. A field that
    both have is the body's.
    """
    is_known = before is not None and after is not None
    found = list(differences(before, after)) if is_known else []
    if old_key is not None:
        paths = {change.path for change in found}
        found += [change for change in differences(old_key, new_key) if change.path not in paths]
    return tuple(found) if is_known or found else None


def changed_paths(before: Any, after: Any, old_key: Any, new_key: Any) -> tuple[str, ...] | None:
    """The paths of `changed`."""
    found = changed(before, after, old_key, new_key)
    return None if found is None else tuple(change.path for change in found)


def is_within(path: str, field: str) -> bool:
    """Whether the path is the field's or leads into it: `address` holds `address.city` and `address[0]`."""
    return path.startswith(field) and path[len(field) : len(field) + 1] in ("", ".", "[")


def top_level(name: str) -> str:
    """The path of a name of the document's own."""
    return _member("", name)


_PLAIN = re.compile(r'[^.\[\]"$]+')


def _member(path: str, name: str) -> str:
    if not _PLAIN.fullmatch(name):
        return f"{path}[{json.dumps(name, ensure_ascii=False)}]"
    return f"{path}.{name}" if path else name


def _item(items: list[Any] | tuple[Any, ...], at: int) -> Any:
    return items[at] if at < len(items) else MISSING


def _equal(old: Any, new: Any) -> bool:
    """Whether two values that are not both objects nor both arrays are the same."""
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    if isinstance(old, int | float | Decimal) and isinstance(new, int | float | Decimal):
        return _exact(old) == _exact(new)
    return type(old) is type(new) and bool(old == new)


def _exact(number: float | Decimal) -> float | Decimal:
    return Decimal(repr(number)) if isinstance(number, float) else number
