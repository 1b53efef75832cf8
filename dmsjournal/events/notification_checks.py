"""The checks of many notifications at once: the CRC-32 of each record of 64 bytes, which begins at its number.

CRC-32 is linear: a record's check is the XOR of what each of its bytes contributes at its place, and of what the number does. NumPy
looks up a column of bytes at a time, and a column of equal bytes only once. Without NumPy each record is one call of zlib's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any
from zlib import crc32

if TYPE_CHECKING:
    import numpy as np

SIZE = 64
_LOW = 2**32 - 1
_FEW = 100  # records whose checks zlib works out as fast as NumPy

try:
    import numpy as numpy
except ModuleNotFoundError:  # the extra `events` does not bring it
    numpy = None  # type: ignore[assignment]


def checks(records: memoryview, first: int) -> Sequence[int]:
    """The check of each record, whose numbers rise from `first` on. The records' own numbers and checks are 0."""
    count = len(records) // SIZE
    if numpy is None or count < _FEW:
        return [crc32(records[at : at + SIZE], (first + number) & _LOW) for number, at in enumerate(range(0, len(records), SIZE))]
    places, numbers = _tables()
    columns = numpy.ascontiguousarray(numpy.frombuffer(records, numpy.uint8).reshape(count, SIZE).T)
    differs = (columns != columns[:, :1]).any(axis=1)
    same = numpy.where(differs, 0, columns[:, 0]).astype(numpy.uint8).tobytes()
    found = numpy.full(count, crc32(same), numpy.uint32)
    for place in numpy.flatnonzero(differs).tolist():
        found ^= places[place].take(columns[place])
    low = numpy.arange(first, first + count, dtype=numpy.uint64)
    for place in range(4):
        found ^= numbers[place].take((low >> numpy.uint64(8 * place)) & numpy.uint64(255))
    return found  # type: ignore[return-value]  # an array of numbers


@cache
def _tables() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """What each byte contributes at each of the 64 places, and at each of the 4 of the number that go into a check."""
    zeros = crc32(bytes(SIZE))
    record = bytearray(SIZE)
    places = numpy.zeros((SIZE, 256), numpy.uint32)
    for place in range(SIZE):
        for byte in range(256):
            record[place] = byte
            places[place, byte] = crc32(record) ^ zeros
        record[place] = 0
    contributions = [[crc32(bytes(SIZE), byte << 8 * place) ^ zeros for byte in range(256)] for place in range(4)]
    return places, numpy.array(contributions, numpy.uint32)
