-- sql/postgres/queries/schema/adopt_check_names.sql: resources' names that cannot be kept. Gives: subject, found, remedy. Reads all documents.
SELECT 'dms.Document' AS subject,
       concat(count(*), ' resources have a name that is missing, empty or too long, such as ', min(ProjectName), '/', min(ResourceName), '/', min(ResourceVersion)) AS found,
       'Correct the names of their documents: 1 to 256 characters, the version 1 to 64.' AS remedy
FROM (SELECT DISTINCT ProjectName, ResourceName, ResourceVersion FROM dms.Document) AS resource
WHERE (char_length(ProjectName) BETWEEN 1 AND 256 AND char_length(ResourceName) BETWEEN 1 AND 256 AND char_length(ResourceVersion) BETWEEN 1 AND 64) IS NOT TRUE
HAVING count(*) > 0
UNION ALL
SELECT 'dms.Document', concat('its documents are of ', count(*), ' resources'), 'There are ids for 32,767: merge resources, or split the database.'
FROM (SELECT DISTINCT ProjectName, ResourceName, ResourceVersion FROM dms.Document) AS resource HAVING count(*) > 32767
