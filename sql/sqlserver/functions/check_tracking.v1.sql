-- sql/sqlserver/functions/check_tracking.v1.sql: what is wrong with the tracking of a table: an object that is missing, disabled or not as tracking_of.v1.sql has it, columns that
-- changed since, a table that is gone, or that track would refuse by now, a fill that has not come to its end. Reads the catalog alone: the caller has to see
-- the definitions of the tables, or all of them look as if they were gone (queries/operate/status_tracking_seen.sql).
CREATE FUNCTION dms.check_tracking ()
RETURNS @found TABLE (code nvarchar(40) NOT NULL, table_name nvarchar(600) NOT NULL, name nvarchar(max) NOT NULL)
AS
BEGIN
    DECLARE @made TABLE (  -- read once: the catalog's views are dear
        name nvarchar(128) NOT NULL, parent_object_id int NOT NULL, schema_id int NOT NULL, is_disabled bit NULL, definition nvarchar(max) NULL);
    INSERT INTO @found (code, table_name, name)
    SELECT N'tracked-table-gone', t.TableName, CASE WHEN dms.tracked_relation(t.TrackedTableId) IS NULL THEN N'the table is gone' ELSE N'its key is gone' END
    FROM dms.TrackedTable AS t WHERE NOT EXISTS (SELECT * FROM dms.tracked_key(t.TrackedTableId) AS k);
    INSERT INTO @found (code, table_name, name)
    SELECT N'tracking-outdated', t.TableName,
           CONCAT(N'column ', COALESCE(now.name, was.name), CASE WHEN was.name IS NULL THEN N' is new' WHEN now.name IS NULL THEN N' is gone'
               WHEN now.name <> was.name THEN CONCAT(N' was ', was.name) ELSE CONCAT(N' was of type ', was.type) END)
    FROM dms.TrackedTable AS t
    CROSS APPLY (
        SELECT COALESCE(a.number, b.number) AS number
        FROM OPENJSON(t.AllColumns) WITH (number int '$.number') AS a
        FULL JOIN OPENJSON(dms.tracked_definitions(dms.tracked_relation(t.TrackedTableId))) WITH (number int '$.number') AS b ON b.number = a.number) AS both
    OUTER APPLY (SELECT w.name COLLATE DATABASE_DEFAULT AS name, w.type COLLATE DATABASE_DEFAULT AS type
                 FROM OPENJSON(t.AllColumns) WITH (number int '$.number', name nvarchar(128) '$.name', type nvarchar(300) '$.type') AS w WHERE w.number = both.number) AS was
    OUTER APPLY (SELECT c.name COLLATE DATABASE_DEFAULT AS name, c.declared COLLATE DATABASE_DEFAULT AS type
                 FROM dms.tracked_columns(dms.tracked_relation(t.TrackedTableId)) AS c WHERE c.column_id = both.number) AS now
    WHERE dms.tracked_relation(t.TrackedTableId) IS NOT NULL
      AND (was.name IS NULL OR now.name IS NULL OR now.name COLLATE Latin1_General_100_BIN2 <> was.name COLLATE Latin1_General_100_BIN2 OR now.type <> was.type);
    INSERT INTO @made (name, parent_object_id, schema_id, is_disabled, definition)
    SELECT x.name, x.parent_object_id, x.schema_id, g.is_disabled, m.definition
    FROM sys.objects AS x INNER JOIN sys.sql_modules AS m ON m.object_id = x.object_id LEFT JOIN sys.triggers AS g ON g.object_id = x.object_id
    WHERE x.name LIKE N'tracked[_]%' OR x.name LIKE N'zz[_]dmsjournal[_]%';
    INSERT INTO @found (code, table_name, name)
    SELECT N'tracking-altered', t.TableName, CONCAT(o.kind, N' ', o.name, N' ', told.state)
    FROM (SELECT k.TrackedTableId, k.TableName, dms.tracked_relation(k.TrackedTableId) AS relation FROM dms.TrackedTable AS k) AS t
    CROSS APPLY dms.tracking_of(t.TrackedTableId) AS o
    LEFT JOIN @made AS made ON made.name = o.name AND (
        (o.kind = N'trigger' AND made.parent_object_id = t.relation) OR (o.kind <> N'trigger' AND made.schema_id = SCHEMA_ID(N'dms')))
    CROSS APPLY (
        SELECT CASE WHEN made.definition IS NULL THEN N'is missing' WHEN made.is_disabled = 1 THEN N'is disabled'
                    WHEN made.definition COLLATE Latin1_General_100_BIN2 <> o.statement COLLATE Latin1_General_100_BIN2 THEN N'is another one' END AS state) AS told
    WHERE told.state IS NOT NULL AND NOT (  -- of other columns it would be another one: renew makes it anew
        told.state = N'is another one' AND EXISTS (SELECT * FROM @found AS f WHERE f.code = N'tracking-outdated' AND f.table_name = t.TableName));
    INSERT INTO @found (code, table_name, name)
    SELECT N'tracking-refused', t.TableName, CONCAT(u.reason, N': ', u.remedy)
    FROM dms.TrackedTable AS t CROSS APPLY dms.untrackable(dms.tracked_relation(t.TrackedTableId), t.KeyName) AS u
    WHERE EXISTS (SELECT * FROM dms.tracked_key(t.TrackedTableId) AS k);
    INSERT INTO @found (code, table_name, name)
    SELECT N'tracking-unfilled', t.TableName, N'its fill has not come to its end' FROM dms.TrackedTable AS t WHERE t.FilledAt IS NULL;
    RETURN;
END;
-- drop: DROP FUNCTION dms.check_tracking;
