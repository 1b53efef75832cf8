"""Dead letters: events that a receiver would not take, kept in a file of JSON lines until they are delivered after all."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from types import TracebackType
from uuid import UUID

import msgspec

from dmsjournal.errors import DeadLettersFull, InvalidRequest, Unavailable
from dmsjournal.events.encoding import encoder
from dmsjournal.events.jsonl import FeedRecord
from dmsjournal.events.shapes import FeedEventLike, entity_id_of
from dmsjournal.util.files import held, private, sync, write_whole
from dmsjournal.util.json import decoded

logger = logging.getLogger("dmsjournal.deliver")


class DeadLetter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An event and why it was not delivered. `tries` is how often it was sent, 0 where it waits behind another of its document."""

    event_id: UUID
    consumer: str
    receiver: str
    reason: str
    tries: int
    at: datetime
    event: FeedRecord

    @property
    def document(self) -> UUID:
        """The document that the event is of."""
        return entity_id_of(self.event)


class DeadLetters:
    """The file of a consumer's dead letters, oldest first, `most` at most. Enter it: it is locked, and what was torn is cut off.

    What add was given is on the disk when it returns. Raises InvalidRequest for a file that is another's or is damaged, Unavailable
    where another process has it or where it cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], consumer: str, most: int = 1_000) -> None:
        self.path, self.consumer, self._most = Path(path).absolute(), consumer, most
        self._entered = ExitStack()
        self._ids: set[UUID] = set()
        self._documents: dict[UUID, UUID] = {}

    def __enter__(self) -> DeadLetters:
        lock = self.path.with_name(f".{self.path.name}.lock")
        self._entered.enter_context(held(lock, self.path))
        try:
            self._note(self._recovered())
        except OSError as error:
            self._entered.close()
            raise InvalidRequest(
                "dead_letters", str(self.path), f"it can be no file of dead letters ({error.strerror}): name another"
            ) from error
        except BaseException:
            self._entered.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._entered.close()

    def __len__(self) -> int:
        return len(self._ids)

    def ahead_of(self, event: FeedEventLike) -> UUID | None:
        """The id of a dead letter of the event's document, which it has to wait for; None where there is none."""
        return self._documents.get(entity_id_of(event))

    def add(self, letters: Sequence[DeadLetter]) -> None:
        """Appends letters, but for those that are there already. Raises DeadLettersFull, Unavailable; then none is kept."""
        new = [letter for letter in letters if letter.event_id not in self._ids]
        if not new:
            return
        if len(self) + len(new) > self._most:
            raise DeadLettersFull(str(self.path), len(self))
        try:
            self._append(b"".join(map(_line, new)))
        except OSError as error:
            raise self._unwritten(error) from error
        self._note([*new])

    def read(self) -> list[DeadLetter]:
        """All letters, oldest first. Raises InvalidRequest, which names the line."""
        try:
            lines = self.path.read_bytes().splitlines()
        except FileNotFoundError:
            return []
        return [self._letter(number, line) for number, line in enumerate(lines, 1) if line]

    def keep(self, letters: Iterable[DeadLetter]) -> None:
        """Keeps these letters and no others."""
        kept = list(letters)
        try:
            write_whole(self.path, b"".join(map(_line, kept)))
        except OSError as error:
            raise self._unwritten(error) from error
        self._ids.clear()
        self._documents.clear()
        self._note(kept)

    def _note(self, letters: Iterable[DeadLetter]) -> None:
        for letter in letters:
            self._ids.add(letter.event_id)
            self._documents.setdefault(letter.document, letter.event_id)

    def _append(self, text: bytes) -> None:
        is_new = not self.path.exists()
        descriptor = private(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            size = os.fstat(descriptor).st_size
            try:
                write_all(descriptor, text)
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, size)  # half a line would hide the next one
                raise
        finally:
            os.close(descriptor)
        if is_new:
            sync(self.path.parent)

    def _recovered(self) -> list[DeadLetter]:
        """The letters, without a last line that a crash has torn: its event comes again, since the checkpoint is before it."""
        if self._ends_whole():
            self._append(b"\n")
        elif cut := cut_torn_line(self.path):
            logger.warning("cut a torn line of %d bytes off %s", cut, self.path, extra={"action": "deliver_cut"})
        return self.read()

    def _ends_whole(self) -> bool:
        """Whether the last line is a letter and lacks nothing but its end, as an editor may leave it."""
        text = self.path.read_bytes() if self.path.exists() else b""
        if not text or text.endswith(b"\n"):
            return False
        lines = text.splitlines()
        try:
            self._letter(len(lines), lines[-1])
        except InvalidRequest:
            return False
        return True

    def _letter(self, number: int, line: bytes) -> DeadLetter:
        where = f"{self.path}:{number}"
        try:
            letter = msgspec.convert(decoded(line), DeadLetter, strict=True)
        except (msgspec.ValidationError, ValueError) as error:
            raise InvalidRequest("dead_letters", where, f"the line is no dead letter ({error}): mend or remove it") from error
        if letter.consumer != self.consumer:
            raise InvalidRequest("dead_letters", where, f"it is of consumer {letter.consumer}: give each a file of its own")
        return letter

    def _unwritten(self, error: OSError) -> Unavailable:
        reason = f"the dead letters cannot be written to {self.path} ({error.strerror})"
        return Unavailable(reason, "make room, then start it again: nothing is lost")


def write_all(descriptor: int, text: bytes | bytearray) -> None:
    """Writes all of a text: the system may take a part of it at a time."""
    rest = memoryview(text)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def cut_torn_line(path: Path, block: int = 65_536) -> int:
    """Cuts off what stands behind a file's last line end; how many bytes that were. No file has none."""
    try:
        file = open(path, "r+b", opener=private)  # noqa: SIM115  # closed below
    except FileNotFoundError:
        return 0
    with file:
        size = end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - block)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                end = start + found + 1
                break
            end = start
        if end < size:
            file.truncate(end)
            os.fsync(file.fileno())
    return size - end


def _line(letter: DeadLetter) -> bytes:
    return _encode(letter) + b"\n"


_encode = encoder()
