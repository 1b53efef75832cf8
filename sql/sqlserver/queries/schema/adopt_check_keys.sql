-- sql/sqlserver/queries/schema/adopt_check_keys.sql: keys that the checks of the document tables would refuse. Gives: subject, found, remedy.
-- Reads all documents.
SELECT N'dms.Document.KeyValues' AS subject,
       CONCAT(COUNT_BIG(*), N' keys are longer than 8,192 characters, such as that of document ', MIN(DocumentId)) AS found,
       N'Shorten them: a key is what identifies a document, the rest belongs into its body.' AS remedy
FROM dms.Document WHERE DATALENGTH(CAST(KeyValues AS nvarchar(max))) > 16384 HAVING COUNT_BIG(*) > 0;
