"""Page tokens of the change queries: a place in a window as text. Anybody can make one: who may read may read anywhere."""

from __future__ import annotations

import base64
import binascii

import msgspec

from dmsjournal.errors import InvalidRequest

_LONGEST = 500


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """Where a page ended: of which listing, of what window (`last` is where it was cut to the horizon), after which item.

    `through`: the newest version when the listing began.
    """

    listing: str
    first: int | None
    last: int | None
    through: int
    version: int
    document_id: int

    def token(self) -> str:
        """The place as text."""
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode("ascii")


def place_of(token: str, listing: str, first: int | None, last: int | None) -> Place:
    """The place of a token. Raises InvalidRequest for one that is none, or is of another listing or window."""
    try:
        if len(token) > _LONGEST:
            raise ValueError("it is too long")
        place = msgspec.json.decode(base64.b64decode(token, altchars=b"-_", validate=True), type=Place)
    except (binascii.Error, ValueError, msgspec.MsgspecError) as error:
        raise InvalidRequest("pageToken", token, "it is damaged, or none: pass Next-Page-Token unchanged") from error
    if (place.listing, place.first, place.last) != (listing, first, last):
        raise InvalidRequest("pageToken", token, "it is of another resource or window: pass the same parameters as before")
    return place
