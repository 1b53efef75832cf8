-- sql/sqlserver/procedures/horizon.v1.sql: the newest version at or below which every writer has finished
-- (invariant 5), and the last stamp that was given.
-- The sequence first, the held floors second: a writer that was not seen takes its lock after the sequence was read, so its stamps
-- are above it; and a commit is visible before its locks go, so everything at or below the result is visible to what is read
-- afterwards. Hence: call it in a statement of its own, before the one that reads; never in a SNAPSHOT transaction, whose snapshot is
-- older than the result (refused), and on the primary, since a secondary does not see the locks (refused).
-- Waits for nobody.
CREATE PROCEDURE dms.horizon @horizon bigint OUTPUT, @newest bigint = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @oldest bigint;
    IF DATABASEPROPERTYEX(DB_NAME(), N'Updateability') = N'READ_ONLY'
        THROW 50004, N'the horizon cannot be read on a secondary: it does not see the writers'' locks. Read it on the primary.', 1;
    IF EXISTS (SELECT * FROM sys.dm_exec_sessions WHERE session_id = @@SPID AND transaction_isolation_level = 5) AND @@TRANCOUNT > 0
        THROW 50001, N'the horizon cannot be read in a SNAPSHOT transaction: its snapshot may be older. Read it in a READ COMMITTED transaction that has ended before this one begins.', 1;
    EXEC dms.newest_stamp @newest OUTPUT;
    EXEC dms.oldest_floor @oldest OUTPUT;
    SET @horizon = CASE WHEN @oldest < @newest THEN @oldest ELSE @newest END;
END;
-- drop: DROP PROCEDURE dms.horizon;
