-- sql/sqlserver/queries/read/first_at.sql: the first event from a version on whose time is not before another time, in version order.
-- Binds: from_version (inclusive); max_version (inclusive, at most a horizon that was read before); at (ISO 8601 in UTC, without a zone); null:
--   the first event of all. Gives: one row; change_version and created_at, null where there is none.
-- Plan: the journals' primary keys from from_version to the event that is found.
SET NOCOUNT ON;
DECLARE @from_version bigint = :from_version, @max_version bigint = :max_version, @at datetime2(7) = CAST(:at AS datetime2(7));
SELECT nearest.ChangeVersion AS change_version, nearest.CreatedAt AS created_at
FROM (SELECT 1 AS number) AS one
OUTER APPLY (
    SELECT TOP (1) either.ChangeVersion, either.CreatedAt
    FROM (
        SELECT changed.ChangeVersion, changed.CreatedAt
        FROM (SELECT TOP (1) ChangeVersion, CreatedAt FROM dms.DocumentChangeEvent WITH (INDEX (PK_DocumentChangeEvent))
              WHERE ChangeVersion >= @from_version AND ChangeVersion <= @max_version AND (@at IS NULL OR CreatedAt >= @at)
              ORDER BY ChangeVersion) AS changed
        UNION ALL
        SELECT deleted.ChangeVersion, deleted.CreatedAt
        FROM (SELECT TOP (1) ChangeVersion, CreatedAt FROM dms.DocumentDeleteEvent WITH (INDEX (PK_DocumentDeleteEvent))
              WHERE ChangeVersion >= @from_version AND ChangeVersion <= @max_version AND (@at IS NULL OR CreatedAt >= @at)
              ORDER BY ChangeVersion) AS deleted
    ) AS either
    ORDER BY either.ChangeVersion
) AS nearest;
