-- sql/sqlserver/queries/schema/adopt_check_limits.sql: what the checks of the document tables would refuse. Gives: subject, found, remedy. Reads all
-- documents. A key's column may not be there yet: a statement that names it is made where it is.
SET NOCOUNT ON;
DECLARE @refused TABLE (subject nvarchar(256) NOT NULL, found nvarchar(1000) NOT NULL, remedy nvarchar(1000) NOT NULL);
INSERT INTO @refused (subject, found, remedy)
SELECT N'dms.Document.DocumentId', CONCAT(COUNT_BIG(*), N' documents have an id at an end of bigint: ', MIN(DocumentId)),
       N'Give them other ids: the ends mark what is before the first and after the last.'
FROM dms.Document WHERE DocumentId < CAST(-9223372036854775807 AS bigint) OR DocumentId > CAST(9223372036854775806 AS bigint) HAVING COUNT_BIG(*) > 0;
IF COL_LENGTH(N'dms.Document', N'KeyValues') IS NOT NULL
    INSERT INTO @refused (subject, found, remedy)
    EXEC (N'
    SELECT N''dms.Document.KeyValues'', CONCAT(COUNT_BIG(*), N'' keys are longer than 8,192 characters, such as that of document '', MIN(DocumentId)),
           N''Shorten them: a key is what identifies a document, the rest belongs into its body.''
    FROM dms.Document WHERE DATALENGTH(CAST(KeyValues AS nvarchar(max))) > 16384 HAVING COUNT_BIG(*) > 0');
SELECT refused.subject, refused.found, refused.remedy FROM @refused AS refused;
