-- sql/sqlserver/queries/schema/adopt_check_names.sql: resources' names that cannot be kept. Gives: subject, found, remedy. Reads all documents.
SELECT N'dms.Document' AS subject,
       CONCAT(COUNT_BIG(*), N' resources have a name that is missing, empty or too long, such as ', MIN(ProjectName), N'/', MIN(ResourceName), N'/', MIN(ResourceVersion)) AS found,
       N'Correct the names of their documents: 1 to 256 characters, the version 1 to 64.' AS remedy
FROM (SELECT DISTINCT ProjectName, ResourceName, ResourceVersion FROM dms.Document) AS resource
WHERE COALESCE(LEN(ProjectName), 0) NOT BETWEEN 1 AND 256 OR COALESCE(LEN(ResourceName), 0) NOT BETWEEN 1 AND 256
   OR COALESCE(LEN(ResourceVersion), 0) NOT BETWEEN 1 AND 64
HAVING COUNT_BIG(*) > 0
UNION ALL
SELECT N'dms.Document', CONCAT(N'its documents are of ', COUNT_BIG(*), N' resources'), N'There are ids for 32,767: merge resources, or split the database.'
FROM (
    SELECT DISTINCT ProjectName COLLATE Latin1_General_100_BIN2 AS project, ResourceName COLLATE Latin1_General_100_BIN2 AS name,
           ResourceVersion COLLATE Latin1_General_100_BIN2 AS version
    FROM dms.Document
) AS resource HAVING COUNT_BIG(*) > 32767;
