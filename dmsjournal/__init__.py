"""dmsjournal: which documents of a resource changed between two versions, exactly."""

from dmsjournal.batches import Created, Unchanged, Updated, Upserted
from dmsjournal.cascading import Deleted
from dmsjournal.consumers import Consumer
from dmsjournal.contexts import Context
from dmsjournal.deletes import Delete
from dmsjournal.deriving import Derived
from dmsjournal.documents import Document, Reference
from dmsjournal.effects import Effect, Effects
from dmsjournal.errors import (
    AdoptionRefused,
    CheckpointExpired,
    DatabaseRefused,
    DeadLettersFull,
    HistoryDiverged,
    InvalidRequest,
    JournalError,
    MigrationRefused,
    NotInstalled,
    ReceiverFailed,
    ReferencedDocument,
    ServiceRefused,
    Unavailable,
    UnknownReference,
    UnsupportedCapability,
)
from dmsjournal.feed import (
    AfterVersion,
    AsyncFeedIterator,
    AtTime,
    Beginning,
    DatabaseCheckpoint,
    Deduplicator,
    EntireCollection,
    FeedCapabilities,
    FeedEvent,
    FeedEventType,
    FeedFilter,
    FeedIterator,
    FeedKey,
    FeedPage,
    FeedPartition,
    FeedRequest,
    FileCheckpoint,
    FromToken,
    ItemState,
    LogicalPartition,
    NewItemStateMode,
    Now,
    PhysicalPartition,
    open_feed,
)
from dmsjournal.fingerprints import Fingerprint
from dmsjournal.images import Image
from dmsjournal.journal import Journal, connect
from dmsjournal.key_changes import KeyChange
from dmsjournal.pages import Change, ChangePage
from dmsjournal.planning import DocumentRange, Plan, SnapshotPlan, SubWindow
from dmsjournal.pruning import Pruned, PrunedJournal
from dmsjournal.resources import ResourceKey
from dmsjournal.status import Status
from dmsjournal.stored import StoredDocument
from dmsjournal.verifying import Finding, Repair, Verification
from dmsjournal.windows import ChangeVersions, Cursor, Window
from dmsjournal.writing import WriteTransaction

__version__ = "0.1.0"

__all__ = [
    "AdoptionRefused",
    "AfterVersion",
    "AsyncFeedIterator",
    "AtTime",
    "Beginning",
    "Change",
    "ChangePage",
    "ChangeVersions",
    "CheckpointExpired",
    "Consumer",
    "Context",
    "Created",
    "Cursor",
    "DatabaseCheckpoint",
    "DatabaseRefused",
    "DeadLettersFull",
    "Deduplicator",
    "Delete",
    "Deleted",
    "Derived",
    "Document",
    "DocumentRange",
    "Effect",
    "Effects",
    "EntireCollection",
    "FeedCapabilities",
    "FeedEvent",
    "FeedEventType",
    "FeedFilter",
    "FeedIterator",
    "FeedKey",
    "FeedPage",
    "FeedPartition",
    "FeedRequest",
    "FileCheckpoint",
    "Finding",
    "Fingerprint",
    "FromToken",
    "HistoryDiverged",
    "Image",
    "InvalidRequest",
    "ItemState",
    "Journal",
    "JournalError",
    "KeyChange",
    "LogicalPartition",
    "MigrationRefused",
    "NewItemStateMode",
    "NotInstalled",
    "Now",
    "PhysicalPartition",
    "Plan",
    "Pruned",
    "PrunedJournal",
    "ReceiverFailed",
    "Reference",
    "ReferencedDocument",
    "Repair",
    "ResourceKey",
    "ServiceRefused",
    "SnapshotPlan",
    "Status",
    "StoredDocument",
    "SubWindow",
    "Unavailable",
    "Unchanged",
    "UnknownReference",
    "UnsupportedCapability",
    "Updated",
    "Upserted",
    "Verification",
    "Window",
    "WriteTransaction",
    "connect",
    "open_feed",
]
