-- sql/sqlserver/queries/events/journal_rows.sql: the next events of all resources after a position, tombstones among them, in
-- (ChangeVersion, DocumentId) order; one row at least, for the floor, which is the higher one of the two journals.
-- Binds: after_version, after_id (exclusive); max_version (inclusive, at most a horizon read before); page_size (rows, 1 or more).
-- Plan: one range of each journal's primary key; it reads a page of each at most.
-- The floors are read after the journals, in a statement of their own: see deletes.sql.
SET NOCOUNT ON;
DECLARE @after_version bigint = :after_version, @after_id bigint = :after_id, @max_version bigint = :max_version,
        @page_size bigint = :page_size;
DECLARE @event TABLE (
    ChangeVersion bigint           NOT NULL,
    DocumentId    bigint           NOT NULL,
    ResourceKeyId smallint         NOT NULL,
    Operation     varchar(6)       NOT NULL,
    TransactionId bigint           NOT NULL,
    CreatedAt     datetime2(7)     NOT NULL,
    DocumentUuid  uniqueidentifier NULL,
    KeyValues     nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    PRIMARY KEY (ChangeVersion, DocumentId)
);
INSERT INTO @event (ChangeVersion, DocumentId, ResourceKeyId, Operation, TransactionId, CreatedAt, DocumentUuid, KeyValues)
SELECT TOP (@page_size) ChangeVersion, DocumentId, ResourceKeyId, Operation, TransactionId, CreatedAt, NULL, NULL
FROM dms.DocumentChangeEvent
WHERE ChangeVersion >= @after_version AND (ChangeVersion > @after_version OR DocumentId > @after_id) AND ChangeVersion <= @max_version
ORDER BY ChangeVersion, DocumentId;
INSERT INTO @event (ChangeVersion, DocumentId, ResourceKeyId, Operation, TransactionId, CreatedAt, DocumentUuid, KeyValues)
SELECT TOP (@page_size) ChangeVersion, DocumentId, ResourceKeyId, 'delete', TransactionId, CreatedAt, DocumentUuid, KeyValues
FROM dms.DocumentDeleteEvent
WHERE ChangeVersion >= @after_version AND (ChangeVersion > @after_version OR DocumentId > @after_id) AND ChangeVersion <= @max_version
ORDER BY ChangeVersion;
SELECT TOP (@page_size) floors.floor, event.ChangeVersion AS change_version, event.DocumentId AS document_id,
       event.ResourceKeyId AS resource_key_id, event.Operation AS operation, event.TransactionId AS transaction_id,
       event.CreatedAt AS created_at, LOWER(CAST(event.DocumentUuid AS varchar(36))) AS document_uuid, event.KeyValues AS key_values
FROM (
    SELECT MAX(ChangeVersion) AS floor FROM dms.JournalFloor WHERE Journal IN (N'DocumentChangeEvent', N'DocumentDeleteEvent')
) AS floors
LEFT JOIN @event AS event ON 1 = 1
ORDER BY event.ChangeVersion, event.DocumentId;
