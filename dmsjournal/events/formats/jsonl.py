"""Format jsonl: the event as the feed gives it."""

from dmsjournal.events import jsonl
from dmsjournal.events.formats import Format

FORMAT = Format(from_feed=jsonl.encoded, id_of=lambda event: str(event.event_id))
