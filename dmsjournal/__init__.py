"""dmsjournal: which documents of a resource changed between two versions, exactly."""

from dmsjournal.database.fingerprints import Fingerprint
from dmsjournal.errors import (
    AdoptionRefused,
    AdoptionStopped,
    BodyDoesNotFit,
    CheckpointExpired,
    CommitUnknown,
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
    StoreRefused,
    Unavailable,
    UnknownReference,
    UnreadableEvent,
    UnsupportedCapability,
)
from dmsjournal.feed import (
    AfterVersion,
    AsyncFeedIterator,
    AtTime,
    Beginning,
    DatabaseCheckpoint,
    Deduplicator,
    Effect,
    Effects,
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
from dmsjournal.journal import Journal, connect
from dmsjournal.model.documents import Document, Reference
from dmsjournal.model.resources import ResourceKey
from dmsjournal.model.windows import ChangeVersions, Cursor, Window
from dmsjournal.operate.consumers import Consumer
from dmsjournal.operate.prune import Pruned, PrunedJournal
from dmsjournal.operate.status import Status
from dmsjournal.operate.tracking import Tracked, TrackedTable
from dmsjournal.operate.verify import Finding, Repair, Verification
from dmsjournal.read.contexts import Context
from dmsjournal.read.deletes import Delete
from dmsjournal.read.derived import Derived
from dmsjournal.read.documents import StoredDocument
from dmsjournal.read.images import Image
from dmsjournal.read.key_changes import KeyChange
from dmsjournal.read.pages import Change, ChangePage
from dmsjournal.read.plan import DocumentRange, Plan, SnapshotPlan, SubWindow
from dmsjournal.util.version import VERSION
from dmsjournal.write.cascade import Deleted
from dmsjournal.write.transaction import WriteTransaction
from dmsjournal.write.upsert import Created, Unchanged, Updated, Upserted

__version__ = VERSION

__all__ = [
    "AdoptionRefused",
    "AdoptionStopped",
    "AfterVersion",
    "AsyncFeedIterator",
    "AtTime",
    "Beginning",
    "BodyDoesNotFit",
    "Change",
    "ChangePage",
    "ChangeVersions",
    "CheckpointExpired",
    "CommitUnknown",
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
    "StoreRefused",
    "StoredDocument",
    "SubWindow",
    "Tracked",
    "TrackedTable",
    "Unavailable",
    "Unchanged",
    "UnknownReference",
    "UnreadableEvent",
    "UnsupportedCapability",
    "Updated",
    "Upserted",
    "Verification",
    "Window",
    "WriteTransaction",
    "connect",
    "open_feed",
]
