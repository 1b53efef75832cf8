-- sql/sqlserver/functions/tracked_relation.v1.sql: the object id of the table that is tracked under an id; null where it is gone. The table's triggers
-- follow it into another schema or name; where a user may not see them, or they are gone, the name counts.
CREATE FUNCTION dms.tracked_relation (@tracked_id smallint) RETURNS int
AS
BEGIN
    RETURN COALESCE(
        (SELECT MAX(r.object_id) FROM sys.triggers AS t INNER JOIN sys.tables AS r ON r.object_id = t.parent_id
         WHERE t.name = CONCAT(N'zz_dmsjournal_', @tracked_id, N'_insert') AND r.schema_id <> SCHEMA_ID(N'dms')),
        (SELECT r.object_id FROM dms.TrackedTable AS k INNER JOIN sys.tables AS r ON r.object_id = OBJECT_ID(k.TableName) WHERE k.TrackedTableId = @tracked_id));
END;
-- drop: DROP FUNCTION dms.tracked_relation;
