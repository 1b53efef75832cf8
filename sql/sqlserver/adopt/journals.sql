-- sql/sqlserver/adopt/journals.sql: the program's own journals make room, with their rows, indexes and constraints, and its trigger that writes them
-- stops: ours come in the same transaction, after adopt/ready.sql has locked the documents. An index has a name within its table alone.
DECLARE @text nvarchar(max);
SELECT @text = STRING_AGG(CONCAT(CAST(N'DISABLE TRIGGER dms.' AS nvarchar(max)), QUOTENAME(g.name), N' ON dms.Document;'), N' ')
FROM dms.AdoptionBefore AS b INNER JOIN sys.triggers AS g ON g.parent_id = OBJECT_ID(N'dms.Document') AND g.name = b.Name COLLATE Latin1_General_100_BIN2
WHERE b.Kind = N'trigger';
IF @text IS NOT NULL
    EXEC sys.sp_executesql @text;
SELECT @text = STRING_AGG(
    CONCAT(CAST(N'EXEC sys.sp_rename N''dms.' AS nvarchar(max)), REPLACE(QUOTENAME(old.name), N'''', N''''''), N''', N''', REPLACE(old.kept_as, N'''', N''''''), N''', N''OBJECT'';'), N' ')
    WITHIN GROUP (ORDER BY old.rank)
FROM (
    SELECT 1 AS rank, c.name, CONCAT(LEFT(c.name, 112), N'_before_adoption') AS kept_as
    FROM dms.AdoptionBefore AS b INNER JOIN sys.objects AS c ON c.parent_object_id = OBJECT_ID(CONCAT(N'dms.', QUOTENAME(b.TableName)))
    WHERE b.Kind = N'journal' AND c.type IN ('PK', 'UQ', 'F', 'C', 'D')
    UNION ALL
    SELECT 2, b.TableName, b.Name FROM dms.AdoptionBefore AS b
    WHERE b.Kind = N'journal' AND OBJECT_ID(CONCAT(N'dms.', QUOTENAME(b.TableName))) IS NOT NULL
) AS old;
IF @text IS NOT NULL
    EXEC sys.sp_executesql @text;
