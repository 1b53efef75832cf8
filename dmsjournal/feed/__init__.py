"""The change feed: what happened to documents, in order, at least once, in pages with opaque tokens.

Source: docs/python/feed.md, and docs/how-it-works.md, The feed.
"""

from dmsjournal.feed.async_iterators import AsyncFeedIterator
from dmsjournal.feed.capabilities import FeedCapabilities
from dmsjournal.feed.checkpoints import Checkpoint, DatabaseCheckpoint, FileCheckpoint
from dmsjournal.feed.deduplication import Deduplicator
from dmsjournal.feed.events import Effect, Effects, FeedEvent, FeedEventType, FeedKey, ItemState
from dmsjournal.feed.iterators import FeedIterator
from dmsjournal.feed.pages import ChildPartition, FeedDiagnostics, FeedPage
from dmsjournal.feed.partitions import FeedPartition, bucket_of, readable
from dmsjournal.feed.providers import FeedProvider, open_feed
from dmsjournal.feed.requests import FeedFilter, FeedRequest, NewItemStateMode
from dmsjournal.feed.scopes import EntireCollection, FeedScope, LogicalPartition, PhysicalPartition
from dmsjournal.feed.starts import AfterVersion, AtTime, Beginning, FromToken, Now, StartPosition

__all__ = [
    "AfterVersion",
    "AsyncFeedIterator",
    "AtTime",
    "Beginning",
    "Checkpoint",
    "ChildPartition",
    "DatabaseCheckpoint",
    "Deduplicator",
    "Effect",
    "Effects",
    "EntireCollection",
    "FeedCapabilities",
    "FeedDiagnostics",
    "FeedEvent",
    "FeedEventType",
    "FeedFilter",
    "FeedIterator",
    "FeedKey",
    "FeedPage",
    "FeedPartition",
    "FeedProvider",
    "FeedRequest",
    "FeedScope",
    "FileCheckpoint",
    "FromToken",
    "ItemState",
    "LogicalPartition",
    "NewItemStateMode",
    "Now",
    "PhysicalPartition",
    "StartPosition",
    "bucket_of",
    "open_feed",
    "readable",
]
