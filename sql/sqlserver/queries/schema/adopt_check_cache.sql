-- sql/sqlserver/queries/schema/adopt_check_cache.sql: bodies of no document. Gives: subject, found, remedy. Reads all bodies' ids.
SELECT N'dms.DocumentCache' AS subject, CONCAT(COUNT_BIG(*), N' bodies are of no document, such as ', MIN(c.DocumentId)) AS found,
       N'DELETE FROM dms.DocumentCache WHERE DocumentId NOT IN (SELECT DocumentId FROM dms.Document).' AS remedy
FROM dms.DocumentCache AS c
WHERE NOT EXISTS (SELECT * FROM dms.Document AS d WHERE d.DocumentId = c.DocumentId)
HAVING COUNT_BIG(*) > 0;
