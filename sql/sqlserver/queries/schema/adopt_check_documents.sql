-- sql/sqlserver/queries/schema/adopt_check_documents.sql: documents that cannot be told apart. Gives: subject, found, remedy. Reads all documents.
SELECT N'dms.Document.DocumentUuid' AS subject, CONCAT(COUNT_BIG(*), N' documents have none, such as document ', MIN(DocumentId)) AS found,
       N'UPDATE dms.Document SET DocumentUuid = NEWID() WHERE DocumentUuid IS NULL.' AS remedy
FROM dms.Document WHERE DocumentUuid IS NULL HAVING COUNT_BIG(*) > 0
UNION ALL
SELECT N'dms.Document.DocumentUuid', CONCAT(COUNT_BIG(*), N' uuids are of several documents, such as ', MIN(repeated.uuid)), N'Give each document one of its own.'
FROM (
    SELECT CAST(DocumentUuid AS nvarchar(36)) AS uuid FROM dms.Document WHERE DocumentUuid IS NOT NULL GROUP BY DocumentUuid HAVING COUNT_BIG(*) > 1
) AS repeated HAVING COUNT_BIG(*) > 0
UNION ALL
SELECT N'dms.Document.DocumentId', CONCAT(COUNT_BIG(*), N' documents have none'), N'Delete them, or give them ids.'
FROM dms.Document WHERE DocumentId IS NULL HAVING COUNT_BIG(*) > 0
UNION ALL
SELECT N'dms.Document.DocumentId', CONCAT(COUNT_BIG(*), N' ids are of several documents, such as ', MIN(repeated.DocumentId)), N'Delete or renumber all but one of each.'
FROM (SELECT DocumentId FROM dms.Document WHERE DocumentId IS NOT NULL GROUP BY DocumentId HAVING COUNT_BIG(*) > 1) AS repeated HAVING COUNT_BIG(*) > 0;
