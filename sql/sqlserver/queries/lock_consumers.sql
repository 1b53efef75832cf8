-- sql/sqlserver/queries/lock_consumers.sql: no batch of a prune begins until this transaction ends, and none is on its way.
SET NOCOUNT ON;
DECLARE @status int, @journals int;
SELECT @journals = COUNT(*) FROM dms.JournalFloor;  -- begins the transaction, which no procedure call does by itself
EXEC @status = sys.sp_getapplock @Resource = N'dmsjournal consumers', @LockMode = N'Shared', @LockOwner = N'Transaction', @LockTimeout = -1;
IF @status < 0
    THROW 50005, N'the lock on consumers could not be taken. Try again.', 1;
