-- sql/sqlserver/queries/read/deletes.sql: the next tombstones of one resource after a version, oldest first; one row at least, for the floor.
-- Binds: resource_key_id; after_version (exclusive); max_version (inclusive, at most a horizon read before); page_size (rows);
--   with_key: whether to give keys; one that cannot be read is passed by without it (dmsjournal/read/unreadable.py).
-- Plan: one range of IX_DocumentDeleteEvent_Resource; named as change_page.sql tells.
-- The floor is read in a statement of its own, after the rows: where each row is read at a time of its own (plain READ COMMITTED), a prune
-- may delete some between the two, and its floor must be seen then. The other way round the page would be short, and nobody told.
SET NOCOUNT ON;
DECLARE @resource_key_id smallint = :resource_key_id, @after_version bigint = :after_version, @max_version bigint = :max_version,
        @page_size bigint = :page_size, @with_key bit = :with_key;
DECLARE @event TABLE (
    ChangeVersion bigint           NOT NULL PRIMARY KEY,
    DocumentId    bigint           NOT NULL,
    DocumentUuid  uniqueidentifier NOT NULL,
    KeyValues     nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    CreatedAt     datetime2(7)     NOT NULL
);
INSERT INTO @event (ChangeVersion, DocumentId, DocumentUuid, KeyValues, CreatedAt)
SELECT TOP (@page_size) ChangeVersion, DocumentId, DocumentUuid, KeyValues, CreatedAt
FROM dms.DocumentDeleteEvent WITH (INDEX (IX_DocumentDeleteEvent_Resource), FORCESEEK)
WHERE ResourceKeyId = @resource_key_id AND ChangeVersion > @after_version AND ChangeVersion <= @max_version
ORDER BY ChangeVersion;
SELECT floor.ChangeVersion AS floor, event.ChangeVersion AS change_version, event.DocumentId AS document_id,
       event.DocumentUuid AS document_uuid, CASE WHEN @with_key = 1 THEN event.KeyValues END AS key_values,
       event.CreatedAt AS deleted_at
FROM dms.JournalFloor AS floor LEFT JOIN @event AS event ON 1 = 1
WHERE floor.Journal = N'DocumentDeleteEvent'
ORDER BY event.ChangeVersion;
