"""The status page: what `dmsjournal status` tells, and a live tail of changes, in a browser. It loads nothing from elsewhere."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from fastapi import APIRouter, Request, Response

from dmsjournal.events.encoding import encoder
from dmsjournal.http.access import Reader, refuse_limited
from dmsjournal.http.changefeed import Versions
from dmsjournal.http.metadata import version_document
from dmsjournal.http.problems import documented

router = APIRouter(tags=["status page"])

_FOLDER = Path(__file__).parent / "static"
_POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'none'; "
_HEADERS = {"Content-Security-Policy": _POLICY + "base-uri 'none'; frame-ancestors 'none'", "Cache-Control": "no-cache"}
_VERSIONS = frozenset({"oldest", "newest", "last_stamp", "lag_versions", "floor", "change_version"})
_encode = encoder()


@router.get("/", include_in_schema=False)
async def page(request: Request) -> Response:
    """The page for a browser: it holds no data, and asks for a token where one is needed. For others the version document."""
    found = _file("status.html", "text/html") if _is_browser(request) else await version_document(request)
    found.headers["Vary"] = "Accept"
    return found


def _is_browser(request: Request) -> bool:
    """Whether a page is asked for by name: a client of the Ed-Fi API asks for JSON, for anything, or does not say."""
    return "text/html" in request.headers.get("accept", "").lower()


@router.get("/static/status.js", include_in_schema=False)
async def script() -> Response:
    """Its script."""
    return _file("status.js", "text/javascript")


@router.get("/static/status.css", include_in_schema=False)
async def style() -> Response:
    """Its style."""
    return _file("status.css", "text/css")


@router.get("/status", summary="The journal's status", response_model=dict[str, Any], responses=documented())
async def status(request: Request, token: Reader, versions: Versions = "number") -> Response:
    """What `dmsjournal status --json` prints, at most a second old. Not for tokens that may read some resources only."""
    refuse_limited(token)
    found = msgspec.to_builtins(await request.app.state.status.get())
    return Response(_encode(_with_text(found) if versions == "string" else found), media_type="application/json")


def _with_text(value: Any) -> Any:
    """The value with its versions as strings."""
    if isinstance(value, dict):
        return {name: str(of) if name in _VERSIONS and isinstance(of, int) else _with_text(of) for name, of in value.items()}
    return [_with_text(of) for of in value] if isinstance(value, list | tuple) else value


def _file(name: str, media_type: str) -> Response:
    return Response(_content(name), headers=_HEADERS, media_type=media_type)


@cache
def _content(name: str) -> bytes:
    return (_FOLDER / name).read_bytes()
