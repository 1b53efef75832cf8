-- sql/sqlserver/queries/horizon.sql: the horizon; in a statement of its own, before the one that reads (invariant 5).
-- Gives: horizon; newest, the last stamp that was given; history, which differs after a restart (tempdb is made anew), and in another database or installation.
SET NOCOUNT ON;
DECLARE @horizon bigint, @newest bigint;
EXEC dms.horizon @horizon OUTPUT, @newest OUTPUT;
SELECT @horizon AS horizon, @newest AS newest,
       CONCAT(CONVERT(nvarchar(30), (SELECT create_date FROM sys.databases WHERE name = N'tempdb'), 126), N' ',
              OBJECT_ID(N'dms.ChangeVersionSequence'), N' ', DB_NAME()) AS history;
