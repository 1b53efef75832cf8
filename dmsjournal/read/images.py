"""Images: the body of a document before and after an event (option images). Source: docs/how-it-works.md, Images."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dmsjournal.database.session import Session
from dmsjournal.errors import UnsupportedCapability
from dmsjournal.model.resources import ResourceKey
from dmsjournal.model.windows import checked_events
from dmsjournal.read.room import Room

OPTION = "images"

Event = tuple[int, int]  # (change_version, document_id)


@dataclass(frozen=True, slots=True)
class Image:
    """A document's body before and after an event; None where there was none. Equal where the event changed something else."""

    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


def read_images(session: Session, events: Iterable[Event]) -> dict[Event, Image]:
    """See Journal.images. The session must be younger than the horizon that the events lie below."""
    return read_images_within(session, events, Room(None))[0]


def read_images_within(session: Session, events: Iterable[Event], room: Room) -> tuple[dict[Event, Image], Event | None]:
    """The images of events, in their order, as long as there is room; and the first event for whose image there is none."""
    rows = [{"change_version": version, "document_id": document_id} for version, document_id in checked_events("events", events)]
    require(session, OPTION)
    if not rows:
        return {}, None
    found: Sequence[Any]
    left: Any = None
    if room.is_bounded:
        found, left = session.taken("read/images", lambda row: room.has(row.body_before, row.body_after), room.rows, rows=rows)
    else:
        found = session.execute("read/images", rows=rows).all()
    images = {(row.change_version, row.document_id): Image(row.body_before, row.body_after) for row in found}
    return images, None if left is None else (left.change_version, left.document_id)


def images_since(session: Session) -> int:
    """The version above which every change of a body has its image: where the option was added, or its images were pruned.

    Raises UnsupportedCapability.
    """
    require(session, OPTION)
    since = _since(session)
    if since is None:
        raise UnsupportedCapability("from where on images are whole is not known", "dmsjournal verify --repair")
    return since


def image_exclusions(session: Session) -> dict[ResourceKey, int]:
    """The resources of which no images are kept, each with the version since when. Raises UnsupportedCapability."""
    require(session, OPTION)
    return {
        ResourceKey(row.project_name, row.resource_name, row.resource_version): row.change_version
        for row in session.execute("read/image_exclusions")
    }


def refuse_excluded(session: Session, resource_key_ids: Collection[int]) -> None:
    """Raises UnsupportedCapability where no images are kept of one of the resources."""
    for row in session.execute("read/image_exclusions"):
        if row.resource_key_id in resource_key_ids:
            name = f"{row.project_name}/{row.resource_name}/{row.resource_version}"
            raise UnsupportedCapability(
                f"no images are kept of {name} since version {row.change_version}",
                "ask for INCLUDE_IF_AVAILABLE, or leave the resource out by a filter",
            )


def is_floor_missing(session: Session) -> bool:
    """Whether the database has the option, and somebody deleted the version above which images are whole."""
    return OPTION in session.options and _since(session) is None


def _since(session: Session) -> int | None:
    found: int | None = session.execute("read/images_since").scalar_one()
    return found


def require(session: Session, option: str) -> None:
    """Raises UnsupportedCapability where the database does not have an option, as far as the session knows."""
    if option not in session.options:
        raise UnsupportedCapability(
            f"the database does not have option {option}",
            f"run `dmsjournal upgrade --with {option} --url …` as the installing role",
        )
