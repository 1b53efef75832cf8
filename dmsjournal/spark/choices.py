"""The refusal of a choice that differs from the one that a folder of runs or a table was begun with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dmsjournal.errors import InvalidRequest


def begun_otherwise(parameter: str, value: Any, had: Any, where: object, kind: str) -> InvalidRequest:
    """`value` was asked for, and `had` is what `where`, a folder or a table (`kind`), was begun with."""
    shown = ", ".join(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
    return InvalidRequest(parameter, shown, f"{where} was begun with {_worded(parameter, had)}: leave it out, or name a new {kind}")


def _worded(parameter: str, had: Any) -> str:
    if parameter == "resources":
        return "all resources" if had is None else ", ".join(had)
    if parameter == "body":
        return f"bodies as {had}" if had else "no bodies"
    if parameter == "etag":
        return "etags" if had else "no etags"
    return "files of one resource each" if had else "all resources in the same files"
