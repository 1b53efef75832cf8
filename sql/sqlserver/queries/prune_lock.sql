-- sql/sqlserver/queries/prune_lock.sql: one prune at a time: a lock of the session, which ends with it. Waits for nobody. Gives: taken.
SET NOCOUNT ON;
DECLARE @status int;
EXEC @status = sys.sp_getapplock @Resource = N'dmsjournal prune', @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0;
SELECT CASE WHEN @status >= 0 THEN 1 ELSE 0 END AS taken;
