"""Folders as Spark takes them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow.fs

from dmsjournal.errors import InvalidRequest, UnsupportedCapability
from dmsjournal.util.files import URL


def folder_of(parameter: str, path: str | os.PathLike[str]) -> Path:
    """The folder that a path or a file:// URL names. Raises InvalidRequest, and UnsupportedCapability for other stores.

    An object store has no rename that is one step, and so no way to show a whole run at once.
    """
    text = os.fspath(path)
    if not text or "\0" in text:
        raise InvalidRequest(parameter, text, "name a folder")
    if set(text) & set("*?[]{}^\\"):
        raise InvalidRequest(parameter, text, "Spark takes characters in it for a pattern: name a folder without them")
    if not URL.match(text):
        return Path(text).absolute()
    parsed = urlparse(text)
    if parsed.scheme == "file" and (not parsed.path.startswith("/") or parsed.netloc not in ("", "localhost")):
        raise InvalidRequest(parameter, text, "write it as file:///folder, from the root on, or leave out file:")
    if parsed.scheme != "file":
        remedy = "name a folder that all workers share, or add --format delta, which takes s3a://, gs://, abfss:// and hdfs://"
        raise UnsupportedCapability(f"{parsed.scheme}:// for a folder of Parquet runs ({parameter})", remedy)
    return Path(unquote(parsed.path))


def in_spark(path: Path) -> str:
    """A path as Spark takes it, whose default file system may be another. It knows no %20, so this is no URI."""
    return f"file://{path}"


@dataclass(frozen=True)
class LocalFolder:
    """A folder of this machine, as a place of files that tasks write: see lake_files.FilePlace."""

    folder: Path

    def make_folder(self) -> None:
        """Makes it. Raises OSError."""
        self.folder.mkdir(parents=True, exist_ok=True)

    def files(self) -> pyarrow.fs.FileSystem:
        """Its files, by paths that are relative to it."""
        return pyarrow.fs.SubTreeFileSystem(str(self.folder), pyarrow.fs.LocalFileSystem())


_ESCAPED = re.compile(r"[\x01-\x1f\"#%'*/:=?\\\x7f{\[\]^]")


def resource_folder(name: str) -> str:
    """The folder of a resource in a run, as Spark names one of partitions."""
    return "resource=" + _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", name)
