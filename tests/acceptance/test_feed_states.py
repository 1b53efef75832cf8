"""What options images and context add to the feed: bodies before and after, and what caused a change."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.database.session import Session
from dmsjournal.feed import additions
from dmsjournal.schema import migrate
from tests.feeds import after, walk
from tests.helpers import PLAN, STUDENT, commit, document, newest, write

INCLUDE = dj.FeedRequest(item_state=dj.NewItemStateMode.INCLUDE_IF_AVAILABLE)
REQUIRE = dj.FeedRequest(item_state=dj.NewItemStateMode.REQUIRE)
ADA = dj.Context(user="ada", tenant="255901", trigger="api_create", metadata={"request_id": "r-1"})

State = tuple[Any, Any] | None  # before, after


@pytest.fixture
def full(url: str) -> Iterator[dj.Journal]:
    """A journal with both options."""
    migrate.upgrade(url, options=["images", "context"])
    with dj.connect(url) as journal:
        yield journal


def states(journal: dj.Journal, request: dj.FeedRequest) -> list[State]:
    return [
        None if event.item_state is None else (event.item_state.before, event.item_state.after)
        for event in walk(journal, request)[0]
    ]


def live(journal: dj.Journal) -> None:
    """A student: created, changed, given another key, changed again, deleted; and a plan, which loses its edge."""
    write(journal, document(STUDENT, 1, body={"n": 1}))
    write(journal, document(STUDENT, 1, body={"n": 2}))
    with journal.write() as tx:
        tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 2})
    write(journal, document(PLAN, 1, document(STUDENT, 2), body={"p": 1}))
    write(journal, document(PLAN, 1, body={"p": 1}))
    with journal.write() as tx:
        tx.delete(STUDENT, {"studentId": 2})


LIVED: list[State] = [
    (None, {"n": 1}),
    ({"n": 1}, {"n": 2}),
    ({"n": 2}, {"n": 2}),
    (None, {"p": 1}),
    ({"p": 1}, {"p": 1}),
    ({"n": 2}, None),
]


@pytest.mark.parametrize("size", [1, 4, 500])
def test_each_event_has_its_document_before_and_after(full: dj.Journal, size: int) -> None:
    live(full)
    for mode in (dj.NewItemStateMode.INCLUDE_IF_AVAILABLE, dj.NewItemStateMode.REQUIRE):
        assert states(full, dj.FeedRequest(item_state=mode, max_page_size=size)) == LIVED
    assert states(full, dj.FeedRequest(max_page_size=size)) == LIVED
    assert states(full, dj.FeedRequest(item_state=dj.NewItemStateMode.OMIT, max_page_size=size)) == [None] * 6


def test_without_the_option_only_a_latest_event_has_the_body_and_require_names_the_command(journal: dj.Journal) -> None:
    live(journal)
    assert states(journal, INCLUDE) == [None, None, None, None, (None, {"p": 1}), None]
    assert not journal.feed_capabilities.item_state_required
    assert not journal.feed_capabilities.item_state_before
    with pytest.raises(dj.UnsupportedCapability, match="dmsjournal upgrade --with images"):
        journal.read_changes(REQUIRE)


def test_the_option_is_found_where_it_comes_after_the_journal_connected(journal: dj.Journal, url: str) -> None:
    with pytest.raises(dj.UnsupportedCapability):
        journal.read_changes(REQUIRE)
    migrate.upgrade(url, options=["images"])
    live(journal)
    assert states(journal, REQUIRE) == LIVED
    assert journal.feed_capabilities.item_state_required


def test_events_that_are_older_than_the_option_are_an_error_where_states_are_required(journal: dj.Journal, url: str) -> None:
    write(journal, document(STUDENT, 7, body={"old": 1}), document(STUDENT, 8, body={"old": 2}))
    write(journal, document(STUDENT, 7, body={"old": 3}))
    migrate.upgrade(url, options=["images"])
    with dj.connect(url) as own:
        since = own.images_since()
        live(own)
        assert states(own, INCLUDE) == [None, (None, {"old": 2}), (None, {"old": 3}), *LIVED]
        with pytest.raises(dj.UnsupportedCapability, match=f"version {since} .*INCLUDE_IF_AVAILABLE"):
            own.read_changes(REQUIRE)
        last_old = own.read_changes(dj.FeedRequest(item_state=INCLUDE.item_state, max_page_size=3))
        assert last_old.events[-1].change_version < since
        assert states(own, after(REQUIRE, last_old)) == LIVED  # what the error says to do
        write(own, document(STUDENT, 8, body={"old": 4}))
        assert states(own, after(REQUIRE, last_old))[-1] == ({"old": 2}, {"old": 4})


def test_a_body_that_is_none_is_told_as_none_by_a_state(full: dj.Journal, connection: sa.Connection) -> None:
    write(full, document(STUDENT, 1, body={"n": 1}))
    commit(connection, "INSERT INTO dms.Document (ResourceKeyId) VALUES (1)")
    assert states(full, REQUIRE) == [(None, {"n": 1}), (None, None)]


def test_events_carry_what_their_writers_said(full: dj.Journal) -> None:
    with full.write(ADA) as tx:
        tx.upsert(document(STUDENT, 1))
        tx.upsert(document(STUDENT, 2))
    write(full, document(STUDENT, 1, body={"n": 1}))
    with full.write(dj.Context(trigger="api_delete")) as tx:
        tx.delete(STUDENT, {"studentId": 2})
    said = {"user": "ada", "tenant": "255901", "trigger": "api_create", "metadata": {"request_id": "r-1"}}
    for size in (1, 3, 500):
        events, _ = walk(full, dj.FeedRequest(max_page_size=size))
        assert [event.context for event in events] == [said, said, None, {"trigger": "api_delete"}]
    assert {event.context for event in walk(full, dj.FeedRequest(contexts=False))[0]} == {None}
    assert full.feed_capabilities.contexts


def test_contexts_cost_one_query_a_page_and_nothing_without_the_option(
    journal: dj.Journal, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, ran = Session._run, []

    def noted(session: Session, name: str, *arguments: Any) -> Any:
        ran.append(name)
        return run(session, name, *arguments)

    def queries_of(reader: dj.Journal, request: dj.FeedRequest) -> list[str]:
        reader.read_changes(request)  # it knows its database now
        ran.clear()
        reader.read_changes(request)
        return list(ran)

    monkeypatch.setattr(Session, "_run", noted)
    with journal.write() as tx:
        tx.upsert_many([document(STUDENT, n) for n in range(50)])
    without = queries_of(journal, dj.FeedRequest())
    assert without == ["database/begin_page", "feed/feed_state", "feed/feed_page"]
    migrate.upgrade(url, options=["context"])
    with dj.connect(url) as own:
        with own.write(ADA) as tx:
            tx.upsert_many([document(STUDENT, n, body={"n": 1}) for n in range(50)])
        page = own.read_changes(dj.FeedRequest(max_page_size=50))
        assert queries_of(own, after(dj.FeedRequest(), page)) == [
            *without,
            "read/contexts",
        ]  # each has one: the floors are not looked at
        assert queries_of(own, dj.FeedRequest(max_page_size=50)) == [*without, "read/contexts", "feed/feed_state"]


@pytest.mark.parametrize("request_", [dj.FeedRequest(), REQUIRE], ids=["contexts", "states"])
def test_a_prune_between_the_events_and_what_is_added_to_them_is_no_silent_null(
    full: dj.Journal, monkeypatch: pytest.MonkeyPatch, request_: dj.FeedRequest
) -> None:
    """Additions go after their events: who finds one missing looks at the floors again."""
    with full.write(ADA) as tx:
        tx.upsert_many([document(STUDENT, n, body={"n": n}) for n in range(4)])
    first = full.read_changes(dj.FeedRequest(max_page_size=1))
    read = additions.read_additions
    through = [2]

    def pruned_in_between(session: Session, asked: dj.FeedRequest, rows: Sequence[Any], *more: Any) -> additions.Additions:
        if through:
            full.prune(through=through.pop())
        return read(session, asked, rows, *more)

    monkeypatch.setattr("dmsjournal.feed.database.read_additions", pruned_in_between)
    with full.write() as tx:  # its context goes with the first prune that takes its last event
        tx.upsert(document(STUDENT, 9, body={"n": 9}))
    with pytest.raises(dj.CheckpointExpired):
        full.read_changes(after(request_, first))
    through.append(newest(full) - 1)
    page = full.read_changes(request_)  # from the beginning, wherever that is now
    assert [event.key.key_values for event in page.events] == [{"studentId": 9}]
