"""Problems: errors as RFC 9457 has them, each with a `type` that never changes. Nothing of the database's own words goes out."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from dmsjournal import errors

logger = logging.getLogger("dmsjournal.http")

MEDIA_TYPE = "application/problem+json"
_NAMESPACE = "urn:dmsjournal:problem:"
RETRY_SECONDS = 1


class Problem(BaseModel):
    """A problem document; others may carry more members, such as `oldest` where events have expired."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="What kind of problem it is: never changes.", examples=[_NAMESPACE + "invalid-request"])
    title: str
    status: int
    detail: str
    code: str = Field(description="What the portable change feed calls it.", examples=["INVALID_REQUEST"])


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of problem. `detail` takes the place of the error's own words, where those are the database's; `fields` go out."""

    name: str
    status: int
    title: str
    detail: str | None = None
    fields: tuple[str, ...] = ()

    @property
    def type(self) -> str:
        """The URI that names it."""
        return _NAMESPACE + self.name


INVALID = Kind("invalid-request", 400, "What was asked for makes no sense", fields=("parameter",))
UNAUTHORIZED = Kind("unauthorized", 401, "A valid token is needed")
FORBIDDEN = Kind("forbidden", 403, "The token does not allow this")
NOT_FOUND = Kind("not-found", 404, "There is no such thing")
NO_SNAPSHOT = Kind("snapshot-not-found", 404, "There is no snapshot")
INVALID_CLIENT = Kind("invalid-client", 401, "The client's id or its secret is wrong", fields=("error",))
INVALID_GRANT_REQUEST = Kind("invalid-token-request", 400, "The request for a token makes no sense", fields=("error",))
UNSUPPORTED_GRANT = Kind("unsupported-grant-type", 400, "Tokens are given for client credentials", fields=("error",))
INVALID_SCOPE = Kind("invalid-scope", 400, "There are no scopes to ask for", fields=("error",))
NOT_ALLOWED = Kind("method-not-allowed", 405, "The method is not for this path")
EXPIRED = Kind("checkpoint-expired", 410, "Events in it have been pruned", fields=("requested", "oldest"))
DIVERGED = Kind("history-diverged", 409, "The database was restored to an earlier state", fields=("checkpoint", "newest"))
TIMEOUT = Kind("request-timeout", 408, "The request did not come to its end in time")
TOO_LARGE = Kind("content-too-large", 413, "The request's body is too large")
TOO_MANY = Kind("too-many-requests", 429, "More requests than the limit")
UNSUPPORTED = Kind("unsupported-capability", 422, "This database cannot do it", fields=("capability",))
NOT_INSTALLED = Kind("not-installed", 503, "The database has no journal, or an older one", fields=("found", "needed", "command"))
UNAVAILABLE = Kind("unavailable", 503, "The database does not answer", "nothing was done: try again")
BUSY = Kind("busy", 503, "The service has as much to do as it can")
REFUSED = Kind("database-refused", 503, "The database refused", "the service's role or configuration is wrong: its log says more")
UNREADABLE = Kind(
    "unreadable-event",
    500,
    "The database cannot give a key or a body",
    "the event that the fields name cannot be read: a DBA mends it, or the service passes it by (serve --pass-unreadable)",
    fields=("change_version", "document_id", "column"),
)
INTERNAL = Kind("internal-error", 500, "An error of the service", "its log says more, under the request's id")

# The whole tree: what it does not name itself is its parent's kind.
_KINDS: dict[type[errors.JournalError], Kind] = {
    errors.JournalError: INTERNAL,
    errors.InvalidRequest: INVALID,
    errors.CheckpointExpired: EXPIRED,
    errors.HistoryDiverged: DIVERGED,
    errors.UnsupportedCapability: UNSUPPORTED,
    errors.NotInstalled: NOT_INSTALLED,
    errors.MigrationRefused: Kind("migration-refused", 409, "A migration was refused"),
    errors.AdoptionRefused: Kind("adoption-refused", 409, "An adoption was refused"),
    errors.AdoptionStopped: Kind("adoption-stopped", 409, "An adoption stopped at a step that failed"),
    errors.ReferencedDocument: Kind("referenced-document", 409, "Another document refers to it", fields=("document", "referrer")),
    errors.UnknownReference: Kind("unknown-reference", 409, "It refers to a document that does not exist"),
    errors.Unavailable: UNAVAILABLE,
    errors.DatabaseRefused: REFUSED,
    errors.UnreadableEvent: UNREADABLE,
}


# How OAuth 2.0 names them (RFC 6749, 5.2): the member `error` of a problem.
_OAUTH = {
    INVALID_CLIENT: "invalid_client",
    INVALID_GRANT_REQUEST: "invalid_request",
    UNSUPPORTED_GRANT: "unsupported_grant_type",
    INVALID_SCOPE: "invalid_scope",
}
_TIMED_OUT = ("57014", "HYT00")  # PostgreSQL's code, ODBC's


class Refused(Exception):
    """A request that the service itself refuses."""

    def __init__(self, kind: Kind, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(kind.name, detail)
        self.kind, self.detail, self.headers = kind, detail, dict(headers or {})
        self.error = _OAUTH.get(kind)


def kind_of(error: BaseException) -> Kind:
    """The kind of an error, whatever it is."""
    if isinstance(error, Refused):
        return error.kind
    if isinstance(error, errors.DatabaseRefused) and error.sqlstate in _TIMED_OUT:  # the service's own bound
        return UNAVAILABLE
    return next((_KINDS[cls] for cls in type(error).__mro__ if cls in _KINDS), INTERNAL)


_CODES = {
    "invalid-request": "INVALID_REQUEST",
    "checkpoint-expired": "CHECKPOINT_EXPIRED",
    "history-diverged": "CHECKPOINT_EXPIRED",
    "unsupported-capability": "UNSUPPORTED_CAPABILITY",
    "not-found": "NOT_FOUND",
}

# What the library calls a parameter, and what a request may call it: the first that the request has.
_SENT = {
    "start.version": ("from_seq", "start"),
    "start.at": ("start",),
    "version": ("from_seq", "start"),
    "scope.id": ("scope",),
    "scope.document_id": ("scope",),
    "scope.resource": ("scope",),
    "scope.key": ("scope",),
    "resource": ("resource", "scope", "resources"),
    "max_page_size": ("limit",),
    "page_size": ("limit",),
    "filters.types": ("types",),
    "filters.resources": ("resources",),
    "min": ("minChangeVersion",),
    "max": ("maxChangeVersion",),
    "window.min": ("minChangeVersion",),
    "window.max": ("maxChangeVersion",),
    "after": ("pageToken",),
}


def code_of(kind: Kind) -> str:
    """The code that the portable change feed has for a kind of problem."""
    return _CODES.get(kind.name, "PROVIDER_ERROR")


def as_sent(error: BaseException, request: Request) -> BaseException:
    """The error with the parameter, and its value, as the client sent it."""
    if not isinstance(error, errors.InvalidRequest):
        return error
    sent = request.query_params
    for name in _SENT.get(error.parameter, ()):
        if name in sent:
            others = tuple(_SENT.get(other, (other,))[0] for other in error.others)
            return errors.InvalidRequest(name, sent[name], _remedy(error.remedy), others=others)
    return error


def _remedy(text: str) -> str:
    """The remedy with parameters as requests name them."""
    return re.sub(r"`(\w+)`", lambda found: f"`{_SENT.get(found[1], (found[1],))[0]}`", text)


def document_of(error: BaseException, *, text_versions: bool = False) -> dict[str, Any]:
    """The problem document of an error."""
    kind = kind_of(error)
    own = error.detail if isinstance(error, Refused) else str(error)
    found: dict[str, Any] = {
        "type": kind.type,
        "title": kind.title,
        "status": kind.status,
        "detail": own if kind.detail is None else kind.detail,
        "code": code_of(kind),
    }
    for name in kind.fields:
        value = getattr(error, name, None)
        if value is not None:
            found[name] = str(value) if text_versions and isinstance(value, int) else value
    return found


def response_of(error: BaseException, request: Request | None = None) -> Response:
    """The response to an error."""
    text_versions = request is not None and request.query_params.get("versions") == "string"
    if request is not None:
        error = as_sent(error, request)
    found = document_of(error, text_versions=text_versions)
    headers = dict(error.headers) if isinstance(error, Refused) else {}
    if found["status"] == 503:
        headers.setdefault("Retry-After", str(RETRY_SECONDS))
    return Response(msgspec.json.encode(found), found["status"], headers, MEDIA_TYPE)


_BY_STATUS = {404: NOT_FOUND, 405: NOT_ALLOWED, 413: TOO_LARGE}


def logged_response(error: Exception, request: Request) -> Response:
    """The response to an error of the journal's. What is the service's own fault, or the database's, is logged with its cause."""
    if kind_of(error).status >= 500:
        logger.warning("%s", error, exc_info=error.__cause__, extra={"action": "problem", "problem": kind_of(error).name})
    return response_of(error, request)


def refused_of(error: HTTPException) -> Refused:
    """An error of the framework's as ours."""
    kind = _BY_STATUS.get(error.status_code, INVALID if error.status_code < 500 else INTERNAL)
    return Refused(kind, str(error.detail), error.headers)


def invalid(found: Iterable[Mapping[str, Any]]) -> errors.InvalidRequest:
    """The first of the framework's complaints about a request, as ours."""
    first = next(iter(found))
    place = [str(part) for part in first["loc"] if part not in ("query", "path", "header", "body")]
    return errors.InvalidRequest(".".join(place) or str(first["loc"][0]), first.get("input"), first["msg"])


def documented(*kinds: Kind) -> dict[int | str, dict[str, Any]]:
    """What a route's OpenAPI says of the problems that it may answer with, besides those that each route has."""
    return documented_alone(INVALID, UNAUTHORIZED, FORBIDDEN, TOO_MANY, UNSUPPORTED, UNAVAILABLE, *kinds)


def documented_alone(*kinds: Kind) -> dict[int | str, dict[str, Any]]:
    """The same of a route that may answer with these alone."""
    described: dict[int, list[str]] = {}
    for kind in kinds:
        described.setdefault(kind.status, []).append(kind.title)
    return {
        status: {"model": Problem, "description": "; ".join(titles), "content": {MEDIA_TYPE: {}}}
        for status, titles in sorted(described.items())
    }
