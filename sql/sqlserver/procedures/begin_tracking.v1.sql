-- sql/sqlserver/procedures/begin_tracking.v1.sql: what track, renew and untrack begin with: the installing user alone calls them, one at a time, in a transaction.
CREATE PROCEDURE dms.begin_tracking
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @held bigint, @message nvarchar(2048);
    IF COALESCE(HAS_PERMS_BY_NAME(N'dms', N'SCHEMA', N'CONTROL'), 0) = 0
    BEGIN
        SET @message = CONCAT(N'the user may not track tables: user ', USER_NAME(), N' does not control schema dms. Connect as the user that installed dmsjournal.');
        THROW 50006, @message, 1;
    END;
    SELECT @held = COUNT_BIG(*) FROM (SELECT TOP (1) t.TrackedTableId FROM dms.TrackedTable AS t WITH (TABLOCKX, HOLDLOCK)) AS tracked;
END;
-- drop: DROP PROCEDURE dms.begin_tracking;
