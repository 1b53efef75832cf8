-- sql/sqlserver/queries/operate/repair_constraints.sql: what makes foreign keys and checks hold again, and validates them, each for a transaction of its
-- own: so that rows that break one leave the others right. Rows that broke a foreign key meanwhile are found as dangling edges.
-- Binds: names (JSON array of constraints of ours). Gives: statement.
SET NOCOUNT ON;
DECLARE @names nvarchar(max) = :names;
SELECT CONCAT(CAST(N'ALTER TABLE dms.' AS nvarchar(max)), QUOTENAME(OBJECT_NAME(found.parent_object_id)), N' WITH CHECK CHECK CONSTRAINT ', QUOTENAME(found.name), N';') AS statement
FROM (
    SELECT parent_object_id, name FROM sys.foreign_keys
    WHERE schema_id = SCHEMA_ID(N'dms') AND (is_disabled = 1 OR is_not_trusted = 1)
    UNION ALL
    SELECT parent_object_id, name FROM sys.check_constraints
    WHERE schema_id = SCHEMA_ID(N'dms') AND (is_disabled = 1 OR is_not_trusted = 1)
) AS found
WHERE LOWER(found.name COLLATE Latin1_General_100_BIN2) IN (SELECT LOWER(value COLLATE Latin1_General_100_BIN2) FROM OPENJSON(@names))
ORDER BY found.name;
