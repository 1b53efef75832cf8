-- sql/postgres/queries/operate/verify_vanished.sql: which of these documents that are gone break invariant 7: no tombstone above all stamps.
-- Binds: rows (JSON array of {document_id, version, born}, as verify_events gives them).
-- Gives: code, document_id, version; tombstone, the version of one that is too low; is_known: the uuid is told by a key change, or by
--   that tombstone. What is at or below the tombstones' floor is not judged: its tombstone may have been pruned.
-- Exact while others write: a tombstone is committed with the delete, and the floor with what was pruned; one snapshot.
-- Plan:  one pass over the tombstones for all the rows; lookups by PK_Document and IX_KeyChangeEvent_Document.
WITH wanted AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS listed (document_id bigint, version bigint, born bigint)
),
buried AS MATERIALIZED (
    SELECT t.DocumentId, max(t.ChangeVersion) AS version
    FROM dms.DocumentDeleteEvent AS t JOIN wanted ON wanted.document_id = t.DocumentId
    GROUP BY t.DocumentId
)
SELECT CASE WHEN buried.version > coalesce(wanted.born, 0) THEN 'tombstone-too-low' ELSE 'document-vanished' END AS code,
       wanted.document_id, wanted.version, buried.version AS tombstone,
       buried.version > coalesce(wanted.born, 0) OR EXISTS (
           SELECT FROM dms.KeyChangeEvent AS k
           WHERE k.DocumentId = wanted.document_id AND k.ChangeVersion > coalesce(buried.version, 0)
             AND k.ChangeVersion > coalesce(wanted.born, 0)) AS is_known
FROM wanted LEFT JOIN buried ON buried.DocumentId = wanted.document_id
WHERE coalesce(buried.version, 0) < wanted.version
  AND NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = wanted.document_id)
  AND wanted.version > (SELECT max(ChangeVersion) FROM dms.JournalFloor WHERE Journal = 'DocumentDeleteEvent')
ORDER BY wanted.document_id
