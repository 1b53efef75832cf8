"""Fingerprints as numbers, in which the commits of a lake's tables keep them."""

from __future__ import annotations

from collections.abc import Mapping

from dmsjournal.database.fingerprints import Fingerprint
from dmsjournal.util.times import microseconds, time_of

_NONE = -1  # in place of the version of an event that there is not


def numbers_of(at: Fingerprint) -> dict[str, int]:
    """A fingerprint as numbers, which any format keeps."""
    values = {"version": at.version, "event": _NONE, "document": 0, "transaction": 0, "at": 0}
    if at.event_version is not None:
        assert at.document_id is not None
        assert at.transaction_id is not None
        assert at.created_at is not None
        values |= {"event": at.event_version, "document": at.document_id, "transaction": at.transaction_id}
        values["at"] = microseconds(at.created_at)
    return values


def fingerprint_of(told: Mapping[str, int]) -> Fingerprint:
    """The inverse of numbers_of."""
    if told["event"] == _NONE:
        return Fingerprint(told["version"])
    return Fingerprint(told["version"], told["event"], told["document"], told["transaction"], time_of(told["at"]))
