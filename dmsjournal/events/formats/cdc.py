"""Format cdc: the CDC event format 1.0."""

from dmsjournal.events.formats import Format

FORMAT = Format(from_cdc=lambda made: made.to_json().encode(), id_of=lambda event: f"evt_{event.event_id}")
