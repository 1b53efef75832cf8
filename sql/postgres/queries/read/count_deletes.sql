-- sql/postgres/queries/read/count_deletes.sql: how many tombstones of one resource lie in a window.
-- Binds: resource_key_id; min_version, max_version (inclusive; max at most a horizon read before). Gives: total.
-- Plan: one range of IX_DocumentDeleteEvent_Resource.
SELECT count(*) AS total
FROM dms.DocumentDeleteEvent
WHERE ResourceKeyId = CAST(:resource_key_id AS smallint)
  AND ChangeVersion >= CAST(:min_version AS bigint) AND ChangeVersion <= CAST(:max_version AS bigint)
