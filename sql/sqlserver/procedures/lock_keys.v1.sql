-- sql/sqlserver/procedures/lock_keys.v1.sql: locks stripes of keys until the transaction ends: of one @kind (creation, identity), in one @mode (Shared,
-- Exclusive). @stripes is a JSON array of numbers, ascending, which is the order in which all writers lock. A key's stripe is its hash;
-- unrelated keys may share one. Waits as long as the session waits for a lock.
-- For the Python writer, which has EXECUTE on this: no other user can take these locks (lock_name.v1.sql).
CREATE PROCEDURE dms.lock_keys @kind nvarchar(16), @stripes nvarchar(max), @mode nvarchar(16)
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @position int = 0, @count int, @of nvarchar(32), @name nvarchar(80), @status int, @wait int = @@LOCK_TIMEOUT;
    IF @kind NOT IN (N'creation', N'identity')
        THROW 50002, N'locks on keys are of creation or identity. Ask for one of these.', 1;
    SELECT @count = COUNT(*) FROM OPENJSON(@stripes);
    WHILE @position < @count
    BEGIN
        SELECT @of = @kind + N' ' + LEFT(value, 12) FROM OPENJSON(@stripes) WHERE CAST([key] AS int) = @position;
        EXEC dms.lock_name @of, @name OUTPUT;
        EXEC @status = sys.sp_getapplock @Resource = @name, @LockMode = @mode, @LockOwner = N'Transaction', @LockTimeout = @wait;
        IF @status = -999
            THROW 50008, N'a lock on keys belongs to a transaction, and none is open (sp_getapplock -999). BEGIN TRANSACTION first.', 1;
        IF @status NOT IN (0, 1)
            THROW 50005, N'a lock on keys could not be taken. Try the transaction again.', 1;
        SET @position = @position + 1;
    END;
END;
-- drop: DROP PROCEDURE dms.lock_keys;
