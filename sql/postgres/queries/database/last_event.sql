-- sql/postgres/queries/database/last_event.sql: the last event at or below a version, by which a checkpoint knows its history again (invariant 9).
-- Binds: version (inclusive, at most a horizon read before).
-- Gives: one row: event_version, document_id, transaction_id, created_at, null where there is none above event_floor; floor, the highest of all
--   journals, event_floor, the higher of the two that were looked in; drawn, the newest stamp that the sequence has given.
-- Plan: a lookup in the primary keys of two journals, in one snapshot with the floors; see consumers.sql, also for the floor.
SELECT event.ChangeVersion AS event_version, event.DocumentId AS document_id, event.TransactionId AS transaction_id,
       event.CreatedAt AS created_at, floors.floor, floors.event_floor, sequence.drawn
FROM (
    SELECT max(ChangeVersion) AS floor,
           max(ChangeVersion) FILTER (WHERE Journal IN ('DocumentChangeEvent', 'DocumentDeleteEvent')) AS event_floor
    FROM dms.JournalFloor
) AS floors
CROSS JOIN (SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS drawn FROM dms.ChangeVersionSequence) AS sequence
LEFT JOIN LATERAL (
    (SELECT ChangeVersion, DocumentId, TransactionId, CreatedAt FROM dms.DocumentChangeEvent
     WHERE ChangeVersion <= CAST(:version AS bigint) AND ChangeVersion > floors.event_floor
     ORDER BY ChangeVersion DESC, DocumentId DESC LIMIT 1)
    UNION ALL
    (SELECT ChangeVersion, DocumentId, TransactionId, CreatedAt FROM dms.DocumentDeleteEvent
     WHERE ChangeVersion <= CAST(:version AS bigint) AND ChangeVersion > floors.event_floor
     ORDER BY ChangeVersion DESC LIMIT 1)
    ORDER BY ChangeVersion DESC, DocumentId DESC
    LIMIT 1
) AS event ON true
