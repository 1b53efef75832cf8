-- sql/sqlserver/checks/one_at_a_time.sql: a second migration waits for the first, at most for the lock timeout.
-- With autocommit off a driver leaves it to the first CREATE, SELECT, INSERT … to begin the transaction. EXEC begins none, and the lock belongs to
-- one; there may be no table of ours to read yet.
DECLARE @status int;
CREATE TABLE #dmsjournal_begins (nothing bit NULL);
DROP TABLE #dmsjournal_begins;
EXEC @status = sys.sp_getapplock @Resource = N'dmsjournal migration', @LockMode = N'Exclusive', @LockOwner = N'Transaction',
    @LockTimeout = {lock_timeout};
IF @status = -999
    THROW 50006, N'the migration runs outside a transaction, so the server refuses its lock (sp_getapplock -999). Run it with autocommit off, or begin a transaction first.', 1;
IF @status NOT IN (0, 1)
    THROW 50009, N'another migration is on its way. Wait for it to end, or give the lock timeout more.', 1;
