-- sql/postgres/queries/read/count_changes.sql: how many documents of one resource have their derived version in a window.
-- Binds: resource_key_id; min_version, max_version (inclusive; max at most a horizon read before). Gives: total.
-- Plan: the window's ranges of both journals; it reads all of the window.
SELECT count(*) AS total
FROM dms.ResourceChange
WHERE ResourceKeyId = CAST(:resource_key_id AS smallint)
  AND ChangeVersion >= CAST(:min_version AS bigint) AND ChangeVersion <= CAST(:max_version AS bigint)
