"""Writing: documents by key, in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, cast, overload
from uuid import UUID

from sqlalchemy import exc

from dmsjournal.database.connect import translated, violates
from dmsjournal.database.resource_ids import ResourceIds
from dmsjournal.database.session import Session
from dmsjournal.errors import InvalidRequest, JournalError, ReferencedDocument
from dmsjournal.model.documents import Document, Key, checked_key, checked_resource, described
from dmsjournal.model.resources import ResourceKey
from dmsjournal.read import contexts
from dmsjournal.read.contexts import Context
from dmsjournal.read.images import require
from dmsjournal.write.cascade import Deleted, Referrers, delete_groups, locked_referrers
from dmsjournal.write.rekey import rekey
from dmsjournal.write.tracked import refuse_tracked
from dmsjournal.write.upsert import Rejected, Upserted, upsert_batch

_BATCH = 1_000  # documents that are written together
_BATCH_BYTES = 64 * 1024 * 1024  # of their bodies: a statement's parameter has 1 GiB at most


class WriteTransaction:
    """One transaction of Journal.write(). Not to be shared between threads."""

    def __init__(self, session: Session, context: Context | None = None) -> None:
        self._session = session
        self._context = context
        self._cause: dict[str, object] | None = None
        self._has_begun = False  # to say what causes what it writes
        self._is_rejecting = False
        self._registry = ResourceIds()  # its own: a resource that this transaction adds is not there if it rolls back

    def mark(self) -> str | None:
        """What the transaction is known by after its commit (Journal.retry). Empty: it wrote nothing. None: it cannot be known."""
        with translated():
            return cast("str | None", self._session.execute("write/commit_mark").scalar_one())

    def upsert(self, document: Document) -> Upserted:
        """Creates the document, or gives the one that has its key its body and its references.

        Returns Created, Updated or Unchanged. Raises InvalidRequest, UnknownReference and Unavailable, before anything of this
        document is written.
        """
        return self.upsert_many([document])[0]

    def upsert_many(self, documents: Iterable[Document], *, rejected: Rejected | None = None) -> list[Upserted]:
        """Upserts documents in their order, thousands a second; each may refer to those before it.

        `rejected` is called with the position (from 0) and the error of a document that cannot be written because of what it
        refers to or of its uuid; the others are written, and the result leaves it out. Without it the error is raised. It may not
        write: what it would write belongs after this call.
        """
        if isinstance(documents, Document) or not isinstance(documents, Iterable):
            raise InvalidRequest("documents", documents, "pass several; upsert writes one")
        self._refuse_while_rejecting()
        outcomes: list[Upserted] = []
        start = 0
        for batch in _batches(documents):

            def reject(position: int, error: JournalError, start: int = start) -> None:
                if rejected is None:
                    raise error
                self._is_rejecting = True
                try:
                    rejected(start + position, error)
                finally:
                    self._is_rejecting = False

            with translated():
                outcomes += upsert_batch(self._session, self._registry, batch, reject)
            start += len(batch)
        return outcomes

    @overload
    def delete(
        self,
        resource: ResourceKey,
        key_values: Mapping[str, object] | None = None,
        *,
        document_uuid: UUID | None = None,
        cascade: Literal[False] = False,
    ) -> bool: ...

    @overload
    def delete(
        self,
        resource: ResourceKey,
        key_values: Mapping[str, object] | None = None,
        *,
        document_uuid: UUID | None = None,
        cascade: Literal[True],
    ) -> list[Deleted]: ...

    def delete(
        self,
        resource: ResourceKey,
        key_values: Mapping[str, object] | None = None,
        *,
        document_uuid: UUID | None = None,
        cascade: bool = False,
    ) -> bool | list[Deleted]:
        """Deletes the document of a resource that has the key, or the uuid; False where there is none.

        With `cascade` whatever refers to it, directly or not, is deleted before it, 10,000 documents at most; returns what was
        deleted, in the order of its going, the document itself last. Where the database has option context, their deletes are
        told as cascade_delete, with this document as the cause. Without it: raises ReferencedDocument, naming a referrer, where
        others refer to it. Raises InvalidRequest, Unavailable.
        """
        self._refuse_while_rejecting()
        with translated():
            if cascade:
                return self._delete_cascading(resource, key_values, document_uuid)
            return self._delete(resource, key_values, document_uuid)

    def _delete_cascading(
        self, resource: ResourceKey, key_values: Mapping[str, object] | None, document_uuid: UUID | None
    ) -> list[Deleted]:
        document_id = self._find_one(resource, key_values, document_uuid)
        if document_id is None:
            return []
        referrers = locked_referrers(self._session, document_id)
        if self._find_one(resource, key_values, document_uuid) != document_id:  # deleted, or given another key meanwhile
            return []
        try:
            gone = self._delete_referrers(referrers, document_id) if referrers.groups else []
            self._session.execute("write/delete_document", document_id=document_id)
        except exc.IntegrityError as error:
            if not violates(error, "FK_ReferenceEdge"):
                raise
            named = described(resource, key_values) if key_values else f"{resource} {document_uuid}"
            raise ReferencedDocument(named, "a document that was written meanwhile") from error
        return self._as_deleted(referrers.rows, [*gone, document_id])

    def _delete_referrers(self, referrers: Referrers, document_id: int) -> list[int]:
        if contexts.OPTION not in self._session.options:
            return delete_groups(self._session, referrers)
        self._end_what_was_said()
        cause = contexts.cause_of(document_id, referrers.rows[document_id].document_uuid)
        contexts.cascading(self._context).set(self._session, cause)
        gone = delete_groups(self._session, referrers)
        self._set_cause(self._cause)
        return gone

    def _end_what_was_said(self) -> None:
        """Keeps a transaction's first context from being told of what was written before it: that had none, so none comes first."""
        if self._context is None and not self._has_begun:
            Context().set(self._session)
            self._session.execute("write/note_context")
        self._has_begun = True

    @contextmanager
    def caused_by(
        self,
        resource: ResourceKey,
        key_values: Mapping[str, object] | None = None,
        *,
        document_uuid: UUID | None = None,
        reason: str,
    ) -> Iterator[None]:
        """What is written in the block is told as an effect of what this transaction does to that document; see Journal.effects.

        The document is there, and is updated or deleted afterwards or was before. `reason` is told, 100 bytes at most. Raises
        InvalidRequest, also for a document that there is not; UnsupportedCapability without option context.
        """
        self._refuse_while_rejecting()
        require(self._session, contexts.OPTION)
        with translated():
            document_id = self._find_one(resource, key_values, document_uuid)
            rows = [] if document_id is None else list(self._session.execute("write/lock_documents", document_ids=[document_id]))
            if not rows:
                raise InvalidRequest("key_values", key_values or document_uuid, f"{resource} has no document with this key or uuid")
            self._end_what_was_said()
            cause, outer = contexts.cause_of(rows[0].document_id, rows[0].document_uuid, reason), self._cause
            self._set_cause(cause)
        yield
        with translated():
            self._set_cause(outer)

    def _set_cause(self, cause: dict[str, object] | None) -> None:
        (self._context or Context()).set(self._session, cause)
        self._cause = cause

    def _as_deleted(self, rows: Mapping[int, Any], document_ids: Iterable[int]) -> list[Deleted]:
        names = {number: key for key, number in self._registry.refresh(self._session).items()}
        deleted = []
        for document_id in document_ids:
            row = rows[document_id]
            deleted.append(Deleted(document_id, row.document_uuid, names.get(row.resource_key_id), row.key_values))
        return deleted

    def _delete(self, resource: ResourceKey, key_values: Mapping[str, object] | None, document_uuid: UUID | None) -> bool:
        document_id = self._find_one(resource, key_values, document_uuid)
        if document_id is None:
            return False
        name = described(resource, key_values) if key_values else f"{resource} {document_uuid}"
        referrer = self._session.execute("write/referrer", document_id=document_id).first()
        if referrer is not None:
            of = ResourceKey(referrer.project_name, referrer.resource_name, referrer.resource_version)
            raise ReferencedDocument(name, f"{described(of, referrer.key_values)} (document {referrer.document_id})")
        self._session.execute("write/lock_documents", document_ids=[document_id])
        if self._find_one(resource, key_values, document_uuid) != document_id:  # deleted, or given another key meanwhile
            return False
        try:
            return self._session.execute("write/delete_document", document_id=document_id).first() is not None
        except exc.IntegrityError as error:
            if not violates(error, "FK_ReferenceEdge"):
                raise
            raise ReferencedDocument(name, "a document that was written meanwhile") from error

    def rekey(self, resource: ResourceKey, key_values: Mapping[str, object], new_key_values: Mapping[str, object]) -> int:
        """Gives the document that has the key another key, and follows it into every document whose identity contains it.

        Each document of that closure gets an identity stamp of its own, in ascending DocumentId. Documents that merely refer to
        them are not written: their derived versions rise by themselves. Returns how many were stamped, the first one included.
        Raises InvalidRequest (no such document, the new key is taken, or it is not clear which of a key's values follows) and
        Unavailable.
        """
        self._refuse_while_rejecting()
        checked_key("new_key_values", new_key_values)
        with translated():
            document_id = self._find_one(resource, key_values, None)
            if document_id is None:
                raise InvalidRequest("key_values", dict(key_values), f"{resource} has no document with this key")
            return rekey(self._session, self._registry.refresh(self._session), document_id, key_values, new_key_values)

    def _refuse_while_rejecting(self) -> None:
        """Raises InvalidRequest inside a `rejected`: what its batch has found would not be so any more."""
        if self._is_rejecting:
            raise InvalidRequest("rejected", "a callback that writes", "collect what it is called with, and write afterwards")

    def _find_one(self, resource: ResourceKey, key_values: Mapping[str, object] | None, document_uuid: UUID | None) -> int | None:
        checked_resource("resource", resource)
        if (key_values is None) == (document_uuid is None):
            raise InvalidRequest("key_values", key_values, "name the document by its key or by its uuid")
        refuse_tracked(self._session, [resource])
        resource_key_id = self._registry.id_of(self._session, resource)
        if key_values is None:
            if not isinstance(document_uuid, UUID):
                raise InvalidRequest("document_uuid", document_uuid, "pass a uuid.UUID")
            found = self._session.execute("read/find_by_uuid", resource_key_id=resource_key_id, document_uuid=document_uuid).first()
        else:
            checked_key("key_values", key_values)
            row = {"ordinal": 0, "resource_key_id": resource_key_id, "key_values": key_values}
            found = self._session.execute("write/find_documents", rows=[row]).first()
        return None if found is None else int(found.document_id)


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Runs of documents with different keys: a key's second document is written after its first."""
    batch: list[Document] = []
    keys: set[Key] = set()
    size = 0
    for document in documents:
        if not isinstance(document, Document):
            raise InvalidRequest("document", document, "pass a Document(resource, key_values, body, references)")
        if len(batch) == _BATCH or size + len(document.body_json) > _BATCH_BYTES or document.key in keys:
            if batch:
                yield batch
            batch, keys, size = [], set(), 0
        size += len(document.body_json)
        batch.append(document)
        keys.add(document.key)
    if batch:
        yield batch
