-- sql/postgres/queries/schema/adopt_check_times.sql: times that a program cannot read: infinite ones, and those outside of the years 1 to 9999. Documents,
-- events and what derives from them carry them. Gives: subject, found, remedy. Reads all documents.
SELECT 'dms.Document' AS subject,
       concat(count(*), ' documents have an infinite ContentLastModifiedAt or IdentityLastModifiedAt, or one outside of the years 1 to 9999, such as document ', min(DocumentId)) AS found,
       'Correct them, or set them to NULL where the column allows it: that becomes the time of the adoption.' AS remedy
FROM dms.Document
WHERE NOT (ContentLastModifiedAt > '0001-01-02' AND ContentLastModifiedAt < '9999-12-31'
           AND IdentityLastModifiedAt > '0001-01-02' AND IdentityLastModifiedAt < '9999-12-31')
HAVING count(*) > 0
