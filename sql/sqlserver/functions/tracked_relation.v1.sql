-- sql/sqlserver/functions/tracked_relation.v1.sql: the object id of the table that is tracked under an id; null where it is gone. The table's triggers
-- follow it into another schema or name; where a user may not see them, or they are gone, the name counts. A copy of the table in another schema can have triggers of
-- the same names: the table of the last generation goes first.
CREATE FUNCTION dms.tracked_relation (@tracked_id smallint) RETURNS int
AS
BEGIN
    RETURN COALESCE(
        (SELECT TOP (1) r.object_id FROM sys.triggers AS t INNER JOIN sys.tables AS r ON r.object_id = t.parent_id
         LEFT JOIN dms.TrackedTable AS k ON k.TrackedTableId = @tracked_id AND k.RelationId = r.object_id
         WHERE t.name = CONCAT(N'zz_dmsjournal_', @tracked_id, N'_insert') AND r.schema_id <> SCHEMA_ID(N'dms')
         ORDER BY CASE WHEN k.TrackedTableId IS NULL THEN 1 ELSE 0 END, r.object_id),
        (SELECT r.object_id FROM dms.TrackedTable AS k INNER JOIN sys.tables AS r ON r.object_id = OBJECT_ID(k.TableName) WHERE k.TrackedTableId = @tracked_id));
END;
-- drop: DROP FUNCTION dms.tracked_relation;
