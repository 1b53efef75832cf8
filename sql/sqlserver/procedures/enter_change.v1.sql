-- sql/sqlserver/procedures/enter_change.v1.sql: enters the transaction among the writers; gives its floor F, below all of its stamps, and
-- its id.
-- Before the first stamp: reads the sequence, then takes a shared application lock whose name carries F and which ends with the
-- transaction, then remembers F. Whoever reads the horizon stays at or below F until then (invariant 5).
-- What a session remembers outlives the transaction, so the transaction's id goes with it. A session can write it, and a rolled-back
-- savepoint lets go of the lock but forgets nothing: where this transaction does not hold the lock, it enters anew, since its stamps
-- are rolled back as well. A value that the sequence has not reached is refused.
-- Where the sequence moved before the lock was there, a higher horizon may have been reported: the lock is let go of and taken anew, so
-- that newest does not fall. Not for ever: an old floor is right, only lower than it need be.
CREATE PROCEDURE dms.enter_change @floor bigint OUTPUT, @transaction_id bigint OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @newest bigint, @attempt int = 0, @status int, @name nvarchar(64), @remembered nvarchar(64);
    EXEC dms.this_transaction @transaction_id OUTPUT;
    EXEC dms.newest_stamp @newest OUTPUT;
    EXEC dms.remembered_floor @transaction_id, @floor OUTPUT;
    IF @floor IS NOT NULL
    BEGIN
        IF @floor < 0 OR @floor > @newest
            THROW 50003, N'dms.entered_at holds a floor that no transaction can have entered at. The session context belongs to dmsjournal: roll back, and do not write it.', 1;
        SET @name = N'dmsjournal:' + CAST(@floor AS nvarchar(20));
        IF APPLOCK_MODE(N'public', @name, N'Transaction') <> N'NoLock'
            RETURN;
    END;
    WHILE 1 = 1
    BEGIN
        SET @floor = @newest;
        SET @attempt = @attempt + 1;
        SET @name = N'dmsjournal:' + CAST(@floor AS nvarchar(20));
        EXEC @status = sys.sp_getapplock @Resource = @name, @LockMode = N'Shared', @LockOwner = N'Transaction', @LockTimeout = -1;
        IF @status < 0
            THROW 50005, N'the lock of a writer could not be taken. Try the transaction again.', 1;
        EXEC dms.newest_stamp @newest OUTPUT;
        IF @newest = @floor OR @attempt = 20
            BREAK;
        EXEC sys.sp_releaseapplock @Resource = @name, @LockOwner = N'Transaction';
    END;
    SET @remembered = CAST(@transaction_id AS nvarchar(20)) + N':' + CAST(@floor AS nvarchar(20));
    EXEC sys.sp_set_session_context N'dms.entered_at', @remembered;
END;
