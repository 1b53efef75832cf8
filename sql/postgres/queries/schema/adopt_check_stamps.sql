-- sql/postgres/queries/schema/adopt_check_stamps.sql: versions that are no stamps: two children with one identity version would both be their parent's
-- witness (invariant 4). Binds: new_stamps (whether all are replaced). Gives: subject, found, remedy. Reads all documents.
SELECT 'dms.Document.IdentityVersion' AS subject,
       concat(count(*), ' values are of several documents, such as ', min(IdentityVersion)) AS found,
       'They are no stamps of one sequence: adopt with --new-stamps, which gives each document a new one.' AS remedy
FROM (SELECT IdentityVersion FROM dms.Document WHERE IdentityVersion > 0 AND NOT CAST(:new_stamps AS boolean) GROUP BY IdentityVersion HAVING count(*) > 1) AS repeated HAVING count(*) > 0
UNION ALL
SELECT 'dms.Document', concat('the highest version is ', max(greatest(ContentVersion, IdentityVersion))),
       'Stamps end at 9223372036854775807: they cannot go on above it. Set these versions to 0: such documents are stamped anew.'
FROM dms.Document HAVING max(greatest(ContentVersion, IdentityVersion)) > 9000000000000000000
