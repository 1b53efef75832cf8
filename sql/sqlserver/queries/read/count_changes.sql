-- sql/sqlserver/queries/read/count_changes.sql: how many documents of one resource have their derived version in a window.
-- Binds: resource_key_id; min_version, max_version (inclusive; max at most a horizon read before). Gives: total.
-- Plan: the window's ranges of both journals; it reads all of the window.
DECLARE @resource_key_id smallint = :resource_key_id, @min_version bigint = :min_version, @max_version bigint = :max_version;
SELECT COUNT_BIG(*) AS total
FROM dms.ResourceChange
WHERE ResourceKeyId = @resource_key_id AND ChangeVersion >= @min_version AND ChangeVersion <= @max_version;
