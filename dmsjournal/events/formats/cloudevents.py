"""Format cloudevents: a CloudEvent whose data is the CDC event."""

from dmsjournal.events.cloudevents import CloudEvent
from dmsjournal.events.formats import Format

FORMAT = Format(
    from_cdc=lambda made: CloudEvent.of(made).to_json().encode(),
    id_of=lambda event: f"evt_{event.event_id}",
    content_type="application/cloudevents+json",
    content_type_of_arrays="application/cloudevents-batch+json",
)
