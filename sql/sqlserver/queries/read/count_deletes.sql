-- sql/sqlserver/queries/read/count_deletes.sql: how many tombstones of one resource lie in a window.
-- Binds: resource_key_id; min_version, max_version (inclusive; max at most a horizon read before). Gives: total.
-- Plan: one range of IX_DocumentDeleteEvent_Resource.
DECLARE @resource_key_id smallint = :resource_key_id, @min_version bigint = :min_version, @max_version bigint = :max_version;
SELECT COUNT_BIG(*) AS total
FROM dms.DocumentDeleteEvent
WHERE ResourceKeyId = @resource_key_id AND ChangeVersion >= @min_version AND ChangeVersion <= @max_version;
