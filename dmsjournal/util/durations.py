"""Durations: how long something takes, waits or is kept."""

from __future__ import annotations

import re
from datetime import timedelta

from dmsjournal.errors import InvalidRequest

LONGEST = timedelta(days=36_500)
_UNITS = {"ms": "milliseconds", "s": "seconds", "min": "minutes", "h": "hours", "d": "days"}
_LOCK_TIMEOUT = re.compile(r"\d+(ms|s|min)?")
_WRITTEN = re.compile(rf"(\d{{1,9}})({'|'.join(_UNITS)})")


def checked_duration(parameter: str, value: object) -> timedelta:
    """The value as a duration: a timedelta from 0 to 36,500 days. Raises InvalidRequest naming the parameter."""
    if not isinstance(value, timedelta) or not timedelta() <= value <= LONGEST:
        raise InvalidRequest(parameter, value, f"pass a timedelta of 0 to {LONGEST.days} days")
    return value


def parsed(parameter: str, text: str) -> timedelta:
    """The duration that a text such as 90d, 12h, 30min, 5s, 500ms or 0 is. Raises InvalidRequest naming the parameter."""
    found = _WRITTEN.fullmatch("0s" if text == "0" else text)
    if found is None:
        raise InvalidRequest(parameter, text, "write it like 90d, 12h, 30min, 5s or 500ms")
    return checked_duration(parameter, timedelta(**{_UNITS[found[2]]: int(found[1])}))


def checked_lock_timeout(lock_timeout: str) -> str:
    """The lock timeout. Raises InvalidRequest."""
    if not isinstance(lock_timeout, str) or not _LOCK_TIMEOUT.fullmatch(lock_timeout):
        raise InvalidRequest("lock_timeout", lock_timeout, "write it like 500ms, 5s or 1min; 0 waits for ever")
    return lock_timeout
