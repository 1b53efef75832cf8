-- sql/sqlserver/adopt/content.sql: a change of columns that the journal does not know signals changed content. Their names, a JSON array,
-- are in the session context (adopt_content). -1 is the signal: where no stamping trigger follows, it says that the document has no stamp.
-- A statement that signals by itself needs none. Texts are compared by their code units, whatever the collation of the column.
-- Fires: after update on dms.Document, once a statement.
DECLARE @listed nvarchar(4000) = CAST(SESSION_CONTEXT(N'dms.content_columns') AS nvarchar(4000));
DECLARE @updated nvarchar(max), @new nvarchar(max), @old nvarchar(max), @text nvarchar(max);
SELECT @updated = STRING_AGG(CONCAT(CAST(N'UPDATE(' AS nvarchar(max)), QUOTENAME(c.name), N')'), N' OR '),
       @new = STRING_AGG(REPLACE(compared.text, N'?', CONCAT(CAST(N'new.' AS nvarchar(max)), QUOTENAME(c.name))), N', '),
       @old = STRING_AGG(REPLACE(compared.text, N'?', CONCAT(CAST(N'old.' AS nvarchar(max)), QUOTENAME(c.name))), N', ')
FROM sys.columns AS c
CROSS APPLY (
    SELECT CASE WHEN TYPE_NAME(c.system_type_id) IN (N'char', N'varchar', N'nchar', N'nvarchar', N'xml')
                THEN N'CAST(CAST(? AS nvarchar(max)) AS varbinary(max))'
                WHEN TYPE_NAME(c.system_type_id) IN (N'geography', N'geometry') THEN N'CAST(? AS varbinary(max))'
                ELSE N'?' END AS text
) AS compared
WHERE c.object_id = OBJECT_ID(N'dms.Document') AND LOWER(c.name COLLATE Latin1_General_100_BIN2) IN (SELECT LOWER(value COLLATE Latin1_General_100_BIN2) FROM OPENJSON(@listed));
SET @text = N'CREATE TRIGGER dms.TR_Document_Content ON dms.Document AFTER UPDATE
AS
BEGIN
    IF NOT (' + @updated + N') OR NOT EXISTS (SELECT * FROM inserted)
        RETURN;
    SET NOCOUNT ON;
    SET ROWCOUNT 0;
    DECLARE @changed TABLE (DocumentId bigint NOT NULL PRIMARY KEY);
    INSERT INTO @changed (DocumentId)
    SELECT new.DocumentId
    FROM inserted AS new INNER JOIN deleted AS old ON old.DocumentId = new.DocumentId
    WHERE new.ContentVersion = old.ContentVersion AND EXISTS (SELECT ' + @new + N' EXCEPT SELECT ' + @old + N')
    OPTION (HASH JOIN);
    IF EXISTS (SELECT * FROM @changed)
        UPDATE document SET ContentVersion = -1
        FROM @changed AS changed INNER JOIN dms.Document AS document ON document.DocumentId = changed.DocumentId
        OPTION (LOOP JOIN, FORCE ORDER);
END;';
DROP TRIGGER IF EXISTS dms.TR_Document_Content;
EXEC sys.sp_executesql @text;
