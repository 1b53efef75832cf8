-- sql/sqlserver/queries/spark/sources/key_changes.sql: what a Spark job reads a window's key changes from: a document whose key values differ between the
-- ends of the window, once, at its last key change in it.
-- Binds: min_version, max_version (inclusive; max at most a horizon read before): the whole window, of which Spark reads parts. It puts this
--   in a FROM, and bounds it by change_version and resource_key_id.
-- Plan: ranges of the journal, and lookups in IX_KeyChangeEvent_Document; the lookups are key_changes.sql's.
SELECT event.ResourceKeyId AS resource_key_id, resource.ProjectName + N'/' + resource.ResourceName + N'/' + resource.ResourceVersion AS resource,
       event.ChangeVersion AS change_version, event.DocumentId AS document_id,
       LOWER(CAST(event.DocumentUuid AS varchar(36))) AS document_uuid, earliest.OldKeyValues AS old_key_values,
       event.NewKeyValues AS new_key_values, TODATETIMEOFFSET(event.CreatedAt, 0) AS committed_at
FROM dms.KeyChangeEvent AS event
CROSS APPLY (
    SELECT TOP (1) OldKeyValues
    FROM dms.KeyChangeEvent WITH (INDEX (IX_KeyChangeEvent_Document), FORCESEEK)
    WHERE DocumentId = event.DocumentId AND DocumentUuid = event.DocumentUuid AND ChangeVersion >= :min_version  -- of this lifetime
    ORDER BY ChangeVersion
) AS earliest
LEFT JOIN dms.ResourceKey AS resource ON resource.ResourceKeyId = event.ResourceKeyId
WHERE (earliest.OldKeyValues <> event.NewKeyValues
       OR (earliest.OldKeyValues IS NULL AND event.NewKeyValues IS NOT NULL)
       OR (earliest.OldKeyValues IS NOT NULL AND event.NewKeyValues IS NULL))
  AND NOT EXISTS (
      SELECT * FROM dms.KeyChangeEvent AS later
      WHERE later.DocumentId = event.DocumentId AND later.DocumentUuid = event.DocumentUuid
        AND later.ChangeVersion > event.ChangeVersion AND later.ChangeVersion <= :max_version)
