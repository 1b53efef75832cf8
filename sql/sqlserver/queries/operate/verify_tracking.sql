-- sql/sqlserver/queries/operate/verify_tracking.sql: tracked tables whose objects, columns or fill are not as they should be (functions/check_tracking.v1.sql).
-- Gives: code (a finding's), table_name, name.
SET NOCOUNT ON;
IF COALESCE(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'VIEW DEFINITION'), 0) = 0
    THROW 50006, N'the user may not see how tables are defined, so it cannot tell what is wrong with a tracked one. GRANT VIEW DEFINITION TO the user, in this database.', 1;
SELECT c.code, c.table_name, c.name FROM dms.check_tracking() AS c ORDER BY c.table_name, c.code, c.name;
