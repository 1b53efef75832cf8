"""Sizes of files as text, such as 128MB."""

from __future__ import annotations

import re

from dmsjournal.errors import InvalidRequest

_UNITS = {"": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30}


def parsed(parameter: str, text: str) -> int:
    """The bytes that a text such as 128MB names: 1 KB is 1,024 bytes. Raises InvalidRequest."""
    found = re.fullmatch(r"(\d{1,9})\s*([KMG]?B|)", text.strip(), re.IGNORECASE)
    size = int(found[1]) * _UNITS["" if found[2].upper() == "B" else found[2].upper()] if found else 0
    if not 2**10 <= size <= 2**40:
        raise InvalidRequest(parameter, text, "write a size from 1KB to 1024GB, such as 128MB")
    return size
