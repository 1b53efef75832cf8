"""The requests that an iterator makes, one after the other."""

from __future__ import annotations

from dataclasses import replace

from dmsjournal.feed.pages import FeedPage
from dmsjournal.feed.requests import FeedRequest
from dmsjournal.feed.starts import FromToken


def begun(request: FeedRequest, saved: str | None) -> FeedRequest:
    """The first request: from the saved token where there is one, else as it is."""
    return request if saved is None else replace(request, start=FromToken(saved))


def following(request: FeedRequest, page: FeedPage) -> FeedRequest:
    """The request of the page after this one."""
    return replace(request, start=FromToken(page.token))
