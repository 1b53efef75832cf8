-- sql/sqlserver/adopt/model.sql: what is there beside what should be, for adopt_obstacles and adopt_plan. The files that make the document
-- tables have made them in a schema of their own, in this transaction, which is rolled back: so their shape is written nowhere else. Written down
-- once, since catalog views are slow to join.
SELECT model.name, model.object_id AS model_id, found.object_id AS found_id,
       COALESCE((SELECT SUM(part.rows) FROM sys.partitions AS part WHERE part.object_id = found.object_id AND part.index_id IN (0, 1)), 0) AS estimated_rows
INTO #fitted_table
FROM sys.tables AS model
LEFT JOIN sys.objects AS found ON found.schema_id = SCHEMA_ID(N'dms') AND found.name = model.name
WHERE model.schema_id = SCHEMA_ID(N'dms_adopting');
SELECT c.object_id, c.column_id, c.name, c.is_nullable, c.is_identity, c.is_computed, d.name AS default_name, d.definition AS default_value,
       CONCAT(TYPE_NAME(c.user_type_id),
              CASE WHEN TYPE_NAME(c.user_type_id) IN (N'nvarchar', N'nchar') AND c.max_length > 0 THEN CONCAT(N'(', c.max_length / 2, N')')
                   WHEN TYPE_NAME(c.user_type_id) IN (N'nvarchar', N'varchar', N'varbinary') AND c.max_length < 0 THEN N'(max)'
                   WHEN TYPE_NAME(c.user_type_id) IN (N'varchar', N'char', N'varbinary', N'binary') THEN CONCAT(N'(', c.max_length, N')')
                   WHEN TYPE_NAME(c.user_type_id) IN (N'decimal', N'numeric') THEN CONCAT(N'(', c.precision, N', ', c.scale, N')')
                   WHEN TYPE_NAME(c.user_type_id) IN (N'datetime2', N'datetimeoffset', N'time') THEN CONCAT(N'(', c.scale, N')')
                   ELSE N'' END,
              N' COLLATE ' + c.collation_name) AS type
INTO #stated_column
FROM sys.columns AS c LEFT JOIN sys.default_constraints AS d ON d.object_id = c.default_object_id
WHERE c.object_id IN (SELECT model_id FROM #fitted_table UNION ALL SELECT found_id FROM #fitted_table);
SELECT t.name AS table_name, model.name, model.column_id AS position, t.estimated_rows, model.type,
       CASE WHEN model.is_nullable = 0 THEN 1 ELSE 0 END AS required, model.is_identity AS numbered, model.default_name, model.default_value,
       CASE WHEN found.column_id IS NULL THEN 0 ELSE 1 END AS present, found.column_id AS found_position, found.type AS found_type,
       CASE WHEN found.is_nullable = 0 THEN 1 ELSE 0 END AS found_required, found.is_identity AS found_numbered,
       found.is_computed AS computed, found.default_name AS found_default
INTO #fitted_column
FROM #fitted_table AS t
INNER JOIN #stated_column AS model ON model.object_id = t.model_id
LEFT JOIN #stated_column AS found ON found.object_id = t.found_id AND found.name = model.name
WHERE t.found_id IS NOT NULL;
SELECT i.object_id, i.name, i.is_primary_key, i.is_unique_constraint, CASE WHEN i.type = 1 THEN 1 ELSE 0 END AS is_clustered, columns.keys,
       CONCAT(CASE WHEN i.is_primary_key = 1 THEN N'PRIMARY KEY' WHEN i.is_unique_constraint = 1 THEN N'UNIQUE' WHEN i.is_unique = 1 THEN N'UNIQUE INDEX'
                   ELSE N'INDEX' END, N' (', columns.keys, N')', N' INCLUDE (' + columns.included + N')', N' WHERE ' + i.filter_definition) AS definition
INTO #stated_index
FROM sys.indexes AS i
CROSS APPLY (
    SELECT STRING_AGG(CASE WHEN ic.is_included_column = 0
                           THEN CONCAT(QUOTENAME(c.name), CASE WHEN ic.is_descending_key = 1 THEN N' DESC' ELSE N'' END) END, N', ')
               WITHIN GROUP (ORDER BY ic.key_ordinal, ic.index_column_id) AS keys,
           STRING_AGG(CASE WHEN ic.is_included_column = 1 THEN QUOTENAME(c.name) END, N', ')
               WITHIN GROUP (ORDER BY ic.key_ordinal, ic.index_column_id) AS included
    FROM sys.index_columns AS ic INNER JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
    WHERE ic.object_id = i.object_id AND ic.index_id = i.index_id
) AS columns
WHERE i.type > 0 AND i.object_id IN (SELECT model_id FROM #fitted_table UNION ALL SELECT found_id FROM #fitted_table);
SELECT parent, name, type, keys, definition, is_trusted INTO #stated_constraint
FROM (
    SELECT object_id AS parent, name, CASE WHEN is_primary_key = 1 THEN N'p' ELSE N'u' END AS type, keys, definition, 1 AS is_trusted
    FROM #stated_index WHERE is_primary_key = 1 OR is_unique_constraint = 1
    UNION ALL
    SELECT parent_object_id, name, N'c', NULL, CONCAT(N'CHECK ', definition), CASE WHEN is_not_trusted = 1 OR is_disabled = 1 THEN 0 ELSE 1 END
    FROM sys.check_constraints WHERE parent_object_id IN (SELECT model_id FROM #fitted_table UNION ALL SELECT found_id FROM #fitted_table)
    UNION ALL
    SELECT f.parent_object_id, f.name, N'f', columns.keys,
           CONCAT(N'FOREIGN KEY (', columns.keys, N') REFERENCES ', REPLACE(CAST(OBJECT_SCHEMA_NAME(f.referenced_object_id) AS nvarchar(256)), N'dms_adopting', N'dms'), N'.',
                  QUOTENAME(OBJECT_NAME(f.referenced_object_id)), N' (', columns.referenced, N')',
                  CASE f.delete_referential_action WHEN 1 THEN N' ON DELETE CASCADE' WHEN 2 THEN N' ON DELETE SET NULL' WHEN 3 THEN N' ON DELETE SET DEFAULT' ELSE N'' END,
                  CASE f.update_referential_action WHEN 1 THEN N' ON UPDATE CASCADE' WHEN 2 THEN N' ON UPDATE SET NULL' WHEN 3 THEN N' ON UPDATE SET DEFAULT' ELSE N'' END),
           CASE WHEN f.is_not_trusted = 1 OR f.is_disabled = 1 THEN 0 ELSE 1 END
    FROM sys.foreign_keys AS f
    CROSS APPLY (
        SELECT STRING_AGG(QUOTENAME(parent.name), N', ') WITHIN GROUP (ORDER BY fc.constraint_column_id) AS keys,
               STRING_AGG(QUOTENAME(referenced.name), N', ') WITHIN GROUP (ORDER BY fc.constraint_column_id) AS referenced
        FROM sys.foreign_key_columns AS fc
        INNER JOIN sys.columns AS parent ON parent.object_id = fc.parent_object_id AND parent.column_id = fc.parent_column_id
        INNER JOIN sys.columns AS referenced ON referenced.object_id = fc.referenced_object_id AND referenced.column_id = fc.referenced_column_id
        WHERE fc.constraint_object_id = f.object_id
    ) AS columns
    WHERE f.parent_object_id IN (SELECT model_id FROM #fitted_table UNION ALL SELECT found_id FROM #fitted_table)
) AS stated;
SELECT t.name AS table_name, t.found_id AS found_table, t.estimated_rows, model.name, model.type, model.keys, model.definition,
       named.definition AS named_definition, alike.name AS alike,
       CASE WHEN named.definition = model.definition THEN named.name ELSE alike.name END AS fitting,  -- null: it is to be made
       CASE WHEN named.definition = model.definition THEN named.is_trusted ELSE alike.is_trusted END AS is_trusted
INTO #fitted_constraint
FROM #fitted_table AS t
INNER JOIN #stated_constraint AS model ON model.parent = t.model_id
LEFT JOIN #stated_constraint AS named ON named.parent = t.found_id AND named.name = model.name
OUTER APPLY (
    SELECT TOP (1) other.name, other.is_trusted FROM #stated_constraint AS other
    WHERE other.parent = t.found_id AND other.type = model.type AND other.definition = model.definition AND other.name <> model.name
    ORDER BY other.name
) AS alike
WHERE t.found_id IS NOT NULL;
SELECT t.name AS table_name, t.found_id AS found_table, t.estimated_rows, model.name, model.definition, named.definition AS named_definition,
       alike.name AS alike, CASE WHEN named.definition = model.definition THEN named.name ELSE alike.name END AS fitting
INTO #fitted_index
FROM #fitted_table AS t
INNER JOIN #stated_index AS model ON model.object_id = t.model_id AND model.is_primary_key = 0 AND model.is_unique_constraint = 0
LEFT JOIN #stated_index AS named ON named.object_id = t.found_id AND named.name = model.name
OUTER APPLY (
    SELECT TOP (1) other.name FROM #stated_index AS other
    WHERE other.object_id = t.found_id AND other.is_primary_key = 0 AND other.is_unique_constraint = 0 AND other.definition = model.definition
      AND other.name <> model.name
    ORDER BY other.name
) AS alike
WHERE t.found_id IS NOT NULL;
SELECT o.object_id AS found_id, o.name, CONCAT(o.name, N'_before_adoption') AS kept_as  -- of the program's own design, which the journals replace
INTO #old_journal
FROM sys.tables AS o
WHERE o.schema_id = SCHEMA_ID(N'dms')
  AND LOWER(o.name COLLATE Latin1_General_100_BIN2) IN (N'documentchangeevent', N'identitychangeevent', N'keychangeevent', N'documentdeleteevent')
  AND NOT EXISTS (
      SELECT * FROM sys.extended_properties AS p
      WHERE p.class = 1 AND p.major_id = o.object_id AND p.minor_id = 0 AND p.name = N'dmsjournal')
  AND 2 = (SELECT COUNT(*) FROM sys.columns AS c
           WHERE c.object_id = o.object_id AND LOWER(c.name COLLATE Latin1_General_100_BIN2) IN (N'changeversion', N'documentid') AND TYPE_NAME(c.system_type_id) = N'bigint');
SELECT DISTINCT g.name, g.parent_id AS found_id, CASE WHEN g.parent_id = OBJECT_ID(N'dms.Document') THEN 1 ELSE 0 END AS is_replaced
INTO #old_trigger  -- one that names a journal: it would fail on the new ones, and the write with it
FROM sys.triggers AS g
INNER JOIN sys.sql_modules AS m ON m.object_id = g.object_id
CROSS APPLY (SELECT REPLACE(REPLACE(REPLACE(LOWER(m.definition COLLATE Latin1_General_100_BIN2), N'[', N''), N']', N''), N'"', N'') AS text) AS bare
CROSS JOIN (SELECT N'documentchangeevent' AS name UNION ALL SELECT N'identitychangeevent' UNION ALL SELECT N'keychangeevent'
            UNION ALL SELECT N'documentdeleteevent') AS journal
WHERE g.is_disabled = 0 AND g.parent_class = 1
  AND (bare.text LIKE CONCAT(N'%[^a-z0-9_]dms.', journal.name, N'[^a-z0-9_]%') OR bare.text LIKE CONCAT(N'%[^a-z0-9_.]', journal.name, N'[^a-z0-9_]%'));
