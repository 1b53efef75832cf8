-- sql/sqlserver/queries/operate/bury_documents.sql: tombstones for documents that vanished, from what their last key change tells. Runs after
-- enter_change. Binds: rows (JSON array of {document_id}).
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows, @transaction_id bigint;
DECLARE @buried TABLE (
    DocumentId    bigint           NOT NULL PRIMARY KEY,
    DocumentUuid  uniqueidentifier NOT NULL,
    ResourceKeyId smallint         NOT NULL,
    KeyValues     nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL
);
EXEC dms.this_transaction @transaction_id OUTPUT;
INSERT INTO @buried (DocumentId, DocumentUuid, ResourceKeyId, KeyValues)
SELECT wanted.document_id, known.DocumentUuid, known.ResourceKeyId, known.NewKeyValues
FROM OPENJSON(@rows) WITH (document_id bigint '$.document_id') AS wanted
CROSS APPLY (
    SELECT TOP (1) event.DocumentUuid, event.ResourceKeyId, event.NewKeyValues FROM dms.KeyChangeEvent AS event
    WHERE event.DocumentId = wanted.document_id
    ORDER BY event.ChangeVersion DESC
) AS known
WHERE NOT EXISTS (SELECT * FROM dms.Document AS document WHERE document.DocumentId = wanted.document_id);
INSERT INTO dms.DocumentDeleteEvent (ChangeVersion, DocumentId, DocumentUuid, ResourceKeyId, KeyValues, TransactionId, CreatedAt)
SELECT NEXT VALUE FOR dms.ChangeVersionSequence, DocumentId, DocumentUuid, ResourceKeyId, KeyValues, @transaction_id, SYSUTCDATETIME()
FROM @buried;
