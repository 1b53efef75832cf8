-- sql/sqlserver/procedures/check_tracked.v1.sql: the id of a tracked table, by its name (functions/tracked_id.v1.sql). Refuses a table that is not tracked.
CREATE PROCEDURE dms.check_tracked @table_name nvarchar(600), @tracked_id smallint OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @message nvarchar(2048);
    SET @tracked_id = dms.tracked_id(@table_name);
    IF @tracked_id IS NULL
    BEGIN
        SELECT @message = LEFT(CONCAT(N'table ', @table_name, N' is not tracked. ', COALESCE(CONCAT(N'Tracked are ', STRING_AGG(CAST(t.TableName AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY t.TableName)), N''), N'.'), 2048)
        FROM dms.TrackedTable AS t HAVING COUNT(*) > 0;
        SET @message = COALESCE(@message, CONCAT(N'table ', @table_name, N' is not tracked. No table is.'));
        THROW 50011, @message, 1;
    END;
END;
-- drop: DROP PROCEDURE dms.check_tracked;
