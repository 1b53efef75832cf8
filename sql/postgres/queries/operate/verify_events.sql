-- sql/postgres/queries/operate/verify_events.sql: the documents of a batch of events that are gone. Each must have a tombstone: verify_vanished.
-- Binds: after (exclusive), last (inclusive): ChangeVersions.
-- Gives: document_id, resource_key_id, version (its newest event in the batch), born (its newest insert there; null where it has none).
-- Plan:  a range of PK_DocumentChangeEvent; lookups by PK_Document.
SELECT e.DocumentId AS document_id, max(e.ResourceKeyId) AS resource_key_id, max(e.ChangeVersion) AS version,
       max(e.ChangeVersion) FILTER (WHERE e.Operation = 'insert') AS born
FROM dms.DocumentChangeEvent AS e
LEFT JOIN LATERAL (SELECT true AS found FROM dms.Document WHERE DocumentId = e.DocumentId OFFSET 0) AS alive ON true
WHERE e.ChangeVersion > CAST(:after AS bigint) AND e.ChangeVersion <= CAST(:last AS bigint)
  AND e.ChangeVersion > (SELECT max(ChangeVersion) FROM dms.JournalFloor WHERE Journal = 'DocumentDeleteEvent')
  AND alive.found IS NULL
GROUP BY e.DocumentId
ORDER BY e.DocumentId
