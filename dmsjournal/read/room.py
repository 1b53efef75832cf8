"""Room: how many bytes a page may hold. Bodies have up to 64 MiB each, so a number of rows alone bounds nothing."""

from __future__ import annotations

from dmsjournal.util.json import json_text

_FEW, _MANY = 8, 128  # rows that are read at once: while nothing is known of their sizes, and at most


class Room:
    """What is left of a page's bytes, as JSON; None has no bounds. What is asked about first has room: no page is empty."""

    def __init__(self, most: int | None) -> None:
        self._left = self._most = most
        self._rows, self._next = 0, _FEW

    @property
    def is_bounded(self) -> bool:
        """Whether there may be no room."""
        return self._left is not None

    def has(self, *values: object) -> bool:
        """Whether there is room for these values, which take it."""
        if self._left is None:
            return True
        self._left -= sum(len(json_text(value)) for value in values if value is not None)
        self._rows += 1
        return self._left >= 0 or self._rows == 1

    def rows(self) -> int:
        """How many rows to read at once: more and more, as far as they have room if they are as large as those before."""
        if self._rows and self._most is not None and self._left is not None:
            each = max(1, (self._most - self._left) // self._rows)
            self._next = max(1, min(2 * self._next, _MANY, self._left // each))
        return self._next
