-- sql/sqlserver/queries/begin_page.sql: the horizon, before the statement that reads a page in the same transaction.
-- Gives: horizon, newest and history, as horizon.sql does.
SET NOCOUNT ON;
DECLARE @horizon bigint, @newest bigint;
EXEC dms.horizon @horizon OUTPUT, @newest OUTPUT;
SELECT @horizon AS horizon, @newest AS newest,
       CONCAT(CONVERT(nvarchar(30), (SELECT create_date FROM sys.databases WHERE name = N'tempdb'), 126), N' ',
              OBJECT_ID(N'dms.ChangeVersionSequence'), N' ', DB_NAME()) AS history;
