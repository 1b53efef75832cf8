"""Derived values: a document's ChangeVersion, etag and last-modified date, from its own stamps and those of what it refers to."""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from dmsjournal.database.session import Session


@dataclass(frozen=True, slots=True)
class Derived:
    """What a document's readers see of its version. `last_modified` has a time zone."""

    change_version: int
    etag: str
    last_modified: datetime


def etag(content_version: int, identity_version: int, children: Iterable[tuple[int, int]]) -> str:
    """The Base64 of the SHA-256 over big-endian signed 64-bit numbers: both versions, then id and identity version of each child.

    `children` are (DocumentId, IdentityVersion), in any order, repeated or not. Source: docs/how-it-works.md, Etags.
    """
    numbers = [content_version, identity_version, *(number for child in sorted(set(children)) for number in child)]
    return base64.b64encode(hashlib.sha256(struct.pack(f">{len(numbers)}q", *numbers)).digest()).decode("ascii")


def derive(session: Session, document_ids: Sequence[int]) -> dict[int, Derived]:
    """The derived values of the documents that exist, by id; see Journal.derive."""
    rows = session.execute("read/derive", document_ids=sorted(set(document_ids)))
    derived: dict[int, Derived] = {}
    for document_id, group in groupby(rows, key=lambda row: row.document_id):
        found = list(group)
        own, children = found[0], [row for row in found if row.child_id is not None]
        derived[document_id] = Derived(
            max(own.content_version, own.identity_version, *(row.child_version for row in children)),
            etag(own.content_version, own.identity_version, [(row.child_id, row.child_version) for row in children]),
            max(own.last_modified, *(row.child_last_modified for row in children), own.last_modified),
        )
    return derived
