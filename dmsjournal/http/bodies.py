"""Bodies of large pages: a list's page has as many rows as its client asked for, and each row may have megabytes.

A client that pages by offset counts rows, so its page cannot end early. What does not fit into memory goes into a file without a
name, and from there to the client, so that a page costs about the same memory whatever it weighs.
"""

from __future__ import annotations

import hashlib
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing

from starlette.concurrency import iterate_in_threadpool
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from dmsjournal.http.problems import BUSY, Refused

_CHUNK = 64 * 1024


class Bodies:
    """Where bodies are put together: each in memory up to `in_memory` bytes, in files of `most` bytes all together beyond it."""

    def __init__(self, in_memory: int, most: int) -> None:
        self.in_memory, self._most = in_memory, most
        self._used, self._lock = 0, threading.Lock()

    @property
    def used(self) -> int:
        """The bytes in files."""
        return self._used

    def one(self) -> Body:
        """A new one, to be closed."""
        return Body(self)

    def take(self, size: int) -> None:
        """Notes bytes in files. Raises Refused where there are too many: the disk is bounded, too."""
        with self._lock:
            if self._used + size > self._most:
                raise Refused(BUSY, f"pages of more than {self._most} bytes are on their way: ask for fewer rows, with limit")
            self._used += size

    def give_back(self, size: int) -> None:
        """Notes that they are gone."""
        with self._lock:
            self._used -= size


class Body:
    """A JSON array that is put together item by item."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies, self._taken = bodies, 0
        self._file = tempfile.SpooledTemporaryFile(max_size=bodies.in_memory)  # noqa: SIM115, closed by close
        self._lock = threading.Lock()  # who asked may have gone, and close it, while a thread still writes
        self._digest = hashlib.sha256()
        self.size = 0
        self._write(b"[")

    @property
    def in_memory(self) -> int:
        """The bytes up to which it is in memory, which are those of a page that may end early."""
        return self._bodies.in_memory

    def append(self, item: bytes) -> None:
        """One item more. Raises Refused."""
        self._write(item if self.size == 1 else b"," + item)

    def end(self, told: bytes) -> bytes:
        """Ends the array; returns the digest of it and of the headers that go with it."""
        self._write(b"]")
        self._digest.update(told)
        return self._digest.digest()

    @property
    def is_small(self) -> bool:
        """Whether it is in memory."""
        return self.size <= self.in_memory

    def chunks(self) -> Iterator[bytes]:
        """What was put together, from its beginning on."""
        self._file.seek(0)
        while chunk := self._file.read(_CHUNK):
            yield chunk

    def close(self) -> None:
        """Forgets it all."""
        with self._lock:
            self._file.close()
            self._bodies.give_back(self._taken)
            self._taken = 0

    def _write(self, part: bytes) -> None:
        with self._lock:
            size = self.size + len(part)
            if size > self.in_memory and not self._file.closed:  # all of it is in a file then
                self._bodies.take(size - self._taken)
                self._taken = size
            try:
                self._file.write(part)
            except OSError as error:
                raise Refused(BUSY, f"a large page cannot be kept on its way: {error.strerror}") from error
            self._digest.update(part)
            self.size = size


def response_of(body: Body, headers: dict[str, str]) -> Response:
    """The response with a body, which it closes."""
    if not body.is_small:
        return _BodyResponse(body, headers)
    with closing(body):
        return Response(b"".join(body.chunks()), headers=headers, media_type="application/json")


class _BodyResponse(StreamingResponse):
    """A response that comes from a file."""

    def __init__(self, body: Body, headers: dict[str, str]) -> None:
        sized = {**headers, "Content-Length": str(body.size)}
        super().__init__(iterate_in_threadpool(body.chunks()), headers=sized, media_type="application/json")
        self._body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.stream_response(send)  # to its end: to who has left the server sends nothing, and HEAD is as one who has
        finally:
            self._body.close()
