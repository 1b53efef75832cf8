-- sql/sqlserver/procedures/run_tracking.v1.sql: runs a statement that tracking_of.v1.sql has made, with the settings that a view and a trigger need and keep.
CREATE PROCEDURE dms.run_tracking @statement nvarchar(max)
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    EXEC sys.sp_executesql N'SET QUOTED_IDENTIFIER ON;
SET ANSI_NULLS ON;
EXEC sys.sp_executesql @statement;', N'@statement nvarchar(max)', @statement;
END;
-- drop: DROP PROCEDURE dms.run_tracking;
