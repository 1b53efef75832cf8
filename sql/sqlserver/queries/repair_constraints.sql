-- sql/sqlserver/queries/repair_constraints.sql: enables the foreign keys and checks of schema dms, and validates them: rows that broke
-- one meanwhile are found as dangling edges, and must have been repaired before.
SET NOCOUNT ON;
DECLARE @statement nvarchar(max) = N'';
SELECT @statement = @statement + N'ALTER TABLE dms.' + QUOTENAME(OBJECT_NAME(found.parent_object_id)) + N' WITH CHECK CHECK CONSTRAINT '
    + QUOTENAME(found.name) + N'; '
FROM (
    SELECT parent_object_id, name FROM sys.foreign_keys
    WHERE schema_id = SCHEMA_ID(N'dms') AND (is_disabled = 1 OR is_not_trusted = 1)
    UNION ALL
    SELECT parent_object_id, name FROM sys.check_constraints
    WHERE schema_id = SCHEMA_ID(N'dms') AND (is_disabled = 1 OR is_not_trusted = 1)
) AS found;
EXEC sys.sp_executesql @statement;
