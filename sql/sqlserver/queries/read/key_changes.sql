-- sql/sqlserver/queries/read/key_changes.sql: the documents of one resource whose key values differ between the ends of the window, each at
-- its last key change in it, oldest first. The next after a version.
-- Binds: resource_key_id; min_version, max_version (inclusive; max at most a horizon read before); after_version (exclusive);
--   page_size (key change events to scan); with_key: whether to give and compare keys; one that cannot be read is passed by without it
--   (dmsjournal/read/unreadable.py), and then each document's last key change is listed.
-- Gives: one row an event scanned, and one row at least, for the floor. `is_listed` is true for the document's last key change in the
--   window, if the values before its first one differ from those after it: A→B→C is one row, A→B→A none (acceptance 46).
-- Plan: one range of IX_KeyChangeEvent_Resource, and lookups in IX_KeyChangeEvent_Document; named as change_page.sql tells.
-- The floor is read in a statement of its own, after the rows: see deletes.sql. What a prune takes between the rows and their document's
-- other events is below the floor that is read then, too.
SET NOCOUNT ON;
DECLARE @resource_key_id smallint = :resource_key_id, @min_version bigint = :min_version, @after_version bigint = :after_version,
        @max_version bigint = :max_version, @page_size bigint = :page_size, @with_key bit = :with_key;
DECLARE @event TABLE (
    ChangeVersion bigint           NOT NULL PRIMARY KEY,
    DocumentId    bigint           NOT NULL,
    DocumentUuid  uniqueidentifier NOT NULL,
    OldKeyValues  nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    NewKeyValues  nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    CreatedAt     datetime2(7)     NOT NULL,
    IsLast        bit              NOT NULL
);
INSERT INTO @event (ChangeVersion, DocumentId, DocumentUuid, OldKeyValues, NewKeyValues, CreatedAt, IsLast)
SELECT event.ChangeVersion, event.DocumentId, event.DocumentUuid, earliest.OldKeyValues, event.NewKeyValues, event.CreatedAt,
       CASE WHEN later.ChangeVersion IS NULL THEN 1 ELSE 0 END
FROM (
    SELECT TOP (@page_size) ChangeVersion, DocumentId, DocumentUuid, NewKeyValues, CreatedAt
    FROM dms.KeyChangeEvent WITH (INDEX (IX_KeyChangeEvent_Resource), FORCESEEK)
    WHERE ResourceKeyId = @resource_key_id AND ChangeVersion > @after_version AND ChangeVersion <= @max_version
    ORDER BY ChangeVersion
) AS event
OUTER APPLY (
    SELECT TOP (1) OldKeyValues
    FROM dms.KeyChangeEvent WITH (INDEX (IX_KeyChangeEvent_Document), FORCESEEK)
    WHERE DocumentId = event.DocumentId AND DocumentUuid = event.DocumentUuid AND ChangeVersion >= @min_version  -- of this lifetime
    ORDER BY ChangeVersion
) AS earliest
OUTER APPLY (
    SELECT TOP (1) ChangeVersion
    FROM dms.KeyChangeEvent WITH (INDEX (IX_KeyChangeEvent_Document), FORCESEEK)
    WHERE DocumentId = event.DocumentId AND DocumentUuid = event.DocumentUuid
      AND ChangeVersion > event.ChangeVersion AND ChangeVersion <= @max_version
    ORDER BY ChangeVersion
) AS later;
SELECT floor.ChangeVersion AS floor, event.ChangeVersion AS change_version, event.DocumentId AS document_id,
       event.DocumentUuid AS document_uuid, CASE WHEN @with_key = 1 THEN event.OldKeyValues END AS old_key_values,
       CASE WHEN @with_key = 1 THEN event.NewKeyValues END AS new_key_values,
       event.CreatedAt AS changed_at,
       CASE WHEN event.IsLast = 1 AND (
                @with_key = 0 OR event.OldKeyValues <> event.NewKeyValues
                OR (event.OldKeyValues IS NULL AND event.NewKeyValues IS NOT NULL)
                OR (event.OldKeyValues IS NOT NULL AND event.NewKeyValues IS NULL)) THEN 1 ELSE 0 END AS is_listed
FROM dms.JournalFloor AS floor LEFT JOIN @event AS event ON 1 = 1
WHERE floor.Journal = N'KeyChangeEvent'
ORDER BY event.ChangeVersion;
