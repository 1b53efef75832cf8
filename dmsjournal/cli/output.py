"""How results are printed: a line each, for a terminal, for a program, or as JSON."""

import sys
import time
from collections.abc import Iterable
from typing import Any

import typer

import dmsjournal as dj
from dmsjournal.util.json import plain
from dmsjournal.util.json import rows as json_rows
from dmsjournal.util.printable import cell, in_json, printable

_VERSIONS_AND_IDS = ("change_version", "document_id", "oldest", "newest", "first", "last", "after_id", "through_id")


def say(*columns: str, err: bool = False) -> None:
    """One line, of a sentence or of columns that tabs separate, whatever values are in it."""
    typer.echo("\t".join(map(printable, columns)), err=err)


class ProgressLines:
    """Progress as lines on standard error, for a log: where no terminal shows it. At most one in `seconds`, but for what is new."""

    def __init__(self, seconds: float = 30.0) -> None:
        self._seconds, self._last = seconds, time.monotonic()

    def say(self, text: str, *, new: bool = False) -> None:
        now = time.monotonic()
        if new or now - self._last >= self._seconds:
            self._last = now
            say(text, err=True)


def print_items(items: Iterable[object], json: bool, string_versions: bool) -> None:
    """The items, one a line, as they come: JSON, or aligned for a terminal, or separated by tabs for a program."""
    widths: list[int] | None = None
    for item in items:
        record: dict[str, Any] = plain(item)
        if json:
            strings = {name: str(record[name]) for name in _VERSIONS_AND_IDS if string_versions and record.get(name) is not None}
            print(encodable(json_rows(record | strings)))
            continue
        record |= {name: str(value) for name in record if isinstance(value := getattr(item, name, None), dj.ResourceKey)}
        values = [cell(value) if isinstance(value, str) else in_json(json_rows(value)) for value in record.values()]
        if not sys.stdout.isatty():
            print("\t".join(values))
            continue
        if widths is None:  # the first row's, so that nothing waits for the last: a later one may be longer
            widths = [max(map(len, pair)) for pair in zip(record, values, strict=True)]
            typer.secho(_aligned(record, widths), bold=True)
        print(_aligned(values, widths))


def encodable(text: str) -> str:
    """JSON as the terminal can show it: where it cannot or must not, characters are escaped as JSON escapes them."""
    text = in_json(text)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        units = text.encode("utf-16-be")
        codes = (int.from_bytes(units[i : i + 2]) for i in range(0, len(units), 2))
        return "".join(chr(code) if code < 128 else f"\\u{code:04x}" for code in codes)
    return text


def _aligned(values: Iterable[str], widths: list[int]) -> str:
    return "  ".join(value.ljust(width) for value, width in zip(values, widths, strict=True)).rstrip()
