-- sql/postgres/queries/schema/adopt_check_cache.sql: bodies of no document. Gives: subject, found, remedy. Reads all bodies' ids.
SELECT 'dms.DocumentCache' AS subject, concat(count(*), ' bodies are of no document, such as ', min(DocumentId)) AS found,
       'DELETE FROM dms.DocumentCache AS c WHERE NOT EXISTS (SELECT FROM dms.Document WHERE DocumentId = c.DocumentId).' AS remedy
FROM dms.DocumentCache AS c
WHERE NOT EXISTS (SELECT FROM dms.Document WHERE DocumentId = c.DocumentId) HAVING count(*) > 0
