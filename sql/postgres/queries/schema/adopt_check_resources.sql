-- sql/postgres/queries/schema/adopt_check_resources.sql: documents whose ResourceKeyId means nothing. Gives: subject, found, remedy. Reads all documents.
SELECT 'dms.Document.ResourceKeyId' AS subject,
       concat(count(*), ' ids have no row in dms.ResourceKey, such as ', min(d.ResourceKeyId)) AS found,
       'INSERT INTO dms.ResourceKey what they mean.' AS remedy
FROM (SELECT DISTINCT ResourceKeyId FROM dms.Document) AS d
WHERE d.ResourceKeyId IS NOT NULL AND NOT EXISTS (SELECT FROM dms.ResourceKey AS k WHERE k.ResourceKeyId = d.ResourceKeyId) HAVING count(*) > 0
UNION ALL
SELECT 'dms.Document.ResourceKeyId', concat(count(*), ' documents have none, such as ', min(DocumentId)), 'Set it.'
FROM dms.Document WHERE ResourceKeyId IS NULL AND NOT CAST(:has_names AS boolean) HAVING count(*) > 0
UNION ALL
SELECT 'dms.ResourceKey', concat(count(*), ' rows have an id below 1, or a name that is missing or empty'), 'Correct them.'
FROM dms.ResourceKey WHERE (ResourceKeyId > 0 AND ProjectName <> '' AND ResourceName <> '' AND ResourceVersion <> '') IS NOT TRUE HAVING count(*) > 0
