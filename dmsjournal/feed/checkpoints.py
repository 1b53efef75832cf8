"""Checkpoints: where a program keeps the token that it goes on from.

Anything with `load` and `save` will do for an iterator; these two ship.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from dmsjournal.errors import CheckpointExpired, InvalidRequest, Unavailable
from dmsjournal.feed.database import place_of_token
from dmsjournal.feed.requests import FeedRequest
from dmsjournal.feed.starts import Beginning
from dmsjournal.feed.tokens import LONGEST, cursor_of
from dmsjournal.model.windows import Cursor
from dmsjournal.util.files import write_whole


class Checkpoint(Protocol):
    """Keeps one token."""

    def load(self) -> str | None:
        """The token that was saved last, None where none was."""

    def save(self, token: str) -> None:
        """Keeps a token in place of the one before, so that a crash leaves one of the two."""


AsyncCheckpoint: TypeAlias = Any  # a Checkpoint whose methods may be coroutines


class FileCheckpoint:
    """A checkpoint in a file of its own. It is replaced as a whole, and flushed to the disk. One program at a time may use it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not isinstance(path, str | os.PathLike) or not os.fspath(path) or "\0" in str(path):
            raise InvalidRequest("checkpoint", path, "name a file, such as warehouse.token")
        self.path = Path(path)

    def __str__(self) -> str:
        return str(self.path)

    def load(self) -> str | None:
        """The token, None where there is no file yet.

        Raises InvalidRequest for a file that holds no token, and for a place where none can be kept: before a page is read in vain.
        """
        try:
            if self.path.exists() and not self.path.is_file():
                raise self._refused("it is no file: name one, such as warehouse.token")
            if not os.access(self.path.parent, os.W_OK | os.X_OK):
                there = "may not be written" if self.path.parent.is_dir() else "is not there"
                raise self._refused(f"its folder {there}: make one that this program may write")
            with self.path.open("rb") as file:
                text = file.read(LONGEST + 2)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._refused(f"it cannot be read ({error.strerror}): give this program the right to") from error
        token = text.decode("ascii", "replace").strip()
        if not token:
            raise self._refused("the file is empty: remove it to start anew")
        try:
            cursor_of(token)
        except InvalidRequest as error:
            why = error.remedy.partition(":")[0]
            raise self._refused(f"the file holds no token ({why}): name another, or remove it") from error
        return token

    def save(self, token: str) -> None:
        """Keeps a token. Raises Unavailable where it cannot, such as on a full disk; the file then holds the one before."""
        try:
            write_whole(self.path, f"{token}\n".encode("ascii"))
        except OSError as error:
            remedy = "the page's events come again, once there is room and the right to write"
            raise Unavailable(f"checkpoint {self.path} cannot be written ({error.strerror or error})", remedy) from error

    def _refused(self, remedy: str) -> InvalidRequest:
        return InvalidRequest("checkpoint", str(self.path), remedy)


class TokenStore(Protocol):
    """Registered consumers, which keep tokens. `Journal.consumers` is one."""

    def load_token(self, name: str) -> str | None:
        """The token of a consumer, None where it is not registered."""

    def save_token(self, name: str, token: str, cursor: Cursor) -> None:
        """Keeps a token, and the cursor that it stands for."""


class HasConsumers(Protocol):
    """A source whose database registers consumers. A Journal is one."""

    @property
    def consumers(self) -> TokenStore:
        """Its consumers."""

    def feed_start(self, request: FeedRequest) -> str:
        """The token of where a request starts; see Journal.feed_start."""


class DatabaseCheckpoint:
    """A checkpoint in the database that is read: a registered consumer, at which prunes stop (docs/operator/consumers.md).

    The consumer is registered when the first token is saved. It needs the rights of one that tells how far it has read.
    """

    def __init__(self, journal: HasConsumers, name: str) -> None:
        self._journal, self._consumers, self.name = journal, journal.consumers, name

    def __str__(self) -> str:
        return f"consumer {self.name}"

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


def check_parts(source: object, checkpoint: object) -> None:
    """Raises InvalidRequest where an iterator could not read from the one, or not keep its place in the other."""
    if not hasattr(source, "read_changes"):
        raise InvalidRequest("source", source, "pass what has a feed: a Journal, or what open_feed gives")
    if checkpoint is not None and not (hasattr(checkpoint, "load") and hasattr(checkpoint, "save")):
        raise InvalidRequest("checkpoint", checkpoint, "pass an object with load and save, such as FileCheckpoint(path)")


def blamed(error: InvalidRequest, checkpoint: object, loaded: str | None) -> InvalidRequest:
    """The error of a request, said of the checkpoint where that held the token that is refused."""
    if error.parameter != "token" or loaded is None or error.value != loaded:
        return error
    return InvalidRequest("checkpoint", str(checkpoint), f"the token in it is refused: {error.remedy}")
