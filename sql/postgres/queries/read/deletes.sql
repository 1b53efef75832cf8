-- sql/postgres/queries/read/deletes.sql: the next tombstones of one resource after a version, oldest first; one row at least, for the floor.
-- Binds: resource_key_id; after_version (exclusive); max_version (inclusive, at most a horizon read before); page_size (rows);
--   with_key: whether to give keys; one that cannot be read is passed by without it (dmsjournal/read/unreadable.py).
-- Plan: one range of IX_DocumentDeleteEvent_Resource.
SELECT floor.ChangeVersion AS floor, event.ChangeVersion AS change_version, event.DocumentId AS document_id,
       event.DocumentUuid AS document_uuid, CASE WHEN CAST(:with_key AS integer) = 1 THEN event.KeyValues END AS key_values,
       event.CreatedAt AS deleted_at
FROM dms.JournalFloor AS floor
LEFT JOIN LATERAL (
    SELECT ChangeVersion, DocumentId, DocumentUuid, KeyValues, CreatedAt
    FROM dms.DocumentDeleteEvent
    WHERE ResourceKeyId = ANY (ARRAY[CAST(:resource_key_id AS smallint)])  -- see change_page.sql
      AND ChangeVersion > CAST(:after_version AS bigint) AND ChangeVersion <= CAST(:max_version AS bigint)
    ORDER BY ResourceKeyId, ChangeVersion
    LIMIT CAST(:page_size AS bigint)
) AS event ON true
WHERE floor.Journal = 'DocumentDeleteEvent'
ORDER BY event.ChangeVersion
