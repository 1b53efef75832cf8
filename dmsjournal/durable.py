"""Files and folders that are there whole or not at all, also after the power went, and a lock that ends with who holds it."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from dmsjournal.errors import InvalidRequest, Unavailable, UnsupportedCapability

_LOCK = "_lock"
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/|file:")  # no folder's name, though it could be one


def write_whole(path: Path, content: bytes, mode: int = 0o666) -> None:
    """The file with that content, on the disk; whoever opens it finds the old content or the new. `mode` is cut by the umask."""
    making = path.with_name(f".{path.name}-{uuid4().hex}")
    try:
        with open(making, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(making, path)
    finally:
        making.unlink(missing_ok=True)
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
    """Waits until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
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
def held(lock: Path, subject: Path) -> Iterator[None]:
    """Holds the lock of a subject, in a file beside it. Raises Unavailable where another process has it, InvalidRequest."""
    descriptor = _acquire(lock, subject)
    try:
        yield
    finally:
        os.close(descriptor)


def _acquire(path: Path, subject: Path) -> int:
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise InvalidRequest("folder", str(path.parent), f"it cannot be written: {error.strerror}") from error
        try:
            _lock(descriptor)
            if path.exists() and os.path.samestat(os.fstat(descriptor), path.stat()):  # not one that was taken away meanwhile
                os.truncate(descriptor, 0)
                os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode())
                return descriptor
        except OSError as error:
            holder = os.pread(descriptor, 500, 0).decode(errors="replace")
            os.close(descriptor)
            raise Unavailable(
                f"another run ({holder or 'unknown'}) works on {subject}", "wait for its end; its lock goes with it"
            ) from error
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Raises OSError where another process has it."""
    try:
        import fcntl
    except ImportError as error:
        raise UnsupportedCapability("a lock on a folder of Windows", "run it on Linux or macOS, or in WSL") from error
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
