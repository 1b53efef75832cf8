"""Loading: documents as JSON lines, one a line, from a file of any size into the database."""

from __future__ import annotations

import gzip
import json
import os
import stat
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import IO, Any, Protocol
from uuid import UUID

import msgspec

from dmsjournal.errors import CommitUnknown, InvalidRequest, JournalError
from dmsjournal.model.documents import Document, Reference
from dmsjournal.model.resources import ResourceKey
from dmsjournal.util.iteration import raises_again
from dmsjournal.util.printable import printable
from dmsjournal.write.transaction import WriteTransaction

MAX_LINE = 64 * 2**20  # bytes; a jsonb of PostgreSQL holds 256 MiB, and a line is in memory several times over

_BATCH_LINES = 1_000  # lines that are written together,
_BATCH_BYTES = 16 * 2**20  # or fewer where they are long, so that memory does not grow with them
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line that was not loaded, and why. `text` is the line; bytes that are not UTF-8 are escaped in it."""

    line_number: int
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What became of the lines; `rejected` is empty where a load hands them to its `on_rejected`."""

    created: int
    updated: int
    unchanged: int
    rejected: list[Rejected]
    seconds: float

    @property
    def documents(self) -> int:
        """How many documents were written or found as they are."""
        return self.created + self.updated + self.unchanged


class BadLine(JournalError):
    """A line cannot be loaded, and the load was not told to keep going."""

    def __init__(self, line_number: int, reason: str, text: str) -> None:
        super().__init__(line_number, reason, text)
        self.line_number, self.reason, self.text = line_number, reason, text

    def __str__(self) -> str:
        return f"line {self.line_number}: {self.reason}"


class Writable(Protocol):
    """A database to write documents to. A Journal is one."""

    def write(self) -> AbstractContextManager[WriteTransaction]:
        """One transaction; see Journal.write."""


def load(
    db: Writable,
    lines: Iterable[bytes],
    *,
    keep_going: bool = False,
    commit_every: int | None = None,
    progress: Callable[[int], None] | None = None,
    on_rejected: Callable[[Rejected], None] | None = None,
) -> LoadReport:
    """Upserts the documents of JSON lines in their order; each may refer to those before it. Blank lines are skipped.

    All in one transaction, or in one for each `commit_every` lines. The first bad line raises BadLine; with `keep_going` bad lines
    are collected in the report, or handed to `on_rejected`, and the others loaded. `progress` is called with the number of lines
    done. Memory does not grow with the number of lines. Raises BadLine, InvalidRequest and what Journal.write raises, each with a
    note of what was loaded all the same.
    """
    if commit_every is not None and commit_every < 1:
        raise InvalidRequest("commit_every", commit_every, "ask for 1 line or more")
    started = time.monotonic()
    run = _Run(keep_going, on_rejected)
    numbered = _numbered(lines)
    committed, more = 0, True
    try:
        while more:
            before = run.read
            with db.write() as tx:
                for batch in _batches(islice(numbered, commit_every)):
                    run.write(tx, batch)
                    if progress is not None:
                        progress(run.read)
            committed = run.last_line
            more = run.read - before == commit_every
    except (JournalError, KeyboardInterrupt) as error:
        known = f"the documents up to line {committed} are loaded" if committed else "nothing was loaded"
        if isinstance(error, CommitUnknown):
            known = f"{known}, or those up to line {run.last_line} are: load the file again, which leaves what is there unchanged"
        error.add_note(known)
        raise
    counts = run.outcomes
    return LoadReport(counts["created"], counts["updated"], counts["unchanged"], run.rejected, time.monotonic() - started)


def parse(line: bytes) -> Document:
    """The document of a line.

    Form: the fields of the Ed-Fi sample and no others; `documentUuid` may be missing. Raises InvalidRequest, naming the field that
    is wrong, or else the "line".
    """
    try:
        parsed = _decode(line)
        resource = _resource(parsed.project_name, parsed.resource_name, parsed.resource_version)
        references = [
            Reference(
                _resource(parsed.project_name, reference.resource_name, parsed.resource_version),
                reference.identity,
                reference.identity_component,
            )
            for reference in parsed.references
        ]
        return Document(resource, parsed.identity, parsed.body, references, parsed.document_uuid)
    except RecursionError as error:
        raise _bad(line, "it is nested too deeply") from error


@dataclass(frozen=True, slots=True)
class LineFile:
    """The lines of an open file, decompressed where its content is gzip, whatever its name says."""

    name: str
    file: IO[bytes]
    size: int | None  # bytes on disk; None where it has no size, such as a pipe

    @property
    def position(self) -> int:
        """How many of its bytes on disk have been read, 0 where it has no size."""
        return 0 if self.size is None else self.file.tell()

    @raises_again
    def __iter__(self) -> Generator[bytes]:
        number = 0
        try:
            head: bytes = self.file.peek(2)  # type: ignore[attr-defined]  # a BufferedReader: pipes cannot be read twice
            readable = gzip.GzipFile(fileobj=self.file) if head[:2] == b"\x1f\x8b" else self.file
            while line := readable.readline(MAX_LINE + 1):
                number += 1
                yield line
                while len(line) > MAX_LINE and not line.endswith(b"\n"):  # too long, as parse will say: pass the rest over
                    line = readable.readline(MAX_LINE + 1)
        except EOFError as error:
            raise self._broken(f"its gzip data end too early, after line {number}: copy it again") from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise self._broken(f"its gzip data are damaged after line {number} ({error}): copy it again") from error
        except OSError as error:
            raise self._broken(f"it cannot be read after line {number}: {error.strerror or error}") from error

    def _broken(self, remedy: str) -> InvalidRequest:
        return InvalidRequest("file", self.name, remedy)


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[LineFile]:
    """The lines of the file, of standard input where the path is `-`. Raises InvalidRequest, also while they are read."""
    name = os.fspath(path)
    if name == "-" and sys.stdin is None:
        raise InvalidRequest("file", name, "standard input is closed: name a file, or pipe the lines in")
    if name == "-":
        yield LineFile("standard input", sys.stdin.buffer, None)
        return
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open(name, "rb"))
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            raise InvalidRequest("file", name, f"it cannot be opened: {getattr(error, 'strerror', None) or error}") from error
        status = os.fstat(file.fileno())
        yield LineFile(name, file, status.st_size if stat.S_ISREG(status.st_mode) else None)


class _Reference(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    resource_name: str
    identity: dict[str, Any]
    identity_component: bool


class _Line(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    project_name: str
    resource_name: str
    resource_version: str
    identity: dict[str, Any]
    body: dict[str, Any]
    references: list[_Reference]
    document_uuid: UUID | None = None


_resource = lru_cache(maxsize=4096)(ResourceKey)  # a file repeats a few names
_DECODER = msgspec.json.Decoder(_Line, float_hook=Decimal)  # 7.20 stays 7.20


def _decode(line: bytes) -> _Line:
    if len(line) > MAX_LINE:
        raise _bad(line, f"a line has {MAX_LINE} bytes at most")
    try:
        return _DECODER.decode(line)
    except msgspec.ValidationError as error:
        raise _bad(line, f"it is no document: {printable(str(error))}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:  # which of the two it is differs between releases of msgspec
        raise _bad(line, _malformed(line, error)) from error


def _malformed(line: bytes, error: Exception) -> str:
    """Why a line is no JSON text, told by the line itself."""
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return f"it is not JSON: {error}"
    try:
        line.decode("utf-8")
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as found:
        return f"it is not UTF-8: byte {found.start + 1} of the line is 0x{line[found.start]:02x}"
    except UnicodeEncodeError:
        return "it holds an unpaired surrogate, which is no character"
    return f"it is not JSON: {error}"


def _bad(line: bytes, reason: str) -> InvalidRequest:
    return InvalidRequest("line", _text(line[:200]), reason)


def _text(line: bytes) -> str:
    return line.rstrip(b"\r\n").decode("utf-8", "backslashreplace")


_Numbered = tuple[int, bytes]


def _numbered(lines: Iterable[bytes]) -> Iterator[_Numbered]:
    """The lines that are not blank, numbered from 1 as an editor does."""
    for number, line in enumerate(lines, start=1):
        text = line.removeprefix(_BOM) if number == 1 else line
        if text and not text.isspace():
            yield number, text


def _batches(lines: Iterable[_Numbered]) -> Iterator[list[_Numbered]]:
    batch: list[_Numbered] = []
    size = 0
    for number, line in lines:
        batch.append((number, line))
        size += len(line)
        if len(batch) == _BATCH_LINES or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


@dataclass
class _Run:
    """A load on its way."""

    keep_going: bool
    on_rejected: Callable[[Rejected], None] | None
    outcomes: Counter[str] = field(default_factory=Counter)
    rejected: list[Rejected] = field(default_factory=list)
    read: int = 0  # lines
    last_line: int = 0

    def write(self, tx: WriteTransaction, batch: list[_Numbered]) -> None:
        """Writes a batch. Raises BadLine for the first bad line unless it is to keep going."""
        bad: list[Rejected] = []
        documents: list[Document] = []
        origins: list[_Numbered] = []
        for number, line in batch:
            try:
                documents.append(parse(line))
                origins.append((number, line))
            except InvalidRequest as error:
                bad.append(Rejected(number, error.remedy if error.parameter == "line" else str(error), _text(line)))
                if not self.keep_going:
                    break  # a line before it may be worse: it refers to nothing, which shows when it is written

        def reject(position: int, error: JournalError) -> None:
            number, line = origins[position]
            bad.append(Rejected(number, str(error), _text(line)))
            if not self.keep_going:
                raise BadLine(number, str(error), _text(line))

        try:
            self.outcomes.update(upserted.outcome for upserted in tx.upsert_many(documents, rejected=reject))
        except BadLine:
            raise
        except JournalError as error:
            error.add_note(f"in lines {batch[0][0]} to {batch[-1][0]}")
            raise
        if bad and not self.keep_going:
            raise BadLine(bad[0].line_number, bad[0].reason, bad[0].text)
        self._collect(sorted(bad, key=lambda rejected: rejected.line_number))
        self.read += len(batch)
        self.last_line = batch[-1][0]

    def _collect(self, bad: list[Rejected]) -> None:
        if self.on_rejected is None:
            self.rejected += bad
        else:
            for rejected in bad:
                self.on_rejected(rejected)
