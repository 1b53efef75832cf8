-- sql/sqlserver/procedures/lock_consumers.v1.sql: until the transaction ends, no batch of a prune is on its way (@mode Shared: register_consumer and
-- move_consumer), or no consumer is registered or moved (Exclusive: prune_begin.sql). Waits as long as the session waits for a lock.
-- Of users, a pruner has EXECUTE on this: no other user can take this lock (lock_name.v1.sql).
CREATE PROCEDURE dms.lock_consumers @mode nvarchar(16)
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @name nvarchar(80), @status int, @wait int = @@LOCK_TIMEOUT;
    EXEC dms.lock_name N'consumers', @name OUTPUT;
    EXEC @status = sys.sp_getapplock @Resource = @name, @LockMode = @mode, @LockOwner = N'Transaction', @LockTimeout = @wait;
    IF @status = -999
        THROW 50008, N'the lock on consumers belongs to a transaction, and none is open (sp_getapplock -999). BEGIN TRANSACTION first.', 1;
    IF @status NOT IN (0, 1)
        THROW 50005, N'the lock on consumers could not be taken within the lock timeout. Try again.', 1;
END;
-- drop: DROP PROCEDURE dms.lock_consumers;
