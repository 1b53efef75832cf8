-- sql/sqlserver/queries/schema/adopt_alone.sql: whether this session is the only one that adopts, to its end. Gives: alone.
SET NOCOUNT ON;
DECLARE @status int;
EXEC @status = sys.sp_getapplock @Resource = N'dmsjournal adoption', @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0;
SELECT CASE WHEN @status IN (0, 1) THEN 1 ELSE 0 END AS alone;
