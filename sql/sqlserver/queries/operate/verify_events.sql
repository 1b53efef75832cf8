-- sql/sqlserver/queries/operate/verify_events.sql: the documents of a batch of events that are gone. Each must have a tombstone: verify_vanished.
-- Binds: after (exclusive), last (inclusive): ChangeVersions.
-- Gives: document_id, resource_key_id, version (its newest event in the batch), born (its newest insert there; null where it has none).
-- Plan:  a range of PK_DocumentChangeEvent; lookups by PK_Document.
SET NOCOUNT ON;
DECLARE @after bigint = :after, @last bigint = :last, @floor bigint;
SELECT @floor = MAX(ChangeVersion) FROM dms.JournalFloor WHERE Journal = N'DocumentDeleteEvent';
SELECT event.DocumentId AS document_id, MAX(event.ResourceKeyId) AS resource_key_id, MAX(event.ChangeVersion) AS version,
       MAX(CASE WHEN event.Operation = 'insert' THEN event.ChangeVersion END) AS born
FROM dms.DocumentChangeEvent AS event
WHERE event.ChangeVersion > @after AND event.ChangeVersion <= @last AND event.ChangeVersion > @floor
  AND NOT EXISTS (SELECT * FROM dms.Document AS document WHERE document.DocumentId = event.DocumentId)
GROUP BY event.DocumentId
ORDER BY event.DocumentId
OPTION (LOOP JOIN);
