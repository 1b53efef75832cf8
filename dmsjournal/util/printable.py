"""Text that the database or a user has given, as a terminal may show it: nothing in it moves a cursor or forges a line.

Whatever a command prints goes through here: `printable` for words in a sentence, `cell` for a column of separated values,
`in_json` for JSON.
"""

from __future__ import annotations

import re

_SECRET = re.compile(
    r"""(?i)(pwd|password|passwd|secret|access_?token)(\s*=\s*|%3d)(\{(?:[^}]|\}\})*\}|'[^']*'|"[^"]*"|[^;&\s'"]+)"""
)


def printable(text: str, keep: str = "") -> str:
    r"""The text with each character escaped that is none to be seen: controls, bidi and other format characters, line ends.

    As Python escapes them: \x1b, \n, \u202e. Those in `keep` stay.
    """
    return "".join(each if each.isprintable() or each in keep else each.encode("unicode_escape").decode() for each in text)


def cell(text: str) -> str:
    r"""A text as a column of separated values: as `printable`, and a backslash is written \\, so that it can be read back."""
    return printable(text.replace("\\", "\\\\"))


def in_json(text: str) -> str:
    r"""JSON with each character that is none to be seen as \uXXXX, which is the same JSON: its line end stays out of it."""
    return "".join(each if each.isprintable() else "".join(f"\\u{unit:04x}" for unit in _units(each)) for each in text)


def _units(character: str) -> list[int]:
    encoded = character.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(encoded[i : i + 2]) for i in range(0, len(encoded), 2)]


def without_secrets(text: str) -> str:
    """What a driver says, without the password of a connection string that it may repeat."""
    return _SECRET.sub(r"\1\2***", text)
