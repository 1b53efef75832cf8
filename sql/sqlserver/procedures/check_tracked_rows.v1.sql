-- sql/sqlserver/procedures/check_tracked_rows.v1.sql: rows of a tracked table from a block on (64 rows, in the order of their keys) that have no document, and documents whose edges or kept bodies
-- are not what their rows say. Ends with a row 'end': how many blocks the table has. Gives nothing for a table that is gone or refused: check_tracking tells of it.
CREATE PROCEDURE dms.check_tracked_rows @table_name nvarchar(600), @low bigint, @high bigint
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @tracked_id smallint, @procedure nvarchar(128), @first bigint = @low * 64, @rows bigint = (@high - @low) * 64;
    EXEC dms.check_tracked @table_name, @tracked_id OUTPUT;
    SET @procedure = CONCAT(N'dms.tracked_', @tracked_id, N'_rows');
    IF OBJECT_ID(@procedure) IS NULL OR OBJECT_ID(CONCAT(N'dms.tracked_', @tracked_id)) IS NULL OR dms.tracked_relation(@tracked_id) IS NULL
        SELECT CAST(NULL AS nvarchar(40)) AS code, CAST(NULL AS nvarchar(200)) AS name WHERE 1 = 0;
    ELSE
        EXEC @procedure @first, @rows;
END;
-- drop: DROP PROCEDURE dms.check_tracked_rows;
