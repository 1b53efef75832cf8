-- sql/sqlserver/queries/schema/adopt_document_events.sql: the events of a batch of documents at the versions that they have (invariant 2). One that
-- changes meanwhile is journaled by its trigger, and has an event of its version before as well, which says nothing wrong. A trigger's event
-- is committed together with the version that it is for: whoever reads the version finds it.
-- Binds: after_id, through_id.
SET NOCOUNT ON;
DECLARE @transaction_id bigint;
EXEC dms.this_transaction @transaction_id OUTPUT;
INSERT INTO dms.DocumentChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, Operation, TransactionId, CreatedAt)
SELECT stamped.version, stamped.DocumentId, stamped.ResourceKeyId, 'insert', @transaction_id, stamped.changed_at
FROM (
    SELECT DocumentId, ResourceKeyId, CASE WHEN ContentVersion > IdentityVersion THEN ContentVersion ELSE IdentityVersion END AS version,
           CASE WHEN ContentLastModifiedAt > IdentityLastModifiedAt THEN ContentLastModifiedAt ELSE IdentityLastModifiedAt END AS changed_at
    FROM dms.Document
    WHERE DocumentId > :after_id AND DocumentId <= :through_id
) AS stamped
WHERE NOT EXISTS (
    SELECT * FROM dms.DocumentChangeEvent AS known
    WHERE known.ChangeVersion = stamped.version AND known.DocumentId = stamped.DocumentId);
