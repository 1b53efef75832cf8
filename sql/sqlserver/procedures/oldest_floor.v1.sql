-- sql/sqlserver/procedures/oldest_floor.v1.sql: the lowest floor that a transaction in this database holds; null where nobody writes.
-- The inverse of enter_change's resource name, of which the view shows 32 characters: 0:[dmsjournal:<floor>]:(<hash>).
-- The caller needs VIEW SERVER STATE (VIEW SERVER PERFORMANCE STATE from 2022 on, VIEW DATABASE STATE in Azure SQL Database), or this
-- procedure a signature: roles/sign_horizon.sql.
CREATE PROCEDURE dms.oldest_floor @oldest bigint OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SELECT @oldest = MIN(TRY_CAST(SUBSTRING(held.name, 1, CHARINDEX(N']', held.name + N']') - 1) AS bigint))
    FROM (
        SELECT SUBSTRING(resource_description, CHARINDEX(N'[dmsjournal:', resource_description) + 12, 64) AS name
        FROM sys.dm_tran_locks
        WHERE resource_type = N'APPLICATION' AND resource_database_id = DB_ID() AND request_status = N'GRANT'
          AND resource_description LIKE N'%![dmsjournal:[0-9]%' ESCAPE N'!'
    ) AS held;
END;
