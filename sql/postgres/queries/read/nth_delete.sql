-- sql/postgres/queries/read/nth_delete.sql: the version of the n-th tombstone of some resources in a window; no row where there are fewer.
-- Binds: resource_key_ids (JSON array, each once); first_version, last_version (inclusive); number (1 or more). Gives: change_version.
-- Plan: a range of IX_DocumentDeleteEvent_Resource for each of the resources, up to `number` entries.
SELECT event.ChangeVersion AS change_version
FROM jsonb_array_elements_text(CAST(:resource_key_ids AS jsonb)) AS wanted (ResourceKeyId)
CROSS JOIN LATERAL (
    SELECT ChangeVersion FROM dms.DocumentDeleteEvent
    WHERE ResourceKeyId = ANY (ARRAY[CAST(wanted.ResourceKeyId AS smallint)])  -- see change_page.sql
      AND ChangeVersion BETWEEN CAST(:first_version AS bigint) AND CAST(:last_version AS bigint)
    ORDER BY ResourceKeyId, ChangeVersion
    LIMIT CAST(:number AS bigint)
) AS event
ORDER BY event.ChangeVersion
OFFSET CAST(:number AS bigint) - 1
LIMIT 1
