"""The change feed: what happened to documents, in order, at least once, in pages with opaque tokens."""

from dmsjournal.feed.events import FeedEvent, FeedEventType, FeedKey, ItemState

__all__ = ["FeedEvent", "FeedEventType", "FeedKey", "ItemState"]
