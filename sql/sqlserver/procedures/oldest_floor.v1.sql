-- sql/sqlserver/procedures/oldest_floor.v1.sql: the lowest floor that a transaction in this database holds; null where nobody writes.
-- The view shows 32 characters of a lock's name: 0:[dmsjournal:<floor>:<code>]:(<hash>). Any user may take a lock that looks like that: a floor
-- counts where its lock is held under the whole name (is_floor_held.v1.sql). The lowest that counts is looked for, so one look is the rule.
-- The caller needs VIEW SERVER STATE (VIEW SERVER PERFORMANCE STATE from 2022 on, VIEW DATABASE STATE in Azure SQL Database), or this
-- procedure a signature: roles/sign_horizon.sql.
CREATE PROCEDURE dms.oldest_floor @oldest bigint OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @is_held bit = 0;
    DECLARE @seen TABLE (Floor bigint NOT NULL PRIMARY KEY);
    INSERT INTO @seen (Floor)
    SELECT DISTINCT named.floor
    FROM (
        SELECT SUBSTRING(resource_description, CHARINDEX(N'[dmsjournal:', resource_description) + 12, 64) AS name
        FROM sys.dm_tran_locks
        WHERE resource_type = N'APPLICATION' AND resource_database_id = DB_ID() AND request_status = N'GRANT'
          AND resource_description LIKE N'%![dmsjournal:[0-9]%' ESCAPE N'!'
    ) AS held
    CROSS APPLY (SELECT TRY_CAST(SUBSTRING(held.name, 1, PATINDEX(N'%[^0-9]%', held.name + N']') - 1) AS bigint) AS floor) AS named
    WHERE named.floor IS NOT NULL;
    WHILE 1 = 1
    BEGIN
        SELECT @oldest = MIN(Floor) FROM @seen;
        IF @oldest IS NULL
            RETURN;
        EXEC dms.is_floor_held @oldest, @is_held OUTPUT;
        IF @is_held = 1
            RETURN;
        DELETE FROM @seen WHERE Floor = @oldest;
    END;
END;
-- drop: DROP PROCEDURE dms.oldest_floor;
