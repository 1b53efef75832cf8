-- sql/sqlserver/queries/operate/status_server.sql: the database, its clock, and the last stamp that was given, committed or not.
-- Gives one row: now; server; database_name; database_bytes; last_stamp (0 where none was given, null where the user may not see it).
-- Read it before the horizon: what is given between the two is no lag.
SET NOCOUNT ON;
DECLARE @last_stamp bigint;
IF HAS_PERMS_BY_NAME(N'dms.newest_stamp', N'OBJECT', N'EXECUTE') = 1
    EXEC dms.newest_stamp @last_stamp OUTPUT;
SELECT SYSUTCDATETIME() AS now,
       N'SQL Server ' + CAST(SERVERPROPERTY(N'ProductVersion') AS nvarchar(128)) AS server,
       DB_NAME() AS database_name,
       (SELECT SUM(CAST(size AS bigint)) * 8192 FROM sys.database_files) AS database_bytes,
       @last_stamp AS last_stamp;
