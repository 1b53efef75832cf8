-- sql/postgres/queries/schema/adopt_check_limits.sql: ids that the checks of the document tables would refuse. Gives: subject, found, remedy.
-- Reads all documents.
SELECT 'dms.Document.DocumentId' AS subject, concat(count(*), ' documents have an id at an end of bigint: ', min(DocumentId)) AS found,
       'Give them other ids: the ends mark what is before the first and after the last.' AS remedy
FROM dms.Document WHERE DocumentId NOT BETWEEN -9223372036854775807 AND 9223372036854775806 HAVING count(*) > 0
