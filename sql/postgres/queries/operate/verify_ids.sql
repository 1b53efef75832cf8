-- sql/postgres/queries/operate/verify_ids.sql: ids that the walks cannot find, and ids that the sequence of a table will meet.
-- Gives: code (id-reserved, ids-ahead), name.
-- Ids in the upper half of what the column holds are met by no sequence in time, but for the one that is next: else a writer could
-- have a repair use all ids up. The sequence is read after the snapshot was taken, so it is above whatever it gave.
-- Without the right on a sequence its value is null on PostgreSQL 18, as that of a fresh one: currval refuses in words.
-- Plan:  the ends of the primary keys.
SELECT 'id-reserved' AS code, 'document ' || DocumentId AS name
FROM dms.Document WHERE DocumentId < -9223372036854775807 OR DocumentId > 9223372036854775806
UNION ALL
SELECT 'ids-ahead', concat('dms.Document: ', highest, ', the sequence is at ', given)
FROM (
    SELECT (SELECT max(DocumentId) FROM dms.Document WHERE DocumentId < 4611686018427387904) AS highest,
           coalesce(pg_sequence_last_value(name), CASE WHEN NOT has_sequence_privilege(name, 'SELECT, USAGE') THEN currval(name) END, 0) AS given
    FROM pg_get_serial_sequence('dms.document', 'documentid') AS name OFFSET 0) AS documents
WHERE highest > given OR EXISTS (SELECT FROM dms.Document WHERE DocumentId = given + 1)
UNION ALL
SELECT 'ids-ahead', concat('dms.ResourceKey: ', highest, ', the sequence is at ', given)
FROM (
    SELECT (SELECT max(ResourceKeyId) FROM dms.ResourceKey WHERE ResourceKeyId < 16384) AS highest,
           coalesce(pg_sequence_last_value(name), CASE WHEN NOT has_sequence_privilege(name, 'SELECT, USAGE') THEN currval(name) END, 0) AS given
    FROM pg_get_serial_sequence('dms.resourcekey', 'resourcekeyid') AS name OFFSET 0) AS resources
WHERE highest > given OR EXISTS (SELECT FROM dms.ResourceKey WHERE ResourceKeyId = given + 1)
ORDER BY code, name
