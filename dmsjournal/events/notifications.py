"""Notifications of 64 bytes from one process to another, by a ring of slots in a file that both have mapped.

A notification says that there is something to read, and where; the data goes another way. One producer, one consumer; each may be
killed at any point and started again. See docs/events/arrow.md for what is then lost or repeated.

How a slot is handed over. Slots are numbered from 1 on and lie at (number - 1) modulo the capacity, aligned to 64 bytes. The
producer writes the whole slot with its number left 0, a check (CRC-32 of the slot and its number) among the rest, and then the
number, in one aligned store of 8 bytes. The consumer waits for the number it expects, copies the slot, and takes the copy if the
check fits. It frees the slot by storing the number as taken, which the producer reads before it uses the slot again. Many
at once are handed over in the same way: `send_many` writes all of the slots, then their numbers from the lowest to the highest.

What is relied on:

- A store or load of 8 aligned bytes is not torn: `memoryview.cast("Q")` copies 8 bytes, which compilers make one instruction.
- On x86 stores become visible in their order, so a number is never seen before its slot. ARM may show them in another order, and
  Python has no fence: there the check finds a slot that is not all there yet, and it is read again (a wrong one passes with
  probability 2^-32 of those). A consumer frees a slot after its check, and ARM orders a store after the branch it depends on.
- A killed process's stores stay: they are in the mapping, not in the process. A crash of the machine loses the ring's contents.

The file is an ordinary one, best in memory (/dev/shm). `multiprocessing.shared_memory` would not do: a killed process's
resource tracker deletes the segment under the other one (Python below 3.13).
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import struct
import tempfile
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar
from zlib import crc32

from dmsjournal.errors import InvalidRequest
from dmsjournal.events.notification_checks import checks, numpy
from dmsjournal.util.files import NO_LINK, held
from dmsjournal.util.iteration import raises_again

SIZE = 64  # bytes of a notification, of a slot, and of each part of the head: a cache line
_MAGIC = b"dmsjring"
_FORMAT = 1
_HEAD = struct.Struct("=8sQQ")  # magic, format, capacity
_TAKEN = 1  # which cache line of the head holds the number of the last slot that was taken
_LINES = 2  # of the head
_WORDS = SIZE // 8
_LOW = 2**32 - 1
_TRIES = 1_000  # reads of a slot whose number is there and whose check is not: only a store on its way, or a broken file
_ALL = slice(None)
_FEW = 8  # values that are stored one by one as fast as by NumPy


class NotificationRef(ctypes.Structure):
    """64 bytes that say where there is something to read. In a ring each lies at a multiple of 64, in a cache line of its own.

    `sequence` is the producer's own number, such as a change version; `source_id` which of its sources; `event_type` an EventType;
    `row_count` rows; `timestamp` microseconds since 1970 in UTC; `batch_offset` where the data is. The ring sets the others.
    Bounds: `sequence` and `batch_offset` 64 bits, `source_id` and `row_count` 32, `event_type` 8, all from 0; `timestamp` 64 with a
    sign. Raises InvalidRequest for what does not fit; a field that is set later is cut to its bits, as in C.
    """

    _fields_: ClassVar = [
        ("slot", ctypes.c_uint64),
        ("sequence", ctypes.c_uint64),
        ("timestamp", ctypes.c_int64),
        ("batch_offset", ctypes.c_uint64),
        ("source_id", ctypes.c_uint32),
        ("row_count", ctypes.c_uint32),
        ("event_type", ctypes.c_uint8),
        ("reserved", ctypes.c_uint8 * 15),
        ("check", ctypes.c_uint64),
    ]

    def __init__(self, **values: int) -> None:
        for name, value in values.items():
            if name not in _BOUNDS:
                raise InvalidRequest("notification", name, f"it has the fields {', '.join(_BOUNDS)}")
            if not isinstance(value, int) or not _BOUNDS[name][0] <= value <= _BOUNDS[name][1]:
                raise InvalidRequest(name, value, "pass a whole number from {} to {}".format(*_BOUNDS[name]))
        super().__init__(**values)

    def copy(self) -> NotificationRef:
        """A copy that stays: the ring uses the one that it gave for the next."""
        return type(self).from_buffer_copy(self)

    def values(self) -> tuple[int, int, int, int, int, int]:
        """sequence, source_id, event_type, row_count, timestamp, batch_offset."""
        return (self.sequence, self.source_id, self.event_type, self.row_count, self.timestamp, self.batch_offset)

    def __repr__(self) -> str:
        names = ("sequence", "source_id", "event_type", "row_count", "timestamp", "batch_offset")
        return f"NotificationRef({', '.join(f'{name}={value}' for name, value in zip(names, self.values(), strict=True))})"


DTYPE = {  # of a NumPy array whose items are notifications: numpy.zeros(n, DTYPE)
    "names": ["sequence", "timestamp", "batch_offset", "source_id", "row_count", "event_type"],
    "formats": ["u8", "i8", "u8", "u4", "u4", "u1"],
    "offsets": [8, 16, 24, 32, 36, 40],
    "itemsize": SIZE,
}
_BOUNDS = {
    "sequence": (0, 2**64 - 1),
    "source_id": (0, 2**32 - 1),
    "event_type": (0, 2**8 - 1),
    "row_count": (0, 2**32 - 1),
    "timestamp": (-(2**63), 2**63 - 1),
    "batch_offset": (0, 2**64 - 1),
}


def create(path: str | os.PathLike[str], capacity: int = 1024) -> None:
    """Makes a ring's file, all of it or none. Bounds: 2 to 2^20 slots. Raises InvalidRequest: a file is there, or no folder."""
    if isinstance(capacity, bool) or not isinstance(capacity, int) or not 2 <= capacity <= 2**20:
        raise InvalidRequest("capacity", capacity, "a ring has 2 to 1048576 slots")
    folder, name = os.path.split(os.path.abspath(path))
    try:
        descriptor, made = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    except OSError as error:
        raise InvalidRequest("path", str(path), f"a ring cannot be made there ({error.strerror})") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(_HEAD.pack(_MAGIC, _FORMAT, capacity))
            file.truncate((_LINES + capacity) * SIZE)
        os.link(made, path)  # unlike a rename, it fails where there is a file
    except FileExistsError as error:
        raise InvalidRequest("path", str(path), "there is a file: open it, or delete it first") from error
    finally:
        os.unlink(made)


def remove(path: str | os.PathLike[str]) -> None:
    """Deletes a ring's files; who has it open keeps what it has."""
    for name in (path, *(f"{os.fspath(path)}.{side}" for side in ("producer", "consumer"))):
        Path(name).unlink(missing_ok=True)


def _records(notifications: Any) -> memoryview:
    """The bytes of whole notifications. Raises InvalidRequest."""
    try:
        records = memoryview(notifications).cast("B")
    except TypeError as error:
        raise InvalidRequest(
            "notifications", type(notifications).__name__, "pass a buffer without gaps, such as an array"
        ) from error
    if len(records) % SIZE:
        raise InvalidRequest("notifications", f"{len(records)} bytes", f"each has {SIZE} bytes")
    return records


def _column(words: Any, word: int, count: int) -> Any:
    """Every eighth of the words from one on, as NumPy's: what is stored there is stored word by word, in order."""
    return numpy.frombuffer(words, numpy.uint64)[word : word + count * _WORDS : _WORDS]


def _emptied(records: memoryview) -> list[int]:
    """Takes the numbers and the checks out of records; the checks that were there."""
    told: list[int]
    with records.cast("Q") as words:
        count = len(words) // _WORDS
        if numpy is not None and count > _FEW:
            told = _column(words, _WORDS - 1, count).copy()
            _column(words, 0, count)[:] = _column(words, _WORDS - 1, count)[:] = 0
            return told
        told = words.tolist()[_WORDS - 1 :: _WORDS]
        for at in range(0, len(words), _WORDS):
            words[at] = words[at + _WORDS - 1] = 0
    return told


def _store(words: Any, word: int, values: Sequence[int]) -> None:
    """Stores values in every eighth word from one on, in their order, each in one store of 8 bytes."""
    if numpy is not None and len(values) > _FEW:
        of = numpy.arange(values.start, values.stop, dtype=numpy.uint64) if isinstance(values, range) else values
        _column(words, word, len(values))[:] = of
        return
    for value in values:
        words[word] = value
        word += _WORDS


def _leading(found: Any, wanted: Any) -> int:
    """How many are as wanted, before the first that is not."""
    if numpy is not None and len(wanted) > _FEW:
        other = numpy.not_equal(found, wanted)
        return int(other.argmax()) if other.any() else len(wanted)
    return next((number for number, (one, other) in enumerate(zip(found, wanted, strict=True)) if one != other), len(wanted))


class _Ring:
    """One side of a ring. While it is open, no other process can open the same side."""

    _side: ClassVar[str]

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with contextlib.ExitStack() as opened:
            self.capacity, self._map = _mapped(self.path)
            opened.callback(self._map.close)
            lock = self.path.with_name(f"{self.path.name}.{self._side}")
            opened.enter_context(held(lock, f"the {self._side}'s side of {self.path}"))
            self._opened = opened.pop_all()
        self._bytes = memoryview(self._map)
        self._words: Any = self._bytes.cast("Q")
        slots = range(_LINES * SIZE, len(self._map), SIZE)
        self._places = [slice(at, at + SIZE) for at in slots]  # made once: a hand-over makes nothing
        self._views = [self._bytes[place] for place in self._places]
        self._numbers = [at // 8 for at in slots]  # the word of a slot that holds its number
        self._taken_at = _TAKEN * _WORDS
        self._read = NotificationRef()
        self._read_bytes = memoryview(self._read).cast("B")

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends this side; the file stays, with what is in it."""
        if self._map.closed:
            return
        for view in (*self._views, self._words, self._bytes):
            view.release()
        self._opened.close()

    def _parts(self, first: int, count: int) -> list[tuple[int, int, int]]:
        """Slots that follow each other, as runs of the file: from and to which of them, and where the run begins."""
        at = (first - 1) % self.capacity
        before_the_end = min(count, self.capacity - at)
        parts = [(0, before_the_end, (_LINES + at) * SIZE), (before_the_end, count, _LINES * SIZE)]
        return [part for part in parts if part[0] < part[1]]

    def _is_whole(self, number: int) -> bool:
        """Whether the slot of a number holds it, all of it; then `_read` is its copy."""
        at = (number - 1) % self.capacity
        if self._words[self._numbers[at]] != number:
            return False
        self._read_bytes[_ALL] = self._views[at]
        read = self._read
        check = read.check
        read.slot = read.check = 0
        fits: bool = check == crc32(self._read_bytes, number & _LOW)
        return fits


class NotificationProducer(_Ring):
    """The side that sends. `last` is what was sent last, by whichever process, None in a new ring: go on after it."""

    _side = "producer"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self._taken: int = self._words[self._taken_at]
        self._sent = self._last_sent()
        self.last = self._read.copy() if self._sent and self._is_whole(self._sent) else None

    def send(self, notification: NotificationRef) -> bool:
        """Hands a notification over; False, and nothing done, where the ring is full.

        The notification is copied and can be used for the next one. When it returns True, it is in the ring whatever
        happens to this process.
        """
        number = self._sent + 1
        if number - self._taken > self.capacity:
            self._taken = self._words[self._taken_at]
            if number - self._taken > self.capacity:
                return False
        at = self._sent % self.capacity
        notification.slot = notification.check = 0
        notification.check = crc32(notification, number & _LOW)
        self._map[self._places[at]] = notification  # its number is 0: not to be taken yet
        self._words[self._numbers[at]] = number
        self._sent = number
        return True

    def send_many(self, notifications: Any) -> int:
        """Hands many over at once, in their order; how many there was room for: send the others again.

        `notifications` is a buffer of whole ones, which is not changed: an array of ctypes, `(NotificationRef * n)(…)`, or one of
        NumPy's, `numpy.zeros(n, notifications.DTYPE)`. Those that were handed over are in the ring whatever happens to this
        process. If it is killed meanwhile, the first of them are: `last` of the next producer says which. Raises InvalidRequest.
        """
        records = _records(notifications)
        if self._sent + len(records) // SIZE - self._taken > self.capacity:
            self._taken = self._words[self._taken_at]
        count = min(len(records) // SIZE, self.capacity - (self._sent - self._taken))
        if not count:
            return 0
        copied = bytearray(records[: count * SIZE])
        first = self._sent + 1
        with memoryview(copied) as view:
            _emptied(view)
            with view.cast("Q") as words:
                _store(words, _WORDS - 1, checks(view, first))
            for begin, end, at in self._parts(first, count):
                self._bytes[at : at + (end - begin) * SIZE] = view[begin * SIZE : end * SIZE]  # numbers are 0: not to be taken yet
        for begin, end, at in self._parts(first, count):
            _store(self._words, at // 8, range(first + begin, first + end))
        self._sent += count
        return count

    def _last_sent(self) -> int:
        """The highest number in the ring: a slot that a producer was killed in the middle of has none, or one that was taken."""
        numbers: list[int] = [self._words[word] for word in self._numbers]
        return max([self._taken, *numbers])


class NotificationConsumer(_Ring):
    """The side that takes. It begins after the last notification that was committed."""

    _side = "consumer"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self._seen: int = self._words[self._taken_at]

    def take(self) -> NotificationRef | None:
        """The next notification, None where there is none yet. It is good until the next call: `copy()` what is to stay.

        It comes again after a restart unless `commit` was called since. Raises InvalidRequest where the ring's file is damaged.
        """
        number = self._seen + 1
        if not self._is_whole(number):
            if self._words[self._numbers[self._seen % self.capacity]] != number:
                return None
            self._settle(number)
        self._seen = number
        return self._read

    def take_many(self, most: int = 1_000) -> Any:
        """The next notifications, at most so many: an array of them (`ctypes`), which stays; empty where there is none yet.

        `numpy.frombuffer(found, notifications.DTYPE)` gives it to NumPy. They come again after a restart unless `commit` was called
        since. Bounds: 1 or more. Raises InvalidRequest, also where the ring's file is damaged.
        """
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise InvalidRequest("most", most, "take 1 or more")
        first = self._seen + 1
        found = bytearray()
        for begin, end, at in self._parts(first, min(most, self.capacity)):
            count = self._ready(at // 8, range(first + begin, first + end))
            found += self._bytes[at : at + count * SIZE]
            if count < end - begin:
                break
        if found:
            with memoryview(found) as view:
                good = _leading(_emptied(view), checks(view, first))
            if not good:  # a store on its way, or a broken file
                self._settle(first)
                found, good = bytearray(self._read_bytes), 1
            del found[good * SIZE :]
            self._seen += good
        return (NotificationRef * (len(found) // SIZE)).from_buffer_copy(found)

    def _ready(self, word: int, numbers: range) -> int:
        """How many of the numbers are in the slots from one on, before the first that is not."""
        if numpy is None or len(numbers) <= _FEW or self._words[word + _FEW * _WORDS] != numbers[_FEW]:
            few = numbers if numpy is None else numbers[:_FEW]
            return _leading([self._words[at] for at in range(word, word + len(few) * _WORDS, _WORDS)], few)
        there = _column(self._words, word, len(numbers))
        return _leading(there, numpy.arange(numbers.start, numbers.stop, dtype=numpy.uint64))

    def commit(self) -> None:
        """Frees the slots of all that was taken: none of it comes again."""
        self._words[self._taken_at] = self._seen

    def wait(self, seconds: float) -> NotificationRef | None:
        """`take` that waits: the next notification, None where none comes in that time.

        It looks 10,000 times a second at first, then 1,000.
        """
        deadline = time.monotonic() + seconds
        pause = 0.0001
        while (found := self.take()) is None and time.monotonic() < deadline:
            time.sleep(pause)
            pause = min(pause * 1.1, 0.001)
        return found

    @raises_again
    def drain(self, seconds: float = 0.0) -> Generator[NotificationRef]:
        """What was not committed yet, until none has come for so long; each is committed when the next is asked for.

        What a loop was at when it was killed comes again, and so does what was taken before without a commit.
        """
        self._seen = self._words[self._taken_at]
        while (found := self.wait(seconds)) is not None:
            yield found
            self.commit()

    def _settle(self, number: int) -> None:
        """Reads a slot until it is whole, which on x86 it is at once, on ARM when the other core's stores have come."""
        for _ in range(_TRIES):
            if self._is_whole(number):
                return
            time.sleep(0)
        raise InvalidRequest("path", str(self.path), f"slot {number} is damaged: delete the ring and make another one")


def _mapped(path: Path) -> tuple[int, mmap.mmap]:
    """The capacity of a ring and its file, mapped. Raises InvalidRequest for a file that is none."""
    try:
        with open(path, "r+b", opener=lambda name, flags: os.open(name, flags | NO_LINK)) as file:
            head = file.read(_HEAD.size)
            size = file.seek(0, os.SEEK_END)
            magic, of_format, capacity = _HEAD.unpack(head.ljust(_HEAD.size, b"\0"))
            if magic != _MAGIC or of_format != _FORMAT or size != (_LINES + capacity) * SIZE:
                raise InvalidRequest("path", str(path), "it is no ring of this version, or not all of one")
            return capacity, mmap.mmap(file.fileno(), size)
    except OSError as error:
        raise InvalidRequest("path", str(path), f"no ring can be opened there ({error.strerror}): create it first") from error
