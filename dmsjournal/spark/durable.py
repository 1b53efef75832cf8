"""Files and folders that are there whole or not at all, also after the power went, and a lock that ends with who holds it."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote, urlparse
from uuid import uuid4

from dmsjournal.errors import InvalidRequest, Unavailable, UnsupportedCapability

_LOCK = "_lock"


def folder_of(parameter: str, path: str | os.PathLike[str]) -> Path:
    """The folder that a path or a file:// URL names. Raises InvalidRequest, and UnsupportedCapability for other stores.

    An object store has no rename that is one step, and so no way to show a whole run at once.
    """
    text = os.fspath(path)
    if not text or "\0" in text:
        raise InvalidRequest(parameter, text, "name a folder")
    if set(text) & set("*?[]{}^\\"):
        raise InvalidRequest(parameter, text, "Spark takes characters in it for a pattern: name a folder without them")
    if "://" not in text:
        return Path(text).absolute()
    parsed = urlparse(text)
    if parsed.scheme != "file" or parsed.netloc:
        raise UnsupportedCapability(
            f"{parsed.scheme}:// for {parameter}", "name a folder that all workers share, and copy finished runs from there"
        )
    return Path(unquote(parsed.path))


def in_spark(path: Path) -> str:
    """A path as Spark takes it, whose default file system may be another. It knows no %20, so this is no URI."""
    return f"file://{path}"


def write_whole(path: Path, content: bytes) -> None:
    """The file with that content, on the disk; whoever opens it finds the old content or the new."""
    making = path.with_name(f".{path.name}-{uuid4().hex}")
    try:
        with making.open("xb") as file:
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
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise InvalidRequest("folder", str(folder), "there is a file of that name: name a folder") from error
    except OSError as error:
        raise InvalidRequest("folder", str(folder), f"it cannot be made: {error.strerror}") from error
    path = folder / _LOCK
    try:
        descriptor = _acquire(path)
        try:
            yield
        finally:
            if made and os.listdir(folder) == [_LOCK]:
                path.unlink()
            os.close(descriptor)
    finally:
        with suppress(OSError):  # it has files
            for each in made:
                each.rmdir()


def _acquire(path: Path) -> int:
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
                f"another run ({holder or 'unknown'}) works on {path.parent}", "wait for its end; its lock goes with it"
            ) from error
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Raises OSError where another process has it."""
    try:
        import fcntl
    except ImportError as error:
        raise UnsupportedCapability("a lock on a folder of Windows", "run it on Linux or macOS, or in WSL") from error
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
