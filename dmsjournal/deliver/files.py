"""Delivery to files: one event a line, a new file when one is large or old. What ends in .jsonl is whole and never changes."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from dmsjournal.deliver.dead_letters import cut_torn_line, write_all
from dmsjournal.deliver.formats import MessageFormat
from dmsjournal.errors import InvalidRequest, Unavailable
from dmsjournal.events.shapes import FeedEventLike
from dmsjournal.util.files import locked, private, sync

logger = logging.getLogger("dmsjournal.deliver")

HISTORY = "_history"  # the file that remembers the database's history
OPEN = ".open"  # what follows .jsonl in the name of the file that is written to


class RotatingFiles:
    """A target of a delivery: a folder of its own, in which a file is finished before it would pass `max_bytes`, or when it is
    `max_age` seconds old; a longer line has a file of its own.

    A file is named by the version of its first event and by when it was begun, so names are in the order of the feed, and none is
    used twice. Enter it: the folder is made and locked, and a file that a crash has left open is finished, without its torn line. A
    file that is open when it is left is finished too. Raises InvalidRequest; Unavailable where another process has the folder or
    where it cannot be written.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        format_: MessageFormat,
        *,
        max_bytes: int = 64 * 1024 * 1024,
        max_age: float = 3600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if max_bytes < 1 or max_age <= 0:
            raise InvalidRequest("max_bytes, max_age", (max_bytes, max_age), "give a size and a time above 0")
        self.folder, self._format = Path(folder).absolute(), format_
        self._max_bytes, self._max_age, self._clock = max_bytes, max_age, clock
        self._entered = ExitStack()
        self._file: _OpenFile | None = None
        self._written = self._finished = 0

    @property
    def name(self) -> str:
        """The folder."""
        return str(self.folder)

    @property
    def memory(self) -> Path:
        """See Target."""
        return self.folder / HISTORY

    def __enter__(self) -> RotatingFiles:
        self._entered.enter_context(locked(self.folder))
        try:
            for left in sorted(self.folder.glob(f"*.jsonl{OPEN}")):
                self._recover(left)
        except OSError as error:
            self._entered.close()
            raise self._unwritten(error) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if error is None:
                self._finish()
            else:
                with suppress(Exception):  # the error that is on its way is told
                    self._finish()
        finally:
            self._entered.close()

    def counts(self) -> dict[str, int]:
        """Events that were written, files that were finished."""
        return {"written": self._written, "files": self._finished}

    def stop(self) -> None:
        """Nothing: it never waits."""

    def take(self, events: Sequence[FeedEventLike]) -> None:
        """Writes events; they are on the disk when it returns. Raises Unavailable."""
        try:
            for event in self._format.wanted(events):
                line = self._format.encode(event) + b"\n"
                if self._file is not None and self._file.size + len(line) > self._max_bytes:
                    self._finish()
                if self._file is None:
                    self._file = _OpenFile(self.folder, event.change_version, self._clock())
                self._file.add(line)
                self._written += 1
            if self._file is not None:
                self._file.flush()
                if self._clock() - self._file.began >= self._max_age:
                    self._finish()
        except OSError as error:
            if self._file is not None:
                self._file.cut()
            raise self._unwritten(error) from error

    def _finish(self) -> None:
        """Gives the open file its name, with all its lines on the disk."""
        if self._file is not None:
            file, self._file = self._file, None
            try:
                file.flush()
            finally:
                file.close()
            self._publish(file.path)

    def _publish(self, path: Path) -> None:
        if path.stat().st_size:
            os.rename(path, path.with_name(path.name.removesuffix(OPEN)))
            self._finished += 1
        else:
            path.unlink()
        sync(self.folder)

    def _recover(self, path: Path) -> None:
        """Finishes a file that a crash has left."""
        if cut := cut_torn_line(path):
            logger.warning("cut a torn line of %d bytes off %s", cut, path, extra={"action": "deliver_cut"})
        sync(path)
        self._publish(path)

    def _unwritten(self, error: OSError) -> Unavailable:
        return Unavailable(
            f"{self.folder} cannot be written to ({error.strerror})", "make room, then start it again: nothing is lost"
        )


class _OpenFile:
    """The file that is written to. Lines are collected until a flush."""

    _MOST = 1_000_000  # bytes to collect

    def __init__(self, folder: Path, version: int, began: float) -> None:
        self.path = folder / f"{version:019}-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}.jsonl{OPEN}"
        self._descriptor = private(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL)
        sync(folder)
        self.began, self.size, self._flushed, self._lines = began, 0, 0, bytearray()

    def add(self, line: bytes) -> None:
        self._lines += line
        self.size += len(line)
        if len(self._lines) > self._MOST:
            self._write()

    def flush(self) -> None:
        """Returns when all lines are on the disk."""
        self._write()
        if self._flushed != self.size:
            os.fsync(self._descriptor)
            self._flushed = self.size

    def cut(self) -> None:
        """Takes back what was added since the last flush."""
        with suppress(OSError):
            os.ftruncate(self._descriptor, self._flushed)
        self.size, self._lines = self._flushed, bytearray()

    def close(self) -> None:
        os.close(self._descriptor)

    def _write(self) -> None:
        write_all(self._descriptor, self._lines)
        self._lines = bytearray()
