-- sql/postgres/queries/read/part_changes.sql: the documents in a part of a plan, each at its derived version, in no order.
-- Binds: resource_key_ids (JSON array, each once); first_version, last_version (inclusive, at most a horizon read before); from_id, through_id
--   (inclusive: at first_version only documents from from_id on, at last_version only those up to through_id); with_keys, with_bodies (1 or 0: what is
--   not wanted is null).
-- Gives: resource, change_version, committed_at, document_id, uuid, keys, old_keys, body_text; JSON as text, in columns that are not named as
--   those that dmsjournal/database/columns.py decodes. The three part_ queries give the same.
-- Plan: dms.ResourceChange's, over the part's range of both journals. The range of ids says again, where the part lies in one version, what
--   the two lines before it say, in a form that an index takes.
SELECT concat_ws('/', resource.ProjectName, resource.ResourceName, resource.ResourceVersion) AS resource,
       change.ChangeVersion AS change_version, change.CommittedAt AS committed_at,
       change.DocumentId AS document_id, CAST(change.DocumentUuid AS text) AS uuid,
       CASE WHEN CAST(:with_keys AS integer) = 1 THEN CAST(change.KeyValues AS text) END AS keys, CAST(NULL AS text) AS old_keys,
       CASE WHEN CAST(:with_bodies AS integer) = 1 THEN CAST(cache.DocumentJson AS text) END AS body_text
FROM dms.ResourceChange AS change
JOIN dms.ResourceKey AS resource ON resource.ResourceKeyId = change.ResourceKeyId
LEFT JOIN dms.DocumentCache AS cache ON CAST(:with_bodies AS integer) = 1 AND cache.DocumentId = change.DocumentId
WHERE change.ResourceKeyId = ANY (ARRAY(SELECT CAST(value AS smallint) FROM jsonb_array_elements_text(CAST(:resource_key_ids AS jsonb)) AS listed (value)))
  AND change.ChangeVersion BETWEEN CAST(:first_version AS bigint) AND CAST(:last_version AS bigint)
  AND (change.ChangeVersion > CAST(:first_version AS bigint) OR change.DocumentId >= CAST(:from_id AS bigint))
  AND (change.ChangeVersion < CAST(:last_version AS bigint) OR change.DocumentId <= CAST(:through_id AS bigint))
  AND change.DocumentId BETWEEN
      CASE WHEN CAST(:first_version AS bigint) = CAST(:last_version AS bigint) THEN CAST(:from_id AS bigint) ELSE -9223372036854775808 END
      AND CASE WHEN CAST(:first_version AS bigint) = CAST(:last_version AS bigint) THEN CAST(:through_id AS bigint) ELSE 9223372036854775807 END
