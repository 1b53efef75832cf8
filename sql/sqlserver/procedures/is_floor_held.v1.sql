-- sql/sqlserver/procedures/is_floor_held.v1.sql: whether a transaction that entered at a floor is running: one that holds the lock of the floor's
-- name, which only dms.enter_change knows (lock_name.v1.sql). What another application's lock looks like in sys.dm_tran_locks proves nothing.
-- One that ended since it was seen there has committed before, so it is right that it counts no more (horizon.v1.sql).
-- A lock of this session's own transaction is no conflict to it, so that is asked for besides; without a transaction there is none.
CREATE PROCEDURE dms.is_floor_held @floor bigint, @is_held bit OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @of nvarchar(32) = CAST(@floor AS nvarchar(20)), @name nvarchar(80);
    EXEC dms.lock_name @of, @name OUTPUT;
    SET @is_held = CASE WHEN APPLOCK_TEST(N'public', @name, N'Exclusive', N'Session') = 0 THEN 1 ELSE 0 END;
    IF @is_held = 0 AND @@TRANCOUNT > 0
        SET @is_held = CASE WHEN APPLOCK_MODE(N'public', @name, N'Transaction') <> N'NoLock' THEN 1 ELSE 0 END;
END;
-- drop: DROP PROCEDURE dms.is_floor_held;
