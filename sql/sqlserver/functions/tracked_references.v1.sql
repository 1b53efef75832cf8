-- sql/sqlserver/functions/tracked_references.v1.sql: the foreign keys between tracked tables, a row a pair of columns: from a tracked table (parent) to a tracked table (child).
-- A disabled one is none: nothing keeps its values to rows that are there. is_identity: its columns are all of the parent's key.
CREATE FUNCTION dms.tracked_references ()
RETURNS @reference TABLE (
    constraint_id int NOT NULL, name nvarchar(128) NOT NULL, parent_id smallint NOT NULL, child_id smallint NOT NULL, child_kind smallint NOT NULL, place int NOT NULL,
    parent_column_id int NOT NULL, parent_column nvarchar(128) NOT NULL, child_column_id int NOT NULL, child_column nvarchar(128) NOT NULL, is_identity int NOT NULL,
    PRIMARY KEY (constraint_id, place))
AS
BEGIN
    DECLARE @tracked TABLE (TrackedTableId smallint NOT NULL PRIMARY KEY, ResourceKeyId smallint NOT NULL, Relation int NULL);
    DECLARE @key TABLE (TrackedTableId smallint NOT NULL, ColumnId int NOT NULL, PRIMARY KEY (TrackedTableId, ColumnId));
    INSERT INTO @tracked (TrackedTableId, ResourceKeyId, Relation)
    SELECT t.TrackedTableId, t.ResourceKeyId, dms.tracked_relation(t.TrackedTableId) FROM dms.TrackedTable AS t;
    INSERT INTO @reference (constraint_id, name, parent_id, child_id, child_kind, place, parent_column_id, parent_column, child_column_id, child_column, is_identity)
    SELECT f.object_id, f.name, parent.TrackedTableId, child.TrackedTableId, child.ResourceKeyId, fc.constraint_column_id, fc.parent_column_id, source.name,
           fc.referenced_column_id, target.name, 1
    FROM @tracked AS parent
    INNER JOIN sys.foreign_keys AS f ON f.parent_object_id = parent.Relation AND f.is_disabled = 0
    INNER JOIN @tracked AS child ON child.Relation = f.referenced_object_id
    INNER JOIN sys.foreign_key_columns AS fc ON fc.constraint_object_id = f.object_id
    INNER JOIN sys.columns AS source ON source.object_id = fc.parent_object_id AND source.column_id = fc.parent_column_id
    INNER JOIN sys.columns AS target ON target.object_id = fc.referenced_object_id AND target.column_id = fc.referenced_column_id;
    INSERT INTO @key (TrackedTableId, ColumnId)
    SELECT parent.parent_id, k.column_id FROM (SELECT DISTINCT r.parent_id FROM @reference AS r) AS parent CROSS APPLY dms.tracked_key(parent.parent_id) AS k;
    UPDATE r SET is_identity = 0
    FROM @reference AS r
    WHERE EXISTS (
        SELECT * FROM @reference AS other
        WHERE other.constraint_id = r.constraint_id AND NOT EXISTS (
            SELECT * FROM @key AS k WHERE k.TrackedTableId = other.parent_id AND k.ColumnId = other.parent_column_id));
    RETURN;
END;
-- drop: DROP FUNCTION dms.tracked_references;
