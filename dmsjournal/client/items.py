"""What the change queries list, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document as it is now. `etag` changes with it, and with the keys of what it refers to. Numbers in `body` that are not whole
    are Decimals."""

    document_uuid: UUID
    etag: str
    last_modified: datetime
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ListedDelete:
    """A document that was deleted, with its last key."""

    document_uuid: UUID
    change_version: int
    key_values: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class ListedKeyChange:
    """A document whose key differs between the two ends of a window, and the version of its last key change in it."""

    document_uuid: UUID
    change_version: int
    old_key_values: Mapping[str, Any] | None
    new_key_values: Mapping[str, Any] | None
