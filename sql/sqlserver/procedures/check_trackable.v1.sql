-- sql/sqlserver/procedures/check_trackable.v1.sql: refuses a table that cannot be tracked, naming it, the reason and what to do. Reads the catalog alone.
CREATE PROCEDURE dms.check_trackable @relation int, @key_name nvarchar(128)
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @message nvarchar(2048), @name nvarchar(600) = dms.tracked_name(@relation);
    SELECT @message = CONCAT(N'table ', @name, N' cannot be tracked: ', u.reason, N'. ', u.remedy) FROM dms.untrackable(@relation, @key_name) AS u;
    IF @message IS NULL AND COALESCE(HAS_PERMS_BY_NAME(@name, N'OBJECT', N'ALTER'), 0) = 0
        SET @message = CONCAT(N'table ', @name, N' cannot be tracked: user ', USER_NAME(), N' may not make a trigger on it. GRANT ALTER ON ', @name, N' to the user.');
    IF @message IS NOT NULL
        THROW 50010, @message, 1;
END;
-- drop: DROP PROCEDURE dms.check_trackable;
