-- sql/postgres/queries/operate/prune_kept.sql: the lowest version of the newest document events, null where there are fewer.
-- Binds: keep (events, 1 or more); max_version (inclusive, a horizon). Plan: the primary key from its end on, index-only.
SELECT ChangeVersion AS first_version
FROM dms.DocumentChangeEvent
WHERE ChangeVersion <= CAST(:max_version AS bigint)
ORDER BY ChangeVersion DESC, DocumentId DESC
OFFSET CAST(:keep AS bigint) - 1 LIMIT 1
