-- sql/sqlserver/queries/read/part_key_changes.sql: the documents in a part of a plan whose key values differ between the ends of the window,
-- each at its last key change in it (acceptance 46), in no order.
-- Binds: resource_key_ids (JSON array, each once); first_version, last_version (inclusive, at most a horizon read before); from_id, through_id
--   (inclusive: at first_version only documents from from_id on, at last_version only those up to through_id); min_version, max_version (the window,
--   inclusive); with_keys (1 or 0: what is not wanted is null).
-- Gives: resource, change_version, committed_at, document_id, uuid, keys, old_keys, body_text; JSON as text, in columns that are not named as
--   those that dmsjournal/database/columns.py decodes. The three part_ queries give the same.
-- Plan: a range of the primary key or of IX_KeyChangeEvent_Resource, and lookups in IX_KeyChangeEvent_Document.
SET NOCOUNT ON;
DECLARE @resource_key_ids nvarchar(max) = :resource_key_ids, @first_version bigint = :first_version,
        @last_version bigint = :last_version, @from_id bigint = :from_id, @through_id bigint = :through_id,
        @min_version bigint = :min_version, @max_version bigint = :max_version,
        @with_keys bit = :with_keys;
DECLARE @wanted TABLE (ResourceKeyId smallint NOT NULL PRIMARY KEY);
INSERT INTO @wanted (ResourceKeyId) SELECT DISTINCT CAST(value AS smallint) FROM OPENJSON(@resource_key_ids);
SELECT CONCAT(resource.ProjectName, N'/', resource.ResourceName, N'/', resource.ResourceVersion) AS resource,
       event.ChangeVersion AS change_version, event.CreatedAt AS committed_at,
       event.DocumentId AS document_id, LOWER(CONVERT(nvarchar(36), event.DocumentUuid)) AS uuid,
       CAST(CASE WHEN @with_keys = 1 THEN event.NewKeyValues END AS nvarchar(max)) AS keys,
       CAST(CASE WHEN @with_keys = 1 THEN earliest.OldKeyValues END AS nvarchar(max)) AS old_keys, CAST(NULL AS nvarchar(max)) AS body_text
FROM dms.KeyChangeEvent AS event
INNER JOIN dms.ResourceKey AS resource ON resource.ResourceKeyId = event.ResourceKeyId
CROSS APPLY (
    SELECT TOP (1) OldKeyValues
    FROM dms.KeyChangeEvent
    WHERE DocumentId = event.DocumentId AND DocumentUuid = event.DocumentUuid AND ChangeVersion >= @min_version  -- of this lifetime
    ORDER BY ChangeVersion
) AS earliest
WHERE event.ResourceKeyId IN (SELECT ResourceKeyId FROM @wanted)
  AND event.ChangeVersion BETWEEN @first_version AND @last_version
  AND (event.ChangeVersion > @first_version OR event.DocumentId >= @from_id)
  AND (event.ChangeVersion < @last_version OR event.DocumentId <= @through_id)
  AND (earliest.OldKeyValues <> event.NewKeyValues
       OR (earliest.OldKeyValues IS NULL AND event.NewKeyValues IS NOT NULL)
       OR (earliest.OldKeyValues IS NOT NULL AND event.NewKeyValues IS NULL))
  AND NOT EXISTS (
      SELECT * FROM dms.KeyChangeEvent AS later
      WHERE later.DocumentId = event.DocumentId AND later.DocumentUuid = event.DocumentUuid
        AND later.ChangeVersion > event.ChangeVersion AND later.ChangeVersion <= @max_version)
OPTION (RECOMPILE);
