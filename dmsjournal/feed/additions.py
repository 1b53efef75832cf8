"""What the options images and context add to the events of a page: the document's states, and what caused the change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dmsjournal.database.session import Session
from dmsjournal.errors import UnsupportedCapability
from dmsjournal.feed.events import ItemState
from dmsjournal.feed.requests import FeedRequest, NewItemStateMode
from dmsjournal.read import contexts, images
from dmsjournal.read.images import Event
from dmsjournal.read.room import Room


@dataclass(frozen=True, slots=True)
class Additions:
    """The states and the contexts of events. `is_whole` is false where an event has none that it may have had before a prune.

    `left`: the first event for whose states there was no room; those after it have none either.
    """

    states: Mapping[Event, ItemState]
    contexts: Mapping[Event, Mapping[str, Any]]
    is_whole: bool
    left: Event | None


def read_additions(session: Session, request: FeedRequest, rows: Sequence[Any], room: Room) -> Additions:
    """The additions to the rows of a page, one query for each option that is needed and there.

    Raises UnsupportedCapability where every event must have its state, and one is older than option images.
    """
    mode = request.item_state
    events = [(row.change_version, row.document_id) for row in rows]
    states: dict[Event, ItemState] = {}
    caused: Mapping[Event, Mapping[str, Any]] = {}
    is_whole, left = True, None
    if events and mode is not NewItemStateMode.OMIT:
        if images.OPTION in session.options:
            states, left = _kept(session, events, room)
            events = events[: None if left is None else events.index(left)]
        if mode is NewItemStateMode.REQUIRE and len(states) < len(events):
            is_whole = False
            _refuse_older(session, events[0][0])
            missing = {event for event in events if event not in states}
            excluded = {row.resource_key_id for row in rows if (row.change_version, row.document_id) in missing}
            images.refuse_excluded(session, excluded)
        states = _present(rows) | states
    if events and request.contexts and contexts.OPTION in session.options:
        caused = contexts.read_contexts(session, events)
        is_whole = is_whole and len(caused) == len(events)
    return Additions(states, caused, is_whole, left)


def _kept(session: Session, events: Sequence[Event], room: Room) -> tuple[dict[Event, ItemState], Event | None]:
    found, left = images.read_images_within(session, events, room)
    return {event: ItemState(image.after, image.before) for event, image in found.items()}, left


def _present(rows: Sequence[Any]) -> dict[Event, ItemState]:
    """The bodies that documents have now, for the events that are their latest."""
    return {(row.change_version, row.document_id): ItemState(row.body) for row in rows if row.body is not None}


def _refuse_older(session: Session, first: int) -> None:
    since = images.images_since(session)
    if first <= since:
        raise UnsupportedCapability(
            f"the states of events up to version {since} were not kept, and the page begins with version {first}: "
            "option images came later, or they were pruned",
            f"read with INCLUDE_IF_AVAILABLE up to version {since}, and go on from that token with REQUIRE; or start at Now()",
        )
