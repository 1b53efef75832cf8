-- sql/sqlserver/adopt/finish.sql: the adoption is over. In the transaction that lets readers in. What the program's own journals hold stays, as it
-- is: a delete of a document deletes nothing of them any more, and searches nothing in them.
DECLARE @text nvarchar(max);
SELECT @text = STRING_AGG(old.statement, N' ')
FROM (
    SELECT CONCAT(CAST(N'DROP TRIGGER dms.' AS nvarchar(max)), QUOTENAME(g.name), N';') AS statement
    FROM dms.AdoptionBefore AS b INNER JOIN sys.triggers AS g ON g.parent_id = OBJECT_ID(N'dms.Document') AND g.name = b.Name COLLATE Latin1_General_100_BIN2
    WHERE b.Kind = N'trigger'
    UNION ALL
    SELECT CONCAT(CAST(N'ALTER TABLE dms.' AS nvarchar(max)), QUOTENAME(b.Name), N' DROP CONSTRAINT ', QUOTENAME(f.name), N';')
    FROM dms.AdoptionBefore AS b
    INNER JOIN sys.foreign_keys AS f ON f.parent_object_id = OBJECT_ID(CONCAT(N'dms.', QUOTENAME(b.Name))) AND f.referenced_object_id = OBJECT_ID(N'dms.Document')
    WHERE b.Kind = N'journal'
) AS old;
IF @text IS NOT NULL
    EXEC sys.sp_executesql @text;
DROP TABLE dms.Adoption, dms.AdoptionBefore;
