-- sql/sqlserver/queries/schema/adopt_obstacles.sql: what in the catalog stands in the way of an adoption, and what is worth a note.
-- Binds: names (JSON array of the objects that the migrations make), triggers (the same), content_columns (JSON array).
-- Gives: severity (obstacle or note), subject, found, remedy. After adopt/model.sql, in the same transaction.
SET NOCOUNT ON;
DECLARE @names nvarchar(max) = :names, @triggers nvarchar(max) = :triggers, @content nvarchar(max) = :content_columns;
DECLARE @has_names bit = CASE WHEN COL_LENGTH(N'dms.Document', N'ProjectName') IS NULL OR COL_LENGTH(N'dms.Document', N'ResourceName') IS NULL
                                   OR COL_LENGTH(N'dms.Document', N'ResourceVersion') IS NULL THEN 0 ELSE 1 END;
DECLARE @taken TABLE (name nvarchar(256) NOT NULL);
DECLARE @extra TABLE (  -- columns of other programs
    table_name nvarchar(256) NOT NULL, name nvarchar(256) NOT NULL, is_demanded bit NOT NULL, is_name bit NOT NULL
);
INSERT INTO @taken (name) SELECT value FROM OPENJSON(@names) UNION ALL SELECT value FROM OPENJSON(@triggers);
INSERT INTO @extra (table_name, name, is_demanded, is_name)
SELECT t.name, c.name, CASE WHEN c.is_nullable = 0 AND c.default_value IS NULL AND c.is_identity = 0 AND c.is_computed = 0 THEN 1 ELSE 0 END,
       CASE WHEN @has_names = 1 AND LOWER(c.name COLLATE Latin1_General_100_BIN2) IN (N'projectname', N'resourcename', N'resourceversion') THEN 1 ELSE 0 END
FROM #fitted_table AS t
INNER JOIN #stated_column AS c ON c.object_id = t.found_id
WHERE NOT EXISTS (SELECT * FROM #stated_column AS m WHERE m.object_id = t.model_id AND m.name = c.name);
SELECT CAST(N'obstacle' AS nvarchar(16)) AS severity, CAST(CONCAT(N'dms.', t.name) AS nvarchar(600)) AS subject,
       CAST(N'it is no ordinary table' AS nvarchar(max)) AS found,
       CAST(N'Move the rows into a table that is neither a view or synonym, nor temporal, external or memory-optimized.' AS nvarchar(max)) AS remedy
FROM #fitted_table AS t
INNER JOIN sys.objects AS o ON o.object_id = t.found_id
LEFT JOIN sys.tables AS x ON x.object_id = t.found_id
WHERE o.type <> 'U' OR x.temporal_type <> 0 OR x.is_memory_optimized = 1 OR x.is_external = 1
UNION ALL
SELECT N'obstacle', N'schema dms', N'the user may not change it', N'GRANT CONTROL ON SCHEMA::dms to the user, or adopt as its owner.'
WHERE COALESCE(HAS_PERMS_BY_NAME(N'dms', N'SCHEMA', N'CONTROL'), 0) = 0
UNION ALL
SELECT N'obstacle', CONCAT(N'dms.', t.name), CONCAT(N'it is owned by ', USER_NAME(o.principal_id), N', and the schema by another: triggers would lack rights'),
       CONCAT(N'ALTER AUTHORIZATION ON dms.', QUOTENAME(t.name), N' TO SCHEMA OWNER.')
FROM #fitted_table AS t INNER JOIN sys.objects AS o ON o.object_id = t.found_id
WHERE o.principal_id <> (SELECT principal_id FROM sys.schemas WHERE name = N'dms')
UNION ALL
SELECT N'obstacle', CONCAT(N'dms.', t.name), N'a security policy hides rows of it, and triggers must see every one', N'ALTER SECURITY POLICY ... DROP its predicates on the table.'
FROM #fitted_table AS t
WHERE t.found_id IN (SELECT target_object_id FROM sys.security_predicates)
UNION ALL
SELECT N'obstacle', CONCAT(N'dms.', table_name, N'.', name), CONCAT(N'its type is ', found_type, N', not ', type),
       CONCAT(N'ALTER TABLE dms.', QUOTENAME(table_name), N' ALTER COLUMN ', QUOTENAME(name), N' ', type, N', in a maintenance window: it may write each row. Indexes and constraints on the column go first.')
FROM #fitted_column
WHERE present = 1 AND computed = 0 AND found_type <> type
UNION ALL
SELECT N'obstacle', CONCAT(N'dms.', table_name, N'.', name), N'it is a computed column, which no program can write', N'DROP COLUMN, or give it another name (sp_rename).'
FROM #fitted_column
WHERE present = 1 AND computed = 1
UNION ALL
SELECT N'obstacle', CONCAT(N'dms.', c.table_name, N'.', c.name), CONCAT(N'it takes nulls, and ', used.name, N' is on it: the server changes neither while the other is there'),
       N'Drop that; adopt makes what the journal needs, and another can be made again afterwards.'
FROM #fitted_column AS c
INNER JOIN #fitted_table AS t ON t.name = c.table_name
CROSS APPLY (
    SELECT i.name FROM sys.indexes AS i INNER JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id
    WHERE i.object_id = t.found_id AND ic.column_id = c.found_position AND i.name NOT IN (N'adoption_content', N'adoption_identity')
    UNION ALL
    SELECT OBJECT_NAME(f.constraint_object_id) FROM sys.foreign_key_columns AS f
    WHERE f.parent_object_id = t.found_id AND f.parent_column_id = c.found_position
) AS used
WHERE c.present = 1 AND c.required = 1 AND c.found_required = 0
UNION ALL
SELECT N'obstacle', CONCAT(N'dms.', c.table_name, N'.', c.name), N'the column is missing',
       CASE WHEN LOWER(c.name COLLATE Latin1_General_100_BIN2) = N'resourcekeyid' AND LOWER(c.table_name COLLATE Latin1_General_100_BIN2) = N'document'
            THEN N'Add it, or the columns ProjectName, ResourceName, ResourceVersion: nothing tells a document''s resource.'
            ELSE N'Add it and fill it: only you know what belongs there.' END
FROM #fitted_column AS c
WHERE c.present = 0 AND c.required = 1 AND (c.default_value IS NULL OR c.default_value LIKE N'%newid()%')
  AND NOT (LOWER(c.name COLLATE Latin1_General_100_BIN2) = N'resourcekeyid' AND LOWER(c.table_name COLLATE Latin1_General_100_BIN2) = N'document' AND @has_names = 1)
UNION ALL
SELECT N'obstacle', N'dms.ResourceKey', N'the table is missing, and nothing else tells what a ResourceKeyId means',
       N'Create it as sql/sqlserver/tables/ResourceKey.v1.sql does, and insert the resources with their ids (SET IDENTITY_INSERT).'
WHERE OBJECT_ID(N'dms.ResourceKey') IS NULL AND @has_names = 0
UNION ALL
SELECT N'obstacle', N'dms.ResourceKey.ResourceKeyId', N'it is no IDENTITY, so that no resource can be added, and the server cannot make it one',
       N'Create the table as sql/sqlserver/tables/ResourceKey.v1.sql does, and move the rows there (SET IDENTITY_INSERT): they are few.'
FROM #fitted_column
WHERE LOWER(table_name COLLATE Latin1_General_100_BIN2) = N'resourcekey' AND numbered = 1 AND present = 1 AND found_numbered = 0
UNION ALL
SELECT N'obstacle', CONCAT(N'dms.', c.table_name), CONCAT(N'its primary key is another: ', other.definition),
       CONCAT(N'ALTER TABLE dms.', QUOTENAME(c.table_name), N' DROP CONSTRAINT ', QUOTENAME(other.name), N': adopt makes ', c.definition, N'. Keep it as a unique constraint where it is needed.')
FROM #fitted_constraint AS c
INNER JOIN #stated_constraint AS other ON other.parent = c.found_table AND other.type = N'p'
WHERE c.type = N'p' AND other.definition <> c.definition
UNION ALL
SELECT N'obstacle', CONCAT(N'constraint ', name, N' on dms.', table_name), CONCAT(N'it is another one: ', named_definition), N'Rename it (sp_rename): the name is needed.'
FROM #fitted_constraint
WHERE named_definition <> definition AND type <> N'f'
UNION ALL
SELECT N'obstacle', CONCAT(N'index ', name, N' on dms.', table_name), CONCAT(N'it is another one: ', named_definition), N'Rename it (sp_rename): the name is needed.'
FROM #fitted_index
WHERE named_definition <> definition
UNION ALL
SELECT N'obstacle', CONCAT(N'dms.', o.name), N'the name is needed', N'Rename it, move it to another schema, or drop it.'
FROM sys.objects AS o
WHERE o.schema_id = SCHEMA_ID(N'dms') AND LOWER(o.name COLLATE Latin1_General_100_BIN2) IN (SELECT name FROM @taken)
  AND o.name NOT IN (SELECT name FROM #fitted_table) AND LOWER(o.name COLLATE Latin1_General_100_BIN2) <> N'changeversionsequence'
  AND o.object_id NOT IN (SELECT found_id FROM #old_journal)
  AND NOT (o.type IN ('PK', 'UQ', 'F', 'C', 'D') AND o.parent_object_id IN (  -- looked at by itself, or renamed
      SELECT found_id FROM #fitted_table WHERE found_id IS NOT NULL UNION ALL SELECT found_id FROM #old_journal))
  AND NOT EXISTS (
      SELECT * FROM sys.extended_properties AS p
      WHERE p.class = 1 AND p.major_id = o.object_id AND p.minor_id = 0 AND p.name = N'dmsjournal')
UNION ALL
SELECT N'obstacle', CONCAT(N'dms.', o.name), CONCAT(N'dms.', j.name, N' is to be kept under this name'), N'Rename it, move it to another schema, or drop it.'
FROM #old_journal AS j INNER JOIN sys.objects AS o ON o.schema_id = SCHEMA_ID(N'dms') AND o.name = j.kept_as
UNION ALL
SELECT N'obstacle', CONCAT(N'trigger ', g.name, N' on ', OBJECT_SCHEMA_NAME(g.found_id), N'.', OBJECT_NAME(g.found_id)),
       N'it names a journal of dms, which gets other columns: it would fail',
       N'Drop it, or let it name the journal as it is kept: ..._before_adoption. The journal''s own triggers see what is written to dms.Document.'
FROM #old_trigger AS g
WHERE g.is_replaced = 0
UNION ALL
SELECT N'note', CONCAT(N'dms.', j.name), CONCAT(N'it is kept as dms.', j.kept_as, N', with what it holds, and the journal of that name begins anew'),
       N'Programs that write or read it themselves fail from the moment on that the triggers come: let them read the journal as docs/dba/adopt.md tells.'
FROM #old_journal AS j
UNION ALL
SELECT N'note', CONCAT(N'trigger ', g.name, N' on dms.Document'), N'it names a journal of dms: it is disabled when ours come, and dropped at the end',
       N'What else it does ends as well: give that to a trigger of its own.'
FROM #old_trigger AS g
WHERE g.is_replaced = 1
UNION ALL
SELECT N'obstacle', N'sequence dms.ChangeVersionSequence',
       CONCAT(N'it is ', TYPE_NAME(s.user_type_id), N' by ', CAST(s.increment AS nvarchar(30)), N', to ', CAST(s.maximum_value AS nvarchar(30)), CASE WHEN s.is_cycling = 1 THEN N', cycling' ELSE N'' END),
       N'ALTER SEQUENCE dms.ChangeVersionSequence INCREMENT BY 1 NO MAXVALUE NO CYCLE; where it is no bigint, drop it: adopt makes one.'
FROM sys.sequences AS s
WHERE s.object_id = OBJECT_ID(N'dms.ChangeVersionSequence')
  AND (TYPE_NAME(s.system_type_id) <> N'bigint' OR CAST(s.increment AS bigint) <> 1 OR CAST(s.maximum_value AS bigint) <> CAST(9223372036854775807 AS bigint) OR s.is_cycling = 1)
UNION ALL
SELECT N'note', CONCAT(N'dms.', table_name, N'.', name), N'NOT NULL without a default: the Python writer does not know the column, and cannot insert',
       CONCAT(N'ALTER TABLE dms.', QUOTENAME(table_name), N' ADD DEFAULT ... FOR ', QUOTENAME(name), N', or let it take nulls, before that is used.')
FROM @extra
WHERE is_demanded = 1 AND is_name = 0 AND LOWER(table_name COLLATE Latin1_General_100_BIN2) <> N'resourcekey'
UNION ALL
SELECT N'note', CONCAT(N'dms.', table_name, N'.', name), N'it is no IDENTITY and has no default: the Python writer cannot insert', N'ADD DEFAULT NEXT VALUE FOR a sequence, before that is used.'
FROM #fitted_column
WHERE LOWER(table_name COLLATE Latin1_General_100_BIN2) = N'document' AND numbered = 1 AND present = 1 AND found_numbered = 0 AND found_default IS NULL
UNION ALL
SELECT N'note', CONCAT(N'dms.', table_name, N'.', name), N'nulls in it are replaced, and refused from then on', N'Let programs leave the column out.'
FROM #fitted_column
WHERE present = 1 AND required = 1 AND found_required = 0
UNION ALL
SELECT N'note', N'dms.Document', N'programs go on writing ProjectName, ResourceName, ResourceVersion, and need not know ResourceKeyId',
       N'A trigger, TR_Document_Names, inserts in their place: SCOPE_IDENTITY() and OUTPUT do not tell them the DocumentId any more, @@IDENTITY does. Drop it when no program writes names any more.'
WHERE @has_names = 1
UNION ALL
SELECT N'note', N'dms.Document', CONCAT(N'an UPDATE of only ', STRING_AGG(CAST(name AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY name), N' is no change to the journal'),
       N'Let programs signal it (SET ContentVersion = -1), or name what is content: --content-column.'
FROM @extra
WHERE LOWER(table_name COLLATE Latin1_General_100_BIN2) = N'document' AND is_name = 0 AND LOWER(name COLLATE Latin1_General_100_BIN2) NOT IN (SELECT LOWER(value COLLATE Latin1_General_100_BIN2) FROM OPENJSON(@content))
HAVING COUNT(*) > 0
UNION ALL
SELECT N'note', CONCAT(N'trigger ', g.name, N' on dms.', t.name), N'it stays, and sees the rows that the adoption fills',
       N'One that changes ContentVersion, IdentityVersion or KeyValues makes each of its updates a change. Drop what the journal replaces.'
FROM #fitted_table AS t INNER JOIN sys.triggers AS g ON g.parent_id = t.found_id
WHERE LOWER(g.name COLLATE Latin1_General_100_BIN2) NOT IN (SELECT value FROM OPENJSON(@triggers))
  AND LOWER(g.name COLLATE Latin1_General_100_BIN2) NOT IN (N'tr_document_names', N'tr_document_renamed', N'tr_document_content', N'tr_document_adoption', N'zz_referenceedge_adoption')
  AND NOT EXISTS (SELECT * FROM #old_trigger AS o WHERE o.found_id = g.parent_id AND o.name = g.name)
ORDER BY severity DESC, subject, found;
