-- sql/sqlserver/procedures/remembered_floor.v1.sql: the floor at which a transaction entered, null where it has not; and what the session
-- context claims it to be, for enter_change.
-- The session context is no table: what is rolled back stays in it, and so does what another transaction or the session itself wrote. So the
-- transaction's own lock on that floor must prove it (lock_name.v1.sql): a rolled-back savepoint lets go of it, and no session can forge it.
CREATE PROCEDURE dms.remembered_floor @transaction_id bigint, @floor bigint OUTPUT, @claimed bigint = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @remembered nvarchar(64) = TRY_CAST(SESSION_CONTEXT(N'dms.entered_at') AS nvarchar(64)), @of nvarchar(32), @name nvarchar(80);
    DECLARE @prefix nvarchar(32) = CAST(@transaction_id AS nvarchar(20)) + N':';
    SET @floor = NULL;
    SET @claimed = NULL;
    IF LEFT(@remembered, LEN(@prefix)) = @prefix
        SET @claimed = COALESCE(TRY_CAST(SUBSTRING(@remembered, LEN(@prefix) + 1, 20) AS bigint), -1);
    IF @claimed IS NULL OR @claimed < 0
        RETURN;
    SET @of = CAST(@claimed AS nvarchar(20));
    EXEC dms.lock_name @of, @name OUTPUT;
    IF APPLOCK_MODE(N'public', @name, N'Transaction') <> N'NoLock'
        SET @floor = @claimed;
END;
-- drop: DROP PROCEDURE dms.remembered_floor;
