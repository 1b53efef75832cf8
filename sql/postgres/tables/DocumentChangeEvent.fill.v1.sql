-- sql/postgres/tables/DocumentChangeEvent.fill.v1.sql: the documents that are here already; an adoption does the same in batches.
-- Documents that are here already have their local version's event, below the floor, for readers that read all.
INSERT INTO dms.DocumentChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, Operation, TransactionId, CreatedAt)
SELECT greatest(ContentVersion, IdentityVersion), DocumentId, ResourceKeyId, 'insert', pg_current_xact_id()::text::bigint,
       greatest(ContentLastModifiedAt, IdentityLastModifiedAt)
FROM dms.Document
WHERE greatest(ContentVersion, IdentityVersion) > 0;
