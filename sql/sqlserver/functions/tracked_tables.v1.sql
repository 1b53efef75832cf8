-- sql/sqlserver/functions/tracked_tables.v1.sql: the tracked tables, for people; lists are JSON. estimated_rows: as the server knows it. state: null, or what is wrong.
CREATE FUNCTION dms.tracked_tables ()
RETURNS @table TABLE (
    tracked_table_id smallint NOT NULL PRIMARY KEY, table_name nvarchar(600) NOT NULL, project_name nvarchar(256) NOT NULL, resource_name nvarchar(256) NOT NULL,
    resource_version nvarchar(64) NOT NULL, key_columns nvarchar(max) NOT NULL, shown_columns nvarchar(max) NOT NULL, watched_columns nvarchar(max) NULL,
    keeps_bodies bit NOT NULL, refers_to nvarchar(max) NOT NULL, estimated_rows bigint NOT NULL, is_filled int NOT NULL, state nvarchar(max) NULL)
AS
BEGIN
    DECLARE @keyed TABLE (TrackedTableId smallint NOT NULL, place int NOT NULL, name nvarchar(128) NOT NULL, PRIMARY KEY (TrackedTableId, place));
    DECLARE @reference TABLE (parent_id smallint NOT NULL, child_id smallint NOT NULL, child_column nvarchar(128) NOT NULL);
    DECLARE @checked TABLE (table_name nvarchar(600) NOT NULL, state nvarchar(max) NOT NULL);
    INSERT INTO @keyed (TrackedTableId, place, name)
    SELECT t.TrackedTableId, k.place, k.name FROM dms.TrackedTable AS t CROSS APPLY dms.tracked_key(t.TrackedTableId) AS k;
    INSERT INTO @reference (parent_id, child_id, child_column) SELECT DISTINCT f.parent_id, f.child_id, f.child_column FROM dms.tracked_references() AS f;
    INSERT INTO @checked (table_name, state)
    SELECT c.table_name, STRING_AGG(CAST(c.name AS nvarchar(max)), N'; ') WITHIN GROUP (ORDER BY c.name) FROM dms.check_tracking() AS c GROUP BY c.table_name;
    INSERT INTO @table (tracked_table_id, table_name, project_name, resource_name, resource_version, key_columns, shown_columns, watched_columns, keeps_bodies,
        refers_to, estimated_rows, is_filled, state)
    SELECT t.TrackedTableId, COALESCE(dms.tracked_name(found.relation), t.TableName), r.ProjectName, r.ResourceName, r.ResourceVersion, keyed.names, shown.names,
           t.WatchedColumns, t.KeepsBodies, referred.names,
           COALESCE((SELECT SUM(p.rows) FROM sys.partitions AS p WHERE p.object_id = found.relation AND p.index_id IN (0, 1)), 0),
           CASE WHEN t.FilledAt IS NULL THEN 0 ELSE 1 END, (SELECT c.state FROM @checked AS c WHERE c.table_name = t.TableName)
    FROM dms.TrackedTable AS t
    CROSS APPLY (SELECT dms.tracked_relation(t.TrackedTableId) AS relation) AS found
    INNER JOIN dms.ResourceKey AS r ON r.ResourceKeyId = t.ResourceKeyId
    CROSS APPLY (
        SELECT CONCAT(N'[', STRING_AGG(CAST(CONCAT(N'"', STRING_ESCAPE(k.name, N'json'), N'"') AS nvarchar(max)), N',') WITHIN GROUP (ORDER BY k.place), N']') AS names
        FROM @keyed AS k WHERE k.TrackedTableId = t.TrackedTableId) AS keyed
    CROSS APPLY (
        SELECT CONCAT(N'[', STRING_AGG(CAST(CONCAT(N'"', STRING_ESCAPE(w.name, N'json'), N'"') AS nvarchar(max)), N',') WITHIN GROUP (ORDER BY w.name), N']') AS names
        FROM (
            SELECT k.name FROM @keyed AS k WHERE k.TrackedTableId = t.TrackedTableId
            UNION
            SELECT f.child_column FROM @reference AS f WHERE f.child_id = t.TrackedTableId
            UNION
            SELECT s.value COLLATE DATABASE_DEFAULT FROM OPENJSON(t.ShownColumns) AS s) AS w) AS shown
    CROSS APPLY (
        SELECT CONCAT(N'[', STRING_AGG(CAST(CONCAT(N'"', STRING_ESCAPE(o.TableName, N'json'), N'"') AS nvarchar(max)), N',') WITHIN GROUP (ORDER BY o.TableName), N']') AS names
        FROM dms.TrackedTable AS o
        WHERE o.TrackedTableId IN (SELECT f.child_id FROM @reference AS f WHERE f.parent_id = t.TrackedTableId)) AS referred;
    RETURN;
END;
-- drop: DROP FUNCTION dms.tracked_tables;
