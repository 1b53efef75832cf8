-- sql/sqlserver/queries/schema/adopt_check_resources.sql: documents whose ResourceKeyId means nothing. Gives: subject, found, remedy.
-- Binds: has_names. Reads all documents.
SELECT N'dms.Document.ResourceKeyId' AS subject, CONCAT(COUNT_BIG(*), N' ids have no row in dms.ResourceKey, such as ', MIN(d.ResourceKeyId)) AS found,
       N'INSERT INTO dms.ResourceKey what they mean.' AS remedy
FROM (SELECT DISTINCT ResourceKeyId FROM dms.Document) AS d
WHERE d.ResourceKeyId IS NOT NULL AND NOT EXISTS (SELECT * FROM dms.ResourceKey AS k WHERE k.ResourceKeyId = d.ResourceKeyId) HAVING COUNT_BIG(*) > 0
UNION ALL
SELECT N'dms.Document.ResourceKeyId', CONCAT(COUNT_BIG(*), N' documents have none, such as ', MIN(DocumentId)), N'Set it.'
FROM dms.Document WHERE ResourceKeyId IS NULL AND CAST(:has_names AS bit) = 0 HAVING COUNT_BIG(*) > 0
UNION ALL
SELECT N'dms.ResourceKey', CONCAT(COUNT_BIG(*), N' rows have an id below 1, or a name that is missing or empty'), N'Correct them.'
FROM dms.ResourceKey
WHERE COALESCE(ResourceKeyId, 0) < 1 OR COALESCE(ProjectName, N'') = N'' OR COALESCE(ResourceName, N'') = N'' OR COALESCE(ResourceVersion, N'') = N''
HAVING COUNT_BIG(*) > 0;
