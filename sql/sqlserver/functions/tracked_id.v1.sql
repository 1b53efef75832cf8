-- sql/sqlserver/functions/tracked_id.v1.sql: the id of a tracked table, by the name that it has now, or had when it was last looked at; null where it is not tracked.
CREATE FUNCTION dms.tracked_id (@table_name nvarchar(600)) RETURNS smallint
AS
BEGIN
    RETURN COALESCE(
        (SELECT MIN(t.TrackedTableId) FROM dms.TrackedTable AS t WHERE dms.tracked_relation(t.TrackedTableId) = OBJECT_ID(@table_name)),
        (SELECT MIN(t.TrackedTableId) FROM dms.TrackedTable AS t WHERE t.TableName = @table_name));
END;
-- drop: DROP FUNCTION dms.tracked_id;
