-- sql/sqlserver/adopt/abandon.sql: an adoption that is on its way goes back: what it brought and the tables' programs may not bear goes, and their own
-- journals and triggers come back. After the triggers have gone, in the same transaction. What no program notices stays: keys and defaults
-- that were there under another name or in another form, and the sequence, since its stamps are in the documents.
DROP TRIGGER IF EXISTS dms.ZZ_ReferenceEdge_Adoption;
DROP TRIGGER IF EXISTS dms.TR_Document_Adoption;
DROP TRIGGER IF EXISTS dms.TR_Document_Names;
DROP TRIGGER IF EXISTS dms.TR_Document_Renamed;
DROP TRIGGER IF EXISTS dms.TR_Document_Content;
DROP INDEX IF EXISTS adoption_content ON dms.Document;
DROP INDEX IF EXISTS adoption_identity ON dms.Document;
DECLARE @text nvarchar(max);
SELECT @text = STRING_AGG(CAST(old.statement AS nvarchar(max)), N' ') WITHIN GROUP (ORDER BY old.rank)
FROM (
    SELECT CASE WHEN LOWER(b.Name COLLATE Latin1_General_100_BIN2) = N'resourcekey' THEN 7 ELSE 0 END AS rank, CONCAT(CAST(N'DROP TABLE IF EXISTS dms.' AS nvarchar(max)), QUOTENAME(b.Name), N';') AS statement
    FROM dms.AdoptionBefore AS b WHERE b.Kind = N'table'
    UNION ALL
    SELECT CASE WHEN c.type = 'F' THEN 1 ELSE 2 END,
           CONCAT(N'ALTER TABLE dms.', QUOTENAME(b.TableName), N' DROP CONSTRAINT ', QUOTENAME(c.name), N';')
    FROM dms.AdoptionBefore AS b
    INNER JOIN sys.objects AS c ON c.parent_object_id = OBJECT_ID(CONCAT(N'dms.', QUOTENAME(b.TableName))) AND c.name = b.Name COLLATE Latin1_General_100_BIN2
    WHERE b.Kind = N'constraint'
    UNION ALL
    SELECT 3, CONCAT(N'DROP INDEX ', QUOTENAME(i.name), N' ON dms.', QUOTENAME(b.TableName), N';')
    FROM dms.AdoptionBefore AS b
    INNER JOIN sys.indexes AS i ON i.object_id = OBJECT_ID(CONCAT(N'dms.', QUOTENAME(b.TableName))) AND i.name = b.Name COLLATE Latin1_General_100_BIN2 AND i.is_primary_key = 0 AND i.is_unique_constraint = 0
    WHERE b.Kind IN (N'index', N'constraint')
    UNION ALL
    SELECT 4, CONCAT(N'ALTER TABLE dms.', QUOTENAME(b.TableName), N' ALTER COLUMN ', QUOTENAME(c.name), N' ', TYPE_NAME(c.user_type_id),
                     CASE WHEN TYPE_NAME(c.user_type_id) IN (N'nvarchar', N'varchar', N'varbinary') AND c.max_length < 0 THEN N'(max)'
                          WHEN TYPE_NAME(c.user_type_id) = N'nvarchar' THEN CONCAT(N'(', c.max_length / 2, N')')
                          WHEN TYPE_NAME(c.user_type_id) IN (N'varchar', N'varbinary', N'binary') THEN CONCAT(N'(', c.max_length, N')')
                          WHEN TYPE_NAME(c.user_type_id) = N'datetime2' THEN CONCAT(N'(', c.scale, N')')
                          ELSE N'' END,
                     N' COLLATE ' + c.collation_name, N' NULL;')  -- without its length a text would be cut, without its collation compared otherwise
    FROM dms.AdoptionBefore AS b
    INNER JOIN sys.columns AS c ON c.object_id = OBJECT_ID(CONCAT(N'dms.', QUOTENAME(b.TableName))) AND c.name = b.Name COLLATE Latin1_General_100_BIN2
    WHERE b.Kind = N'nullable' AND c.is_nullable = 0
    UNION ALL
    SELECT 5, CONCAT(N'ALTER TABLE dms.', QUOTENAME(b.TableName), N' DROP CONSTRAINT ', QUOTENAME(d.name), N';')
    FROM dms.AdoptionBefore AS b
    INNER JOIN sys.columns AS c ON c.object_id = OBJECT_ID(CONCAT(N'dms.', QUOTENAME(b.TableName))) AND c.name = b.Name COLLATE Latin1_General_100_BIN2
    INNER JOIN sys.default_constraints AS d ON d.object_id = c.default_object_id
    WHERE b.Kind = N'column'
    UNION ALL
    SELECT 6, CONCAT(N'ALTER TABLE dms.', QUOTENAME(b.TableName), N' DROP COLUMN IF EXISTS ', QUOTENAME(b.Name), N';')
    FROM dms.AdoptionBefore AS b WHERE b.Kind = N'column' AND OBJECT_ID(CONCAT(N'dms.', QUOTENAME(b.TableName))) IS NOT NULL
    UNION ALL
    SELECT 8, CONCAT(N'EXEC sys.sp_rename N''dms.', REPLACE(QUOTENAME(c.name), N'''', N''''''), N''', N''',
                     REPLACE(LEFT(c.name, LEN(c.name) - 16), N'''', N''''''), N''', N''OBJECT'';')
    FROM dms.AdoptionBefore AS b
    INNER JOIN sys.objects AS c ON c.parent_object_id = OBJECT_ID(CONCAT(N'dms.', QUOTENAME(b.Name))) AND c.name LIKE N'%[_]before[_]adoption'
    WHERE b.Kind = N'journal' AND c.type IN ('PK', 'UQ', 'F', 'C', 'D')
    UNION ALL
    SELECT 9, CONCAT(N'EXEC sys.sp_rename N''dms.', REPLACE(QUOTENAME(b.Name), N'''', N''''''), N''', N''', REPLACE(b.TableName, N'''', N''''''), N''', N''OBJECT'';')
    FROM dms.AdoptionBefore AS b WHERE b.Kind = N'journal' AND OBJECT_ID(CONCAT(N'dms.', QUOTENAME(b.Name))) IS NOT NULL
    UNION ALL
    SELECT 10, CONCAT(N'ENABLE TRIGGER dms.', QUOTENAME(g.name), N' ON dms.Document;')
    FROM dms.AdoptionBefore AS b INNER JOIN sys.triggers AS g ON g.parent_id = OBJECT_ID(N'dms.Document') AND g.name = b.Name COLLATE Latin1_General_100_BIN2
    WHERE b.Kind = N'trigger' AND g.is_disabled = 1
) AS old;
IF @text IS NOT NULL
    EXEC sys.sp_executesql @text;
DROP TABLE dms.Adoption, dms.AdoptionBefore;
DROP TABLE IF EXISTS dms.alembic_version;
