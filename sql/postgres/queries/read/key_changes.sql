-- sql/postgres/queries/read/key_changes.sql: the documents of one resource whose key values differ between the ends of the window, each at
-- its last key change in it, oldest first. The next after a version.
-- Binds: resource_key_id; min_version, max_version (inclusive; max at most a horizon read before); after_version (exclusive);
--   page_size (key change events to scan); with_key: whether to give and compare keys; one that cannot be read is passed by without it
--   (dmsjournal/read/unreadable.py), and then each document's last key change is listed.
-- Gives: one row an event scanned, and one row at least, for the floor. `is_listed` is true for the document's last key change in the
--   window, if the values before its first one differ from those after it: A→B→C is one row, A→B→A none (acceptance 46).
-- Plan: one range of IX_KeyChangeEvent_Resource, and lookups in IX_KeyChangeEvent_Document.
SELECT floor.ChangeVersion AS floor, event.ChangeVersion AS change_version, event.DocumentId AS document_id,
       event.DocumentUuid AS document_uuid, CASE WHEN CAST(:with_key AS integer) = 1 THEN earliest.OldKeyValues END AS old_key_values,
       CASE WHEN CAST(:with_key AS integer) = 1 THEN event.NewKeyValues END AS new_key_values, event.CreatedAt AS changed_at,
       CASE WHEN later.ChangeVersion IS NOT NULL THEN false
            WHEN CAST(:with_key AS integer) = 1 THEN earliest.OldKeyValues IS DISTINCT FROM event.NewKeyValues ELSE true END AS is_listed
FROM dms.JournalFloor AS floor
LEFT JOIN LATERAL (
    SELECT ChangeVersion, DocumentId, DocumentUuid, NewKeyValues, CreatedAt
    FROM dms.KeyChangeEvent
    WHERE ResourceKeyId = ANY (ARRAY[CAST(:resource_key_id AS smallint)])  -- see change_page.sql
      AND ChangeVersion > CAST(:after_version AS bigint) AND ChangeVersion <= CAST(:max_version AS bigint)
    ORDER BY ResourceKeyId, ChangeVersion
    LIMIT CAST(:page_size AS bigint)
) AS event ON true
LEFT JOIN LATERAL (
    SELECT OldKeyValues
    FROM dms.KeyChangeEvent
    WHERE DocumentId = ANY (ARRAY[event.DocumentId]) AND DocumentUuid = event.DocumentUuid  -- of this lifetime
      AND ChangeVersion >= CAST(:min_version AS bigint) AND ChangeVersion <= event.ChangeVersion
    ORDER BY DocumentId, ChangeVersion
    LIMIT 1
) AS earliest ON true
LEFT JOIN LATERAL (
    SELECT ChangeVersion
    FROM dms.KeyChangeEvent
    WHERE DocumentId = ANY (ARRAY[event.DocumentId]) AND DocumentUuid = event.DocumentUuid
      AND ChangeVersion > event.ChangeVersion AND ChangeVersion <= CAST(:max_version AS bigint)
    ORDER BY DocumentId, ChangeVersion
    LIMIT 1
) AS later ON true
WHERE floor.Journal = 'KeyChangeEvent'
ORDER BY event.ChangeVersion
