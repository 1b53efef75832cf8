"""What tests of the feed share: what it must say, read from the journals in the plainest way, and how it is walked."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.feed import FeedProvider
from tests.helpers import commit

Told = tuple[int, int, str]  # version, document, type


def journaled(connection: sa.Connection, above: int = 0) -> list[Told]:
    """Every journaled change above a version, in order: two plain selects, put together here."""
    changes = commit(
        connection, f"SELECT ChangeVersion, DocumentId, Operation FROM dms.DocumentChangeEvent WHERE ChangeVersion > {above}"
    )
    stones = commit(connection, f"SELECT ChangeVersion, DocumentId FROM dms.DocumentDeleteEvent WHERE ChangeVersion > {above}")
    types = {"insert": "CREATE", "update": "UPDATE"}
    return sorted([(row[0], row[1], types[row[2]]) for row in changes] + [(row[0], row[1], "DELETE") for row in stones])


def told(events: Iterable[dj.FeedEvent]) -> list[Told]:
    return [(event.change_version, event.key.document_id or 0, str(event.type)) for event in events]


def after(request: dj.FeedRequest, page: dj.FeedPage) -> dj.FeedRequest:
    return replace(request, start=dj.FromToken(page.token))


def walk(
    source: FeedProvider, request: dj.FeedRequest, between: Callable[[], object] = lambda: None
) -> tuple[list[dj.FeedEvent], list[dj.FeedPage]]:
    """The events and pages up to the first idle page, or the end of a partition."""
    events: list[dj.FeedEvent] = []
    pages: list[dj.FeedPage] = []
    while not pages or not (pages[-1].idle or pages[-1].partition_retired):
        pages.append(source.read_changes(request if not pages else after(request, pages[-1])))
        assert len(pages[-1].events) <= request.max_page_size
        events += pages[-1].events
        between()
    return events, pages
