"""CDC events in the JSON envelope of CloudEvents 1.0; `data` is the whole CDC event."""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote

from pydantic import Field

from dmsjournal.events.cdc.models import CdcEvent, Source
from dmsjournal.events.cdc.schema import SCHEMA_ID
from dmsjournal.events.models import EventModel, Time

_DIGITS = 19  # of 2^63 - 1


class CloudEvent(EventModel):
    """A CloudEvent, with the extensions `sequence`, which orders as text, and `tenantid`."""

    specversion: Literal["1.0"]
    id: str = Field(min_length=1)
    source: str = Field(min_length=1)
    type: str = Field(min_length=1)
    subject: str
    time: Time
    datacontenttype: Literal["application/json"]
    dataschema: str
    sequence: str = Field(pattern=f"^[0-9]{{{_DIGITS}}}$")
    tenantid: str | None = None
    data: CdcEvent

    @classmethod
    def of(cls, event: CdcEvent) -> CloudEvent:
        """The envelope of a CDC event. `id` is the event's, so (source, id) tells repetitions, as CloudEvents wants it."""
        tenant = {} if event.entity.tenant_id is None else {"tenantid": event.entity.tenant_id}
        return cls(
            specversion="1.0",
            id=event.event_id,
            source=_uri(event.source),
            type=f"org.dmsjournal.{event.event_type.replace(':', '.')}",
            subject=f"{event.entity.entity_type}/{event.entity.entity_id}",
            time=event.timestamp,
            datacontenttype="application/json",
            dataschema=SCHEMA_ID,
            sequence=f"{event.sequence_number:0{_DIGITS}}",
            data=event,
            **tenant,
        )


def _uri(source: Source) -> str:
    parts = [source.database, source.instance, source.database_name]
    return "/" + "/".join(quote(part, safe="") for part in parts if part)
