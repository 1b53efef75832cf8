"""Contexts: what caused a transaction's changes, as its writer says (option context). Source: docs/how-it-works.md, Contexts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from dmsjournal.database.session import Session
from dmsjournal.errors import InvalidRequest
from dmsjournal.model.documents import as_json
from dmsjournal.model.windows import checked_events
from dmsjournal.read.images import Event, require

OPTION = "context"

TRIGGERS = (
    *("api_create", "api_update", "api_delete", "api_import"),
    *("admin_action", "batch_import", "data_migration", "cascade_delete"),
)
_MOST_OF_A_REASON = 100  # bytes
_MOST_BYTES = 3_600  # the database keeps 3,900 characters, the cause of a cascade among them


@dataclass(frozen=True, slots=True)
class Context:
    """What causes the changes of a transaction: who, by what, and the request's metadata as a JSON object.

    `trigger` is one of TRIGGERS. All of it is optional; as JSON it has 3,600 bytes at most. Raises InvalidRequest.
    """

    session_id: str | None = None
    user: str | None = None
    tenant: str | None = None
    trigger: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("session_id", "user", "tenant"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value):
                raise InvalidRequest(f"context.{name}", value, "it is text, or None")
        if self.trigger is not None and self.trigger not in TRIGGERS:
            raise InvalidRequest("context.trigger", self.trigger, f"it is one of {', '.join(TRIGGERS)}")
        if not isinstance(self.metadata, Mapping):
            raise InvalidRequest("context.metadata", self.metadata, "it is a JSON object")
        object.__setattr__(self, "metadata", dict(self.metadata))
        size = len(as_json("context", self._as_mapping()))
        if size > _MOST_BYTES:
            raise InvalidRequest("context", f"{size} bytes as JSON", f"a context has {_MOST_BYTES} bytes at most")

    def _as_mapping(self) -> dict[str, object]:
        said = {"session_id": self.session_id, "user": self.user, "tenant": self.tenant, "trigger": self.trigger}
        return {name: value for name, value in (said | {"metadata": self.metadata}).items() if value}

    def set(self, session: Session, cause: Mapping[str, object] | None = None) -> None:
        """Makes it the context of what the transaction writes from here on, until another is set. Raises UnsupportedCapability.

        `cause` is the document because of which it is written.
        """
        require(session, OPTION)
        text = as_json("context", self._as_mapping() | ({"cause": cause} if cause else {}))
        session.execute("write/set_context", context=text.decode("utf-8"))


def cascading(context: Context | None) -> Context:
    """The context of documents that go because another one goes."""
    return replace(context or Context(), trigger="cascade_delete")


def cause_of(document_id: int, document_uuid: UUID, reason: str | None = None) -> dict[str, object]:
    """A document as a cause, in a context's words (effects_caused.sql reads them). Raises InvalidRequest for a reason too long."""
    if reason is not None and (
        not isinstance(reason, str) or not 1 <= len(reason.encode("utf-8", "surrogatepass")) <= _MOST_OF_A_REASON
    ):
        raise InvalidRequest("reason", reason, f"it is text of {_MOST_OF_A_REASON} bytes at most")
    cause: dict[str, object] = {"document_id": document_id, "document_uuid": document_uuid}
    return cause if reason is None else cause | {"reason": reason}


def checked_context(context: object) -> Context | None:
    """The context, None where there is none. Raises InvalidRequest."""
    if context is not None and not isinstance(context, Context):
        raise InvalidRequest("context", context, 'pass a Context, such as Context(user="ada", trigger="api_update")')
    return context


def read_contexts(session: Session, events: Iterable[Event]) -> dict[Event, Mapping[str, Any]]:
    """See Journal.contexts. The session must be younger than the horizon that the events lie below."""
    rows = [{"change_version": version, "document_id": document_id} for version, document_id in checked_events("events", events)]
    require(session, OPTION)
    found = session.execute("read/contexts", rows=rows) if rows else ()
    return {(row.change_version, row.document_id): row.context for row in found}
