-- sql/sqlserver/queries/operate/prune_kept.sql: the lowest version of the newest document events, null where there are fewer.
-- Binds: keep (events, 1 or more); max_version (inclusive, a horizon). Plan: the primary key from its end on.
SET NOCOUNT ON;
DECLARE @keep bigint = :keep, @max_version bigint = :max_version;
SELECT ChangeVersion AS first_version
FROM dms.DocumentChangeEvent WITH (INDEX (PK_DocumentChangeEvent))
WHERE ChangeVersion <= @max_version
ORDER BY ChangeVersion DESC, DocumentId DESC
OFFSET @keep - 1 ROWS FETCH NEXT 1 ROWS ONLY;
