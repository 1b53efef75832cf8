"""Format debezium: Debezium's envelope. The event's id is `source.event_id`."""

from dmsjournal.events.debezium import DebeziumEvent
from dmsjournal.events.formats import Format

FORMAT = Format(from_cdc=lambda made: DebeziumEvent.of(made).to_json().encode(), id_of=lambda event: f"evt_{event.event_id}")
