"""Files and folders that are there whole or not at all, also after the power went, and a lock that ends with who holds it."""

from __future__ import annotations

import errno
import logging
import os
import re
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from dmsjournal.errors import InvalidRequest, Unavailable
from dmsjournal.util.printable import printable

logger = logging.getLogger("dmsjournal")

PRIVATE = 0o600
NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)  # of POSIX
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # a pipe would wait for its reader
_LOCK = "_lock"
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/|file:")  # no folder's name, though it could be one


def private(name: str | os.PathLike[str], flags: int) -> int:
    """Opens a file that holds keys, bodies or places: for its owner alone (0600), also where it was there with more rights.

    Raises OSError for a symbolic link and for what is another user's or no plain file: somebody may have put it there to read what
    is written, or to have a file overwritten. It is not truncated before that is known.
    """
    empties, flags = flags & os.O_TRUNC, flags & ~os.O_TRUNC
    descriptor = os.open(name, flags | NO_LINK | _NO_WAIT, PRIVATE)
    try:
        found = os.fstat(descriptor)
        if stat.S_ISCHR(found.st_mode):  # such as /dev/null
            return descriptor
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no plain file", os.fspath(name))
        if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
            raise OSError(errno.EPERM, "it belongs to another user", os.fspath(name))
        if stat.S_IMODE(found.st_mode) & 0o077:
            os.fchmod(descriptor, PRIVATE)
        if empties:
            os.ftruncate(descriptor, 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def warn_if_readable(path: Path, what: str) -> None:
    """Warns where group or others may read a file of secrets; one that is not there is told by whoever opens it."""
    with suppress(OSError):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o044:
            who = "everybody" if mode & 0o004 else "its group"
            logger.warning("%s %s can be read by %s (mode %04o): chmod 600 it, or 400", what, printable(str(path)), who, mode)


def write_whole(path: Path, content: bytes) -> None:
    """Replaces a file, or makes it, as `replacing` does. Raises OSError."""
    with replacing(path) as file:
        file.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Opens a new file that takes the name `path` when the block ends; if an error leaves the block, the old file stays.

    A reader finds the old content or the new one, never a part; the new file is on the disk before it takes the name. Its owner
    alone may read it (0600). A symbolic link of that name is replaced; its target stays as it is. Raises OSError.
    """
    making = path.with_name(f".{path.name}-{uuid4().hex}")
    try:
        with open(making, "xb", opener=private) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(making, path)
    finally:
        with suppress(OSError):  # it has its name, or could not be made
            making.unlink()
    sync(path.parent)


def publish(making: Path, folder: Path) -> None:
    """Gives a folder its name in one step, once all that is in it is on the disk. Fails where a folder of that name has files."""
    for inner, _, files in os.walk(making):
        for name in files:
            sync(Path(inner, name))
        sync(Path(inner))
    os.rename(making, folder)
    sync(folder.parent)


def sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk. Some file systems cannot do that for a folder."""
    if path.is_dir() and os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP) or not path.is_dir():
            raise
    finally:
        os.close(descriptor)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps other runs away from a folder, which is made if it is missing, and goes again if nothing was put into it.

    The lock is the operating system's and ends with this process, however that ends. Raises Unavailable where another one has it.
    """
    if URL.match(str(folder)):  # else it would be made here, as a folder called file:
        raise InvalidRequest("folder", str(folder), "it is a URL: name a folder of this machine, such as /data/changes")
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise InvalidRequest("folder", str(folder), "there is a file of that name: name a folder") from error
    except OSError as error:
        raise InvalidRequest("folder", str(folder), f"it cannot be made: {error.strerror}") from error
    path = folder / _LOCK
    try:
        with held(path, folder):
            try:
                yield
            finally:
                if made and os.listdir(folder) == [_LOCK]:
                    path.unlink()
    finally:
        with suppress(OSError):  # it has files
            for each in made:
                each.rmdir()


@contextmanager
def held(lock: Path, subject: object) -> Iterator[None]:
    """Holds the lock of a subject, in a file beside it, which names the process. The lock ends with the process.

    Raises Unavailable where another process has it, or another part of this one; InvalidRequest where the file cannot be written.
    """
    from filelock import FileLock, Timeout  # costs 30 ms to import, which most commands save

    mutex = FileLock(
        lock, blocking=False, mode=PRIVATE, thread_local=False, fallback_to_soft=False, on_acquired=_sign
    )  # no soft lock: it would outlive a process that is killed
    try:
        mutex.acquire()
    except Timeout as error:
        raise Unavailable(
            f"another run ({_holder(lock) or 'unknown'}) works on {subject}", "wait for its end; its lock goes with it"
        ) from error
    except OSError as error:
        raise InvalidRequest("folder", str(lock.parent), f"it cannot be written: {error.strerror}") from error
    try:
        yield
    finally:
        mutex.release()


def _sign(descriptor: int) -> None:
    os.truncate(descriptor, 0)
    os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)


def _holder(lock: Path) -> str:
    with suppress(OSError), open(lock, "rb", opener=lambda name, flags: os.open(name, flags | NO_LINK)) as file:
        return printable(file.read(500).decode(errors="replace"))
    return ""
