"""Answers of the service: a value, or the error of Python that its problem document stands for."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from dmsjournal.client.calls import Call
from dmsjournal.errors import (
    CheckpointExpired,
    DatabaseRefused,
    HistoryDiverged,
    InvalidRequest,
    JournalError,
    NotInstalled,
    ServiceRefused,
    Unavailable,
    UnreadableEvent,
    UnsupportedCapability,
)
from dmsjournal.util.json import decoded
from dmsjournal.util.retry_after import seconds_of

_T = TypeVar("_T")

_NAMESPACE = "urn:dmsjournal:problem:"
_LATER = {408, 429, 502, 503, 504}
_REMEDIES = {
    401: "pass the token of a file that the service knows, which has not expired",
    403: "the token does not allow it: ask the service's operator",
    404: "look whether the URL is the service's",
}
# msgspec 0.19 to 0.21: its errors are no ValueError
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, RecursionError, msgspec.MsgspecError)
_SHOWN = re.compile(r"""(?P<value>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^:]*): (?P<remedy>.*)""", re.DOTALL)


LARGEST_ANSWER = 256 * 1024 * 1024  # bytes, decompressed


class Later(Exception):
    """The service asks for another try, after `seconds`. `error` is what to raise where there is none."""

    def __init__(self, error: Unavailable, seconds: float = 0.0) -> None:
        super().__init__(error)
        self.error, self.seconds = error, seconds


def too_large(status: int) -> ServiceRefused:
    """The error of an answer that would fill this program's memory."""
    return ServiceRefused(
        status,
        None,
        f"the answer has more than {LARGEST_ANSWER} bytes",
        "ask for smaller pages (page_size), or see what answers there",
    )


def undecodable(status: int, error: Exception) -> ServiceRefused:
    """The error of an answer whose compression is broken."""
    return ServiceRefused(
        status, None, f"the answer cannot be decompressed ({error})", "see what stands between here and the service"
    )


def value_of(call: Call[_T], status: int, headers: Mapping[str, str], content: bytes) -> _T:
    """What a call gives. Raises Later, JournalError."""
    if status != 200:
        raise _raised(status, headers, content)
    try:
        return call.read(decoded(content), headers)
    except _UNREADABLE as error:
        detail = f"the answer is none of the service's ({type(error).__name__})"
        raise ServiceRefused(
            status, None, detail, "look whether the URL is the service's, and its version this program's"
        ) from error


def _raised(status: int, headers: Mapping[str, str], content: bytes) -> Exception:
    problem = _problem(content)
    name = str(problem.get("type", "")).removeprefix(_NAMESPACE) or None
    detail = str(problem.get("detail") or f"it answered {status}")
    error = _known(name or "", problem, detail)
    if error is not None and not isinstance(error, Unavailable):
        return error
    if error is not None or status in _LATER:
        reason = detail if problem else f"something before the service answered {status}"
        return Later(Unavailable(reason, "try again"), seconds_of(headers.get("retry-after")))
    return ServiceRefused(status, name if problem else None, detail, _REMEDIES.get(status, "see the service's log"))


def _known(name: str, problem: Mapping[str, Any], detail: str) -> JournalError | None:
    """The error that the service has met, None where the problem has no such name or lacks what the error has."""
    make = _ERRORS.get(name)
    try:
        return None if make is None else make(problem, detail)
    except _UNREADABLE:
        return None


def _problem(content: bytes) -> dict[str, Any]:
    """The problem document, empty where the answer is none."""
    try:
        found = decoded(content)
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return {}
    return found if isinstance(found, dict) and str(found.get("type", "")).startswith(_NAMESPACE) else {}


def _invalid(problem: Mapping[str, Any], detail: str) -> InvalidRequest:
    """As the service raised it: the value is what its text shows of it."""
    parameter = str(problem.get("parameter") or "request")
    shown = _SHOWN.fullmatch(detail.removeprefix(f"{parameter} = "))
    if shown is None or not detail.startswith(f"{parameter} = "):
        return InvalidRequest(parameter, None, detail)
    try:
        value = ast.literal_eval(shown["value"])
    except (ValueError, SyntaxError):
        value = shown["value"].lstrip("'\"")  # cut, or no literal
    return InvalidRequest(parameter, value, shown["remedy"])


def _versions(problem: Mapping[str, Any], first: str, second: str) -> tuple[int, int]:
    return msgspec.convert((problem[first], problem[second]), tuple[int, int])


def _version(value: object) -> int | None:
    return None if value is None else int(str(value))


def _unsupported(problem: Mapping[str, Any], detail: str) -> UnsupportedCapability:
    capability = str(problem.get("capability") or "it")
    return UnsupportedCapability(capability, detail.removeprefix(f"{capability}: "))


_ERRORS: Mapping[str, Callable[[Mapping[str, Any], str], JournalError]] = {
    "invalid-request": _invalid,
    "checkpoint-expired": lambda problem, _: CheckpointExpired(*_versions(problem, "requested", "oldest")),
    "history-diverged": lambda problem, _: HistoryDiverged(*_versions(problem, "checkpoint", "newest")),
    "unsupported-capability": _unsupported,
    "not-installed": lambda problem, _: NotInstalled(
        problem.get("found"), problem.get("needed", "a newer one"), problem.get("command", "upgrade")
    ),
    "database-refused": lambda _, detail: DatabaseRefused(None, "the service's database refused", detail),
    "unreadable-event": lambda problem, detail: UnreadableEvent(
        int(problem["document_id"]), str(problem["column"]), "as the service says", _version(problem.get("change_version"))
    ),
    "unavailable": lambda _, detail: Unavailable(detail),
    "busy": lambda _, detail: Unavailable(detail),
    "too-many-requests": lambda _, detail: Unavailable(detail),
    "request-timeout": lambda _, detail: Unavailable(detail),
}
