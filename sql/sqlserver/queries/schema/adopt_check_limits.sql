-- sql/sqlserver/queries/schema/adopt_check_limits.sql: ids that the checks of the document tables would refuse. Gives: subject, found, remedy.
-- Reads all documents.
SELECT N'dms.Document.DocumentId' AS subject, CONCAT(COUNT_BIG(*), N' documents have an id at an end of bigint: ', MIN(DocumentId)) AS found,
       N'Give them other ids: the ends mark what is before the first and after the last.' AS remedy
FROM dms.Document WHERE DocumentId < CAST(-9223372036854775807 AS bigint) OR DocumentId > CAST(9223372036854775806 AS bigint) HAVING COUNT_BIG(*) > 0;
