"""What the two clients share: what they are made of, what is checked, and which call each method is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dmsjournal.client import calls
from dmsjournal.client.calls import Call, ListPage
from dmsjournal.client.items import ListedDelete, ListedDocument, ListedKeyChange
from dmsjournal.errors import InvalidRequest, ServiceRefused, UnsupportedCapability
from dmsjournal.feed.capabilities import FeedCapabilities
from dmsjournal.feed.database import capabilities
from dmsjournal.feed.pages import FeedPage
from dmsjournal.feed.providers import check_supported
from dmsjournal.feed.requests import FeedRequest
from dmsjournal.model.resource_paths import path_of
from dmsjournal.model.resources import ResourceKey
from dmsjournal.model.windows import Window, checked_size, checked_window
from dmsjournal.util.backoff import Backoff
from dmsjournal.util.loopback import is_loopback
from dmsjournal.util.version import VERSION

if TYPE_CHECKING:
    import httpx

    from dmsjournal.feed.events import Effects, FeedEvent

MOST = 10_000  # items of a page
_LONGEST_POLL = 60.0
_CAPABILITIES = replace(capabilities(frozenset()), effects=False)


class Base:
    """A service's URL, and how it is asked.

    `token` is sent as a bearer token, to this URL alone: no redirect is followed. http:// is taken for this machine only, unless
    `allow_http`. `resources` names paths that the service has a map for: {ResourceKey(…): "ed-fi/staffs"}. `timeout` is seconds
    for a connection, and for each piece of an answer. A service that does not answer, or asks for time, is asked again for
    `patience` seconds. `long_poll` is how many seconds, 60 at most, the service waits for an event before it answers that there
    is none. `options` are httpx's own, such as `verify`, `proxy`, `transport`. Threads may share a Client; an AsyncClient is of one
    event loop. Raises InvalidRequest, UnsupportedCapability.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        resources: Mapping[ResourceKey, str] | None = None,
        timeout: float = 30.0,
        patience: float = 30.0,
        long_poll: float = 0.0,
        allow_http: bool = False,
        **options: Any,
    ) -> None:
        self._url = _checked_url(url, allow_http)
        if not 0 <= long_poll <= _LONGEST_POLL:
            raise InvalidRequest("long_poll", long_poll, f"give 0 to {_LONGEST_POLL:g} seconds")
        if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
            raise InvalidRequest("token", "***", "a token is letters, digits, - and _")
        self._paths = dict(resources or {})
        self._timeout, self._patience, self._long_poll = timeout, patience, long_poll
        headers = {"user-agent": f"dmsjournal/{VERSION}"}
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        self._options = {"base_url": self._url, "headers": headers, "follow_redirects": False, **options}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._url!r})"

    @property
    def feed_capabilities(self) -> FeedCapabilities:
        """What the feed can do: a journal's without options."""
        return _CAPABILITIES

    def effects(self, events: Iterable[FeedEvent], limit: int = 100) -> Mapping[tuple[int, int], Effects]:
        """Raises UnsupportedCapability: the service does not tell them."""
        raise self.feed_capabilities.lack_of("effects")

    def _waits(self) -> Backoff:
        return Backoff(0.2, 5.0)

    def _seconds(self, call: Call[Any]) -> httpx.Timeout:
        import httpx

        return httpx.Timeout(self._timeout, read=self._timeout + call.seconds)

    def _path(self, resource: ResourceKey) -> str:
        if not isinstance(resource, ResourceKey):
            raise InvalidRequest("resource", resource, "pass a ResourceKey(project, resource, version)")
        return calls.path_for(self._paths.get(resource) or path_of(resource))

    def _documents(self, resource: ResourceKey, window: Window | None, size: int) -> Call[ListPage[ListedDocument]]:
        return calls.listed(self._path(resource), window, checked_size("page_size", size, MOST), calls.document_of)

    def _deletes(self, resource: ResourceKey, window: Window, size: int, *, reused_keys: bool) -> Call[ListPage[ListedDelete]]:
        path = f"{self._path(resource)}/deletes"
        more = {"reusedKeys": "true"} if reused_keys else {}
        return calls.listed(path, window, checked_size("page_size", size, MOST), calls.delete_of, more)

    def _key_changes(self, resource: ResourceKey, window: Window, size: int) -> Call[ListPage[ListedKeyChange]]:
        path = f"{self._path(resource)}/keyChanges"
        return calls.listed(path, window, checked_size("page_size", size, MOST), calls.key_change_of)

    def _page(self, request: FeedRequest) -> Call[FeedPage]:
        return calls.feed_page(check_supported(request, self.feed_capabilities), self._long_poll)


def reach(window: Window | None, newest: int) -> tuple[Window, int, bool]:
    """The window up to the newest version, the last version that it covers, and whether it was cut there. Raises InvalidRequest."""
    asked = checked_window(window)
    through = newest if asked.max is None else min(asked.max, newest)
    is_above = through < (asked.min or 0)  # nothing is in it yet
    return (asked if is_above else Window(asked.min, through)), through, asked.is_cut(through)


def is_missing(error: ServiceRefused) -> bool:
    """Whether a document is missing, and not its resource or the route."""
    return error.problem == "not-found" and error.detail.startswith("there is no document ")


def new_http(kind: str, options: Mapping[str, Any]) -> Any:
    """A client of httpx's. Raises UnsupportedCapability."""
    try:
        import httpx
    except ModuleNotFoundError as error:
        raise UnsupportedCapability("the client needs httpx", "pip install 'dmsjournal[client]'") from error
    return getattr(httpx, kind)(**options)


def _checked_url(url: str, allow_http: bool) -> str:
    from urllib.parse import urlsplit

    written = InvalidRequest(
        "url", "***", "write it as https://host, with the path that a proxy adds, and pass the token on its own"
    )
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port
    except (ValueError, AttributeError, TypeError):
        raise written from None
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc or parts.query or parts.fragment:
        raise written
    if parts.scheme == "http" and not (allow_http or is_loopback(host)):
        raise InvalidRequest("url", url, "http:// would show the token and the data to every machine on the way: use https://")
    return url.rstrip("/")
