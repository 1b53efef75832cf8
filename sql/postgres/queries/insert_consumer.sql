-- sql/postgres/queries/insert_consumer.sql: registers a consumer; no row where the name is taken.
-- Binds: name; change_version (at most a horizon read before), document_id (exclusive); feed_token (null: none). Gives: name.
INSERT INTO dms.ChangeConsumer
    (Name, ChangeVersion, DocumentId, FeedToken, EventVersion, EventDocumentId, EventTransactionId, EventAt)
SELECT CAST(:name AS varchar), CAST(:change_version AS bigint), CAST(:document_id AS bigint), CAST(:feed_token AS varchar),
       event.ChangeVersion, event.DocumentId, event.TransactionId, event.CreatedAt
FROM (
    SELECT max(ChangeVersion) AS event_floor FROM dms.JournalFloor WHERE Journal IN ('DocumentChangeEvent', 'DocumentDeleteEvent')
) AS floors
LEFT JOIN LATERAL (
    (SELECT ChangeVersion, DocumentId, TransactionId, CreatedAt FROM dms.DocumentChangeEvent
     WHERE ChangeVersion <= CAST(:change_version AS bigint) AND ChangeVersion > floors.event_floor
     ORDER BY ChangeVersion DESC, DocumentId DESC LIMIT 1)
    UNION ALL
    (SELECT ChangeVersion, DocumentId, TransactionId, CreatedAt FROM dms.DocumentDeleteEvent
     WHERE ChangeVersion <= CAST(:change_version AS bigint) AND ChangeVersion > floors.event_floor
     ORDER BY ChangeVersion DESC LIMIT 1)
    ORDER BY ChangeVersion DESC, DocumentId DESC
    LIMIT 1
) AS event ON true
ON CONFLICT (Name) DO NOTHING
RETURNING Name AS name
