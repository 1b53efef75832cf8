"""Checkpoints: where a program keeps the token that it goes on from.

Anything with `load` and `save` will do for an iterator; these two ship.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dmsjournal.errors import CheckpointExpired, InvalidRequest
from dmsjournal.feed.database import place_of_token
from dmsjournal.feed.requests import FeedRequest
from dmsjournal.feed.starts import Beginning

if TYPE_CHECKING:
    from dmsjournal.journal import Journal


class Checkpoint(Protocol):
    """Keeps one token."""

    def load(self) -> str | None:
        """The token that was saved last, None where none was."""

    def save(self, token: str) -> None:
        """Keeps a token in place of the one before, so that a crash leaves one of the two."""


class FileCheckpoint:
    """A checkpoint in a file of its own. It is replaced as a whole, and flushed to the disk. One program at a time writes it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def load(self) -> str | None:
        """The token, None where there is no file. Raises InvalidRequest for a file that holds none."""
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return None
        token = text.decode("ascii", "replace").strip()
        if not token:
            raise InvalidRequest("checkpoint", str(self.path), "the file is empty: remove it to start anew")
        return token

    def save(self, token: str) -> None:
        """Keeps a token. Raises OSError."""
        folder = self.path.parent
        handle, name = tempfile.mkstemp(prefix=f".{self.path.name}.", dir=folder)
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(token + "\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self.path)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
        _flush(folder)


class DatabaseCheckpoint:
    """A checkpoint in the database that is read: a registered consumer, at which prunes stop (docs/operator/consumers.md).

    The consumer is registered when the first token is saved. It needs the rights of one that tells how far it has read.
    """

    def __init__(self, journal: Journal, name: str) -> None:
        self._journal, self._consumers, self.name = journal, journal.consumers, name

    def begin(self, request: FeedRequest) -> str:
        """The token to go on from; where the consumer is not registered, it is first, where the request starts.

        So no prune takes what it has not read, however late its first page is saved. Raises what load and save raise.
        """
        while (token := self.load()) is None:
            try:
                self.save(self._journal.feed_start(request))
            except CheckpointExpired:
                if not isinstance(request.start, Beginning):
                    raise  # else a prune was faster: it has moved the beginning
        return token

    def load(self) -> str | None:
        """The token, None where the consumer is not registered.

        Raises InvalidRequest where the consumer was registered or moved by hand: it has no token then.
        """
        return self._consumers.load_token(self.name)

    def save(self, token: str) -> None:
        """Keeps a token, and lets prunes go up to its place.

        Raises InvalidRequest where the consumer has read further already, CheckpointExpired where what comes after the place is
        pruned, HistoryDiverged.
        """
        self._consumers.save_token(self.name, token, place_of_token(token))


def _flush(folder: Path) -> None:
    """The folder's entry to the disk, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
