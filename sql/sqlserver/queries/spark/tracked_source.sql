-- sql/sqlserver/queries/spark/tracked_source.sql: a source of changes or documents with the bodies of tracked rows that no DocumentCache keeps, of the resources that are
-- given: each row is found by its key. Binds: resource_key_ids (JSON array); source (a query). Gives: source. Its caller runs that, and needs SELECT on the tables.
SET NOCOUNT ON;
DECLARE @resource_key_ids nvarchar(max) = :resource_key_ids, @source nvarchar(max) = :source, @message nvarchar(2048), @bodies nvarchar(max), @joins nvarchar(max);
DECLARE @tracked TABLE (id smallint NOT NULL PRIMARY KEY, kind smallint NOT NULL, table_name nvarchar(600) NOT NULL, row_text nvarchar(max) NULL);
INSERT INTO @tracked (id, kind, table_name, row_text)
SELECT t.TrackedTableId, t.ResourceKeyId, t.TableName, (
    SELECT CONCAT(N'OUTER APPLY (SELECT ', dms.tracked_body(o.object_id, N'r', 0), N' AS body FROM (SELECT CASE WHEN c.resource_key_id = ', t.ResourceKeyId, N' THEN c.key_values END AS KeyValues) AS d ',
                  dms.tracked_row(t.TrackedTableId, N'd.KeyValues', CONCAT(QUOTENAME(s.name), N'.', QUOTENAME(o.name), N' AS r')), N') AS tracked_', t.TrackedTableId)
    FROM sys.tables AS o INNER JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    WHERE o.object_id = dms.tracked_relation(t.TrackedTableId) AND EXISTS (SELECT * FROM dms.tracked_key(t.TrackedTableId) AS k))
FROM dms.TrackedTable AS t
WHERE t.KeepsBodies = 0 AND t.ResourceKeyId IN (SELECT CAST(listed.value AS smallint) FROM OPENJSON(@resource_key_ids) AS listed);
SELECT @message = MIN(CONCAT(N'the user may not read table ', t.table_name, N', or it or its key is gone. GRANT SELECT ON ', t.table_name, N' to the user, or run dmsjournal tracked.'))
FROM @tracked AS t WHERE t.row_text IS NULL;
IF @message IS NOT NULL
    THROW 50006, @message, 1;
SELECT @bodies = STRING_AGG(CAST(CONCAT(N'tracked_', t.id, N'.body') AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY t.id),
       @joins = STRING_AGG(t.row_text, N' ') WITHIN GROUP (ORDER BY t.id)
FROM @tracked AS t;
SELECT CASE WHEN @bodies IS NULL THEN @source ELSE CONCAT(
    N'SELECT c.resource_key_id, c.change_version, c.document_id, c.document_uuid, c.key_values, c.committed_at, COALESCE(c.body, ', @bodies,
    N') AS body, c.stamps, c.last_modified FROM (', @source, N') AS c ', @joins) END AS source;
