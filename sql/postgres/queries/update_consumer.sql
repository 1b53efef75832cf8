-- sql/postgres/queries/update_consumer.sql: moves a consumer; no row where it has moved past the place already, and may not go back.
-- Binds: name; change_version (at most a horizon read before), document_id (exclusive); feed_token (null: none); backwards (true or false). Gives: name.
UPDATE dms.ChangeConsumer AS consumer
SET ChangeVersion = CAST(:change_version AS bigint), DocumentId = CAST(:document_id AS bigint),
    FeedToken = CAST(:feed_token AS varchar), UpdatedAt = clock_timestamp(),
    EventVersion = event.ChangeVersion, EventDocumentId = event.DocumentId,
    EventTransactionId = event.TransactionId, EventAt = event.CreatedAt
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
WHERE consumer.Name = CAST(:name AS varchar)
  AND (CAST(:backwards AS boolean)
       OR (consumer.ChangeVersion, consumer.DocumentId) <= (CAST(:change_version AS bigint), CAST(:document_id AS bigint)))
RETURNING consumer.Name AS name
