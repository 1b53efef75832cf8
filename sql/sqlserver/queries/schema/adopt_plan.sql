-- sql/sqlserver/queries/schema/adopt_plan.sql: what is missing before the document tables have the shape that the migrations give them, as steps.
-- Binds: is_switched (whether the stamping triggers are there). Gives, in their order: name, kind (short: a statement in a transaction of
-- its own; scan: the same, but it reads the whole table under its lock; index: outside of a transaction, writers go on; file: a file, as
-- short; fill: batches), statement, lock, estimated_rows, is_after_switch (whether it waits for the stamping triggers).
-- After adopt/model.sql, in the same transaction. Nothing is planned that is there: a killed adoption goes on by planning again.
-- Editions that build indexes online (Enterprise, Developer, Azure) also add a NOT NULL column with a default without writing a row; where
-- the edition does neither, a column is added as one that takes nulls, and filled in batches. A default that has another name keeps what it says.
SET NOCOUNT ON;
DECLARE @is_switched bit = :is_switched, @is_online bit = 0, @has_names bit = 1;
IF CAST(SERVERPROPERTY(N'EngineEdition') AS int) IN (3, 5, 8, 12)
    SET @is_online = 1;
IF COL_LENGTH(N'dms.Document', N'ProjectName') IS NULL OR COL_LENGTH(N'dms.Document', N'ResourceName') IS NULL OR COL_LENGTH(N'dms.Document', N'ResourceVersion') IS NULL
    SET @has_names = 0;
DECLARE @with nvarchar(32) = CASE WHEN @is_online = 1 THEN N' WITH (ONLINE = ON);' ELSE N';' END;
DECLARE @index_kind nvarchar(8) = CASE WHEN @is_online = 1 THEN N'index' ELSE N'scan' END;
WITH required AS (  -- columns that become NOT NULL
    SELECT table_name, name, position, type, estimated_rows,
           CASE WHEN LOWER(name COLLATE Latin1_General_100_BIN2) IN (N'documentid', N'documentuuid', N'parentdocumentid', N'childdocumentid') THEN 1 ELSE 0 END AS is_id  -- batches go by them, once they are indexed
    FROM #fitted_column
    WHERE required = 1
      AND ((present = 1 AND found_required = 0)
           OR (present = 0 AND ((@is_online = 0 AND LOWER(table_name COLLATE Latin1_General_100_BIN2) IN (N'document', N'referenceedge'))
                            OR (LOWER(name COLLATE Latin1_General_100_BIN2) = N'resourcekeyid' AND LOWER(table_name COLLATE Latin1_General_100_BIN2) = N'document'))))
), replaced AS (  -- foreign keys of theirs on the columns of ours
    SELECT c.table_name, c.name,
           STRING_AGG(CONCAT(CAST(N'ALTER TABLE dms.' AS nvarchar(max)), QUOTENAME(c.table_name), N' DROP CONSTRAINT ', QUOTENAME(other.name), N';'), N' ') AS statement
    FROM #fitted_constraint AS c
    INNER JOIN #stated_constraint AS other
        ON other.parent = c.found_table AND other.type = N'f' AND other.keys = c.keys AND other.name <> COALESCE(c.fitting, N'')
    WHERE c.type = N'f'
    GROUP BY c.table_name, c.name
), build AS (  -- indexes, also the two that find the highest stamp at once, while writers are held
    SELECT CAST(table_name AS nvarchar(256)) AS table_name, CAST(name AS nvarchar(256)) AS name, CAST(definition AS nvarchar(4000)) AS definition,
           CAST(fitting AS nvarchar(256)) AS fitting, estimated_rows
    FROM #fitted_index
    UNION ALL
    SELECT t.name, known.name, CONCAT(N'INDEX ([', known.of_column, N'])'), (SELECT i.name FROM sys.indexes AS i WHERE i.object_id = t.found_id AND i.name = known.name), t.estimated_rows
    FROM #fitted_table AS t
    CROSS JOIN (SELECT CAST(N'adoption_content' AS nvarchar(256)) AS name, N'ContentVersion' AS of_column UNION ALL SELECT N'adoption_identity', N'IdentityVersion') AS known
    WHERE LOWER(t.name COLLATE Latin1_General_100_BIN2) = N'document' AND @is_switched = 0
), step (rank, table_name, part, name, kind, statement, lock, estimated_rows) AS (
    SELECT 5, CAST(N'ResourceKey' AS nvarchar(256)), 0, CAST(N'create dms.ResourceKey' AS nvarchar(max)), CAST(N'file' AS nvarchar(8)),
           CAST(N'tables/ResourceKey.v1' AS nvarchar(max)), CAST(N'none' AS nvarchar(32)), CAST(0 AS bigint)
    WHERE @has_names = 1 AND OBJECT_ID(N'dms.ResourceKey') IS NULL
    UNION ALL
    SELECT 10, c.table_name, 0, CONCAT(N'add to dms.', c.table_name, N': ', STRING_AGG(CAST(c.name AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY c.position)), N'short',
           STRING_AGG(CONCAT(
               CAST(N'ALTER TABLE dms.' AS nvarchar(max)), QUOTENAME(c.table_name), N' ADD ', QUOTENAME(c.name), N' ', c.type,
               CASE WHEN c.required = 0 OR r.name IS NOT NULL THEN N' NULL' ELSE N' NOT NULL' END,
               CASE WHEN c.default_value IS NULL THEN N'' ELSE CONCAT(N' CONSTRAINT ', QUOTENAME(c.default_name), N' DEFAULT ', c.default_value) END, N';'), N' ')
               WITHIN GROUP (ORDER BY c.position), N'SCH-M', 0
    FROM #fitted_column AS c LEFT JOIN required AS r ON r.table_name = c.table_name AND r.name = c.name
    WHERE c.present = 0 GROUP BY c.table_name
    UNION ALL
    SELECT 20, c.table_name, 0, CONCAT(N'give dms.', c.table_name, N' the default of ', STRING_AGG(CAST(c.name AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY c.position)), N'short',
           STRING_AGG(CONCAT(CAST(N'ALTER TABLE dms.' AS nvarchar(max)), QUOTENAME(c.table_name), N' ADD CONSTRAINT ', QUOTENAME(c.default_name), N' DEFAULT ', c.default_value,
                             N' FOR ', QUOTENAME(c.name), N';'), N' ') WITHIN GROUP (ORDER BY c.position), N'SCH-M', 0
    FROM #fitted_column AS c
    WHERE c.present = 1 AND c.default_value IS NOT NULL AND c.found_default IS NULL AND c.found_numbered = 0 GROUP BY c.table_name
    UNION ALL
    SELECT 21, c.table_name, 0, CONCAT(N'rename the defaults of dms.', c.table_name, N': ', STRING_AGG(CAST(c.name AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY c.position)), N'short',
           STRING_AGG(CONCAT(CAST(N'EXEC sys.sp_rename N''dms.' AS nvarchar(max)), REPLACE(QUOTENAME(c.found_default), N'''', N''''''), N''', N''', c.default_name, N''', N''OBJECT'';'), N' ')
               WITHIN GROUP (ORDER BY c.position), N'SCH-M', 0
    FROM #fitted_column AS c
    WHERE c.present = 1 AND c.found_default <> c.default_name GROUP BY c.table_name
    UNION ALL
    SELECT 30, N'Document', 0, N'take names for ids from writers (TR_Document_Names)', N'file', N'adopt/names', N'SCH-M', 0
    WHERE @has_names = 1 AND (OBJECT_ID(N'dms.TR_Document_Names') IS NULL OR OBJECT_ID(N'dms.TR_Document_Renamed') IS NULL)
    UNION ALL
    SELECT CASE WHEN r.is_id = 1 THEN 50 ELSE 65 END, r.table_name, r.position, CONCAT(N'declare NOT NULL: dms.', r.table_name, N'.', r.name), N'scan',
           CONCAT(N'ALTER TABLE dms.', QUOTENAME(r.table_name), N' ALTER COLUMN ', QUOTENAME(r.name), N' ', r.type, N' NOT NULL;'), N'SCH-M', r.estimated_rows
    FROM required AS r
    UNION ALL
    SELECT 60, c.table_name, 0, CONCAT(N'rename constraint ', c.fitting, N' on dms.', c.table_name, N' to ', c.name), N'short',
           CONCAT(N'EXEC sys.sp_rename N''dms.', REPLACE(QUOTENAME(c.fitting), N'''', N''''''), N''', N''', c.name, N''', N''OBJECT'';'), N'SCH-M', 0
    FROM #fitted_constraint AS c WHERE c.fitting <> c.name AND c.named_definition IS NULL
    UNION ALL
    SELECT 60, i.table_name, 1, CONCAT(N'rename index ', i.fitting, N' on dms.', i.table_name, N' to ', i.name), N'short',
           CONCAT(N'EXEC sys.sp_rename N''dms.', QUOTENAME(i.table_name), N'.', REPLACE(QUOTENAME(i.fitting), N'''', N''''''), N''', N''', i.name, N''', N''INDEX'';'), N'SCH-M', 0
    FROM #fitted_index AS i WHERE i.fitting <> i.name
    UNION ALL
    SELECT 61, c.table_name, CASE WHEN c.type = N'p' THEN 0 ELSE 1 END, CONCAT(N'declare ', c.name, N' on dms.', c.table_name), @index_kind,
           CONCAT(N'ALTER TABLE dms.', QUOTENAME(c.table_name), N' ADD CONSTRAINT ', QUOTENAME(c.name),
                  CASE WHEN c.type = N'u' THEN N' UNIQUE'
                       WHEN EXISTS (SELECT * FROM #stated_index AS i WHERE i.object_id = c.found_table AND i.is_clustered = 1) THEN N' PRIMARY KEY NONCLUSTERED'
                       ELSE N' PRIMARY KEY' END, N' (', c.keys, N')', @with),
           CASE WHEN @is_online = 1 THEN N'SCH-S' ELSE N'SCH-M' END, c.estimated_rows
    FROM #fitted_constraint AS c WHERE c.type IN (N'p', N'u') AND c.fitting IS NULL
    UNION ALL
    SELECT 62, N'Document', 0, N'take values for nulls from writers', N'file', N'adopt/values', N'SCH-M', 0
    WHERE EXISTS (SELECT * FROM required WHERE LOWER(table_name COLLATE Latin1_General_100_BIN2) = N'document' AND is_id = 0 AND LOWER(name COLLATE Latin1_General_100_BIN2) <> N'resourcekeyid')
      AND OBJECT_ID(N'dms.TR_Document_Adoption') IS NULL
    UNION ALL
    SELECT 63, c.table_name, 0, N'set ResourceKeyId from the names', N'fill', N'resource keys', N'rows', c.estimated_rows
    FROM required AS c WHERE @has_names = 1 AND LOWER(c.name COLLATE Latin1_General_100_BIN2) = N'resourcekeyid' AND LOWER(c.table_name COLLATE Latin1_General_100_BIN2) = N'document'
    UNION ALL
    SELECT 64, r.table_name, 0, CONCAT(N'fill what is null in dms.', r.table_name, N': ', STRING_AGG(CAST(r.name AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY r.position)), N'fill',
           CONCAT(LOWER(r.table_name COLLATE Latin1_General_100_BIN2), N' values'), N'rows', MAX(r.estimated_rows)
    FROM required AS r
    WHERE LOWER(r.table_name COLLATE Latin1_General_100_BIN2) IN (N'document', N'referenceedge') AND r.is_id = 0 AND LOWER(r.name COLLATE Latin1_General_100_BIN2) <> N'resourcekeyid'
    GROUP BY r.table_name
    UNION ALL
    SELECT 80, b.table_name, 0, CONCAT(N'build index ', b.name, N' on dms.', b.table_name), @index_kind,
           CONCAT(N'CREATE INDEX ', QUOTENAME(b.name), N' ON dms.', QUOTENAME(b.table_name), N' ', SUBSTRING(b.definition, CHARINDEX(N'(', b.definition), 4000), @with),
           CASE WHEN @is_online = 1 THEN N'SCH-S' ELSE N'S' END, b.estimated_rows
    FROM build AS b WHERE b.fitting IS NULL
    UNION ALL
    SELECT 90, c.table_name, CASE WHEN c.definition LIKE N'%CASCADE%' THEN 1 ELSE 0 END, CONCAT(N'refuse from now on what breaks ', c.name, N' on dms.', c.table_name), N'short',
           CONCAT(r.statement, N' ALTER TABLE dms.', QUOTENAME(c.table_name), N' WITH NOCHECK ADD CONSTRAINT ', QUOTENAME(c.name), N' ', c.definition, N';'), N'SCH-M', 0
    FROM #fitted_constraint AS c LEFT JOIN replaced AS r ON r.table_name = c.table_name AND r.name = c.name
    WHERE c.type IN (N'c', N'f') AND c.fitting IS NULL
    UNION ALL
    SELECT 91, c.table_name, 0, CONCAT(N'look for what breaks ', c.name, N' on dms.', c.table_name), N'scan',
           CONCAT(N'ALTER TABLE dms.', QUOTENAME(c.table_name), N' WITH CHECK CHECK CONSTRAINT ', QUOTENAME(c.name), N';'), N'SCH-M', c.estimated_rows
    FROM #fitted_constraint AS c WHERE c.type IN (N'c', N'f') AND (c.fitting IS NULL OR c.is_trusted = 0)
    UNION ALL
    SELECT 92, c.table_name, 0, CONCAT(N'drop on dms.', c.table_name, N' what ', c.name, N' replaces'), N'short', r.statement, N'SCH-M', 0
    FROM #fitted_constraint AS c INNER JOIN replaced AS r ON r.table_name = c.table_name AND r.name = c.name
    WHERE c.fitting IS NOT NULL
    UNION ALL
    SELECT 100, t.name, 0, N'keep ParentResourceKeyId of what writers write', N'file', N'adopt/parents', N'SCH-M', 0
    FROM #fitted_table AS t
    WHERE LOWER(t.name COLLATE Latin1_General_100_BIN2) = N'referenceedge' AND t.found_id IS NOT NULL AND @is_switched = 0 AND OBJECT_ID(N'dms.ZZ_ReferenceEdge_Adoption') IS NULL
    UNION ALL
    SELECT 101, t.name, 0, N'set ParentResourceKeyId of all edges', N'fill', N'parents', N'rows', t.estimated_rows
    FROM #fitted_table AS t WHERE LOWER(t.name COLLATE Latin1_General_100_BIN2) = N'referenceedge' AND t.found_id IS NOT NULL AND @is_switched = 0
    UNION ALL
    SELECT 110, N'ReferenceEdge', 0, N'take away the triggers that were for the adoption', N'file', N'adopt/switched', N'SCH-M', 0
    WHERE @is_switched = 0 OR OBJECT_ID(N'dms.ZZ_ReferenceEdge_Adoption') IS NOT NULL OR OBJECT_ID(N'dms.TR_Document_Adoption') IS NOT NULL
    UNION ALL
    SELECT 111, N'Document', 0, CONCAT(N'drop index ', known.name), N'short', CONCAT(N'DROP INDEX IF EXISTS ', known.name, N' ON dms.Document;'), N'SCH-M', 0
    FROM (SELECT CAST(N'adoption_content' AS nvarchar(256)) AS name UNION ALL SELECT N'adoption_identity') AS known
    WHERE @is_switched = 0 OR EXISTS (SELECT * FROM sys.indexes AS i WHERE i.object_id = OBJECT_ID(N'dms.Document') AND i.name = known.name)
    UNION ALL
    SELECT 112, t.name, 0, CONCAT(N'mark dms.', t.name, N' as what the journal goes by'), N'short',
           CONCAT(N'EXEC sys.sp_addextendedproperty N''dmsjournal'', N''', REPLACE(CAST(p.value AS nvarchar(1000)), N'''', N''''''), N''', N''SCHEMA'', N''dms'', N''TABLE'', N''', t.name, N''';'), N'SCH-M', 0
    FROM #fitted_table AS t
    INNER JOIN sys.extended_properties AS p ON p.class = 1 AND p.major_id = t.model_id AND p.minor_id = 0 AND p.name = N'dmsjournal'
    WHERE t.found_id IS NOT NULL AND NOT EXISTS (
        SELECT * FROM sys.extended_properties AS known WHERE known.class = 1 AND known.major_id = t.found_id AND known.minor_id = 0 AND known.name = N'dmsjournal')
    UNION ALL
    SELECT 113, N'ChangeVersionSequence', 0, N'mark dms.ChangeVersionSequence as what the journal goes by', N'file', N'adopt/sequence', N'none', 0
    WHERE NOT EXISTS (
        SELECT * FROM sys.extended_properties AS known
        WHERE known.class = 1 AND known.major_id = OBJECT_ID(N'dms.ChangeVersionSequence') AND known.minor_id = 0 AND known.name = N'dmsjournal')
      AND OBJECT_ID(N'dms.ChangeVersionSequence') IS NOT NULL
)
SELECT name, kind, statement, lock, estimated_rows, CASE WHEN rank > 101 THEN 1 ELSE 0 END AS is_after_switch
FROM step ORDER BY rank, table_name DESC, part, name;
