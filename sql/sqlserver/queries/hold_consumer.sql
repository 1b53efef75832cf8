-- sql/sqlserver/queries/hold_consumer.sql: one program at a time reads as a consumer: a lock of the session, which ends with it. Waits for
-- nobody. Binds: name. Gives: taken. The lock's name has a hash of the consumer's: sys.dm_tran_locks shows 32 characters.
SET NOCOUNT ON;
DECLARE @status int;
DECLARE @hash bigint = CAST(SUBSTRING(HASHBYTES('SHA2_256', CAST(:name AS nvarchar(256))), 1, 8) AS bigint);
DECLARE @resource nvarchar(255) = N'dmsjournal ' + CONVERT(nvarchar(20), @hash);
EXEC @status = sys.sp_getapplock @Resource = @resource, @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0;
SELECT CASE WHEN @status >= 0 THEN 1 ELSE 0 END AS taken;
