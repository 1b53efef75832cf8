-- sql/sqlserver/queries/database/begin_page.sql: the horizon, before the statement that reads a page in the same transaction.
-- Gives: horizon, newest and history, as horizon.sql does.
SET NOCOUNT ON;
DECLARE @horizon bigint, @newest bigint, @started datetime;
EXEC dms.horizon @horizon OUTPUT, @newest OUTPUT;
SELECT @started = create_date FROM sys.databases WHERE name = N'tempdb';
IF @started IS NULL  -- Azure SQL Database does not tell; there the right to see the locks, which the horizon needs, shows this too
    SELECT @started = sqlserver_start_time FROM sys.dm_os_sys_info;
SELECT @horizon AS horizon, @newest AS newest,
       CONCAT(CONVERT(nvarchar(30), @started, 126), N' ',
              OBJECT_ID(N'dms.ChangeVersionSequence'), N' ', DB_NAME()) AS history;
