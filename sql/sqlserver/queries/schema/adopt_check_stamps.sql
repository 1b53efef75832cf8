-- sql/sqlserver/queries/schema/adopt_check_stamps.sql: versions that are no stamps: two children with one identity version would both be their
-- parent's witness (invariant 4). Binds: new_stamps (whether all are replaced). Gives: subject, found, remedy.
-- Reads all documents.
SELECT N'dms.Document.IdentityVersion' AS subject, CONCAT(COUNT_BIG(*), N' values are of several documents, such as ', MIN(repeated.IdentityVersion)) AS found,
       N'They are no stamps of one sequence: adopt with --new-stamps, which gives each document a new one.' AS remedy
FROM (SELECT IdentityVersion FROM dms.Document WHERE IdentityVersion > 0 AND CAST(:new_stamps AS bit) = 0 GROUP BY IdentityVersion HAVING COUNT_BIG(*) > 1) AS repeated
HAVING COUNT_BIG(*) > 0
UNION ALL
SELECT N'dms.Document', CONCAT(N'the highest version is ', MAX(stamped.version)),
       N'Stamps end at 9223372036854775807: they cannot go on above it. Set these versions to 0: such documents are stamped anew.'
FROM (SELECT MAX(ContentVersion) AS version FROM dms.Document UNION ALL SELECT MAX(IdentityVersion) FROM dms.Document) AS stamped
HAVING MAX(stamped.version) > CAST(9000000000000000000 AS bigint);
