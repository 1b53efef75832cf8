-- sql/sqlserver/queries/operate/trackable_tables.sql: the tables of a schema that are not tracked yet, and those of the schema that each refers to.
-- Binds: schema_name. Gives: table_name (as SQL), refers_to (JSON array of such names).
SET NOCOUNT ON;
DECLARE @schema_name nvarchar(128) = :schema_name;
SELECT dms.tracked_name(t.object_id) AS table_name, referred.names AS refers_to
FROM sys.tables AS t
CROSS APPLY (
    SELECT CONCAT(N'[', STRING_AGG(CAST(CONCAT(N'"', STRING_ESCAPE(dms.tracked_name(f.referenced_object_id), N'json'), N'"') AS nvarchar(max)), N','), N']') AS names
    FROM (SELECT DISTINCT k.referenced_object_id FROM sys.foreign_keys AS k INNER JOIN sys.tables AS target ON target.object_id = k.referenced_object_id
          WHERE k.parent_object_id = t.object_id AND target.schema_id = t.schema_id AND k.referenced_object_id <> t.object_id) AS f) AS referred
WHERE t.schema_id = SCHEMA_ID(@schema_name) AND t.is_ms_shipped = 0 AND t.temporal_type <> 1
  AND NOT EXISTS (SELECT * FROM dms.TrackedTable AS k WHERE dms.tracked_relation(k.TrackedTableId) = t.object_id)
ORDER BY table_name;
