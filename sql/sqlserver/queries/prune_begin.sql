-- sql/sqlserver/queries/prune_begin.sql: begins a batch: no consumer is registered or put back until it ends, so that whoever is there
-- afterwards was heeded, or sees the floor.
SET NOCOUNT ON;
DECLARE @status int, @journals int;
SELECT @journals = COUNT(*) FROM dms.JournalFloor;  -- begins the transaction, which no procedure call does by itself
EXEC @status = sys.sp_getapplock @Resource = N'dmsjournal consumers', @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = -1;
IF @status < 0
    THROW 50005, N'the lock on consumers could not be taken. Try again.', 1;
