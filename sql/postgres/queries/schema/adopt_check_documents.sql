-- sql/postgres/queries/schema/adopt_check_documents.sql: documents that cannot be told apart. Gives: subject, found, remedy. Reads all documents.
SELECT 'dms.Document.DocumentUuid' AS subject, concat(count(*), ' documents have none, such as document ', min(DocumentId)) AS found,
       'UPDATE dms.Document SET DocumentUuid = gen_random_uuid() WHERE DocumentUuid IS NULL.' AS remedy
FROM dms.Document WHERE DocumentUuid IS NULL HAVING count(*) > 0
UNION ALL
SELECT 'dms.Document.DocumentUuid', concat(count(*), ' uuids are of several documents, such as ', min(DocumentUuid::text)), 'Give each document one of its own.'
FROM (SELECT DocumentUuid FROM dms.Document WHERE DocumentUuid IS NOT NULL GROUP BY DocumentUuid HAVING count(*) > 1) AS repeated HAVING count(*) > 0
UNION ALL
SELECT 'dms.Document.DocumentId', concat(count(*), ' documents have none'), 'Delete them, or give them ids.'
FROM dms.Document WHERE DocumentId IS NULL HAVING count(*) > 0
UNION ALL
SELECT 'dms.Document.DocumentId', concat(count(*), ' ids are of several documents, such as ', min(DocumentId)), 'Delete or renumber all but one of each.'
FROM (SELECT DocumentId FROM dms.Document WHERE DocumentId IS NOT NULL GROUP BY DocumentId HAVING count(*) > 1) AS repeated HAVING count(*) > 0
