-- sql/postgres/queries/read/part_deletes.sql: the tombstones in a part of a plan, in no order.
-- Binds: resource_key_ids (JSON array, each once); first_version, last_version (inclusive, at most a horizon read before); from_id, through_id
--   (inclusive: at first_version only documents from from_id on, at last_version only those up to through_id); with_keys (1 or 0: what is
--   not wanted is null).
-- Gives: resource, change_version, committed_at, document_id, uuid, keys, old_keys, body_text; JSON as text, in columns that are not named as
--   those that dmsjournal/database/columns.py decodes. The three part_ queries give the same.
-- Plan: a range of the primary key or of IX_DocumentDeleteEvent_Resource.
SELECT concat_ws('/', resource.ProjectName, resource.ResourceName, resource.ResourceVersion) AS resource,
       event.ChangeVersion AS change_version, event.CreatedAt AS committed_at,
       event.DocumentId AS document_id, CAST(event.DocumentUuid AS text) AS uuid,
       CASE WHEN CAST(:with_keys AS integer) = 1 THEN CAST(event.KeyValues AS text) END AS keys, CAST(NULL AS text) AS old_keys,
       CAST(NULL AS text) AS body_text
FROM dms.DocumentDeleteEvent AS event
JOIN dms.ResourceKey AS resource ON resource.ResourceKeyId = event.ResourceKeyId
WHERE event.ResourceKeyId = ANY (ARRAY(SELECT CAST(value AS smallint) FROM jsonb_array_elements_text(CAST(:resource_key_ids AS jsonb)) AS listed (value)))
  AND event.ChangeVersion BETWEEN CAST(:first_version AS bigint) AND CAST(:last_version AS bigint)
  AND (event.ChangeVersion > CAST(:first_version AS bigint) OR event.DocumentId >= CAST(:from_id AS bigint))
  AND (event.ChangeVersion < CAST(:last_version AS bigint) OR event.DocumentId <= CAST(:through_id AS bigint))
