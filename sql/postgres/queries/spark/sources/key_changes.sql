-- sql/postgres/queries/spark/sources/key_changes.sql: what a Spark job reads a window's key changes from: a document whose key values differ between the
-- ends of the window, once, at its last key change in it.
-- Binds: min_version, max_version (inclusive; max at most a horizon read before): the whole window, of which Spark reads parts. It puts this
--   in a FROM, and bounds it by change_version and resource_key_id.
-- Plan: ranges of the journal, and lookups in IX_KeyChangeEvent_Document; the lookups are key_changes.sql's.
SELECT event.ResourceKeyId AS resource_key_id, resource.ProjectName || '/' || resource.ResourceName || '/' || resource.ResourceVersion AS resource,
       event.ChangeVersion AS change_version, event.DocumentId AS document_id,
       CAST(event.DocumentUuid AS text) AS document_uuid, CAST(earliest.OldKeyValues AS text) AS old_key_values,
       CAST(event.NewKeyValues AS text) AS new_key_values, event.CreatedAt AS committed_at
FROM dms.KeyChangeEvent AS event
CROSS JOIN LATERAL (
    SELECT OldKeyValues
    FROM dms.KeyChangeEvent
    WHERE DocumentId = ANY (ARRAY[event.DocumentId]) AND DocumentUuid = event.DocumentUuid  -- of this lifetime
      AND ChangeVersion >= CAST(:min_version AS bigint)
    ORDER BY DocumentId, ChangeVersion
    LIMIT 1
) AS earliest
LEFT JOIN dms.ResourceKey AS resource ON resource.ResourceKeyId = event.ResourceKeyId
WHERE earliest.OldKeyValues IS DISTINCT FROM event.NewKeyValues
  AND NOT EXISTS (
      SELECT FROM dms.KeyChangeEvent AS later
      WHERE later.DocumentId = event.DocumentId AND later.DocumentUuid = event.DocumentUuid
        AND later.ChangeVersion > event.ChangeVersion AND later.ChangeVersion <= CAST(:max_version AS bigint))
