"""A page of the feed ends at a number of bytes, too: what it does not hold is not read, and comes in the next one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.schema import migrate
from tests.feeds import after
from tests.helpers import SCHOOL, STUDENT, commit, document, write

LONG = {"text": "x" * 1_000}
BODIES = dj.FeedRequest(item_state=dj.NewItemStateMode.INCLUDE_IF_AVAILABLE)


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How many rows with bodies were fetched at most of one streamed statement, by the first of its columns of bodies.

    On SQL Server, how many at once: a result is read to its end there, and what has no room is dropped.
    """
    counts: dict[str, int] = {}
    fetchmany = sa.CursorResult.fetchmany
    of: dict[Any, int] = {}

    def counted(self: Any, size: int | None = None) -> Any:
        lot = fetchmany(self, size)
        name = next(column for column in self.keys() if column.startswith("body"))
        of[self] = len(lot) + (of.get(self, 0) if self.dialect.name == "postgresql" else 0)
        counts[name] = max(counts.get(name, 0), of[self])
        return lot

    monkeypatch.setattr(sa.CursorResult, "fetchmany", counted)
    return counts


def walked(journal: dj.Journal, request: dj.FeedRequest, max_bytes: int) -> list[list[dj.FeedEvent]]:
    """The events of each page, to the end."""
    pages = []
    while not (page := journal.read_changes(request, max_bytes=max_bytes)).idle:
        pages.append(list(page.events))
        request = after(request, page)
    return pages


@pytest.mark.parametrize("types", [None, [dj.FeedEventType.CREATE]])
def test_it_ends_before_the_event_that_has_no_room(journal: dj.Journal, fetched: dict[str, int], types: Any) -> None:
    write(journal, *(document(STUDENT, n, body=LONG) for n in range(40)))
    request = replace(BODIES, filters=dj.FeedFilter(types))
    pages = walked(journal, request, 3_200)
    assert [len(page) for page in pages] == [3] * 13 + [1]
    assert [event for page in pages for event in page] == list(journal.read_changes(request).events)
    assert fetched["body"] <= 16, "what has no room was read: 40 rows"


def test_an_event_alone_has_room(journal: dj.Journal) -> None:
    write(journal, document(STUDENT, 1), document(STUDENT, 2, body=LONG), document(STUDENT, 3))
    assert [len(page) for page in walked(journal, BODIES, 1)] == [1, 1, 1]


def test_keys_count_where_no_bodies_are_wanted(journal: dj.Journal) -> None:
    write(journal, *(dj.Document(STUDENT, {"studentId": "k" * 500 + str(n)}, LONG) for n in range(6)))
    assert [len(page) for page in walked(journal, dj.FeedRequest(item_state=dj.NewItemStateMode.OMIT), 1_100)] == [2, 2, 2]


def test_events_of_one_version_may_be_parted_and_the_history_is_known_again(
    journal: dj.Journal, connections: list[sa.Connection]
) -> None:
    """A token remembers the last event of its version, which is not the page's last."""
    ids = write(journal, *(document(STUDENT, n, body=LONG) for n in range(3)), document(SCHOOL, 1, body=LONG))
    commit(connections[0], f"UPDATE dms.DocumentChangeEvent SET ChangeVersion = 2 WHERE DocumentId IN ({ids[1]}, {ids[2]})")
    found = [[event.key.document_id for event in page] for page in walked(journal, dj.FeedRequest(), 1)]
    assert found == [[each] for each in ids]
    first = journal.read_changes(dj.FeedRequest(start=dj.AfterVersion(1)), max_bytes=1)
    assert journal.read_changes(after(dj.FeedRequest(), first)).events[0].key.document_id == ids[2]


def test_bodies_before_and_after_count(url: str, journal: dj.Journal, fetched: dict[str, int]) -> None:
    migrate.upgrade(url, options=["images"])
    write(journal, *(document(STUDENT, n, body=LONG) for n in range(20)))
    write(journal, *(document(STUDENT, n, body={"text": "y" * 1_000}) for n in range(20)))
    with journal.write() as tx:
        for n in range(20):
            tx.delete(STUDENT, {"studentId": n})
    for request in (BODIES, replace(BODIES, item_state=dj.NewItemStateMode.REQUIRE)):
        pages = walked(journal, request, 4_500)
        assert [event for page in pages for event in page] == list(journal.read_changes(request).events)
        assert len(pages[0]) == 4, "one body each"
        assert {len(page) for page in pages if page[0].type is dj.FeedEventType.UPDATE} <= {2, 3}, "two bodies each"
    assert fetched["body_before"] <= 16, "what has no room was read: 60 rows"


@pytest.mark.parametrize("wrong", [0, -1, True, "1", 1.5])
def test_a_number_of_bytes_is_one_or_more(journal: dj.Journal, wrong: Any) -> None:
    with pytest.raises(dj.InvalidRequest, match="max_bytes"):
        journal.read_changes(dj.FeedRequest(), max_bytes=wrong)
