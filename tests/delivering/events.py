"""Events of a feed for tests that need no database."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from uuid import UUID, uuid5

from dmsjournal.events.jsonl import FeedRecord, Key
from tests.helpers import STUDENT

_NAMES = UUID(int=7)


def event(version: int, document: int = 1, **values: object) -> FeedRecord:
    """The update of a document at a version."""
    return FeedRecord(
        event_id=uuid5(_NAMES, f"{version}/{document}"),
        key=Key(uuid5(_NAMES, str(document)), {"studentId": document, **values}, document),
        resource=STUDENT,
        type="UPDATE",
        timestamp=datetime(2026, 11, 28, 15, tzinfo=UTC),
        change_version=version,
        transaction_id=1,
    )


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file grows beyond a size: as on a full disk, a part of what is written gets through."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
