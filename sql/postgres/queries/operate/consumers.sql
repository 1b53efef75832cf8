-- sql/postgres/queries/operate/consumers.sql: the registered consumers by name, and what tells whether the database's history still leads to each.
-- Binds: name (null for all).
-- Gives: name, change_version, document_id (the cursor, exclusive), updated_at; event_version, the last event's at or below the cursor when
--   it was set, found_version, that event's now (null: none), is_same, whether the two are one; floor, the highest of all journals,
--   event_floor, the higher of the two that were looked in; drawn, the newest stamp that the sequence has given.
-- Plan: the consumers, and for each a lookup in the primary keys of two journals. One statement, so one snapshot, holds events and floors.
--   Nothing at or below event_floor is looked for, where history.py compares nothing: until a vacuum, the index entries of all that was
--   pruned are there, and who stands at the floor would go through them each time.
-- The reader needs SELECT on the sequence.
SELECT consumer.Name AS name, consumer.ChangeVersion AS change_version, consumer.DocumentId AS document_id, consumer.UpdatedAt AS updated_at,
       consumer.EventVersion AS event_version, event.ChangeVersion AS found_version,
       (consumer.EventVersion, consumer.EventDocumentId, consumer.EventTransactionId, consumer.EventAt) IS NOT DISTINCT FROM
           (event.ChangeVersion, event.DocumentId, event.TransactionId, event.CreatedAt) AS is_same,
       floors.floor, floors.event_floor, sequence.drawn
FROM dms.ChangeConsumer AS consumer
CROSS JOIN (
    SELECT max(ChangeVersion) AS floor,
           max(ChangeVersion) FILTER (WHERE Journal IN ('DocumentChangeEvent', 'DocumentDeleteEvent')) AS event_floor
    FROM dms.JournalFloor
) AS floors
LEFT JOIN LATERAL (
    (SELECT ChangeVersion, DocumentId, TransactionId, CreatedAt FROM dms.DocumentChangeEvent
     WHERE ChangeVersion <= consumer.ChangeVersion AND ChangeVersion > floors.event_floor
     ORDER BY ChangeVersion DESC, DocumentId DESC LIMIT 1)
    UNION ALL
    (SELECT ChangeVersion, DocumentId, TransactionId, CreatedAt FROM dms.DocumentDeleteEvent
     WHERE ChangeVersion <= consumer.ChangeVersion AND ChangeVersion > floors.event_floor
     ORDER BY ChangeVersion DESC LIMIT 1)
    ORDER BY ChangeVersion DESC, DocumentId DESC
    LIMIT 1
) AS event ON true
CROSS JOIN (SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS drawn FROM dms.ChangeVersionSequence) AS sequence
WHERE CAST(:name AS varchar) IS NULL OR consumer.Name = CAST(:name AS varchar)
ORDER BY consumer.Name
