"""Change events whose rows are Arrow record batches: models, conversions, Z-sets, saved state, a reader of journals."""

from dmsjournal.events.arrow.changelog import ChangelogOperation, ChangelogRecord, from_changelog, to_changelog
from dmsjournal.events.arrow.conversion import SCHEMA, from_cdc, from_feed
from dmsjournal.events.arrow.models import ChangeEvent, ChangeEventBatch, Delete, EventType, Insert, Snapshot, Update, Watermark
from dmsjournal.events.arrow.reader import read_journal
from dmsjournal.events.arrow.state import SubscriptionState, load, save
from dmsjournal.events.arrow.subscription import Subscription, SubscriptionPage
from dmsjournal.events.arrow.zset import consolidated, weighted
from dmsjournal.events.notifications import NotificationConsumer, NotificationProducer, NotificationRef

__all__ = [
    "SCHEMA",
    "ChangeEvent",
    "ChangeEventBatch",
    "ChangelogOperation",
    "ChangelogRecord",
    "Delete",
    "EventType",
    "Insert",
    "NotificationConsumer",
    "NotificationProducer",
    "NotificationRef",
    "Snapshot",
    "Subscription",
    "SubscriptionPage",
    "SubscriptionState",
    "Update",
    "Watermark",
    "consolidated",
    "from_cdc",
    "from_changelog",
    "from_feed",
    "load",
    "read_journal",
    "save",
    "to_changelog",
    "weighted",
]
