-- sql/sqlserver/procedures/enter_change.v1.sql: enters the transaction among the writers; gives its floor F, below all of its stamps, and
-- its id.
-- Before the first stamp: reads the sequence, then takes a shared application lock whose name carries F and which ends with the
-- transaction, then remembers F. Whoever reads the horizon stays at or below F until then (invariant 5).
-- What a session remembers outlives the transaction, so the transaction's id goes with it. A session can write it, and a rolled-back
-- savepoint lets go of the lock but forgets nothing: where this transaction does not hold the lock of that floor, whose name nobody can
-- guess (lock_name.v1.sql), it enters anew, since its stamps are rolled back as well. A value that the sequence has not reached is refused.
-- Where the sequence moved before the lock was there, a higher horizon may have been reported: the lock is let go of and taken anew, so
-- that newest does not fall. Not for ever: an old floor is right, only lower than it need be.
CREATE PROCEDURE dms.enter_change @floor bigint OUTPUT, @transaction_id bigint OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @newest bigint, @claimed bigint, @attempt int = 0, @status int, @of nvarchar(32), @name nvarchar(80), @remembered nvarchar(64);
    EXEC dms.this_transaction @transaction_id OUTPUT;
    EXEC dms.newest_stamp @newest OUTPUT;
    EXEC dms.remembered_floor @transaction_id, @floor OUTPUT, @claimed OUTPUT;
    IF @claimed < 0 OR @claimed > @newest
        THROW 50003, N'dms.entered_at holds a floor that no transaction can have entered at. The session context belongs to dmsjournal: roll back, and do not write it.', 1;
    IF @floor IS NOT NULL
        RETURN;
    WHILE 1 = 1
    BEGIN
        SET @floor = @newest;
        SET @attempt = @attempt + 1;
        SET @of = CAST(@floor AS nvarchar(20));
        EXEC dms.lock_name @of, @name OUTPUT;
        EXEC @status = sys.sp_getapplock @Resource = @name, @LockMode = N'Shared', @LockOwner = N'Transaction', @LockTimeout = -1;
        IF @status = -999
            THROW 50008, N'a writer''s lock belongs to a transaction, and none is open (sp_getapplock -999). BEGIN TRANSACTION first.', 1;
        IF @status NOT IN (0, 1)
            THROW 50005, N'the lock of a writer could not be taken. Try the transaction again.', 1;
        EXEC dms.newest_stamp @newest OUTPUT;
        IF @newest = @floor OR @attempt = 3
            BREAK;
        EXEC sys.sp_releaseapplock @Resource = @name, @LockOwner = N'Transaction';
    END;
    SET @remembered = CAST(@transaction_id AS nvarchar(20)) + N':' + CAST(@floor AS nvarchar(20));
    EXEC sys.sp_set_session_context N'dms.entered_at', @remembered;
END;
-- drop: DROP PROCEDURE dms.enter_change;
