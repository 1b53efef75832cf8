-- sql/sqlserver/functions/tracked_tables.v1.sql: the tracked tables, for people; lists are JSON. estimated_rows: as the server knows it. state: null, or what is wrong.
CREATE FUNCTION dms.tracked_tables () RETURNS TABLE
AS
RETURN
    SELECT t.TrackedTableId AS tracked_table_id, COALESCE(dms.tracked_name(dms.tracked_relation(t.TrackedTableId)), t.TableName) AS table_name,
           r.ProjectName AS project_name, r.ResourceName AS resource_name, r.ResourceVersion AS resource_version,
           keyed.names AS key_columns, shown.names AS shown_columns, t.WatchedColumns AS watched_columns, t.KeepsBodies AS keeps_bodies, referred.names AS refers_to,
           COALESCE((SELECT SUM(p.rows) FROM sys.partitions AS p WHERE p.object_id = dms.tracked_relation(t.TrackedTableId) AND p.index_id IN (0, 1)), 0) AS estimated_rows,
           CASE WHEN t.FilledAt IS NULL THEN 0 ELSE 1 END AS is_filled,
           checked.state
    FROM dms.TrackedTable AS t
    INNER JOIN dms.ResourceKey AS r ON r.ResourceKeyId = t.ResourceKeyId
    LEFT JOIN (
        SELECT c.table_name, STRING_AGG(c.name, N'; ') WITHIN GROUP (ORDER BY c.name) AS state FROM dms.check_tracking() AS c GROUP BY c.table_name) AS checked ON checked.table_name = t.TableName
    CROSS APPLY (
        SELECT CONCAT(N'[', STRING_AGG(CAST(CONCAT(N'"', STRING_ESCAPE(k.name, N'json'), N'"') AS nvarchar(max)), N',') WITHIN GROUP (ORDER BY k.place), N']') AS names
        FROM dms.tracked_key(t.TrackedTableId) AS k) AS keyed
    CROSS APPLY (
        SELECT CONCAT(N'[', STRING_AGG(CAST(CONCAT(N'"', STRING_ESCAPE(w.name, N'json'), N'"') AS nvarchar(max)), N',') WITHIN GROUP (ORDER BY w.name), N']') AS names
        FROM (
            SELECT k.name FROM dms.tracked_key(t.TrackedTableId) AS k
            UNION
            SELECT f.child_column FROM dms.tracked_references() AS f WHERE f.child_id = t.TrackedTableId
            UNION
            SELECT s.value COLLATE DATABASE_DEFAULT FROM OPENJSON(t.ShownColumns) AS s) AS w) AS shown
    CROSS APPLY (
        SELECT CONCAT(N'[', STRING_AGG(CAST(CONCAT(N'"', STRING_ESCAPE(o.TableName, N'json'), N'"') AS nvarchar(max)), N',') WITHIN GROUP (ORDER BY o.TableName), N']') AS names
        FROM dms.TrackedTable AS o
        WHERE o.TrackedTableId IN (SELECT f.child_id FROM dms.tracked_references() AS f WHERE f.parent_id = t.TrackedTableId)) AS referred;
-- drop: DROP FUNCTION dms.tracked_tables;
