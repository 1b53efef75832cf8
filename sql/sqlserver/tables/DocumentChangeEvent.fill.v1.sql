-- sql/sqlserver/tables/DocumentChangeEvent.fill.v1.sql: the documents that are here already; an adoption does the same in batches.
-- Documents that are here already have their local version's event, below the floor, for readers that read all.
DECLARE @transaction_id bigint;
EXEC dms.this_transaction @transaction_id OUTPUT;
INSERT INTO dms.DocumentChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, Operation, TransactionId, CreatedAt)
SELECT CASE WHEN ContentVersion > IdentityVersion THEN ContentVersion ELSE IdentityVersion END, DocumentId, ResourceKeyId, 'insert',
       @transaction_id,
       CASE WHEN ContentVersion > IdentityVersion THEN ContentLastModifiedAt ELSE IdentityLastModifiedAt END
FROM dms.Document
WHERE ContentVersion > 0 OR IdentityVersion > 0;
