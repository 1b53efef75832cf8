"""Paths and parameters of the Ed-Fi routes in whatever case, as the Ed-Fi API takes them; and paths below the public URL's own."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

from starlette.types import ASGIApp, Receive, Scope, Send

_NAMES = 2, 3  # the parts of /data/v3/{project}/{resource}/… that are names, and stay as they are
_PARTS = {
    part.lower(): part
    for part in (
        *("data", "v3", "deletes", "keyChanges", "changeQueries", "v1", "availableChangeVersions"),
        *("oauth", "token", "metadata", "resources", "descriptors", "swagger.json", "dependencies"),
    )
}
_ROOTS = ("/data/", "/changequeries/", "/oauth/", "/metadata")
_PARAMETERS = {
    name.lower(): name
    for name in ("minChangeVersion", "maxChangeVersion", "limit", "offset", "pageToken", "pageSize", "totalCount", "reusedKeys")
}


class Spelling:
    """ASGI middleware: gives the routes a request as they are spelled themselves. `prefix` is the path of the public URL."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app, self._prefix = app, prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = scope["path"]
            if self._prefix and (path == self._prefix or path.startswith(f"{self._prefix}/")):  # the proxy did not take it away
                path = scope["path"] = path[len(self._prefix) :] or "/"
            if path.lower().startswith(_ROOTS):
                scope["path"] = _spelled_path(path)
                scope["query_string"] = _spelled_query(scope["query_string"])
        await self._app(scope, receive, send)


def _spelled_path(path: str) -> str:
    parts = path.split("/")[1:]
    kept = _NAMES if parts[0].lower() == "data" else ()
    return "/" + "/".join(part if n in kept else _PARTS.get(part.lower(), part) for n, part in enumerate(parts))


def _spelled_query(query: bytes) -> bytes:
    """The query with its names as the routes have them; as it is where they are so already."""
    given = parse_qsl(query.decode("latin-1"), keep_blank_values=True, encoding="latin-1")
    spelled = [(_PARAMETERS.get(name.lower(), name), value) for name, value in given]
    return query if spelled == given else urlencode(spelled, encoding="latin-1").encode("ascii")
