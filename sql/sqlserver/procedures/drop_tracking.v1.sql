-- sql/sqlserver/procedures/drop_tracking.v1.sql: drops the triggers, procedures and view of a tracked table; its documents stay.
CREATE PROCEDURE dms.drop_tracking @tracked_id smallint
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @statement nvarchar(max);
    SELECT @statement = STRING_AGG(CAST(CONCAT(N'DROP ', CASE o.type WHEN 'TR' THEN N'TRIGGER ' WHEN 'V' THEN N'VIEW ' ELSE N'PROCEDURE ' END, QUOTENAME(s.name), N'.', QUOTENAME(o.name), N';') AS nvarchar(max)), N' ')
        WITHIN GROUP (ORDER BY CASE o.type WHEN 'TR' THEN 1 WHEN 'P' THEN 2 ELSE 3 END, o.name)
    FROM sys.objects AS o INNER JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    WHERE (o.type = 'TR' AND o.name IN (CONCAT(N'zz_dmsjournal_', @tracked_id, N'_insert'), CONCAT(N'zz_dmsjournal_', @tracked_id, N'_update'), CONCAT(N'zz_dmsjournal_', @tracked_id, N'_delete')))
       OR (o.type IN ('P', 'V') AND o.schema_id = SCHEMA_ID(N'dms') AND (o.name = CONCAT(N'tracked_', @tracked_id) OR o.name LIKE CONCAT(N'tracked[_]', @tracked_id, N'[_]%')));
    IF @statement IS NOT NULL
        EXEC sys.sp_executesql @statement;
END;
-- drop: DECLARE @tracked_id smallint = 0;
-- drop: WHILE 1 = 1
-- drop: BEGIN
-- drop:     SELECT @tracked_id = MIN(TrackedTableId) FROM dms.TrackedTable WHERE TrackedTableId > @tracked_id;
-- drop:     IF @tracked_id IS NULL
-- drop:         BREAK;
-- drop:     EXEC dms.drop_tracking @tracked_id;
-- drop: END;
-- drop: DROP PROCEDURE dms.drop_tracking;
