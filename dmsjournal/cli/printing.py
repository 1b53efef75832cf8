"""How results are printed: a line each, for a terminal, for a program, or as JSON."""

import sys
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import msgspec
import typer

from dmsjournal import statements

_VERSIONS_AND_IDS = ("change_version", "document_id", "oldest", "newest", "first", "last", "after_id", "through_id")


def print_items(items: Iterable[object], json: bool, string_versions: bool) -> None:
    """The items, one a line, as they come: JSON, or aligned for a terminal, or separated by tabs for a program."""
    widths: list[int] | None = None
    for item in items:
        record: dict[str, Any] = msgspec.to_builtins(item, builtin_types=(Decimal,))
        if json:
            strings = {name: str(record[name]) for name in _VERSIONS_AND_IDS if string_versions and record.get(name) is not None}
            print(encodable(statements.rows(record | strings)))
            continue
        values = [value if isinstance(value, str) else statements.rows(value) for value in record.values()]
        if not sys.stdout.isatty():
            print("\t".join(values))
            continue
        if widths is None:  # the first row's, so that nothing waits for the last: a later one may be longer
            widths = [max(map(len, pair)) for pair in zip(record, values, strict=True)]
            typer.secho(_aligned(record, widths), bold=True)
        print(_aligned(values, widths))


def encodable(text: str) -> str:
    """JSON as the terminal can show it: where it cannot, characters are escaped as JSON escapes them."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        units = text.encode("utf-16-be")
        codes = (int.from_bytes(units[i : i + 2]) for i in range(0, len(units), 2))
        return "".join(chr(code) if code < 128 else f"\\u{code:04x}" for code in codes)
    return text


def _aligned(values: Iterable[str], widths: list[int]) -> str:
    return "  ".join(value.ljust(width) for value, width in zip(values, widths, strict=True)).rstrip()
