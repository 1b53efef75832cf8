-- sql/sqlserver/checks/one_at_a_time.sql: a second migration waits for the first, at most for the lock timeout.
DECLARE @status int;
EXEC @status = sys.sp_getapplock @Resource = N'dmsjournal migration', @LockMode = N'Exclusive', @LockOwner = N'Transaction',
    @LockTimeout = {lock_timeout};
IF @status < 0
    THROW 50009, N'another migration is on its way. Wait for it to end, or give the lock timeout more.', 1;
