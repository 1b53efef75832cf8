"""Server-sent events as a browser reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec


@dataclass(frozen=True)
class Event:
    """What was dispatched: its type, its data, and the last id at that time."""

    type: str
    data: dict[str, object]
    id: str


class Events(Iterator[Event]):
    """The events of a stream's lines, by the rules of the HTML standard. `id` is what Last-Event-ID would be."""

    def __init__(self, lines: Iterable[str], last_id: str = "") -> None:
        self._lines = iter(lines)
        self.id = last_id
        self.comments: list[str] = []

    def __next__(self) -> Event:
        type_, data = "message", []
        for line in self._lines:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if not line:
                if data:
                    return Event(type_, msgspec.json.decode("\n".join(data)), self.id)
                type_ = "message"
            elif not name:
                self.comments.append(value)
            elif name == "event":
                type_ = value
            elif name == "data":
                data.append(value)
            elif name == "id":
                self.id = value
        raise StopIteration
