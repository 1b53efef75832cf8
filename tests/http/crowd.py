"""A crowd of clients: streams and long polls by the hundred in one event loop, which note what came and when.

They read bytes and pick out what they need, since a client that is slower than the service would measure itself.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

_SEQUENCE = re.compile(rb'"sequence":(\d+)')
_LATEST = re.compile(rb'"next_sequence":(\d+)')


@dataclass
class Client:
    """What one client has seen: sequences in the order in which they came, and when each lot of them did."""

    seen: list[int] = field(default_factory=list)
    lots: list[tuple[float, int, int]] = field(default_factory=list)  # time, and the part of `seen` that came then

    def note(self, text: bytes) -> None:
        begin = len(self.seen)
        self.seen.extend(map(int, _SEQUENCE.findall(text)))
        if len(self.seen) > begin:
            self.lots.append((time.time(), begin, len(self.seen)))


async def stream(port: int, token: str, client: Client, after: int, is_done: Callable[[], bool]) -> None:
    """Follows the stream, and connects again when it ends."""
    while not is_done():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_head(f"/changefeed/stream?from_seq={after}&max_seconds=60", token, "1.0"))  # 1.0: the body is not in chunks
        rest = b""
        while not is_done():
            try:
                found = await asyncio.wait_for(reader.read(1 << 16), 0.5)
            except TimeoutError:
                continue
            if not found:
                break
            text, _, rest = (rest + found).rpartition(b"\n")
            client.note(text)
            after = client.seen[-1] if client.seen else after
        writer.close()


async def poll(port: int, token: str, client: Client, after: int, is_done: Callable[[], bool]) -> None:
    """Long polls, one after the other, on one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while not is_done():
        writer.write(_head(f"/changefeed?from_seq={after}&limit=1000&long_poll_ms=500", token, "1.1"))
        head = await reader.readuntil(b"\r\n\r\n")
        [length] = re.findall(rb"content-length: (\d+)", head)
        body = await reader.readexactly(int(length))
        assert head.startswith(b"HTTP/1.1 200 "), head
        client.note(body)
        after = int(_LATEST.findall(body)[-1])
    writer.close()


def _head(path: str, token: str, version: str) -> bytes:
    return f"GET {path} HTTP/{version}\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
