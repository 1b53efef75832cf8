-- sql/postgres/queries/schema/adopt_document_events.sql: the events of a batch of documents at the versions that they have (invariant 2). One that
-- changes meanwhile is journaled by its trigger, and has an event of its version before as well, which says nothing wrong.
-- Binds: after_id, through_id.
INSERT INTO dms.DocumentChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, Operation, TransactionId, CreatedAt)
SELECT greatest(ContentVersion, IdentityVersion), DocumentId, ResourceKeyId, 'insert', pg_current_xact_id()::text::bigint,
       greatest(ContentLastModifiedAt, IdentityLastModifiedAt)
FROM dms.Document
WHERE DocumentId > CAST(:after_id AS bigint) AND DocumentId <= CAST(:through_id AS bigint)
ON CONFLICT DO NOTHING
